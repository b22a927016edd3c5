"""Compiled functions under `tf.GradientTape`: their derivatives are TensorFlow's, traced and compiled too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .library import is_recorded, tensorflow
from .programs import Program


def run(program: Program, values: Sequence[Any]) -> list[Any]:
    """The program's results, new values of variables last; a tape that records one of the values records them."""
    tf = tensorflow()
    if not is_recorded([each for each in values if isinstance(each, tf.Tensor)]):
        return program.run(values)
    captured = values[len(program.specs) :]
    fixed = [
        value for value, source in zip(captured, program.captured, strict=True) if not isinstance(source, tf.Variable)
    ]
    if is_recorded(fixed):
        raise ValueError(
            "a tape records a tensor that the compiled function uses but does not take: make it an argument, for the "
            "derivative with respect to it is not compiled"
        )

    @tf.custom_gradient
    def differentiable(*given: Any) -> Any:
        def gradient(*upstream: Any) -> list[Any]:
            if program.backward is None:
                program.backward = Backward(program)
            return program.backward.gradients(given, upstream[: program.result_count])

        return tuple(program.run(given)), gradient

    return list(differentiable(*(tf.convert_to_tensor(value) for value in values)))


class Backward:
    """
    The program of a program's derivative.

    It takes the forward program's leaves and the gradients of its results, and computes the forward program again:
    nothing is kept between the two but the values that the forward program ran on.
    """

    def __init__(self, forward: Program):
        tf = tensorflow()
        self.forward = forward
        self.leaves = [at for at, spec in enumerate(forward.specs) if _is_smooth(spec.dtype)]
        """The leaves that have gradients, and the captured variables that have."""
        self.variables = [
            at for at, each in enumerate(forward.captured) if isinstance(each, tf.Variable) and _is_smooth(each.dtype)
        ]
        self.program: Program | None = None

    def gradients(self, given: Sequence[Any], upstream: Sequence[Any]) -> list[Any]:
        """The gradient with respect to each value that the forward program ran on; None where there is none."""
        forward, count = self.forward, len(self.forward.specs)
        leaves = [*given[:count], *upstream]
        if self.program is None:
            self.program = Program(self._derivative, leaves, forward.options, "gradient", autograph=False)
        # Variables may have changed since the forward program read them.
        read = {id(source): value for source, value in zip(forward.captured, given[count:], strict=True)}
        captured = [read.get(id(each), each) for each in self.program.captured]
        results = iter(run(self.program, [*leaves, *captured]))
        found = [None if each is None else next(results) for each in self.program.structure]
        gradients: list[Any] = [None] * len(given)
        for place, gradient in zip([*self.leaves, *(count + at for at in self.variables)], found, strict=True):
            gradients[place] = gradient
        return gradients

    def _derivative(self, *given: Any) -> list[Any]:
        tf, count = tensorflow(), len(self.forward.specs)
        leaves, upstream = given[:count], given[count:]
        sources = [*(leaves[at] for at in self.leaves), *(self.forward.captured[at] for at in self.variables)]
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(sources)
            results = self.forward.function(*leaves)
        tensors = [each for each in tf.nest.flatten(results, expand_composites=True) if isinstance(each, tf.Tensor)]
        pairs = [(y, dy) for y, dy in zip(tensors, upstream, strict=True) if _is_smooth(y.dtype)]
        found = tape.gradient([y for y, _ in pairs], sources, output_gradients=[dy for _, dy in pairs])
        # Gradients of gathered rows are rows and their indices.
        return [None if each is None else tf.convert_to_tensor(each) for each in found]


def _is_smooth(dtype: Any) -> bool:
    return bool(dtype.is_floating or dtype.is_complex)

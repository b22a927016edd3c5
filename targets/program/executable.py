"""The interface of a compiled program, the same on every target."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np

from ...hlo_dialect.arrays import Array, ArrayType
from ...hlo_dialect.errors import Diagnostic, DiagnosticError
from .arguments import host_array
from .errors import hide_our_frames
from .facts import Facts, Kernel
from .signature import Signature, shape_text

if TYPE_CHECKING:
    from .fusions import Fusion, Remark
    from .profile import Profile
    from .source import Source


@dataclass(frozen=True)
class Maker:
    """How an executable was made, to make it again: for a copy in another process, and with a profile."""

    target: str
    """The target's name."""
    load: Callable[[bytes], Executable]
    """Makes it from the bytes of `serialize`."""
    compile: Callable[[bool], Executable] | None = None
    """Makes it from its text; the argument says whether to profile. None if the text is not known."""
    explain: Callable[[], tuple[Sequence[Fusion], Sequence[Remark]]] | None = None
    """The decisions of fuse-hlo on its text."""


class Executable:
    """
    A compiled program: arrays in, arrays out.

    Call it with one array for each argument of the program, by position or name; it returns an array, or a tuple of
    arrays. Arrays are those of NumPy and of any library with `__array__` or `__dlpack__`; Python numbers are arrays
    without dimensions. A program that JAX lowered, or that was compiled with `in_tree=`, takes and returns trees as its
    function does. `out=` gives the memory of the results: an array, or a tuple or tree of them, of exactly their types.

    Raises TypeError for a wrong number, shape or dtype of arguments before anything runs. Thread-safe.

    >>> import numpy as np
    >>> import xhlo
    >>> text = '''func.func @main(%x: tensor<3xf32>, %y: tensor<f32>) -> tensor<3xf32> {
    ...   %0 = hlo.broadcast_in_dim %y, dims = [] : (tensor<f32>) -> tensor<3xf32>
    ...   %1 = hlo.multiply %x, %0 : tensor<3xf32>
    ...   return %1 : tensor<3xf32>
    ... }'''
    >>> exe = xhlo.compile(text)
    >>> exe
    <xhlo executable main for cpu: (x: float32[3], y: float32[]) -> float32[3]>
    >>> exe(np.ones(3, np.float32), y=2.5)
    array([2.5, 2.5, 2.5], dtype=float32)
    >>> y = np.empty(3, np.float32)
    >>> exe(np.ones(3, np.float32), 2.0, out=y) is y
    True
    >>> [fusion.kind for fusion in exe.fusions]
    ['loop']
    """

    def __init__(self, facts: Facts, text_at: Callable[[str], str]):
        self.facts = facts
        self._text_at = text_at
        self.source: Source | None = None
        """The source text of the program, if it was given as text."""
        self.signature = Signature(facts.names)
        """The names of the arguments, and the trees that hold them and the results."""
        self.maker: Maker | None = None
        self._unflatten: Callable[[Sequence[Any]], Any] | None = None
        self._profiling: Executable | None = None

    # Description ----------------------------------------------------------------------------------------------

    @property
    def input_types(self) -> tuple[ArrayType, ...]:
        """The arrays that the program takes."""
        return self.facts.inputs

    @property
    def output_types(self) -> tuple[ArrayType, ...]:
        """The arrays that the program returns."""
        return self.facts.outputs[: self.facts.result_count]

    @property
    def kernels(self) -> list[Kernel]:
        """The program's distinct kernels, with measured times when it was compiled with `profile=True`."""
        return self.facts.kernels

    @property
    def fusions(self) -> tuple[Fusion, ...]:
        """
        The fusions of the program, in order: what runs as one kernel. Equal ones share a kernel of `kernels`.

        Raises ValueError if the text is not known, or was given after fusion.
        """
        return tuple(self._explained()[0])

    @property
    def remarks(self) -> tuple[Remark, ...]:
        """Why each operation was or was not fused with each of its users. Raises ValueError as `fusions` does."""
        return tuple(self._explained()[1])

    def _explained(self) -> tuple[Sequence[Fusion], Sequence[Remark]]:
        if self.maker is None or self.maker.explain is None:
            raise ValueError("the executable was made without the program's text: its fusions are not known")
        return self.maker.explain()

    @property
    def compile_stages(self) -> dict[str, float]:
        """Seconds of compile time by stage, in order."""
        return dict(self.facts.stages)

    def as_text(self, stage: str = "hlo") -> str:
        """
        The program as text: "hlo", "fused", a stage of the target's lowering ("linalg", "loops", "llvm", ..), a text
        emission of the target ("asm" on the CPU, "ptx" on the GPU), or "hlo-text": XLA's text of the fused program.

        Raises ValueError for others, DiagnosticError for a program that has no form in HLO text.
        """
        return self._text_at(stage)

    def __repr__(self) -> str:
        facts = self.facts
        results = ", ".join(map(shape_text, self.output_types))
        if facts.result_count != 1:
            results = f"({results})"
        target = f" for {self.maker.target}" if self.maker is not None else ""
        return f"<xhlo executable {facts.name or 'main'}{target}: {self.signature.text(facts.inputs)} -> {results}>"

    # Calls -----------------------------------------------------------------------------------------------------

    def __call__(self, *arguments: Any, out: Any = None, **named: Any) -> Any:
        try:
            return self.call(arguments, named, out)
        except (DiagnosticError, TypeError) as error:
            hide_our_frames(error)
            raise

    def call(self, arguments: Sequence[Any], named: dict[str, Any], out: Any = None) -> Any:
        """The work of `__call__`; its errors have all frames."""
        flat = self.signature.bind(arguments, named, self.facts.inputs)
        return self.results(self.compute(flat, None if out is None else self._memory_of(out)))

    def compute(self, arguments: Sequence[Any], memory: Sequence[Array] | None) -> Sequence[Any]:
        """
        The program's outputs, those of its checks included, for its arguments in order; in `memory`, where given, for
        its own results.
        """
        arrays = [host_array(argument, i, self.facts.inputs[i]) for i, argument in enumerate(arguments)]
        outputs = list(self.run(arrays))
        for index, place in enumerate(memory or ()):
            np.copyto(place, np.asarray(outputs[index]))
            outputs[index] = place
        return outputs

    def run(self, arrays: list[Array]) -> Sequence[Any]:
        """The outputs for row-major arrays of exactly the types that the program takes."""
        raise NotImplementedError(f"{type(self).__name__} does not run programs")

    def _memory_of(self, out: Any) -> list[Array]:
        """The arrays of `out=`, one for each result. Raises TypeError."""
        types = self.output_types
        if self.signature.out_tree is not None:
            given = self.signature.out_tree.flatten_up_to(out)
        else:
            given = list(cast("Sequence[Any]", out)) if isinstance(out, (tuple, list)) else [out]
        if len(given) != len(types):
            raise TypeError(f"out= has {len(given)} arrays, the program returns {len(types)}")
        for index, (array, type_) in enumerate(zip(given, types, strict=True)):
            problem = _problem_with(array, type_)
            if problem:
                raise TypeError(f"out= for result {index}: expected a {shape_text(type_)} NumPy array, got {problem}")
        return given

    def check_count(self, arguments: Sequence[Any]) -> None:
        """Check the number of arguments. Raises TypeError."""
        if len(arguments) != len(self.facts.inputs):
            self.signature.bind(arguments, {}, self.facts.inputs)

    def results(self, outputs: Sequence[Any]) -> Any:
        """The program's own results among its outputs: one array, a tuple, or a tree. Raises CheckFailure."""
        count = self.facts.result_count
        if self.facts.checks:
            check_results(self.facts, outputs[count:])
        if self._unflatten is not None:
            return self._unflatten(outputs[:count])
        return outputs[0] if count == 1 else tuple(outputs[:count])

    def place(self, arguments: Sequence[Any]) -> Sequence[Any]:
        """The arguments in the memory that the program uses, so that calls do not copy them."""
        return arguments

    def wait(self) -> None:
        """Wait for asynchronous work of earlier calls; on most targets there is none."""
        return

    # Profiles --------------------------------------------------------------------------------------------------

    def profile(self, *arguments: Any, runs: int = 10, **named: Any) -> Profile:
        """
        Run the program `runs` times on these arguments, after once to warm up, and return the times of its kernels.

        A program that was not compiled with `profile=True` is compiled once more for that. Raises ValueError if its
        text is not known, and what a call raises.
        """
        from .profile import Profile

        try:
            executable = self._with_profile()
            executable.call(arguments, named)
            executable.wait()
            executable.reset_profile()
            for _ in range(runs):
                executable.call(arguments, named)
            executable.wait()
            return Profile.of([replace(kernel) for kernel in executable.kernels])
        except (DiagnosticError, TypeError) as error:
            hide_our_frames(error)
            raise

    def _with_profile(self) -> Executable:
        if self.facts.profiled:
            return self
        if self._profiling is None:
            if self.maker is None or self.maker.compile is None:
                raise ValueError("the program's text is not known: compile it with profile=True")
            self._profiling = self.maker.compile(True).called_as(self.signature)
        return self._profiling

    def reset_profile(self) -> None:
        """Forget the measured times."""
        for kernel in self.facts.kernels:
            kernel.calls = kernel.nanoseconds = 0

    def traffic_table(self) -> str:
        """The memory traffic of kernels, for a program compiled with `profile=True` for a target that counts it."""
        return ""

    # Copies ----------------------------------------------------------------------------------------------------

    def serialize(self) -> bytes:
        """The executable as bytes, for `xhlo.deserialize`. Raises ValueError on targets that keep nothing."""
        raise ValueError("executables of this target are not serialized")

    def called_as(self, signature: Signature) -> Self:
        """
        The same executable, called in another way. Code and counters are shared. Raises ValueError for trees of another
        size.
        """
        signature.check(len(self.facts.inputs), self.facts.result_count)
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.signature = signature
        other._unflatten = signature.result_builder()
        return other

    def __copy__(self) -> Self:
        return self.called_as(self.signature)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Code is never changed: a copy shares it."""
        return copy(self)

    def __reduce__(self) -> tuple[Any, ...]:
        """For pickle: the machine code, or where that is not kept, what to compile again."""
        if self.maker is None:
            raise TypeError(f"this {type(self).__name__} cannot be pickled")
        try:
            data = self.serialize()
        except ValueError:
            if self.maker.compile is None:
                raise
            data = None
        return _made_again, (self.maker, data, self.facts.profiled, self.signature)


def _made_again(maker: Maker, data: bytes | None, profiled: bool, signature: Signature) -> Executable:
    """Called by pickle; the bytes are checked as `xhlo.deserialize` checks them."""
    if data is not None:
        executable = maker.load(data)
    else:
        assert maker.compile is not None, "there is one or the other"
        executable = maker.compile(profiled)
    executable.maker = maker
    return executable.called_as(signature)


def _problem_with(given: Any, type_: ArrayType) -> str:
    """Why a result cannot be written to an array; empty if it can."""
    if not isinstance(given, np.ndarray):
        return type(given).__name__
    array = cast(Array, given)
    if (array.dtype, array.shape) != (type_.dtype, type_.shape):
        return f"{array.dtype}[{', '.join(map(str, array.shape))}]"
    if not array.flags.c_contiguous or not array.flags.aligned:
        return "one that is not row-major without gaps"
    return "" if array.flags.writeable else "one that is read-only"


def overlaps(array: Array, others: Sequence[Array]) -> bool:
    """Whether the memory of an array may overlap with that of others."""
    return any(np.may_share_memory(array, other) for other in others)


def check_results(facts: Facts, extra: Sequence[Array]) -> None:
    """
    Evaluate the checks of a program on `extra`, the outputs after its own, which extract-checks made.

    Raises CheckFailure for the first check that fails.
    """
    if not facts.checks:
        return
    from ...hlo_dialect.ops.check_calls import CheckFailure, run_check

    for check in facts.checks:
        actual, expected = (extra[place - facts.result_count] for place in check.results)
        message = run_check(check.kind, actual, expected, check.attributes)
        if message is not None:
            text = f"check.{check.kind} failed: {message}"
            raise CheckFailure(
                Diagnostic("error", text) if check.location is None else Diagnostic("error", text, check.location)
            )

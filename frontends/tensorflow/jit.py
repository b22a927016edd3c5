"""`xhlo.tensorflow.jit`: functions of TensorFlow and Keras models as programs of xhlo."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, overload

import numpy as np

from ...targets.compile import MathMode, TargetName
from ...targets.program.executable import Executable
from ...targets.program.target import Target
from ..stages import text_of
from .by_value import ByValue, made
from .gradients import run
from .library import tensorflow
from .programs import Options, Program
from .signatures import Arguments


class CompiledFunction:
    """A function that `xhlo.tensorflow.jit` returned: call it as the function itself."""

    def __init__(self, function: Callable[..., Any], options: Options):
        tf = tensorflow()
        self._python = getattr(function, "python_function", function)
        if inspect.isfunction(self._python) or inspect.ismethod(self._python):
            self._name = self._python.__name__
            called = self._python
        else:
            # A model: `tf.function` takes functions.
            self._name = str(getattr(function, "name", type(function).__name__))

            def called(*args: Any, **kwargs: Any) -> Any:
                return function(*args, **kwargs)

        self._called = called
        self._function = tf.function(called, jit_compile=True)
        """For functions that TensorFlow traces and that call this one."""
        self._signature = inspect.signature(called)
        self._options = options
        self._programs: dict[Hashable, ByValue] = {}
        self._lock = threading.RLock()
        functools.update_wrapper(self, called)

    def __repr__(self) -> str:
        return f"<xhlo.tensorflow.jit of {self._name}, {len(self._programs)} signatures>"

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Methods: the instance is an argument, by which programs are told apart."""
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        tf = tensorflow()
        if not tf.executing_eagerly():
            # TensorFlow traces a function that calls this one.
            return self._function(*args, **kwargs)
        program, leaves = self._program(args, kwargs)
        program.calls += 1
        results = run(program, program.values(leaves))
        program.assign(results)
        return program.packed(results)

    def _program(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Program, list[Any]]:
        """The program of a call, and the tensors and arrays that it takes."""
        arguments = Arguments(self._signature, args, kwargs)
        found = self._programs.get(arguments.key)
        if found is not None and found.takes_all:
            return found.program(arguments.leaves)
        with self._lock:
            found = self._programs.get(arguments.key)
            if found is None:
                found = self._programs[arguments.key] = made(functools.partial(self._made, arguments), arguments.leaves)
            return found.program(arguments.leaves)

    def _made(self, arguments: Arguments, fixed: Mapping[int, Any]) -> Program:
        """The program in which some leaves are constants."""
        fill = tensorflow().autograph.experimental.do_not_convert(functools.partial(_filled, arguments, fixed))
        leaves = [leaf for at, leaf in enumerate(arguments.leaves) if at not in fixed]
        return Program(functools.partial(_call, self._called, fill), leaves, self._options, self._name)

    def executable(self, *args: Any, **kwargs: Any) -> Executable:
        """The executable for these arguments: its kernels, its stages as text."""
        return self._program(args, kwargs)[0].executable

    def compiler_ir(self, *args: Any, stage: str = "hlo", **kwargs: Any) -> str:
        """
        The program for these arguments as text.

        "tensorflow" is the HLO text that TensorFlow made; then as for `xhlo.jit`: "hlo", "optimized_hlo" with its
        kernels, "optimized_hlo_dot" as a graph for Graphviz, or a stage of `Executable.as_text`: "hlo-text", "linalg",
        "loops", "llvm", "asm"; "ptx" is that of the GPU target on any target. Raises ValueError for an unknown stage.
        """
        program = self._program(args, kwargs)[0]
        if stage == "tensorflow":
            return program.source.text
        return text_of(stage, program.module, self._options.target, lambda: program.executable)

    def explain(self) -> str:
        """Each signature: its arguments, the seconds that tracing and compiling took, and its calls."""
        return "\n".join(
            f"{self._name}({program.described}): compiled in {program.seconds:.3f} s, {program.calls} calls"
            for each in self._programs.values()
            for program in each.programs()
        )


def _call(function: Callable[..., Any], fill: Callable[..., inspect.BoundArguments], *leaves: Any) -> Any:
    """Autograph rewrites this function, and the user's that it calls."""
    bound = fill(leaves)
    return function(*bound.args, **bound.kwargs)


def _filled(arguments: Arguments, fixed: Mapping[int, Any], leaves: Sequence[Any]) -> inspect.BoundArguments:
    """The arguments with these leaves, and constants in place of the fixed ones."""
    tf, rest = tensorflow(), iter(leaves)
    places = range(len(arguments.leaves))
    return arguments.filled([tf.constant(np.asarray(fixed[at])) if at in fixed else next(rest) for at in places])


@overload
def jit(
    function: Callable[..., Any], *, target: TargetName | Target = ..., math: MathMode = ...
) -> CompiledFunction: ...


@overload
def jit(
    *, target: TargetName | Target = ..., math: MathMode = ...
) -> Callable[[Callable[..., Any]], CompiledFunction]: ...


def jit(
    function: Callable[..., Any] | None = None, *, target: TargetName | Target = "cpu", math: MathMode = "default"
) -> Any:
    """
    Compile a function of TensorFlow code, a `tf.function` or a Keras model, as `jit_compile=True` does with XLA.

    TensorFlow traces the function at the first call of each signature: shapes and types of tensors and arrays, and the
    values of other arguments. xhlo compiles the HLO that TensorFlow makes of it. Variables are read at each call and
    assigned after it. Under `tf.GradientTape` the derivative is a compiled program too. Called by another function that
    TensorFlow traces, the function is a part of that one.

    `target` and `math` are those of `xhlo.compile`. Needs the extra `xhlo[tensorflow]`. Raises what TensorFlow raises
    for a function that XLA cannot compile, with the operation and its line, and DiagnosticError for what xhlo cannot.

    >>> import tensorflow as tf
    >>> import xhlo
    >>> @xhlo.tensorflow.jit
    ... def f(x):
    ...     return tf.reduce_sum(tf.nn.relu(x), axis=-1)
    >>> f(tf.constant([[1.0, -2.0], [3.0, 4.0]])).numpy()
    array([1., 7.], dtype=float32)
    """
    if function is None:
        return functools.partial(jit, target=target, math=math)
    return CompiledFunction(function, Options(target, math))

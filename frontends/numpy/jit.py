"""
`xhlo.jit`: a function of NumPy code, compiled as a whole for each combination of shapes and dtypes.

    @xhlo.jit
    def energy(x, y):
        return np.sum(np.sqrt(x * x + y * y))

The function is called once for each combination with arrays that record what is done to them. Code that needs an
element's value while it is traced is an error at that line.
"""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# Arrays of any element type: the parameters of NumPy's types are unknown.
from __future__ import annotations

import functools
import inspect
import re
import threading
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any, Generic, NamedTuple, ParamSpec, TypeVar, overload

import numpy as np

from ...hlo_dialect.donation import state_donations
from ...hlo_dialect.errors import DiagnosticError
from ...hlo_dialect.garbage_collector import paused_gc
from ...hlo_dialect.made_once import MadeOnce
from ...targets.compile import compile_program
from ...targets.cpu.direct_calls import CalledDirectly, Plan
from ...targets.cpu.executable import CpuExecutable
from ...targets.program.entry import entry_of
from ...targets.program.errors import hide_our_frames
from ...targets.program.executable import Executable
from ...targets.program.trees import LEAF, Structure, assembler, flatten, paths, unflatten
from ..builder.builder import Builder
from ..stages import text_of

# Imported because they register the functions that they compile.
from . import factorizations, fourier, signals, statistics  # noqa: F401  # pyright: ignore[reportUnusedImport]
from .arguments import Bound, as_argument, described_leaf, key_of, parameters_of, types_of
from .arrays import TracedArray, lift
from .autograph.rewriting import rewritten
from .autograph.undefined import Undefined
from .calls import traced_call
from .donation import Donated
from .errors import TraceError
from .functions import masks, padding, places, polynomials  # noqa: F401  # pyright: ignore[reportUnusedImport]
from .named_sizes import NamedSizes
from .shortcuts import Shortcuts
from .unrolling import Repetitions

P = ParamSpec("P")
R = TypeVar("R")

MANY = 8
"""The number of compilations of one function from which it warns."""

MOST_PLANS = 8
"""The combinations of a function whose calls machine code answers: it tries one after the other."""


class CacheInfo(NamedTuple):
    hits: int
    misses: int
    currsize: int


def _not_compiled(*arguments: Any) -> Any:
    raise AssertionError("compile() comes first")


@dataclass
class Compiled:
    """One combination of shapes, dtypes and static arguments."""

    arguments: list[str]
    """Their names, types and shapes."""
    reason: str
    module: Any
    results: Structure
    constants: list[Any]
    """The results' leaves; None where the program computes them."""
    target: str
    pattern: str = ""
    """The arguments, with names in place of the sizes that `shapes` names."""
    names: list[str] = field(default_factory=list[str])
    """The names of the program's arguments."""
    donated: frozenset[int] = frozenset()
    """The numbers of the arguments that a call may use up."""
    seconds: float = 0.0
    slow_calls: int = 0
    """The calls that Python answered."""
    plan: Plan | None = None
    """That of the other calls."""
    executable: Executable | None = None
    run: Callable[..., Any] = _not_compiled
    """Calls the executable."""

    def compile(self) -> Executable:
        if self.executable is None:
            start = time.perf_counter()
            if self.donated:
                state_donations(entry_of(self.module), dict.fromkeys(self.donated))
            self.executable = found = compile_program(self.module, self.target)
            self.seconds = time.perf_counter() - start
            self.run = found
            if self.donated and isinstance(found, CpuExecutable):
                spare = Donated()
                self.run = lambda *arguments: spare.run(found, arguments, self.names, self.donated)
        return self.executable

    @property
    def calls(self) -> int:
        """How often it was called."""
        return self.slow_calls + self.planned_calls

    @property
    def planned_calls(self) -> int:
        return 0 if self.plan is None else self.plan.calls

    @property
    def is_one_array(self) -> bool:
        """Whether the function returns the array that the program computes."""
        return self.results == LEAF and self.constants[0] is None

    @functools.cached_property
    def tree(self) -> Callable[[Sequence[Any]], Any]:
        """Makes the value that the function returns from the program's outputs."""
        constants = self.constants if any(self.constants) else None
        assemble = assembler(self.results)

        def tree(outputs: Sequence[Any]) -> Any:
            if constants is None:
                return assemble(iter(outputs))
            results = iter(outputs)
            return assemble(iter([next(results) if one is None else one[0] for one in constants]))

        return tree


_PLANNED = frozenset((np.ndarray, float, int))
"""The classes of arguments that machine code takes, besides those of NumPy's scalars."""


@dataclass(frozen=True)
class Options:
    """The options of `xhlo.jit`."""

    static: frozenset[str] = frozenset()
    donated: frozenset[str] = frozenset()
    shapes: NamedSizes = field(default_factory=lambda: NamedSizes({}))
    target: str = "cpu"
    autograph: bool = False


class JitFunction(CalledDirectly, Generic[P, R]):
    """A function that is compiled when it is called; made by `xhlo.jit`."""

    def __init__(self, function: Callable[P, R], options: Options):
        functools.update_wrapper(self, function)
        self._function = function
        self._signature = inspect.signature(function)
        self._options = options
        for what, names in (
            ("static_argnames", options.static),
            ("donate_argnames", options.donated),
            ("shapes", {re.split(r"[.\[]", name)[0] for name in options.shapes.arguments}),
        ):
            unknown = [name for name in names if name not in self._signature.parameters]
            if unknown:
                raise ValueError(f"{what}: {function.__name__} has no argument '{unknown[0]}'")
        both = options.static & options.donated
        if both:
            raise ValueError(f"donate_argnames: the argument '{min(both)}' is static")
        self._shortcuts = Shortcuts[Compiled](self._signature, options.static)
        self._compiled = MadeOnce[Any, Compiled]()
        self._lock = threading.RLock()  # a handler of a signal may call the function meanwhile
        self._hits = 0
        self._plans = 0
        self.forget_plans()

    @overload
    def __get__(self, instance: None, owner: Any = None) -> JitFunction[P, R]: ...

    @overload
    def __get__(self, instance: object, owner: Any = None) -> Callable[..., R]: ...

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __reduce__(self) -> str:
        """Pickled by its name, as functions are; raises TypeError where it has none."""
        name = getattr(self, "__qualname__", None)
        if name is None:
            raise TypeError(f"compiled functions are pickled by name, and {self._function!r} has none")
        return str(name)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        # Machine code answers calls that are like earlier ones with nothing but arrays (see CalledDirectly).
        seen = self._shortcuts.facts(args, kwargs)
        known = None if seen is None else self._shortcuts.find(*seen)
        if known is None:
            if any(isinstance(leaf, TracedArray) for leaf in flatten((args, kwargs))[0]):
                # A call in another compiled function becomes a part of its program.
                return self._traceable(*args, **kwargs)
            try:
                found, leaves = self._found(args, kwargs)
            except Exception as error:
                hide_our_frames(error, isinstance(error, TraceError))
                raise
            if seen is not None:
                self._shortcuts.keep(seen[0], args, kwargs, found)
        else:
            self._hits += 1
            found, leaves = known
            leaves = [one if type(one) is np.ndarray else np.asarray(one) for one in leaves]
            if found.plan is None and not kwargs:
                self._plan_calls(found, args)
        found.slow_calls += 1
        outputs = found.run(*leaves)
        if found.is_one_array:
            return outputs
        return found.tree(outputs if isinstance(outputs, tuple) else (outputs,))

    def _plan_calls(self, found: Compiled, args: Sequence[Any]) -> None:
        """Let machine code answer calls like this one, if it has but arrays and numbers and their program allows it."""
        executable, kinds = found.executable, list(map(type, args))
        if self._options.static or found.donated or not isinstance(executable, CpuExecutable):
            return
        if not all(kind in _PLANNED or issubclass(kind, np.generic) for kind in kinds):
            return
        with self._lock:
            if found.plan is None and self._plans < MOST_PLANS:
                found.plan = executable.add_plan_to(self, None if found.is_one_array else found.tree, kinds)
                self._plans += found.plan is not None

    def _found(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Compiled, Sequence[Any]]:
        """The combination of a call, compiled, and the program's arguments."""
        leaves, key, bound = self._sorted(args, kwargs)
        found = self._compiled.find(key)
        if found is None:
            found = self._trace(key, bound)
        else:
            self._hits += 1
        found.compile()
        return found, leaves

    # Signatures.

    def _sorted(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Sequence[Any], Any, Bound]:
        """The leaves of the arguments, the key of the combination, and the arguments by name."""
        bound = self._signature.bind(*args, **kwargs)
        fixed = {name: value for name, value in bound.arguments.items() if name in self._options.static}
        traced = {name: value for name, value in bound.arguments.items() if name not in self._options.static}
        leaves, structure = flatten(traced)
        try:
            # 1, 1.0 and True are equal, and not the same to the function.
            static = tuple([(*item, types_of(item[1])) for item in fixed.items()])
            key = structure, static, tuple([key_of(leaf) for leaf in leaves])
            hash(key)
        except TypeError as error:
            raise TypeError(
                f"{self._function.__name__}: a static argument, or a key of a dict, is unhashable: {error}"
            ) from None
        return list(map(as_argument, leaves)), key, Bound(bound, fixed, structure, traced, leaves)

    def _trace(self, key: Any, bound: Bound) -> Compiled:
        made: list[Compiled] = []

        def make() -> Compiled:
            made.append(self._traced(bound))
            return made[0]

        found = self._compiled.get_or_make(key, make)
        if made and found is made[0]:
            self._warn_of_many(found)
        return found

    @paused_gc()
    def _traced(self, bound: Bound) -> Compiled:
        builder = Builder(watch=Repetitions())
        traced, leaves = bound.traced, bound.leaves
        names = [path for name, value in traced.items() for path in paths(value, name)]
        owners = [name for name, value in traced.items() for _ in paths(value, name)]
        sizes = self._options.shapes.check([(name, np.shape(leaf)) for name, leaf in zip(names, leaves, strict=True)])
        given = parameters_of(builder, leaves, names)
        described = [f"{name}: {described_leaf(leaf)}" for name, leaf in zip(names, leaves, strict=True)]
        pattern = [f"{one.partition('[')[0]}{size}" for one, size in zip(described, sizes, strict=True)]
        arguments = bound.arguments
        arguments.arguments.update(unflatten(bound.structure, given))
        static = [f"{name}={value!r}" for name, value in bound.fixed.items()]
        tree = traced_call(builder, self._traceable, arguments.args, arguments.kwargs)
        outputs, results = flatten(tree)
        for one in outputs:
            if isinstance(one, Undefined | masks.Chosen):
                one.returned()
        constants = [None if isinstance(one, TracedArray) else (one,) for one in outputs]
        values = [lift(builder, one).value for one in outputs if isinstance(one, TracedArray)]
        described += static
        return Compiled(
            described,
            self._reason(described),
            _built(builder, values),
            results,
            constants,
            self._options.target,
            ", ".join([*pattern, *static]),
            names,
            frozenset(number for number, name in enumerate(owners) if name in self._options.donated),
        )

    @functools.cached_property
    def _traceable(self) -> Callable[..., Any]:
        """The function as it is traced."""
        return rewritten(self._function) if self._options.autograph else self._function

    def _reason(self, described: list[str]) -> str:
        """Why a combination needs an executable of its own: what differs from the last one."""
        known = self._compiled.values()
        if not known:
            return "the first call"
        last = known[-1].arguments
        changed = [f"{new} after {old}" for old, new in zip(last, described, strict=False) if old != new]
        return "; ".join(changed) or "other arguments"

    def _warn_of_many(self, found: Compiled) -> None:
        """Sizes that have a name may change."""
        others = {one.pattern for one in takewhile(lambda one: one is not found, self._compiled.values())}
        if found.pattern not in others and len(others) == MANY:
            warnings.warn(
                f"{self._function.__name__} is compiled for the {MANY + 1}th time: {found.reason}; "
                "pad to fewer shapes, name sizes that change (shapes=), or see .explain()",
                stacklevel=4,
            )

    # Inspection.

    def cache_info(self) -> CacheInfo:
        """Calls that found their executable, those that did not, and the number of executables."""
        hits = self._hits + sum(one.planned_calls for one in self._compiled.values())
        return CacheInfo(hits, len(self._compiled), len(self._compiled))

    def cache_clear(self) -> None:
        """Forget all executables."""
        with self._lock:
            self._compiled.clear()
            self._shortcuts.clear()
            self.forget_plans()
            self._hits = self._plans = 0

    def explain(self) -> str:
        """Each combination: its arguments, why it was compiled, how long that took, and its calls."""
        return "\n".join(
            f"{self._function.__name__}({', '.join(one.arguments)}): {one.reason}; "
            f"compiled in {one.seconds:.3f} s, {one.calls} calls"
            for one in self._compiled.values()
        )

    def lower(self, *args: Any, **kwargs: Any) -> Compiled:
        """The program for these arguments: `.module`, and `.compile()`."""
        _, key, bound = self._sorted(args, kwargs)
        return self._compiled.find(key) or self._trace(key, bound)

    def executable(self, *args: Any, **kwargs: Any) -> Executable:
        """The executable for these arguments: its kernels, its stages as text."""
        return self.lower(*args, **kwargs).compile()

    def compiler_ir(self, *args: Any, stage: str = "hlo", **kwargs: Any) -> str:
        """
        The program for these arguments as text.

        "hlo", "optimized_hlo" with its kernels, "optimized_hlo_dot" as a graph for Graphviz, or a stage of
        `Executable.as_text`: "linalg", "loops", "llvm", "asm"; "ptx" is that of the GPU target on any target. Raises
        ValueError for an unknown stage.
        """
        lowered = self.lower(*args, **kwargs)
        return text_of(stage, lowered.module, lowered.target, lowered.compile)


def _built(builder: Builder, values: Sequence[Any]) -> Any:
    """The program. Raises TraceError for an array that is used where the run may not have made it."""
    try:
        return builder.build(*values)
    except DiagnosticError as error:
        first = error.diagnostics[0]
        if "does not dominate this use" not in first.message:
            raise
        raise TraceError(
            "an array that was made in a loop or branch of the run is used outside of it",
            "return it from the function of the loop or branch; with autograph, assign it to a variable that has a "
            "value before, or to elements of an array: out[i] = x in place of out.append(x)",
            first.location,
        ) from None


def _names(given: str | Sequence[str]) -> frozenset[str]:
    return frozenset((given,) if isinstance(given, str) else given)


@overload
def jit(
    function: Callable[P, R],
    *,
    static_argnames: str | Sequence[str] = ...,
    donate_argnames: str | Sequence[str] = ...,
    shapes: Mapping[str, Any] | None = ...,
    target: str = ...,
    autograph: bool = ...,
) -> JitFunction[P, R]: ...


@overload
def jit(
    *,
    static_argnames: str | Sequence[str] = ...,
    donate_argnames: str | Sequence[str] = ...,
    shapes: Mapping[str, Any] | None = ...,
    target: str = ...,
    autograph: bool = ...,
) -> Callable[[Callable[P, R]], JitFunction[P, R]]: ...


def jit(
    function: Callable[..., Any] | None = None,
    *,
    static_argnames: str | Sequence[str] = (),
    donate_argnames: str | Sequence[str] = (),
    shapes: Mapping[str, Any] | None = None,
    target: str = "cpu",
    autograph: bool = False,
) -> Any:
    """
    Compile a function of NumPy code as a whole: a decorator, with or without arguments.

    Arguments are arrays, numbers, and tuples, lists, dicts and dataclasses of them. Results are NumPy arrays in the
    structure that the function returns. A random number drawn with NumPy is a constant of the program.

    static_argnames: arguments whose values the function may branch on, as they are known when it is traced; hashable.
    donate_argnames: arguments that the caller does not use after the call: results may be written to their memory.
    shapes: sizes by name, `{"x": "n, 4", "y": "n"}`: "n" may change from call to call, and is the same in all
        arguments, else ValueError; "_" is any size, "..." any number of them.
    target: "cpu" or "gpu".
    autograph: `if`, `while`, `for` and `and`, `or`, `not` on arrays become control flow of the program.

    Raises TraceError, a TypeError, at the line that cannot be compiled.

    >>> import numpy as np
    >>> import xhlo
    >>> @xhlo.jit
    ... def softmax(x):
    ...     e = np.exp(x - x.max(axis=-1, keepdims=True))
    ...     return e / e.sum(axis=-1, keepdims=True)
    >>> softmax(np.zeros((2, 4))).sum(axis=-1)
    array([1., 1.])
    """
    options = Options(_names(static_argnames), _names(donate_argnames), NamedSizes(shapes or {}), target, autograph)
    if function is None:
        return lambda found: JitFunction(found, options)
    return JitFunction(function, options)

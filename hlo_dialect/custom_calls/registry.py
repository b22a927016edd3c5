"""
Targets of custom calls by name: those of this folder, those of installed packages, and those that a program registers.

    @xhlo.custom_call("scaled_sum")
    def scaled_sum(call, x, y):
        return call.attributes["scale"] * (x + y)

The function gives the target its meaning in the reference interpreter, and compiled code calls it back unless the
target has a decomposition into other operations. A target that is not registered is refused by name.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from ..arrays import Array, ArrayType
from ..errors import Diagnostic, DiagnosticError
from ..plugins import Plugin, leave_out, loaded

if TYPE_CHECKING:
    from xdsl.ir import Operation

    from .call import CustomCall

Function = Callable[..., Any]
"""(CustomCall, NumPy arrays of the operands ..) to an array, a tuple of them, or None where there are no results."""
FunctionT = TypeVar("FunctionT", bound=Function)
Check = Callable[["CustomCall"], "str | None"]
"""Describes what is wrong with a call's types and attributes; None for a valid call."""
Decomposition = Callable[[Any], "Sequence[Operation] | None"]
"""Replaces a custom call in place. Returns the new operations, or None if it stays (see passes/decompose_hlo/)."""

ENTRY_POINT_GROUP = "xhlo.custom_calls"
"""Entry points of other packages; each loads as a sequence of `CustomCallTarget`."""


@dataclass(frozen=True)
class CustomCallTarget:
    """The meaning of a target."""

    name: str
    function: Function | None = None
    """None for a target that only marks its operands; its results are its operands."""
    check: Check | None = None
    decomposition: Decomposition | None = None
    """Replaces the call by other operations, which are compiled instead of a call of `function`."""
    library: str = ""
    """The library that the function calls; empty if it runs the user's Python code."""
    borrows: bool = False
    """Whether the function keeps no reference to its arrays, so that it may see the program's own memory."""
    local: bool = False
    """Whether calls mean something only in the process that compiled them, so that executables with them stay there."""
    loops: bool = False
    """Whether convert-hlo-to-linalg lowers calls to loops, and nothing is called; `function` is for the reference."""

    @property
    def is_identity(self) -> bool:
        return self.function is None


class CustomCallError(DiagnosticError):
    """
    An error in a target's function; `__cause__` is the exception, if it raised one.

    >>> import numpy as np
    >>> import xhlo
    >>> @xhlo.custom_call("docs.fails")
    ... def fails(call, x):
    ...     raise RuntimeError("out of tickets")
    >>> exe = xhlo.compile('''func.func @main(%x: tensor<f32>) -> tensor<f32> {
    ...   %0 = hlo.custom_call @docs.fails(%x) : (tensor<f32>) -> tensor<f32>
    ...   return %0 : tensor<f32>
    ... }''')
    >>> try:
    ...     exe(1.0)
    ... except xhlo.CustomCallError as error:
    ...     print(repr(error.__cause__))
    RuntimeError('out of tickets')
    """


class Registry:
    """Targets by name; safe to use from several threads."""

    def __init__(self) -> None:
        self._targets: dict[str, CustomCallTarget] = {}
        self._begun = self._loaded = False
        self._lock = threading.RLock()
        self.version = 0
        """Grows with each registration, because programs compiled before may now have another meaning."""

    def find(self, name: str) -> CustomCallTarget | None:
        """The target of that name, or None."""
        self._load()
        return self._targets.get(name)

    def names(self) -> tuple[str, ...]:
        """All names in order."""
        self._load()
        return tuple(sorted(self._targets))

    def add(self, target: CustomCallTarget, replace: bool = False) -> None:
        """Raises ValueError where the name is taken, unless `replace`."""
        self._load()
        with self._lock:
            if target.name in self._targets and not replace:
                raise ValueError(f"custom call target '{target.name}' is registered already (replace=True replaces it)")
            self._targets[target.name] = target
            self.version += 1

    def remove(self, name: str) -> None:
        """Forget a target. Raises KeyError where there is none of that name."""
        self._load()
        with self._lock:
            del self._targets[name]
            self.version += 1

    def _load(self) -> None:
        """Load the targets of this folder and of installed packages, once; other threads wait for them."""
        if self._loaded:
            return
        with self._lock:
            # Loading may ask for targets, on this thread.
            if self._begun:
                return
            self._begun = True
            from ..rules import import_files

            for file in import_files(__package__ or ""):
                self._targets |= {target.name: target for target in getattr(file, "TARGETS", ())}
            for plugin, targets in loaded(ENTRY_POINT_GROUP):
                self._add_those_of(plugin, targets)
            self._loaded = True

    def _add_those_of(self, plugin: Plugin, targets: Any) -> None:
        try:
            self._targets |= {target.name: target for target in targets}
        except (AttributeError, TypeError) as error:
            leave_out(plugin, f"expected a sequence of CustomCallTarget: {error}")


REGISTRY = Registry()
"""The process's targets."""


def register_custom_call(
    name: str,
    function: Function,
    *,
    check: Check | None = None,
    decomposition: Decomposition | None = None,
    replace: bool = False,
) -> None:
    """
    Make `function` the meaning of the custom call target `name`.

    `function(call, *operands)` gets a `CustomCall` and NumPy arrays, and returns the results: exactly the shapes and
    dtypes of `call.results`. `check(call)` returns a description of what is wrong with a call's types and attributes,
    or None; it is called before anything runs. `decomposition(op)` replaces the call by other operations, so that
    nothing is called back. Raises ValueError where the name is taken, unless `replace`.

    >>> import numpy as np
    >>> import xhlo
    >>> xhlo.register_custom_call("docs.sorted", lambda call, x: np.sort(x))
    >>> exe = xhlo.compile('''func.func @main(%x: tensor<3xi32>) -> tensor<3xi32> {
    ...   %0 = hlo.custom_call @docs.sorted(%x) : (tensor<3xi32>) -> tensor<3xi32>
    ...   return %0 : tensor<3xi32>
    ... }''')
    >>> exe(np.array([2, 3, 1], np.int32))
    array([1, 2, 3], dtype=int32)
    """
    REGISTRY.add(CustomCallTarget(name, function, check, decomposition), replace)


def custom_call(
    name: str,
    *,
    check: Check | None = None,
    decomposition: Decomposition | None = None,
    replace: bool = False,
) -> Callable[[FunctionT], FunctionT]:
    """
    The decorator form of `register_custom_call`.

    >>> import numpy as np
    >>> import xhlo
    >>> @xhlo.custom_call("docs.flip")
    ... def flip(call, x):
    ...     return x[::-1]
    >>> exe = xhlo.compile('''func.func @main(%x: tensor<3xi32>) -> tensor<3xi32> {
    ...   %0 = hlo.custom_call @docs.flip(%x) : (tensor<3xi32>) -> tensor<3xi32>
    ...   return %0 : tensor<3xi32>
    ... }''')
    >>> exe(np.arange(3, dtype=np.int32))
    array([2, 1, 0], dtype=int32)
    """

    def register(function: FunctionT) -> FunctionT:
        register_custom_call(name, function, check=check, decomposition=decomposition, replace=replace)
        return function

    return register


def target_of(op: Operation) -> CustomCallTarget:
    """
    The target that a custom call names, after checking the call. Raises DiagnosticError for unknown and misused ones.
    """
    from ..diagnostics import fail
    from .call import describe_call

    name = cast(Any, op.properties["call_target_name"]).data
    target = REGISTRY.find(name)
    if target is None:
        fail(op, f"calls the target '{name}', which {_why_unknown(name)}")
    if target.is_identity:
        if tuple(op.operand_types) != tuple(op.result_types):
            fail(op, f"calls '{name}', whose results are its operands, with results of other types")
    else:
        call = describe_call(op)
        problem = None if target.check is None else target.check(call)
        if problem is not None:
            fail(op, f"calls '{name}' wrongly: {problem}")
    return target


def _why_unknown(name: str) -> str:
    if re.fullmatch(r"xhlo_python_callback|xla_(ffi_)?(partitioned_)?python_(cpu|gpu)_callback", name):
        return "is a Python function of the process that made the program: a text does not have it"
    return "is not registered (xhlo.register_custom_call registers targets)"


def run_target(target: CustomCallTarget, call: CustomCall, operands: Sequence[Array]) -> tuple[Array, ...]:
    """
    Run a call. Returns results of exactly the types that it states.

    Raises CustomCallError, at the call's location, for exceptions of the function and for results that do not fit.
    """
    assert target.function is not None
    try:
        given = target.function(call, *operands)
    except Exception as error:
        raise failure(call, f"custom call '{call.target}': {type(error).__name__}: {error}") from error
    results: tuple[Any, ...] = () if given is None else given if isinstance(given, tuple) else (given,)  # pyright: ignore
    if len(results) != len(call.results):
        raise failure(
            call, f"custom call '{call.target}' returned {len(results)} results, expected {len(call.results)}"
        )
    return tuple(_fitting(call, index, *pair) for index, pair in enumerate(zip(results, call.results, strict=True)))


def _fitting(call: CustomCall, index: int, value: Any, wanted: ArrayType) -> Array:
    array: Array = np.asarray(value)
    if array.shape != wanted.shape or array.dtype != wanted.dtype:
        message = f"custom call '{call.target}' returned result {index} as {array.dtype}{list(array.shape)}"
        raise failure(call, f"{message}, expected {wanted.dtype}{list(wanted.shape)}")
    return array


def failure(call: CustomCall, message: str) -> CustomCallError:
    """An error about a call, at its location."""
    if call.location is None:
        return CustomCallError(Diagnostic("error", message))
    return CustomCallError(Diagnostic("error", message, call.location))

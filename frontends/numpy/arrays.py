"""
`TracedArray`: what a compiled function's arrays are while it is traced.

It answers to NumPy by NumPy's own protocols (NEP 13, NEP 18 and the array API standard), with NumPy 2's promotion
(NEP 50).
"""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# Arrays of any element type: the parameters of NumPy's types are unknown.
from __future__ import annotations

import operator
import weakref
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ...hlo_dialect.types import element_of, element_type_of, make_tensor, numpy_dtype, shape_of
from ..array_facts import ArrayFacts
from ..builder.builder import Builder, Value
from .constants import constant
from .errors import TraceError
from .registry import (
    CALL_UFUNC,
    CHOSEN,
    FUNCTIONS,
    METHODS,
    MUST_BE_KNOWN,
    STANDARDS,
    TRACE,
    TRACED_ONLY,
    WHY,
    implements,
    namespace,
)
from .views import VIEWING, attribute, base_of, detached, linked, written

__all__ = ["STANDARDS", "TRACE", "implements"]
"""Names that other modules import from here too."""

_errors: weakref.WeakKeyDictionary[Builder, list[TraceError]] = weakref.WeakKeyDictionary()


def builder_errors(builder: Builder) -> list[TraceError]:
    """The errors of a trace about values that are not known, which NumPy may have replaced by its own."""
    return _errors.setdefault(builder, [])


def _operate(ufunc: np.ufunc, *operands: Any) -> Any:
    """An operator; between Python's numbers, arguments of the function among them, the result is one too."""
    result = CALL_UFUNC[0](ufunc, *operands)
    for operand in operands:
        if isinstance(operand, TracedArray) and operand.weak is None:
            return result
    if isinstance(result, TracedArray) and all(map(is_weak, operands)):
        result.weak = _PYTHON_NUMBERS.get(result.dtype.kind)
    return result


_PYTHON_NUMBERS: dict[str, type] = {"b": bool, "i": int, "f": float, "c": complex}


def is_weak(value: Any) -> bool:
    """Whether a value is a number of Python, which takes the type of an array that it meets (NEP 50)."""
    return value.weak is not None if isinstance(value, TracedArray) else type(value) in (bool, int, float, complex)


def _ufunc(name: str) -> Callable[..., Any]:
    ufunc = getattr(np, name)
    return lambda self, other: _operate(ufunc, self, other)


def _reflected(name: str) -> Callable[..., Any]:
    ufunc = getattr(np, name)
    return lambda self, other: _operate(ufunc, other, self)


def _unary(name: str) -> Callable[..., Any]:
    ufunc = getattr(np, name)
    return lambda self: _operate(ufunc, self)


def _in_place(name: str) -> Callable[..., Any]:
    ufunc = getattr(np, name)

    def method(self: TracedArray, other: Any) -> TracedArray:
        # A number of Python is not changed; the variable gets another.
        if self.weak is not None:
            return _operate(ufunc, self, other)
        # Neither is a number that NumPy took from an array, or computed.
        if not self.shape and self.block is self.builder.current_block:
            return CALL_UFUNC[0](ufunc, self, other)
        return self.write(CALL_UFUNC[0](ufunc, self, other))

    return method


def _needs_value(name: str) -> Callable[..., NoReturn]:
    wanted, remedy = MUST_BE_KNOWN[name]

    def method(self: TracedArray) -> NoReturn:
        reason = f"{wanted} is needed here, which is not known while the function is compiled: {self!r}"
        error = TraceError(reason, remedy)
        builder_errors(self.builder).append(error)
        raise error

    return method


def _facts(type_: Any) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """The shape and dtype of a tensor type."""
    facts: dict[str, Any] = vars(type_)
    found = facts.get("_array")
    if found is None:
        # As functools.cached_property keeps what it computes.
        dtype = numpy_dtype(element_of(type_))
        assert dtype is not None
        found = facts["_array"] = shape_of(type_), dtype
    return found


def _refuse_shape(array: TracedArray, shape: Any) -> NoReturn:
    raise TraceError("the shape of an array is assigned, which is not compiled", f"x = x.reshape({shape})")


def _has_mask(key: Any) -> bool:
    """Whether a key has a part that chooses by elements."""
    for part in key if type(key) is tuple else (key,):
        kind = type(part)
        if kind is CHOSEN["type"] or (kind is TracedArray and part.dtype.kind == "b"):
            return True
    return False


class TracedArray(ArrayFacts):
    """An array whose shape and dtype are known while a function is traced, and whose elements when it runs."""

    __slots__ = (
        "__weakref__", "_shape", "block", "builder", "dtype", "is_argument", "source", "value", "views", "weak"
    )  # fmt: skip
    __array_priority__ = 1000

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    def __init__(self, builder: Builder, value: Value, is_argument: bool = False):
        self.builder = builder
        self.value = value
        self._shape, self.dtype = _facts(value.value.type)
        self.is_argument = is_argument
        """Whether it is the caller's array, which the function must not change."""
        self.block = builder.current_block
        """The block of the function, loop or branch that made it; others must not change it."""
        self.weak: type | None = None
        """The type of Python's numbers that it is one of; None for an array."""
        self.source: tuple[TracedArray, str, Any] | None = None
        """The array of which it may be a view, and how it came from it (views.py)."""
        self.views: list[weakref.ref[TracedArray]] | None = None
        """The arrays that may be views of it."""

    # Facts.

    shape: Any = property(operator.attrgetter("_shape"), _refuse_shape)

    @property
    def device(self) -> str:
        return "cpu"

    def to_device(self, device: str, /, *, stream: Any = None) -> TracedArray:
        if device != "cpu":
            raise ValueError(f"there is no device {device!r} while a function is traced")
        return self

    def __repr__(self) -> str:
        return f"TracedArray(shape={self.shape}, dtype={self.dtype})"

    def __format__(self, spec: str) -> str:
        if spec:
            raise TraceError(
                f"its value is needed here, to be formatted as '{spec}', which is not known while the function is "
                f"compiled: {self!r}",
                "return it, and format it outside of the compiled function",
            )
        return repr(self)

    def __iter__(self) -> Iterator[TracedArray]:
        return (self[index] for index in range(len(self)))

    def like(self, value: Value) -> TracedArray:
        """An array of the same trace."""
        return TracedArray(self.builder, value)

    def __copy__(self) -> TracedArray:
        return self.like(self.value)

    def __deepcopy__(self, memo: Any) -> TracedArray:
        return self.like(self.value)

    # Values that only a run knows.

    __bool__ = _needs_value("__bool__")
    __float__ = _needs_value("__float__")
    __complex__ = _needs_value("__complex__")
    __int__ = _needs_value("__int__")
    __index__ = _needs_value("__index__")
    __hash__ = _needs_value("__hash__")  # pyright: ignore[reportAssignmentType]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
        error = TraceError(
            f"its elements are needed here, which are not known while the function is compiled: {self!r}",
            "a function of NumPy that takes arrays; np.stack([..]) in place of np.array([..]), "
            "np.take(constant, i, axis=0) in place of constant[i]",
        )
        builder_errors(self.builder).append(error)
        raise error

    item = tolist = __array__

    # NumPy's protocols.

    def __array_ufunc__(self, ufunc: np.ufunc, how: str, *inputs: Any, **stated: Any) -> Any:
        return CALL_UFUNC[0](ufunc, *inputs, how=how, **stated)

    def __array_namespace__(self, *, api_version: str | None = None) -> ModuleType:
        return namespace(api_version)

    def __array_function__(self, function: Any, types: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        found = TRACED_ONLY.get(function) or FUNCTIONS.get(function)
        if found is None:
            name = f"{function.__module__}.{function.__name__}".replace("numpy.", "np.", 1)
            reason, remedy = WHY.get(
                function, ("", "call it outside of the compiled function, or write it with others")
            )
            raise TraceError(f"{name} is not compiled{reason}", remedy)
        try:
            result = found(*args, **kwargs)
            return result if function.__name__ in VIEWING else detached(result, tuple(args))
        except TypeError as error:
            if isinstance(error, TraceError) or "argument" not in str(error):
                raise
            raise TraceError(f"np.{function.__name__}: {error}") from None

    # Operators.

    __add__, __radd__, __iadd__ = _ufunc("add"), _reflected("add"), _in_place("add")
    __sub__, __rsub__, __isub__ = _ufunc("subtract"), _reflected("subtract"), _in_place("subtract")
    __mul__, __rmul__, __imul__ = _ufunc("multiply"), _reflected("multiply"), _in_place("multiply")
    __truediv__, __rtruediv__, __itruediv__ = _ufunc("divide"), _reflected("divide"), _in_place("divide")
    __floordiv__, __rfloordiv__ = _ufunc("floor_divide"), _reflected("floor_divide")
    __ifloordiv__ = _in_place("floor_divide")
    __mod__, __rmod__, __imod__ = _ufunc("remainder"), _reflected("remainder"), _in_place("remainder")
    __pow__, __rpow__, __ipow__ = _ufunc("power"), _reflected("power"), _in_place("power")
    __matmul__, __rmatmul__, __imatmul__ = _ufunc("matmul"), _reflected("matmul"), _in_place("matmul")
    __and__, __rand__, __iand__ = _ufunc("bitwise_and"), _reflected("bitwise_and"), _in_place("bitwise_and")
    __or__, __ror__, __ior__ = _ufunc("bitwise_or"), _reflected("bitwise_or"), _in_place("bitwise_or")
    __xor__, __rxor__, __ixor__ = _ufunc("bitwise_xor"), _reflected("bitwise_xor"), _in_place("bitwise_xor")
    __lshift__, __rlshift__, __ilshift__ = _ufunc("left_shift"), _reflected("left_shift"), _in_place("left_shift")
    __rshift__, __rrshift__, __irshift__ = _ufunc("right_shift"), _reflected("right_shift"), _in_place("right_shift")
    __divmod__, __rdivmod__ = _ufunc("divmod"), _reflected("divmod")
    __lt__, __le__, __gt__, __ge__ = map(_ufunc, ("less", "less_equal", "greater", "greater_equal"))
    __eq__, __ne__ = _ufunc("equal"), _ufunc("not_equal")
    __neg__, __pos__, __abs__, __invert__ = map(_unary, ("negative", "positive", "absolute", "invert"))

    # Elements.

    def __getitem__(self, key: Any) -> Any:
        if _has_mask(key):
            chosen = CHOSEN["get"](self, key)
            if chosen is not None:
                return chosen
        return METHODS["__getitem__"](self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        if type(value) is TracedArray and value.source is not None:
            base, kind, of_view = value.source
            if base is self and kind == "item" and of_view is key:
                return  # `x[key] += y`, whose second step assigns what the first has written
        self._check_own()
        new = CHOSEN["set"](self, key, value) if _has_mask(key) else None
        self.write(METHODS["__setitem__"](self, key, value) if new is None else new)

    def _check_own(self) -> None:
        """Raises TraceError where it, or the array of which it is a view, must not be changed."""
        array: TracedArray | None = self
        while array is not None:
            if array.is_argument:
                raise TraceError(
                    "an argument is changed here; the caller's array would stay as it is"
                    if array is self
                    else "a view of an argument is changed here; the caller's array would stay as it is",
                    "work on a copy, x = x.copy(), and return it",
                )
            if array.block is not self.builder.current_block:
                raise TraceError(
                    "an array from outside of a loop or branch is changed in it; it may run any number of times",
                    "pass the array to the function of the loop or branch, and return the new one",
                )
            array = base_of(array)

    def write(self, new: TracedArray) -> TracedArray:
        """Give all elements anew, as item assignment and `+=` do. Raises TraceError for an argument."""
        self._check_own()
        if not np.can_cast(new.dtype, self.dtype, "same_kind"):
            raise TraceError(f"elements of type {new.dtype} do not go into an array of {self.dtype}", "x = x + y")
        if new.shape != self.shape:
            raise TraceError(f"an array of shape {new.shape} does not go into one of {self.shape}")
        written(self, astype(new, self.dtype))
        return self

    @property
    def T(self) -> TracedArray:
        return METHODS["transpose"](self)

    @property
    def mT(self) -> TracedArray:
        return METHODS["swapaxes"](self, -1, -2)

    @property
    def real(self) -> TracedArray:
        return METHODS["real"](self)

    @real.setter
    def real(self, value: Any) -> None:
        self.real[...] = value

    @property
    def imag(self) -> TracedArray:
        return METHODS["imag"](self)

    @imag.setter
    def imag(self, value: Any) -> None:
        self.imag[...] = value

    @property
    def flat(self) -> Any:
        return linked(self.like(METHODS["ravel"](self).value), self, "flat", None)


for _name in dir(np.ndarray):
    if not _name.startswith("__") and not hasattr(TracedArray, _name):
        setattr(TracedArray, _name, attribute(_name))


# Between arrays ----------------------------------------------------------------------------------------------------


def builder_of(*values: Any) -> Builder:
    """The trace of the first traced array among the values, also those in lists."""
    for value in values:
        if isinstance(value, TracedArray):
            return value.builder
        if isinstance(value, (list, tuple)):
            try:
                return builder_of(*value)
            except LookupError:
                continue
    raise LookupError("there is no traced array among the arguments")


def lift(builder: Builder, value: Any, dtype: Any = None) -> TracedArray:
    """A value as an array of a trace: numbers and NumPy's arrays become constants, nested lists are stacked."""
    if isinstance(value, TracedArray):
        if value.builder is not builder:
            raise TraceError("an array of one trace is used in another", "return it from the function that made it")
        return value if dtype is None else astype(value, dtype)
    if isinstance(value, (list, tuple)) and holds_traced(value):
        return FUNCTIONS[np.stack]([lift(builder, item, dtype) for item in value])
    array = np.asarray(value, dtype)
    if element_type_of(array.dtype) is None:
        raise TraceError(f"arrays of {array.dtype} are not compiled")
    return TracedArray(builder, constant(builder, array))


def holds_traced(values: Sequence[Any]) -> bool:
    return any(isinstance(one, TracedArray) or (isinstance(one, (list, tuple)) and holds_traced(one)) for one in values)


def element(dtype: Any) -> Any:
    """The element type of a dtype. Raises TraceError."""
    found = element_type_of(np.dtype(dtype))
    if found is None:
        raise TraceError(f"arrays of {np.dtype(dtype)} are not compiled", "numbers or booleans in their place")
    return found


def astype(array: TracedArray, dtype: Any) -> TracedArray:
    """Convert as NumPy does: to a boolean by comparison with zero, from a complex number its real part."""
    if array.dtype is dtype:
        return array
    wanted = np.dtype(dtype)
    if array.dtype == wanted:
        return array
    value = array.value
    if wanted == np.bool_:
        return array.like(value.compare("NE", 0))
    if array.dtype.kind == "c" and wanted.kind != "c":
        return astype(array.like(array.builder.real(value)), wanted)
    return array.like(value.convert(element(wanted)))


_shape_of_all = lru_cache(maxsize=4096)(np.broadcast_shapes)


def common_shape(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape to which arrays of these shapes are broadcast. Raises ValueError."""
    first = shapes[0]
    for shape in shapes:
        if shape != first:
            return _shape_of_all(*shapes)
    return first


def broadcast_to(array: TracedArray, shape: Sequence[int]) -> TracedArray:
    """Broadcast by NumPy's rules. Raises ValueError."""
    wanted = tuple(map(operator.index, shape))
    own = array.shape
    if own == wanted:
        return array
    squeezed, dims = _spread(own, wanted)
    return array.like(array.value.reshape(squeezed).broadcast(wanted, dims))


@lru_cache(maxsize=4096)
def _spread(shape: tuple[int, ...], wanted: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """How a shape is broadcast: the sizes without those that are repeated, and their dimensions in the result."""
    if np.broadcast_shapes(shape, wanted) != wanted:
        raise ValueError(f"an array of shape {shape} cannot be broadcast to {wanted}")
    offset = len(wanted) - len(shape)
    kept = [dim for dim, size in enumerate(shape) if size != 1 or wanted[offset + dim] == 1]
    return tuple(shape[dim] for dim in kept), tuple(offset + dim for dim in kept)


def constant_index(value: Any, what: str) -> int:
    """An integer that must be known while tracing: an axis, a size, a shift. Raises TraceError."""
    if isinstance(value, TracedArray):
        raise TraceError(
            f"{what} must be a constant, and depends on the function's arguments",
            "make the argument static: xhlo.jit(static_argnames=..)",
        )
    return operator.index(value)


def axis_of(axis: Any, ndim: int, what: str = "axis") -> int:
    """An axis from the front. Raises numpy.exceptions.AxisError."""
    found = constant_index(axis, what)
    if not -ndim <= found < ndim:
        raise np.exceptions.AxisError(found, ndim)
    return found % ndim


def axes_of(axis: Any, ndim: int) -> tuple[int, ...]:
    """The axes that None (all), a number or a tuple states, from the front and different."""
    if axis is None:
        return tuple(range(ndim))
    found = tuple(axis_of(one, ndim) for one in (axis if isinstance(axis, (tuple, list)) else (axis,)))
    if len(set(found)) != len(found):
        raise ValueError("duplicate value in 'axis'")
    return found


def scalar_type(dtype: Any) -> Any:
    return make_tensor((), element(dtype))

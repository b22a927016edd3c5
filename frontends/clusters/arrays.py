"""
`ClusterArray`: an array that records what is asked of it, until a value is needed.

Its memory is NumPy's from the beginning (storage.py): shapes, views and errors of indexing are NumPy's own. An
operation without a recorded form runs in NumPy at once, on memory that was filled before.
"""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# Arrays of any element type: the parameters of NumPy's types are unknown.
from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..array_facts import ArrayFacts
from .calls import ASSIGN, GET, Target, function_target, method_target, ufunc_target
from .storage import MANY_FACTS, Place, Storage, place_of


class Hooks:
    """The services of the recorder, which needs this file, to arrays."""

    call: Callable[[Target, Sequence[Any], dict[str, Any]], Any]
    """Record a call of NumPy, or run it."""
    call_of_one: Callable[[Target, Any], Any]
    call_of_two: Callable[[Target, Any, Any], Any]
    call_in_place: Callable[[Target, Any, Any], Any]
    """The same for one operand; for two; for two, the first of which is replaced."""
    is_often: Callable[[Any], bool]
    """Whether elements were assigned often at the user's place, by such an index."""
    fill: Callable[[Storage, bool, str], None]
    """Run what is recorded of a storage, for reading or (true) for writing, and why."""


_OWN: set[type] = {float, int, np.ndarray}
"""The types of operands that leave an operation to us, beside our own."""


def _operator(name: str, swapped: bool = False) -> Callable[..., Any]:
    """An operator, left to the other operand if it asks for that, as NumPy's arrays do."""
    target = ufunc_target(getattr(np, name))

    def method(self: ClusterArray, other: Any) -> Any:
        kind = type(other)
        if kind is not ClusterArray and kind not in _OWN and getattr(kind, "__array_ufunc__", False) is None:
            return NotImplemented
        return Hooks.call_of_two(target, self, other)

    def reflected(self: ClusterArray, other: Any) -> Any:
        kind = type(other)
        if kind not in _OWN and getattr(kind, "__array_ufunc__", False) is None:
            return NotImplemented
        return Hooks.call_of_two(target, other, self)

    return reflected if swapped else method


def _unary(name: str) -> Callable[..., Any]:
    target = ufunc_target(getattr(np, name))
    return lambda self: Hooks.call_of_one(target, self)


def _in_place(name: str) -> Callable[..., Any]:
    target = ufunc_target(getattr(np, name))

    def method(self: ClusterArray, other: Any) -> Any:
        if self.is_scalar:
            return Hooks.call_of_two(target, self, other)
        return Hooks.call_in_place(target, self, other)

    return method


def _method(name: str) -> Callable[..., Any]:
    target = method_target(name)
    return lambda self, *args, **kwargs: Hooks.call(target, (self, *args), kwargs)


def _number(function: Callable[[Any], Any], reason: str) -> Callable[..., Any]:
    return lambda self: function(self.filled(reason))


def _fact(name: str) -> property:
    return property(lambda self: getattr(self.array, name))


def _of_memory(name: str) -> property:
    return property(lambda self: getattr(self.shared(f"its attribute {name}"), name))


class ClusterArray(ArrayFacts):
    """An array of NumPy whose elements may still be to be computed. `isinstance(x, np.ndarray)` holds of it."""

    __slots__ = ("__weakref__", "is_scalar", "place", "source", "storage", "view")
    __array_priority__ = 2000

    def __init__(self, storage: Storage, view: np.ndarray[Any, Any] | None = None, is_scalar: bool = False):
        self.storage = storage
        self.view = view
        """None for all of the storage, row-major."""
        self.is_scalar = is_scalar
        """Whether NumPy would have returned a scalar, which nothing changes."""
        self.place: Place | None = None
        """That of the view, once it was asked for."""
        self.source: Any = None
        """The place, or the type, of what the view was taken from by indexing, and the index."""

    @property
    def array(self) -> np.ndarray[Any, Any]:
        """Its memory, filled or not."""
        return self.storage.base if self.view is None else self.view

    def found_place(self) -> Place | None:
        """The place of the view in its storage; None for all of it."""
        if self.place is None and self.view is not None:
            if self.source is None:
                self.place = place_of(self.view, self.storage.base)
            else:
                short = self.source[0], _short(self.source[1])
                if short not in _PLACES:
                    if len(_PLACES) >= MANY_FACTS:
                        _PLACES.clear()
                    _PLACES[short] = place_of(self.view, self.storage.base)
                self.place = _PLACES[short]
        return self.place

    def filled(self, reason: str, writing: bool = False) -> Any:
        """Its memory after what is recorded has run, for code that keeps no reference to it; a scalar's value."""
        Hooks.fill(self.storage, writing, reason)
        return self.array[()] if self.is_scalar else self.array

    def shared(self, reason: str) -> Any:
        """Its memory for code outside, which may keep and change it; a scalar's value."""
        filled = self.filled(reason, writing=True)
        return filled if self.is_scalar else self.storage.share(filled)

    def part(self, view: np.ndarray[Any, Any]) -> ClusterArray:
        """An array of a view of its memory."""
        return ClusterArray(self.storage, view)

    # Facts, known before the values are.

    strides, flags, device = map(_fact, ("strides", "flags", "device"))

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.storage.facts.dtype if self.view is None else self.view.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return self.storage.facts.shape if self.view is None else self.view.shape

    @shape.setter
    def shape(self, shape: Any) -> None:
        found = self.array.view()
        found.shape = shape  # pyright: ignore[reportDeprecated]
        self.view, self.place, self.source = found, None, None

    @property
    def __class__(self) -> type:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self.dtype.type if self.is_scalar else np.ndarray

    # Values.

    __bool__ = _number(bool, "its truth is needed")
    __float__ = _number(float, "float() of it")
    __int__ = _number(int, "int() of it")
    __complex__ = _number(complex, "complex() of it")
    __index__ = _number(lambda value: value.__index__(), "it is an index or a size")
    __hash__ = _number(hash, "hash() of it")  # pyright: ignore[reportAssignmentType]
    __repr__ = _number(repr, "it is printed")
    __str__ = _number(str, "it is printed")
    __trunc__ = _number(int, "int() of it")

    def __format__(self, spec: str) -> str:
        return format(self.filled("it is printed"), spec)

    def __round__(self, digits: int | None = None) -> Any:
        return round(self.filled("round() of it"), digits)

    def __contains__(self, value: Any) -> bool:
        return value in self.filled("'in' is asked of it")

    def __iter__(self) -> Iterator[Any]:
        if not self.ndim:
            raise TypeError("iteration over a 0-d array")
        return (self[index] for index in range(len(self)))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        reason = "code outside of NumPy's functions takes it as an array"
        if copy or self.is_scalar or (dtype is not None and np.dtype(dtype) != self.dtype):
            return np.array(self.filled(reason), dtype)
        return self.shared(reason)

    def __buffer__(self, flags: int) -> memoryview:
        return memoryview(self.shared("code outside takes its buffer"))

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[Any, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        array = self.shared("it is exported by DLPack")
        return array.__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)

    def to_device(self, device: Any, /, *, stream: Any = None) -> Any:
        """Itself: NumPy's only device is "cpu". Raises ValueError for another."""
        return self.filled("its method to_device").to_device(device, stream=stream)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()

    def __reduce__(self) -> Any:
        return self.filled("it is pickled").__reduce__()

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.filled("it is pickled").__reduce_ex__(protocol)

    def __copy__(self) -> Any:
        return self if self.is_scalar else self.copy()

    def __deepcopy__(self, memo: Any) -> Any:
        return self.__copy__()

    # NumPy's protocols.

    def __array_ufunc__(self, ufunc: np.ufunc, how: str, *inputs: Any, **stated: Any) -> Any:
        if len(inputs) == 2 and ufunc.nin == 2 and how == "__call__" and not stated:
            return Hooks.call_of_two(ufunc_target(ufunc), inputs[0], inputs[1])
        return Hooks.call(ufunc_target(ufunc, how), inputs, stated)

    def __array_function__(self, function: Any, types: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        return Hooks.call(function_target(function), args, kwargs)

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        return np

    # `__getattr__` would make each attribute slower to look up. NumPy's methods are set below.
    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    base, ctypes, data = map(_of_memory, ("base", "ctypes", "data"))

    # Operators.

    __add__, __radd__, __iadd__ = _operator("add"), _operator("add", True), _in_place("add")
    __sub__, __rsub__, __isub__ = _operator("subtract"), _operator("subtract", True), _in_place("subtract")
    __mul__, __rmul__, __imul__ = _operator("multiply"), _operator("multiply", True), _in_place("multiply")
    __truediv__, __rtruediv__, __itruediv__ = _operator("divide"), _operator("divide", True), _in_place("divide")
    __floordiv__, __rfloordiv__ = _operator("floor_divide"), _operator("floor_divide", True)
    __ifloordiv__ = _in_place("floor_divide")
    __mod__, __rmod__, __imod__ = _operator("remainder"), _operator("remainder", True), _in_place("remainder")
    __pow__, __rpow__, __ipow__ = _operator("power"), _operator("power", True), _in_place("power")
    __matmul__, __rmatmul__, __imatmul__ = _operator("matmul"), _operator("matmul", True), _in_place("matmul")
    __and__, __rand__, __iand__ = _operator("bitwise_and"), _operator("bitwise_and", True), _in_place("bitwise_and")
    __or__, __ror__, __ior__ = _operator("bitwise_or"), _operator("bitwise_or", True), _in_place("bitwise_or")
    __xor__, __rxor__, __ixor__ = _operator("bitwise_xor"), _operator("bitwise_xor", True), _in_place("bitwise_xor")
    __lshift__, __rlshift__, __ilshift__ = (
        _operator("left_shift"),
        _operator("left_shift", True),
        _in_place("left_shift"),
    )
    __rshift__, __rrshift__ = _operator("right_shift"), _operator("right_shift", True)
    __irshift__ = _in_place("right_shift")
    __divmod__, __rdivmod__ = _operator("divmod"), _operator("divmod", True)
    __lt__, __le__, __gt__, __ge__ = map(_operator, ("less", "less_equal", "greater", "greater_equal"))
    __eq__, __ne__ = _operator("equal"), _operator("not_equal")
    __neg__, __pos__, __abs__, __invert__ = map(_unary, ("negative", "positive", "absolute", "invert"))

    # Elements and views.

    def __getitem__(self, key: Any) -> Any:
        kind = type(key)
        if kind not in _BASIC and not (kind is tuple and _BASIC.issuperset(map(type, key))):
            return Hooks.call(GET, (self, key), {})
        view = self.array[key]
        if type(view) is not np.ndarray:
            return view if self.storage.owner is None else self.filled("an element is read")[key]
        found = ClusterArray(self.storage, view)
        found.source = (self.storage.facts if self.view is None else self.place or self.found_place()), key
        return found

    def __setitem__(self, key: Any, value: Any) -> None:
        if self.is_scalar:
            raise TypeError(f"'{self.dtype.type.__module__}.{self.dtype.name}' object does not support item assignment")
        storage = self.storage
        if storage.owner is None and type(value) in _PLAIN_NUMBERS and _is_element(key) and Hooks.is_often(key):
            # At once, as no call that is recorded reads it.
            self.array[key] = value
            storage.bounds = None
        elif _short(key) is not None:
            # With an ellipsis an element is a view too.
            found = key if isinstance(key, tuple) else (key,)
            whole = found if any(one is Ellipsis for one in found) else (*found, Ellipsis)
            Hooks.call(ASSIGN, (self.part(self.array[whole]), value), {})
        elif isinstance(key, ClusterArray) and key.dtype == np.bool_ and key.shape == self.shape and not np.ndim(value):
            Hooks.call(ASSIGN, (self, value, key), {})
        else:
            Hooks.call(method_target("__setitem__"), (self, key, value), {})

    @property
    def T(self) -> Any:
        return self if self.is_scalar else self.part(self.array.T)

    @property
    def mT(self) -> Any:
        return self.part(self.array.mT)

    @property
    def real(self) -> Any:
        return self.part(self.array.real) if self.dtype.kind == "c" and not self.is_scalar else np.real(self)

    @real.setter
    def real(self, value: Any) -> None:
        self.part(self.array.real)[...] = value

    @property
    def imag(self) -> Any:
        return self.part(self.array.imag) if self.dtype.kind == "c" and not self.is_scalar else np.imag(self)

    @imag.setter
    def imag(self, value: Any) -> None:
        self.part(self.array.imag)[...] = value

    @property
    def flat(self) -> Any:
        return self.shared("its flat iterator").flat

    @flat.setter
    def flat(self, value: Any) -> None:
        self.shared("its flat iterator").flat = value


for _name in dir(np.ndarray):
    if not _name.startswith("__") and not hasattr(ClusterArray, _name) and callable(getattr(np.ndarray, _name)):
        setattr(ClusterArray, _name, _method(_name))


_PLACES: dict[Any, Any] = {}
"""The places of parts of arrays, by the place of the whole, or its type, and the short key."""


_BASIC = {int, slice, type(None), type(Ellipsis), *(np.dtype(one).type for one in "bhilqBHILQ")}
"""The types of indices that denote a view or an element."""
_INTEGERS = _BASIC - {slice, type(None), type(Ellipsis)}
_PLAIN_NUMBERS = {int, float, complex, bool, *(np.dtype(one).type for one in "?bhilqBHILQefdFD")}


def _is_element(key: Any) -> bool:
    """Whether an index is made of integers."""
    kind = type(key)
    return kind in _INTEGERS or (kind is tuple and _INTEGERS.issuperset(map(type, key)))


def _short(key: Any) -> Any:
    """An index of slices and integers, which denotes a view or an element, as a key; None for another."""
    short: list[Any] = []
    for part in key if type(key) is tuple else (key,):
        kind = type(part)
        if kind is slice:
            ends = part.start, part.stop, part.step
            if not all(one is None or type(one) is int for one in ends):
                ends = tuple([one if one is None else operator.index(one) for one in ends])
            short.append(ends)
        elif kind is int or part is None or part is Ellipsis:
            short.append(part)
        elif isinstance(part, np.integer):
            short.append(int(part))
        else:
            return None
    return tuple(short)

"""
`x[mask]`: elements whose number only the run knows.

They can be computed with, reduced and assigned to the same places, which needs no array of their size: all elements are
computed, and the mask says which count. Anything else is an error that says so.
"""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# Arrays of any element type: the parameters of NumPy's types are unknown.
from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np
from xdsl.ir import OpResult, SSAValue

from ..arrays import (
    CHOSEN,
    FUNCTIONS,
    METHODS,
    TracedArray,
    astype,
    broadcast_to,
    builder_of,
    implements,
    lift,
    namespace,
)
from ..errors import TraceError
from ..reductions import NO_VALUE, choose, highest, lowest, reduced
from ..shapes import reshape
from ..ufuncs import call_ufunc
from .quantiles import nanquantile

_REASON = "the number of elements that a mask chooses is not known while the function is compiled"
_REMEDY = "np.where(mask, x, other), x[mask] = value, np.sum(x, where=mask), np.nonzero(mask, size=..)"
# Themselves: during a trace NumPy's names stand for entrances (entrances.py).
_MAXIMUM, _MINIMUM = np.maximum, np.minimum
_DEPTH = 24
"""How far back two masks are compared."""


class Chosen:
    """The elements of an array along one dimension where a vector of booleans holds."""

    __array_priority__ = 2000
    source = None
    """It is no view."""

    def __init__(self, whole: TracedArray, mask: TracedArray, dim: int, place: int | None = None):
        self.whole, self.mask, self.dim = whole, mask, dim
        self.place = place
        """The number of the array that it is among the results of np.nonzero, if it is one of them."""
        self.sizes: tuple[int, ...] = mask.shape
        """The shape of the mask, if it is one of them."""
        self._error = TraceError(f"the size of the result depends on the elements: {_REASON}", _REMEDY)

    # Facts.

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.whole.dtype

    @property
    def ndim(self) -> int:
        return self.whole.ndim

    @property
    def size(self) -> TracedArray:
        rest = self.whole.size // max(self.whole.shape[self.dim], 1)
        count = reduced(np.add, self.mask, None, np.int64) * rest
        count.weak = int
        return count

    @property
    def builder(self) -> Any:
        return self.whole.builder

    def returned(self) -> NoReturn:
        """Raise the error of a function that returns it, at the line that chose."""
        raise self._error

    def _unknown(self, *_: Any, **__: Any) -> NoReturn:
        raise TraceError(_REASON, _REMEDY)

    shape = property(_unknown)
    __array__ = __len__ = __iter__ = __bool__ = __float__ = __int__ = __index__ = _unknown

    def __repr__(self) -> str:
        return f"the elements of {self.whole!r} that a mask chooses"

    def _where(self) -> TracedArray:
        """The mask in the shape of all elements."""
        rank = self.whole.ndim
        wide = reshape(self.mask, [-1 if dim == self.dim else 1 for dim in range(rank)])
        return broadcast_to(wide, self.whole.shape)

    def _like(self, whole: TracedArray) -> Chosen:
        return Chosen(whole, self.mask, self.dim + whole.ndim - self.whole.ndim)

    # Computations.

    def __array_ufunc__(self, ufunc: np.ufunc, how: str, *inputs: Any, **stated: Any) -> Any:
        if how == "reduce":
            return _reduced(ufunc, *inputs, **stated)
        if how != "__call__" or stated.keys() - {"dtype"}:
            self._unknown()
        arrays = [_whole(one, self) for one in inputs]
        found = call_ufunc(ufunc, *arrays, **stated)
        return tuple(map(self._like, found)) if isinstance(found, tuple) else self._like(found)

    def __array_function__(self, function: Any, types: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        found = _OF_CHOSEN.get(function)
        if found is None or not isinstance(args[0] if args else None, Chosen):
            raise TraceError(f"np.{function.__name__} needs an array of known size: {_REASON}", _REMEDY)
        return found(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        found = _METHODS.get(name)
        if found is not None:
            return functools.partial(found, self)
        if name.startswith("__"):
            raise AttributeError(name)
        raise TraceError(f"'{name}' needs an array of known size: {_REASON}", _REMEDY)

    def __getitem__(self, key: Any) -> TracedArray:
        """The first or the last element."""
        if type(key) is not int or key not in (0, -1):
            self._unknown()
        last = self.mask.shape[0] - 1
        if key == 0:
            at = FUNCTIONS[np.argmax](self.mask)
        else:
            at = last - FUNCTIONS[np.argmax](FUNCTIONS[np.flip](self.mask))
        return METHODS["take"](self.whole, at, self.dim)

    def astype(self, dtype: Any) -> Chosen:
        return self._like(astype(self.whole, dtype))

    def copy(self) -> Chosen:
        return self._like(self.whole)

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        raise TraceError(
            "elements that a mask chooses are a copy: assigning to them changes nothing", "x[mask] = value"
        )


def _operator(name: str, reflected: bool = False) -> Callable[..., Any]:
    ufunc = getattr(np, name)

    def method(self: Chosen, *other: Any) -> Any:
        return self.__array_ufunc__(ufunc, "__call__", *(*other, self) if reflected else (self, *other))

    return method


for _short, _name in {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "floordiv": "floor_divide",
    "mod": "remainder", "pow": "power", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
}.items():  # fmt: skip
    setattr(Chosen, f"__{_short}__", _operator(_name))
    setattr(Chosen, f"__r{_short}__", _operator(_name, reflected=True))
for _short, _name in {
    "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "eq": "equal", "ne": "not_equal",
    "neg": "negative", "pos": "positive", "abs": "absolute", "invert": "invert",
}.items():  # fmt: skip
    setattr(Chosen, f"__{_short}__", _operator(_name))
Chosen.__hash__ = Chosen._unknown  # pyright: ignore


def _whole(value: Any, like: Chosen) -> Any:
    """An operand for all elements. Raises TraceError where its elements belong to others than the mask's."""
    if isinstance(value, Chosen):
        alike = value.dim == like.dim and value.whole.ndim == like.whole.ndim and _same(value.mask, like.mask)
        if not alike:
            raise TraceError("elements that two masks choose are combined; their numbers may differ", _REMEDY)
        return value.whole
    place = np.ndim(value) - (like.whole.ndim - like.dim)
    if place >= 0 and np.shape(value)[place] != 1:
        raise TraceError(f"an array of a known size meets the elements that a mask chooses: {_REASON}", _REMEDY)
    return value


def _same(first: TracedArray, second: TracedArray) -> bool:
    return first.shape == second.shape and _equal(first.value.value, second.value.value, _DEPTH)


def _equal(x: SSAValue, y: SSAValue, depth: int) -> bool:
    """Whether two values are computed alike from the same ones."""
    if x is y:
        return True
    if not depth or not isinstance(x, OpResult) or not isinstance(y, OpResult) or x.index != y.index:
        return False
    a, b = x.op, y.op
    return (
        type(a) is type(b)
        and not a.regions
        and not b.regions
        and x.type == y.type
        and a.properties == b.properties
        and len(a.operands) == len(b.operands)
        and all(_equal(one, other, depth - 1) for one, other in zip(a.operands, b.operands, strict=True))
    )


# Reductions.


def _reduced(
    ufunc: np.ufunc, a: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: Any = False, **stated: Any
) -> TracedArray:
    """Without elements a maximum is the least number, where NumPy raises an error."""
    if not isinstance(a, Chosen) or "where" in stated:
        raise TraceError(_REASON, _REMEDY)
    if ufunc in (np.maximum, np.minimum) and stated.get("initial", NO_VALUE) is NO_VALUE:
        stated["initial"] = (lowest if ufunc is _MAXIMUM else highest)(a.whole.dtype)
    return _along(a, axis, lambda x, where, axis: reduced(ufunc, x, axis, dtype, out, keepdims, where=where, **stated))


def _along(a: Chosen, axis: Any, function: Callable[..., TracedArray]) -> TracedArray:
    """A reduction over the dimension of the mask at least."""
    axes = range(a.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    if a.dim not in [one % a.ndim for one in axes]:
        raise TraceError(f"the result has as many elements as the mask chooses: {_REASON}", _REMEDY)
    return function(a.whole, a._where(), axis)  # pyright: ignore[reportPrivateUsage]


def _with_where(function: Any) -> Callable[..., TracedArray]:
    def of_chosen(a: Any, axis: Any = None, *args: Any, **stated: Any) -> TracedArray:
        if stated.keys() & {"where"}:
            raise TraceError(_REASON, _REMEDY)
        return _along(a, axis, lambda x, where, axis: FUNCTIONS[function](x, axis, *args, where=where, **stated))

    return of_chosen


def _folded(ufunc: np.ufunc) -> Callable[..., TracedArray]:
    return lambda a, axis=None, *args, **stated: _reduced(ufunc, a, axis, *args, **stated)


def _extreme(ufunc: np.ufunc) -> Callable[..., TracedArray]:
    return lambda a, axis=None, out=None, **stated: _reduced(ufunc, a, axis, None, out, **stated)


def _quantile(scale: float) -> Callable[..., TracedArray]:
    def of_chosen(a: Any, q: Any, axis: Any = None, **stated: Any) -> TracedArray:
        """NaN among the elements makes it NaN."""

        def function(x: TracedArray, where: TracedArray, axis: Any) -> TracedArray:
            wide = x if x.dtype.kind == "f" else astype(x, np.float64)
            gone = broadcast_to(lift(x.builder, np.asarray(np.nan, wide.dtype)), wide.shape)
            found = nanquantile(choose(where, wide, gone), np.asarray(q) / scale, axis, **stated)
            broken = reduced(np.logical_or, call_ufunc(np.isnan, wide), axis, where=where)
            shape = found.shape
            return choose(broken, broadcast_to(lift(x.builder, np.asarray(np.nan, found.dtype)), shape), found)

        return _along(a, axis, function)

    return of_chosen


def _count_nonzero(a: Any, axis: Any = None, *, keepdims: Any = False) -> TracedArray:
    return _reduced(np.add, a != 0, axis, np.int64, None, keepdims)


def _norm(x: Any, ord: Any = None, axis: Any = None) -> TracedArray:
    if ord not in (None, 2) or x.ndim != 1:
        raise TraceError(f"np.linalg.norm needs an array of known size: {_REASON}", _REMEDY)
    size = call_ufunc(np.absolute, x.whole)
    return call_ufunc(np.sqrt, reduced(np.add, size * size, None, where=x._where()))  # pyright: ignore[reportPrivateUsage]


_OF_CHOSEN: dict[Any, Callable[..., Any]] = {
    np.sum: _folded(np.add),
    np.prod: _folded(np.multiply),
    np.max: _extreme(np.maximum),
    np.amax: _extreme(np.maximum),
    np.min: _extreme(np.minimum),
    np.amin: _extreme(np.minimum),
    np.any: _extreme(np.logical_or),
    np.all: _extreme(np.logical_and),
    np.mean: _with_where(np.mean),
    np.var: _with_where(np.var),
    np.std: _with_where(np.std),
    np.median: lambda a, axis=None: _quantile(1.0)(a, 0.5, axis),
    np.quantile: _quantile(1.0),
    np.percentile: _quantile(100.0),
    np.count_nonzero: _count_nonzero,
    np.linalg.norm: _norm,
    np.size: lambda a: a.size,
    np.ptp: lambda a, axis=None: _reduced(_MAXIMUM, a, axis) - _reduced(_MINIMUM, a, axis),
}
_METHODS = {name: _OF_CHOSEN[getattr(np, name)] for name in "sum prod max min any all mean var std".split()}


# Choosing.


def _is_mask(part: Any) -> bool:
    return isinstance(part, TracedArray) and part.dtype.kind == "b" and part.ndim > 0


def _parsed(key: Any) -> tuple[list[Any], TracedArray, int] | None:
    """The other parts of the key, the mask, and its place among the parts; None for another kind of key."""
    parts = list(key) if isinstance(key, tuple) else [key]
    found = [one for one in parts if isinstance(one, Chosen) and one.place is not None]
    if found:
        # As np.nonzero gives them: an array of numbers for each dimension of the mask.
        mask, sizes = found[0].mask, found[0].sizes
        if [one.place for one in found] != list(range(len(sizes))) or not all(_same(one.mask, mask) for one in found):
            raise TraceError("the results of np.nonzero are an index all together only", _REMEDY)
        at = next(number for number, one in enumerate(parts) if one is found[0])
        if parts[at : at + len(found)] and any(a is not b for a, b in zip(parts[at:], found, strict=False)):
            raise TraceError("the results of np.nonzero are an index all together only", _REMEDY)
        parts[at : at + len(found)] = [reshape(mask, sizes)]
    places = [number for number, one in enumerate(parts) if _is_mask(one)]
    if len(places) != 1 or any(
        isinstance(one, (list, np.ndarray, TracedArray)) for n, one in enumerate(parts) if n != places[0]
    ):
        return None
    at = places[0]
    plain = [isinstance(one, (int, np.integer)) for one in parts]
    if any(plain):
        first, last = (
            min([at, *[n for n, one in enumerate(plain) if one]]),
            max([at, *[n for n, one in enumerate(plain) if one]]),
        )
        if any(not plain[n] and n != at for n in range(first, last + 1)):
            return None
    return parts, parts[at], at


def _chosen(array: TracedArray, key: Any) -> Chosen | None:
    """`array[key]` for a key with one traced mask; None for another kind of key."""
    found = _parsed(key)
    if found is None:
        return None
    parts, mask, at = found
    rest = METHODS["__getitem__"](array, (*parts[:at], *[slice(None)] * mask.ndim, *parts[at + 1 :]))
    dim = _place(array, parts, mask, at)
    if rest.shape[dim : dim + mask.ndim] != mask.shape:
        raise IndexError(
            f"boolean index did not match indexed array: the mask has shape {mask.shape}, "
            f"the array's dimensions {rest.shape[dim : dim + mask.ndim]}"
        )
    shape = (*rest.shape[:dim], mask.size, *rest.shape[dim + mask.ndim :])
    return Chosen(reshape(rest, shape), reshape(mask, -1), dim)


def _place(array: TracedArray, parts: list[Any], mask: TracedArray, at: int) -> int:
    """The first dimension of the mask in what the other parts of the key leave."""
    before = parts[:at]
    if Ellipsis in before:
        used = sum(one is not None and one is not Ellipsis for one in parts) - 1 + mask.ndim
        hidden = array.ndim - used
    else:
        hidden = 0
    return hidden + sum(one is None or isinstance(one, slice) for one in before)


def _with_chosen(array: TracedArray, key: Any, value: Any) -> TracedArray | None:
    """The array after `array[key] = value` for a key with one traced mask; None for another kind of key."""
    found = _parsed(key)
    if found is None:
        return None
    parts, mask, at = found
    if not isinstance(value, Chosen) and mask.ndim == array.ndim and np.ndim(value):
        return None
    others = (*parts[:at], *[slice(None)] * mask.ndim, *parts[at + 1 :])
    target = _chosen(array, tuple(parts))
    assert target is not None
    given = _whole(value, target)
    new = astype(lift(array.builder, given), array.dtype)
    shape = target.whole.shape
    while new.ndim > len(shape) and new.shape[0] == 1:
        new = reshape(new, new.shape[1:])
    where = target._where()  # pyright: ignore[reportPrivateUsage]
    result = choose(where, broadcast_to(new, shape), target.whole)
    old = METHODS["__getitem__"](array, others)
    return METHODS["__setitem__"](array, others, reshape(result, old.shape))


@implements(np.nonzero, in_clusters=False)
def nonzero(a: Any) -> tuple[Chosen, ...]:
    array = lift(builder_of(a), a)
    if not array.ndim:
        raise ValueError("Calling nonzero on 0d arrays is not allowed. Use np.atleast_1d(scalar).nonzero() instead.")
    mask = reshape(astype(array, np.bool_), -1)
    found: list[Chosen] = []
    for dim, size in enumerate(array.shape):
        stride = math.prod(array.shape[dim + 1 :])
        numbers = lift(array.builder, np.arange(array.size) // max(stride, 1) % max(size, 1))
        one = Chosen(numbers, mask, 0, dim)
        one.sizes = array.shape
        found.append(one)
    return tuple(found)


implements(np.flatnonzero, in_clusters=False)(lambda a: nonzero(reshape(lift(builder_of(a), a), -1))[0])


@implements(np.where, in_clusters=False)
def where(condition: Any, x: Any = None, y: Any = None, /) -> Any:
    return nonzero(condition) if x is None and y is None else FUNCTIONS[np.where](condition, x, y)


@implements(np.extract, in_clusters=False)
def extract(condition: Any, arr: Any) -> Chosen | None:
    builder = builder_of(condition, arr)
    return _chosen(reshape(lift(builder, arr), -1), reshape(astype(lift(builder, condition), np.bool_), -1))


# With `size=`, which NumPy's functions do not have.

_UNIQUE = (np.unique, np.unique_values, np.unique_all, np.unique_counts, np.unique_inverse)
SIZED = {np.nonzero, np.flatnonzero, np.argwhere, *_UNIQUE}


def sized(function: Any, x: Any, **stated: Any) -> Any:
    """A function whose result has as many elements as `size=` says, by the one of `xhlo.numpy`."""
    standard, name = namespace(), function.__name__
    if name == "flatnonzero":
        return standard.nonzero(reshape(x, -1), **stated)[0]
    if name == "argwhere":
        return FUNCTIONS[np.stack](standard.nonzero(x, **stated), -1)
    if name != "unique":
        return getattr(standard, name)(x, **stated)
    wanted = [stated.pop(f"return_{one}", False) for one in ("index", "inverse", "counts")]
    values, *others = standard.unique_all(x, **stated)
    found = [other for other, is_wanted in zip(others, wanted, strict=True) if is_wanted]
    return (values, *found) if found else values


CHOSEN.update({"get": _chosen, "set": _with_chosen, "type": Chosen})

"""One operation of a graph as its rule sees it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...hlo_dialect.types import Array, make_tensor, numpy_dtype
from ..builder.builder import Builder, Value
from .api import required, torch
from .dtypes import converted, element_of_dtype, working_dtype

_common: Any = required("torch._prims_common")
KINDS: Any = _common.ELEMENTWISE_TYPE_PROMOTION_KIND


@dataclass(frozen=True, eq=False)
class Step:
    """An operation, with what is known of its results before it runs."""

    builder: Builder
    results: Any
    """The fake tensor of the result, or a sequence of them."""
    operands: Sequence[Any] = ()
    """The fake tensors and the numbers among the operation's arguments, which decide by torch's type promotion."""
    used: frozenset[int] = frozenset()
    """The numbers of those of several results that the graph reads."""

    @property
    def dtype(self) -> Any:
        """The result's dtype."""
        return self.results.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The result's shape."""
        return tuple(map(int, self.results.shape))

    def shape_of(self, number: int) -> tuple[int, ...]:
        """The shape of one of several results."""
        return tuple(map(int, self.results[number].shape))

    def promoted(self) -> Any:
        """The dtype of the operands together."""
        return _common.elementwise_dtypes(*self.operands, type_promotion_kind=KINDS.NO_OPMATH)[0]

    def full(self, number: Any, dtype: Any, shape: Sequence[int] = ()) -> Value:
        """A number, in each place of a shape."""
        element = element_of_dtype(dtype)
        if dtype.is_complex:
            part = torch.float32 if dtype == torch.complex64 else torch.float64
            parts = complex(number)
            return self.builder.complex(self.full(parts.real, part, shape), self.full(parts.imag, part, shape))
        if dtype == torch.bool:
            number = bool(number)
        elif dtype.is_floating_point:
            number = float(number)
        else:
            bits = dtype.itemsize * 8
            number = int(number) & ((1 << bits) - 1)
            if dtype.is_signed and number >= 1 << (bits - 1):
                number -= 1 << bits
        return self.builder.inserter.splat(number, make_tensor(tuple(shape), element))

    def constant(self, array: Array, dtype: Any) -> Value:
        """An array of numbers as a constant of a dtype."""
        element = element_of_dtype(dtype)
        return self.builder.inserter.constant(array.astype(numpy_dtype(element)), make_tensor(array.shape, element))

    def value(self, given: Any, dtype: Any, shape: Sequence[int] | None = None) -> Value:
        """A value or a number as a dtype, broadcast to a shape if one is given."""
        if not isinstance(given, Value):
            return self.full(given, dtype, shape or ())
        found = converted(given, dtype)
        return found if shape is None else broadcast(found, shape)

    def working(self, given: Any) -> Value:
        """An operand of an elementwise operation in the result's shape and the dtype that the result is computed in."""
        return self.value(given, working_dtype(self.dtype), self.shape)

    def iota(self, dim: int, shape: Sequence[int], dtype: Any = torch.int64) -> Value:
        """The indices along a dimension."""
        return self.builder.inserter.iota(make_tensor(tuple(shape), element_of_dtype(dtype)), dim)


def broadcast(value: Value, shape: Sequence[int]) -> Value:
    """Broadcast by the common rule: dimensions are aligned at the last, and those of size 1 repeat."""
    sizes = tuple(shape)
    if value.shape == sizes:
        return value
    offset = len(sizes) - len(value.shape)
    kept = [dim for dim, size in enumerate(value.shape) if size == sizes[offset + dim]]
    if len(kept) != len(value.shape):
        value = value.reshape([value.shape[dim] for dim in kept])
    return value.broadcast(sizes, [offset + dim for dim in kept])


def dim_of(dim: int, rank: int) -> int:
    """A dimension, which may be counted from the end."""
    return dim + max(rank, 1) if dim < 0 else dim


def dims_of(dims: Any, rank: int) -> list[int]:
    """Dimensions that a reduction names: none means all."""
    if dims is None:
        return list(range(rank))
    given = [dims] if isinstance(dims, int) else list(dims)
    if not given:
        return list(range(rank))
    return sorted(dim_of(one, rank) for one in given) if rank else []


def count(shape: Sequence[int]) -> int:
    """The number of elements."""
    return math.prod(shape)


def keep_dims(value: Value, shape: Sequence[int], dims: Sequence[int]) -> Value:
    """A reduced value with the reduced dimensions of size 1."""
    return value.reshape([1 if dim in dims else size for dim, size in enumerate(shape)])

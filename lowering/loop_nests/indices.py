"""Indices of points in boxes, and the ranges that tasks take."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from ...dialects.support.buffers import row_major
from .kernel_builder import known_number
from .loop_builder import Index, LoopBuilder


def delinearized(number: Index, sizes: Sequence[int]) -> list[Index]:
    """The indices of the point with this number in a box, in row-major order."""
    indices: list[Index] = []
    for dim, stride in enumerate(row_major(tuple(sizes))):
        index = number // stride
        indices.append(index if dim == 0 else index % sizes[dim])
    return indices


def linearized(indices: Sequence[Index], sizes: Sequence[int]) -> Index:
    """The number of a point in a box, in row-major order."""
    number: Index = 0
    for index, stride in zip(indices, row_major(tuple(sizes)), strict=True):
        number += index * stride
    return number


def chunk(builder: LoopBuilder, number: Index, size: int, total: int) -> tuple[Index, Index]:
    """Range `number` of the `ceil(total / size)` ranges of `size` numbers, the last of which ends at `total`."""
    lower = number * size
    return lower, end_of(builder, lower, size, total)


def end_of(builder: LoopBuilder, lower: Index, size: int, total: int) -> Index:
    """The end of the range of up to `size` numbers from `lower`, a multiple of `size` below `total`."""
    return at_most(builder, lower + size, size, total)


def at_most(builder: LoopBuilder, upper: Index, size: int, total: int) -> Index:
    """The smaller of `total` and `upper`, the end of one of `ceil(total / size)` ranges of `size` numbers."""
    return upper if total % size == 0 else builder.min(upper, total)


def rest_of(builder: LoopBuilder, lower: Index, size: int, total: int) -> Index:
    """How many of a block of `size` numbers from `lower`, a multiple of `size`, are below `total`."""
    return size if total % size == 0 else builder.min(total - lower, size)


def parts_between(builder: LoopBuilder, parts: tuple[Index, Index], size: int, total: int) -> tuple[Index, Index]:
    """
    The numbers in a range of the `ceil(total / size)` parts of `size` numbers each.

    It ends a known number after its beginning where that follows from the range: `upper * size` would not show it, and
    LLVM makes a loop of several vectors, one of single vectors and one of elements of a part of a vector or two.
    """
    lower, upper = parts
    begin, count = lower * size, None if total % size else apart(lower, upper)
    return begin, at_most(builder, upper * size, size, total) if count is None else begin + count * size


def apart(lower: Index, upper: Index) -> int | None:
    """The difference of two sums, if it is a known number."""
    terms: dict[SSAValue, int] = {}
    number = _add_terms(upper, 1, terms) + _add_terms(lower, -1, terms)
    return None if any(terms.values()) else number


def _add_terms(index: Index, sign: int, terms: dict[SSAValue, int]) -> int:
    """Add a sum, or its negative, to its `terms`, values by their factors; returns its constant part."""
    if isinstance(index, int):
        return sign * index
    constant, waiting = 0, [(index.value, sign)]
    while waiting:
        value, sign = waiting.pop()
        number, op = known_number(value), value.owner
        if number is not None:
            constant += sign * number
        elif type(op) is arith.AddiOp:
            waiting += [(op.lhs, sign), (op.rhs, sign)]
        elif type(op) is arith.SubiOp:
            waiting += [(op.lhs, sign), (op.rhs, -sign)]
        else:
            terms[value] = terms.get(value, 0) + sign
    return constant

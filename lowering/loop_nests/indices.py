"""Indices of points in boxes, and the ranges that tasks take."""

from __future__ import annotations

from collections.abc import Sequence

from ...dialects.support.buffers import row_major
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

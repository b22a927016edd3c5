"""How tensors lie in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Stored:
    """The elements of a tensor as a program reads them."""

    shape: tuple[int, ...]
    """That of the tensor, with 1 along dimensions where elements repeat."""
    order: list[int]
    """The dimensions from the slowest to the fastest."""


def memory_order(shape: Sequence[int], strides: Sequence[int]) -> list[int] | None:
    """The dimensions from the slowest to the fastest, if they are dense in memory; else None."""
    large = [dim for dim, size in enumerate(shape) if size != 1]
    if 0 in shape:
        return list(range(len(shape)))
    large.sort(key=lambda dim: (-strides[dim], dim))
    expected = 1
    for dim in reversed(large):
        if strides[dim] != expected:
            return None
        expected *= shape[dim]
    order = iter(large)
    return [dim if size == 1 else next(order) for dim, size in enumerate(shape)]


def dense_strides(shape: Sequence[int], order: Sequence[int] | None) -> tuple[int, ...]:
    """The strides of a dense tensor."""
    found, step = [0] * len(shape), 1
    for dim in reversed(range(len(shape)) if order is None else order):
        found[dim], step = step, step * max(shape[dim], 1)
    return tuple(found)


def once(shape: Sequence[int], strides: Sequence[int]) -> tuple[int, ...]:
    """A shape with 1 along the dimensions where elements repeat, by strides of 0; an empty one has none."""
    if 0 in shape:
        return tuple(shape)
    return tuple(size if stride else 1 for size, stride in zip(shape, strides, strict=True))


def stored(tensor: Any) -> tuple[Stored, tuple[int, ...]]:
    """
    The elements that a program reads of a tensor, or of a row-major copy if they are not dense, and the strides that it
    expects, 0 along dimensions where elements repeat.
    """
    shape, strides = tuple(map(int, tensor.shape)), tuple(map(int, tensor.stride()))
    single = once(shape, strides)
    order = memory_order(single, strides)
    if order is not None:
        return Stored(single, order), strides
    dense = dense_strides(single, None)
    steps = tuple(step if size == one else 0 for size, one, step in zip(shape, single, dense, strict=True))
    return Stored(single, list(range(len(shape)))), steps

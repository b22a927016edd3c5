"""How tensors lie in memory."""

from __future__ import annotations

from collections.abc import Sequence


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

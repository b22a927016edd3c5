"""
Elements of a large array by their rank, without sorting it: two bits at a time, by counts of what is smaller.

Each pass over the array compares with three bounds for each rank: 32 passes for f64, which is less than sorting costs.
"""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# Arrays of any element type: the parameters of NumPy's types are unknown.
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...builder.builder import Value
from ..arrays import TracedArray, lift
from ..reductions import reduced
from ..shapes import where
from ..ufuncs import call_ufunc

LEAST = 1 << 13
"""The number of elements from which it is worth it."""
MOST = 4
"""The number of ranks up to which it is worth it."""


def ranked(array: TracedArray, ranks: Sequence[int]) -> list[tuple[TracedArray, TracedArray]]:
    """
    For each rank the element of a vector that has it in order, and the next one (the last element has itself).

    The vector is of f32 or f64. NaN are not ordered, and -0.0 counts as 0.0.
    """
    kind = np.dtype(f"i{array.dtype.itemsize}")
    keys = _ordered(array + array.dtype.type(0), kind)
    found = _smallest(keys, ranks)
    last = lift(array.builder, np.iinfo(kind).max)
    pairs: list[tuple[TracedArray, TracedArray]] = []
    for rank, key in zip(ranks, found, strict=True):
        above = keys > key
        others = array.shape[0] - _count(above)
        following = reduced(np.minimum, where(above, keys, last.astype(kind)))
        following = where(others > min(rank + 1, array.shape[0] - 1), key, following)
        pairs.append((_as_float(key, array), _as_float(following, array)))
    return pairs


def _ordered(array: TracedArray, kind: np.dtype[Any]) -> TracedArray:
    """Integers in the order of floats: the bits, but for the sign turned over where that is set."""
    bits = array.like(array.builder.bitcast_convert(array.value, result_type=(f"i{kind.itemsize * 8}", array.shape)))
    return _turned(bits)


def _turned(bits: TracedArray) -> TracedArray:
    rest = np.asarray(np.iinfo(bits.dtype).max, bits.dtype)
    return where(bits < 0, call_ufunc(np.bitwise_xor, bits, rest), bits)


def _as_float(key: TracedArray, like: TracedArray) -> TracedArray:
    width = like.dtype.itemsize * 8
    return like.like(like.builder.bitcast_convert(_turned(key).value, result_type=(f"f{width}", ())))


def _count(which: TracedArray) -> TracedArray:
    return reduced(np.add, which.astype(np.int64))


def _smallest(keys: TracedArray, ranks: Sequence[int]) -> list[TracedArray]:
    """For each rank the key that has it: the largest bound below which there are no more keys than the rank."""
    b, kind = keys.builder, keys.dtype
    start = lift(b, np.asarray(np.iinfo(kind).min, kind)).value
    bits = kind.itemsize * 8
    first = lift(b, np.asarray(1 << (bits - 2), kind)).value

    def goes_on(step: Value, *bounds: Value) -> Value:
        return step.compare("NE", b.constant(0, f"i{bits}"))

    def narrowed(step: Value, *bounds: Value) -> tuple[Value, ...]:
        width = keys.like(step)
        results: list[Value] = []
        for rank, bound in zip(ranks, map(keys.like, bounds), strict=True):
            fits = [_count(keys < bound + width * kind.type(digit)) <= rank for digit in (1, 2, 3)]
            for one in fits:
                bound = where(one, bound + width, bound)
            results.append(bound.value)
        return b.shift_right_logical(step, b.constant(2, f"i{bits}")), *results

    found = b.while_loop(goes_on, narrowed, first, *[start] * len(ranks))
    return [keys.like(value) for value in found[1:]]

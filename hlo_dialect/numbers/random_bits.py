"""
Counter-based random bits in NumPy: Threefry-2x32 with 20 rounds and Philox-4x32 with 10.

Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3 (SC 2011). How states become keys and
counters, and outputs become elements, is XLA's choice, so that its programs give its numbers:

* the state's first word is the key, the others the counter (low word first); with Philox and a state of two words the
  key is the counter's high word too, and only the low word is kept;
* Philox gives four 32-bit words for a counter, in the order of the result's elements; a 64-bit element takes two;
* Threefry gives two words for a counter: a 64-bit element, or two neighbours along one dimension (`split_dimension`),
  the counters running over half the shape;
* narrower elements are the low bits of 32-bit ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..types import Array

THREEFRY_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
"""Rotations of the rounds, in groups of four; the key is added after each group."""

THREEFRY_PARITY = 0x1BD11BDA
THREEFRY_GROUPS = 5

PHILOX_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
PHILOX_KEY_STEPS = (0x9E3779B9, 0xBB67AE85)
PHILOX_ROUNDS = 10

_U32 = np.uint32
_U64 = np.uint64
_LOW = _U64(0xFFFFFFFF)
_HALF = _U64(32)


def split_dimension(shape: Sequence[int]) -> int:
    """The dimension whose neighbours share a Threefry counter: the first even one, else the first of the largest."""
    even = [dim for dim, size in enumerate(shape) if size % 2 == 0]
    return even[0] if even else max(range(len(shape)), key=lambda dim: shape[dim])


def words(value: Array) -> tuple[Array, Array]:
    """The low and the high half of 64-bit words."""
    return (value & _LOW).astype(_U32), (value >> _HALF).astype(_U32)


def _joined(low: Array, high: Array) -> Array:
    return low.astype(_U64) | high.astype(_U64) << _HALF


def threefry(key: tuple[Any, Any], counter: tuple[Any, Any]) -> tuple[Any, Any]:
    """Two words of 32 bits for each counter, in NumPy's arrays or in any notation with the operators of integers."""
    keys = (*key, key[0] ^ key[1] ^ THREEFRY_PARITY)
    first, second = counter[0] + keys[0], counter[1] + keys[1]
    for group in range(THREEFRY_GROUPS):
        for distance in THREEFRY_ROTATIONS[group % 2]:
            first = first + second
            second = ((second << distance) | (second >> (32 - distance))) ^ first
        first = first + keys[(group + 1) % 3]
        second = second + keys[(group + 2) % 3] + (group + 1)
    return first, second


def philox(key: tuple[Array, Array], counter: Sequence[Array]) -> tuple[Array, ...]:
    """Four words of 32 bits for each counter of four words."""
    keys, state = list(key), list(counter)
    for _ in range(PHILOX_ROUNDS):
        state = _philox_round(keys, state)
        keys = [word + _U32(step) for word, step in zip(keys, PHILOX_KEY_STEPS, strict=True)]
    return tuple(state)


def _philox_round(keys: Sequence[Array], state: Sequence[Array]) -> list[Array]:
    first = state[0].astype(_U64) * _U64(PHILOX_MULTIPLIERS[0])
    second = state[2].astype(_U64) * _U64(PHILOX_MULTIPLIERS[1])
    (low0, high0), (low1, high1) = words(first), words(second)
    return [high1 ^ state[1] ^ keys[0], low1, high0 ^ state[3] ^ keys[1], low0]


def threefry_bits(state: Array, shape: tuple[int, ...], width: int) -> tuple[Array, Array]:
    """The new state of two words, and random words of 32 or, for a `width` of 64, of 64 bits."""
    key = words(state[0])
    if width == 64:
        counters = state[1] + np.arange(math.prod(shape), dtype=_U64)
        return np.array([state[0], state[1] + _U64(counters.size)]), _joined(*threefry(key, words(counters))).reshape(
            shape
        )
    dim = split_dimension(shape) if shape else 0
    half = list(shape) or [1]
    half[dim] = -(-half[dim] // 2)
    counters = state[1] + np.arange(math.prod(half), dtype=_U64).reshape(half)
    pairs = np.stack(threefry(key, words(counters)), axis=dim + 1)
    both = pairs.reshape([size * 2 if d == dim else size for d, size in enumerate(half)])
    new_state = np.array([state[0], state[1] + _U64(counters.size)])
    return new_state, (both[0] if not shape else both.take(range(shape[dim]), axis=dim)).reshape(shape)


def philox_bits(state: Array, shape: tuple[int, ...], width: int) -> tuple[Array, Array]:
    """The new state of as many words as the old one, and random words of 32 or, for a `width` of 64, of 64 bits."""
    low, high = (state[1], state[2]) if len(state) == 3 else (state[1], state[0])
    count = math.prod(shape)
    blocks = -(-count * (2 if width == 64 else 1) // 4)
    lows = low + np.arange(blocks, dtype=_U64)
    highs = high + (lows < low).astype(_U64)
    output = philox(words(state[0]), (*words(lows), *words(highs)))
    if width == 64:
        output = (_joined(*output[:2]), _joined(*output[2:]))
    bits = np.stack(output, axis=1).reshape(-1)[:count].reshape(shape)
    end = low + _U64(blocks)
    return np.array([state[0], end, high + _U64(end < low)])[: len(state)], bits

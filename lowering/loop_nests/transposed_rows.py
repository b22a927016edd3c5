"""Square matrices whose rows are vectors, transposed by shuffles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")

Shuffled = Callable[[T, T, Sequence[int]], T]
"""Some lanes of two vectors, those of the second numbered after the first's."""

BLOCK = 128
"""
The bits within which processors interleave two vectors by one instruction without a table, whatever their length; they
also move whole blocks so. LLVM selects these several times as fast as it finds other shuffles.
"""


def transposed(rows: Sequence[T], lanes: int, bits: int, shuffled: Shuffled[T], unit: int = 1) -> list[T]:
    """
    The columns of a matrix of `len(rows)` rows, a power of two. Longer rows are several matrices abreast.

    `lanes`, `bits`: the number of lanes in a row, and the size of each. `unit`: neighbouring lanes that are one entry.
    """
    size = len(rows)
    inside = min(size, max(1, BLOCK // (unit * bits)))
    groups = [_interleaved(rows[at : at + inside], lanes, unit, shuffled) for at in range(0, size, inside)]
    blocks = [_separated(parts, lanes, unit * inside, shuffled) for parts in zip(*groups, strict=True)]
    return [block[at] for at in range(size // inside) for block in blocks]


def _interleaved(rows: Sequence[T], lanes: int, unit: int, shuffled: Shuffled[T]) -> list[T]:
    """Columns of small matrices: each round interleaves the first half of the vectors with the second."""
    size = len(rows)
    starts = range(0, lanes, size * unit)
    pairs = [(start + i * unit, lanes + start + i * unit) for start in starts for i in range(size // 2)]
    low = [lane + k for pair in pairs for lane in pair for k in range(unit)]
    high = [lane + size // 2 * unit for lane in low]
    found = list(rows)
    for _ in range(size.bit_length() - 1):
        halves = zip(found[: size // 2], found[size // 2 :], strict=True)
        found = [shuffled(x, y, mask) for x, y in halves for mask in (low, high)]
    return found


def _separated(rows: Sequence[T], lanes: int, unit: int, shuffled: Shuffled[T]) -> list[T]:
    """Columns of matrices of blocks: each round takes the blocks of neighbours with even numbers, then the others."""
    size = len(rows)
    firsts = [
        vector + start + block * unit
        for start in range(0, lanes, size * unit)
        for vector in (0, lanes)
        for block in range(0, size, 2)
    ]
    even = [first + k for first in firsts for k in range(unit)]
    odd = [lane + unit for lane in even]
    found = list(rows)
    for _ in range(size.bit_length() - 1):
        pairs = list(zip(found[::2], found[1::2], strict=True))
        found = [shuffled(x, y, mask) for mask in (even, odd) for x, y in pairs]
    return found

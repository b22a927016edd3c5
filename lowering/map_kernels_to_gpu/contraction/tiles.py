"""
Tile sizes of contractions, from shapes and the chip alone: results depend on nothing else.

A block of threads computes a tile of `m x n` sums, `k` products of each at a time; its threads hold the sums in
registers. Of the tables below the tiling with the least estimated time is taken: rounds of blocks over the
multiprocessors, times the multiplications of a tile (those beyond C's edge count too) over the rate that a tile of its
size reaches. A large tile reads each element of A and B from memory for more products; a small one leaves fewer
multiprocessors idle. Where the tiles are few and k is long, `splits` blocks share the k of a tile: each writes its sums
to a scratch buffer, and a second launch adds them up in order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...device.chips import WARP, Chip


@dataclass(frozen=True)
class Tiling:
    """How a block of threads computes a tile of C."""

    m: int
    n: int
    k: int
    """Products of each sum between two barriers."""
    thread_m: int
    """Rows of one thread; of one warp for tensor cores."""
    thread_n: int
    rate: float
    """Multiplications for each clock of a multiprocessor, as a guide."""
    stages: int = 2
    """Tiles of A and B in shared memory at a time."""
    unit: int = 1
    """Threads that hold `thread_m x thread_n` sums together: 32 for tensor cores."""
    splits: int = 1
    """Blocks that share the k of a tile."""

    @property
    def units(self) -> int:
        """Threads, or warps for tensor cores."""
        return self.m // self.thread_m * (self.n // self.thread_n)

    @property
    def threads(self) -> int:
        """Of a block."""
        return self.units * self.unit


REGISTER_TILES = (
    # m   n    k  per thread  rate
    Tiling(128, 128, 8, 8, 8, 100.0),
    Tiling(128, 64, 16, 8, 4, 80.0),
    Tiling(64, 128, 16, 4, 8, 80.0),
    Tiling(64, 64, 16, 4, 4, 60.0),
    Tiling(32, 32, 32, 4, 4, 32.0),
    Tiling(128, 16, 32, 4, 4, 28.0),
    Tiling(16, 128, 32, 4, 4, 28.0),
    Tiling(32, 16, 32, 4, 4, 12.0),
    Tiling(16, 32, 32, 4, 4, 12.0),
    Tiling(4, 256, 16, 4, 4, 20.0),
    Tiling(256, 4, 16, 4, 4, 20.0),
)
"""
For elements of up to 4 bytes; threads in both directions. The last are for products with a vector: they keep much of
the matrix in flight, for memory limits them.
"""

WIDE_REGISTER_TILES = (
    Tiling(64, 64, 16, 4, 4, 32.0),
    Tiling(32, 32, 16, 4, 4, 20.0),
    Tiling(16, 16, 16, 2, 2, 8.0),
    Tiling(2, 128, 16, 2, 2, 5.0),
    Tiling(128, 2, 16, 2, 2, 5.0),
)
"""For elements of 8 bytes."""

TENSOR_TILES = tuple(
    replace(tiling, unit=WARP)
    for tiling in (
        # m   n    k  per warp rate  stages
        Tiling(128, 256, 64, 64, 64, 1000.0, 3),
        Tiling(256, 128, 64, 64, 64, 1000.0, 3),
        Tiling(128, 256, 32, 64, 64, 900.0, 4),
        Tiling(256, 128, 32, 64, 64, 900.0, 4),
        Tiling(128, 128, 64, 64, 32, 750.0, 3),
        Tiling(128, 128, 32, 64, 32, 700.0, 4),
        Tiling(128, 64, 64, 32, 32, 550.0, 4),
        Tiling(64, 128, 64, 32, 32, 550.0, 4),
        Tiling(64, 64, 64, 32, 32, 350.0, 4),
        Tiling(64, 64, 32, 32, 32, 320.0, 4),
        Tiling(32, 64, 64, 16, 32, 200.0, 4),
        Tiling(64, 32, 64, 32, 16, 200.0, 4),
        Tiling(16, 64, 64, 16, 16, 120.0, 4),
        Tiling(64, 16, 64, 16, 16, 120.0, 4),
        Tiling(32, 32, 64, 16, 16, 120.0, 4),
    )
)
"""For elements of 2 bytes and tensor cores; warps in both directions."""

MOST_SPLITS = 64
LEAST_DEPTH = 128
"""Products of each sum that a split should have at least."""

PROLOGUE = 64
"""Products in whose time a block fills its pipeline and writes its sums."""

FULL_THREADS = 256
"""Threads of a multiprocessor from which on it reaches a tiling's rate: fewer leave it waiting."""

BYTES_PER_CLOCK = 16.0
"""Of one multiprocessor, from and to memory."""

SECOND_LAUNCH = 4000.0
"""Clocks that the launch which adds up the splits takes beside its memory accesses."""


def fits(tiling: Tiling, chip: Chip) -> bool:
    """Whether a block's tiles of 2-byte elements find room: three stages, or two where they go by way of registers."""
    stages = 2 if not chip.has_async_copies else min(3, tiling.stages)
    padded = (tiling.m + tiling.n) * (tiling.k + 8)
    # Tiles that are stored by k have longer rows, and fewer.
    return stages * 2 * max(padded, tiling.k * (tiling.m + tiling.n + 16)) <= chip.shared_per_block


def tiles_of(size: int, tile: int) -> int:
    return -(-size // tile)


def blocks_of(tiling: Tiling, shape: tuple[int, int, int, int]) -> int:
    batches, m, n, _ = shape
    return batches * tiles_of(m, tiling.m) * tiles_of(n, tiling.n) * tiling.splits


def estimate(tiling: Tiling, shape: tuple[int, int, int, int], chip: Chip) -> float:
    """Clocks for a product of (batches, m, n, k), as a guide."""
    batches, m, n, k = shape
    depth = tiles_of(tiles_of(k, tiling.splits), tiling.k) * tiling.k + PROLOGUE
    rounds = tiles_of(blocks_of(tiling, shape), chip.multiprocessors)
    busy = min(1.0, rounds * tiling.threads / FULL_THREADS)
    clocks = rounds * tiling.m * tiling.n * depth / (tiling.rate * busy)
    if tiling.splits > 1:
        moved = batches * m * n * 4 * 2 * tiling.splits
        clocks += SECOND_LAUNCH + moved / (BYTES_PER_CLOCK * chip.multiprocessors)
    return clocks


def choose(tilings: Sequence[Tiling], shape: tuple[int, int, int, int], chip: Chip, may_split: bool = True) -> Tiling:
    """The best tiling for a product of (batches, m, n, k); the first of equal ones."""
    best, least = tilings[0], math.inf
    for tiling in tilings:
        splits = 1
        while splits <= MOST_SPLITS:
            candidate = replace(tiling, splits=splits)
            clocks = estimate(candidate, shape, chip)
            if clocks < least:
                best, least = candidate, clocks
            splits *= 2
            few = blocks_of(tiling, shape) * tiling.threads < chip.multiprocessors * FULL_THREADS
            if not may_split or not few or shape[3] < splits * LEAST_DEPTH:
                break
    # No split without work: the last one would begin beyond the end.
    depth = split_depth(best, shape[3])
    return replace(best, splits=tiles_of(shape[3], depth))


def split_depth(tiling: Tiling, k: int) -> int:
    """Products of each sum that one split computes: a multiple of the tile's k."""
    return tiles_of(tiles_of(k, tiling.splits), tiling.k) * tiling.k

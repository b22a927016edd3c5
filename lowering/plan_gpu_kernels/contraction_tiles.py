"""
Tile sizes of contractions, chosen from shapes and the chip only, so that results depend on nothing else.

A block of threads computes a tile of `m x n` sums, a depth of `k` at a time; the accumulators are in registers. The
tile with the least estimated time is chosen from the tables below: the number of waves of blocks over the
multiprocessors, times the multiplications of a tile (including those beyond C's edge), divided by the rate that a tile
of its size reaches. A large tile reuses each element of A and B for more products; a small one leaves fewer
multiprocessors idle. If there are few tiles and k is long, `splits` blocks share the k of a tile: each writes its
partial sums to a scratch buffer, and a second launch adds them in order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...dialects.gpu.plans import RegisterTile, TensorTile
from ..device.gpu import GpuChip
from ..map_kernels_to_gpu.contraction.form import split_depth
from ..map_kernels_to_gpu.threads.ranges import ceil_div

Shape = tuple[int, int, int, int]
"""Sizes of a product: batches, m, n, k."""


@dataclass(frozen=True)
class Candidate:
    """A plan to choose from."""

    tile: RegisterTile | TensorTile
    rate: float
    """Multiplications per clock and multiprocessor, as an estimate."""


def _registers(m: int, n: int, k: int, thread_m: int, thread_n: int, rate: float) -> Candidate:
    return Candidate(RegisterTile((m, n, k), (thread_m, thread_n)), rate)


def _tensor(m: int, n: int, k: int, warp_m: int, warp_n: int, rate: float, stages: int) -> Candidate:
    return Candidate(TensorTile((m, n, k), (warp_m, warp_n), stages, copies=True), rate)


REGISTER_TILES = (
    # m   n    k  per thread  rate
    _registers(128, 128, 8, 8, 8, 100.0),
    _registers(128, 64, 16, 8, 4, 80.0),
    _registers(64, 128, 16, 4, 8, 80.0),
    _registers(64, 64, 16, 4, 4, 60.0),
    _registers(32, 32, 32, 4, 4, 32.0),
    _registers(128, 16, 32, 4, 4, 28.0),
    _registers(16, 128, 32, 4, 4, 28.0),
    _registers(32, 16, 32, 4, 4, 12.0),
    _registers(16, 32, 32, 4, 4, 12.0),
    _registers(4, 256, 16, 4, 4, 20.0),
    _registers(256, 4, 16, 4, 4, 20.0),
)
"""
For elements of up to 4 bytes; threads in both directions. The last ones are for matrix-vector products: they keep much
of the matrix in flight, because memory is the limit.
"""

WIDE_REGISTER_TILES = (
    _registers(64, 64, 16, 4, 4, 32.0),
    _registers(32, 32, 16, 4, 4, 20.0),
    _registers(16, 16, 16, 2, 2, 8.0),
    _registers(2, 128, 16, 2, 2, 5.0),
    _registers(128, 2, 16, 2, 2, 5.0),
)
"""For elements of 8 bytes."""

TENSOR_TILES = (
    # m   n    k  per warp rate  stages
    _tensor(128, 256, 64, 64, 64, 1000.0, 3),
    _tensor(256, 128, 64, 64, 64, 1000.0, 3),
    _tensor(128, 256, 32, 64, 64, 900.0, 4),
    _tensor(256, 128, 32, 64, 64, 900.0, 4),
    _tensor(128, 128, 64, 64, 32, 750.0, 3),
    _tensor(128, 128, 32, 64, 32, 700.0, 4),
    _tensor(128, 64, 64, 32, 32, 550.0, 4),
    _tensor(64, 128, 64, 32, 32, 550.0, 4),
    _tensor(64, 64, 64, 32, 32, 350.0, 4),
    _tensor(64, 64, 32, 32, 32, 320.0, 4),
    _tensor(32, 64, 64, 16, 32, 200.0, 4),
    _tensor(64, 32, 64, 32, 16, 200.0, 4),
    _tensor(16, 64, 64, 16, 16, 120.0, 4),
    _tensor(64, 16, 64, 16, 16, 120.0, 4),
    _tensor(32, 32, 64, 16, 16, 120.0, 4),
)
"""For elements of 2 bytes and tensor cores; warps in both directions."""

MOST_SPLITS = 64
LEAST_DEPTH = 128
"""Minimum depth (k) of a split."""

PROLOGUE = 64
"""Depth (k) that takes as long as filling a block's pipeline and writing its sums."""

FULL_THREADS = 256
"""Threads per multiprocessor that a tile needs to reach its rate; fewer do not hide latency."""

BYTES_PER_CLOCK = 16.0
"""Memory bandwidth of one multiprocessor."""

SECOND_LAUNCH = 4000.0
"""Clocks of the launch that adds the splits, without its memory accesses."""


def _blocks(tile: RegisterTile | TensorTile, shape: Shape) -> int:
    batches, m, n, _ = shape
    return batches * ceil_div(m, tile.m) * ceil_div(n, tile.n) * tile.splits


def estimate(candidate: Candidate, shape: Shape, chip: GpuChip) -> float:
    """Estimated clocks for a product of (batches, m, n, k)."""
    batches, m, n, k = shape
    tile = candidate.tile
    depth = ceil_div(ceil_div(k, tile.splits), tile.k) * tile.k + PROLOGUE
    rounds = ceil_div(_blocks(tile, shape), chip.multiprocessors)
    busy = min(1.0, rounds * tile.block / FULL_THREADS)
    clocks = rounds * tile.m * tile.n * depth / (candidate.rate * busy)
    if tile.splits > 1:
        moved = batches * m * n * 4 * 2 * tile.splits
        clocks += SECOND_LAUNCH + moved / (BYTES_PER_CLOCK * chip.multiprocessors)
    return clocks


def choose(
    candidates: Sequence[Candidate], shape: Shape, chip: GpuChip, may_split: bool = True
) -> RegisterTile | TensorTile:
    """The best tile for a product of (batches, m, n, k); the first of equally good ones."""
    best, least = candidates[0].tile, math.inf
    for candidate in candidates:
        splits = 1
        while splits <= MOST_SPLITS:
            tile = replace(candidate.tile, splits=splits)
            clocks = estimate(replace(candidate, tile=tile), shape, chip)
            if clocks < least:
                best, least = tile, clocks
            splits *= 2
            few = _blocks(candidate.tile, shape) * tile.block < chip.multiprocessors * FULL_THREADS
            if not may_split or not few or shape[3] < splits * LEAST_DEPTH:
                break
    # No split may be empty: the last one would begin beyond the end.
    return replace(best, splits=ceil_div(shape[3], split_depth(best, shape[3])))

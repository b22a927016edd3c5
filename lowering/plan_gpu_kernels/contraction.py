"""Plans of contractions: the kernel for a product, chosen by its shape, its types and the chip."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from ...dialects.gpu.nvgpu import bytes_of
from ...dialects.gpu.plans import Plan, RegisterTile, TensorTile
from ...dialects.gpu.product_plans import Tile
from ..device.gpu import GpuChip
from ..map_kernels_to_gpu.contraction.epilogue import FusedProduct, fused_product_of
from ..map_kernels_to_gpu.contraction.form import Product, split_depth
from ..map_kernels_to_gpu.contraction.loader import copies_asynchronously, lanes_of, tile_shapes
from ..map_kernels_to_gpu.contraction.tensor_cores import takes_tensor_cores
from ..map_kernels_to_gpu.threads.phases import Phase
from ..map_kernels_to_gpu.threads.ranges import ceil_div
from .contraction_tiles import REGISTER_TILES, TENSOR_TILES, WIDE_REGISTER_TILES, Candidate, choose

LEAST_PRODUCTS = 4096
"""Total multiply-adds of a contraction below which a thread per result does as well."""


THIN = 4
"""Rows, or columns, below which each element of a tile is hardly used more than once."""

MOST_REGISTERS = 160
"""Registers of a thread for accumulators and tiles in flight: fragments and addresses take the rest of 255."""

MOST_COPIES = 24
"""Asynchronous copies of a thread for a tile of both factors: each needs address registers."""


def plan_contraction(phase: Phase, chip: GpuChip) -> tuple[Plan, ...]:
    """The plan of a contraction, alone or with elementwise operations after it; none for any other phase."""
    fused = fused_product_of(phase)
    if fused is None or not _is_worth_tiles(fused):
        return ()
    product = fused.product
    shape = (product.batches, product.rows, product.columns, product.depth)
    if takes_tensor_cores(product, chip):
        table: Sequence[Candidate] = tensor_candidates(product, chip)
    else:
        table = WIDE_REGISTER_TILES if bytes_of(product.total) > 4 else REGISTER_TILES
    tile = choose(table, shape, chip)
    tile = replace(tile, raster=_raster(product, tile, chip))
    factors = list(zip(product.factors(), tile_shapes(product, tile), strict=True))
    if isinstance(tile, RegisterTile):
        # Two blocks of 256 threads leave 128 registers per thread: 64 accumulators, and the operands of the products.
        # Single elements need more addresses than vectors.
        return (replace(tile, blocks=2 if all(lanes_of(*one) > 1 for one in factors) else 1),)
    copies = chip.has_async_copies and all(copies_asynchronously(*one) for one in factors)
    room = chip.shared_per_block // sum(one.size * bytes_of(one.element) for _, one in factors)
    rounds = split_depth(tile, product.depth) // tile.k
    stages = min(tile.stages, max(2, rounds), room) if copies else 2
    # Besides its accumulators a thread holds two sets of fragments, and its share of a tile that goes through
    # registers.
    return (replace(tile, copies=copies, stages=stages, blocks=2 if _sums(tile) <= 32 and copies else 1),)


def _is_worth_tiles(fused: FusedProduct) -> bool:
    """Whether tiles pay off. Inner products are reductions; outer and small products reuse nothing in shared memory.

    Depthwise convolutions, batches of matrix-vector products, do not either: if neighbouring elements in memory belong
    to different batches, neighbouring threads should compute those.
    """
    product = fused.product
    if product.rows == product.columns == 1 or product.depth == 1:
        return False
    thin = min(product.rows, product.columns) < THIN
    if thin and any(digit.c == 1 and digit.size > 1 for digit in product.batch):
        return False
    return product.batches * product.rows * product.columns * product.depth >= LEAST_PRODUCTS


def _raster(product: Product, tile: Tile, chip: GpuChip) -> int:
    """Rows of tiles that consecutive blocks go down before the next column.

    Concurrent blocks then cover roughly a square of C, which minimizes the reads of A and B.
    """
    rows = ceil_div(product.rows, tile.m)
    wanted = math.sqrt(chip.multiprocessors * tile.n / tile.m)
    # Prefer a close number that divides the rows: it saves divisions and registers.
    near = [d for d in range(1, rows + 1) if rows % d == 0 and wanted / 2 <= d <= wanted * 2]
    return min(near, key=lambda d: abs(math.log(d / wanted)), default=min(max(1, round(wanted)), rows))


def tensor_candidates(product: Product, chip: GpuChip) -> list[Candidate]:
    """The tiles for the factors' element size that do not exceed the registers of a thread."""
    size = bytes_of(product.factors()[0].element)
    tiles = [replace(one, tile=replace(one.tile, lanes=chip.warp)) for one in TENSOR_TILES]
    candidates = [_of_size(one, size) for one in tiles if fits(one.tile, chip)]
    if _may_copy(product, chip):
        fitting = [one for one in candidates if sum(count for count, _ in _vectors(one.tile, product)) <= MOST_COPIES]
    else:
        fitting = [one for one in candidates if _sums(one.tile) + _moved(one.tile, product) <= MOST_REGISTERS]
    return fitting or candidates[-1:]


def _of_size(candidate: Candidate, size: int) -> Candidate:
    """The candidate for elements of `size` bytes instead of 2."""
    m, n, k = candidate.tile.tile
    return replace(candidate, tile=replace(candidate.tile, tile=(m, n, k * 2 // size)))


def fits(tile: Tile, chip: GpuChip) -> bool:
    """Whether a block's tiles of 2-byte elements fit: three stages, or two if they go through registers."""
    stages = min(3, tile.stages) if chip.has_async_copies and isinstance(tile, TensorTile) else 2
    padded = (tile.m + tile.n) * (tile.k + 8)
    # Tiles stored by k have longer rows, and fewer of them.
    return stages * 2 * max(padded, tile.k * (tile.m + tile.n + 16)) <= chip.shared_per_block


def _may_copy(product: Product, chip: GpuChip) -> bool:
    """Whether the tiles of both factors can be copied asynchronously."""
    size = bytes_of(product.factors()[0].element)
    aligned = all(factor.vector(16 // size) * size >= 4 for factor in product.factors())
    return chip.has_async_copies and aligned and (size == 2 or all(f.along_depth for f in product.factors()))


def _sums(tile: Tile) -> int:
    """Registers of a thread for accumulators."""
    return tile.share_m * tile.share_n * tile.units // tile.block


def _vectors(tile: Tile, product: Product) -> list[tuple[int, int]]:
    """For each factor: the vectors that a thread moves per tile, and the bytes of one."""
    found: list[tuple[int, int]] = []
    for factor, outer in zip(product.factors(), (tile.m, tile.n), strict=True):
        size = bytes_of(factor.element)
        lanes = factor.vector(16 // size)
        found.append((outer * tile.k // (lanes * tile.block), lanes * size))
    return found


def _moved(tile: Tile, product: Product) -> int:
    """Registers of a thread that hold its share of a tile of both factors."""
    return sum(count * max(1, size // 4) for count, size in _vectors(tile, product))

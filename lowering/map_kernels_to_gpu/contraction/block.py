"""
Parts shared by all contraction kernels: the tile of a block, and the write-back of its accumulators.

Accumulators are held in registers in an order that suits the multiplication. They are written through shared memory, a
few rows of the tile at a time, so that neighbouring threads write neighbouring elements and the epilogue is emitted
once, in a short loop.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import IntegerAttr, IntegerType, MemRefType, NoneAttr
from xdsl.ir import Attribute, SSAValue

from ....dialects.gpu.functions import WORKGROUP
from ....dialects.gpu.nvgpu import bytes_of
from ....dialects.gpu.plans import RegisterTile, TensorTile
from ....dialects.support.buffers import memref_type
from ....dialects.support.scalar import Scalar
from ...loop_nests.indices import delinearized
from ...loop_nests.kernel_builder import Index
from ...loop_nests.unrolling import UNROLL, WHOLLY
from ..threads.builder import GpuBuilder
from ..threads.launch import Launch
from ..threads.ranges import ceil_div
from .epilogue import FusedProduct, ResultWriter, vector_of_results
from .form import Product, split_depth
from .loader import TileLoader, TileShape, both

UNROLL_WHOLLY: Mapping[str, Attribute] = {UNROLL: IntegerAttr(WHOLLY, IntegerType(64))}
"""The attribute of a loop that must be fully unrolled."""

I8 = IntegerType(8)


class SharedArena:
    """A shared-memory buffer with typed views, which may overlap if their uses do not."""

    def __init__(self, builder: GpuBuilder, size: int):
        self.builder = builder
        self.size = size
        self.buffer = builder.shared((size,), I8)

    def view(self, offset: int, shape: tuple[int, ...], element: Attribute) -> SSAValue:
        """A view of the buffer that begins at `offset` bytes."""
        type_ = MemRefType(element, shape, NoneAttr(), WORKGROUP)
        operands = [self.buffer, self.builder.index(offset).value]
        return self.builder.insert(memref.ViewOp.create(operands=operands, result_types=[type_])).result


@dataclass(frozen=True)
class BlockTile:
    """The tile that a block computes."""

    batch: tuple[Index, ...]
    """The index of each batch digit."""
    split: Index
    first_m: Index
    first_n: Index
    first_k: Index


class ProductBlock:
    """A block of threads and its tile."""

    def __init__(self, launch: Launch, fused: FusedProduct, tiling: RegisterTile | TensorTile):
        self.launch = launch
        self.builder: GpuBuilder = launch.builder
        self.fused = fused
        self.product: Product = fused.product
        self.tiling = tiling
        self.threads = tiling.block
        self.depth = split_depth(tiling, self.product.depth)
        self.rounds = self.depth // tiling.k
        """The number of tiles along k."""
        self.whole_depth = tiling.splits * self.depth == self.product.depth
        self.tiles_m = ceil_div(self.product.rows, tiling.m)
        self.tiles_n = ceil_div(self.product.columns, tiling.n)
        self.tile = self._tile()

    def _tile(self) -> BlockTile:
        number = self.builder.block_id()
        tiles = self.tiles_m * self.tiles_n
        tile, rest = number % tiles, number // tiles
        part, batch = rest % self.tiling.splits, rest // self.tiling.splits
        row, column = self._raster(tile)
        sizes = [digit.size for digit in self.product.batch]
        return BlockTile(
            tuple(delinearized(batch, sizes)),
            part,
            row * self.tiling.m,
            column * self.tiling.n,
            part * self.depth,
        )

    def _raster(self, tile: Index) -> tuple[Index, Index]:
        """The row and column of a tile: consecutive blocks go down `raster` rows before the next column."""
        builder, group = self.builder, self.tiling.raster
        first = tile // (group * self.tiles_n) * group
        within = tile % (group * self.tiles_n)
        if self.tiles_m % group == 0:
            return first + within % group, within // group
        # The last group may have fewer rows.
        height = builder.index(builder.min(self.tiles_m - first, group))
        row = builder.binary(arith.RemUIOp, within, height)
        column = builder.binary(arith.DivUIOp, within, height)
        return first + row, column

    def finish(self) -> None:
        tiling = self.tiling
        blocks = self.tiles_m * self.tiles_n * tiling.splits * self.product.batches
        self.launch.finish(blocks, self.threads, tiling.blocks)

    def loaders(self, shapes: tuple[TileShape, TileShape], converted: bool = True) -> tuple[TileLoader, TileLoader]:
        """The loaders of both factors; with `converted`, they convert elements to the accumulator type."""
        factors = self.product.factors()
        if not converted:
            factors = tuple(replace(factor, conversions=()) for factor in factors)
        firsts = (self.tile.first_m, self.tile.first_n)
        lhs, rhs = (
            TileLoader(self.builder, factor, shape, self.tile.batch, first, self.whole_depth)
            for factor, shape, first in zip(factors, shapes, firsts, strict=True)
        )
        return lhs, rhs

    def start_of(self, round_: Index) -> Index:
        """The first k of a tile."""
        return self.tile.first_k + round_ * self.tiling.k


@dataclass(frozen=True)
class Strip:
    """Rows of the tile that are written together: `groups` runs of `run` rows, `distance` apart, from `first` on."""

    first: int
    groups: int
    run: int
    distance: int

    @property
    def rows(self) -> int:
        return self.groups * self.run


class SumWriter:
    """Writes accumulators from registers to global memory, through shared memory."""

    def __init__(self, block: ProductBlock, arena: SharedArena, pad: int, scratch: SSAValue | None):
        """`pad`: elements after each row in shared memory; `scratch`: the buffer for the partial sums of splits."""
        self.block = block
        self.builder = block.builder
        self.arena = arena
        self.pitch = block.tiling.n + pad
        self.element = block.product.total
        self.scratch = scratch
        self.results = None if scratch is not None else ResultWriter(block.launch, block.fused)

    @staticmethod
    def bytes_for(tiling: RegisterTile | TensorTile, pad: int, rows: int, element: Attribute) -> int:
        return rows * (tiling.n + pad) * bytes_of(element)

    def strips(self, strips: Sequence[Strip]) -> Iterator[tuple[int, SSAValue]]:
        """
        Write the tile strip by strip. The body of the `for` statement over this iterator emits, for a strip's number,
        the thread's stores of its accumulators to rows of a buffer.

        All threads must reach this point; some may still be reading shared memory.
        """
        builder = self.builder
        for number, strip in enumerate(strips):
            buffer = self.arena.view(0, (strip.rows, self.pitch), self.element)
            builder.barrier()
            yield number, buffer
            builder.barrier()
            self._write_strip(strip, buffer)

    def _write_strip(self, strip: Strip, buffer: SSAValue) -> None:
        builder, block = self.builder, self.block
        tiling = block.tiling
        lanes = vector_of_results(block.fused) if self.scratch is None else 4
        while lanes > 1 and (tiling.n % lanes or strip.rows * tiling.n // lanes < block.threads):
            lanes //= 2
        vectors = strip.rows * tiling.n // lanes
        rounds = -(-vectors // block.threads)
        aligned = block.product.columns % lanes == 0
        with builder.loop(0, rounds) as round_:
            number = round_ * block.threads + builder.thread_id()
            row = number // (tiling.n // lanes)
            column = number % (tiling.n // lanes) * lanes
            in_tile = row // strip.run * strip.distance + strip.first + row % strip.run
            m, n = block.tile.first_m + in_tile, block.tile.first_n + column
            inside = self._inside(m, n if aligned else None)
            if vectors % block.threads:
                inside = both(inside, builder.index(number).below(vectors))
            with builder.guarded(inside), builder.loop(0, lanes, attributes=UNROLL_WHOLLY) as lane:
                self._element(buffer, row, column, m, n, lane, aligned)

    def _inside(self, m: Index, n: Index | None) -> Scalar | None:
        """Whether an element of the tile lies within C."""
        builder, block = self.builder, self.block
        inside = None
        if block.product.rows % block.tiling.m:
            inside = builder.index(m).below(block.product.rows)
        if n is not None and block.product.columns % block.tiling.n:
            inside = both(inside, builder.index(n).below(block.product.columns))
        return inside

    def _element(
        self, buffer: SSAValue, row: Index, column: Index, m: Index, n: Index, lane: Index, aligned: bool
    ) -> None:
        builder, block = self.builder, self.block
        at = n + lane
        checked = not aligned and block.product.columns % block.tiling.n != 0
        with builder.when_below(at, block.product.columns, checked):
            total = builder.load(buffer, [row, column + lane])
            if self.results is not None:
                self.results.write(block.tile.batch, m, at, total)
            else:
                self._leave(m, at, total)

    def _leave(self, m: Index, n: Index, total: SSAValue) -> None:
        """Store a split's partial sum to the scratch buffer: (split, batch, m, n)."""
        builder, block = self.builder, self.block
        assert self.scratch is not None
        batch: Index = 0
        for digit, index in zip(block.product.batch, block.tile.batch, strict=True):
            batch = batch * digit.size + index
        builder.store(total, self.scratch, [block.tile.split, batch, m, n])


def scratch_of(launch: Launch, product: Product, tiling: RegisterTile | TensorTile) -> SSAValue | None:
    """A buffer of the kernel for the partial sums of splits; None if there is only one split."""
    if tiling.splits == 1:
        return None
    shape = (tiling.splits, product.batches, product.rows, product.columns)
    return launch.mapper.scratch(memref_type(shape, product.total))

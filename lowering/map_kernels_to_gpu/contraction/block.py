"""
What the kernels of contractions have in common: which tile a block computes, and how its sums reach memory.

Sums are held in registers in an order that suits the multiplication. They go through shared memory, some rows of the
tile at a time, so that neighbouring threads write neighbouring elements, and the epilogue is emitted in a short loop.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import IntegerAttr, IntegerType, MemRefType, NoneAttr
from xdsl.ir import Attribute, SSAValue

from ....dialects.build.buffers import memref_type
from ....dialects.gpu.functions import WORKGROUP
from ....dialects.gpu.nvgpu import bits_of
from ....dialects.gpu.plans import RegisterTile, TensorTile
from ...loop_nests.loop_builder import Index
from ...loop_nests.unrolling import UNROLL, WHOLLY
from ..threads.builder import GpuBuilder
from ..threads.launch import Launch
from ..threads.ranges import ceil_div
from .epilogue import Chain, ResultWriter, vector_of_results
from .form import Product, split, split_depth
from .loader import TileLoader, TileShape, both

UNROLL_WHOLLY: Mapping[str, Attribute] = {UNROLL: IntegerAttr(WHOLLY, IntegerType(64))}
"""The mark of a loop that is to be written out."""

I8 = IntegerType(8)


def bytes_of(element: Attribute) -> int:
    return max(1, bits_of(element) // 8)


class SharedArena:
    """One buffer of shared memory with typed views, which may overlap where their uses do not."""

    def __init__(self, builder: GpuBuilder, size: int):
        self.builder = builder
        self.size = size
        self.buffer = builder.shared((size,), I8)

    def view(self, offset: int, shape: tuple[int, ...], element: Attribute) -> SSAValue:
        """A buffer at `offset` bytes."""
        type_ = MemRefType(element, shape, NoneAttr(), WORKGROUP)
        operands = [self.buffer, self.builder.index(offset)]
        return self.builder.insert(memref.ViewOp.create(operands=operands, result_types=[type_])).result


@dataclass(frozen=True)
class Place:
    """The tile of a block."""

    batch: tuple[Index, ...]
    """Its digits."""
    split: Index
    first_m: Index
    first_n: Index
    first_k: Index


class ProductBlock:
    """A block of threads and its tile."""

    def __init__(self, launch: Launch, chain: Chain, tiling: RegisterTile | TensorTile):
        self.launch = launch
        self.builder: GpuBuilder = launch.builder
        self.chain = chain
        self.product: Product = chain.product
        self.tiling = tiling
        self.threads = tiling.block
        self.depth = split_depth(tiling, self.product.depth)
        self.rounds = self.depth // tiling.k
        """Tiles along k."""
        self.whole_depth = tiling.splits * self.depth == self.product.depth
        self.tiles_m = ceil_div(self.product.rows, tiling.m)
        self.tiles_n = ceil_div(self.product.columns, tiling.n)
        self.place = self._place()

    def _place(self) -> Place:
        builder, number = self.builder, self.builder.block_id()
        tiles = self.tiles_m * self.tiles_n
        tile, rest = builder.rem(number, tiles), builder.div(number, tiles)
        part, batch = builder.rem(rest, self.tiling.splits), builder.div(rest, self.tiling.splits)
        row, column = self._raster(tile)
        sizes = [digit.size for digit in self.product.batch]
        return Place(
            tuple(split(builder, batch if sizes else 0, sizes)),
            part,
            builder.mul(row, self.tiling.m),
            builder.mul(column, self.tiling.n),
            builder.mul(part, self.depth),
        )

    def _raster(self, tile: Index) -> tuple[Index, Index]:
        """
        Row and column of a tile: neighbouring blocks go down `raster` rows before they go on to the next column.
        """
        builder, group = self.builder, self.tiling.raster
        first = builder.mul(builder.div(tile, group * self.tiles_n), group)
        within = builder.rem(tile, group * self.tiles_n)
        if self.tiles_m % group == 0:
            return builder.add(first, builder.rem(within, group)), builder.div(within, group)
        # The last rows are fewer.
        height = builder.index(builder.min(builder.sub(self.tiles_m, first), group))
        place = builder.index(within)
        row = builder.insert(arith.RemUIOp(place, height)).result
        column = builder.insert(arith.DivUIOp(place, height)).result
        return builder.add(first, row), column

    def finish(self) -> None:
        tiling = self.tiling
        blocks = self.tiles_m * self.tiles_n * tiling.splits * self.product.batches
        self.launch.finish(blocks, self.threads, tiling.blocks)

    def loaders(self, shapes: tuple[TileShape, TileShape], converted: bool = True) -> tuple[TileLoader, TileLoader]:
        """Of both factors; `converted`: what is read becomes of the type of the sums."""
        factors = self.product.factors()
        if not converted:
            factors = tuple(replace(factor, conversions=()) for factor in factors)
        firsts = (self.place.first_m, self.place.first_n)
        lhs, rhs = (
            TileLoader(self.builder, factor, shape, self.place.batch, first, self.whole_depth)
            for factor, shape, first in zip(factors, shapes, firsts, strict=True)
        )
        return lhs, rhs

    def start_of(self, round_: Index) -> Index:
        """The first k of a tile."""
        return self.builder.add(self.place.first_k, self.builder.mul(round_, self.tiling.k))


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
    """Brings sums from registers to their places in memory, by way of shared memory."""

    def __init__(self, block: ProductBlock, arena: SharedArena, pad: int, scratch: SSAValue | None):
        """`pad`: elements after each row in shared memory; `scratch`: where splits leave their sums."""
        self.block = block
        self.builder = block.builder
        self.arena = arena
        self.pitch = block.tiling.n + pad
        self.element = block.product.total
        self.scratch = scratch
        self.results = None if scratch is not None else ResultWriter(block.launch, block.chain)

    @staticmethod
    def bytes_for(tiling: RegisterTile | TensorTile, pad: int, rows: int, element: Attribute) -> int:
        return rows * (tiling.n + pad) * bytes_of(element)

    def write(self, strips: Sequence[Strip], put: Callable[[int, SSAValue], None]) -> None:
        """
        Write the tile strip by strip; `put(number, buffer)` stores the thread's sums of a strip to rows of a buffer.

        All threads come here; shared memory may still be read by some.
        """
        builder = self.builder
        for number, strip in enumerate(strips):
            buffer = self.arena.view(0, (strip.rows, self.pitch), self.element)
            builder.barrier()
            put(number, buffer)
            builder.barrier()
            self._write_strip(strip, buffer)

    def _write_strip(self, strip: Strip, buffer: SSAValue) -> None:
        builder, block = self.builder, self.block
        tiling = block.tiling
        lanes = vector_of_results(block.chain) if self.scratch is None else 4
        while lanes > 1 and (tiling.n % lanes or strip.rows * tiling.n // lanes < block.threads):
            lanes //= 2
        vectors = strip.rows * tiling.n // lanes
        rounds = -(-vectors // block.threads)
        aligned = block.product.columns % lanes == 0

        def vector(round_: SSAValue, _: list[SSAValue]) -> Sequence[SSAValue]:
            number = builder.add(builder.mul(round_, block.threads), builder.thread_id())
            row = builder.div(number, tiling.n // lanes)
            column = builder.mul(builder.rem(number, tiling.n // lanes), lanes)
            in_tile = builder.add(
                builder.add(builder.mul(builder.div(row, strip.run), strip.distance), strip.first),
                builder.rem(row, strip.run),
            )
            m, n = builder.add(block.place.first_m, in_tile), builder.add(block.place.first_n, column)
            inside = self._inside(m, n if aligned else None)
            if vectors % block.threads:
                inside = both(builder, inside, builder.compare("ult", number, vectors))

            def elements() -> None:
                builder.loop(
                    0,
                    lanes,
                    lambda lane, _: self._element(buffer, row, column, m, n, lane, aligned),
                    attributes=UNROLL_WHOLLY,
                )

            if inside is None:
                elements()
            else:
                builder.when(inside, elements)
            return ()

        builder.loop(0, rounds, vector)

    def _inside(self, m: Index, n: Index | None) -> SSAValue | None:
        """Whether an element of the tile is one of C."""
        builder, block = self.builder, self.block
        inside = None
        if block.product.rows % block.tiling.m:
            inside = builder.compare("ult", m, block.product.rows)
        if n is not None and block.product.columns % block.tiling.n:
            inside = both(builder, inside, builder.compare("ult", n, block.product.columns))
        return inside

    def _element(
        self, buffer: SSAValue, row: Index, column: Index, m: Index, n: Index, lane: Index, aligned: bool
    ) -> Sequence[SSAValue]:
        builder, block = self.builder, self.block
        at = builder.add(n, lane)

        def write() -> None:
            total = builder.load(buffer, [row, builder.add(column, lane)])
            if self.results is not None:
                self.results.write(block.place.batch, m, at, total)
            else:
                self._leave(m, at, total)

        if aligned or block.product.columns % block.tiling.n == 0:
            write()
        else:
            builder.when(builder.compare("ult", at, block.product.columns), write)
        return ()

    def _leave(self, m: Index, n: Index, total: SSAValue) -> None:
        """Store a split's sum to the scratch buffer: (split, batch, m, n)."""
        builder, block = self.builder, self.block
        assert self.scratch is not None
        batch: Index = 0
        for digit, index in zip(block.product.batch, block.place.batch, strict=True):
            batch = builder.add(builder.mul(batch, digit.size), index)
        builder.store(total, self.scratch, [block.place.split, batch, m, n])


def scratch_of(launch: Launch, product: Product, tiling: RegisterTile | TensorTile) -> SSAValue | None:
    """A buffer of the kernel for the sums of splits; None where there is one split."""
    if tiling.splits == 1:
        return None
    shape = (tiling.splits, product.batches, product.rows, product.columns)
    return launch.mapper.scratch(memref_type(shape, product.total))

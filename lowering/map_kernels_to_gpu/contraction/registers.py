"""
Contractions in plain arithmetic: tiles of A and B in shared memory, a block of accumulators in each thread's registers.

    for each tile along k:
        registers <- the next tiles of A and B            (global memory, in flight during the products)
        for k in the tile: sums[m, n] += A[k, m] * B[k, n]   (rows of both from shared memory, as vectors)
        the other half of shared memory <- registers; barrier

Both tiles are stored by k, so that a thread reads its rows and columns as vectors, whatever the layout in global
memory. Elements are converted to the accumulator type before that, and those beyond the edges are zero.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import vector
from xdsl.dialects.builtin import VectorType
from xdsl.ir import Attribute, SSAValue

from ....dialects.gpu.nvgpu import bytes_of
from ....dialects.gpu.plans import RegisterTile
from ...loop_nests.kernel_builder import Index
from ..threads.launch import Launch
from .block import UNROLL_WHOLLY, ProductBlock, SharedArena, Strip, SumWriter
from .epilogue import FusedProduct
from .form import is_fused
from .loader import broadcast, extract, tile_shapes, zero

VECTOR_BYTES = 16


def vector_of(element: Attribute) -> int:
    """Neighbouring accumulators whose factors a thread reads as one vector."""
    return min(max(1, VECTOR_BYTES // bytes_of(element)), 4)


class RegisterKernel:
    """The kernel of one launch."""

    def __init__(self, launch: Launch, fused: FusedProduct, tiling: RegisterTile, scratch: SSAValue | None):
        self.launch = launch
        self.builder = launch.builder
        self.product = fused.product
        self.tiling = tiling
        self.threads = tiling.block
        element = self.product.total
        self.width = vector_of(element)
        """The number of neighbouring rows, and of columns, per thread."""
        self.block = ProductBlock(launch, fused, tiling)
        self.shapes = tile_shapes(self.product, tiling)
        self.columns = tiling.n // tiling.share_n
        """The number of threads along a row."""
        sizes = [2 * shape.size * bytes_of(element) for shape in self.shapes]
        sizes = [-(-size // VECTOR_BYTES) * VECTOR_BYTES for size in sizes]
        self.pad = VECTOR_BYTES // bytes_of(element)
        chunk = tiling.m // (tiling.share_m // self.width)
        self.strips = [Strip(first, 1, chunk, 0) for first in range(0, tiling.m, chunk)]
        writing = SumWriter.bytes_for(tiling, self.pad, chunk, element)
        arena = SharedArena(self.builder, max(sum(sizes), writing))
        self.tiles = tuple(
            arena.view(offset, (2, shape.rows, shape.pitch), element)
            for offset, shape in zip((0, sizes[0]), self.shapes, strict=True)
        )
        self.writer = SumWriter(self.block, arena, self.pad, scratch)
        self.loaders = self.block.loaders(self.shapes)

    def emit(self) -> None:
        """Emit the whole function; `block.finish` comes next."""
        builder, block = self.builder, self.block
        loaders = self.loaders
        rounds = block.rounds
        for loader, tile in zip(loaders, self.tiles, strict=True):
            loader.put(loader.fetch(block.start_of(0)), tile, 0)
        builder.barrier()
        sums = self._zeros()
        if rounds == 1:
            sums = self._products(0, sums)
        else:
            with builder.loop(0, rounds, carry=sums) as (round_, sums):
                half = round_ % 2
                # After the last tile, the last tile is loaded again: no branch, and no access out of bounds.
                following = builder.min(round_ + 1, rounds - 1)
                start = block.start_of(following)
                fetched = [loader.fetch(start) for loader in loaders]
                products = self._products(half, sums)
                for loader, tile, values in zip(loaders, self.tiles, fetched, strict=True):
                    loader.put(values, tile, 1 - half)
                builder.barrier()
                builder.yield_(*products)
        for number, buffer in self.writer.strips(self.strips):
            self._put(number, buffer, sums)

    # Accumulators: by row of the thread, and by vector of columns.

    @property
    def vectors(self) -> int:
        """The number of vectors of columns."""
        return self.tiling.share_n // self.width

    def _zeros(self) -> list[SSAValue]:
        nothing = broadcast(self.builder, zero(self.builder, self.product.total), self.width)
        return [nothing] * (self.tiling.share_m * self.vectors)

    def _row(self) -> Index:
        """The first row of the thread in a chunk; likewise for the column."""
        return self.builder.thread_id() // self.columns * self.width

    def _column(self) -> Index:
        return self.builder.thread_id() % self.columns * self.width

    def _products(self, half: Index, sums: list[SSAValue]) -> list[SSAValue]:
        """Accumulate the products of one tile."""
        builder, tiling = self.builder, self.tiling
        row, column = self._row(), self._column()
        with builder.loop(0, tiling.k, carry=sums, attributes=UNROLL_WHOLLY) as (k, sums):
            rows = self._load(self.tiles[0], half, k, row, tiling.m, tiling.share_m)
            columns = self._load(self.tiles[1], half, k, column, tiling.n, tiling.share_n)
            found: list[SSAValue] = []
            for number in range(tiling.share_m):
                scalar = rows[number // self.width]
                if self.width > 1:
                    scalar = extract(builder, scalar, number % self.width)
                factor = broadcast(builder, scalar, self.width)
                for place, other in enumerate(columns):
                    found.append(self._add_product(factor, other, sums[number * self.vectors + place]))
            builder.yield_(*found)
        return sums

    def _load(self, tile: SSAValue, half: Index, k: Index, first: Index, size: int, mine: int) -> list[SSAValue]:
        """A thread's vectors of row k of a tile, one per chunk."""
        builder, chunks = self.builder, mine // self.width
        found: list[SSAValue] = []
        for chunk in range(chunks):
            at = [half, k, first + chunk * (size // chunks)]
            if self.width == 1:
                found.append(builder.load(tile, at))
                continue
            operands = [tile, *(builder.index(index).value for index in at)]
            type_ = VectorType(self.product.total, (self.width,))
            found.append(builder.insert(vector.LoadOp.create(operands=operands, result_types=[type_])).result)
        return found

    def _add_product(self, lhs: SSAValue, rhs: SSAValue, total: SSAValue) -> SSAValue:
        builder, product = self.builder, self.product
        if is_fused(product) and self.width > 1:
            return builder.insert(vector.FMAOp.create(operands=[lhs, rhs, total], result_types=[total.type])).res
        multiply, add = product.multiply, product.add
        value = type(multiply).create(operands=[lhs, rhs], result_types=[total.type], properties=multiply.properties)
        value = builder.insert(value).results[0]
        made = type(add).create(operands=[total, value], result_types=[total.type], properties=add.properties)
        return builder.insert(made).results[0]

    def _put(self, strip: int, buffer: SSAValue, sums: Sequence[SSAValue]) -> None:
        """Store the thread's rows of one chunk."""
        builder, tiling = self.builder, self.tiling
        row, column = self._row(), self._column()
        for number in range(self.width):
            for place in range(self.vectors):
                value = sums[(strip * self.width + number) * self.vectors + place]
                at = [row + number, column + place * (tiling.n // self.vectors)]
                if self.width == 1:
                    builder.store(value, buffer, at)
                else:
                    operands = [value, buffer, *(builder.index(index).value for index in at)]
                    builder.insert(vector.StoreOp.create(operands=operands))


def register_kernel(launch: Launch, fused: FusedProduct, tiling: RegisterTile, scratch: SSAValue | None) -> None:
    """Emit and finish a launch."""
    kernel = RegisterKernel(launch, fused, tiling, scratch)
    kernel.emit()
    kernel.block.finish()

"""
Contractions on tensor cores: tiles of A and B in shared memory, and 16 x 8 accumulators per warp-wide multiplication.

    start copying the first tiles                                    (cp.async: no registers, no waiting)
    for each tile along k:
        start copying the tile `stages - 1` ahead
        for 32 bytes along k: next fragments <- ldmatrix; sums += mma.sync
        before the last of these: wait for the next tile; barrier

Tiles have the same layout in shared memory as their factors in global memory, so that copies move 16 bytes; ldmatrix
transposes the fragments if the multiplication needs the other order. Rows are padded by 16 bytes, so that the 8 rows of
16 bytes that ldmatrix reads at once are in different banks. If copies cannot be asynchronous (older chips, unaligned
rows), tiles go through registers, and the next tile is read during the products of the current one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import vector
from xdsl.dialects.arith import ExtFOp, ExtSIOp
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    i8,
    i32,
)
from xdsl.ir import Attribute, Operation, SSAValue

from ....dialects.gpu.nvgpu import DeviceAsyncCreateGroupOp, DeviceAsyncWaitOp, bytes_of
from ....dialects.gpu.plans import TensorTile
from ...device.gpu import GpuChip
from ...loop_nests.kernel_builder import Index
from ..threads.launch import Launch
from .block import ProductBlock, SharedArena, Strip, SumWriter
from .epilogue import FusedProduct
from .form import Product
from .fragments import COLUMNS, ROWS, Fragments
from .loader import extract, tile_shapes

LEAST_CLAMPED = 16
"""
The number of tiles along k from which the copies of a round are unconditional: after the last tile, the last tile is
copied again and never read. The products of a round are then straight-line code, interleaved with the copies.
"""

SHARED_PAD = 8
"""Elements after each row of accumulators in shared memory, so that 8 rows of fragments are in different banks."""


def takes_tensor_cores(product: Product, chip: GpuChip) -> bool:
    """
    Whether the chip can multiply these elements as the program requires: f16 and bf16 accumulated in f32, i8 in i32,
    and f32 as f32, or as tf32 if the program allows it.
    """
    lhs, rhs = product.factors()
    conversions = (lhs.conversions, rhs.conversions)
    return lhs.element == rhs.element and multiplies(lhs.element, conversions, product.total, chip, product.tf32)


def multiplies(
    element: Attribute,
    conversions: tuple[tuple[Operation, ...], tuple[Operation, ...]],
    total: Attribute,
    chip: GpuChip,
    tf32: bool = False,
) -> bool:
    """Whether the chip has products of two factors of a type, each converted, that are added up in type `total`."""
    if isinstance(element, Float32Type):
        plain = not any(conversions) and isinstance(total, Float32Type)
        return plain and (chip.matrix_depth(element) > 0 or (tf32 and chip.has_bf16_tensor_cores))
    widened = ExtSIOp if element == i8 else ExtFOp
    if any(len(each) != 1 or not isinstance(each[0], widened) for each in conversions):
        return False
    if element == i8:
        return total == i32 and (chip.has_deep_tensor_cores or chip.matrix_depth(i8) > 0)
    if not isinstance(total, Float32Type):
        return False
    if chip.matrix_depth(element) > 0:
        return True
    if isinstance(element, Float16Type):
        return chip.has_tensor_cores
    return isinstance(element, BFloat16Type) and chip.has_bf16_tensor_cores


@dataclass(frozen=True)
class WarpPlace:
    """The position of a thread in its block."""

    row: Index
    """The warp's row in the block."""
    column: Index
    lane: Index


class TensorKernel:
    """The kernel of one launch."""

    def __init__(self, launch: Launch, fused: FusedProduct, tiling: TensorTile, scratch: SSAValue | None):
        self.launch = launch
        self.builder = launch.builder
        self.product = fused.product
        self.tiling = tiling
        self.chip = launch.mapper.chip
        self.threads = tiling.block
        self.block = ProductBlock(launch, fused, tiling)
        self.element = self.product.factors()[0].element
        self.shapes = tile_shapes(self.product, tiling)
        self.place = self._place()
        self.parts = Fragments(self.builder, self.chip, self.element, self.place.lane)
        self.half = self.parts.half
        self.loaders = self.block.loaders(self.shapes, converted=False)
        self.stages, self.copies = tiling.stages, tiling.copies
        sizes = [shape.size * bytes_of(self.element) for shape in self.shapes]
        sizes = [self.stages * size for size in sizes]
        self.strips = self._strips(sum(sizes))
        writing = SumWriter.bytes_for(tiling, SHARED_PAD, self.strips[0].rows, self.product.total)
        arena = SharedArena(self.builder, max(sum(sizes), writing))
        self.tiles = tuple(
            arena.view(offset, (self.stages, shape.rows, shape.pitch), self.element)
            for offset, shape in zip((0, sizes[0]), self.shapes, strict=True)
        )
        self.writer = SumWriter(self.block, arena, SHARED_PAD, scratch)

    @property
    def warp_columns(self) -> int:
        return self.tiling.n // self.tiling.share_n

    def _place(self) -> WarpPlace:
        builder = self.builder
        warp = builder.thread_id() // self.chip.warp
        return WarpPlace(
            warp // self.warp_columns,
            warp % self.warp_columns,
            builder.thread_id() % self.chip.warp,
        )

    def _strips(self, room: int) -> list[Strip]:
        """The tile's rows in as few strips as fit into the factors' shared memory; each has rows of every warp."""
        tiling = self.tiling
        groups, count = tiling.m // tiling.share_m, 1
        while count < tiling.share_m // ROWS:
            rows = groups * tiling.share_m // count
            if SumWriter.bytes_for(tiling, SHARED_PAD, rows, self.product.total) <= room:
                break
            count *= 2
        run = tiling.share_m // count
        return [Strip(number * run, groups, run, tiling.share_m) for number in range(count)]

    # The loop over tiles.

    def emit(self) -> None:
        """Emit the whole function; `block.finish` comes next."""
        sums = self._zeros()
        sums = self._by_copies(sums) if self.copies else self._by_registers(sums)
        for number, buffer in self.writer.strips(self.strips):
            self._put(number, buffer, sums)

    def _begin(self, round_: Index, stage: Index) -> None:
        start = self.block.start_of(round_)
        for loader, tile in zip(self.loaders, self.tiles, strict=True):
            loader.copy(start, tile, stage)

    def _by_copies(self, sums: list[SSAValue]) -> list[SSAValue]:
        builder, rounds, ahead = self.builder, self.block.rounds, self.stages - 1
        tokens: list[SSAValue] = []
        for round_ in range(ahead):
            if round_ < rounds:
                self._begin(round_, round_)
            tokens.append(self._group())
        self._wait(tokens[-1], ahead - 1)
        first, *_, last = steps = range(0, self.tiling.k, 2 * self.half)
        count = len(sums)
        with builder.loop(0, rounds, carry=[*sums, *self._fragments(0, 0)]) as (round_, carried):
            sums, fragments = carried[:count], carried[count:]
            stage = round_ % self.stages
            for depth in steps:
                following = self._fragments(stage, depth + steps.step) if depth != last else []
                if depth == first:
                    tokens.append(self._begin_ahead(round_, ahead))
                if depth == last:
                    self._wait(tokens[-1], ahead - 1)
                    following = self._fragments(builder.min(round_ + 1, rounds - 1) % self.stages, 0)
                sums, fragments = self._multiply_all(fragments, sums), following
            builder.yield_(*sums, *fragments)
        if rounds >= LEAST_CLAMPED:
            self._wait(self._group(), 0)
        return carried[:count]

    def _begin_ahead(self, round_: Index, ahead: int) -> SSAValue:
        """Start copying the tile that is `ahead` tiles later; returns the token of the copies."""
        builder, rounds = self.builder, self.block.rounds
        later = round_ + ahead
        stage = later % self.stages
        if rounds >= LEAST_CLAMPED:
            self._begin(builder.min(later, rounds - 1), stage)
        elif rounds > ahead:
            with builder.when_below(later, rounds):
                self._begin(later, stage)
        return self._group()

    def _group(self) -> SSAValue:
        """The token of the copies that were started since the last group."""
        return self.builder.insert(DeviceAsyncCreateGroupOp()).asyncToken

    def _wait(self, token: SSAValue, pending: int) -> None:
        """Make all threads wait for each other's copies, except for the `pending` groups after a token's group."""
        self.builder.insert(DeviceAsyncWaitOp(token, pending))
        self.builder.barrier()

    def _by_registers(self, sums: list[SSAValue]) -> list[SSAValue]:
        builder, rounds = self.builder, self.block.rounds
        for loader, tile in zip(self.loaders, self.tiles, strict=True):
            loader.put(loader.fetch(self.block.start_of(0)), tile, 0)
        builder.barrier()
        if rounds == 1:
            return self._products(0, sums)
        with builder.loop(0, rounds, carry=sums) as (round_, sums):
            half = round_ % 2
            # After the last tile, the last tile is loaded again: no branch, and no access out of bounds.
            start = self.block.start_of(builder.min(round_ + 1, rounds - 1))
            fetched = [loader.fetch(start) for loader in self.loaders]
            products = self._products(half, sums)
            for loader, tile, values in zip(self.loaders, self.tiles, fetched, strict=True):
                loader.put(values, tile, 1 - half)
            builder.barrier()
            builder.yield_(*products)
        return sums

    # Products of one tile. Accumulators are ordered by 16 rows, then by 8 columns.

    @property
    def columns(self) -> int:
        """The number of multiplications along a warp's row."""
        return self.tiling.share_n // COLUMNS

    def _zeros(self) -> list[SSAValue]:
        return [self.parts.zeros(self.product.total)] * (self.tiling.share_m // ROWS * self.columns)

    def _products(self, stage: Index, sums: list[SSAValue]) -> list[SSAValue]:
        """Accumulate the products of one tile."""
        for depth in range(0, self.tiling.k, 2 * self.half):
            sums = self._multiply_all(self._fragments(stage, depth), sums)
        return sums

    def _fragments(self, stage: Index, depth: int) -> list[SSAValue]:
        """The operands of one multiplication per accumulator: the fragments of A, then those of B."""
        rows = [self._rows(stage, first, depth) for first in range(0, self.tiling.share_m, ROWS)]
        return rows + [
            part for first in range(0, self.tiling.share_n, 2 * COLUMNS) for part in self._columns(stage, first, depth)
        ]

    def _multiply_all(self, fragments: Sequence[SSAValue], sums: Sequence[SSAValue]) -> list[SSAValue]:
        rows = self.tiling.share_m // ROWS
        return [
            self._multiply(row, column, sums[i * self.columns + j])
            for i, row in enumerate(fragments[:rows])
            for j, column in enumerate(fragments[rows:])
        ]

    def _rows(self, stage: Index, first: int, depth: int) -> SSAValue:
        m = self.place.row * self.tiling.share_m + first
        return self.parts.rows(self.tiles[0], self.shapes[0].by_depth, stage, m, depth)

    def _columns(self, stage: Index, first: int, depth: int) -> list[SSAValue]:
        n = self.place.column * self.tiling.share_n + first
        return self.parts.columns(self.tiles[1], self.shapes[1].by_depth, stage, n, depth)

    def _multiply(self, row: SSAValue, column: SSAValue, total: SSAValue) -> SSAValue:
        return self.parts.multiply(row, column, total)

    # Writing.

    def _put(self, strip: int, buffer: SSAValue, sums: Sequence[SSAValue]) -> None:
        """Store the fragments of a strip's rows: two neighbouring accumulators from each of two rows."""
        builder, tiling, place = self.builder, self.tiling, self.place
        run = self.strips[strip].run
        row = place.row * run + place.lane // 4
        column = place.column * tiling.share_n + place.lane % 4 * 2
        for i in range(run // ROWS):
            for j in range(self.columns):
                fragment = sums[(strip * (run // ROWS) + i) * self.columns + j]
                for half in range(2):
                    at = [row + (ROWS * i + 8 * half), column + COLUMNS * j]
                    operands = [extract(builder, fragment, half), buffer, *(builder.index(index).value for index in at)]
                    builder.insert(vector.StoreOp.create(operands=operands))


def tensor_kernel(launch: Launch, fused: FusedProduct, tiling: TensorTile, scratch: SSAValue | None) -> None:
    """Emit and finish a launch."""
    kernel = TensorKernel(launch, fused, tiling, scratch)
    kernel.emit()
    kernel.block.finish()

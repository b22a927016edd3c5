"""
Streamed rows in plain arithmetic: 16 neighbouring threads share a few rows.

Each has every 16th element of a tile of scores in registers. The rows that a mixture contracts go through shared
memory, because each of the 16 threads needs all of their elements for its columns of the result.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import vector
from xdsl.dialects.builtin import VectorType
from xdsl.ir import Attribute, Operation, SSAValue

from ....dialects.gpu.plans import StreamedRows
from ....dialects.gpu.product_plans import ROW_LANES
from ....dialects.support.buffers import memref_type
from ...loop_nests.kernel_builder import Index
from ...loop_nests.loop_builder import buffer_of
from ..contraction.block import SharedArena
from ..contraction.loader import extract, zero
from ..threads.builder import GpuBuilder
from .engine import Engine, Tile, padded
from .form import Mixture, RowProduct

TOGETHER = 4
"""Neighbouring elements that a thread reads from shared memory at once."""

PAD = 4
"""Elements after each row in shared memory, so that neighbouring rows begin in different banks."""


class RegisterEngine(Engine):
    """Products of any type of up to 4 bytes, summed in f32."""

    lanes = ROW_LANES

    def __init__(self, builder: GpuBuilder, plan: StreamedRows, arena: SharedArena, parts_at: int):
        """`parts_at`: the place in the arena of the rows that are contracted."""
        super().__init__(builder, plan)
        self.arena = arena
        self.parts_at = parts_at
        self.rows = plan.m * ROW_LANES // plan.threads
        self.each = plan.n // ROW_LANES
        self.lane = builder.thread_id() % ROW_LANES
        self.first = builder.thread_id() // ROW_LANES * self.rows

    def row(self, number: int) -> Index:
        return self.first + number

    def column(self, number: Index) -> Index:
        return number * ROW_LANES + self.lane

    def slot(self, row: int, number: Index) -> tuple[Index, Index]:
        return row, number

    def part_slot(self, row: int, number: Index) -> tuple[Index, Index]:
        return self.row(row), self.column(number)

    def scores_buffer(self, element: Attribute) -> SSAValue:
        return self.builder.alloca(memref_type((self.rows, self.each), element))

    @staticmethod
    def parts_bytes(plan: StreamedRows) -> int:
        """Bytes of a tile of rows that are contracted, in f32."""
        return 4 * plan.m * (plan.n + PAD)

    def parts_buffer(self, mixture: Mixture, number: int) -> SSAValue:
        at = self.parts_at + number * self.parts_bytes(self.plan)
        return self.arena.view(at, (self.plan.m, self.plan.n + PAD), mixture.product.total)

    def scores(self, product: RowProduct, rows: Tile, factor: Tile, into: SSAValue) -> None:
        builder = self.builder
        sums = [zero(builder, product.total)] * (self.rows * self.each)
        with builder.loop(0, padded(product.fixed), step=TOGETHER, carry=sums) as (k, sums):
            own = [self._read(rows, self.row(i), k, TOGETHER) for i in range(self.rows)]
            others = [self._read(factor, self.column(c), k, TOGETHER) for c in range(self.each)]
            found = list(sums)
            for step in range(TOGETHER):
                for i, mine in enumerate(own):
                    for c, theirs in enumerate(others):
                        place = i * self.each + c
                        found[place] = self._plus(product, found[place], mine[step], theirs[step])
            builder.yield_(*found)
        for place, total in enumerate(sums):
            builder.store(total, into, self.slot(place // self.each, place % self.each))

    def _read(self, tile: Tile, row: Index, column: Index, width: int) -> list[SSAValue]:
        return self._elements(tile.buffer, [tile.stage, row, column], width)

    def _elements(self, buffer: SSAValue, at: Sequence[Index], width: int) -> list[SSAValue]:
        """Neighbouring elements in shared memory, read at once."""
        builder = self.builder
        if width == 1:
            return [builder.load(buffer, at)]
        element = buffer_of(buffer).element_type
        indices = [builder.index(index).value for index in at]
        value = builder.insert(vector.LoadOp(buffer, indices, VectorType(element, (width,)))).result
        return [extract(builder, value, lane) for lane in range(width)]

    def _plus(self, product: RowProduct, total: SSAValue, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        return self._apply(product.add, total, self._apply(product.multiply, lhs, rhs))

    def _apply(self, op: Operation, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        made = type(op).create(operands=[lhs, rhs], result_types=[lhs.type], properties=op.properties)
        return self.builder.insert(made).results[0]

    # Mixtures: the thread's sums by row, then by column.

    def _columns(self, mixture: Mixture) -> tuple[int, int]:
        """Vectors of columns of a thread, and the columns of one."""
        columns = padded(mixture.columns) // ROW_LANES
        width = next(width for width in (TOGETHER, 2, 1) if columns % width == 0)
        return columns // width, width

    def _column_of(self, number: int, width: int) -> Index:
        return self.lane * width + number * ROW_LANES * width

    def zeros(self, mixture: Mixture) -> list[SSAValue]:
        count, width = self._columns(mixture)
        return [zero(self.builder, mixture.product.total)] * (self.rows * count * width)

    def mixed(self, mixture: Mixture, parts: SSAValue, factor: Tile, sums: list[SSAValue]) -> list[SSAValue]:
        builder, (count, width) = self.builder, self._columns(mixture)
        builder.barrier()
        with builder.loop(0, self.plan.n, step=TOGETHER, carry=sums) as (k, sums):
            own = [self._elements(parts, [self.row(i), k], TOGETHER) for i in range(self.rows)]
            found = list(sums)
            for step in range(TOGETHER):
                others = [
                    value
                    for number in range(count)
                    for value in self._read(factor, k + step, self._column_of(number, width), width)
                ]
                for i, mine in enumerate(own):
                    for c, theirs in enumerate(others):
                        place = i * len(others) + c
                        found[place] = self._plus(mixture.product, found[place], mine[step], theirs)
            builder.yield_(*found)
        return sums

    def put(self, mixture: Mixture, sums: Sequence[SSAValue], buffer: SSAValue) -> None:
        count, width = self._columns(mixture)
        for place, total in enumerate(sums):
            row, column = divmod(place, count * width)
            number, lane = divmod(column, width)
            self.builder.store(total, buffer, [self.row(row), self._column_of(number, width) + lane])

"""
Streamed rows on NVIDIA's tensor cores: a warp has 16 rows, whose scores stay in its registers.

The accumulators of two neighbouring multiplications, 16 rows by 16 elements, are distributed over the lanes as a factor
of the next multiplication is: rows that the chain computes from scores are multiplied without leaving their thread.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import vector
from xdsl.dialects.builtin import VectorType
from xdsl.ir import Attribute, SSAValue

from ....dialects.gpu.plans import StreamedRows
from ....dialects.support.buffers import memref_type
from ...device.gpu import GpuChip
from ...loop_nests.kernel_builder import Index
from ..contraction.block import UNROLL_WHOLLY
from ..contraction.fragments import COLUMNS, ROWS, Fragments
from ..contraction.loader import extract
from ..threads.builder import GpuBuilder
from .engine import Engine, Tile, padded
from .form import Mixture, RowProduct

DEPTH = 16
"""Elements of 2 bytes that one multiplication contracts."""


class TensorEngine(Engine):
    """Products of f16 or bf16."""

    rows = 2
    lanes = 4

    def __init__(self, builder: GpuBuilder, plan: StreamedRows, chip: GpuChip):
        super().__init__(builder, plan)
        self.chip = chip
        self.each = plan.n // self.lanes
        self.lane = builder.thread_id() % chip.warp
        self.first = builder.thread_id() // chip.warp * ROWS

    def row(self, number: int) -> Index:
        return self.first + self.lane // self.lanes + number * (ROWS // 2)

    def column(self, number: Index) -> Index:
        return number // 2 * COLUMNS + self.lane % self.lanes * 2 + number % 2

    def slot(self, row: int, number: Index) -> tuple[Index, Index]:
        return number // 2 * 2 + row, number % 2

    def part_slot(self, row: int, number: Index) -> tuple[Index, Index]:
        return self.slot(row, number)

    def scores_buffer(self, element: Attribute) -> SSAValue:
        return self.builder.alloca(memref_type((self.plan.n // COLUMNS * 2, 2), element))

    def parts_buffer(self, mixture: Mixture, number: int) -> SSAValue:
        return self.scores_buffer(mixture.product.element)

    def _fragments(self, product: RowProduct) -> Fragments:
        return Fragments(self.builder, self.chip, product.element, self.lane)

    def scores(self, product: RowProduct, rows: Tile, factor: Tile, into: SSAValue) -> None:
        builder, parts = self.builder, self._fragments(product)
        zeros = [parts.zeros(product.total)] * (self.plan.n // COLUMNS)
        with builder.loop(0, padded(product.fixed), step=DEPTH, carry=zeros, attributes=UNROLL_WHOLLY) as (k, sums):
            own = parts.rows(rows.buffer, rows.shape.by_depth, rows.stage, self.first, k)
            columns = [
                part
                for column in range(0, self.plan.n, 2 * COLUMNS)
                for part in parts.columns(factor.buffer, not factor.shape.by_depth, factor.stage, column, k)
            ]
            builder.yield_(*(parts.multiply(own, part, total) for part, total in zip(columns, sums, strict=True)))
        for number, total in enumerate(sums):
            at = [builder.index(index).value for index in (2 * number, 0)]
            builder.insert(vector.StoreOp(total, into, at))

    def zeros(self, mixture: Mixture) -> list[SSAValue]:
        product = mixture.product
        return [self._fragments(product).zeros(product.total)] * (padded(mixture.columns) // COLUMNS)

    def mixed(self, mixture: Mixture, parts: SSAValue, factor: Tile, sums: list[SSAValue]) -> list[SSAValue]:
        builder, own = self.builder, self._fragments(mixture.product)
        type_ = VectorType(mixture.product.element, (4, 2))
        with builder.loop(0, self.plan.n, step=DEPTH, carry=sums, attributes=UNROLL_WHOLLY) as (k, sums):
            at = [builder.index(index).value for index in (k // 4, 0)]
            row = builder.insert(vector.LoadOp(parts, at, type_)).result
            columns = [
                part
                for column in range(0, padded(mixture.columns), 2 * COLUMNS)
                for part in own.columns(factor.buffer, factor.shape.by_depth, factor.stage, column, k)
            ]
            builder.yield_(*(own.multiply(row, part, total) for part, total in zip(columns, sums, strict=True)))
        return sums

    def put(self, mixture: Mixture, sums: Sequence[SSAValue], buffer: SSAValue) -> None:
        builder = self.builder
        for number, total in enumerate(sums):
            for half in range(2):
                at = [self.row(half), self.column(2 * number)]
                operands = [extract(builder, total, half), buffer, *(builder.index(index).value for index in at)]
                builder.insert(vector.StoreOp.create(operands=operands))

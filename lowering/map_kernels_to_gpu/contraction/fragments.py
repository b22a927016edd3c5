"""
Fragments of matrices on NVIDIA's tensor cores: their loads from tiles in shared memory, and their products.

A tile of A is stored by rows, `[m][k]`, or by depth, `[k][m]`; one of B as `[n][k]`, or by depth as `[k][n]`. ldmatrix
transposes where neighbouring elements of a row of the tile do not differ in k.
"""

from __future__ import annotations

from xdsl.dialects import vector
from xdsl.dialects.builtin import VectorType
from xdsl.ir import Attribute, SSAValue

from ....dialects.gpu.nvgpu import LdMatrixOp, MmaSyncOp, bytes_of
from ....dialects.support.buffers import i64_array
from ...device.gpu import GpuChip
from ...loop_nests.kernel_builder import Index
from ..threads.builder import GpuBuilder
from .loader import zero

ROWS, COLUMNS = 16, 8
"""The shape of one multiplication."""

HALF_BYTES = 16
"""Bytes of a row of A in half a multiplication: one row that ldmatrix reads."""


class Fragments:
    """The fragments of a lane of a warp, for factors of one type."""

    def __init__(self, builder: GpuBuilder, chip: GpuChip, element: Attribute, lane: Index):
        self.builder = builder
        self.chip = chip
        self.element = element
        self.lane = lane
        self.half = HALF_BYTES // bytes_of(element)
        """The number of columns of A in half a multiplication."""

    def zeros(self, total: Attribute) -> SSAValue:
        """The accumulators of one multiplication."""
        made = vector.BroadcastOp.create(operands=[zero(self.builder, total)], result_types=[VectorType(total, (2, 2))])
        return self.builder.insert(made).vector

    def rows(self, tile: SSAValue, by_depth: bool, stage: Index, m: Index, depth: Index) -> SSAValue:
        """A's fragment of 16 rows: the upper and lower 8 rows of the first half of the columns, then of the second."""
        lane = self.lane
        if by_depth:
            return self._load(tile, stage, lane // 16 * 8 + lane % 8 + depth, lane // 8 % 2 * 8 + m, True)
        return self._load(tile, stage, lane % 16 + m, lane // 16 * self.half + depth, False)

    def columns(self, tile: SSAValue, by_depth: bool, stage: Index, n: Index, depth: Index) -> list[SSAValue]:
        """B's fragments of two times 8 columns: for each, the first and the second half of the rows."""
        lane = self.lane
        if by_depth:
            both = self._load(tile, stage, lane % 16 + depth, lane // 16 * 8 + n, True)
        else:
            both = self._load(tile, stage, lane // 16 * 8 + lane % 8 + n, lane // 8 % 2 * self.half + depth, False)
        return [self.pick(both, (0, 1)), self.pick(both, (2, 3))]

    def _load(self, tile: SSAValue, stage: Index, row: Index, column: Index, transposes: bool) -> SSAValue:
        at = [self.builder.index(index).value for index in (stage, row, column)]
        return self.builder.insert(LdMatrixOp(tile, at, 4, transposes)).res

    def pick(self, fragment: SSAValue, rows: tuple[int, ...]) -> SSAValue:
        """Some rows of a fragment."""
        type_ = VectorType(self.element, (len(rows), 4 // bytes_of(self.element)))
        made = vector.ShuffleOp.create(
            operands=[fragment, fragment], result_types=[type_], properties={"mask": i64_array(rows)}
        )
        return self.builder.insert(made).result

    def multiply(self, row: SSAValue, column: SSAValue, total: SSAValue) -> SSAValue:
        """`total` plus the product of two fragments."""
        if self.chip.has_deep_tensor_cores:
            return self.builder.insert(MmaSyncOp(row, column, total, (ROWS, COLUMNS, 2 * self.half))).res
        for half in range(2):  # Older chips multiply a depth of 8 at a time.
            a, b = self.pick(row, (2 * half, 2 * half + 1)), self.pick(column, (half,))
            total = self.builder.insert(MmaSyncOp(a, b, total, (ROWS, COLUMNS, self.half))).res
        return total

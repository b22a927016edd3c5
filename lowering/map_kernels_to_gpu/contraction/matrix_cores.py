"""
Contractions on AMD's matrix cores: tiles of A and B in LDS, and 16 x 16 accumulators per multiplication of a wave.

The loop over tiles is that of tensor cores without asynchronous copies: tiles go through registers, and the next one is
read during the products of the current one. Lanes read their operands from LDS as `dialects/gpu/amdgpu.py` lays them
out: neighbouring elements along k, in one access where the tile's rows run along k.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import vector
from xdsl.dialects.builtin import VectorType
from xdsl.ir import SSAValue

from ....dialects.gpu.amdgpu import SIDE, MfmaOp, WmmaOp
from ....dialects.gpu.nvgpu import bytes_of
from ....dialects.gpu.plans import TensorTile
from ....dialects.support.buffers import i64_array
from ...loop_nests.kernel_builder import Index
from ..threads.launch import Launch
from .epilogue import FusedProduct
from .fragments import ROWS
from .loader import broadcast, extract, zero
from .tensor_cores import TensorKernel

_ACCESS_BYTES = 16
"""Bytes of the widest access to LDS."""

assert ROWS == SIDE, "both kinds of cores multiply 16 rows"


class MatrixKernel(TensorKernel):
    """The kernel of one launch."""

    def __init__(self, launch: Launch, fused: FusedProduct, tiling: TensorTile, scratch: SSAValue | None):
        element = fused.product.factors()[0].element
        self.depth = launch.mapper.chip.matrix_depth(element)
        self.wave = launch.mapper.chip.warp
        self.is_mfma = self.wave == MfmaOp.WAVE
        self.each = self.depth * SIDE // self.wave if self.is_mfma else self.depth
        """A lane's elements of A."""
        super().__init__(launch, fused, tiling, scratch)

    @property
    def columns(self) -> int:
        return self.tiling.share_n // SIDE

    def _zeros(self) -> list[SSAValue]:
        nothing = broadcast(self.builder, zero(self.builder, self.product.total), SIDE * SIDE // self.wave)
        return [nothing] * (self.tiling.share_m // SIDE * self.columns)

    def _products(self, stage: Index, sums: list[SSAValue]) -> list[SSAValue]:
        for depth in range(0, self.tiling.k, self.depth):
            sums = self._multiply_all(self._fragments(stage, depth), sums)
        return sums

    def _fragments(self, stage: Index, depth: int) -> list[SSAValue]:
        place, tiling = self.place, self.tiling
        shares = ((place.row, tiling.share_m), (place.column, tiling.share_n))
        return [
            self._factor(which, stage, position * share + first, depth)
            for which, (position, share) in enumerate(shares)
            for first in range(0, share, SIDE)
        ]

    def _factor(self, which: int, stage: Index, first: Index, depth: int) -> SSAValue:
        """A lane's elements of A's row, or B's column, with the lane's number among 16 from `first` on."""
        builder, lane = self.builder, self.place.lane
        line = first + lane % SIDE
        start = lane // SIDE * self.each + depth if self.is_mfma else builder.index(depth)
        tile = self.tiles[which]
        if self.shapes[which].by_depth:
            return self._joined([builder.load(tile, [stage, start + n, line]) for n in range(self.each)])
        width = min(self.each, _ACCESS_BYTES // bytes_of(self.element))
        if width == 1:
            return builder.load(tile, [stage, line, start])
        parts: list[SSAValue] = []
        for n in range(0, self.each, width):
            at = [builder.index(index).value for index in (stage, line, start + n)]
            loaded = vector.LoadOp.create(operands=[tile, *at], result_types=[VectorType(self.element, (width,))])
            parts.append(builder.insert(loaded).result)
        return parts[0] if len(parts) == 1 else self._concatenated(parts)

    def _joined(self, values: Sequence[SSAValue]) -> SSAValue:
        """A vector of scalars; the only one itself."""
        whole = broadcast(self.builder, values[0], len(values))
        for number, value in enumerate(values[1:], 1):
            whole = self.builder.insert(vector.InsertOp(value, whole, [number])).result
        return whole

    def _concatenated(self, parts: Sequence[SSAValue]) -> SSAValue:
        first, second = parts
        count = self.each
        made = vector.ShuffleOp.create(
            operands=[first, second],
            result_types=[VectorType(self.element, (count,))],
            properties={"mask": i64_array(tuple(range(count)))},
        )
        return self.builder.insert(made).result

    def _multiply(self, row: SSAValue, column: SSAValue, total: SSAValue) -> SSAValue:
        made = MfmaOp(row, column, total, self.depth) if self.is_mfma else WmmaOp(row, column, total)
        return self.builder.insert(made).destD

    def _put(self, strip: int, buffer: SSAValue, sums: Sequence[SSAValue]) -> None:
        """Store the accumulators of a strip's rows: one element of each of a lane's rows."""
        builder, tiling, place = self.builder, self.tiling, self.place
        run, count = self.strips[strip].run, SIDE * SIDE // self.wave
        column = place.column * tiling.share_n + place.lane % SIDE
        half = place.lane // SIDE
        for i in range(run // SIDE):
            for j in range(self.columns):
                fragment = sums[(strip * (run // SIDE) + i) * self.columns + j]
                for number in range(count):
                    inner = half * count + number if self.is_mfma else half + 2 * number
                    row = place.row * run + inner + SIDE * i
                    builder.store(extract(builder, fragment, number), buffer, [row, column + SIDE * j])


def matrix_kernel(launch: Launch, fused: FusedProduct, tiling: TensorTile, scratch: SSAValue | None) -> None:
    """Emit and finish a launch."""
    kernel = MatrixKernel(launch, fused, tiling, scratch)
    kernel.emit()
    kernel.block.finish()

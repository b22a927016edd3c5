"""
Sums of the columns of a matrix that is computed by tiles of rows, or row by row: each tile adds to partial sums of its
own, which are added in order at the end.

Tiles depend on the shape alone, and so do the bits of the sums.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from xdsl.ir import SSAValue

from ...dialects.support.buffers import memref_type
from ..loop_nests.combiners import Combiner, known_combiners
from ..loop_nests.kernel_builder import Index, IndexValue
from ..loop_nests.loop_builder import PARALLEL, LoopBuilder
from ..loop_nests.nest import Access, Nest
from .reduction import Inits, ReductionEmitter
from .reduction_plan import ReductionPlan


@dataclass
class TileSums:
    """The partial sums of tiles of rows, `[tiles, n]` for each output of a generic."""

    builder: LoopBuilder
    nest: Nest
    """Over the loops around the columns, of which the last is that over rows, and the columns."""
    combiners: list[Combiner]
    scratch: list[SSAValue]
    tiles: int

    @staticmethod
    def of(builder: LoopBuilder, nest: Nest, tiles: int) -> TileSums:
        """Partial sums of so many tiles of rows, in new buffers."""
        combiners = known_combiners(nest)
        assert combiners is not None, "only such sums are cut into tiles"
        scratch = [builder.alloc(memref_type((tiles * nest.sizes[-1],), each.type)) for each in combiners]
        return TileSums(builder, nest, combiners, scratch, tiles)

    def _emitter(self, nest: Nest, inits: Inits, roots: Mapping[SSAValue, SSAValue]) -> ReductionEmitter:
        rows, columns = len(nest.sizes) - 2, len(nest.sizes) - 1
        reduced = [rows] if rows >= nest.bound else []
        plan = ReductionPlan(nest, self.combiners, [columns], reduced, in_registers=False, work=0)
        return ReductionEmitter(self.builder, plan, inits, roots)

    def begin(self, tile: Index, columns: tuple[Index, Index]) -> None:
        """Let the partial sums of a tile begin with what leaves them as they are."""
        builder, width = self.builder, self.nest.sizes[-1]
        views = [builder.strided_view(buffer, tile * width, (width,), (1,)) for buffer in self.scratch]
        neutral = [combiner.neutral(builder) for combiner in self.combiners]
        with builder.loop(*columns, attributes=PARALLEL) as column:
            for value, view in zip(neutral, views, strict=True):
                builder.store(value, view, [column])

    def add(self, tile: Index, outer: Sequence[Index], rows: tuple[Index, Index], columns: tuple[Index, Index]) -> None:
        """Add rows and columns of the matrix at indices `outer` to the partial sums of their tile."""
        bounds = {self.nest.bound: rows, self.nest.bound + 1: columns}
        self._add(tile, outer, bounds, {})

    def add_row(self, tile: Index, at: Sequence[Index], roots: Mapping[SSAValue, SSAValue]) -> None:
        """Add the row at these indices; `roots`: the buffers that take the place of others."""
        self._add(tile, at, {}, roots)

    def _add(
        self,
        tile: Index,
        bound: Sequence[Index],
        bounds: dict[int, tuple[Index, Index]],
        roots: Mapping[SSAValue, SSAValue],
    ) -> None:
        location, self.builder.location = self.builder.location, self.nest.op.location
        width = self.nest.sizes[-1]
        at = ((tile.value, width),) if isinstance(tile, IndexValue) else ()
        begin = 0 if isinstance(tile, IndexValue) else tile * width
        strides = (*(0 for _ in self.nest.sizes[:-1]), 1)
        outputs = tuple(Access(buffer, begin, at, strides) for buffer in self.scratch)
        nest = replace(self.nest, outputs=outputs)
        emitter = self._emitter(nest, (None,) * len(outputs), roots)
        emitter.emit_part(nest, emitter.inits, bounds, bound)
        self.builder.location = location

    def finish(self, inits: Inits) -> None:
        """Combine the partial sums, in order, into the outputs of the nest, at the builder's insertion point."""
        self._emitter(self.nest, inits, {}).combine_rows(self.scratch, self.tiles)

"""The last step of a tile of rows, done for the row before the one that an earlier step computes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ...loop_nests.kernel_builder import Index, IndexValue
from ...loop_nests.loop_builder import LoopBuilder


class EmitPart(Protocol):
    def __call__(self, number: int, bound: Sequence[Index], inside: IndexValue, start: Index, end: Index) -> None:
        """Emit the elements [start, end) of step `number` for a row, which has the number `inside` in the tile."""
        ...


@dataclass(frozen=True)
class LastRow:
    """The last step over the row before, which is done while another step computes this one."""

    emit_part: EmitPart
    """Emits elements of one row."""
    step: int
    outer: Sequence[Index]
    first: Index
    """The first row of the tile, which none is before."""
    row: IndexValue

    def before_tile(self, builder: LoopBuilder, start: Index, end: Index) -> None:
        """Emit the elements [start, end) of the row before."""
        with builder.when(self.row.compare("ne", self.first)):
            row = builder.index(self.row - 1)
            self.emit_part(self.step, [*self.outer, row], builder.index(row - self.first), start, end)

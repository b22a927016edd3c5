"""
Asking for the next row of a row kernel while this one is computed.

The first loop over a row waits for memory: its elements come page by page, and processors do not foresee the next page.
The loops after it read caches. So the step with most arithmetic runs by tiles, and before each it asks for as much of
the next row, and of what later steps write of this one.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from ..loop_nests.cost import body_cost
from ..loop_nests.loop_builder import LINE, Index, LoopBuilder, buffer_of
from ..loop_nests.nest import Access, Nest
from .meanwhile import TILE, is_by_tiles

SHORTEST = 512
"""Elements of a row; of shorter ones, several are in a page."""

MOST_BYTES = 16 * 1024
"""Bytes of rows that are asked for: half of the first-level cache."""


@dataclass(frozen=True)
class NextRow:
    """The inputs of a row kernel that memory holds, to be asked for by one step."""

    step: int
    inputs: tuple[Access, ...]
    """By row and element."""
    outputs: tuple[Access, ...]
    """The outputs of steps after this one."""
    row: Index

    def before_tile(self, builder: LoopBuilder, start: Index, end: Index) -> None:
        """Ask for the part of the next row that the tile from `start` reads of this one, and as much of its outputs."""
        for access in self.inputs:
            self._ask_for(builder, access, 1, start, to_write=False)
        for access in self.outputs:
            self._ask_for(builder, access, 0, start, to_write=True)

    def _ask_for(self, builder: LoopBuilder, access: Access, later: int, start: Index, to_write: bool) -> None:
        size = math.prod(buffer_of(access.root).get_shape())
        elements = builder.strided_view(access.root, 0, (size,), (1,))
        first = (self.row + later) * access.strides[0] + start + access.offset
        for line in range(0, TILE, LINE // _width(access)):
            builder.prefetch(elements, [first + line], to_write)


def _width(access: Access) -> int:
    return int(buffer_of(access.root).element_type.compile_time_size)


def next_row(nests: Sequence[Nest], temporaries: Collection[SSAValue], row: Index) -> NextRow | None:
    """The elements to ask for, and the step that asks; None if rows are short or each step of one loop reduces."""
    steps = [k for k, nest in enumerate(nests) if len(nest.free) == 1 and nest.sizes[-1] >= SHORTEST]
    plain = [k for k in steps if is_by_tiles(nests[k])]
    inputs = {
        access.root: access
        for k in steps
        for access in nests[k].inputs
        if isinstance(access, Access) and _is_row_of_memory(access, temporaries)
    }
    longest = max((nests[k].sizes[-1] for k in steps), default=0)
    if not plain or not inputs or sum(longest * _width(access) for access in inputs.values()) > MOST_BYTES:
        return None
    asking = max(plain, key=lambda k: body_cost(nests[k]))
    outputs = {
        access.root: access
        for k in steps
        for access in nests[k].outputs
        if k > asking and _is_row_of_memory(access, temporaries)
    }
    return NextRow(asking, tuple(inputs.values()), tuple(outputs.values()), row)


def _is_row_of_memory(access: Access, temporaries: Collection[SSAValue]) -> bool:
    """Whether an access goes through a row of a buffer that is no temporary, element by element."""
    is_contiguous = access.strides[0] > 0 and access.strides[-1] == 1
    return is_contiguous and access.root not in temporaries and not access.dynamic

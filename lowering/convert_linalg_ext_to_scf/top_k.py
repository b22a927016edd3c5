"""
Loops of top_k: a selection from each row (selection.py).

A long row is divided into segments, each with candidates of its own; their first k elements go through another
selection.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, cast

from xdsl.dialects import func
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import SSAValue

from ...dialects.linalg_ext.sort import TopKOp
from ...dialects.linalg_ext.window import shape_of
from ..convert_contractions_to_vector.shared_function import call_known, call_or_emit
from ..loop_nests.cost import region_cost, task_count, task_size
from ..loop_nests.indices import chunk
from ..loop_nests.kernel_builder import Index
from ..loop_nests.loop_builder import LoopBuilder
from ..loop_nests.scalar_block import ScalarBlock
from .conversion import patterns
from .selection import (
    Candidates,
    Room,
    Selected,
    call_keep_first,
    call_sort,
    emit_bring_together,
    emit_select,
    emit_write,
    groups_of,
    room_of,
    sample_of,
)
from .sorting.ranks import lanes_of

SEGMENT = 128
"""A segment has at least this many times the room for candidates."""


@dataclass(frozen=True)
class _Rows:
    """One operation: rows of `length` elements, and the elements that are wanted of each."""

    op: TopKOp
    builder: LoopBuilder
    rows: int
    length: int
    count: int

    @property
    def kernel(self) -> func.FuncOp:
        return cast(func.FuncOp, self.op.parent_op())

    @property
    def elements(self) -> SSAValue:
        return self.builder.strided_view(self.op.inputs[0], 0, (self.rows * self.length,), (1,))

    @property
    def key_type(self) -> IntegerType:
        block = self.op.regions[0].block
        assert block.last_op is not None
        return cast(Any, block.last_op).operands[0].type

    @property
    def room(self) -> int:
        """The candidates for which there is room."""
        return max(room_of(self.count), groups_of(self.count))

    def candidates(self, tasks: int, room: int) -> Room:
        return Room.of(self.builder, self.key_type, tasks, room)

    def select(self, row: Index, bounds: tuple[Index, Index], mine: Candidates, length: int) -> None:
        """Select from a range of a row that has `length` elements, but for the last of several ranges."""
        sample, few = sample_of(self.count, length), length <= self.room
        keys = ScalarBlock.of(self.op.regions[0].block)
        facts = Selected(keys, lanes_of(self.builder, self.key_type), sample > 0 and not few, few)
        numbers = (sample, groups_of(self.count), self.count, self.room)
        arguments = (*mine.arguments, row * self.length, *bounds, *numbers, self.elements)
        call_or_emit(self.builder, self.kernel, "select", arguments, facts, emit_select, [keys])

    def select_again(self, given: Room, row: Index, segments: int, mine: Candidates) -> None:
        """Select from what was selected of the segments of a row."""
        arguments = (*mine.arguments, *given.at(row * segments).arguments, given.size, segments, self.count)
        facts = lanes_of(self.builder, self.key_type)
        call_known(self.builder, self.kernel, "together", arguments, facts, emit_bring_together)
        call_keep_first(self.builder, self.kernel, (mine, segments * self.count, self.count), facts)

    def write(self, row: Index, mine: Candidates, other: Candidates) -> None:
        """The values and positions of the first candidates, in order, are the row's results."""
        call_sort(self.builder, self.kernel, mine, other, self.count)
        results = (self.builder.strided_view(each, 0, (self.rows * self.count,), (1,)) for each in self.op.outputs)
        places = (mine.buffers[1], mine.at + 1)
        arguments = (self.elements, row * self.length, *places, *results, row * self.count, self.count)
        call_known(self.builder, self.kernel, "write", arguments, (), emit_write)


@patterns.on(TopKOp)
def _top_k(op: TopKOp, builder: LoopBuilder) -> None:
    """`linalg_ext.top_k` becomes a loop over rows, or over the segments of few long rows."""
    shape, count = shape_of(op.inputs[0]), shape_of(op.outputs[0])[-1]
    rows = _Rows(op, builder, math.prod(shape[:-1]), shape[-1], count)
    if rows.rows == 0 or count == 0:
        return
    work = rows.rows * rows.length * (1 + region_cost(op.regions[0].block) // 4)
    segments = task_count(work, work, rows.length // (SEGMENT * room_of(count)) or 1)
    if rows.rows < segments:
        _segments(rows, -(-segments // rows.rows))
        return
    tasks = task_count(work, work, rows.rows)
    size = task_size(rows.rows, tasks)
    tasks = -(-rows.rows // size)
    homes, aways = (rows.candidates(tasks, rows.room) for _ in range(2))
    with builder.parallel(tasks) as task, builder.loop(*chunk(builder, task, size, rows.rows)) as row:
        slot = builder.slot()
        rows.select(row, (0, rows.length), homes.at(slot), rows.length)
        rows.write(row, homes.at(slot), aways.at(slot))


def _segments(rows: _Rows, segments: int) -> None:
    """Select from each segment of each row, then from what was selected."""
    builder = rows.builder
    size = -(-rows.length // segments)
    segments = -(-rows.length // size)
    homes = rows.candidates(rows.rows * segments, rows.room)
    with builder.parallel(rows.rows * segments) as task:
        row, segment = task // segments, builder.index(task % segments)
        begin = builder.index(segment * size)
        end = builder.index(builder.min(builder.index(begin + size), rows.length))
        rows.select(row, (begin, end), homes.at(task), size)
    room = max(rows.room, segments * rows.count)
    final, other = (rows.candidates(rows.rows, room) for _ in range(2))
    with builder.parallel(rows.rows) as row:
        rows.select_again(homes, row, segments, final.at(row))
        rows.write(row, final.at(row), other.at(row))

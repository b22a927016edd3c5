"""
Loops of top_k: a selection from each row (selection.py).

A long row is divided into segments, each with candidates of its own; their first k elements go through another
selection.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.dialects import func
from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from ...dialects.linalg_ext.sort import TopKOp
from ...dialects.linalg_ext.window import shape_of
from ...dialects.support.buffers import memref_type
from ..convert_contractions_to_vector.shared_function import call_known, call_or_emit
from ..loop_nests.cost import region_cost, task_count, task_size
from ..loop_nests.indices import chunk
from ..loop_nests.kernel_builder import Index
from ..loop_nests.loop_builder import LoopBuilder
from ..loop_nests.scalar_block import ScalarBlock
from .conversion import patterns
from .selection import (
    Candidates,
    Selected,
    Selection,
    emit_select,
    emit_select_again,
    emit_write,
    groups_of,
    room_of,
    sample_of,
)

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

    def select(
        self, selection: Selection, row: Index, bounds: tuple[Index, Index], mine: Candidates, length: int
    ) -> None:
        """Select from a range of a row that has `length` elements, but for the last of several ranges."""
        sample = sample_of(self.count, length)
        keys = ScalarBlock.of(self.op.regions[0].block)
        facts = Selected(keys, selection.room, self.count, sample > 0, length <= selection.room)
        arguments = (*mine.buffers, mine.at, row * self.length, *bounds, sample, self.elements)
        call_or_emit(self.builder, self.kernel, "select", arguments, facts, emit_select, [keys])

    def select_again(
        self,
        selection: Selection,
        row: Index,
        given: Candidates,
        segments: int,
        line: Sequence[SSAValue],
        mine: Candidates,
    ) -> None:
        """Select from what was selected of the segments of a row; `line` has room for it, one row after the other."""
        number = segments * self.count
        facts = Selected(None, selection.room, self.count, False, number <= selection.room)
        arguments = (*mine.buffers, mine.at, *given.buffers, given.at, *line, row * number, number)
        call_known(self.builder, self.kernel, "select", arguments, facts, emit_select_again)

    def write(self, row: Index, mine: Candidates) -> None:
        """The values and positions of the first candidates are the row's results."""
        results = (self.builder.strided_view(each, 0, (self.rows * self.count,), (1,)) for each in self.op.outputs)
        arguments = (self.elements, row * self.length, mine.buffers[1], mine.at, *results, row * self.count, self.count)
        call_known(self.builder, self.kernel, "write", arguments, (), emit_write)


@patterns.on(TopKOp)
def _top_k(op: TopKOp, builder: LoopBuilder) -> None:
    """`linalg_ext.top_k` becomes a loop over rows, or over the segments of few long rows."""
    shape, count = shape_of(op.inputs[0]), shape_of(op.outputs[0])[-1]
    rows = _Rows(op, builder, math.prod(shape[:-1]), shape[-1], count)
    if rows.rows == 0 or count == 0:
        return
    block = op.regions[0].block
    assert block.last_op is not None
    least = room_of(count)
    selection = Selection(builder, count, max(least, groups_of(count)), cast(Any, block.last_op.operands[0].type))
    work = rows.rows * rows.length * (1 + region_cost(block) // 4)
    segments = task_count(work, work, rows.length // (SEGMENT * least) or 1)
    if rows.rows < segments:
        _segments(rows, selection, -(-segments // rows.rows))
        return
    tasks = task_count(work, work, rows.rows)
    size = task_size(rows.rows, tasks)
    tasks = -(-rows.rows // size)
    homes, aways = selection.candidates(tasks), selection.candidates(tasks)
    with builder.parallel(tasks) as task, builder.loop(*chunk(builder, task, size, rows.rows)) as row:
        slot = builder.slot()
        rows.select(selection, row, (0, rows.length), homes(slot), rows.length)
        selection.call_sort(rows.kernel, homes(slot), aways(slot))
        rows.write(row, homes(slot))


def _segments(rows: _Rows, selection: Selection, segments: int) -> None:
    """Select from each segment of each row, then from what was selected."""
    builder = rows.builder
    size = -(-rows.length // segments)
    segments = -(-rows.length // size)
    homes = selection.candidates(rows.rows * segments)
    with builder.parallel(rows.rows * segments) as task:
        row, segment = task // segments, builder.index(task % segments)
        begin = builder.index(segment * size)
        end = builder.index(builder.min(builder.index(begin + size), rows.length))
        rows.select(selection, row, (begin, end), homes(task), size)
    final, other = selection.candidates(rows.rows), selection.candidates(rows.rows)
    room = rows.rows * segments * rows.count
    line = [builder.alloc(memref_type((room,), type_)) for type_ in (selection.key_type, i32)]
    with builder.parallel(rows.rows) as row:
        rows.select_again(selection, row, homes(row * segments), segments, line, final(row))
        selection.call_sort(rows.kernel, final(row), other(row))
        rows.write(row, final(row))

"""
Loops of sort and sort_by_key: merge sort by a comparator, and the choice among the sorts by integer keys.

Those of single rows are in sorting/by_key.py and radix.py; keys in vectors are the subjects of vectors.py, for long
rows, and of lanes.py, for many rows.

A row is sorted as a unit; rows are spread over tasks. Each task has scratch rows, between which the passes move the
elements; the last pass writes the row itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from ...dialects.linalg_ext.sort import SortByKeyOp, SortOp
from ...dialects.linalg_ext.window import shape_of
from ...dialects.support.buffers import INDEX, memref_type, row_major
from ..loop_nests.cost import region_cost, task_count, task_size
from ..loop_nests.indices import chunk
from ..loop_nests.kernel_builder import Index, IndexValue
from ..loop_nests.loop_builder import LoopBuilder, buffer_of
from .conversion import patterns
from .sorting import vectors as sort_vectors
from .sorting.by_key import FoundRows, KeyRows, Sorter
from .sorting.lanes import MOST, MOST_OF_COLUMNS, LaneSort
from .sorting.radix import Line
from .sorting.radix_parts import sort_in_parts
from .sorting.vectors import KeySort

RUN = 8
"""Elements that are sorted by insertion before runs are merged."""

LEAST_COLUMNS = 4
"""Columns side by side from which they are sorted in lanes; the rest of a vector is for nothing."""

Precedes: TypeAlias = Callable[[Sequence[SSAValue], Sequence[SSAValue]], SSAValue]


@dataclass(frozen=True)
class Merging:
    """Merge sort of rows of equal length, by any comparator."""

    builder: LoopBuilder
    length: int
    precedes: Precedes

    @property
    def passes(self) -> int:
        return max(0, math.ceil(math.log2(self.length / RUN))) if self.length > RUN else 0

    def sort(self, home: Line, lines: Sequence[Line]) -> None:
        """`lines`: the line where the passes begin and those that they go through; the last is `home`."""
        self.sort_runs(home, lines[0])
        width = RUN
        for source, target in pairwise(lines):
            self.merge_runs(source, target, width)
            width *= 2

    def sort_runs(self, source: Line, target: Line) -> None:
        """Insertion-sort each run, from one line into another, or in place."""
        builder = self.builder
        with builder.loop(0, self.length, step=RUN) as begin:
            end = begin + RUN
            if self.length % RUN:
                end = builder.min(end, self.length)
            with builder.loop(begin, end) as index:
                self._insert(source, target, begin, index)

    def _insert(self, source: Line, target: Line, begin: IndexValue, index: IndexValue) -> None:
        builder = self.builder
        values = source.load(index)
        with builder.loop_while([index]) as state:
            place = builder.index(state[0])
            before = builder.index(place - 1).max(begin)
            builder.go_on_if((place > begin) & self.precedes(values, target.load(before)))
            place = builder.index(state[0])
            before = builder.index(place - 1)
            target.store(target.load(before), place)
            builder.yield_(before)
        target.store(values, builder.index(state[0]))

    def merge_runs(self, source: Line, target: Line, width: int) -> None:
        """Merge the runs of `width` in pairs; the last one may be shorter or unpaired."""
        builder = self.builder
        whole = self.length // (2 * width) * (2 * width)
        rest = self.length - whole
        if whole:
            with builder.loop(0, whole, step=2 * width) as begin:
                self._merge(source, target, (begin, begin + width, begin + 2 * width))
        if rest > width:
            self._merge(source, target, (whole, whole + width, self.length))
        elif rest:
            source.copy_to(target, whole, self.length)

    def _merge(self, source: Line, target: Line, bounds: tuple[Index, Index, Index]) -> None:
        """
        Merge [begin, middle) with [middle, end): every element is moved exactly once, whatever the comparator returns.
        """
        builder = self.builder
        begin, middle, end = bounds
        last_left, last_right = middle - 1, builder.index(end - 1)
        with builder.loop(begin, end, carry=[builder.index(begin), builder.index(middle)]) as (index, state):
            left, right = map(builder.index, state)
            some_left, some_right = left < middle, right < end
            first = source.load(builder.min(left, last_left))
            second = source.load(builder.min(right, last_right))
            passes = some_left & self.precedes(second, first)
            takes = some_right & ((left >= middle) | passes)
            target.store([takes.select(b, a).value for a, b in zip(first, second, strict=True)], index)
            step = builder.index(takes.cast(arith.ExtUIOp, i64).cast(arith.IndexCastOp, INDEX).value)
            right = builder.index(right + step)
            builder.yield_(builder.index(left + 1 - step), right)


@dataclass(frozen=True)
class _Rows:
    """The rows of one sort, and the buffers in which tasks sort them."""

    builder: LoopBuilder
    homes: Sequence[SSAValue]
    shape: tuple[int, int, int]
    """The sizes before the sorted dimension, its length, the sizes after it."""
    tasks: int

    def home(self, row: Index) -> Line:
        """The row of the outputs at this index."""
        inner = self.shape[2]
        outer, column = row // inner, row % inner
        return Line(self.builder, self.homes, lambda k: (outer, k, column))

    def scratch(self) -> Callable[[Index], Line]:
        """A scratch row per task."""
        buffers = [self.integers(self.shape[1], buffer_of(home).element_type) for home in self.homes]
        return lambda task: Line(self.builder, buffers, lambda k: (task, k))

    def integers(self, count: int, type_: Any) -> SSAValue:
        """A buffer of `count` elements per task."""
        return self.builder.alloc(memref_type((self.tasks, count), type_))


def _merge_sorter(op: SortOp, builder: LoopBuilder, rows: _Rows) -> Sorter:
    block = op.regions[0].block

    def precedes(first: Sequence[SSAValue], second: Sequence[SSAValue]) -> SSAValue:
        pairs = [value for pair in zip(first, second, strict=True) for value in pair]
        return builder.inline(block, pairs)[0]

    merging = Merging(builder, rows.shape[1], precedes)
    scratch = [rows.scratch() for _ in range(1 if rows.shape[2] == 1 else 2)]

    def row(task: Index, index: Index) -> None:
        home = rows.home(index)
        # Only the first and the last pass visit columns.
        turn = [line(task) for line in scratch] if len(scratch) == 2 else [scratch[0](task), home]
        lines = [turn[number % 2] for number in range(merging.passes)][::-1]
        merging.sort(home, [*lines, home])

    return row


@patterns.on(SortOp, SortByKeyOp)
def _sort(op: SortOp | SortByKeyOp, builder: LoopBuilder) -> None:
    """
    `linalg_ext.sort` becomes a merge sort of each row, `linalg_ext.sort_by_key` a rank sort of short rows and a radix
    sort of long ones, or a merge sort of keys in vectors where elements are found from keys; many rows are sorted at
    once, in the lanes of vectors. Tasks divide the rows, or few long rows; each has its own scratch.
    """
    shape = shape_of(op.outputs[0])
    dim: int = cast(Any, op.dimension).value.data
    flat = (math.prod(shape[:dim]), shape[dim], math.prod(shape[dim + 1 :]))
    count, length = flat[0] * flat[2], flat[1]
    if length <= 1 or count == 0:
        return
    cost = length.bit_length() * (region_cost(op.regions[0].block) + 4 * len(op.outputs))
    in_vectors = len(op.regions) == 2 and flat[2] == 1 and length >= sort_vectors.LEAST
    parts = KeySort.parts_of(length, count) if in_vectors else 1
    if parts > 1:
        long_rows = FoundRows.of(KeyRows(cast(SortByKeyOp, op), builder, flat, 1), parts)
        with builder.loop(0, count) as row:
            long_rows.long_row(row)
        return
    if isinstance(op, SortByKeyOp) and _sort_in_lanes(op, builder, flat, cost):
        return
    if isinstance(op, SortByKeyOp) and not in_vectors and sort_in_parts(KeyRows(op, builder, flat, count)):
        return
    tasks = task_count(count * length, count * length * cost, count)
    size = task_size(count, tasks)
    tasks = -(-count // size)
    if isinstance(op, SortOp):
        sorter = _merge_sorter(op, builder, _Rows(builder, _homes(op, builder, flat), flat, tasks))
    else:
        rows = KeyRows(op, builder, flat, tasks)
        sorter = FoundRows.of(rows, 1).row if in_vectors else rows.sorter()
    with builder.parallel(tasks) as task, builder.loop(*chunk(builder, task, size, count)) as row:
        sorter(builder.slot(), row)


def _homes(op: SortOp | SortByKeyOp, builder: LoopBuilder, shape: tuple[int, int, int]) -> list[SSAValue]:
    """The outputs with one dimension before and one after the sorted one."""
    return [builder.strided_view(value, 0, shape, row_major(shape)) for value in op.outputs]


def _sort_in_lanes(op: SortByKeyOp, builder: LoopBuilder, shape: tuple[int, int, int], cost: int) -> bool:
    """Sort many rows at once, if there are enough of them, and keys for which that is possible."""
    count, length = shape[0] * shape[2], shape[1]
    most = MOST if shape[2] == 1 else MOST_OF_COLUMNS
    type_ = LaneSort.type_of(op, length) if length <= most else None
    if type_ is None or count < LaneSort.lanes_of(builder, type_) or 1 < shape[2] < LEAST_COLUMNS:
        return False
    inverse, homes = len(op.regions) == 2, _homes(op, builder, shape)
    groups = LaneSort(op, builder, homes, shape, type_, None).groups
    tasks = task_count(count * length, count * length * cost, groups)
    size = task_size(groups, tasks)
    tasks = -(-groups // size)
    otherwise = KeyRows(op, builder, shape, tasks).sorter() if inverse else None
    sorter = LaneSort(op, builder, homes, shape, type_, otherwise).sorter(tasks)
    with builder.parallel(tasks) as task, builder.loop(*chunk(builder, task, size, groups)) as number:
        sorter(builder.slot(), number)
    return True

"""
Loops of sort and sort_by_key: merge sort by a comparator; radix sort by integer keys, rank sort for short rows.

The radix sort is in radix.py; keys in vectors are the subjects of sort_vectors.py, for long rows, and of sort_lanes.py,
for many rows.

A row is sorted as a unit; rows are spread over tasks. Each task has scratch rows, between which the passes move the
elements; the last pass writes the row itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias, cast

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import i32, i64
from xdsl.ir import SSAValue

from ...dialects.linalg_ext.sort import SortByKeyOp, SortOp
from ...dialects.linalg_ext.window import shape_of
from ...dialects.support.attributes import integer_attr
from ...dialects.support.buffers import INDEX, memref_type, row_major
from ...dialects.support.scalar import Scalar
from ..convert_contractions_to_vector.shared_function import SharedFunctions, call_known
from ..loop_nests.cost import region_cost, task_count, task_size
from ..loop_nests.indices import chunk
from ..loop_nests.kernel_builder import Index, IndexValue
from ..loop_nests.loop_builder import PARALLEL, LoopBuilder, buffer_of
from . import sort_vectors
from .conversion import patterns
from .radix import Line, Parts, Radix
from .sort_lanes import MOST, MOST_OF_COLUMNS, LaneSort
from .sort_vectors import KeySort

RUN = 8
"""Elements that are sorted by insertion before runs are merged."""

RADIX_LENGTH = 128
"""Rows with at least this many elements are radix sorted, shorter ones rank sorted."""

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
class Ranking:
    """Rank sort of short rows: vectorized comparisons of all pairs count the elements before each."""

    builder: LoopBuilder
    kernel: func.FuncOp
    length: int
    key: Callable[[Sequence[SSAValue]], SSAValue]

    def sort(self, home: Line, scratch: Line, keys: SSAValue, ranks: SSAValue, task: Index) -> None:
        """`keys`, `ranks`: (tasks, length) integers."""
        builder = self.builder
        with builder.loop(0, self.length, attributes=PARALLEL) as index:
            values = home.load(index)
            scratch.store(values, index)
            builder.store(self.key(values), keys, (task, index))
        at = builder.index(task) * self.length
        call_known(builder, self.kernel, "rank", (keys, ranks, at, self.length), (), emit_ranks)
        with builder.loop(0, self.length) as index:
            rank = builder.index(builder.to_index(builder.load(ranks, (task, index)), unsigned=True))
            # It is less in any case; so the bound is seen where the rank is used.
            home.store(scratch.load(index), builder.min(rank, self.length - 1))


def emit_ranks(builder: LoopBuilder, parameters: Sequence[SSAValue], facts: tuple[()]) -> None:
    """The rank of each key of a row of fewer than RADIX_LENGTH: the number of those before it."""
    keys, ranks = (
        builder.strided_view(buffer, builder.index(parameters[2]), (RADIX_LENGTH,), (1,)) for buffer in parameters[:2]
    )
    zero, length = builder.scalar(integer_attr(0, buffer_of(keys).element_type)), builder.index(parameters[3])
    with builder.loop(0, length) as index:
        own = builder.load(keys, [index])
        rank = _count(builder, keys, (0, index), "ule", own, zero)
        builder.store(_count(builder, keys, (index + 1, length), "ult", own, rank), ranks, [index])


def _count(
    builder: LoopBuilder, keys: SSAValue, places: tuple[Index, Index], predicate: str, own: SSAValue, start: SSAValue
) -> SSAValue:
    """`start` plus the number of keys of a range that compare so with `own`."""
    with builder.loop(*places, carry=[start]) as (other, total):
        before = builder.on(builder.load(keys, [other])).compare(predicate, own)
        # As wide as the keys, so that vectors of comparison results are added without conversion.
        number = before.cast(arith.ExtUIOp, own.type)
        builder.yield_(builder.on(total[0]) + number)
    return total[0]


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


Sorter: TypeAlias = Callable[[Index, Index], None]
"""Sorts a row; takes the place of scratch memory and the row's number."""


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


def _key_sorter(op: SortByKeyOp, builder: LoopBuilder, rows: _Rows) -> Sorter:
    block, length = op.regions[0].block, rows.shape[1]
    assert block.last_op is not None
    type_ = cast(Any, block.last_op.operands[0].type)

    def key(values: Sequence[SSAValue]) -> SSAValue:
        return builder.inline(block, values)[0]

    scratch = rows.scratch()
    # Ranks have the keys' type.
    if length < min(RADIX_LENGTH, 1 << type_.width.data):
        ranking = Ranking(builder, cast(func.FuncOp, op.parent_op()), length, key)
        keys, ranks = rows.integers(length, type_), rows.integers(length, type_)
        return lambda task, index: ranking.sort(rows.home(index), scratch(task), keys, ranks, task)
    radix = Radix(builder, length, key, type_.width.data)
    counts = rows.integers(radix.digits << radix.bits, i32)
    second = rows.scratch() if rows.shape[2] > 1 else None

    def row(task: Index, index: Index) -> None:
        home = rows.home(index)
        away, back = scratch(task), home if second is None else second(task)
        if second is not None:  # columns: copied into scratch and back
            home.copy_to(back, 0, length)
        lines = [(back, away)[number % 2] for number in range(radix.digits + 1)]
        radix.sort(lines, counts, task)
        if lines[-1] is not home:
            lines[-1].copy_to(home, 0, length)

    return row


def _sort_in_parts(
    op: SortByKeyOp, builder: LoopBuilder, homes: Sequence[SSAValue], shape: tuple[int, int, int]
) -> bool:
    """Sort few long rows by several tasks each."""
    count, length = shape[0] * shape[2], shape[1]
    parts, block = Parts.of(count, length), op.regions[0].block
    assert block.last_op is not None
    width = cast(Any, block.last_op.operands[0].type).width.data
    # Counts of longer digits, for each part, do not fit into the first-level cache: two tasks take as long as one.
    if parts.parts == 1 or width > 32:
        return False
    radix = Radix(builder, length, lambda values: builder.inline(block, values)[0], width)
    rows = _Rows(builder, homes, shape, count)
    away, second = rows.scratch(), rows.scratch() if shape[2] > 1 else rows.home

    def lines(row: Index) -> list[Line]:
        turn = second(row), away(row)
        return [turn[number % 2] for number in range(radix.digits + 1)]

    if shape[2] > 1:  # columns: copied into scratch and back
        with parts.tasks(builder) as (_, row, bounds):
            rows.home(row).copy_to(second(row), *bounds)
    radix.sort_in_parts(parts, lines, SharedFunctions(builder, cast(func.FuncOp, op.parent_op())))
    if shape[2] > 1 or radix.digits % 2:
        with parts.tasks(builder) as (_, row, bounds):
            lines(row)[-1].copy_to(rows.home(row), *bounds)
    return True


@dataclass(frozen=True)
class _KeyRows:
    """The rows of a sort whose elements are found again from their keys, but for rare ones: such rows are sorted by
    `otherwise`."""

    op: SortByKeyOp
    rows: _Rows
    sort: KeySort
    keys: SSAValue
    """The scratch memory of all tasks."""
    otherwise: Sorter

    def row(self, task: Index, index: Index) -> None:
        """Sort a row that is one part."""
        builder, at = self.rows.builder, self.sort.place_of(task)
        others = self._read(at, index, 0)
        with builder.when(others.compare("eq", 0)):
            self.sort.sort_part(self.keys, at, 0)
            self._write(at, index, 0)
        with builder.otherwise():
            self.otherwise(task, index)

    def long_row(self, index: Index) -> None:
        """Sort a row by tasks for its parts."""
        builder, parts = self.rows.builder, self.sort.parts
        at, found = self.sort.place_of(0), builder.alloc(memref_type((parts,), self.sort.type))
        with builder.parallel(parts) as number:
            others = self._read(at, index, number)
            builder.store(others, found, [number])
            with builder.when(others.compare("eq", 0)):
                self.sort.sort_part(self.keys, at, number)
        with builder.loop(0, parts, carry=[builder.scalar(integer_attr(0, self.sort.type))]) as (number, total):
            builder.yield_(builder.on(total[0]) + builder.load(found, [number]))
        with builder.when(builder.on(total[0]).compare("eq", 0)):
            with self.sort.levels(at) as level, builder.parallel(parts) as number:
                self.sort.merge(self.keys, level, number)
            with builder.parallel(parts) as number:
                self._write(at, index, number)
        with builder.otherwise():
            self.otherwise(0, index)

    def _range(self, number: Index) -> tuple[Index, Index]:
        """The first element of a part, and its end in the row."""
        builder, part, length = self.rows.builder, self.sort.part, self.rows.shape[1]
        first = number * part
        return builder.min(first, length), builder.min(first + part, length)

    def _read(self, at: Index, index: Index, number: Index) -> Scalar:
        """Compute the keys of a part; returns how many elements are not those that are found from their keys."""
        builder, home = self.rows.builder, self.rows.home(index)
        key, element = (region.block for region in self.op.regions)
        line = builder.strided_view(self.keys, at, (self.sort.line,), (1,))
        first, end = self._range(number)
        with builder.loop(first, end, carry=[builder.scalar(integer_attr(0, self.sort.type))]) as (place, total):
            (value,) = home.load(place)
            (found,) = builder.inline(key, [value])
            builder.store(found, line, [place])
            pair = [builder.on(each) for each in (*builder.inline(element, [found]), value)]
            same, own = (each.bits() if each.is_float else each for each in pair)
            builder.yield_(builder.on(total[0]) + same.compare("ne", own).cast(arith.ExtUIOp, self.sort.type))
        highest = builder.scalar(integer_attr(-1, self.sort.type))
        with builder.loop(end, number * self.sort.part + self.sort.part, attributes=PARALLEL) as place:
            builder.store(highest, line, [place])
        return builder.on(total[0])

    def _write(self, at: Index, index: Index, number: Index) -> None:
        """Write a part of the row that is sorted."""
        builder, home = self.rows.builder, self.rows.home(index)
        line = builder.strided_view(self.keys, self.sort.sorted_at(at), (self.sort.line,), (1,))
        with builder.loop(*self._range(number), attributes=PARALLEL) as place:
            home.store(builder.inline(self.op.regions[1].block, [builder.load(line, [place])]), place)


def _key_rows(op: SortByKeyOp, builder: LoopBuilder, rows: _Rows, parts: int) -> _KeyRows:
    type_ = cast(Any, op.regions[1].block.args[0].type)
    sort = KeySort(builder, cast(func.FuncOp, op.parent_op()), rows.shape[1], type_, parts)
    return _KeyRows(op, rows, sort, sort.memory(rows.tasks), _key_sorter(op, builder, rows))


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
    homes = [builder.strided_view(value, 0, flat, row_major(flat)) for value in op.outputs]
    in_vectors = len(op.regions) == 2 and flat[2] == 1 and length >= sort_vectors.LEAST
    parts = KeySort.parts_of(length, count) if in_vectors else 1
    if parts > 1:
        long_rows = _key_rows(cast(SortByKeyOp, op), builder, _Rows(builder, homes, flat, 1), parts)
        with builder.loop(0, count) as row:
            long_rows.long_row(row)
        return
    if isinstance(op, SortByKeyOp) and _sort_in_lanes(op, builder, homes, flat, cost):
        return
    if isinstance(op, SortByKeyOp) and not in_vectors and _sort_in_parts(op, builder, homes, flat):
        return
    tasks = task_count(count * length, count * length * cost, count)
    size = task_size(count, tasks)
    tasks = -(-count // size)
    rows = _Rows(builder, homes, flat, tasks)
    if in_vectors:
        sorter = _key_rows(cast(SortByKeyOp, op), builder, rows, 1).row
    else:
        sorter = _merge_sorter(op, builder, rows) if isinstance(op, SortOp) else _key_sorter(op, builder, rows)
    with builder.parallel(tasks) as task, builder.loop(*chunk(builder, task, size, count)) as row:
        sorter(builder.slot(), row)


def _sort_in_lanes(
    op: SortByKeyOp, builder: LoopBuilder, homes: Sequence[SSAValue], shape: tuple[int, int, int], cost: int
) -> bool:
    """Sort many rows at once, if there are enough of them, and keys for which that is possible."""
    count, length = shape[0] * shape[2], shape[1]
    most = MOST if shape[2] == 1 else MOST_OF_COLUMNS
    type_ = LaneSort.type_of(op, length) if length <= most else None
    if type_ is None or count < LaneSort.lanes_of(builder, type_) or 1 < shape[2] < LEAST_COLUMNS:
        return False
    inverse = len(op.regions) == 2
    groups = LaneSort(op, builder, homes, shape, type_, None).groups
    tasks = task_count(count * length, count * length * cost, groups)
    size = task_size(groups, tasks)
    tasks = -(-groups // size)
    otherwise = _key_sorter(op, builder, _Rows(builder, homes, shape, tasks)) if inverse else None
    sorter = LaneSort(op, builder, homes, shape, type_, otherwise).sorter(tasks)
    with builder.parallel(tasks) as task, builder.loop(*chunk(builder, task, size, groups)) as number:
        sorter(builder.slot(), number)
    return True

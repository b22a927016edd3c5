"""
Loops of top_k: one pass over a row that keeps the elements before a threshold.

Candidates are pairs of a key and a position, in the order of the row. When there is no room for the elements of one
more block, all but the first k are dropped; the key of the last one that stays is the threshold: later elements count
only if they are strictly before it. Few blocks have such elements, and whether one has is found with vectors, as is
the k-th least key. A long row is divided into segments, each with candidates of its own; their first k elements go
through another selection. Each step keeps the order of equal elements.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import IntegerAttr, IntegerType, i32
from xdsl.ir import SSAValue

from ...dialects.linalg_ext.sort import TopKOp
from ...dialects.linalg_ext.window import shape_of
from ...dialects.support.buffers import memref_type
from ..convert_contractions_to_vector.shared_function import call_known
from ..loop_nests.cost import region_cost, task_count, task_size
from ..loop_nests.indices import chunk
from ..loop_nests.kernel_builder import Index, IndexValue, known
from ..loop_nests.loop_builder import LoopBuilder, buffer_of
from .conversion import patterns
from .sort import Line, Merging

BLOCK = 64
"""Elements that are compared with the threshold before any is looked at alone."""

LEAST = 128
"""The least number of candidates that there is room for."""

SEGMENT = 128
"""A segment has at least this many times the room for candidates."""

Source: TypeAlias = Callable[[IndexValue], tuple[SSAValue, SSAValue]]
"""The key and the position (i32) of an element."""


@dataclass(frozen=True)
class Candidates:
    """The candidates of one task: keys and positions from `at` in two buffers, and the threshold after the keys."""

    builder: LoopBuilder
    buffers: Sequence[SSAValue]
    at: Index
    room: int

    @property
    def line(self) -> Line:
        """Pairs of a key and a position."""
        views = [self.builder.strided_view(buffer, self.at, (self.room + 1,), (1,)) for buffer in self.buffers]
        return Line(self.builder, views, lambda k: (k,))

    @property
    def threshold(self) -> SSAValue:
        """The key that later elements must be before."""
        return self.builder.load(self.line.buffers[0], [self.room])

    def put_threshold(self, key: SSAValue) -> None:
        self.builder.store(key, self.line.buffers[0], [self.room])


def _room(count: int) -> int:
    """Room for `count` candidates, and as many again or a block."""
    return max(LEAST, 1 << (count + max(count, BLOCK) - 1).bit_length())


@dataclass(frozen=True)
class Selection:
    """The first `count` of the elements of a source, in candidates' room of `room` elements."""

    builder: LoopBuilder
    count: Index
    room: int
    key_type: IntegerType

    @property
    def counter(self) -> IntegerType:
        """The type of numbers of elements: as wide as keys, so that vectors of comparison results are just added."""
        return self.key_type if self.key_type.width.data >= 32 else i32

    def candidates(self, tasks: int) -> Callable[[Index], Candidates]:
        """Room for the candidates of each task."""
        width = self.room + 1
        buffers = [self.builder.alloc(memref_type((tasks * width,), type_)) for type_ in (self.key_type, i32)]
        return lambda task: Candidates(self.builder, buffers, self.builder.index(task) * width, self.room)

    def select(
        self, kernel: func.FuncOp, source: Source, bounds: tuple[Index, Index], mine: Candidates, away: Candidates
    ) -> None:
        """
        Leave the first elements from `bounds[0]` up to `bounds[1]` at the front of `mine`, in order.

        There are at least `count` of them.
        """
        builder, home = self.builder, mine.line
        begin, end = map(builder.index, bounds)
        filled = builder.index(builder.min(builder.index(begin + self.room), end))
        with builder.loop(begin, filled) as place:
            home.store(source(place), place - begin)
        self._call_keep_first(kernel, mine, filled - begin)
        length = known(end - begin)
        if not isinstance(length, int) or length > self.room:
            self._take_all(kernel, source, (filled, end), mine)
        self._call_sort(kernel, mine, away)

    def _take_all(
        self, kernel: func.FuncOp, source: Source, bounds: tuple[IndexValue, IndexValue], mine: Candidates
    ) -> None:
        """Go through the elements after those that filled the room, block by block."""
        builder = self.builder
        filled, end = bounds
        threshold = mine.threshold
        start = [builder.index(self.count).value, threshold]
        blocks = builder.index(end - filled + (BLOCK - 1)) // BLOCK
        with builder.loop(0, blocks, carry=start) as (block, state):
            held, threshold = builder.index(state[0]), state[1]
            first = builder.index(filled + block * BLOCK)
            last = builder.index(builder.min(builder.index(first + BLOCK), end))
            found = self._number_before(lambda place: source(place)[0], (first, last), threshold)
            with builder.when(builder.on(found).compare("ne", 0)) as taken:
                builder.yield_(*self._take(kernel, source, (first, last), mine, held, threshold))
            with builder.otherwise():
                builder.yield_(held, threshold)
            builder.yield_(*taken)
        self._call_keep_first(kernel, mine, builder.index(state[0]))

    def _number_before(
        self, key: Callable[[IndexValue], SSAValue], bounds: tuple[Index, Index], threshold: SSAValue
    ) -> SSAValue:
        """How many keys are less than the threshold."""
        builder = self.builder
        zero = builder.scalar(IntegerAttr(0, self.counter))
        with builder.loop(*bounds, carry=[zero]) as (place, total):
            before = builder.on(key(place)).compare("ult", threshold)
            builder.yield_(builder.on(total[0]) + before.cast(arith.ExtUIOp, self.counter))
        return total[0]

    def _take(
        self,
        kernel: func.FuncOp,
        source: Source,
        bounds: tuple[IndexValue, IndexValue],
        mine: Candidates,
        held: IndexValue,
        threshold: SSAValue,
    ) -> tuple[SSAValue, SSAValue]:
        """Add the elements of a block before the threshold to `held` candidates: their number, and the threshold."""
        builder, home = self.builder, mine.line
        with builder.when(held > self.room - BLOCK) as state:
            self._call_keep_first(kernel, mine, held)
            builder.yield_(builder.index(self.count), mine.threshold)
        with builder.otherwise():
            builder.yield_(held, threshold)
        threshold = state[1]
        with builder.loop(*bounds, carry=[state[0]]) as (place, ends):
            at = builder.index(ends[0])
            key, position = source(place)
            # The next one overwrites a candidate that is not before the threshold.
            home.store((key, position), at)
            before = builder.on(key).compare("ult", threshold)
            builder.yield_(builder.select(before, at + 1, at))
        return ends[0], threshold

    def _call_keep_first(self, kernel: func.FuncOp, mine: Candidates, held: Index) -> None:
        arguments = (*mine.buffers, mine.at, held, self.count)
        call_known(self.builder, kernel, "keep_first", arguments, _Facts(self.room), _emit_keep_first)

    def keep_first(self, mine: Candidates, held: IndexValue) -> None:
        """Drop all but the first `count` candidates, which stay in their order; the last one's key is the threshold."""
        builder, home = self.builder, mine.line
        highest = builder.scalar(IntegerAttr(-1, self.key_type))
        nowhere = builder.scalar(IntegerAttr(0, i32))
        with builder.loop(held, self.room) as place:
            home.store((highest, nowhere), place)
        last = self._key_of_last(home)
        before = self._number_before(lambda place: home.load(place)[0], (0, self.room), last)
        # The earliest of the elements that are equal to the last one are kept.
        equal = builder.index(self.count) - builder.to_index(before, unsigned=True)
        start = [builder.index(0), builder.index(equal)]
        with builder.loop(0, self.room, carry=start) as (place, state):
            at, left = map(builder.index, state)
            key, position = home.load(place)
            home.store((key, position), builder.min(at, self.count))
            ties = builder.on(key).compare("eq", last) & (left > 0)
            keeps = builder.on(key).compare("ult", last) | ties
            builder.yield_(builder.select(keeps, at + 1, at), builder.select(ties, left - 1, left))
        mine.put_threshold(last)

    def _key_of_last(self, home: Line) -> SSAValue:
        """The `count`-th least key: bit by bit from the highest, the greatest number that fewer keys are less than."""
        builder, width = self.builder, self.key_type.width.data
        found = builder.scalar(IntegerAttr(0, self.key_type))
        bit = builder.scalar(IntegerAttr(-1 << (width - 1), self.key_type))
        count = builder.index(self.count).cast_to(self.counter)
        with builder.loop(0, width, carry=[found, bit]) as (_, state):
            trial = builder.on(state[0]) | state[1]
            before = self._number_before(lambda place: home.load(place)[0], (0, self.room), trial.value)
            found = builder.on(before).compare("ult", count).select(trial, state[0])
            builder.yield_(found, builder.on(state[1]).shift_right_logical(1))
        return state[0]

    def _call_sort(self, kernel: func.FuncOp, mine: Candidates, away: Candidates) -> None:
        """Sort the first `count` candidates."""
        arguments = (*mine.buffers, *away.buffers, mine.at)
        assert isinstance(self.count, int)
        call_known(self.builder, kernel, "sort", arguments, _Facts(self.room, self.count), _emit_sort)


@dataclass(frozen=True)
class _Facts:
    """The facts on which the functions of candidates depend."""

    room: int
    count: int | None = None
    """The candidates that are sorted."""


def _emit_keep_first(builder: LoopBuilder, parameters: Sequence[SSAValue], facts: _Facts) -> None:
    *buffers, at, held, count = parameters
    mine = Candidates(builder, buffers, builder.index(at), facts.room)
    key_type = cast(IntegerType, buffer_of(buffers[0]).element_type)
    Selection(builder, builder.index(count), facts.room, key_type).keep_first(mine, builder.index(held))


def _emit_sort(builder: LoopBuilder, parameters: Sequence[SSAValue], facts: _Facts) -> None:
    *buffers, at = parameters
    home, away = (Candidates(builder, two, builder.index(at), facts.room).line for two in (buffers[:2], buffers[2:]))
    count = facts.count
    assert count is not None

    def precedes(first: Any, second: Any) -> SSAValue:
        return builder.on(first[0]).compare("ult", second[0]).value

    merging = Merging(builder, count, precedes)
    lines = [(home, away)[number % 2] for number in range(merging.passes + 1)]
    merging.sort(home, lines)
    if lines[-1] is away:
        away.copy_to(home, 0, count)


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

    def source(self, row: Index) -> Source:
        """The elements of a row."""
        builder, block = self.builder, self.op.regions[0].block
        values = builder.strided_view(self.op.inputs[0], 0, (self.rows, self.length), (self.length, 1))

        def element(place: IndexValue) -> tuple[SSAValue, SSAValue]:
            key = builder.inline(block, [builder.load(values, [row, place])])[0]
            return key, place.cast_to(i32)

        return element

    def write(self, row: IndexValue, mine: Candidates) -> None:
        """The values and positions of the first candidates are the row's results."""
        builder, home = self.builder, mine.line
        source = builder.strided_view(self.op.inputs[0], 0, (self.rows, self.length), (self.length, 1))
        values, positions = (
            builder.strided_view(output, 0, (self.rows, self.count), (self.count, 1)) for output in self.op.outputs
        )
        with builder.loop(0, self.count) as k:
            position = home.load(k)[1]
            place = builder.to_index(position, unsigned=True)
            builder.store(builder.load(source, [row, place]), values, [row, k])
            builder.store(position, positions, [row, k])


@patterns.on(TopKOp)
def _top_k(op: TopKOp, builder: LoopBuilder) -> None:
    """`linalg_ext.top_k` becomes a loop over rows, or over the segments of few long rows."""
    shape, count = shape_of(op.inputs[0]), shape_of(op.outputs[0])[-1]
    rows = _Rows(op, builder, math.prod(shape[:-1]), shape[-1], count)
    if rows.rows == 0 or count == 0:
        return
    block = op.regions[0].block
    assert block.last_op is not None
    selection = Selection(builder, count, _room(count), cast(Any, block.last_op.operands[0].type))
    work = rows.rows * rows.length * (1 + region_cost(block) // 4)
    segments = task_count(work, work, rows.length // (SEGMENT * selection.room) or 1)
    if rows.rows < segments:
        _segments(rows, selection, -(-segments // rows.rows))
        return
    tasks = task_count(work, work, rows.rows)
    size = task_size(rows.rows, tasks)
    tasks = -(-rows.rows // size)
    homes, aways = selection.candidates(tasks), selection.candidates(tasks)
    with builder.parallel(tasks) as task, builder.loop(*chunk(builder, task, size, rows.rows)) as row:
        slot = builder.slot()
        selection.select(rows.kernel, rows.source(row), (0, rows.length), homes(slot), aways(slot))
        rows.write(row, homes(slot))


def _segments(rows: _Rows, selection: Selection, segments: int) -> None:
    """Select from each segment of each row, then from what was selected."""
    builder, count = rows.builder, rows.count
    size = -(-rows.length // segments)
    segments = -(-rows.length // size)
    homes, aways = selection.candidates(rows.rows * segments), selection.candidates(rows.rows * segments)
    with builder.parallel(rows.rows * segments) as task:
        row, segment = task // segments, builder.index(task % segments)
        begin = builder.index(segment * size)
        end = builder.index(builder.min(builder.index(begin + size), rows.length))
        selection.select(rows.kernel, rows.source(row), (begin, end), homes(task), aways(builder.slot()))
    final, other = selection.candidates(rows.rows), selection.candidates(rows.rows)
    with builder.parallel(rows.rows) as row:

        def element(place: IndexValue) -> tuple[SSAValue, SSAValue]:
            key, position = homes(row * segments + builder.index(place // count)).line.load(place % count)
            return key, position

        selection.select(rows.kernel, element, (0, segments * count), final(row), other(row))
        rows.write(row, final(row))

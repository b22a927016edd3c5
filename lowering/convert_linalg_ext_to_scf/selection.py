"""
The first elements of a row in candidates' room: one pass that keeps the elements before a threshold.

The first threshold is the k-th least of the least keys of groups of elements, of the whole row or of a sample: at least
k elements are not after it, and of a row in any usual order few more. Groups are as vectors load them.

Candidates are pairs of a key and a position, in the order of the row. When there is no room for the elements of one
more block, all but the first k are dropped; the key of the last one that stays is the threshold: later elements count
only if they are strictly before it. Few blocks have such elements, and whether one has is found with vectors, as is
the k-th least key. Each step keeps the order of equal elements.

Programs share the functions that select from a row, sort the candidates, and write them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import IntegerType, i32
from xdsl.ir import Attribute, SSAValue

from ...dialects.llvm_loops import UNROLL_NEVER
from ...dialects.support.attributes import integer_attr
from ...dialects.support.buffers import memref_type
from ..convert_contractions_to_vector.shared_function import call_known, writes
from ..loop_nests.kernel_builder import Index, IndexValue
from ..loop_nests.loop_builder import PARALLEL, SCALAR, LoopBuilder, buffer_of
from ..loop_nests.scalar_block import ScalarBlock
from ..loop_nests.unrolling import UNROLL
from .sort import Merging
from .sorting.by_key import RADIX_LENGTH, emit_ranks
from .sorting.radix import Line

BLOCK, PIECE = 64, 16
"""Elements that are compared with the threshold before those of each piece are, and before any is looked at alone."""

GROUPS = 4
"""For each element that is wanted: the groups of a sample whose least keys give the first threshold."""

SAMPLE = 1 << 14
"""A sample has about this many elements, which stay in the caches, or 64 for each group."""

ONCE: Mapping[str, Attribute] = {UNROLL: integer_attr(UNROLL_NEVER)}
"""The attribute of the loop over the pieces of a block: few blocks have a candidate, and LLVM would write its body down
four times, vectors and all."""

LEAST = 128
"""The least number of candidates that there is room for."""

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


def room_of(count: int) -> int:
    """Room for `count` candidates, and as many again or a block."""
    return max(LEAST, 1 << (count + max(count, BLOCK) - 1).bit_length())


def groups_of(count: int) -> int:
    return max(BLOCK, 1 << (GROUPS * count - 1).bit_length())


def sample_of(count: int, length: int) -> int:
    """The elements of each group of a sample of a row of `length` elements; 0 if there are too few."""
    groups = groups_of(count)
    found = min(length // groups, max(64, SAMPLE // groups))
    return found if found >= 4 else 0


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
        self,
        kernel: func.FuncOp,
        source: Source,
        bounds: tuple[Index, Index],
        mine: Candidates,
        sample: Index | None = None,
        few: bool = False,
    ) -> None:
        """
        Leave the first elements from `bounds[0]` up to `bounds[1]` at the front of `mine`, as the source has them.

        There are at least `count` of them; `few`: and all are candidates. `sample`: the elements of each group of the
        sample, if there is one. Functions are called from `kernel`.
        """
        begin, end = map(self.builder.index, bounds)
        if few:
            self._fill(kernel, source, (begin, end), mine)
            return
        start = self._begin(kernel, source, (begin, end), mine, sample)
        held = self._take_all(kernel, source, start, end, mine)
        self._call_keep_first(kernel, mine, held)

    def _begin(
        self,
        kernel: func.FuncOp,
        source: Source,
        bounds: tuple[IndexValue, IndexValue],
        mine: Candidates,
        sample: Index | None,
    ) -> list[SSAValue]:
        """Where to go on, the candidates held by then, and the threshold for later elements."""
        builder, (begin, end) = self.builder, bounds

        def filled(attributes: Mapping[str, Attribute] = {}) -> list[SSAValue]:
            place = self._fill(kernel, source, bounds, mine, attributes)
            return [place.value, builder.index(self.count).value, mine.threshold]

        if sample is None:
            return filled()
        highest = builder.scalar(integer_attr(-1, self.key_type))
        sampled = builder.index(sample * groups_of(cast(int, self.count)))
        with builder.when(builder.index(end - begin) >= sampled) as last:
            builder.yield_(self._sampled(kernel, source, begin, mine, sample))
        with builder.otherwise():
            builder.yield_(highest)
        with builder.when(builder.on(last[0]).compare("ne", highest)) as state:
            builder.yield_(begin, builder.index(0), builder.on(last[0]) + 1)
        with builder.otherwise():
            builder.yield_(*filled(SCALAR))  # seldom
        return state

    def _sampled(
        self, kernel: func.FuncOp, source: Source, begin: IndexValue, mine: Candidates, sample: Index
    ) -> SSAValue:
        """
        A key that `count` elements or more are not after: the `count`-th least of the least keys of groups of elements.

        Element i is in group i modulo the number of groups, which vectors are loaded for.
        """
        builder, home, groups = self.builder, mine.line, groups_of(cast(int, self.count))
        keys = home.buffers[0]
        # The first elements need no loop of their own, which LLVM would make vectors of keys in too.
        highest = builder.scalar(integer_attr(-1, self.key_type))
        with builder.loop(0, groups, attributes=PARALLEL) as group:
            builder.store(highest, keys, [group])
        with builder.loop(0, sample) as number:
            first = builder.index(begin + number * groups)
            with builder.loop(0, groups, attributes=PARALLEL) as group:
                key, least = builder.on(source(builder.index(first + group))[0]), builder.load(keys, [group])
                builder.store(key.compare("ult", least).select(key, least), keys, [group])
        arguments = (*mine.buffers, mine.at, self.count)
        call_known(builder, kernel, "threshold", arguments, _Facts(self.room, groups), _emit_threshold)
        return mine.threshold

    def _fill(
        self,
        kernel: func.FuncOp,
        source: Source,
        bounds: tuple[IndexValue, IndexValue],
        mine: Candidates,
        attributes: Mapping[str, Attribute] = {},
    ) -> IndexValue:
        """Make the first elements candidates, as many as there is room for; returns where to go on."""
        builder, home, (begin, end) = self.builder, mine.line, bounds
        filled = builder.index(builder.min(builder.index(begin + self.room), end))
        with builder.loop(begin, filled, attributes=attributes) as place:
            home.store(source(place), place - begin)
        self._call_keep_first(kernel, mine, filled - begin)
        return filled

    def _take_all(
        self, kernel: func.FuncOp, source: Source, start: Sequence[SSAValue], end: IndexValue, mine: Candidates
    ) -> IndexValue:
        """Go through the elements from where `_begin` says, block by block; returns how many candidates are held."""
        builder = self.builder
        begin = builder.index(start[0])
        blocks = builder.index(builder.index(end - begin) // BLOCK)
        with builder.loop(0, blocks, carry=start[1:]) as (block, state):
            first = builder.index(begin + block * BLOCK)
            found = self._number_before(lambda place: source(builder.index(first + place))[0], (0, BLOCK), state[1])
            with builder.when(builder.on(found).compare("ne", 0)) as taken:
                held, threshold = self._make_room(kernel, mine, state)
                with builder.loop(0, BLOCK // PIECE, carry=[held], attributes=ONCE) as (number, holding):
                    builder.yield_(self._take_piece(source, first + number * PIECE, mine, holding[0], threshold))
                builder.yield_(holding[0], threshold)
            with builder.otherwise():
                builder.yield_(*state)
            builder.yield_(*taken)
        held, threshold = self._make_room(kernel, mine, state)
        bounds = builder.index(begin + blocks * BLOCK), end
        return builder.index(self._take(source, bounds, mine, held, threshold))

    def _number_before(
        self, key: Callable[[IndexValue], SSAValue], bounds: tuple[Index, Index], threshold: SSAValue
    ) -> SSAValue:
        """How many keys are less than the threshold."""
        builder = self.builder
        zero = builder.scalar(integer_attr(0, self.counter))
        with builder.loop(*bounds, carry=[zero]) as (place, total):
            before = builder.on(key(place)).compare("ult", threshold)
            builder.yield_(builder.on(total[0]) + before.cast(arith.ExtUIOp, self.counter))
        return total[0]

    def _make_room(self, kernel: func.FuncOp, mine: Candidates, state: Sequence[SSAValue]) -> tuple[SSAValue, SSAValue]:
        """Drop candidates if there may be no room for those of another block; returns those left, and the threshold."""
        builder = self.builder
        with builder.when(builder.index(state[0]) > self.room - BLOCK) as made:
            self._call_keep_first(kernel, mine, builder.index(state[0]))
            builder.yield_(builder.index(self.count), mine.threshold)
        with builder.otherwise():
            builder.yield_(*state)
        return made[0], made[1]

    def _take_piece(
        self, source: Source, first: Index, mine: Candidates, held: SSAValue, threshold: SSAValue
    ) -> SSAValue:
        """`_take`, if any element of a piece is before the threshold."""
        builder, begin = self.builder, self.builder.index(first)
        found = self._number_before(lambda place: source(builder.index(begin + place))[0], (0, PIECE), threshold)
        with builder.when(builder.on(found).compare("ne", 0)) as taken:
            builder.yield_(self._take(source, (begin, begin + PIECE), mine, held, threshold))
        with builder.otherwise():
            builder.yield_(held)
        return taken[0]

    def _take(
        self, source: Source, bounds: tuple[Index, Index], mine: Candidates, held: SSAValue, threshold: SSAValue
    ) -> SSAValue:
        """Add the elements before the threshold to `held` candidates; returns their number."""
        builder, home = self.builder, mine.line
        with builder.loop(*bounds, carry=[held]) as (place, ends):
            at = builder.index(ends[0])
            key, position = source(place)
            # The next one overwrites a candidate that is not before the threshold.
            home.store((key, position), at)
            before = builder.on(key).compare("ult", threshold)
            builder.yield_(builder.select(before, at + 1, at))
        return ends[0]

    def _call_keep_first(self, kernel: func.FuncOp, mine: Candidates, held: Index) -> None:
        arguments = (*mine.buffers, mine.at, held, self.count)
        call_known(self.builder, kernel, "keep_first", arguments, _Facts(self.room), _emit_keep_first)

    def keep_first(self, mine: Candidates, held: IndexValue) -> None:
        """Drop all but the first `count` candidates, which stay in their order; the last one's key is the threshold."""
        builder, home = self.builder, mine.line
        highest = builder.scalar(integer_attr(-1, self.key_type))
        nowhere = builder.scalar(integer_attr(0, i32))
        # Whole blocks are compared in vectors, once for each bit of a key; what fills the last one is less work.
        filled = builder.index(builder.index((held + (BLOCK - 1)) // BLOCK) * BLOCK)
        with builder.loop(held, filled, attributes=SCALAR) as place:
            home.store((highest, nowhere), place)
        last, before = self.key_of_last(home, filled)
        # The earliest of the elements that are equal to the last one are kept.
        equal = builder.index(self.count) - builder.to_index(before, unsigned=True)
        start = [builder.index(0), builder.index(equal)]
        with builder.loop(0, held, carry=start) as (place, state):
            at, left = map(builder.index, state)
            key, position = home.load(place)
            home.store((key, position), builder.min(at, self.count))
            ties = builder.on(key).compare("eq", last) & (left > 0)
            keeps = builder.on(key).compare("ult", last) | ties
            builder.yield_(builder.select(keeps, at + 1, at), builder.select(ties, left - 1, left))
        mine.put_threshold(last)

    def key_of_last(self, home: Line, length: Index) -> tuple[SSAValue, SSAValue]:
        """
        The `count`-th least of the first keys: bit by bit from the highest, the greatest number that fewer of them are
        less than. The second result is how many of them are.
        """
        builder, width = self.builder, self.key_type.width.data
        found, less = (builder.scalar(integer_attr(0, type_)) for type_ in (self.key_type, self.counter))
        bit = builder.scalar(integer_attr(-1 << (width - 1), self.key_type))
        count = builder.index(self.count).cast_to(self.counter)
        with builder.loop(0, width, carry=[found, bit, less]) as (_, state):
            trial = builder.on(state[0]) | state[1]
            before = self._number_before(lambda place: home.load(place)[0], (0, length), trial.value)
            is_less = builder.on(before).compare("ult", count)
            found, less = is_less.select(trial, state[0]), is_less.select(before, state[2])
            builder.yield_(found, builder.on(state[1]).shift_right_logical(1), less)
        return state[0], state[2]

    def call_sort(self, kernel: func.FuncOp, mine: Candidates, away: Candidates) -> None:
        """Sort the positions of the first `count` candidates by their keys."""
        arguments = (*mine.buffers, *away.buffers, mine.at)
        assert isinstance(self.count, int)
        call_known(self.builder, kernel, "sort", arguments, _Facts(self.room, self.count), _emit_sort)


@dataclass(frozen=True)
class _Facts:
    """The facts on which the functions of candidates depend."""

    room: int
    count: int | None = None
    """The candidates that are sorted, or the groups of a sample."""


def _emit_keep_first(builder: LoopBuilder, parameters: Sequence[SSAValue], facts: _Facts) -> None:
    *buffers, at, held, count = parameters
    mine = Candidates(builder, buffers, builder.index(at), facts.room)
    key_type = cast(IntegerType, buffer_of(buffers[0]).element_type)
    Selection(builder, builder.index(count), facts.room, key_type).keep_first(mine, builder.index(held))


def _emit_threshold(builder: LoopBuilder, parameters: Sequence[SSAValue], facts: _Facts) -> None:
    *buffers, at, count = parameters
    mine = Candidates(builder, buffers, builder.index(at), facts.room)
    key_type = cast(IntegerType, buffer_of(buffers[0]).element_type)
    assert facts.count is not None
    last, _ = Selection(builder, builder.index(count), facts.room, key_type).key_of_last(mine.line, facts.count)
    mine.put_threshold(last)


def _emit_sort(builder: LoopBuilder, parameters: Sequence[SSAValue], facts: _Facts) -> None:
    *buffers, at = parameters
    home, away = (Candidates(builder, two, builder.index(at), facts.room).line for two in (buffers[:2], buffers[2:]))
    count = facts.count
    assert count is not None
    if count < RADIX_LENGTH:
        emit_ranks(builder, (buffers[0], buffers[2], at, builder.index(count).value), ())
        with builder.loop(0, count) as place:
            rank = builder.index(builder.to_index(builder.load(away.buffers[0], [place]), unsigned=True))
            # It is less in any case; so the bound is seen where the rank is used.
            builder.store(builder.load(home.buffers[1], [place]), away.buffers[1], [builder.min(rank, count - 1)])
        with builder.loop(0, count, attributes=PARALLEL) as place:
            builder.store(builder.load(away.buffers[1], [place]), home.buffers[1], [place])
        return

    def precedes(first: Any, second: Any) -> SSAValue:
        return builder.on(first[0]).compare("ult", second[0]).value

    merging = Merging(builder, count, precedes)
    lines = [(home, away)[number % 2] for number in range(merging.passes + 1)]
    merging.sort(home, lines)
    if lines[-1] is away:
        away.copy_to(home, 0, count)


@dataclass(frozen=True)
class Selected:
    """The facts of a function that selects from a row: of elements, or of candidates if there is no block for keys."""

    keys: ScalarBlock | None
    room: int
    count: int
    sampled: bool
    few: bool


@writes(0, 1)
def emit_select(builder: LoopBuilder, parameters: Sequence[SSAValue], facts: Selected) -> None:
    """
    The body of a function that selects the first elements of a row.

    Parameters: candidates; where the row begins; the bounds; the elements of each group of a sample; the elements.
    """
    *candidates, start, begin, end, sample, elements = parameters
    block = facts.keys and facts.keys.block
    assert block is not None

    def element(place: IndexValue) -> tuple[SSAValue, SSAValue]:
        value = builder.load(elements, [builder.index(start) + place])
        return builder.inline(block, [value])[0], place.cast_to(i32)

    bounds = builder.index(begin), builder.index(end)
    _emit_selection(builder, candidates, facts, element, bounds, builder.index(sample) if facts.sampled else None)


@writes(0, 1, 6, 7)
def emit_select_again(builder: LoopBuilder, parameters: Sequence[SSAValue], facts: Selected) -> None:
    """
    The body of a function that selects from the candidates of the segments of a row.

    Parameters: candidates; those of segments, each in room of its own, and where they begin; two buffers for the first
    of each segment, one after the other, and where those begin; their number.

    They are brought together first: the loops that compare them read whole vectors, not a place computed for each lane.
    """
    candidates, (*given, start), (*line, first), number = (
        parameters[:3],
        parameters[3:6],
        parameters[6:9],
        parameters[9],
    )
    end = builder.index(number)
    with builder.loop(0, builder.index(end // facts.count)) as segment:
        source = builder.index(builder.index(start) + segment * (facts.room + 1))
        target = builder.index(builder.index(first) + segment * facts.count)
        for of_segment, together in zip(given, line, strict=True):
            with builder.loop(0, facts.count) as k:
                builder.store(builder.load(of_segment, [source + k]), together, [target + k])

    def element(place: IndexValue) -> tuple[SSAValue, SSAValue]:
        where = [builder.index(first) + place]
        return builder.load(line[0], where), builder.load(line[1], where)

    _emit_selection(builder, candidates, facts, element, (builder.index(0), end), None)


def _emit_selection(
    builder: LoopBuilder,
    candidates: Sequence[SSAValue],
    facts: Selected,
    element: Source,
    bounds: tuple[IndexValue, IndexValue],
    sample: Index | None,
) -> None:
    *buffers, at = candidates
    mine = Candidates(builder, buffers, builder.index(at), facts.room)
    selection = Selection(builder, facts.count, facts.room, cast(IntegerType, buffer_of(buffers[0]).element_type))
    selection.select(cast(func.FuncOp, builder.top.parent_op()), element, bounds, mine, sample, facts.few)


@writes(4, 5)
def emit_write(builder: LoopBuilder, parameters: Sequence[SSAValue], facts: tuple[()]) -> None:
    """
    The body of a function that writes the values and positions of the first candidates of a row.

    Parameters: the elements, where the row begins, positions, where they begin; two results, where the row begins
    there, the number of candidates.
    """
    elements, start, positions, at, *results, target, count = parameters
    with builder.loop(0, builder.index(count), attributes=SCALAR) as k:
        position = builder.load(positions, [builder.index(at) + k])
        place = builder.to_index(position, unsigned=True)
        builder.store(builder.load(elements, [builder.index(start) + place]), results[0], [builder.index(target) + k])
        builder.store(position, results[1], [builder.index(target) + k])

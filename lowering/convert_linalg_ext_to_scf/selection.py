"""
The first elements of a row in candidates' room: one pass that keeps the elements before a threshold.

The first threshold is the k-th least of the least keys of groups of elements, of the whole row or of a sample: at least
k elements are not after it, and of a row in any usual order few more. Groups are as vectors load them.

Candidates are pairs of a key and a position, in the order of the row. When there is no room for the elements of one
more block, all but the first k are dropped; the key of the last one that stays is the threshold: later elements count
only if they are strictly before it. Few blocks have such elements, and whether one has is found with vectors, as is
the k-th least key. Each step keeps the order of equal elements.

Programs share the functions that select from a row, sort the candidates, and write them. They are written in vectors,
which leaves little to LLVM, and numbers, such as that of the wanted elements, are parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeAlias, cast

from xdsl.dialects import arith, func, math
from xdsl.dialects.builtin import IntegerType, i32, i64
from xdsl.ir import SSAValue

from ...dialects.support.attributes import integer_attr
from ...dialects.support.buffers import memref_type
from ..convert_contractions_to_vector.shared_function import call_known, writes
from ..convert_contractions_to_vector.vectors import VectorBuilder
from ..loop_nests.kernel_builder import Index, IndexValue
from ..loop_nests.loop_builder import SCALAR, LoopBuilder, buffer_of
from ..loop_nests.scalar_block import ScalarBlock
from .sort import Merging
from .sorting.radix import Line
from .sorting.ranks import LEAST_WIDTH, RADIX_LENGTH, call_ranks, lanes_of

BLOCK = 64
"""
Elements that are compared with the threshold before any is looked at alone: as many as bits of an integer. They are
whole vectors of keys.
"""

IN_REGISTERS = 8
"""The most vectors of keys that are kept where they are needed again."""

GROUPS = 4
"""For each element that is wanted: the groups of a sample whose least keys give the first threshold."""

SAMPLE = 1 << 14
"""A sample has about this many elements, which stay in the caches, or 64 for each group."""

LEAST = 128
"""The least number of candidates that there is room for."""


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
class Room:
    """
    Room for the candidates of tasks: keys and positions. Each has its threshold first, with the number of keys less
    than that among the positions, and ends with a block that vectors may write.
    """

    builder: LoopBuilder
    buffers: Sequence[SSAValue]
    size: int

    @staticmethod
    def of(builder: LoopBuilder, key_type: IntegerType, tasks: int, size: int) -> Room:
        width = size + 1 + BLOCK
        return Room(builder, [builder.alloc(memref_type((tasks * width,), type_)) for type_ in (key_type, i32)], width)

    def at(self, task: Index) -> Candidates:
        return Candidates(self.builder, self.buffers, self.builder.index(task) * self.size)


@dataclass(frozen=True)
class Candidates:
    """The candidates of one task, whose room begins at `at` in two buffers."""

    builder: LoopBuilder
    buffers: Sequence[SSAValue]
    at: Index

    @property
    def arguments(self) -> tuple[Index | SSAValue, ...]:
        return (*self.buffers, self.at)

    @property
    def key_type(self) -> IntegerType:
        return cast(IntegerType, buffer_of(self.buffers[0]).element_type)

    @property
    def line(self) -> Line:
        """Pairs of a key and a position."""
        views = [self.builder.strided_view(buffer, self.at + 1, (LEAST,), (1,)) for buffer in self.buffers]
        return Line(self.builder, views, lambda k: (k,))

    @property
    def _head(self) -> Line:
        views = [self.builder.strided_view(buffer, self.at, (1,), (1,)) for buffer in self.buffers]
        return Line(self.builder, views, lambda k: (k,))

    @property
    def threshold(self) -> SSAValue:
        """The key that later elements must be before."""
        return self._head.load(0)[0]

    @property
    def number_before(self) -> IndexValue:
        """How many of the keys, from which the threshold was found, are less than it."""
        return self.builder.to_index(self._head.load(0)[1], unsigned=True)

    def put_threshold(self, key: SSAValue, less: SSAValue) -> None:
        self._head.store((key, less), 0)


@dataclass(frozen=True)
class Elements:
    """The elements of a row, whose keys a block computes."""

    builder: LoopBuilder
    buffer: SSAValue
    start: IndexValue
    """Where the row begins."""
    keys: ScalarBlock
    scratch: SSAValue
    """Room for keys that only scalar operations compute."""

    def at(self, place: IndexValue) -> tuple[SSAValue, SSAValue]:
        """The key and the position of an element."""
        value = self.builder.load(self.buffer, [self.start + place])
        return self.builder.inline(self.keys.block, [value])[0], place.cast_to(i32)

    def keys_from(self, place: IndexValue, count: int, lanes: int) -> list[SSAValue]:
        """The keys of `count` neighbours in vectors."""
        builder, vectors = self.builder, VectorBuilder(self.builder)
        if not self.keys.is_alone:
            with builder.loop(0, count) as number:
                builder.store(self.at(builder.index(place + number))[0], self.scratch, [number])
            return [vectors.load(self.scratch, [first], lanes) for first in range(0, count, lanes)]
        view = builder.strided_view(self.buffer, self.start + place, (count,), (1,))
        loaded = (vectors.load(view, [first], lanes) for first in range(0, count, lanes))
        return [vectors.inlined(self.keys.block, [values])[0] for values in loaded]


@dataclass(frozen=True)
class Selected:
    """The facts of a function that selects from a row of elements."""

    keys: ScalarBlock
    lanes: int
    sampled: bool
    few: bool
    """Whether all elements are candidates."""


@writes(0, 1)
def emit_select(builder: LoopBuilder, parameters: Sequence[SSAValue], facts: Selected) -> None:
    """
    The body of a function that leaves the first elements of a row at the front of candidates, as they are in the row.

    Parameters: candidates; where the row begins; the bounds, with as many elements as are wanted or more; the elements
    of each group of a sample, the number of groups; the number of elements that are wanted, and of candidates for which
    there is room; the elements.
    """
    *buffers, at, start, begin, end, sample, groups, count, room, elements = parameters
    mine = Candidates(builder, buffers, builder.index(at))
    scratch = builder.alloca(memref_type((BLOCK,), mine.key_type)) if not facts.keys.is_alone else elements
    source = Elements(builder, elements, builder.index(start), facts.keys, scratch)
    selection = _Selection(source, mine, facts, *map(builder.index, (begin, end, count, room)))
    selection.emit(builder.index(sample), builder.index(groups))


@dataclass(frozen=True)
class _Selection:
    """The body of a function, see `emit_select`."""

    source: Elements
    mine: Candidates
    facts: Selected
    begin: IndexValue
    end: IndexValue
    count: IndexValue
    room: IndexValue

    @property
    def builder(self) -> LoopBuilder:
        return self.mine.builder

    @property
    def lanes(self) -> int:
        return self.facts.lanes

    @property
    def vectors(self) -> VectorBuilder:
        return VectorBuilder(self.builder)

    def emit(self, sample: IndexValue, groups: IndexValue) -> None:
        if self.facts.few:
            self._fill()
            return
        start = self._begin(sample, groups)
        self._keep_first(self._take_all(start))

    def _keep_first(self, held: Index) -> None:
        call_keep_first(self.builder, self.builder.kernel, (self.mine, held, self.count), self.lanes)

    def _begin(self, sample: IndexValue, groups: IndexValue) -> list[SSAValue]:
        """Where to go on, the candidates held by then, and the threshold for later elements."""
        builder = self.builder
        if not self.facts.sampled:
            return self._filled()
        highest = builder.scalar(integer_attr(-1, self.mine.key_type))
        with builder.when(builder.index(self.end - self.begin) >= sample * groups) as last:
            builder.yield_(self._sampled(sample, groups))
        with builder.otherwise():
            builder.yield_(highest)
        with builder.when(builder.on(last[0]).compare("ne", highest)) as state:
            builder.yield_(self.begin, builder.index(0), builder.on(last[0]) + 1)
        with builder.otherwise():
            builder.yield_(*self._filled())
        return state

    def _filled(self) -> list[SSAValue]:
        return [self._fill().value, self.count.value, self.mine.threshold]

    def _sampled(self, sample: IndexValue, groups: IndexValue) -> SSAValue:
        """
        A key that `count` elements or more are not after: the `count`-th least of the least keys of groups of elements.

        Element i is in group i modulo the number of groups, which are whole blocks.
        """
        builder, vectors, lanes = self.builder, self.vectors, self.lanes
        keys, together = self.mine.line.buffers[0], min(BLOCK, IN_REGISTERS * lanes)
        highest = vectors.constant(integer_attr(-1, self.mine.key_type), lanes)
        # Where the least keys are in memory, a choice between one and another key becomes a store with a mask.
        with builder.loop(0, groups, step=together) as group:
            start = builder.index(self.begin + group)
            with builder.loop(0, sample, carry=[highest] * (together // lanes)) as (number, state):
                found = self.source.keys_from(builder.index(start + number * groups), together, lanes)
                builder.yield_(*map(vectors.least, found, state))
            for k, key in enumerate(state):
                vectors.store(key, keys, [group + k * lanes])
        _call_threshold(builder, builder.kernel, (self.mine, groups, self.count), lanes)
        return self.mine.threshold

    def _fill(self) -> IndexValue:
        """Make the first elements candidates, as many as there is room for; returns where to go on."""
        builder, vectors, lanes, home = self.builder, self.vectors, self.lanes, self.mine.line
        filled = builder.index(builder.min(builder.index(self.begin + self.room), self.end))
        held = builder.index(filled - self.begin)
        whole = builder.index(held // lanes * lanes)
        numbers = vectors.numbers(i32, lanes)
        with builder.loop(0, whole, step=lanes) as number:
            place = builder.index(self.begin + number)
            (key,) = self.source.keys_from(place, lanes, lanes)
            vectors.store(key, home.buffers[0], [number])
            positions = vectors.add(numbers, vectors.splat(place.cast_to(i32), lanes))
            vectors.store(positions, home.buffers[1], [number])
        with builder.loop(whole, held, attributes=SCALAR) as number:
            home.store(self.source.at(builder.index(self.begin + number)), number)
        self._keep_first(held)
        return filled

    def _take_all(self, start: Sequence[SSAValue]) -> IndexValue:
        """Go through the elements from where `_begin` says, block by block; returns how many candidates are held."""
        builder, vectors = self.builder, self.vectors
        begin = builder.index(start[0])
        blocks = builder.index(builder.index(self.end - begin) // BLOCK)
        with builder.loop(0, blocks, carry=start[1:]) as (block, state):
            first = builder.index(begin + block * BLOCK)
            keys = self.source.keys_from(first, BLOCK, self.lanes)
            threshold = vectors.splat(state[1], self.lanes)
            with builder.when(builder.on(vectors.bits(self._before(keys, threshold))).compare("ne", 0)) as taken:
                if len(keys) > IN_REGISTERS:
                    keys = self.source.keys_from(first, BLOCK, self.lanes)
                # Elements that are before this threshold and not before the next one are dropped with the others.
                marks = self._marks([vectors.compare("ult", key, threshold) for key in keys])
                held, following = self._make_room(state)
                builder.yield_(self._take_marked(marks, first, held), following)
            with builder.otherwise():
                builder.yield_(*state)
            builder.yield_(*taken)
        held, threshold = self._make_room(state)
        return builder.index(self._take(builder.index(begin + blocks * BLOCK), held, threshold))

    def _before(self, keys: Sequence[SSAValue], threshold: SSAValue) -> SSAValue:
        """A mask with some lane set if any key is before the threshold."""
        vectors, width = self.vectors, self.mine.key_type.width.data
        if width < 64 or width * self.lanes >= 512:
            return vectors.compare("ult", reduce(vectors.least, keys), threshold)
        # Shorter vectors have no minimum of 64 bits.
        return reduce(vectors.union, (vectors.compare("ult", key, threshold) for key in keys))

    def _marks(self, masks: Sequence[SSAValue]) -> SSAValue:
        """The lanes of all masks as bits of one integer."""
        builder = self.builder
        words = [builder.on(self.vectors.bits(mask)) for mask in masks]
        wide = [word if self.lanes == BLOCK else word.cast(arith.ExtUIOp, i64) for word in words]
        return reduce(lambda x, y: x | y, (word << k * self.lanes if k else word for k, word in enumerate(wide))).value

    def _make_room(self, state: Sequence[SSAValue]) -> tuple[SSAValue, SSAValue]:
        """Drop candidates if there may be no room for those of another block; returns those left, and the threshold."""
        builder = self.builder
        with builder.when(builder.index(state[0]) > self.room - BLOCK) as made:
            self._keep_first(builder.index(state[0]))
            builder.yield_(self.count, self.mine.threshold)
        with builder.otherwise():
            builder.yield_(*state)
        return made[0], made[1]

    def _take_marked(self, marks: SSAValue, first: IndexValue, held: SSAValue) -> SSAValue:
        """Add the elements of a block that are marked to `held` candidates; returns their number."""
        builder, home = self.builder, self.mine.line
        number = builder.to_index(builder.on(marks).cast(math.CtPopOp, i64).value, unsigned=True)
        with builder.loop(0, number, carry=[marks, held], attributes=SCALAR) as (_, state):
            lane = builder.to_index(builder.on(state[0]).cast(math.CountTrailingZerosOp, i64).value, unsigned=True)
            home.store(self.source.at(builder.index(first + lane)), builder.index(state[1]))
            left = builder.on(state[0])
            builder.yield_(left & (left - 1), builder.index(builder.index(state[1]) + 1))
        return state[1]

    def _take(self, begin: IndexValue, held: SSAValue, threshold: SSAValue) -> SSAValue:
        """Add the elements before the threshold, from `begin` on, to `held` candidates; returns their number."""
        builder, home = self.builder, self.mine.line
        with builder.loop(begin, self.end, carry=[held], attributes=SCALAR) as (place, ends):
            at = builder.index(ends[0])
            key, position = self.source.at(place)
            # The next one overwrites a candidate that is not before the threshold.
            home.store((key, position), at)
            before = builder.on(key).compare("ult", threshold)
            builder.yield_(builder.select(before, at + 1, at))
        return ends[0]


Counted: TypeAlias = tuple[Candidates, Index, Index]
"""Candidates, how many of them there are, and how many are wanted."""


def call_keep_first(builder: LoopBuilder, kernel: func.FuncOp, given: Counted, lanes: int) -> None:
    """Drop all but the first candidates, which stay in their order; the last one's key is the threshold."""
    call_known(builder, kernel, "keep_first", (*given[0].arguments, *given[1:]), lanes, _emit_keep_first)


def _emit_keep_first(builder: LoopBuilder, parameters: Sequence[SSAValue], lanes: int) -> None:
    *buffers, at, held, count = parameters
    mine, held, count = Candidates(builder, buffers, builder.index(at)), builder.index(held), builder.index(count)
    vectors, home = VectorBuilder(builder), mine.line
    # Whole blocks are compared.
    highest = vectors.constant(integer_attr(-1, mine.key_type), lanes)
    for first in range(0, BLOCK, lanes):
        vectors.store(highest, home.buffers[0], [held + first])
    filled = builder.index(builder.index((held + (BLOCK - 1)) // BLOCK) * BLOCK)
    _call_threshold(builder, builder.kernel, (mine, filled, count), lanes)
    last = mine.threshold
    # The earliest of the elements that are equal to the last one are kept.
    start = [builder.index(0), builder.index(count - mine.number_before)]
    with builder.loop(0, held, carry=start, attributes=SCALAR) as (place, state):
        at, left = map(builder.index, state)
        key, position = home.load(place)
        home.store((key, position), builder.min(at, count))
        ties = builder.on(key).compare("eq", last) & (left > 0)
        keeps = builder.on(key).compare("ult", last) | ties
        builder.yield_(builder.select(keeps, at + 1, at), builder.select(ties, left - 1, left))


def _call_threshold(builder: LoopBuilder, kernel: func.FuncOp, given: Counted, lanes: int) -> None:
    """The last of the wanted keys among the first ones, whole blocks of them, becomes the threshold."""
    call_known(builder, kernel, "threshold", (*given[0].arguments, *given[1:]), lanes, _emit_threshold)


def _emit_threshold(builder: LoopBuilder, parameters: Sequence[SSAValue], lanes: int) -> None:
    """Bit by bit from the highest, the greatest number that fewer than `count` keys are less than."""
    *buffers, at, length, count = parameters
    mine = Candidates(builder, buffers, builder.index(at))
    vectors, keys, width = VectorBuilder(builder), mine.line.buffers[0], mine.key_type.width.data
    # As wide as keys, so that masks are just added; of short keys there may be too many for their width.
    counter = mine.key_type if width >= 32 else i32
    zeros = vectors.constant(integer_attr(0, counter), lanes)
    found, less = (builder.scalar(integer_attr(0, type_)) for type_ in (mine.key_type, counter))
    bit = builder.scalar(integer_attr(-1 << (width - 1), mine.key_type))
    wanted = builder.index(count).cast_to(counter)
    # Numbers with a maximum in vectors have a comparison with equals, too.
    counted = "ult" if width == 64 else "uge"
    all_keys = builder.on(builder.index(length).cast_to(counter))
    with builder.loop(0, width, carry=[found, bit, less]) as (_, state):
        trial = builder.on(state[0]) | state[1]
        limit = vectors.splat(trial.value, lanes)
        with builder.loop(0, builder.index(length), step=BLOCK, carry=[zeros]) as (place, totals):
            loaded = (vectors.load(keys, [place + first], lanes) for first in range(0, BLOCK, lanes))
            masks = (vectors.compare(counted, key, limit) for key in loaded)
            builder.yield_(reduce(vectors.counted, masks, totals[0]))
        total = builder.on(vectors.total(totals[0]))
        before = total if counted == "ult" else all_keys - total
        is_less = before.compare("ult", wanted)
        found, less = is_less.select(trial, state[0]), is_less.select(before, state[2])
        builder.yield_(found, builder.on(state[1]).shift_right_logical(1), less)
    number = builder.on(state[2])
    mine.put_threshold(state[0], (number.truncate(i32) if counter != i32 else number).value)


@writes(0, 1)
def emit_bring_together(builder: LoopBuilder, parameters: Sequence[SSAValue], lanes: int) -> None:
    """
    The body of a function that brings candidates of segments of a row together.

    Parameters: candidates that receive them; those of segments, what the rooms of two are apart by, and the numbers of
    segments and of candidates of each.
    """
    (*mine, at), (*given, start), (apart, segments, count) = parameters[:3], parameters[3:6], parameters[6:]
    vectors, target = VectorBuilder(builder), Candidates(builder, mine, builder.index(at)).line
    with builder.loop(0, builder.index(segments)) as segment:
        first = builder.index(builder.index(start) + segment * builder.index(apart))
        source = Candidates(builder, given, first).line
        # The next segment's elements replace those that the last vector writes beyond its own.
        with builder.loop(0, builder.index(count), step=lanes) as k:
            place = segment * builder.index(count) + k
            for one, other in zip(source.buffers, target.buffers, strict=True):
                vectors.store(vectors.load(one, [k], lanes), other, [place])


def call_sort(builder: LoopBuilder, kernel: func.FuncOp, mine: Candidates, away: Candidates, count: int) -> None:
    """Sort the positions of the first `count` candidates by their keys."""
    if count < RADIX_LENGTH and mine.key_type.width.data >= LEAST_WIDTH:
        ranks, buffers = Ranked(lanes_of(builder, mine.key_type)), (*mine.arguments, *away.buffers, count)
        call_known(builder, kernel, "sort", buffers, ranks, _emit_rank_sort)
    else:
        call_known(builder, kernel, "sort", (*mine.arguments, *away.buffers), count, _emit_merge_sort)


@dataclass(frozen=True)
class Ranked:
    """The facts of a sort by ranks."""

    lanes: int


def _emit_rank_sort(builder: LoopBuilder, parameters: Sequence[SSAValue], facts: Ranked) -> None:
    *buffers, at, other, others, length = parameters
    home, away = (Candidates(builder, two, builder.index(at)).line for two in (buffers, (other, others)))
    first, count = builder.index(at) + 1, builder.index(length)
    call_ranks(builder, builder.kernel, (buffers[0], other, first, count), facts.lanes)
    with builder.loop(0, count, attributes=SCALAR) as place:
        rank = builder.to_index(builder.load(away.buffers[0], [place]), unsigned=True)
        builder.store(builder.load(home.buffers[1], [place]), away.buffers[1], [rank])
    vectors = VectorBuilder(builder)
    with builder.loop(0, count, step=facts.lanes) as place:
        vectors.store(vectors.load(away.buffers[1], [place], facts.lanes), home.buffers[1], [place])


def _emit_merge_sort(builder: LoopBuilder, parameters: Sequence[SSAValue], count: int) -> None:
    *buffers, at, other, others = parameters
    home, away = (Candidates(builder, two, builder.index(at)).line for two in (buffers, (other, others)))

    def precedes(first: Any, second: Any) -> SSAValue:
        return builder.on(first[0]).compare("ult", second[0]).value

    merging = Merging(builder, count, precedes)
    lines = [(home, away)[number % 2] for number in range(merging.passes + 1)]
    merging.sort(home, lines)
    if lines[-1] is away:
        away.copy_to(home, 0, count)


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

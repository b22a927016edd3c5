"""
Sorting of keys alone, in vectors: a merge sort, for rows whose elements are found again from their keys.

Equal keys are alike, so no order among them has to be kept. Blocks of columns are sorted by a network of minima and
maxima, whose vectors are then transposed; runs are merged a vector at a time: of a vector from each run, the lesser
half of the elements is written, the greater one stays, and the run with the lesser next element gives the next vector.
Each step waits for the one before it; so the other half of the merged run is written from its end at the same time.
A long row is sorted in parts; each task then writes a part of the merged rows, whose first elements it looks for.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects import arith, func, vector
from xdsl.dialects.builtin import IntegerType, VectorType, i1
from xdsl.ir import Operation, SSAValue

from ....dialects.arith_ops import SelectOp
from ....dialects.support.buffers import memref_type
from ....dialects.support.creation import create_op
from ...convert_contractions_to_vector.shared_function import call_known
from ...loop_nests.kernel_builder import Index, IndexValue
from ...loop_nests.loop_builder import LoopBuilder
from ..fourier_memory import shuffled, transposed
from ..fourier_passes import Vec, Vectors

ROWS = 16
"""Vectors that a network sorts; the length of the first runs."""

LEAST = 256
"""The length of rows that are sorted so."""

PART = 1 << 15
"""The least length of the parts of a row: twice as many keys, of each line, fit into the L2 cache."""

FEW_ROWS = 8
"""Rows below which two threads would share them unevenly."""

MOST_PARTS = 16
"""Each doubling takes one more pass whose runs do not begin with whole vectors."""

SORT_PLACES = 4
"""The numbers that `sort_keys` takes."""

Bounds: TypeAlias = tuple[IndexValue, IndexValue]
"""The first element of a run, and its end."""


def network(count: int) -> Iterator[tuple[int, int]]:
    """Batcher's merge exchange sort of a power of two of elements (Knuth, volume 3, 5.2.2 M): the pairs to compare."""
    step = 1
    while step < count:
        apart = step
        while apart:
            for j in range(apart % step, count - apart, 2 * apart):
                for i in range(j, min(j + apart, count - apart)):
                    if i // (2 * step) == (i + apart) // (2 * step):
                        yield i, i + apart
            apart //= 2
        step *= 2


def _extreme(cls: type[Operation], x: Vec, y: Vec) -> Vec:
    op = create_op(cls, operands=[x.value, y.value], result_types=[x.value.type])
    return Vec(x.vectors, x.vectors.builder.insert(op).results[0])


def split(x: Vec, y: Vec) -> tuple[Vec, Vec]:
    """The lesser and the greater key in each lane."""
    return _extreme(arith.MinUIOp, x, y), _extreme(arith.MaxUIOp, x, y)


def _ordered(less: Vec, greater: Vec) -> tuple[Vec, Vec]:
    """
    The lanes of two bitonic vectors in order.

    In each step, one vector takes the first element of each pair to compare, and another the second ones, so that every
    lane of a minimum or maximum counts. `held` says where the elements are by then.
    """
    lanes = less.vectors.lanes
    pair = less, greater
    held = [[(number, lane) for lane in range(lanes)] for number in range(2)]
    half = lanes // 2
    while half:
        masks = (
            [lane if not lane & half else lanes + lane - half for lane in range(lanes)],
            [lane + half if not lane & half else lanes + lane for lane in range(lanes)],
        )
        pair = split(*(shuffled(*pair, mask) for mask in masks))
        both = [*held[0], *held[1]]
        held = [[both[lane] for lane in mask] for mask in masks]
        half //= 2
    both = [*held[0], *held[1]]
    first, second = ([both.index((number, lane)) for lane in range(lanes)] for number in range(2))
    return shuffled(*pair, first), shuffled(*pair, second)


@dataclass(frozen=True)
class _Chain:
    """
    Some vectors of two merged runs, the least ones from the front or the greatest from the back: written one by one,
    each after those before it. `left` and `right` are where the runs go on, and where they end.
    """

    merging: Merging
    left: Bounds
    right: Bounds
    backward: bool = False
    partial: bool = False
    """Whether the runs may end within a vector."""

    def start(self) -> list[SSAValue]:
        """The state before the first step: the places in both runs, and the vector that is held."""
        return self._step(self.left[0], self.right[0])

    def step(self, state: Sequence[SSAValue]) -> tuple[Vec, list[SSAValue]]:
        """The next vector to write, and the state after it."""
        vectors, builder = self.merging.vectors, self.merging.vectors.builder
        *places, following = self._step(*map(builder.index, state[:2]))
        reversed_ = range(vectors.lanes - 1, -1, -1)
        vector_ = Vec(vectors, following)
        less, greater = _ordered(*split(shuffled(vector_, vector_, reversed_), Vec(vectors, state[2])))
        written, held = (greater, less) if self.backward else (less, greater)
        return written, [*places, held.value]

    def _step(self, left: IndexValue, right: IndexValue) -> list[SSAValue]:
        """The places after the next vector, and that vector: of the run whose next key is the nearer one."""
        builder, lanes = self.merging.vectors.builder, self.merging.vectors.lanes
        # Keys beyond the ends of the runs are read, but do not count.
        back = 1 if self.backward else 0
        first, second = (builder.on(self.merging.key(place - back)) for place in (left, right))
        nearer = first.compare("uge" if self.backward else "ule", second.value)
        if self.backward:
            takes = (left > self.left[1]) & ((right <= self.right[1]) | nearer)
        else:
            takes = (left < self.left[1]) & ((right >= self.right[1]) | nearer)
        step = -lanes if self.backward else lanes

        def chosen(one: Index, other: Index) -> IndexValue:
            return builder.select(takes, one, other, unpredictable=True)

        following, source = (chosen(left + step, left), chosen(right, right + step)), chosen(left, right)
        if self.partial:
            found = self._load_up_to(source, chosen(self.left[1], self.right[1]))
        else:
            found = self.merging.load(source + step if self.backward else source)
        return [*(place.value for place in following), found.value]

    def _load_up_to(self, source: IndexValue, end: IndexValue) -> Vec:
        """A vector of a run; lanes beyond its end hold the greatest key."""
        vectors, builder = self.merging.vectors, self.merging.vectors.builder
        count = builder.index(end - source)
        mask = create_op(vector.CreateMaskOp, operands=[count.value], result_types=[VectorType(i1, [vectors.lanes])])
        inside = builder.insert(mask).results[0]
        highest = vectors.constant(-1)
        operands = [inside, self.merging.load(source).value, highest.value]
        return Vec(vectors, builder.insert(create_op(SelectOp, operands=operands, result_types=[vectors.type])).result)


@dataclass(frozen=True)
class Merging:
    """The bodies of functions that sort the keys of one buffer."""

    vectors: Vectors
    keys: SSAValue

    def load(self, at: Index) -> Vec:
        return self.vectors.load(self.keys, at)

    def store(self, value: Vec, at: Index) -> None:
        self.vectors.store(value, self.keys, at)

    def key(self, at: Index) -> SSAValue:
        return self.vectors.element_at(self.keys, at)

    def sort(self, home: IndexValue, away: IndexValue, count: IndexValue, passes: IndexValue) -> None:
        """Sort whole blocks of keys at `home`; they are there, or `away` if the number of passes is odd."""
        builder, lanes = self.vectors.builder, self.vectors.lanes
        with builder.loop(0, builder.index(count // (ROWS * lanes))) as block:
            self._sort_block(builder.index(home + block * (ROWS * lanes)))
        with builder.loop(0, passes, carry=[home.value, away.value, builder.index(ROWS).value]) as (_, state):
            source, target, width = map(builder.index, state)
            pairs = builder.index(count + width * 2 - 1)
            pairs = builder.binary(arith.DivUIOp, pairs, width * 2)
            with builder.loop(0, pairs) as pair:
                begin = builder.index(pair * (width * 2))
                middle, end = (builder.index(builder.min(begin + width * k, count)) for k in (1, 2))
                places = [builder.index(source + place) for place in (begin, middle, end)]
                self._merge((places[0], places[1]), (places[1], places[2]), builder.index(target + begin))
            builder.yield_(target, source, builder.index(width * 2))

    def _sort_block(self, at: IndexValue) -> None:
        """Sort the columns of a block; they become runs."""
        lanes = self.vectors.lanes
        rows = [self.load(at + row * lanes) for row in range(ROWS)]
        for first, second in network(ROWS):
            rows[first], rows[second] = split(rows[first], rows[second])
        for part in range(0, ROWS, lanes):
            for column, run in enumerate(transposed(rows[part : part + lanes])):
                self.store(run, at + (column * ROWS + part))

    def _merge(self, left: Bounds, right: Bounds, target: IndexValue) -> None:
        """Merge two runs of whole vectors, two or more, from both ends; the second run may be empty."""
        builder, lanes = self.vectors.builder, self.vectors.lanes
        count = builder.index(builder.index(right[1] - left[0]) // lanes)
        half = builder.index(count // 2)
        front = _Chain(self, left, right)
        back = _Chain(self, (left[1], left[0]), (right[1], right[0]), backward=True)
        last = builder.index(target + (count - 1) * lanes)
        state = self._write([front, back], [front.start(), back.start()], [(target, 1), (last, -1)], (0, half))
        # The one in the middle.
        self._write([front], [state[:3]], [(target, 1)], (half, count - half))

    def merge_part(self, left: Bounds, right: Bounds, target: IndexValue, first: IndexValue, count: IndexValue) -> None:
        """Write `count` keys, whole pairs of vectors, of two merged runs, from number `first` of them on."""
        builder, lanes = self.vectors.builder, self.vectors.lanes
        half = builder.index(count // (2 * lanes))
        chains: list[_Chain] = []
        for number in (first, builder.index(first + half * lanes)):
            places = self._place_of(left, right, number)
            chains.append(_Chain(self, (places[0], left[1]), (places[1], right[1]), partial=True))
        targets = [(target, 1), (builder.index(target + half * lanes), 1)]
        self._write(chains, [chain.start() for chain in chains], targets, (0, half))

    def _write(
        self,
        chains: Sequence[_Chain],
        states: Sequence[Sequence[SSAValue]],
        targets: Sequence[tuple[IndexValue, int]],
        bounds: tuple[Index, Index],
    ) -> list[SSAValue]:
        """
        Write the vectors of some numbers of each chain, in turn, as they wait for each other; returns the states after.

        `targets`: where number 0 goes, and 1 or -1 for the direction.
        """
        builder, lanes = self.vectors.builder, self.vectors.lanes
        with builder.loop(*bounds, carry=[value for state in states for value in state]) as (number, carried):
            following: list[SSAValue] = []
            for k, (chain, (target, direction)) in enumerate(zip(chains, targets, strict=True)):
                written, state = chain.step(carried[3 * k : 3 * k + 3])
                self.store(written, target + number * (direction * lanes))
                following += state
            builder.yield_(*following)
        return carried

    def _place_of(self, left: Bounds, right: Bounds, first: IndexValue) -> list[IndexValue]:
        """The places in both runs before which there are `first` keys of the merged one, by binary search."""
        builder = self.vectors.builder
        low = builder.index(first - (right[1] - right[0])).max(0)
        high = builder.index(builder.min(first, left[1] - left[0]))
        with builder.loop_while([low, high]) as state:
            low, high = map(builder.index, state)
            builder.go_on_if(low < high)
            low, high = map(builder.index, state)
            middle = builder.index(builder.index(low + high) // 2)
            other = self.key(right[0] + (first - 1 - middle))
            before = builder.on(self.key(left[0] + middle)).compare("ule", other)
            builder.yield_(builder.select(before, middle + 1, low), builder.select(before, high, middle))
        taken = builder.index(state[0])
        return [builder.index(left[0] + taken), builder.index(right[0] + (first - taken))]


def _merging(builder: LoopBuilder, keys: SSAValue, facts: tuple[int, int]) -> Merging:
    width, lanes = facts
    return Merging(Vectors(builder, IntegerType(width), lanes), keys)


def sort_keys(builder: LoopBuilder, parameters: Sequence[SSAValue], facts: tuple[int, int]) -> None:
    """The body of a function: see `Merging.sort`. The facts are the width of keys and the lanes of vectors."""
    keys, *given = parameters
    _merging(builder, keys, facts).sort(*map(builder.index, given))


def merge_keys(builder: LoopBuilder, parameters: Sequence[SSAValue], facts: tuple[int, int]) -> None:
    """The body of a function: see `Merging.merge_part`."""
    keys, *given = parameters
    begin, middle, end, target, first, count = map(builder.index, given)
    _merging(builder, keys, facts).merge_part((begin, middle), (middle, end), target, first, count)


@dataclass(frozen=True)
class KeySort:
    """Sorts the keys of rows of `length` elements in scratch memory of `room` keys; a row may have several parts."""

    builder: LoopBuilder
    kernel: func.FuncOp
    length: int
    type: IntegerType
    parts: int

    @staticmethod
    def parts_of(length: int, rows: int) -> int:
        """The number of parts of a row, a power of two; 1 if there are many rows, and as many as would be parts."""
        parts = 1
        while parts < MOST_PARTS and length >= 2 * PART * parts:
            parts *= 2
        return 1 if rows >= max(parts, FEW_ROWS) else parts

    @property
    def lanes(self) -> int:
        return max(2, self.builder.vector_bits // self.type.width.data)

    @property
    def part(self) -> int:
        """The length of a part: whole blocks."""
        unit = ROWS * self.lanes
        return -(-self.length // (self.parts * unit)) * unit

    @property
    def passes(self) -> int:
        """Those that sort a part."""
        return (-(-self.part // ROWS) - 1).bit_length()

    @property
    def line(self) -> int:
        """The keys of a row, and those after it, and before the next one, that are read but do not count."""
        return self.part * self.parts + 2 * self.lanes

    @property
    def room(self) -> int:
        return 2 * self.line

    def memory(self, tasks: int) -> SSAValue:
        """The scratch memory of some tasks."""
        return self.builder.alloc(memref_type((tasks * self.room + self.lanes,), self.type))

    def place_of(self, task: Index) -> Index:
        """Where the room of a task begins: the keys before it are read, but do not count."""
        return task * self.room + self.lanes

    @property
    def _facts(self) -> tuple[int, int]:
        return self.type.width.data, self.lanes

    def places(self, at: Index, number: Index) -> tuple[Index, ...]:
        """
        The arguments of `sort_keys` after the keys, for a part of the row at `at`: it is there afterwards, or in the
        second line if the number of passes is odd.
        """
        home = at + self.builder.index(number) * self.part
        return home, home + self.line, self.part, self.passes

    @contextmanager
    def levels(self, at: Index) -> Generator[tuple[IndexValue, IndexValue, IndexValue]]:
        """A loop around `merge` that sorts a row whose parts are sorted."""
        builder = self.builder
        lines = [builder.index(at), builder.index(at + self.line)]
        start = [*(lines if self.passes % 2 == 0 else lines[::-1]), builder.index(2)]
        with builder.loop(0, self.parts.bit_length() - 1, carry=start) as (_, state):
            source, target, run = map(builder.index, state)
            yield source, target, run
            builder.yield_(target, source, builder.index(run * 2))

    def merge(self, keys: SSAValue, level: tuple[IndexValue, IndexValue, IndexValue], number: IndexValue) -> None:
        """Write one part of the runs of a level; two runs of parts that are sorted become one."""
        builder = self.builder
        source, target, run = level
        before = builder.index(builder.binary(arith.DivUIOp, number, run) * run)
        begin, half = builder.index(source + before * self.part), builder.index(run * (self.part // 2))
        middle = builder.index(begin + half)
        first = builder.index(number - before) * self.part
        arguments = (keys, begin, middle, middle + half, target + number * self.part, first, self.part)
        call_known(builder, self.kernel, "merge_keys", arguments, self._facts, merge_keys)

    def sorted_at(self, at: Index) -> Index:
        """Where the sorted row is."""
        return at + self.line * ((self.passes + (self.parts.bit_length() - 1)) % 2)

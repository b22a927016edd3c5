"""
Sorting of many rows at once, a row in each lane of vectors, by a network of minima and maxima.

Elements become integers whose order is theirs: keys from which the elements are found again, or keys above the places
of the elements, so that equal ones keep their order. Rows are transposed first; columns lie side by side already.

Runs of ROWS vectors are sorted in registers. Two runs are merged by comparing the first with the second backwards, and
then vectors that are half a run, a quarter, .. apart; the last of these steps are in registers again. Keys beyond
the end of the rows would be the greatest, which no comparison moves.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import SSAValue

from ....dialects.linalg_ext.sort import SortByKeyOp
from ....dialects.support.attributes import integer_attr
from ....dialects.support.buffers import memref_type
from ....dialects.support.scalar import Scalar
from ...convert_contractions_to_vector.shared_function import call_known
from ...loop_nests.kernel_builder import Index, IndexValue
from ...loop_nests.loop_builder import PARALLEL, LoopBuilder, buffer_of
from ..fourier_memory import transposed
from ..fourier_passes import Vec, Vectors
from .vectors import ROWS, network, split

MOST, MOST_OF_COLUMNS = 768, 1024
"""The length of the longest rows, and columns, that are sorted so; their vectors stay near the first-level cache."""

Row: TypeAlias = Callable[[Index, Index], None]
"""Sorts one row; takes the place of scratch memory and the row's number."""


@dataclass(frozen=True)
class Network:
    """The body of a function that sorts vectors, lane by lane: `count` of them, whole blocks of ROWS."""

    vectors: Vectors
    codes: SSAValue
    at: IndexValue
    count: IndexValue

    def load(self, place: Index) -> Vec:
        return self.vectors.load(self.codes, self.at + place * self.vectors.lanes)

    def store(self, value: Vec, place: Index) -> None:
        self.vectors.store(value, self.codes, self.at + place * self.vectors.lanes)

    def sort(self, levels: IndexValue) -> None:
        """`levels`: how often runs are merged."""
        builder = self.vectors.builder
        self._each_block(list(network(ROWS)))
        last = [(i, i + apart) for apart in (8, 4, 2, 1) for i in range(ROWS) if not i & apart]
        with builder.loop(0, levels, carry=[builder.index(ROWS)]) as (level, state):
            run = builder.index(state[0])
            self._mirrored(run)
            with builder.loop(0, level, carry=[builder.index(run // 2)]) as (_, distance):
                apart = builder.index(distance[0])
                self._apart(apart)
                builder.yield_(builder.index(apart // 2))
            self._each_block(last)
            builder.yield_(builder.index(run * 2))

    def _each_block(self, pairs: Sequence[tuple[int, int]]) -> None:
        builder = self.vectors.builder
        with builder.loop(0, builder.index(self.count // ROWS)) as block:
            first = builder.index(block * ROWS)
            rows = [self.load(first + row) for row in range(ROWS)]
            for one, other in pairs:
                rows[one], rows[other] = split(rows[one], rows[other])
            for row, value in enumerate(rows):
                self.store(value, first + row)

    def _mirrored(self, run: IndexValue) -> None:
        """Compare the vectors of each run with those of the next, the last one first."""
        builder = self.vectors.builder
        with self._pairs_of(run) as begin:
            # The second run may be shorter, or missing.
            first = builder.index(run * 2 - (self.count - begin)).max(0)
            last = builder.index(begin + run * 2 - 1)
            with builder.loop(first, run) as i:
                self._exchange(begin + i, last - i)

    def _apart(self, apart: IndexValue) -> None:
        builder = self.vectors.builder
        with self._pairs_of(apart) as begin:
            end = builder.index(builder.min(apart, builder.index(self.count - begin - apart))).max(0)
            with builder.loop(0, end) as i:
                self._exchange(begin + i, begin + apart + i)

    @contextmanager
    def _pairs_of(self, run: IndexValue) -> Generator[IndexValue]:
        """A loop over pairs of runs: the first vector of each."""
        builder = self.vectors.builder
        two = builder.index(run * 2)
        with builder.loop(0, builder.binary(arith.DivUIOp, builder.index(self.count + two - 1), two)) as pair:
            yield builder.index(pair * two)

    def _exchange(self, one: Index, other: Index) -> None:
        less, greater = split(self.load(one), self.load(other))
        self.store(less, one)
        self.store(greater, other)

    def transpose(self, rows: SSAValue, at: IndexValue, back: bool) -> None:
        """Copy rows of `count` codes, one per lane, to the vectors, or `back`."""
        builder, lanes = self.vectors.builder, self.vectors.lanes
        with builder.loop(0, builder.index(self.count // lanes)) as block:
            first = builder.index(block * lanes)
            places = [builder.index(self.count * lane + first + at) for lane in range(lanes)]
            if back:
                found = transposed([self.load(first + k) for k in range(lanes)])
                for place, value in zip(places, found, strict=True):
                    self.vectors.store(value, rows, place)
            else:
                for k, value in enumerate(transposed([self.vectors.load(rows, place) for place in places])):
                    self.store(value, first + k)


def sort_columns(builder: LoopBuilder, parameters: Sequence[SSAValue], facts: tuple[int, int]) -> None:
    """The body of a function: see `Network.sort`. The facts are the width of codes and the lanes of vectors."""
    codes, *numbers = parameters
    at, count, levels = map(builder.index, numbers)
    Network(Vectors(builder, IntegerType(facts[0]), facts[1]), codes, at, count).sort(levels)


def sort_rows(builder: LoopBuilder, parameters: Sequence[SSAValue], facts: tuple[int, int]) -> None:
    """The body of a function that sorts rows of codes, by way of vectors."""
    codes, rows, *numbers = parameters
    at, rows_at, count, levels = map(builder.index, numbers)
    columns = Network(Vectors(builder, IntegerType(facts[0]), facts[1]), codes, at, count)
    columns.transpose(rows, rows_at, back=False)
    columns.sort(levels)
    columns.transpose(rows, rows_at, back=True)


@dataclass(frozen=True)
class LaneSort:
    """A sort of rows by keys, `lanes` rows at a time. Rows are (outer, length, inner) in each output."""

    op: SortByKeyOp
    builder: LoopBuilder
    homes: Sequence[SSAValue]
    shape: tuple[int, int, int]
    type: IntegerType
    """The type of codes."""
    otherwise: Row | None
    """Sorts rows with an element that is not found from its key; None if codes hold places."""

    @staticmethod
    def type_of(op: SortByKeyOp, length: int) -> IntegerType | None:
        """The type of codes; None if no integer has room for a key and a place."""
        last = op.regions[0].block.last_op
        assert last is not None
        key = cast(Any, last.operands[0].type)
        if len(op.regions) == 2:
            return key
        width = key.width.data + (length - 1).bit_length()
        return IntegerType(32 if width <= 32 else 64) if width <= 64 else None

    @staticmethod
    def lanes_of(builder: LoopBuilder, type_: IntegerType) -> int:
        return max(2, builder.vector_bits // type_.width.data)

    @property
    def lanes(self) -> int:
        return self.lanes_of(self.builder, self.type)

    @property
    def count(self) -> int:
        """The vectors of a group of rows."""
        return -(-self.shape[1] // ROWS) * ROWS

    @property
    def groups(self) -> int:
        outer, _, inner = self.shape
        return outer * -(-inner // self.lanes) if inner > 1 else -(-outer // self.lanes)

    def sorter(self, tasks: int) -> Row:
        """Sorts a group of rows, in memory of its task."""
        builder, inner = self.builder, self.shape[2]
        size = self.count * self.lanes
        codes = builder.alloc(memref_type((tasks * size,), self.type))
        rows = codes if inner > 1 else builder.alloc(memref_type((tasks * size,), self.type))
        copies: list[SSAValue] = []
        if self.otherwise is None:
            copies = [builder.alloc(memref_type((tasks * size,), buffer_of(home).element_type)) for home in self.homes]

        def group(task: Index, number: Index) -> None:
            at = builder.index(task) * size
            lines = [builder.strided_view(buffer, at, (size,), (1,)) for buffer in (rows, *copies)]
            batch = self._batch(builder.index(number), lines[0], lines[1:])
            others = batch.read()
            levels = (self.count // ROWS - 1).bit_length()
            facts = self.type.width.data, self.lanes
            kernel = cast(func.FuncOp, self.op.parent_op())

            def sort() -> None:
                if inner > 1:
                    call_known(builder, kernel, "sort_columns", (codes, at, self.count, levels), facts, sort_columns)
                else:
                    arguments = (codes, rows, at, at, self.count, levels)
                    call_known(builder, kernel, "sort_rows", arguments, facts, sort_rows)
                batch.write()

            if self.otherwise is None:
                sort()
                return
            with builder.when(others.compare("eq", 0)):
                sort()
            with builder.otherwise(), builder.loop(0, batch.rows) as lane:
                self.otherwise(task, batch.first + lane)

        return group

    def _batch(self, number: IndexValue, codes: SSAValue, copies: Sequence[SSAValue]) -> _Batch:
        builder, (outer, _, inner) = self.builder, self.shape
        if inner == 1:
            first, column = builder.index(number * self.lanes), builder.index(0)
            left = builder.index(outer - first)
        else:
            per = -(-inner // self.lanes)
            first, column = builder.index(number // per), builder.index((number % per) * self.lanes)
            left = builder.index(inner - column)
        return _Batch(self, first, column, builder.index(builder.min(self.lanes, left)), codes, copies)


@dataclass(frozen=True)
class _Batch:
    """The rows of one group."""

    sort: LaneSort
    outer: IndexValue
    """The outer index of the first row; of all of them, if they are columns."""
    inner: IndexValue
    """The inner index of the first row."""
    rows: IndexValue
    """Rows that there are, one per lane."""
    codes: SSAValue
    copies: Sequence[SSAValue]
    """The elements of each output, placed as codes are, where codes hold the places of elements."""

    @property
    def first(self) -> IndexValue:
        """The number of the first row."""
        return self.sort.builder.index(self.outer * self.sort.shape[2] + self.inner)

    def read(self) -> Scalar:
        """Compute the codes; returns how many elements are not those that are found from them."""
        builder, length = self.sort.builder, self.sort.shape[1]
        zero, highest = (builder.scalar(integer_attr(value, self.sort.type)) for value in (0, -1))
        total = self._each([zero], self._read_element)
        if self.sort.shape[2] > 1:
            ends = (length * self.sort.lanes, self.sort.count * self.sort.lanes)
            with builder.loop(*ends, attributes=PARALLEL) as place:
                builder.store(highest, self.codes, [place])
        else:
            with builder.loop(0, self.rows) as lane, builder.loop(length, self.sort.count, attributes=PARALLEL) as k:
                builder.store(highest, self.codes, [self._at(lane, k)])
        return builder.on(total[0])

    def write(self) -> None:
        self._each([], self._write_element)

    def _each(self, carry: Sequence[SSAValue], body: Callable[..., Sequence[Scalar]]) -> list[SSAValue]:
        """A loop over all elements, in the order of their memory; `body` gets a lane, a place and what is carried."""
        builder, length = self.sort.builder, self.sort.shape[1]
        sizes: tuple[Index, Index] = (self.rows, length) if self.sort.shape[2] == 1 else (length, self.rows)
        with builder.loop(0, sizes[0], carry=carry) as (i, outside):
            with builder.loop(0, sizes[1], carry=outside, attributes={} if carry else PARALLEL) as (j, inside):
                lane, k = (i, j) if self.sort.shape[2] == 1 else (j, i)
                builder.yield_(*body(lane, k, inside))
            builder.yield_(*inside)
        return outside

    def _at(self, lane: Index, k: Index) -> Index:
        return lane * self.sort.count + k if self.sort.shape[2] == 1 else k * self.sort.lanes + lane

    def _home(self, lane: Index, k: Index) -> list[Index]:
        return [self.outer + lane, k, 0] if self.sort.shape[2] == 1 else [self.outer, k, self.inner + lane]

    def _read_element(self, lane: IndexValue, k: IndexValue, total: Sequence[SSAValue]) -> list[Scalar]:
        sort, builder = self.sort, self.sort.builder
        values = [builder.load(home, self._home(lane, k)) for home in sort.homes]
        (key,) = builder.inline(sort.op.regions[0].block, values)
        if sort.otherwise is not None:
            builder.store(key, self.codes, [self._at(lane, k)])
            (found,) = builder.inline(sort.op.regions[1].block, [key])
            same, own = (each.bits() if each.is_float else each for each in map(builder.on, (found, values[0])))
            return [builder.on(total[0]) + same.compare("ne", own).cast(arith.ExtUIOp, sort.type)]
        wide = builder.on(key)
        if wide.type != sort.type:
            wide = wide.cast(arith.ExtUIOp, sort.type)
        place = builder.on(k.cast_to(sort.type))
        builder.store((wide << self._place_bits) | place, self.codes, [self._at(lane, k)])
        for value, copy in zip(values, self.copies, strict=True):
            builder.store(value, copy, [self._at(lane, k)])
        return [builder.on(value) for value in total]

    @property
    def _place_bits(self) -> int:
        return (self.sort.shape[1] - 1).bit_length()

    def _write_element(self, lane: IndexValue, k: IndexValue, _: Sequence[SSAValue]) -> list[Scalar]:
        sort, builder = self.sort, self.sort.builder
        code = builder.load(self.codes, [self._at(lane, k)])
        if sort.otherwise is not None:
            values = builder.inline(sort.op.regions[1].block, [code])
        else:
            place = builder.on(code) & ((1 << self._place_bits) - 1)
            source = self._at(lane, builder.to_index(place.value, unsigned=True))
            values = [builder.load(copy, [source]) for copy in self.copies]
        for value, home in zip(values, sort.homes, strict=True):
            builder.store(value, home, self._home(lane, k))
        return []

"""
Radix sort of rows by integer keys: stable, a digit at a time, from the lowest.

A long row is sorted by several tasks: for each digit, each task moves its part of the row to where the elements of
lesser digits, and of parts before it, leave room.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from ...dialects.support.attributes import integer_attr
from ...dialects.support.buffers import memref_type
from ...dialects.support.scalar import Scalar
from ..convert_contractions_to_vector.shared_function import SharedFunctions
from ..loop_nests.indices import chunk
from ..loop_nests.kernel_builder import Index, IndexValue
from ..loop_nests.loop_builder import PARALLEL, LoopBuilder, buffer_of

FEW_ROWS = 8
"""Rows below which long ones are sorted by several tasks each: fewer would keep few threads busy, and unevenly."""

LEAST_PART = 1 << 14
"""The least length of a part: many times the counts of a digit."""

MOST_PARTS = 16
"""The most parts of a row: tasks count the next digit for each of them."""


@dataclass(frozen=True)
class Line:
    """A row of N-tuples, whose components are in N buffers."""

    builder: LoopBuilder
    buffers: Sequence[SSAValue]
    place: Callable[[Index], Sequence[Index]]

    def load(self, index: Index) -> list[SSAValue]:
        return [self.builder.load(buffer, self.place(index)) for buffer in self.buffers]

    def store(self, values: Sequence[SSAValue], index: Index) -> None:
        for value, buffer in zip(values, self.buffers, strict=True):
            self.builder.store(value, buffer, self.place(index))

    def copy_to(self, target: Line, lower: Index, upper: Index) -> None:
        """Copy the elements of a range to the same indices of another line."""

        with self.builder.loop(lower, upper, attributes=PARALLEL) as index:
            target.store(self.load(index), index)


Key: TypeAlias = Callable[[Sequence[SSAValue]], SSAValue]
"""The key of an element."""


@dataclass(frozen=True)
class Parts:
    """Few long rows, and the parts of each, which tasks take."""

    count: int
    length: int
    size: int
    """The elements of a part, a power of two; the last one may have fewer."""

    @staticmethod
    def of(count: int, length: int) -> Parts:
        """One part of each row if there are many rows, or short ones."""
        if count >= FEW_ROWS:
            return Parts(count, length, length)
        size = LEAST_PART
        while -(-length // size) > MOST_PARTS:
            size *= 2
        return Parts(count, length, size)

    @property
    def parts(self) -> int:
        """The parts of a row."""
        return -(-self.length // self.size)

    @contextmanager
    def tasks(self, builder: LoopBuilder) -> Generator[tuple[IndexValue, Index, tuple[Index, Index]]]:
        """A parallel loop over all parts: the number of the task, its row, and its part of the row."""
        with builder.parallel(self.count * self.parts) as task:
            row, part = task // self.parts, task % self.parts
            yield task, row, chunk(builder, part, self.size, self.length)


@dataclass(frozen=True)
class Radix:
    """Radix sort of rows of equal length: `key` computes an unsigned integer of `width` bits from each element."""

    builder: LoopBuilder
    length: int
    key: Key
    width: int

    @property
    def bits(self) -> int:
        """Bits per digit, chosen so that the number of digits is 1 or even."""
        return 11 if self.width > 32 else 8

    @property
    def digits(self) -> int:
        return -(-self.width // self.bits)

    def sort(self, lines: Sequence[Line], counts: SSAValue, task: Index) -> None:
        """
        Sort through the lines, from the first, which holds the row, to the last; `counts`: (tasks, digits << bits).
        """
        builder, size, own = self.builder, 1 << self.bits, self._own(counts, task)
        zero = self._clear(own, self.digits * size)
        with builder.loop(0, self.length) as index:
            key = self.key(lines[0].load(index))
            for digit in range(self.digits):
                self._next(own, self._bucket(key, digit, digit << self.bits))
        with builder.loop(0, size, carry=[zero] * self.digits) as (index, totals):
            following: list[Scalar] = []
            for digit, total in enumerate(totals):
                following.append(self._replace(own, [index + digit * size], total))
            builder.yield_(*following)
        for digit, (source, target) in enumerate(pairwise(lines)):
            self._distribute(digit, source, target, own, digit << self.bits, (0, self.length))

    def sort_in_parts(self, rows: Parts, lines: Callable[[Index], Sequence[Line]], functions: SharedFunctions) -> None:
        """
        Sort rows through their lines by several tasks each.

        A task that moves its part by a digit counts the next one, for each part of the row that an element goes to. The
        sums between two digits are a function's, whose code the digits, and other programs, share.
        """
        builder, size, parts = self.builder, 1 << self.bits, rows.parts
        counts = builder.alloc(memref_type((rows.count * parts, size), i32))
        following = builder.alloc(memref_type((rows.count * parts, parts * size), i32))
        with rows.tasks(builder) as (task, row, bounds):
            own = self._own(counts, task)
            self._clear(own, size)
            with builder.loop(*bounds) as index:
                self._next(own, self._bucket(self.key(lines(row)[0].load(index)), 0, 0))
        for digit in range(self.digits):
            with builder.parallel(rows.count) as row:
                if digit:
                    self._gather_apart(functions, counts, following, row * parts, parts)
                self._add_up_apart(functions, counts, row * parts, parts)
            with rows.tasks(builder) as (task, row, bounds):
                source, target = lines(row)[digit : digit + 2]
                more = self._own(following, task) if digit + 1 < self.digits else None
                if more is not None:
                    self._clear(more, parts * size)
                self._distribute(digit, source, target, self._own(counts, task), 0, bounds, more, rows.size)

    def _gather_apart(
        self, functions: SharedFunctions, counts: SSAValue, following: SSAValue, first: Index, parts: int
    ) -> None:
        """Call a function next to the kernel that does what `_gather` does."""

        def emit(builder: LoopBuilder, given: Sequence[SSAValue]) -> None:
            inside = Radix(builder, self.length, self.key, self.width)
            inside._gather(given[0], given[1], builder.index(given[2]), parts)

        functions.call("gather", (counts, following, first), self._stated("gather", parts), emit)

    def _add_up_apart(self, functions: SharedFunctions, counts: SSAValue, first: Index, parts: int) -> None:
        """Call a function next to the kernel that does what `_add_up` does."""

        def emit(builder: LoopBuilder, given: Sequence[SSAValue]) -> None:
            inside = Radix(builder, self.length, self.key, self.width)
            inside._add_up(given[0], builder.index(given[1]), parts)

        functions.call("add_up", (counts, first), self._stated("add_up", parts), emit)

    def _stated(self, name: str, parts: int) -> Sequence[str]:
        """All that such a function depends on."""
        return __name__, name, str(parts), str(self.bits)

    def _gather(self, counts: SSAValue, following: SSAValue, first: Index, parts: int) -> None:
        """The counts of the parts, from what each task counted for each."""
        builder, size = self.builder, 1 << self.bits
        with builder.loop(0, parts) as part:
            own = self._own(counts, first + part)
            self._clear(own, size)
            with builder.loop(0, parts) as task, builder.loop(0, size, attributes=PARALLEL) as bucket:
                more = builder.load(following, (first + task, part * size + bucket))
                builder.store(builder.on(builder.load(own, [bucket])) + more, own, [bucket])

    def _add_up(self, counts: SSAValue, first: Index, parts: int) -> None:
        """Counts of the parts of a row become the elements of lesser digits, and of the same one in parts before."""
        builder, size = self.builder, 1 << self.bits
        total = builder.strided_view(builder.alloca(memref_type((size,), i32)), 0, (size,), (1,))
        zero = self._clear(total, size)
        with builder.loop(0, parts) as number, builder.loop(0, size, attributes=PARALLEL) as bucket:
            before = builder.load(total, [bucket])
            builder.store(self._replace(counts, (first + number, bucket), before), total, [bucket])
        with builder.loop(0, size, carry=[zero]) as (bucket, before):
            builder.yield_(self._replace(total, [bucket], before[0]))
        with builder.loop(0, parts) as number, builder.loop(0, size, attributes=PARALLEL) as bucket:
            place = (first + number, bucket)
            builder.store(builder.on(builder.load(counts, place)) + builder.load(total, [bucket]), counts, place)

    def _own(self, counts: SSAValue, task: Index) -> SSAValue:
        """The counts of a task."""
        size = buffer_of(counts).get_shape()[1]
        return self.builder.strided_view(counts, self.builder.index(task) * size, (size,), (1,))

    def _clear(self, counts: SSAValue, count: int) -> SSAValue:
        zero = self.builder.scalar(integer_attr(0, i32))
        with self.builder.loop(0, count, attributes=PARALLEL) as index:
            self.builder.store(zero, counts, [index])
        return zero

    def _replace(self, counts: SSAValue, place: Sequence[Index], before: SSAValue) -> Scalar:
        """Store in place of a count how many elements are before those that it counts; returns both together."""
        own = self.builder.load(counts, place)
        self.builder.store(before, counts, place)
        return self.builder.on(before) + own

    def _distribute(
        self,
        digit: int,
        source: Line,
        target: Line,
        counts: SSAValue,
        first: int,
        bounds: tuple[Index, Index],
        following: SSAValue | None = None,
        part: int = 1,
    ) -> None:
        """
        Move the elements of a range by a digit.

        `first`: the index of the digit's first count; `following`: counts of the next digit for each `part` of the row.
        """
        builder = self.builder
        with builder.loop(*bounds) as index:
            values = source.load(index)
            key = self.key(values)
            found = self._next(counts, self._bucket(key, digit, first))
            place = builder.to_index(found, unsigned=True)
            target.store(values, place)
            if following is not None:
                number = builder.index(place // part)
                bucket = self._bucket(key, digit + 1, 0)
                self._next(following, builder.index(number * (1 << self.bits) + bucket))

    def _next(self, counts: SSAValue, bucket: IndexValue) -> SSAValue:
        """Return a count and increment it."""
        found = self.builder.load(counts, [bucket])
        self.builder.store(self.builder.on(found) + 1, counts, [bucket])
        return found

    def _bucket(self, key: SSAValue, digit: int, first: int) -> IndexValue:
        """The index of a digit's count, where the first one has the index `first`."""
        builder, number = self.builder, self.builder.on(key)
        if digit:
            number = number.shift_right_logical(digit * self.bits)
        if (digit + 1) * self.bits < self.width:
            number &= (1 << self.bits) - 1
        place = builder.to_index(number.value, unsigned=True)
        return builder.index(place + first)

"""Radix sort of rows by integer keys: stable, a digit at a time, from the lowest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from ....dialects.support.attributes import integer_attr
from ....dialects.support.scalar import Scalar
from ...loop_nests.kernel_builder import Index, IndexValue
from ...loop_nests.loop_builder import PARALLEL, LoopBuilder


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


def put_before(builder: LoopBuilder, counts: SSAValue, place: Index, before: SSAValue) -> Scalar:
    """Store in place of a count how many elements are before those that it counts; returns both together."""
    own = builder.load(counts, [place])
    builder.store(before, counts, [place])
    return builder.on(before) + own


SHORT_DIGIT = 8
"""Bits of a digit whose counts fit into the first-level cache several times."""

LONG_DIGIT = 11
"""Bits of a digit of long keys: each is a pass over the row."""

Key: TypeAlias = Callable[[Sequence[SSAValue]], SSAValue]
"""The key of an element."""


@dataclass(frozen=True)
class Radix:
    """Radix sort of rows of equal length: `key` computes an unsigned integer of `width` bits from each element."""

    builder: LoopBuilder
    length: Index
    key: Key
    width: int
    bits: int
    """Bits per digit; the number of digits is 1 or even."""

    @property
    def size(self) -> int:
        """The counts of a digit."""
        return 1 << self.bits

    @property
    def digits(self) -> int:
        return -(-self.width // self.bits)

    @property
    def counts(self) -> int:
        """The counts of all digits."""
        return self.digits << self.bits

    def sort(self, lines: Sequence[Line], own: SSAValue) -> None:
        """Sort through the lines, from the first, which holds the row, to the last; `own`: memory for the counts."""
        builder, size = self.builder, 1 << self.bits
        zero = self.clear(own, self.digits * size)
        with builder.loop(0, self.length) as index:
            key = self.key(lines[0].load(index))
            for digit in range(self.digits):
                self.next(own, self.bucket(key, digit, digit << self.bits))
        with builder.loop(0, size, carry=[zero] * self.digits) as (index, totals):
            following: list[Scalar] = []
            for digit, total in enumerate(totals):
                following.append(put_before(builder, own, index + digit * size, total))
            builder.yield_(*following)
        for digit, (source, target) in enumerate(pairwise(lines)):
            self.distribute(digit, source, target, own, digit << self.bits, (0, self.length))

    def clear(self, counts: SSAValue, count: Index) -> SSAValue:
        zero = self.builder.scalar(integer_attr(0, i32))
        with self.builder.loop(0, count, attributes=PARALLEL) as index:
            self.builder.store(zero, counts, [index])
        return zero

    def distribute(
        self,
        digit: int,
        source: Line,
        target: Line,
        counts: SSAValue,
        first: int,
        bounds: tuple[Index, Index],
        following: SSAValue | None = None,
        part_bits: int = 0,
    ) -> None:
        """
        Move the elements of a range by a digit.

        `first`: the index of the digit's first count; `following`: counts of the next digit for each part of the row,
        which has `part_bits` bits of a place.
        """
        builder = self.builder
        with builder.loop(*bounds) as index:
            values = source.load(index)
            key = self.key(values)
            found = self.next(counts, self.bucket(key, digit, first))
            place = builder.to_index(found, unsigned=True)
            target.store(values, place)
            if following is not None:
                number = place >> part_bits
                bucket = self.bucket(key, digit + 1, 0)
                self.next(following, builder.index(number * (1 << self.bits) + bucket))

    def next(self, counts: SSAValue, bucket: IndexValue) -> SSAValue:
        """Return a count and increment it."""
        found = self.builder.load(counts, [bucket])
        self.builder.store(self.builder.on(found) + 1, counts, [bucket])
        return found

    def bucket(self, key: SSAValue, digit: int, first: int) -> IndexValue:
        """The index of a digit's count, where the first one has the index `first`."""
        builder, number = self.builder, self.builder.on(key)
        if digit:
            number = number.shift_right_logical(digit * self.bits)
        if (digit + 1) * self.bits < self.width:
            number &= (1 << self.bits) - 1
        place = builder.to_index(number.value, unsigned=True)
        return builder.index(place + first)

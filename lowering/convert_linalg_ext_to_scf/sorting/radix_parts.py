"""
Radix sort of few long rows by several tasks each: for each digit, each task moves its part of the row to where the
elements of lesser digits, and of parts before it, leave room.

Programs share the functions that tasks call.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from ....dialects.support.attributes import integer_attr
from ....dialects.support.buffers import memref_type
from ...convert_contractions_to_vector.shared_function import SharedFunctions, call_or_emit
from ...loop_nests.indices import chunk
from ...loop_nests.kernel_builder import Index, IndexValue
from ...loop_nests.loop_builder import PARALLEL, LoopBuilder
from .by_key import Elements, KeyRows
from .radix import Line, Radix, put_before

FEW_ROWS = 8
"""Rows below which long ones are sorted by several tasks each: fewer would keep few threads busy, and unevenly."""

LEAST_PART = 1 << 14
"""The least length of a part: many times the counts of a digit."""

MOST_PARTS = 16
"""The most parts of a row: tasks count the next digit for each of them."""

LEAST_OF_LONG_KEYS = 4
"""The least parts of a row with keys of more than 32 bits: their short digits take up to a third longer in all."""


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
class _Digit:
    """The facts of a function that moves a part of a row by a digit, and counts the next one if there is one more."""

    elements: Elements
    digit: int
    more: bool
    part_bits: int
    """Those of a place within a part."""


def _row(builder: LoopBuilder, buffers: Sequence[SSAValue], first: SSAValue) -> Line:
    return Line(builder, buffers, lambda k: (builder.index(first) + k,))


def _counts(radix: Radix, counts: SSAValue, first: SSAValue, count: int) -> SSAValue:
    return radix.builder.strided_view(counts, radix.builder.index(first), (count,), (1,))


def _emit_count(builder: LoopBuilder, parameters: Sequence[SSAValue], facts: Elements) -> None:
    """
    Count the lowest digit of the elements of a part.

    Parameters: elements, counts; where the row begins, the part's bounds, the place of the counts.
    """
    buffers, (counts, first, begin, end, at) = facts.take(parameters)
    radix = facts.radix(builder, 0)
    own, source = _counts(radix, counts, at, radix.size), _row(builder, buffers, first)
    radix.clear(own, radix.size)
    with builder.loop(builder.index(begin), builder.index(end)) as index:
        radix.next(own, radix.bucket(radix.key(source.load(index)), 0, 0))


def _emit_move(builder: LoopBuilder, parameters: Sequence[SSAValue], facts: _Digit) -> None:
    """
    Move the elements of a part by a digit.

    Parameters: elements, their new memory, counts, where the row begins in the memory of both; the part's bounds, the
    place of the counts. If there is one more digit: its counts, their place and number.
    """
    sources, rest = facts.elements.take(parameters)
    targets, rest = facts.elements.take(rest)
    counts, first, begin, end, at, *more = rest
    radix = facts.elements.radix(builder, 0)
    source, target = _row(builder, sources, first), _row(builder, targets, first)
    own, bounds = _counts(radix, counts, at, radix.size), (builder.index(begin), builder.index(end))
    if not facts.more:
        radix.distribute(facts.digit, source, target, own, 0, bounds)
        return
    following, following_at, count = more
    view = _counts(radix, following, following_at, radix.size * MOST_PARTS)
    radix.clear(view, builder.index(count))
    radix.distribute(facts.digit, source, target, own, 0, bounds, view, facts.part_bits)


@dataclass(frozen=True)
class _Sums:
    """The functions that add up counts between two digits: of `size` buckets, for each part of a row."""

    parts: int
    size: int

    def emit_gather(self, builder: LoopBuilder, parameters: Sequence[SSAValue]) -> None:
        """
        The counts of the parts, from what each task counted for each.

        Parameters: both, and the number of the first task.
        """
        counts, following, number = parameters
        first, parts, size = builder.index(number), self.parts, self.size
        zero = builder.scalar(integer_attr(0, i32))
        with builder.loop(0, parts) as part:
            own = builder.strided_view(counts, builder.index(first + part) * size, (size,), (1,))
            with builder.loop(0, size, attributes=PARALLEL) as bucket:
                builder.store(zero, own, [bucket])
            with builder.loop(0, parts) as task, builder.loop(0, size, attributes=PARALLEL) as bucket:
                place = builder.index(first + task) * (parts * size) + part * size + bucket
                more = builder.load(following, [place])
                builder.store(builder.on(builder.load(own, [bucket])) + more, own, [bucket])

    def emit_add_up(self, builder: LoopBuilder, parameters: Sequence[SSAValue]) -> None:
        """
        Counts of the parts of a row become the elements of lesser digits, and of the same one in parts before.

        Parameters: the counts, and the number of the first task.
        """
        counts, number = parameters
        first, parts, size = builder.index(number), self.parts, self.size
        total = builder.strided_view(builder.alloca(memref_type((size,), i32)), 0, (size,), (1,))
        zero = builder.scalar(integer_attr(0, i32))
        with builder.loop(0, size, attributes=PARALLEL) as bucket:
            builder.store(zero, total, [bucket])
        with builder.loop(0, parts) as part, builder.loop(0, size, attributes=PARALLEL) as bucket:
            before, place = builder.load(total, [bucket]), builder.index(first + part) * size + bucket
            builder.store(put_before(builder, counts, place, before), total, [bucket])
        with builder.loop(0, size, carry=[zero]) as (bucket, sums):
            builder.yield_(put_before(builder, total, bucket, sums[0]))
        with builder.loop(0, parts) as part, builder.loop(0, size, attributes=PARALLEL) as bucket:
            place = builder.index(first + part) * size + bucket
            builder.store(builder.on(builder.load(counts, [place])) + builder.load(total, [bucket]), counts, [place])


def sort_in_parts(rows: KeyRows) -> bool:
    """
    Sort few long rows by several tasks each; False for others.

    A task that moves its part by a digit counts the next one, for each part of the row that an element goes to.
    """
    builder, (_, length, inner), parts = rows.builder, rows.shape, Parts.of(rows.tasks, rows.shape[1])
    if parts.parts < (LEAST_OF_LONG_KEYS if rows.elements.key_type.width.data > 32 else 2):
        return False
    # Counts of longer digits, for each part, do not fit into the first-level cache.
    rows = replace(rows, in_parts=True)
    radix = rows.elements.radix(builder, length)
    away, homes = rows.copies(), rows.homes
    second = rows.copies() if inner > 1 else homes
    lines = [(second, away)[number % 2] for number in range(radix.digits + 1)]
    if inner > 1:  # columns: copied into scratch and back
        with parts.tasks(builder) as (_, row, bounds):
            rows.home(row).copy_to(rows.copy(second, row), *bounds)
    _sort_by_digits(rows, parts, lines, radix)
    if lines[-1] is not homes:
        with parts.tasks(builder) as (_, row, bounds):
            rows.copy(lines[-1], row).copy_to(rows.home(row), *bounds)
    return True


def _sort_by_digits(rows: KeyRows, parts: Parts, lines: Sequence[Sequence[SSAValue]], radix: Radix) -> None:
    """Sort through the buffers of the lines."""
    builder, kernel, blocks = rows.builder, rows.kernel, [rows.elements.key]
    size, part_bits = radix.size, parts.size.bit_length() - 1
    counts = builder.alloc(memref_type((parts.count * parts.parts * size,), i32))
    following = builder.alloc(memref_type((parts.count * parts.parts**2 * size,), i32))
    # All digits call the same functions between them.
    functions, sums = SharedFunctions(builder, kernel), _Sums(parts.parts, size)
    stated = repr(sums)
    with parts.tasks(builder) as (task, row, bounds):
        arguments = (*lines[0], counts, row * parts.length, *bounds, task * size)
        call_or_emit(builder, kernel, "count", arguments, rows.elements, _emit_count, blocks)
    for digit in range(radix.digits):
        with builder.parallel(parts.count) as row:
            first_task = row * parts.parts
            if digit:
                functions.call(
                    "gather", (counts, following, first_task), (__name__, "gather", stated), sums.emit_gather
                )
            functions.call("add_up", (counts, first_task), (__name__, "add_up", stated), sums.emit_add_up)
        with parts.tasks(builder) as (task, row, bounds):
            facts = _Digit(rows.elements, digit, digit + 1 < radix.digits, part_bits)
            first, cleared = row * parts.length, parts.parts * size
            more = (following, task * cleared, cleared) if facts.more else ()
            arguments = (*lines[digit], *lines[digit + 1], counts, first, *bounds, task * size, *more)
            call_or_emit(builder, kernel, "move", arguments, facts, _emit_move, blocks)

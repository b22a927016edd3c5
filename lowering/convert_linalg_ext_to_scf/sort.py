"""
Loops of sort and sort_by_key: merge sort from sorted runs up, and radix sort of long rows by integer keys.

A row is what is sorted together; rows are spread over tasks. Each task has rows of scratch, between which the passes
move the elements; the last pass writes the row itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, i32, i64
from xdsl.ir import SSAValue

from ...dialects.buffers import INDEX, memref_type, row_major
from ...dialects.linalg_ext_sort import SortByKeyOp, SortOp
from ...dialects.linalg_ext_window import shape_of
from ..convert_linalg_to_scf.cost import task_count, task_size
from ..convert_linalg_to_scf.loop_builder import PARALLEL, Index, LoopBuilder, buffer_of
from . import arithmetic
from .scan import region_cost, task_range

RUN = 8
"""Elements that are sorted by insertion, before runs are merged."""

RADIX_LENGTH = 512
"""Rows of at least so many elements are sorted by the digits of their keys."""

Precedes: TypeAlias = Callable[[Sequence[SSAValue], Sequence[SSAValue]], SSAValue]


@dataclass(frozen=True)
class Line:
    """N elements side by side at each of the places 0, 1, .., in N buffers."""

    builder: LoopBuilder
    buffers: Sequence[SSAValue]
    place: Callable[[Index], Sequence[Index]]

    def load(self, index: Index) -> list[SSAValue]:
        return [self.builder.load(buffer, self.place(index)) for buffer in self.buffers]

    def store(self, values: Sequence[SSAValue], index: Index) -> None:
        for value, buffer in zip(values, self.buffers, strict=True):
            self.builder.store(value, buffer, self.place(index))


@dataclass(frozen=True)
class Sorting:
    """One sort: the length of its rows, and what comes first."""

    builder: LoopBuilder
    length: int
    precedes: Precedes
    is_strict: bool
    """Whether `precedes` is known to be an order, so that merging may begin from both ends."""

    # Merge sort.

    @property
    def passes(self) -> int:
        return max(0, math.ceil(math.log2(self.length / RUN))) if self.length > RUN else 0

    def merge_sort(self, home: Line, lines: Sequence[Line]) -> None:
        """`lines`: where the passes begin and what they go through; the last of them is `home`."""
        self.sort_runs(home, lines[0])
        width = RUN
        for source, target in pairwise(lines):
            self.merge_runs(source, target, width)
            width *= 2

    def sort_runs(self, source: Line, target: Line) -> None:
        """Insertion sort of each run, from one line into another, or in place."""
        builder = self.builder

        def run(begin: SSAValue, _: list[SSAValue]) -> Sequence[SSAValue]:
            end = builder.add(begin, RUN)
            if self.length % RUN:
                end = builder.min(end, self.length)
            builder.loop(begin, end, lambda index, _: self._insert(source, target, begin, index))
            return ()

        builder.loop(0, self.length, run, step=RUN)

    def _insert(self, source: Line, target: Line, begin: Index, index: SSAValue) -> Sequence[SSAValue]:
        builder = self.builder
        values = source.load(index)

        def goes_on(state: list[SSAValue]) -> SSAValue:
            before = arithmetic.binary(
                builder, arith.MaxSIOp, builder.index(builder.sub(state[0], 1)), builder.index(begin)
            )
            inside = arithmetic.compare(builder, "sgt", state[0], builder.index(begin))
            return arithmetic.both(builder, inside, self.precedes(values, target.load(before)))

        def shift(state: list[SSAValue]) -> Sequence[SSAValue]:
            before = builder.index(builder.sub(state[0], 1))
            target.store(target.load(before), state[0])
            return [before]

        place = builder.loop_while([index], goes_on, shift)[0]
        target.store(values, place)
        return ()

    def merge_runs(self, source: Line, target: Line, width: int) -> None:
        """Merge the runs of `width` in pairs; the last ones may be shorter or alone."""
        builder = self.builder
        whole = self.length // (2 * width) * (2 * width)
        rest = self.length - whole

        def pair(begin: SSAValue, _: list[SSAValue]) -> Sequence[SSAValue]:
            if self.is_strict:
                self._merge_from_both_ends(source, target, begin, width)
            else:
                self._merge(source, target, (begin, builder.add(begin, width), builder.add(begin, 2 * width)))
            return ()

        if whole:
            builder.loop(0, whole, pair, step=2 * width)
        if rest > width:
            self._merge(source, target, (whole, whole + width, self.length))
        elif rest:
            self.copy(source, target, whole)

    def copy(self, source: Line, target: Line, begin: int = 0) -> None:
        def one(index: SSAValue, _: list[SSAValue]) -> Sequence[SSAValue]:
            target.store(source.load(index), index)
            return ()

        self.builder.loop(begin, self.length, one, attributes=PARALLEL)

    def _merge(self, source: Line, target: Line, bounds: tuple[Index, Index, Index]) -> None:
        """Merge [begin, middle) with [middle, end): every element goes to one place, whatever the comparator says."""
        builder = self.builder
        begin, middle, end = bounds
        last_left, last_right = builder.sub(middle, 1), builder.index(builder.sub(end, 1))

        def one(index: SSAValue, state: list[SSAValue]) -> Sequence[SSAValue]:
            left, right = state
            some_left = arithmetic.compare(builder, "slt", left, builder.index(middle))
            some_right = arithmetic.compare(builder, "slt", right, builder.index(end))
            first = source.load(builder.min(left, last_left))
            second = source.load(builder.min(right, last_right))
            passes = arithmetic.both(builder, some_left, self.precedes(second, first))
            none_left = arithmetic.compare(builder, "sge", left, builder.index(middle))
            takes = arithmetic.both(builder, some_right, arithmetic.either(builder, none_left, passes))
            chosen = [arithmetic.choose(builder, takes, b, a) for a, b in zip(first, second, strict=True)]
            target.store(chosen, index)
            step = arithmetic.emit(builder, arith.IndexCastOp, [self._as_number(takes)], INDEX)
            right = builder.index(builder.add(right, step))
            left = builder.index(builder.sub(builder.add(left, 1), step))
            return [left, right]

        builder.loop(begin, end, one, inits=[builder.index(begin), builder.index(middle)])

    def _as_number(self, condition: SSAValue) -> SSAValue:
        return arithmetic.emit(self.builder, arith.ExtUIOp, [condition], i64)

    def _merge_from_both_ends(self, source: Line, target: Line, begin: SSAValue, width: int) -> None:
        """
        Merge two runs of one length: the lower half from the front, the upper one from the back, neither of which can
        leave its run. Two chains of steps that do not wait for each other, and no bounds to check.
        """
        builder = self.builder
        middle, last = builder.add(begin, width), builder.add(begin, 2 * width - 1)

        def one(step: SSAValue, state: list[SSAValue]) -> Sequence[SSAValue]:
            left, right, left_end, right_end = state
            first, second = source.load(left), source.load(right)
            takes = self.precedes(second, first)
            target.store(
                [arithmetic.choose(builder, takes, b, a) for a, b in zip(first, second, strict=True)],
                builder.add(begin, step),
            )
            moved = arithmetic.emit(builder, arith.IndexCastOp, [self._as_number(takes)], INDEX)
            first, second = source.load(left_end), source.load(right_end)
            keeps = self.precedes(second, first)
            target.store(
                [arithmetic.choose(builder, keeps, a, b) for a, b in zip(first, second, strict=True)],
                builder.sub(last, step),
            )
            back = arithmetic.emit(builder, arith.IndexCastOp, [self._as_number(keeps)], INDEX)
            return [
                builder.index(builder.sub(builder.add(left, 1), moved)),
                builder.index(builder.add(right, moved)),
                builder.index(builder.sub(left_end, back)),
                builder.index(builder.add(builder.sub(right_end, 1), back)),
            ]

        inits = [begin, builder.index(middle), builder.index(builder.sub(middle, 1)), builder.index(last)]
        builder.loop(0, width, one, inits=inits)


@dataclass(frozen=True)
class Radix:
    """Radix sort of rows of one length: `key` makes an unsigned integer of `width` bits of each element."""

    builder: LoopBuilder
    length: int
    key: Callable[[Sequence[SSAValue]], SSAValue]
    width: int

    @property
    def bits(self) -> int:
        """Of a digit: so that the number of digits is even where it is above one."""
        return 11 if self.width > 32 else 8

    @property
    def digits(self) -> int:
        return -(-self.width // self.bits)

    def sort(self, lines: Sequence[Line], counts: SSAValue, task: Index) -> None:
        """Through the lines, from the first, which holds the row, to the last; `counts`: (tasks, digits << bits)."""
        builder, size = self.builder, 1 << self.bits
        zero, one = builder.scalar(IntegerAttr(0, i32)), builder.scalar(IntegerAttr(1, i32))

        def clear(index: SSAValue, _: list[SSAValue]) -> Sequence[SSAValue]:
            builder.store(zero, counts, (task, index))
            return ()

        def count(index: SSAValue, _: list[SSAValue]) -> Sequence[SSAValue]:
            key = self.key(lines[0].load(index))
            for digit in range(self.digits):
                self._next(counts, task, self._bucket(key, digit), one)
            return ()

        def prefix(index: SSAValue, state: list[SSAValue]) -> Sequence[SSAValue]:
            following: list[SSAValue] = []
            for digit, total in enumerate(state):
                place = (task, builder.add(index, digit * size))
                own = builder.load(counts, place)
                builder.store(total, counts, place)
                following.append(arithmetic.binary(builder, arith.AddiOp, total, own))
            return following

        builder.loop(0, self.digits * size, clear, attributes=PARALLEL)
        builder.loop(0, self.length, count)
        builder.loop(0, size, prefix, inits=[zero] * self.digits)
        for digit, (source, target) in enumerate(pairwise(lines)):
            self._distribute(digit, source, target, counts, task)

    def _distribute(self, digit: int, source: Line, target: Line, counts: SSAValue, task: Index) -> None:
        builder = self.builder
        one = builder.scalar(IntegerAttr(1, i32))

        def move(index: SSAValue, _: list[SSAValue]) -> Sequence[SSAValue]:
            values = source.load(index)
            place = self._next(counts, task, self._bucket(self.key(values), digit), one)
            target.store(values, arithmetic.to_index(builder, place, unsigned=True))
            return ()

        builder.loop(0, self.length, move)

    def _next(self, counts: SSAValue, task: Index, bucket: SSAValue, one: SSAValue) -> SSAValue:
        """A count, which is one more afterwards."""
        found = self.builder.load(counts, (task, bucket))
        self.builder.store(arithmetic.binary(self.builder, arith.AddiOp, found, one), counts, (task, bucket))
        return found

    def _bucket(self, key: SSAValue, digit: int) -> SSAValue:
        """The place of a digit's count."""
        builder, type_ = self.builder, key.type
        if digit:
            shift = builder.scalar(IntegerAttr(digit * self.bits, cast(Any, type_)))
            key = arithmetic.binary(builder, arith.ShRUIOp, key, shift)
        if (digit + 1) * self.bits < self.width:
            mask = builder.scalar(IntegerAttr((1 << self.bits) - 1, cast(Any, type_)))
            key = arithmetic.binary(builder, arith.AndIOp, key, mask)
        place = arithmetic.to_index(builder, key, unsigned=True)
        return builder.index(builder.add(place, digit << self.bits))


def _sort(op: SortOp | SortByKeyOp, builder: LoopBuilder) -> None:
    """
    Rows in tasks. Where the dimension is not the last, rows are read from and written to columns, and sorted in
    scratch.
    """
    shape = shape_of(op.outputs[0])
    dim = cast(Any, op.dimension).value.data
    outer, length, inner = math.prod(shape[:dim]), shape[dim], math.prod(shape[dim + 1 :])
    if length <= 1 or outer == 0 or inner == 0:
        return
    flat = (outer, length, inner)
    homes = [builder.strided_view(value, 0, flat, row_major(flat)) for value in op.outputs]
    rows = outer * inner
    block = op.regions[0].block
    cost = max(2, length.bit_length()) * (region_cost(block) + 4 * len(homes))
    tasks = task_count(rows * length, rows * length * cost, rows)
    size = task_size(rows, tasks)
    tasks = -(-rows // size)
    sorter = _plan(op, builder, length)

    def scratch() -> list[SSAValue]:
        return [builder.alloc(memref_type((tasks, length), buffer_of(home).element_type)) for home in homes]

    first, second = scratch(), scratch() if inner > 1 else []
    counts = None
    if isinstance(sorter, Radix):
        counts = builder.alloc(memref_type((tasks, sorter.digits << sorter.bits), i32))

    def row(task: Index, index: Index) -> None:
        home = _home_line(builder, homes, index, inner)
        others = [Line(builder, buffers, lambda k: (task, k)) for buffers in (first, second) if buffers]
        if isinstance(sorter, Radix):
            assert counts is not None
            _radix(sorter, home, others, counts, task)
        else:
            sorter.merge_sort(home, _lines(home, others, sorter.passes))

    def task(index: SSAValue) -> None:
        def one(place: SSAValue, _: list[SSAValue]) -> Sequence[SSAValue]:
            row(index, place)
            return ()

        builder.loop(*task_range(builder, index, size, rows), one)

    builder.parallel(tasks, task)


def _home_line(builder: LoopBuilder, homes: Sequence[SSAValue], row: Index, inner: int) -> Line:
    """The row of the outputs with this number."""
    outer, column = builder.div(row, inner), builder.rem(row, inner)
    return Line(builder, homes, lambda k: (outer, k, column))


def _plan(op: SortOp | SortByKeyOp, builder: LoopBuilder, length: int) -> Sorting | Radix:
    block = op.regions[0].block
    if isinstance(op, SortOp):

        def asked(first: Sequence[SSAValue], second: Sequence[SSAValue]) -> SSAValue:
            pairs = [value for pair in zip(first, second, strict=True) for value in pair]
            return builder.inline(block, pairs)[0]

        return Sorting(builder, length, asked, is_strict=False)

    def key(values: Sequence[SSAValue]) -> SSAValue:
        return builder.inline(block, values)[0]

    def below(first: Sequence[SSAValue], second: Sequence[SSAValue]) -> SSAValue:
        return arithmetic.compare(builder, "ult", key(first), key(second))

    assert block.last_op is not None
    width = cast(Any, block.last_op.operands[0].type).width.data
    if length >= RADIX_LENGTH:
        return Radix(builder, length, key, width)
    return Sorting(builder, length, below, is_strict=True)


def _lines(home: Line, others: Sequence[Line], passes: int) -> list[Line]:
    """The line that each pass of a merge sort reads, and `home`, which the last one writes; none follows itself."""
    if passes == 0:
        return [home]
    turn = [*others, home] if len(others) == 1 else others
    lines = [turn[number % 2] for number in range(passes)][::-1]
    return [*lines, home]


def _radix(radix: Radix, home: Line, others: Sequence[Line], counts: SSAValue, task: Index) -> None:
    """Rows in memory go to and fro between themselves and scratch; columns are copied into scratch first."""
    copier = Sorting(radix.builder, radix.length, lambda a, b: a[0], is_strict=False)
    away, back = others[0], home
    if len(others) == 2:
        back = others[1]
        copier.copy(home, back)
    turn = [(back, away)[number % 2] for number in range(radix.digits + 1)]
    radix.sort(turn, counts, task)
    if turn[-1] is not home:
        copier.copy(turn[-1], home)


PATTERNS = ((SortOp, _sort), (SortByKeyOp, _sort))

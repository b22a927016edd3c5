"""
Sorting of rows by keys, one after another: radix sort, rank sort of short rows, or a merge sort of the keys themselves
where elements are found from them.

Programs share the functions that sort a row: they depend on how keys follow from elements.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, cast

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import IntegerType, i32
from xdsl.ir import SSAValue

from ....dialects.linalg_ext.sort import SortByKeyOp
from ....dialects.support.attributes import integer_attr
from ....dialects.support.buffers import memref_type
from ....dialects.support.scalar import Scalar
from ...convert_contractions_to_vector.shared_function import call_known, call_or_emit
from ...loop_nests.kernel_builder import Index
from ...loop_nests.loop_builder import PARALLEL, LoopBuilder, buffer_of
from ...loop_nests.scalar_block import ScalarBlock
from .radix import LONG_DIGIT, SHORT_DIGIT, Line, Radix
from .ranks import LEAST_WIDTH, RADIX_LENGTH, call_ranks, lanes_of
from .vectors import SORT_PLACES, KeySort, sort_keys

Sorter: TypeAlias = Callable[[Index, Index], None]
"""Sorts a row; takes the place of scratch memory and the row's number."""


@dataclass(frozen=True)
class Elements:
    """The facts of a function that sorts rows of elements, of one or more components."""

    key: ScalarBlock
    count: int
    """The components."""
    are_columns: bool
    """Whether the elements of a row are apart in memory."""
    in_parts: bool = False
    """Whether several tasks sort a row, each with counts of its own."""
    lanes: int = 0
    """Those of vectors of keys, where ranks are compared."""

    @property
    def key_type(self) -> IntegerType:
        return cast(Any, self.key.block.last_op).operands[0].type

    def radix(self, builder: LoopBuilder, length: Index) -> Radix:
        width = self.key_type.width.data
        bits = LONG_DIGIT if width > 32 and not self.in_parts else SHORT_DIGIT
        return Radix(builder, length, lambda values: builder.inline(self.key.block, values)[0], width, bits)

    def take(self, parameters: Sequence[SSAValue]) -> tuple[Sequence[SSAValue], Sequence[SSAValue]]:
        """The buffers of the components, from the front of some parameters, and the others."""
        return parameters[: self.count], parameters[self.count :]

    def home(self, builder: LoopBuilder, buffers: Sequence[SSAValue], first: SSAValue, stride: SSAValue) -> Line:
        """A row of the results that begins at `first`."""

        def place(k: Index) -> Sequence[Index]:
            index = builder.index(k)
            if self.are_columns:
                index = builder.index(index * builder.index(stride))
            return (builder.index(first) + index,)

        return Line(builder, buffers, place)


def _emit_rank_sort(builder: LoopBuilder, parameters: Sequence[SSAValue], facts: Elements) -> None:
    """
    Sort a row by ranks: vectorized comparisons of all pairs count the elements before each.

    Parameters: results, scratch memory, keys, ranks; where the row begins, its stride; the place in scratch memory, the
    length.
    """
    homes, rest = facts.take(parameters)
    aways, (keys, ranks, first, stride, at, length) = facts.take(rest)
    home = facts.home(builder, homes, first, stride)
    place = builder.index(at)
    away = Line(builder, aways, lambda k: (place + k,))
    with builder.loop(0, builder.index(length), attributes=PARALLEL) as index:
        values = home.load(index)
        away.store(values, index)
        builder.store(builder.inline(facts.key.block, values)[0], keys, [place + index])
    call_ranks(builder, builder.kernel, (keys, ranks, at, length), facts.lanes)
    last = builder.index(builder.index(length) - 1)
    with builder.loop(0, builder.index(length)) as index:
        rank = builder.index(builder.to_index(builder.load(ranks, [place + index]), unsigned=True))
        # It is less in any case; so the bound is seen where the rank is used.
        home.store(away.load(index), builder.min(rank, last))


def _emit_radix_sort(builder: LoopBuilder, parameters: Sequence[SSAValue], facts: Elements) -> None:
    """
    Radix sort a row.

    Parameters: results; where the row begins, its stride, its length; see `Scratch.of` for the others.
    """
    homes, (first, stride, length, *rest) = facts.take(parameters)
    aways, rest = facts.take(rest)
    seconds, rest = facts.take(rest) if facts.are_columns else ((), rest)
    counts, at, counts_at = rest
    home = facts.home(builder, homes, first, stride)
    place = builder.index(at)
    away = Line(builder, aways, lambda k: (place + k,))
    back = Line(builder, seconds, lambda k: (place + k,)) if seconds else home
    radix = facts.radix(builder, builder.index(length))
    if back is not home:  # columns: copied into scratch and back
        home.copy_to(back, 0, radix.length)
    lines = [(back, away)[number % 2] for number in range(radix.digits + 1)]
    radix.sort(lines, builder.strided_view(counts, builder.index(counts_at), (radix.counts,), (1,)))
    if lines[-1] is not home:
        lines[-1].copy_to(home, 0, radix.length)


@dataclass(frozen=True)
class Scratch:
    """The memory of radix sorts: copies of rows, and counts."""

    buffers: Sequence[SSAValue]
    length: int
    counts: int

    def of(self, task: Index) -> tuple[Index | SSAValue, ...]:
        """The arguments for the memory of a task: all of it, and where the task's copies and counts begin."""
        return (*self.buffers, task * self.length, task * self.counts)


def _flat(builder: LoopBuilder, buffer: SSAValue) -> SSAValue:
    """All elements of a buffer in one dimension."""
    return builder.strided_view(buffer, 0, (math.prod(buffer_of(buffer).get_shape()),), (1,))


@dataclass(frozen=True)
class KeyRows:
    """The rows of one sort by keys, and the memory in which tasks sort them."""

    op: SortByKeyOp
    builder: LoopBuilder
    shape: tuple[int, int, int]
    """The sizes before the sorted dimension, its length, the sizes after it."""
    tasks: int
    in_parts: bool = False
    """Whether several tasks sort a row."""

    @property
    def kernel(self) -> func.FuncOp:
        return cast(func.FuncOp, self.op.parent_op())

    @property
    def homes(self) -> list[SSAValue]:
        return [_flat(self.builder, output) for output in self.op.outputs]

    def first(self, row: Index) -> Index:
        """Where a row begins."""
        _, length, inner = self.shape
        return row * length if inner == 1 else row // inner * (length * inner) + row % inner

    def _memory(self, type_: Any, count: int) -> SSAValue:
        return self.builder.alloc(memref_type((self.tasks * count,), type_))

    def copies(self) -> list[SSAValue]:
        """Buffers for a row of each task."""
        return [self._memory(buffer_of(output).element_type, self.shape[1]) for output in self.op.outputs]

    @property
    def elements(self) -> Elements:
        key = ScalarBlock.of(self.op.regions[0].block)
        return Elements(key, len(self.op.outputs), self.shape[2] > 1, self.in_parts)

    def home(self, row: Index) -> Line:
        """A row of the results."""
        first, stride = self.builder.index(self.first(row)).value, self.builder.index(self.shape[2]).value
        return self.elements.home(self.builder, self.homes, first, stride)

    def copy(self, buffers: Sequence[SSAValue], task: Index) -> Line:
        """The row of a task in such buffers."""
        first = self.builder.index(task * self.shape[1])
        return Line(self.builder, buffers, lambda k: (first + k,))

    def sorter(self) -> Sorter:
        """Sorts a row by a call of a function."""
        length, type_ = self.shape[1], self.elements.key_type
        # Ranks have the keys' type.
        if length >= RADIX_LENGTH or type_.width.data < LEAST_WIDTH:
            scratch = self.radix_memory()
            return lambda task, index: self.radix_sort(task, index, scratch)
        facts = replace(self.elements, lanes=lanes_of(self.builder, type_))
        # Keys and ranks are whole vectors.
        room = -(-length // facts.lanes) * facts.lanes
        copies = [self._memory(buffer_of(output).element_type, room) for output in self.op.outputs]
        buffers = (*copies, self._memory(type_, room), self._memory(type_, room))

        def row(task: Index, index: Index) -> None:
            arguments = (*self.homes, *buffers, self.first(index), self.shape[2], task * room, length)
            call_or_emit(self.builder, self.kernel, "rank_sort", arguments, facts, _emit_rank_sort, [facts.key])

        return row

    def radix_memory(self) -> Scratch:
        """Scratch memory of radix sorts."""
        size = self.elements.radix(self.builder, self.shape[1]).counts
        copies = (*self.copies(), *(self.copies() if self.shape[2] > 1 else ()))
        return Scratch((*copies, self._memory(i32, size)), self.shape[1], size)

    def radix_sort(self, task: Index, index: Index, scratch: Scratch) -> None:
        facts = self.elements
        arguments = (*self.homes, self.first(index), self.shape[2], self.shape[1], *scratch.of(task))
        call_or_emit(self.builder, self.kernel, "radix_sort", arguments, facts, _emit_radix_sort, [facts.key])


@dataclass(frozen=True)
class _Found:
    """The facts of functions of rows whose elements are found from their keys, but for rare ones."""

    key: ScalarBlock
    element: ScalarBlock
    lanes: int

    @property
    def type(self) -> IntegerType:
        return cast(IntegerType, self.element.block.args[0].type)


def _emit_row(builder: LoopBuilder, parameters: Sequence[SSAValue], facts: _Found) -> None:
    """
    Sort a row.

    Parameters: elements, keys; where the row begins, its length and that of its keys; where they are, and where they
    are once they are sorted; what `sort_keys` takes after the keys, and what a radix sort takes after the length.
    """
    elements, keys, first, length, full, at, sorted_at, *rest = parameters
    places, scratch = rest[:SORT_PLACES], rest[SORT_PLACES:]
    kernel, zero = builder.kernel, builder.index(0).value
    total = _read(builder, (elements, keys), (first, zero, length, full, at), facts)
    with builder.when(total.compare("eq", 0)):
        call_known(builder, kernel, "sort_keys", (keys, *places), (facts.type.width.data, facts.lanes), sort_keys)
        _emit_write(builder, (elements, keys, first, zero, length, sorted_at), facts)
    with builder.otherwise():
        arguments, alike = (elements, first, builder.index(1).value, length, *scratch), Elements(facts.key, 1, False)
        call_or_emit(builder, kernel, "radix_sort", arguments, alike, _emit_radix_sort, [facts.key])


def _emit_part(builder: LoopBuilder, parameters: Sequence[SSAValue], facts: _Found) -> None:
    """
    Compute the keys of a part of a row, and sort them if each element is found from its key.

    Parameters: elements, keys, numbers of other elements; where the row begins; the bounds of the part's elements, and
    the end of its keys; where the keys are; the place of the number; what `sort_keys` takes after the keys.
    """
    elements, keys, others, first, begin, end, full, at, number, *places = parameters
    total = _read(builder, (elements, keys), (first, begin, end, full, at), facts)
    builder.store(total, others, [builder.index(number)])
    with builder.when(total.compare("eq", 0)):
        numbers = (facts.type.width.data, facts.lanes)
        call_known(builder, builder.kernel, "sort_keys", (keys, *places), numbers, sort_keys)


def _read(builder: LoopBuilder, buffers: Sequence[SSAValue], numbers: Sequence[SSAValue], facts: _Found) -> Scalar:
    """Compute keys; returns how many elements are not those that are found from their keys."""
    elements, keys = buffers
    first, begin, end, full, at = map(builder.index, numbers)
    with builder.loop(begin, end, carry=[builder.scalar(integer_attr(0, facts.type))]) as (place, total):
        value = builder.load(elements, [first + place])
        (found,) = builder.inline(facts.key.block, [value])
        builder.store(found, keys, [at + place])
        pair = [builder.on(each) for each in (*builder.inline(facts.element.block, [found]), value)]
        same, own = (each.bits() if each.is_float else each for each in pair)
        builder.yield_(builder.on(total[0]) + same.compare("ne", own).cast(arith.ExtUIOp, facts.type))
    highest = builder.scalar(integer_attr(-1, facts.type))
    with builder.loop(end, full, attributes=PARALLEL) as place:
        builder.store(highest, keys, [at + place])
    return builder.on(total[0])


def _emit_write(builder: LoopBuilder, parameters: Sequence[SSAValue], facts: _Found) -> None:
    """
    Write a part of a row whose keys are sorted.

    Parameters: elements, keys; where the row begins, the bounds of the part, where the keys are.
    """
    elements, keys, *numbers = parameters
    first, begin, end, at = map(builder.index, numbers)
    with builder.loop(begin, end, attributes=PARALLEL) as place:
        found = builder.inline(facts.element.block, [builder.load(keys, [at + place])])
        builder.store(found[0], elements, [first + place])


@dataclass(frozen=True)
class FoundRows:
    """
    The rows of a sort whose elements are found again from their keys, but for rare ones: rows with such elements are
    radix sorted.
    """

    rows: KeyRows
    sort: KeySort
    keys: SSAValue
    """The scratch memory of all tasks."""
    otherwise: Scratch
    """That of radix sorts."""

    @staticmethod
    def of(rows: KeyRows, parts: int) -> FoundRows:
        builder, type_ = rows.builder, cast(IntegerType, rows.op.regions[1].block.args[0].type)
        sort = KeySort(builder, rows.kernel, rows.shape[1], type_, parts)
        return FoundRows(rows, sort, sort.memory(rows.tasks), rows.radix_memory())

    @property
    def _facts(self) -> _Found:
        key, element = (ScalarBlock.of(region.block) for region in self.rows.op.regions)
        return _Found(key, element, self.sort.lanes)

    def row(self, task: Index, index: Index) -> None:
        """Sort a row that is one part."""
        facts, at = self._facts, self.sort.place_of(task)
        numbers = (self.rows.first(index), self.rows.shape[1], self.sort.part, at, self.sort.sorted_at(at))
        arguments = (*self.rows.homes, self.keys, *numbers, *self.sort.places(at, 0), *self.otherwise.of(task))
        blocks = facts.key, facts.element
        call_or_emit(self.rows.builder, self.rows.kernel, "sort_row", arguments, facts, _emit_row, blocks)

    def long_row(self, index: Index) -> None:
        """Sort a row by tasks for its parts."""
        builder, parts, facts = self.rows.builder, self.sort.parts, self._facts
        at = self.sort.place_of(0)
        others = builder.alloc(memref_type((parts,), self.sort.type))
        with builder.parallel(parts) as number:
            full = number * self.sort.part + self.sort.part
            numbers = (self.rows.first(index), *self._range(number), full, at, number)
            arguments = (*self.rows.homes, self.keys, others, *numbers, *self.sort.places(at, number))
            blocks = facts.key, facts.element
            call_or_emit(builder, self.rows.kernel, "sort_part", arguments, facts, _emit_part, blocks)
        with builder.loop(0, parts, carry=[builder.scalar(integer_attr(0, self.sort.type))]) as (number, total):
            builder.yield_(builder.on(total[0]) + builder.load(others, [number]))
        with builder.when(builder.on(total[0]).compare("eq", 0)):
            with self.sort.levels(at) as level, builder.parallel(parts) as number:
                self.sort.merge(self.keys, level, number)
            with builder.parallel(parts) as number:
                numbers = (self.rows.first(index), *self._range(number), self.sort.sorted_at(at))
                arguments = (*self.rows.homes, self.keys, *numbers)
                call_or_emit(builder, self.rows.kernel, "write", arguments, facts, _emit_write, [facts.element])
        with builder.otherwise():
            self.rows.radix_sort(0, index, self.otherwise)

    def _range(self, number: Index) -> tuple[Index, Index]:
        """The first element of a part, and its end in the row."""
        builder, part, length = self.rows.builder, self.sort.part, self.rows.shape[1]
        first = number * part
        return builder.min(first, length), builder.min(first + part, length)

"""Loops of nonzero: each place is stored after those of the true elements so far; the next overwrites a false one."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import i8, i32, i64
from xdsl.ir import SSAValue

from ...dialects.linalg_ext.indexing import NonzeroOp
from ...dialects.linalg_ext.window import shape_of
from ...dialects.support.attributes import integer_attr
from ...dialects.support.buffers import memref_type
from ..loop_nests.cost import task_count, task_size
from ..loop_nests.indices import chunk
from ..loop_nests.kernel_builder import Index, IndexValue
from ..loop_nests.loop_builder import LoopBuilder
from ..loop_nests.unrolling import UNROLL
from .conversion import patterns

BLOCK = 64
"""Elements that are counted at once, in one vector, and passed over if all are false."""

UNROLLED = {UNROLL: integer_attr(8, i64)}
"""The attribute of the loop over a block: most of its instructions would count and branch."""

WORK = 2
"""The cost of an element, in operations."""


@dataclass(frozen=True)
class _Nonzero:
    """One operation: `length` elements of a mask, and room for as many places as `room`."""

    builder: LoopBuilder
    mask: SSAValue
    places: SSAValue
    length: int
    room: int

    def is_set(self, place: Index) -> IndexValue:
        """1 if the element is true, else 0."""
        return self.builder.to_index(self.builder.load(self.mask, [place]), unsigned=True)

    def in_block(self, first: Index) -> IndexValue:
        """The number of true elements in a block; sums of bytes are one instruction for many."""
        builder = self.builder
        with builder.loop(0, BLOCK, carry=[builder.scalar(integer_attr(0, i8))]) as (offset, total):
            element = builder.on(builder.load(self.mask, [first + offset])).cast(arith.ExtUIOp, i8)
            builder.yield_(builder.on(total[0]) + element)
        return builder.to_index(total[0], unsigned=True)

    def count(self, lower: Index, upper: Index) -> IndexValue:
        """The number of true elements in a range."""
        builder, whole = self.builder, lower + (upper - lower) // BLOCK * BLOCK
        with builder.loop(lower, whole, step=BLOCK, carry=[builder.index(0)]) as (first, total):
            builder.yield_(builder.index(self.in_block(first) + builder.index(total[0])))
        with builder.loop(whole, upper, carry=total) as (place, total):
            builder.yield_(builder.index(self.is_set(place) + builder.index(total[0])))
        return builder.index(total[0])

    def put(self, place: IndexValue, at: Index) -> None:
        self.builder.store(place.cast_to(i32), self.places, [at])

    def write(self, lower: Index, upper: Index, at: Index, end: Index) -> IndexValue:
        """
        Store the places of a range, the first one at `at`, as long as there is room before `end`. Returns the end of
        all of them.
        """
        builder, whole = self.builder, lower + (upper - lower) // BLOCK * BLOCK
        with builder.loop(lower, whole, step=BLOCK, carry=[builder.index(at)]) as (first, held):
            before = builder.index(held[0])
            after = builder.index(before + self.in_block(first))
            with builder.when(before < after):
                with builder.when(after < end):
                    self._write_block(first, before)
                with builder.otherwise():
                    self._write_until(first, before, builder.min(after, end))
            builder.yield_(after)
        before = builder.index(held[0])
        after = builder.index(before + self.count(whole, upper))
        self._write_until(builder.index(whole), before, builder.min(after, end))
        return after

    def _write_block(self, first: IndexValue, at: IndexValue) -> None:
        """Store a block's places without a branch; the elements after its last true one may be stored after them."""
        builder = self.builder
        with builder.loop(0, BLOCK, carry=[at], attributes=UNROLLED) as (offset, held):
            place, found = builder.index(first + offset), builder.index(held[0])
            self.put(place, found)
            builder.yield_(builder.index(found + self.is_set(place)))

    def _write_until(self, first: IndexValue, at: Index, stop: Index) -> None:
        """Store places up to the one before `stop`, and nothing after it; there are as many true elements."""
        builder = self.builder
        with builder.loop_while([first, builder.index(at)]) as state:
            builder.go_on_if(builder.index(state[1]) < stop)
            place, found = (builder.index(value) for value in state)
            self.put(place, found)
            builder.yield_(builder.index(place + 1), builder.index(found + self.is_set(place)))

    def fill(self, lower: Index, upper: Index) -> None:
        """Store the length of the mask where no place is."""
        nowhere = self.builder.scalar(integer_attr(self.length, i32))
        with self.builder.loop(lower, upper) as at:
            self.builder.store(nowhere, self.places, [at])


@patterns.on(NonzeroOp)
def _nonzero(op: NonzeroOp, builder: LoopBuilder) -> None:
    """
    `linalg_ext.nonzero` becomes a loop over the mask; of a long one, tasks count the true elements of their parts, and
    then store their places after those of the parts before.
    """
    (length,), (room,) = shape_of(op.inputs[0]), shape_of(op.outputs[0])
    if room == 0:
        return
    nonzero = _Nonzero(builder, op.inputs[0], op.outputs[0], length, room)
    work = length * WORK
    tasks = task_count(work, work, -(-length // BLOCK)) if length else 1
    if tasks == 1:
        found = nonzero.write(0, length, 0, room)
        nonzero.fill(found, room)
        return
    size = task_size(length, tasks, BLOCK)
    tasks = -(-length // size)
    counts = builder.alloc(memref_type((tasks,), i64))
    with builder.parallel(tasks) as task:
        count = nonzero.count(*chunk(builder, task, size, length))
        builder.store(count.cast_to(i64), counts, [task])
    share = task_size(room, tasks)
    with builder.parallel(tasks) as task:
        begin, total = _before(builder, counts, task), _before(builder, counts, tasks)
        end = builder.min(_before(builder, counts, task + 1), room)
        nonzero.write(*chunk(builder, task, size, length), begin, end)
        # There may be more tasks than shares.
        nonzero.fill(total.max(task * share), builder.min(task * share + share, room))


def _before(builder: LoopBuilder, counts: SSAValue, task: Index) -> IndexValue:
    """The number of true elements in the parts of the tasks before."""
    with builder.loop(0, task, carry=[builder.index(0)]) as (number, total):
        count = builder.to_index(builder.load(counts, [number]), unsigned=True)
        builder.yield_(builder.index(count + builder.index(total[0])))
    return builder.index(total[0])

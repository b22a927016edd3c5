"""
Scans: a thread for each of many columns, or a block for each long row; where these are few, chunks of them.

A block scans a tile of its row after the other: each thread folds some neighbouring elements, the threads' totals are
scanned in shared memory by doubling distances, and each thread goes through its elements again, from what is before
them.
In chunks it takes three launches: the total of each chunk, the scan of the totals, the scan of each chunk from there.
Cuts follow from shapes and chip, so that results do not depend on anything else.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Attribute, SSAValue

from ....dialects.build.buffers import memref_type
from ....dialects.gpu.plans import ScanBlocks, ScanRows, ScanThreads
from ....dialects.linalg_ext.window import ScanOp, shape_of
from ...loop_nests import arithmetic
from ...loop_nests.cost import region_cost
from ...loop_nests.loop_builder import Index, buffer_of
from ...loop_nests.unrolling import UNROLL
from ..threads.builder import GpuBuilder
from ..threads.items import I64, WRITTEN_OUT
from ..threads.launch import KernelMapper
from ..threads.phases import Phase
from ..threads.ranges import ceil_div
from .launch import ExtLaunch, at_least_zero, shift_left
from .scan_rows import map_short_rows

CHEAP = 8
"""Operations of a fold up to which a loop over a thread's elements is written out."""

FEW_AT_ONCE = {UNROLL: IntegerAttr(4, I64)}
"""On a loop along a column: so that several loads are under way."""

PART_AT_ONCE = {UNROLL: IntegerAttr(5, I64)}
"""On the loops that bring a tile in and out: a third of it, with registers for as many threads as there may be."""

Values: TypeAlias = Sequence[SSAValue]
Line: TypeAlias = tuple[Index, Index]
"""The outer and the inner index of a line."""


@dataclass(frozen=True)
class ScanShape:
    """A scan of `outer` x `inner` lines of `length` elements, each in chunks."""

    outer: int
    length: int
    inner: int
    plan: ScanThreads | ScanBlocks

    @property
    def chunks(self) -> int:
        return ceil_div(self.length, self.plan.chunk)

    @property
    def shape(self) -> tuple[int, int, int]:
        return self.outer, self.length, self.inner


class Scanner:
    """Emits the work of a thread in one of the scan's device functions."""

    def __init__(self, launch: ExtLaunch[ScanOp]):
        self.launch = launch
        self.builder: GpuBuilder = launch.builder
        self.reverse = bool(cast(Any, launch.op.reverse).value.data)

    @property
    def inits(self) -> list[SSAValue]:
        return list(self.launch.op.inputs[len(self.launch.op.outputs) :])

    def combine(self, before: Values, element: Values) -> list[SSAValue]:
        """The fold so far and what comes next, in the order of the elements in memory."""
        pair = (*element, *before) if self.reverse else (*before, *element)
        return self.builder.inline(self.launch.op.regions[0].block, pair)

    def choose(self, condition: SSAValue, first: Values, second: Values) -> list[SSAValue]:
        return [arithmetic.choose(self.builder, condition, a, b) for a, b in zip(first, second, strict=True)]


@dataclass(frozen=True)
class Lines:
    """The lines of N buffers: (outer, length, inner)."""

    builder: GpuBuilder
    buffers: Values
    length: int
    backwards: bool

    def place(self, line: Line, step: Index) -> list[Index]:
        outer, inner = line
        return [outer, self.builder.sub(self.length - 1, step) if self.backwards else step, inner]

    def load(self, line: Line, step: Index) -> list[SSAValue]:
        place = self.place(line, step)
        return [self.builder.load(buffer, place) for buffer in self.buffers]

    def store(self, values: Values, line: Line, step: Index) -> None:
        place = self.place(line, step)
        for value, buffer in zip(values, self.buffers, strict=True):
            self.builder.store(value, buffer, place)


class ThreadScanner(Scanner):
    """A thread for each chunk of a line."""

    def scan(self, source: Lines, target: Lines, size: int, line: Line, chunk: Index, carry: Values) -> None:
        builder = self.builder

        def one(step: SSAValue, state: list[SSAValue]) -> Values:
            state = self.combine(state, source.load(line, step))
            target.store(state, line, step)
            return state

        lower, upper = _range(builder, chunk, size, source.length)
        builder.loop(lower, upper, one, inits=list(carry), attributes=FEW_AT_ONCE)

    def total(self, source: Lines, size: int, line: Line, chunk: Index) -> list[SSAValue]:
        """The fold of a chunk, which is not empty."""
        builder = self.builder
        lower, upper = _range(builder, chunk, size, source.length)

        def one(step: SSAValue, state: list[SSAValue]) -> Values:
            return self.combine(state, source.load(line, step))

        first = source.load(line, lower)
        return builder.loop(builder.add(lower, 1), upper, one, inits=first, attributes=FEW_AT_ONCE)


class BlockScanner(Scanner):
    """A block for each chunk of a line."""

    def __init__(self, launch: ExtLaunch[ScanOp], plan: ScanBlocks):
        super().__init__(launch)
        self.plan = plan
        types = [buffer_of(x).element_type for x in launch.op.outputs]
        self.elements = [self.builder.shared((plan.tile,), type_) for type_ in types]
        self.totals = [self.builder.shared((plan.threads,), type_) for type_ in types]

    @property
    def _unrolling(self) -> Mapping[str, Attribute]:
        """Of loops over a thread's elements, so that their loads need not wait for each other."""
        cheap = region_cost(self.launch.op.regions[0].block) <= CHEAP
        return WRITTEN_OUT if cheap else FEW_AT_ONCE

    def _load(self, buffers: Values, place: Index) -> list[SSAValue]:
        return [self.builder.load(buffer, [place]) for buffer in buffers]

    def _store(self, values: Values, buffers: Values, place: Index) -> None:
        for value, buffer in zip(values, buffers, strict=True):
            self.builder.store(value, buffer, [place])

    def scan(self, source: Lines, target: Lines, size: int, line: Line, chunk: Index, carry: Values) -> None:
        builder, thread = self.builder, self.builder.thread_id()
        lower, upper = _range(builder, chunk, size, source.length)

        def tile(start: SSAValue, before: list[SSAValue]) -> Values:
            self._load_tile(source, line, start, upper)
            total = self._scan_totals()
            previous = self._load(self.totals, at_least_zero(builder, builder.sub(thread, 1)))
            first = builder.compare("eq", thread, 0)
            self._scan_own(self.choose(first, before, self.combine(before, previous)))
            builder.barrier()
            self._store_tile(target, line, start, upper)
            return self.combine(before, total)

        builder.loop(lower, upper, tile, step=self.plan.tile, inits=list(carry))

    def total(self, source: Lines, size: int, line: Line, chunk: Index) -> list[SSAValue]:
        """The fold of a chunk; of one that ends within a tile, nothing that means anything."""
        builder = self.builder
        lower, upper = _range(builder, chunk, size, source.length)

        def tile(start: SSAValue, before: list[SSAValue]) -> Values:
            self._load_tile(source, line, start, upper)
            total = self._scan_totals()
            first = builder.compare("eq", start, lower)
            builder.barrier()
            return self.choose(first, total, self.combine(before, total))

        return builder.loop(lower, upper, tile, step=self.plan.tile, inits=source.load(line, lower))

    def _load_tile(self, source: Lines, line: Line, start: Index, upper: Index) -> None:
        """Neighbouring threads load neighbouring elements; beyond the end, the last one, which no result depends on."""
        builder, plan = self.builder, self.plan
        last = builder.sub(upper, 1)

        def one(offset: SSAValue, _: list[SSAValue]) -> Values:
            place = builder.add(offset, builder.thread_id())
            step = builder.min(builder.add(start, place), last)
            self._store(source.load(line, step), self.elements, place)
            return ()

        builder.loop(0, plan.tile, one, step=plan.threads, attributes=PART_AT_ONCE)
        builder.barrier()

    def _store_tile(self, target: Lines, line: Line, start: Index, upper: Index) -> None:
        builder, plan = self.builder, self.plan

        def one(offset: SSAValue, _: list[SSAValue]) -> Values:
            place = builder.add(offset, builder.thread_id())
            step = builder.add(start, place)
            builder.when(
                builder.compare("ult", step, upper),
                lambda: target.store(self._load(self.elements, place), line, step),
            )
            return ()

        builder.loop(0, plan.tile, one, step=plan.threads, attributes=PART_AT_ONCE)

    def _own(self) -> Index:
        """Where the thread's own elements begin in the tile."""
        return self.builder.mul(self.builder.thread_id(), self.plan.elements)

    def _scan_totals(self) -> list[SSAValue]:
        """Fold each thread's elements and scan the totals in shared memory; that of the tile."""
        builder, plan = self.builder, self.plan
        thread, own = builder.thread_id(), self._own()

        def fold(number: SSAValue, state: list[SSAValue]) -> Values:
            return self.combine(state, self._load(self.elements, builder.add(own, number)))

        state = self._load(self.elements, own)
        if plan.elements > 1:
            state = builder.loop(1, plan.elements, fold, inits=state, attributes=self._unrolling)
        self._store(state, self.totals, thread)

        def double(level: SSAValue, state: list[SSAValue]) -> Values:
            distance = shift_left(builder, 1, level)
            builder.barrier()
            other = self._load(self.totals, at_least_zero(builder, builder.sub(thread, distance)))
            builder.barrier()
            has = builder.compare("uge", thread, distance)
            state = self.choose(has, self.combine(other, state), state)
            self._store(state, self.totals, thread)
            return state

        builder.loop(0, plan.threads.bit_length() - 1, double, inits=state)
        builder.barrier()
        return self._load(self.totals, plan.threads - 1)

    def _scan_own(self, before: Values) -> None:
        """The thread's elements become their prefixes, from what is before them on."""
        builder, own = self.builder, self._own()

        def one(number: SSAValue, state: list[SSAValue]) -> Values:
            place = builder.add(own, number)
            state = self.combine(state, self._load(self.elements, place))
            self._store(state, self.elements, place)
            return state

        builder.loop(0, self.plan.elements, one, inits=list(before), attributes=self._unrolling)


def _range(builder: GpuBuilder, chunk: Index, size: int, length: int) -> tuple[Index, Index]:
    """The steps of a chunk."""
    lower = builder.mul(chunk, size)
    upper = builder.add(lower, size)
    return lower, upper if length % size == 0 else builder.min(upper, length)


class ScanMapper:
    """The launches of one scan."""

    def __init__(self, mapper: KernelMapper, op: ScanOp, lines: ScanShape):
        self.mapper = mapper
        self.op = op
        self.lines = lines
        self.plan = lines.plan
        self.count = len(op.outputs)

    def run(self) -> None:
        lines = self.lines
        if lines.chunks == 1:
            self._scan(None)
            return
        totals = [
            self.mapper.scratch(memref_type((lines.outer, lines.chunks, lines.inner), buffer_of(x).element_type))
            for x in self.op.outputs
        ]
        self._totals(totals)
        self._scan_totals(totals)
        self._scan(totals)

    def _scanner(self) -> ThreadScanner | BlockScanner:
        launch = ExtLaunch(self.mapper, self.op)
        return BlockScanner(launch, self.plan) if isinstance(self.plan, ScanBlocks) else ThreadScanner(launch)

    def _lines(self, scanner: Scanner, values: Sequence[SSAValue]) -> Lines:
        buffers = [scanner.launch.flat(x, self.lines.shape) for x in values]
        return Lines(scanner.builder, buffers, self.lines.length, scanner.reverse)

    def _launch(self, scanner: Scanner, chunks: int, body: Callable[[Line, Index], None]) -> None:
        """A thread or block for each chunk of each line."""
        lines, builder = self.lines, scanner.builder
        if isinstance(self.plan, ScanThreads):
            sizes = (lines.outer, chunks, lines.inner)
            scanner.launch.finish_over(sizes, lambda at: body((at[0], at[2]), at[1]), self.plan.threads)
            return
        outer, chunk = builder.div(builder.block_id(), chunks), builder.rem(builder.block_id(), chunks)
        body((outer, 0), chunk)
        scanner.launch.finish(lines.outer * chunks, self.plan.threads)

    def _scan(self, totals: Sequence[SSAValue] | None) -> None:
        """Each chunk from what is before it: the inits, or the scanned total of the chunk before."""
        scanner = self._scanner()
        builder, op = scanner.builder, scanner.launch.op
        source, target = self._lines(scanner, op.inputs[: self.count]), self._lines(scanner, op.outputs)
        scanned = [scanner.launch.buffer(x) for x in totals or ()]

        def chunk(line: Line, number: Index) -> None:
            carry: Values = scanner.inits
            if scanned:
                previous = at_least_zero(builder, builder.sub(number, 1))
                before = [builder.load(x, [line[0], previous, line[1]]) for x in scanned]
                carry = scanner.choose(builder.compare("eq", number, 0), carry, before)
            scanner.scan(source, target, self.plan.chunk, line, number, carry)

        self._launch(scanner, self.lines.chunks, chunk)

    def _totals(self, totals: Sequence[SSAValue]) -> None:
        scanner = self._scanner()
        builder = scanner.builder
        source = self._lines(scanner, scanner.launch.op.inputs[: self.count])
        target = Lines(builder, [scanner.launch.buffer(x) for x in totals], self.lines.chunks, False)

        def chunk(line: Line, number: Index) -> None:
            values = scanner.total(source, self.plan.chunk, line, number)
            if isinstance(self.plan, ScanBlocks):
                first = builder.compare("eq", builder.thread_id(), 0)
                builder.when(first, lambda: target.store(values, line, number))
            else:
                target.store(values, line, number)

        self._launch(scanner, self.lines.chunks, chunk)

    def _scan_totals(self, totals: Sequence[SSAValue]) -> None:
        """Each line of totals as one chunk, in place."""
        scanner = self._scanner()
        buffers = [scanner.launch.buffer(x) for x in totals]
        lines = Lines(scanner.builder, buffers, self.lines.chunks, False)

        def chunk(line: Line, number: Index) -> None:
            scanner.scan(lines, lines, self.lines.chunks, line, 0, scanner.inits)

        self._launch(scanner, 1, chunk)


def map_scan(mapper: KernelMapper, phase: Phase) -> None:
    """`linalg_ext.scan`: one launch, or three where lines have several chunks."""
    (op,), (plan,) = phase.ops, phase.plans
    assert isinstance(op, ScanOp)
    outer, length, inner = lines_of(op)
    if isinstance(plan, ScanRows):
        phase.require(inner == 1, "the scanned dimension is not the last")
        map_short_rows(mapper, op, plan.rows)
        return
    assert isinstance(plan, (ScanThreads, ScanBlocks))
    phase.require(isinstance(plan, ScanThreads) or inner == 1, "the scanned dimension is not the last")
    ScanMapper(mapper, op, ScanShape(outer, length, inner, plan)).run()


def lines_of(op: ScanOp) -> tuple[int, int, int]:
    """The elements as (outer, scanned, inner)."""
    shape, dim = shape_of(op.outputs[0]), int(cast(Any, op.dimension).value.data)
    return math.prod(shape[:dim]), shape[dim], math.prod(shape[dim + 1 :])

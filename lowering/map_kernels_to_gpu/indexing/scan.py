"""
Scans: a thread per column if there are many, or a block per long row; if there are few, each is cut into chunks.

A block scans its row tile by tile: each thread folds some neighbouring elements, the threads' totals are scanned in
shared memory with doubling distances, and each thread scans its elements again, starting from the prefix before them.
With chunks there are three launches: the total of each chunk, the scan of the totals, and the scan of each chunk from
there. Chunk sizes depend on shapes and the chip only, and so do the results.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Attribute, SSAValue

from ....dialects.gpu.plans import ScanBlocks, ScanRows, ScanThreads
from ....dialects.linalg_ext.window import ScanOp, shape_of
from ....dialects.support.buffers import memref_type
from ....dialects.support.scalar import Scalar
from ...loop_nests.cost import region_cost
from ...loop_nests.indices import chunk
from ...loop_nests.kernel_builder import Index
from ...loop_nests.loop_builder import buffer_of
from ...loop_nests.unrolling import UNROLL
from ..threads.builder import GpuBuilder
from ..threads.items import I64, WRITTEN_OUT
from ..threads.launch import KernelMapper
from ..threads.phases import Phase
from ..threads.ranges import ceil_div
from .launch import ExtLaunch
from .scan_rows import map_short_rows

CHEAP = 8
"""Operations of a fold up to which a loop over a thread's elements is unrolled."""

FEW_AT_ONCE = {UNROLL: IntegerAttr(4, I64)}
"""The unroll attribute of a loop along a column, so that several loads are in flight."""

PART_AT_ONCE = {UNROLL: IntegerAttr(5, I64)}
"""The unroll attribute of the loops that load and store a tile: a third of it, to limit registers."""

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
        """Combine the fold so far with the next value, in the order of the elements in memory."""
        pair = (*element, *before) if self.reverse else (*before, *element)
        return self.builder.inline(self.launch.op.regions[0].block, pair)

    def choose(self, condition: Scalar, first: Values, second: Values) -> list[SSAValue]:
        return [condition.select(a, b).value for a, b in zip(first, second, strict=True)]


@dataclass(frozen=True)
class Lines:
    """The lines of N buffers, viewed as (outer, length, inner)."""

    builder: GpuBuilder
    buffers: Values
    length: int
    backwards: bool

    def place(self, line: Line, step: Index) -> list[Index]:
        outer, inner = line
        return [outer, self.length - 1 - step if self.backwards else step, inner]

    def load(self, line: Line, step: Index) -> list[SSAValue]:
        place = self.place(line, step)
        return [self.builder.load(buffer, place) for buffer in self.buffers]

    def store(self, values: Values, line: Line, step: Index) -> None:
        place = self.place(line, step)
        for value, buffer in zip(values, self.buffers, strict=True):
            self.builder.store(value, buffer, place)


class ThreadScanner(Scanner):
    """A thread per chunk of a line."""

    def scan(self, source: Lines, target: Lines, size: int, line: Line, number: Index, carry: Values) -> None:
        builder = self.builder
        lower, upper = chunk(builder, number, size, source.length)
        with builder.loop(lower, upper, carry=carry, attributes=FEW_AT_ONCE) as (step, state):
            following = self.combine(state, source.load(line, step))
            target.store(following, line, step)
            builder.yield_(*following)

    def total(self, source: Lines, size: int, line: Line, number: Index) -> list[SSAValue]:
        """The fold of a chunk, which is not empty."""
        builder = self.builder
        lower, upper = chunk(builder, number, size, source.length)
        first = source.load(line, lower)
        with builder.loop(lower + 1, upper, carry=first, attributes=FEW_AT_ONCE) as (step, state):
            builder.yield_(*self.combine(state, source.load(line, step)))
        return state


class BlockScanner(Scanner):
    """A block per chunk of a line."""

    def __init__(self, launch: ExtLaunch[ScanOp], plan: ScanBlocks):
        super().__init__(launch)
        self.plan = plan
        types = [buffer_of(x).element_type for x in launch.op.outputs]
        self.elements = [self.builder.shared((plan.tile,), type_) for type_ in types]
        self.totals = [self.builder.shared((plan.threads,), type_) for type_ in types]

    @property
    def _unrolling(self) -> Mapping[str, Attribute]:
        """The unroll attribute of loops over a thread's elements, so that their loads do not wait for each other."""
        cheap = region_cost(self.launch.op.regions[0].block) <= CHEAP
        return WRITTEN_OUT if cheap else FEW_AT_ONCE

    def _load(self, buffers: Values, place: Index) -> list[SSAValue]:
        return [self.builder.load(buffer, [place]) for buffer in buffers]

    def _store(self, values: Values, buffers: Values, place: Index) -> None:
        for value, buffer in zip(values, buffers, strict=True):
            self.builder.store(value, buffer, [place])

    def scan(self, source: Lines, target: Lines, size: int, line: Line, number: Index, carry: Values) -> None:
        builder, thread = self.builder, self.builder.thread_id()
        lower, upper = chunk(builder, number, size, source.length)
        with builder.loop(lower, upper, step=self.plan.tile, carry=carry) as (start, before):
            self._load_tile(source, line, start, upper)
            total = self._scan_totals()
            previous = self._load(self.totals, builder.index(thread - 1).max(0))
            first = thread.compare("eq", 0)
            self._scan_own(self.choose(first, before, self.combine(before, previous)))
            builder.barrier()
            self._store_tile(target, line, start, upper)
            builder.yield_(*self.combine(before, total))

    def total(self, source: Lines, size: int, line: Line, number: Index) -> list[SSAValue]:
        """The fold of a chunk; undefined for one that ends within a tile."""
        builder = self.builder
        lower, upper = chunk(builder, number, size, source.length)
        state = source.load(line, lower)
        with builder.loop(lower, upper, step=self.plan.tile, carry=state) as (start, before):
            self._load_tile(source, line, start, upper)
            total = self._scan_totals()
            first = start.compare("eq", lower)
            builder.barrier()
            builder.yield_(*self.choose(first, total, self.combine(before, total)))
        return before

    def _load_tile(self, source: Lines, line: Line, start: Index, upper: Index) -> None:
        """Neighbouring threads load neighbouring elements; beyond the end, an element that no result depends on."""
        builder, plan = self.builder, self.plan
        last = upper - 1
        with builder.loop(0, plan.tile, step=plan.threads, attributes=PART_AT_ONCE) as offset:
            place = offset + builder.thread_id()
            step = builder.min(start + place, last)
            self._store(source.load(line, step), self.elements, place)
        builder.barrier()

    def _store_tile(self, target: Lines, line: Line, start: Index, upper: Index) -> None:
        builder, plan = self.builder, self.plan
        with builder.loop(0, plan.tile, step=plan.threads, attributes=PART_AT_ONCE) as offset:
            place = offset + builder.thread_id()
            step = start + place
            with builder.when(builder.index(step).below(upper)):
                target.store(self._load(self.elements, place), line, step)

    def _own(self) -> Index:
        """The start of the thread's own elements in the tile."""
        return self.builder.thread_id() * self.plan.elements

    def _scan_totals(self) -> list[SSAValue]:
        """Fold each thread's elements and scan the totals in shared memory; returns the total of the tile."""
        builder, plan = self.builder, self.plan
        thread, own = builder.thread_id(), self._own()
        state = self._load(self.elements, own)
        if plan.elements > 1:
            with builder.loop(1, plan.elements, carry=state, attributes=self._unrolling) as (number, state):
                builder.yield_(*self.combine(state, self._load(self.elements, own + number)))
        self._store(state, self.totals, thread)
        with builder.loop(0, plan.threads.bit_length() - 1, carry=state) as (level, state):
            distance = builder.index(1) << level
            builder.barrier()
            other = self._load(self.totals, builder.index(thread - distance).max(0))
            builder.barrier()
            has = thread.compare("uge", distance)
            following = self.choose(has, self.combine(other, state), state)
            self._store(following, self.totals, thread)
            builder.yield_(*following)
        builder.barrier()
        return self._load(self.totals, plan.threads - 1)

    def _scan_own(self, before: Values) -> None:
        """Replace the thread's elements by their prefixes, starting from the prefix before them."""
        builder, own = self.builder, self._own()
        with builder.loop(0, self.plan.elements, carry=before, attributes=self._unrolling) as (number, state):
            place = own + number
            following = self.combine(state, self._load(self.elements, place))
            self._store(following, self.elements, place)
            builder.yield_(*following)


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

    @contextmanager
    def _launch(self, scanner: Scanner, chunks: int) -> Generator[tuple[Line, Index]]:
        """Emit the `with` block for a thread or block per chunk of each line."""
        lines, builder = self.lines, scanner.builder
        if isinstance(self.plan, ScanThreads):
            sizes = (lines.outer, chunks, lines.inner)
            with scanner.launch.over(sizes, self.plan.threads) as (outer, number, inner):
                yield (outer, inner), number
        else:
            yield (builder.block_id() // chunks, 0), builder.block_id() % chunks
            scanner.launch.finish(lines.outer * chunks, self.plan.threads)

    def _scan(self, totals: Sequence[SSAValue] | None) -> None:
        """Scan each chunk from its initial values: the inits, or the scanned total of the chunk before."""
        scanner = self._scanner()
        builder, op = scanner.builder, scanner.launch.op
        source, target = self._lines(scanner, op.inputs[: self.count]), self._lines(scanner, op.outputs)
        scanned = [scanner.launch.buffer(x) for x in totals or ()]
        with self._launch(scanner, self.lines.chunks) as (line, number):
            carry: Values = scanner.inits
            if scanned:
                previous = builder.index(number - 1).max(0)
                before = [builder.load(x, [line[0], previous, line[1]]) for x in scanned]
                carry = scanner.choose(builder.index(number).compare("eq", 0), carry, before)
            scanner.scan(source, target, self.plan.chunk, line, number, carry)

    def _totals(self, totals: Sequence[SSAValue]) -> None:
        scanner = self._scanner()
        builder = scanner.builder
        source = self._lines(scanner, scanner.launch.op.inputs[: self.count])
        target = Lines(builder, [scanner.launch.buffer(x) for x in totals], self.lines.chunks, False)
        leads = isinstance(self.plan, ScanBlocks)
        with self._launch(scanner, self.lines.chunks) as (line, number):
            values = scanner.total(source, self.plan.chunk, line, number)
            with builder.guarded(builder.thread_id().compare("eq", 0) if leads else None):
                target.store(values, line, number)

    def _scan_totals(self, totals: Sequence[SSAValue]) -> None:
        """Scan each line of totals as one chunk, in place."""
        scanner = self._scanner()
        buffers = [scanner.launch.buffer(x) for x in totals]
        lines = Lines(scanner.builder, buffers, self.lines.chunks, False)
        with self._launch(scanner, 1) as (line, _):
            scanner.scan(lines, lines, self.lines.chunks, line, 0, scanner.inits)


def map_scan(mapper: KernelMapper, phase: Phase) -> None:
    """`linalg_ext.scan`: one launch, or three if lines have several chunks."""
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
    """The elements viewed as (outer, scanned, inner)."""
    shape, dim = shape_of(op.outputs[0]), int(cast(Any, op.dimension).value.data)
    return math.prod(shape[:dim]), shape[dim], math.prod(shape[dim + 1 :])

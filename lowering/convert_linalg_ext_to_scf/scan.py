"""Loops of scan."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from xdsl.ir import Block, SSAValue

from ...dialects.build.buffers import memref_type, row_major
from ...dialects.linalg_ext.window import ScanOp
from ..loop_nests.cost import CACHED_COLUMNS, region_cost, task_count, task_size
from ..loop_nests.loop_builder import PARALLEL, Index, LoopBuilder, buffer_of

TILE = CACHED_COLUMNS
"""Neighbouring columns that are scanned together: the last row of results stays in the first-level cache."""

COLUMNS = 64
"""Columns that one task should take at least."""

UNROLL = 8
"""Elements of a run whose prefixes are computed before the fold so far is combined into them."""

MAX_UNROLLED = 4
"""Operations of a body that is cheap enough to be computed twice for that."""

Values: TypeAlias = Sequence[SSAValue]


@dataclass(frozen=True)
class _Scan:
    """One scan, its operands seen as (outer, length, inner)."""

    builder: LoopBuilder
    body: Block
    reverse: bool
    sources: Values
    targets: Values
    outer: int
    length: int
    inner: int

    def place(self, outer: Index, step: Index, inner: Index) -> tuple[Index, Index, Index]:
        """The index of a step of the scan: from the end with `reverse`."""
        return outer, self.builder.sub(self.length - 1, step) if self.reverse else step, inner

    def read(self, place: Sequence[Index], written: bool = False) -> list[SSAValue]:
        return [self.builder.load(buffer, place) for buffer in (self.targets if written else self.sources)]

    def write(self, values: Values, place: Sequence[Index]) -> None:
        for value, buffer in zip(values, self.targets, strict=True):
            self.builder.store(value, buffer, place)

    def combine(self, before: Values, element: Values) -> list[SSAValue]:
        """The fold so far and what comes next, in the order of the elements in memory."""
        pair = (*element, *before) if self.reverse else (*before, *element)
        return self.builder.inline(self.body, pair)

    def run(self, outer: Index, lower: Index, upper: Index, start: Values) -> list[SSAValue]:
        """Scan steps [lower, upper) of one line, from `start` on; the last values."""
        builder = self.builder

        def one(step: SSAValue, state: list[SSAValue]) -> list[SSAValue]:
            place = self.place(outer, step, 0)
            state = self.combine(state, self.read(place))
            self.write(state, place)
            return state

        if region_cost(self.body) > MAX_UNROLLED:
            return builder.loop(lower, upper, one, inits=start)

        def several(first: SSAValue, state: list[SSAValue]) -> list[SSAValue]:
            places = [self.place(outer, builder.add(first, k), 0) for k in range(UNROLL)]
            prefix = self.read(places[0])
            prefixes = [prefix]
            for place in places[1:]:
                prefix = self.combine(prefix, self.read(place))
                prefixes.append(prefix)
            totals = [self.combine(state, values) for values in prefixes]
            for values, place in zip(totals, places, strict=True):
                self.write(values, place)
            return totals[-1]

        count = builder.div(builder.sub(upper, lower), UNROLL)
        middle = builder.add(lower, builder.mul(count, UNROLL))
        state = list(start)
        if middle != lower:
            state = builder.loop(lower, middle, several, step=UNROLL, inits=state)
        if middle != upper:
            state = builder.loop(middle, upper, one, inits=state)
        return state

    def columns(self, outer: Index, lower: Index, upper: Index, start: Values) -> None:
        """Scan the lines of neighbouring columns together, row after row."""
        builder = self.builder

        def row(step: Index, before: Callable[[Index], Values]) -> None:
            def one(column: SSAValue, _: list[SSAValue]) -> Sequence[SSAValue]:
                place = self.place(outer, step, column)
                self.write(self.combine(before(column), self.read(place)), place)
                return ()

            builder.loop(lower, upper, one, attributes=PARALLEL)

        def rest(step: SSAValue, _: list[SSAValue]) -> Sequence[SSAValue]:
            previous = builder.sub(step, 1)
            row(step, lambda column: self.read(self.place(outer, previous, column), written=True))
            return ()

        row(0, lambda _: start)
        if self.length > 1:
            builder.loop(1, self.length, rest)


def _flat(builder: LoopBuilder, buffer: SSAValue, shape: tuple[int, int, int]) -> SSAValue:
    """The buffer, which is contiguous, under another shape."""
    return builder.strided_view(buffer, 0, shape, row_major(shape))


def _scan(op: ScanOp, builder: LoopBuilder) -> None:
    """
    `linalg_ext.scan` becomes a loop that carries the fold (the last dimension) or rows that read the row before.

    Independent lines are spread over tasks; a single long line is cut into chunks, whose scans are then corrected by
    what comes before them. The cuts follow from the shape alone.
    """
    count = len(op.outputs)
    dim: int = cast(Any, op.dimension).value.data
    shape = buffer_of(op.outputs[0]).get_shape()
    outer, length, inner = math.prod(shape[:dim]), shape[dim], math.prod(shape[dim + 1 :])
    if 0 in (outer, length, inner):
        return
    flat = (outer, length, inner)
    scan = _Scan(
        builder,
        op.regions[0].block,
        bool(cast(Any, op.reverse).value.data),
        [_flat(builder, value, flat) for value in op.inputs[:count]],
        [_flat(builder, value, flat) for value in op.outputs],
        outer,
        length,
        inner,
    )
    start = list(op.inputs[count:])
    work = outer * length * inner * (2 * count + region_cost(scan.body))
    if inner > 1:
        _scan_columns(scan, start, work)
    elif outer > 1:
        _scan_lines(scan, start, work)
    else:
        _scan_line(scan, start, work)


def task_range(builder: LoopBuilder, task: SSAValue, size: int, total: int) -> tuple[Index, Index]:
    """What a task takes of `total` iterations: `size` of them, or the rest."""
    lower = builder.mul(task, size)
    upper = builder.add(lower, size)
    return lower, upper if total % size == 0 else builder.min(upper, total)


def _scan_columns(scan: _Scan, start: Values, work: int) -> None:
    builder = scan.builder
    tasks = task_count(work, work, scan.outer * -(-scan.inner // COLUMNS))
    per_line = -(-tasks // scan.outer)
    size = min(TILE, task_size(scan.inner, per_line, min(COLUMNS, scan.inner)))
    tiles = -(-scan.inner // size)

    def tile(index: SSAValue) -> None:
        lower, upper = task_range(builder, cast(SSAValue, builder.rem(index, tiles)), size, scan.inner)
        if tiles == 1:
            lower, upper = 0, scan.inner
        scan.columns(builder.div(index, tiles), lower, upper, start)

    def serial(index: SSAValue, _: list[SSAValue]) -> Sequence[SSAValue]:
        tile(index)
        return ()

    if tasks > 1:
        builder.parallel(scan.outer * tiles, tile)
    else:
        builder.loop(0, scan.outer * tiles, serial)


def _scan_lines(scan: _Scan, start: Values, work: int) -> None:
    builder = scan.builder
    tasks = task_count(work, work, scan.outer)
    size = task_size(scan.outer, tasks)

    def line(index: SSAValue, _: list[SSAValue]) -> Sequence[SSAValue]:
        scan.run(index, 0, scan.length, start)
        return ()

    def task(index: SSAValue) -> None:
        builder.loop(*task_range(builder, index, size, scan.outer), line)

    if tasks > 1:
        builder.parallel(-(-scan.outer // size), task)
    else:
        builder.loop(0, scan.outer, line)


def _scan_line(scan: _Scan, start: Values, work: int) -> None:
    """One line: in three passes over chunks where it is long."""
    builder = scan.builder
    tasks = task_count(work, work, scan.length)
    if tasks < 3:
        scan.run(0, 0, scan.length, start)
        return
    size = task_size(scan.length, tasks, UNROLL)
    chunks = -(-scan.length // size)
    totals = [builder.alloc(memref_type((chunks,), buffer_of(target).element_type)) for target in scan.targets]

    def scan_chunk(index: SSAValue) -> None:
        lower, upper = task_range(builder, index, size, scan.length)
        first = scan.place(0, lower, 0)
        state = scan.read(first)
        scan.write(state, first)
        last = scan.run(0, builder.add(lower, 1), upper, state)
        for value, buffer in zip(last, totals, strict=True):
            builder.store(value, buffer, (index,))

    def prefix(index: SSAValue, state: list[SSAValue]) -> list[SSAValue]:
        own = [builder.load(buffer, (index,)) for buffer in totals]
        for value, buffer in zip(state, totals, strict=True):
            builder.store(value, buffer, (index,))
        return scan.combine(state, own)

    def correct_chunk(index: SSAValue) -> None:
        before = [builder.load(buffer, (index,)) for buffer in totals]

        def one(step: SSAValue, _: list[SSAValue]) -> Sequence[SSAValue]:
            place = scan.place(0, step, 0)
            scan.write(scan.combine(before, scan.read(place, written=True)), place)
            return ()

        builder.loop(*task_range(builder, index, size, scan.length), one, attributes=PARALLEL)

    builder.parallel(chunks, scan_chunk)
    builder.loop(0, chunks, prefix, inits=start)
    builder.parallel(chunks, correct_chunk)


PATTERNS = ((ScanOp, _scan),)

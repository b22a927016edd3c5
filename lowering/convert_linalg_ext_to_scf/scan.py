"""Loops of scan."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from xdsl.dialects import arith
from xdsl.ir import Block, SSAValue

from ...dialects.linalg_ext.window import ScanOp
from ...dialects.support.buffers import memref_type, row_major
from ..loop_nests.cost import CACHED_COLUMNS, region_cost, share_of_one, task_count, task_size
from ..loop_nests.indices import chunk
from ..loop_nests.loop_builder import PARALLEL, Index, LoopBuilder, buffer_of
from .conversion import patterns
from .scan_lanes import SHORT_ROW, lane_scan

TILE = CACHED_COLUMNS
"""Neighbouring columns that are scanned together: the last row of results stays in the L1 cache."""

COLUMNS = 64
"""Least number of columns per task."""

UNROLL = 8
"""Elements of a run whose prefixes are computed before the accumulator is combined into them."""

UNEVEN_SHARE = 0.6
"""The part of the lines for one of two threads from which they are cut: that takes up to a sixth longer in all."""

MAX_UNROLLED = 4
"""Most operations of a body that is cheap enough to be computed twice for `UNROLL`."""

Values: TypeAlias = Sequence[SSAValue]


@dataclass(frozen=True)
class _Scan:
    """One scan, with its operands viewed as (outer, length, inner)."""

    builder: LoopBuilder
    body: Block
    reverse: bool
    sources: Values
    targets: Values
    outer: int
    length: int
    inner: int

    def place(self, outer: Index, step: Index, inner: Index) -> tuple[Index, Index, Index]:
        """The index of a step of the scan; counted from the end if `reverse`."""
        return outer, self.length - 1 - step if self.reverse else step, inner

    def read(self, place: Sequence[Index], written: bool = False) -> list[SSAValue]:
        return [self.builder.load(buffer, place) for buffer in (self.targets if written else self.sources)]

    def write(self, values: Values, place: Sequence[Index]) -> None:
        for value, buffer in zip(values, self.targets, strict=True):
            self.builder.store(value, buffer, place)

    def combine(self, before: Values, element: Values) -> list[SSAValue]:
        """Combine the accumulator and the next value, in the order of the elements in memory."""
        pair = (*element, *before) if self.reverse else (*before, *element)
        return self.builder.inline(self.body, pair)

    def run(self, outer: Index, lower: Index, upper: Index, start: Values) -> list[SSAValue]:
        """Scan steps [lower, upper) of one line, starting from `start`; return the last values."""
        if region_cost(self.body) > MAX_UNROLLED:
            return self._steps(outer, lower, upper, start)
        middle = lower + (upper - lower) // UNROLL * UNROLL
        state = list(start)
        if middle != lower:
            state = self._unrolled_steps(outer, lower, middle, state)
        return state if middle == upper else self._steps(outer, middle, upper, state)

    def _steps(self, outer: Index, lower: Index, upper: Index, start: Values) -> list[SSAValue]:
        with self.builder.loop(lower, upper, carry=start) as (step, state):
            place = self.place(outer, step, 0)
            following = self.combine(state, self.read(place))
            self.write(following, place)
            self.builder.yield_(*following)
        return state

    def _unrolled_steps(self, outer: Index, lower: Index, upper: Index, start: Values) -> list[SSAValue]:
        """`UNROLL` steps at once, whose prefixes do not depend on the accumulator."""
        with self.builder.loop(lower, upper, step=UNROLL, carry=start) as (first, state):
            places = [self.place(outer, first + k, 0) for k in range(UNROLL)]
            prefixes = [self.read(places[0])]
            for place in places[1:]:
                prefixes.append(self.combine(prefixes[-1], self.read(place)))
            totals = [self.combine(state, values) for values in prefixes]
            for values, place in zip(totals, places, strict=True):
                self.write(values, place)
            self.builder.yield_(*totals[-1])
        return state

    def columns(self, outer: Index, lower: Index, upper: Index, start: Values) -> None:
        """Scan the lines of neighbouring columns together, row by row."""
        with self.builder.loop(lower, upper, attributes=PARALLEL) as column:
            place = self.place(outer, 0, column)
            self.write(self.combine(start, self.read(place)), place)
        if self.length > 1:
            with self.builder.loop(1, self.length) as step:
                previous = step - 1
                with self.builder.loop(lower, upper, attributes=PARALLEL) as column:
                    place = self.place(outer, step, column)
                    before = self.read(self.place(outer, previous, column), written=True)
                    self.write(self.combine(before, self.read(place)), place)


def _flat(builder: LoopBuilder, buffer: SSAValue, shape: tuple[int, int, int]) -> SSAValue:
    """The buffer, which is contiguous, with another shape."""
    return builder.strided_view(buffer, 0, shape, row_major(shape))


def _waits_long(body: Block) -> bool:
    """Whether a step waits long for the one before; a maximum of floats is several instructions, for NaN and zeros."""
    return region_cost(body) > MAX_UNROLLED or any(
        isinstance(op, (arith.MaximumfOp, arith.MinimumfOp)) for op in body.ops
    )


@patterns.on(ScanOp)
def _scan(op: ScanOp, builder: LoopBuilder) -> None:
    """
    `linalg_ext.scan` becomes a loop that carries the accumulator (the last dimension) or rows that read the previous
    row.

    Independent lines are spread over tasks; a single long line is cut into chunks, whose scans are then combined with
    the result of the preceding chunks. The cuts depend only on the shape.
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
    if 1 < inner < SHORT_ROW or (inner == 1 and _waits_long(scan.body)):
        sources, targets = (
            [builder.strided_view(each, 0, (outer * length * inner,), (1,)) for each in buffers]
            for buffers in (op.inputs[:count], op.outputs)
        )
        in_lanes = lane_scan(builder, scan.body, scan.reverse, sources, targets, flat)
        if in_lanes is not None:
            in_lanes.emit(start)
            return
    work = outer * length * inner * (2 * count + region_cost(scan.body))
    if inner > 1:
        _scan_columns(scan, start, work)
    elif outer > 1:
        _scan_lines(scan, start, work)
    else:
        _scan_line(scan, start, work)


def _scan_columns(scan: _Scan, start: Values, work: int) -> None:
    builder = scan.builder
    tasks = task_count(work, work, scan.outer * -(-scan.inner // COLUMNS))
    per_line = -(-tasks // scan.outer)
    size = min(TILE, task_size(scan.inner, per_line, min(COLUMNS, scan.inner)))
    tiles = -(-scan.inner // size)

    count = scan.outer * tiles
    with builder.parallel(count) if tasks > 1 else builder.loop(0, count) as index:
        columns = chunk(builder, index % tiles, size, scan.inner)
        scan.columns(index // tiles, *(columns if tiles > 1 else (0, scan.inner)), start)


def _scan_lines(scan: _Scan, start: Values, work: int) -> None:
    builder = scan.builder
    tasks = task_count(work, work, scan.outer)
    if tasks == 1:
        with builder.loop(0, scan.outer) as line:
            scan.run(line, 0, scan.length, start)
        return
    size = task_size(scan.outer, tasks)
    if share_of_one(scan.outer, size) > UNEVEN_SHARE and task_count(work, work, scan.length) > tasks:
        _scan_chunks(scan, start, work)
        return
    with (
        builder.parallel(-(-scan.outer // size)) as task,
        builder.loop(*chunk(builder, task, size, scan.outer)) as line,
    ):
        scan.run(line, 0, scan.length, start)


def _scan_line(scan: _Scan, start: Values, work: int) -> None:
    """Scan one line; a long one in chunks."""
    if task_count(work, work, scan.length) < 3:
        scan.run(0, 0, scan.length, start)
    else:
        _scan_chunks(scan, start, work)


def _scan_chunks(scan: _Scan, start: Values, work: int) -> None:
    """Scan few lines in three passes over chunks of them."""
    builder, lines = scan.builder, scan.outer
    size = task_size(scan.length, -(-task_count(work, work, scan.length) // lines), UNROLL)
    chunks = -(-scan.length // size)
    totals = [builder.alloc(memref_type((lines, chunks), buffer_of(target).element_type)) for target in scan.targets]

    with builder.parallel(lines * chunks) as task:
        line, number = task // chunks, task % chunks
        lower, upper = chunk(builder, number, size, scan.length)
        first = scan.place(line, lower, 0)
        state = scan.read(first)
        scan.write(state, first)
        last = scan.run(line, lower + 1, upper, state)
        for value, buffer in zip(last, totals, strict=True):
            builder.store(value, buffer, (line, number))
    with builder.loop(0, lines) as line, builder.loop(0, chunks, carry=start) as (number, before):
        own = [builder.load(buffer, (line, number)) for buffer in totals]
        for value, buffer in zip(before, totals, strict=True):
            builder.store(value, buffer, (line, number))
        builder.yield_(*scan.combine(before, own))
    with builder.parallel(lines * chunks) as task:
        line, number = task // chunks, task % chunks
        before = [builder.load(buffer, (line, number)) for buffer in totals]
        with builder.loop(*chunk(builder, number, size, scan.length), attributes=PARALLEL) as step:
            place = scan.place(line, step, 0)
            scan.write(scan.combine(before, scan.read(place, written=True)), place)

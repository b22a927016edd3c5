"""Loops of select_and_scatter."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from itertools import product
from typing import Any, cast

from xdsl.dialects.builtin import IntegerAttr, i1, i32
from xdsl.ir import Block, SSAValue

from ...dialects.linalg_ext.window import SelectAndScatterOp
from ..loop_nests.cost import region_cost, task_count, task_size
from ..loop_nests.indices import chunk
from ..loop_nests.kernel_builder import Index, Value, value_of
from ..loop_nests.loop_builder import PARALLEL, LoopBuilder, buffer_of
from .conversion import patterns

MAX_UNROLLED = 16
"""Most elements of a window that is processed at once for many neighbouring columns."""


@dataclass(frozen=True)
class Selection:
    """One select_and_scatter: its buffers, regions and geometry."""

    builder: LoopBuilder
    operand: SSAValue
    source: SSAValue
    target: SSAValue
    select: Block
    scatter: Block
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    low: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return buffer_of(self.operand).get_shape()

    @property
    def counts(self) -> tuple[int, ...]:
        return buffer_of(self.source).get_shape()

    @property
    def takes_columns(self) -> bool:
        """Whether windows of neighbouring columns can be processed together, without branches."""
        rank = len(self.sizes)
        return (
            rank > 0
            and self.sizes[-1] == self.strides[-1] == 1
            and self.counts[-1] >= 4
            and math.prod(self.sizes) <= MAX_UNROLLED
            and all(self.is_inside(dim) for dim in range(rank))
        )

    def is_inside(self, dim: int) -> bool:
        """Whether no window extends beyond the operand in this dimension."""
        last = (self.counts[dim] - 1) * self.strides[dim] - self.low[dim] + self.sizes[dim]
        return self.low[dim] <= 0 and last <= self.shape[dim]

    def start(self, dim: int, window: Index) -> Index:
        """The index of a window's first element."""
        return window * self.strides[dim] + -self.low[dim]

    def combine(self, place: Sequence[Index], update: SSAValue) -> SSAValue:
        return self.builder.inline(self.scatter, [self.builder.load(self.target, place), update])[0]

    # One window at a time.

    def scatter_window(self, window: Sequence[Index]) -> None:
        """Select an element of the window, and combine the source's element into the output at its index."""
        builder = self.builder
        origin = [0] * len(self.sizes)
        state = [builder.scalar(IntegerAttr(0, i1)), builder.load(self.operand, origin), *map(builder.index, origin)]
        found, _, *place = self.best(window, [], state)
        at = list(map(builder.index, place))
        inside = all(self.is_inside(dim) for dim in range(len(self.sizes)))
        with nullcontext() if inside else builder.when(found):
            builder.store(self.combine(at, builder.load(self.source, window)), self.target, at)

    def best(self, window: Sequence[Index], place: list[Index], state: Sequence[Value]) -> list[SSAValue]:
        """(found, value, index..) of the element selected among `state` and the window's elements from `place` on."""
        builder, dim = self.builder, len(place)
        if dim == len(self.sizes):
            return self._candidate(place, list(map(value_of, state)))
        first = self.start(dim, window[dim])
        with builder.loop(0, self.sizes[dim], carry=state) as (offset, selected):
            here = first + offset if self.sizes[dim] > 1 else first
            if self.is_inside(dim):
                builder.yield_(*self.best(window, [*place, here], selected))
            else:
                at = builder.index(here)
                with builder.when((at >= 0) & (at < self.shape[dim])) as chosen:
                    builder.yield_(*self.best(window, [*place, here], selected))
                with builder.otherwise():
                    builder.yield_(*selected)
                builder.yield_(*chosen)
        return selected

    def _candidate(self, place: list[Index], state: list[SSAValue]) -> list[SSAValue]:
        builder = self.builder
        found, value, *best = state
        candidate = builder.load(self.operand, place)
        kept = builder.on(found) & builder.inline(self.select, [value, candidate])[0]
        new = (candidate, *(builder.index(index).value for index in place))
        chosen = [kept.select(a, b).value for a, b in zip((value, *best), new, strict=True)]
        return [builder.scalar(IntegerAttr(-1, i1)), *chosen]

    # Windows of neighbouring columns together.

    def scatter_columns(self, window: Sequence[Index]) -> None:
        """
        The windows of all columns, the last dimension: each reads its elements and writes them all back, the selected
        one combined with the source's. There are no branches, so columns vectorize as lanes.
        """
        builder = self.builder
        firsts = [self.start(dim, index) for dim, index in enumerate(window)]
        offsets = list(product(*map(range, self.sizes[:-1])))
        base = -self.low[-1]
        with builder.loop(0, self.counts[-1], attributes=PARALLEL) as column:
            here = column + base
            places = [
                [*(first + offset for first, offset in zip(firsts, place, strict=True)), here] for place in offsets
            ]
            value = builder.load(self.operand, places[0])
            best = builder.on(self._number(0))
            for number, place in enumerate(places[1:], 1):
                candidate = builder.load(self.operand, place)
                kept = builder.on(builder.inline(self.select, [value, candidate])[0])
                value = kept.select(value, candidate).value
                best = kept.select(best, self._number(number))
            update = builder.load(self.source, [*window, column])
            for number, place in enumerate(places):
                old = builder.load(self.target, place)
                new = builder.inline(self.scatter, [old, update])[0]
                builder.store(best.compare("eq", self._number(number)).select(new, old), self.target, place)

    def _number(self, value: int) -> SSAValue:
        return self.builder.scalar(IntegerAttr(value, i32))


def _integers(attribute: object) -> tuple[int, ...]:
    return cast(Any, attribute).get_values()


def selection_of(op: SelectAndScatterOp, builder: LoopBuilder) -> Selection:
    return Selection(
        builder,
        op.inputs[0],
        op.inputs[1],
        op.outputs[0],
        op.regions[0].block,
        op.regions[1].block,
        _integers(op.sizes),
        _integers(op.strides),
        _integers(op.low),
    )


@patterns.on(SelectAndScatterOp)
def _select_and_scatter(op: SelectAndScatterOp, builder: LoopBuilder) -> None:
    """
    `linalg_ext.select_and_scatter` becomes loops over the windows, each with a loop over its elements.

    Windows that share elements are visited in order by one task; tasks divide a dimension in which windows share none.
    """
    selection = selection_of(op, builder)
    counts, shape = selection.counts, selection.shape
    if 0 in counts or 0 in shape:
        return
    looped = len(counts) - 1 if selection.takes_columns else len(counts)
    cost = 2 + region_cost(selection.select)
    work = math.prod(counts) * math.prod(selection.sizes) * cost
    disjoint = [d for d in range(looped) if selection.strides[d] >= selection.sizes[d] and counts[d] > 1]
    cut = disjoint[0] if disjoint else -1
    tasks = task_count(work, work, counts[cut]) if disjoint else 1
    ranges: dict[int, tuple[Index, Index]] = {dim: (0, counts[dim]) for dim in range(looped)}
    if tasks == 1:
        _visit(selection, ranges)
        return
    size = task_size(counts[cut], tasks)
    with builder.parallel(-(-counts[cut] // size)) as task:
        _visit(selection, {**ranges, cut: chunk(builder, task, size, counts[cut])})


def _visit(selection: Selection, ranges: dict[int, tuple[Index, Index]]) -> None:
    """Visit all windows in the ranges of the outermost dimensions."""
    with ExitStack() as nest:
        window = [nest.enter_context(selection.builder.loop(*ranges[dim])) for dim in range(len(ranges))]
        if selection.takes_columns:
            selection.scatter_columns(window)
        else:
            selection.scatter_window(window)

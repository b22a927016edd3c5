"""Loops of select_and_scatter."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, cast

from xdsl.dialects import memref
from xdsl.dialects.builtin import i1, i32
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.dialects.linalg.ops import FillOp, GenericOp, IndexOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr, AffineMap

from ...dialects.linalg_ext.window import SelectAndScatterOp
from ...dialects.support.attributes import integer_attr
from ...dialects.support.editing import erase_op
from ..loop_nests.cost import region_cost, task_count, task_size
from ..loop_nests.indices import chunk
from ..loop_nests.kernel_builder import Index, Value, value_of
from ..loop_nests.loop_builder import PARALLEL, LoopBuilder, buffer_of
from ..loop_nests.windows import is_tiled, takes_columns
from .conversion import patterns


@dataclass(frozen=True)
class Epilogue:
    """The elementwise operation that follows, if the windows tile the operand: applied to each element once."""

    initial: SSAValue
    """The scalar that the target is filled with."""
    following: GenericOp | None
    """The operation that reads the target, which is in memory only without it."""

    def store(self, builder: LoopBuilder, value: SSAValue, target: SSAValue, place: Sequence[Index]) -> None:
        """Store the element at `place`, or the results computed from it."""
        op = self.following
        if op is None:
            builder.store(value, target, place)
            return
        maps = [attribute.data for attribute in op.indexing_maps.data]
        arguments = [
            value if source is target else builder.load(source, [_index(e, place) for e in map_.results])
            for source, map_ in zip(op.inputs, maps[: len(op.inputs)], strict=True)
        ]
        # The elements of the outputs are arguments of the body, which does not use them.
        results = builder.inline(op.body.block, [*arguments, *[value] * len(op.outputs)])
        for result, output in zip(results, op.outputs, strict=True):
            builder.store(result, output, place)


def _index(expr: AffineExpr, place: Sequence[Index]) -> Index:
    return place[expr.position] if isinstance(expr, AffineDimExpr) else cast(AffineConstantExpr, expr).value


def _epilogue(selection: Selection, op: SelectAndScatterOp) -> tuple[Epilogue, list[Operation]] | None:
    """The epilogue, and the operations that it replaces; None if the target must be in memory before the loops."""
    if not selection.takes_columns or not is_tiled(
        selection.shape, selection.counts, selection.sizes, selection.strides, selection.low
    ):
        return None
    fill = op.prev_op
    if not isinstance(fill, FillOp) or fill.outputs[0] is not selection.target:
        return None
    made, following = selection.target.owner, op.next_op
    users = {use.operation for use in selection.target.uses} - {fill, op}
    if not users:
        return Epilogue(fill.inputs[0], None), [fill]
    if not isinstance(made, memref.AllocOp) or users != {following} or not isinstance(following, GenericOp):
        return None
    if not _is_pointwise(following, selection.target):
        return None
    return Epilogue(fill.inputs[0], following), [fill, following, made]


def _is_pointwise(op: GenericOp, target: SSAValue) -> bool:
    """Whether a generic reads the target at its own index, and other inputs at an index that follows from that."""
    maps = [attribute.data for attribute in op.indexing_maps.data]
    identity = AffineMap.identity(len(op.iterator_types.data))
    own = [map_ for value, map_ in zip((*op.inputs, *op.outputs), maps, strict=True) if value is target]
    simple = all(isinstance(expr, (AffineDimExpr, AffineConstantExpr)) for map_ in maps for expr in map_.results)
    unread = all(not argument.uses for argument in op.body.block.args[len(op.inputs) :])
    return (
        simple
        and unread
        and all(map_ == identity for map_ in (*own, *maps[len(op.inputs) :]))
        and all(kind.data is IteratorType.PARALLEL for kind in op.iterator_types.data)
        and not any(isinstance(inner, IndexOp) for inner in op.body.block.ops)
    )


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
    epilogue: Epilogue | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        return buffer_of(self.operand).get_shape()

    @property
    def counts(self) -> tuple[int, ...]:
        return buffer_of(self.source).get_shape()

    @property
    def takes_columns(self) -> bool:
        """Whether windows of neighbouring columns can be processed together, without branches."""
        inside = all(self.is_inside(dim) for dim in range(len(self.sizes)))
        return inside and takes_columns(self.sizes, self.strides, self.counts)

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
        state = [builder.scalar(integer_attr(0, i1)), builder.load(self.operand, origin), *map(builder.index, origin)]
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
        return [builder.scalar(integer_attr(-1, i1)), *chosen]

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
                after = self.epilogue
                old = builder.load(self.target, place) if after is None else after.initial
                new = builder.inline(self.scatter, [old, update])[0]
                result = best.compare("eq", self._number(number)).select(new, old).value
                if after is None:
                    builder.store(result, self.target, place)
                else:
                    after.store(builder, result, self.target, place)

    def _number(self, value: int) -> SSAValue:
        return self.builder.scalar(integer_attr(value, i32))


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
    If they tile the operand, the fill before them and the elementwise operation after them become part of the loops.
    """
    selection = selection_of(op, builder)
    found = _epilogue(selection, op)
    if found is None:
        _emit(selection, builder)
        return
    epilogue, replaced = found
    if epilogue.following is not None:
        builder.insert_at(epilogue.following)
    _emit(replace(selection, epilogue=epilogue), builder)
    op.operands = [*op.inputs, epilogue.initial]
    for each in replaced:
        erase_op(each)


def _emit(selection: Selection, builder: LoopBuilder) -> None:
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

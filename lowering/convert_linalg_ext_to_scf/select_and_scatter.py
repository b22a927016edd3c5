"""Loops of select_and_scatter."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any, cast

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import NoneAttr, f64, i1, i32, i64
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.dialects.linalg.ops import FillOp, GenericOp, IndexOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr, AffineMap

from ...dialects.linalg_ext.window import SelectAndScatterOp
from ...dialects.support.attributes import integer_attr
from ...dialects.support.buffers import memref_type
from ...dialects.support.editing import erase_op
from ..loop_nests.cost import region_cost, task_count, task_size
from ..loop_nests.indices import chunk, linearized
from ..loop_nests.kernel_builder import Index, Value, value_of
from ..loop_nests.loop_builder import PARALLEL, SCALAR, LoopBuilder, buffer_of
from ..loop_nests.windows import is_tiled
from .conversion import patterns

MOST_PLACES = 32
"""Most elements of a window that are compared without loops."""

MOST_SELECTED = 1024
"""Windows of a row whose selected elements are in memory together: on the stack, and in the first cache."""

_ORDERS = ("gt", "ge", "lt", "le")
_FLOAT_ORDERS = [number for number, name in enumerate(arith.CMPF_COMPARISON_OPERATIONS) if name[1:] in _ORDERS]
_INTEGER_ORDERS = [number for number, name in enumerate(arith.CMPI_COMPARISON_OPERATIONS) if name[1:] in _ORDERS]
"""The predicates that compare by an order, rather than for equality."""


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

    @cached_property
    def is_unrolled(self) -> bool:
        """Whether a window's elements are compared without loops and branches: those outside give way to neighbours."""
        if math.prod(self.sizes) > MOST_PLACES:
            return False
        outer = [dim for dim in range(len(self.sizes)) if not self.is_inside(dim)]
        return not outer or (_may_repeat(self.select) and all(map(self.meets_operand, outer)))

    @property
    def takes_columns(self) -> bool:
        """Whether windows of neighbouring columns, the last dimension, can be processed together."""
        one = self.sizes[-1:] == self.strides[-1:] == (1,)
        return one and self.counts[-1] >= 4 and self.is_inside(len(self.sizes) - 1) and self.is_unrolled

    @property
    def takes_rows(self) -> bool:
        """Whether the selected elements of a row of windows can be found before their updates are combined."""
        plain = isinstance(buffer_of(self.target).layout, NoneAttr)
        return plain and len(self.sizes) > 0 and math.prod(self.shape) < 2**31 and self.is_unrolled

    def is_inside(self, dim: int) -> bool:
        """Whether no window extends beyond the operand in this dimension."""
        last = (self.counts[dim] - 1) * self.strides[dim] - self.low[dim] + self.sizes[dim]
        return self.low[dim] <= 0 and last <= self.shape[dim]

    def meets_operand(self, dim: int) -> bool:
        """Whether each window has an element of the operand in this dimension."""
        last = (self.counts[dim] - 1) * self.strides[dim] - self.low[dim]
        return self.low[dim] < self.sizes[dim] and last < self.shape[dim]

    def start(self, dim: int, window: Index) -> Index:
        """The index of a window's first element."""
        return window * self.strides[dim] + -self.low[dim]

    def within(self, dim: int, index: Index) -> Index:
        """The index, or that of the operand's element next to it in this dimension."""
        if self.is_inside(dim):
            return index
        low = index if self.low[dim] <= 0 else self.builder.index(index).max(0)
        return self.builder.min(low, self.shape[dim] - 1)

    def lines(self, window: Sequence[Index]) -> list[list[Index]]:
        """The places of the window's elements in all dimensions but the last."""
        firsts = [self.start(dim, index) for dim, index in enumerate(window)]
        each = [
            [self.within(dim, first + offset) for offset in range(self.sizes[dim])] for dim, first in enumerate(firsts)
        ]
        return list(map(list, product(*each)))

    def choose(self, places: Sequence[Sequence[Index]], numbers: Sequence[SSAValue]) -> SSAValue:
        """The number of the element that is selected among those at `places`."""
        builder = self.builder
        value, best = builder.load(self.operand, places[0]), numbers[0]
        for number, place in zip(numbers[1:], places[1:], strict=True):
            candidate = builder.load(self.operand, place)
            kept = builder.on(builder.inline(self.select, [value, candidate])[0])
            value, best = kept.select(value, candidate).value, kept.select(best, number).value
        return best

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
        lines = self.lines(window)
        numbers = [self._number(number) for number in range(len(lines))]
        with builder.loop(0, self.counts[-1], attributes=PARALLEL) as column:
            here = self.start(len(window), column)
            places = [[*line, here] for line in lines]
            best = builder.on(self.choose(places, numbers))
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

    # Rows of windows.

    def scatter_row(self, window: Sequence[Index]) -> None:
        """
        The windows of a row: first where the selected element of each is, without branches, so that windows vectorize
        as lanes; then the updates are combined one by one, in the windows' order.
        """
        builder, dim = self.builder, len(window)
        size, stride, low = self.sizes[dim], self.strides[dim], self.low[dim]
        count, length = self.counts[dim], self.shape[dim]
        # The windows that are in the row as a whole.
        first = min(max(-(-low // stride), 0), count)
        last = max(min((length - size + low) // stride + 1, count), first)
        row = _Row(self, window)
        row.scatter_each(0, first)
        block = min(last - first, MOST_SELECTED)
        if block:
            with builder.loop(first, last, step=block) as lower:
                row.scatter_block(lower, builder.min(lower + block, last) if (last - first) % block else lower + block)
        row.scatter_each(last, count)


class _Row:
    """One row of windows: the selected element of each is a distance in the operand from the window's first element."""

    def __init__(self, selection: Selection, window: Sequence[Index]):
        self.selection, self.window, self.builder = selection, window, selection.builder
        # As wide as the elements, for which the same masks select.
        self.type = i64 if buffer_of(selection.operand).element_type == f64 else i32
        self.lines = selection.lines(window)
        shape = selection.shape
        starts = [linearized([*line, 0], shape) for line in self.lines]
        self.start = starts[0]
        self.distances = [start - self.start for start in starts]
        self.flat = self.builder.strided_view(selection.target, 0, (math.prod(shape),), (1,))

    def number(self, distance: Index) -> SSAValue:
        return self.builder.index(distance).cast_to(self.type)

    def combine(self, column: Index, distance: SSAValue) -> None:
        """Combine a window's update into the element at a distance from its first one."""
        builder, selection = self.builder, self.selection
        at = selection.start(len(self.window), column) + self.start + builder.to_index(distance, unsigned=False)
        update = builder.load(selection.source, [*self.window, column])
        new = builder.inline(selection.scatter, [builder.load(self.flat, [at]), update])[0]
        builder.store(new, self.flat, [at])

    def scatter_each(self, lower: int, upper: int) -> None:
        """The windows from `lower` to `upper`, which may extend beyond the row, one by one."""
        if lower == upper:
            return
        selection, dim = self.selection, len(self.window)
        with self.builder.loop(lower, upper, attributes=SCALAR) as column:
            first = selection.start(dim, column)
            columns = [selection.within(dim, first + offset) for offset in range(selection.sizes[dim])]
            places = [[*line, here] for line in self.lines for here in columns]
            numbers = [self.number(distance + (here - first)) for distance in self.distances for here in columns]
            self.combine(column, selection.choose(places, numbers))

    def scatter_block(self, lower: Index, upper: Index) -> None:
        """The windows from `lower` to `upper`, which are in the row as a whole."""
        builder, selection, dim = self.builder, self.selection, len(self.window)
        offsets = range(selection.sizes[dim])
        numbers = [self.number(distance + offset) for distance in self.distances for offset in offsets]
        selected = builder.alloca(memref_type((min(selection.counts[dim], MOST_SELECTED),), self.type))
        with builder.loop(lower, upper, attributes=PARALLEL) as column:
            first = selection.start(dim, column)
            places = [[*line, first + offset] for line in self.lines for offset in offsets]
            builder.store(selection.choose(places, numbers), selected, [column - lower])
        with builder.loop(lower, upper, attributes=SCALAR) as column:
            self.combine(column, builder.load(selected, [column - lower]))


def _may_repeat(select: Block) -> bool:
    """Whether elements that are compared twice, one group after the other, do not change which one is selected."""
    *others, result = select.ops
    compare = result.operands[0].owner
    if not isinstance(compare, (arith.CmpfOp, arith.CmpiOp)):
        return False
    if any(op is not compare and not isinstance(op, arith.ExtFOp) for op in others):
        return False
    compared = [x.owner.operands[0] if isinstance(x.owner, arith.ExtFOp) else x for x in compare.operands]
    orders = _FLOAT_ORDERS if isinstance(compare, arith.CmpfOp) else _INTEGER_ORDERS
    return set(compared) == set(select.args) and compare.predicate.value.data in orders


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
    looped = len(counts) - 1 if selection.takes_columns or selection.takes_rows else len(counts)
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
        elif selection.takes_rows:
            selection.scatter_row(window)
        else:
            selection.scatter_window(window)

"""Loops of scatter."""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Any, cast

from xdsl.dialects.builtin import NoneAttr, i64
from xdsl.ir import Operation, SSAValue

from ...dialects.linalg_ext.indexing import ScatterOp
from ...dialects.linalg_ext.window import shape_of
from ...dialects.support.attributes import integer_attr
from ...dialects.support.buffers import memref_type
from ...dialects.support.scalar import Scalar
from ...hlo_dialect.ops.index_dimensions import IndexDimensions, Place
from ..loop_nests.combiners import NEUTRAL, Combiner
from ..loop_nests.cost import region_cost, task_count, task_size
from ..loop_nests.indices import chunk, linearized
from ..loop_nests.kernel_builder import Index, IndexValue
from ..loop_nests.loop_builder import PARALLEL, LoopBuilder, buffer_of
from ..loop_nests.unrolling import UNROLL
from .conversion import patterns

ROW = 32
"""Least number of elements of a window's dimension per task: each task reads the index vectors again."""

VECTOR = 8
"""Elements of a window's row that are combined as fast as one by itself."""

UPDATES = 4
"""Least number of updates per element of the tasks' own results, which are filled and combined."""

UNROLLED = {UNROLL: integer_attr(4, i64)}
"""The attribute of an innermost loop over single elements: most of its instructions count and branch."""


def _integers(attribute: object) -> tuple[int, ...]:
    return cast(Any, attribute).get_values()


@dataclass(frozen=True)
class ScatterLoops:
    """One scatter: its geometry and its loop order."""

    op: ScatterOp
    builder: LoopBuilder
    dims: IndexDimensions
    own: tuple[SSAValue, ...] = ()
    """The task's own results, with their elements in a row; without them the updates go to the outputs."""

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The shape of the outputs."""
        return shape_of(self.op.outputs[0])

    @cached_property
    def updates(self) -> tuple[int, ...]:
        """The shape of the updates: the iteration space."""
        return shape_of(self.op.inputs[1])

    @cached_property
    def places(self) -> tuple[Place, ...]:
        return self.dims.places(len(self.shape), len(self.updates))

    @cached_property
    def batch(self) -> tuple[int, ...]:
        return self.dims.batch_dims(len(self.updates))

    @cached_property
    def free(self) -> tuple[int, ...]:
        """Window dimensions whose offsets are output indices themselves: no start index is added to them."""
        return tuple(p.offset for p in self.places if p.offset is not None and p.component is None)

    @cached_property
    def leading(self) -> list[int]:
        """The first dimensions, if updates and outputs have them in common: one scatter for each of their indices."""
        found: list[int] = []
        for dim, place in enumerate(self.places):
            if place.offset != dim or dim not in self.free:
                break
            found.append(dim)
        return found

    @cached_property
    def order(self) -> list[int]:
        """
        The loops, outermost first.

        Updates of one output element agree in the free dimensions, so those loops may be at any depth; the others keep
        their order. Leading ones are outermost, since their strides are the longest. The free ones of the rest are
        innermost, where they run along rows, or, if each index vector is read before its window, where the window has
        them, so that the innermost loop runs along the window's rows.
        """
        return self.leading + [dim for dim in self._inner_order if dim not in self.leading]

    @cached_property
    def _inner_order(self) -> list[int]:
        others = [dim for dim in range(len(self.updates)) if dim not in self.free]
        window = [dim for dim in self.dims.window if self.updates[dim] != 1]
        rest = [dim for dim in others if dim not in window]
        if window and window[-1] not in self.free and others == rest + [dim for dim in window if dim not in self.free]:
            return rest + [dim for dim in self.free if dim not in window] + window
        return others + list(self.free)

    @cached_property
    def cut(self) -> int | None:
        """The longest dimension whose iterations never update the same element, so that tasks can divide them."""
        batching = [place.batch for place in self.places if place.batch is not None]
        unique = self.batch if bool(cast(Any, self.op.is_unique).value.data) else ()
        found = dict.fromkeys((*batching, *unique, *self.free))
        return max(found, key=lambda dim: self.updates[dim], default=None)

    @cached_property
    def longest_batch(self) -> int | None:
        """The longest dimension of index vectors, which tasks divide if each has results of its own."""
        return max(self.batch, key=lambda dim: self.updates[dim], default=None)

    @cached_property
    def combiners(self) -> list[Combiner] | None:
        """The known operation of each output, if each takes its present value and its update."""
        block = self.op.regions[0].block
        count, found = len(self.op.outputs), list[Combiner]()
        for k, value in enumerate(cast(Operation, block.last_op).operands):
            op = value.owner
            pair = {block.args[k], block.args[count + k]}
            if not isinstance(op, Operation) or type(op) not in NEUTRAL or set(op.operands) != pair:
                return None
            found.append(Combiner(op))
        return found

    # Loops.

    def visit(self, bounds: dict[int, tuple[Index, Index]]) -> None:
        """Emit all updates within `bounds`."""
        at: dict[int, Index] = {}
        with ExitStack() as nest:
            starts: list[IndexValue] | None = None
            for dim in (*self.order, None):
                # Read the index vector as soon as its position is known.
                if starts is None and all(batch in at for batch in self.batch):
                    starts = self.starts(at)
                    nest.enter_context(self.when_inside(starts))
                if dim is not None:
                    innermost = dim == self.order[-1] and dim in self.dims.window
                    attributes = PARALLEL if innermost else UNROLLED if dim == self.order[-1] else None
                    at[dim] = nest.enter_context(self.builder.loop(*bounds[dim], attributes=attributes))
            assert starts is not None
            self.update(at, starts)

    @contextmanager
    def when_inside(self, starts: Sequence[IndexValue]) -> Generator[None]:
        """Guard the code for an update whose whole window is in bounds of the output."""
        inside = self.is_inside(starts)
        with nullcontext() if inside is None else self.builder.when(inside):
            yield

    def starts(self, at: Mapping[int, Index]) -> list[IndexValue]:
        """The index vector of the update at these indices; only the batch indices matter."""
        builder = self.builder
        indices, unsigned = self.op.inputs[0], bool(cast(Any, self.op.is_unsigned).value.data)
        where = [at[dim] for dim in self.batch]
        starts: list[IndexValue] = []
        for component in range(len(self.dims.index_map)):
            place = list(where)
            if self.dims.vector_dim < len(shape_of(indices)):
                place.insert(self.dims.vector_dim, component)
            starts.append(builder.to_index(builder.load(indices, place), unsigned))
        return starts

    def is_inside(self, starts: Sequence[IndexValue]) -> Scalar | None:
        """Whether the whole window that begins there is in bounds of the output; None if statically so."""
        conditions: list[Scalar] = []
        for size, place in zip(self.shape, self.places, strict=True):
            if place.component is not None:
                window = 1 if place.offset is None else self.updates[place.offset]
                # As an unsigned number, a negative index is beyond any size.
                conditions.append(starts[place.component].compare("ult", size - window + 1))
        return reduce(lambda first, second: first & second, conditions) if conditions else None

    def where(self, at: Mapping[int, Index], starts: Sequence[IndexValue]) -> list[Index]:
        """The output index of an update."""
        found: list[Index] = []
        for place in self.places:
            index: Index = 0
            for source in (place.batch, place.offset):
                if source is not None:
                    index += at[source]
            if place.component is not None:
                index += starts[place.component]
            found.append(index)
        return found

    def combine(self, present: Sequence[SSAValue], at: Mapping[int, Index]) -> list[SSAValue]:
        """The current values combined with the updates at these indices."""
        element = [at[dim] for dim in range(len(self.updates))]
        updates = [self.builder.load(update, element) for update in self.op.inputs[1:]]
        return self.builder.inline(self.op.regions[0].block, [*present, *updates])

    def update(self, at: Mapping[int, Index], starts: Sequence[IndexValue]) -> None:
        """Combine one update into its output element."""
        where, outputs = self.where(at, starts), self.own or self.op.outputs
        if self.own:
            where = [linearized(where, self.shape)]
        present = [self.builder.load(output, where) for output in outputs]
        for value, output in zip(self.combine(present, at), outputs, strict=True):
            self.builder.store(value, output, where)


def scatter_loops(op: ScatterOp, builder: LoopBuilder) -> ScatterLoops:
    window, inserted, batching = _integers(op.window), _integers(op.inserted), _integers(op.batching)
    along, index_map = _integers(op.index_batching), _integers(op.index_map)
    dims = IndexDimensions(window, inserted, batching, along, index_map, cast(Any, op.vector_dim).value.data)
    return ScatterLoops(op, builder, dims)


@patterns.on(ScatterOp)
def _scatter(op: ScatterOp, builder: LoopBuilder) -> None:
    """
    `linalg_ext.scatter` becomes loops over the updates that read an index vector per batch index.

    Tasks divide a dimension whose iterations update different elements. If there is none, and many updates go to few
    elements, each task combines its part of the updates in results of its own, and these are combined in order; else
    one thread does all.
    """
    scatter = scatter_loops(op, builder)
    updates = scatter.updates
    if 0 in updates or 0 in scatter.shape:
        return
    whole: dict[int, tuple[Index, Index]] = {dim: (0, size) for dim, size in enumerate(updates)}
    work = math.prod(updates) * (4 * len(op.outputs) + region_cost(op.regions[0].block))
    cut = scatter.cut
    least = ROW if cut in scatter.dims.window else 1
    tasks = 1 if cut is None else task_count(work, work, -(-updates[cut] // least))
    if cut is None or tasks == 1:
        if not _combine_apart(scatter, whole, work):
            scatter.visit(whole)
        return
    size = task_size(updates[cut], tasks, least)
    with builder.parallel(-(-updates[cut] // size)) as task:
        scatter.visit({**whole, cut: chunk(builder, task, size, updates[cut])})


def _combine_apart(scatter: ScatterLoops, whole: Mapping[int, tuple[Index, Index]], work: int) -> bool:
    """Let tasks combine updates in results of their own; returns whether that is possible and worth it."""
    op, builder, cut, combiners = scatter.op, scatter.builder, scatter.longest_batch, scatter.combiners
    if cut is None or combiners is None or any(not isinstance(buffer_of(x).layout, NoneAttr) for x in op.outputs):
        return False
    count, total = math.prod(scatter.shape), scatter.updates[cut]
    # A row of a window is combined in vectors.
    inner = scatter.updates[scatter.order[-1]] if scatter.order[-1] in scatter.dims.window else 1
    work //= min(inner, VECTOR)
    tasks = task_count(work, work, min(total, math.prod(scatter.updates) // (UPDATES * count)))
    size = task_size(total, tasks)
    tasks = -(-total // size)
    if tasks == 1:
        return False
    own = [builder.alloc(memref_type((tasks * count,), buffer_of(output).element_type)) for output in op.outputs]
    with builder.parallel(tasks) as task:
        rows = tuple(builder.strided_view(buffer, task * count, (count,), (1,)) for buffer in own)
        with builder.loop(0, count, attributes=PARALLEL) as place:
            for combiner, row in zip(combiners, rows, strict=True):
                builder.store(combiner.neutral(builder), row, [place])
        replace(scatter, own=rows).visit({**whole, cut: chunk(builder, task, size, total)})
    results = [builder.strided_view(output, 0, (count,), (1,)) for output in op.outputs]
    with builder.loop(0, tasks) as task, builder.loop(0, count, attributes=PARALLEL) as place:
        for combiner, buffer, result in zip(combiners, own, results, strict=True):
            part = builder.load(buffer, [task * count + place])
            builder.store(combiner.combine(builder, builder.load(result, [place]), part), result, [place])
    return True

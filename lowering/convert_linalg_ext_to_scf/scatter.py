"""Loops of scatter."""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from typing import Any, TypeVar, cast

from xdsl.dialects import func
from xdsl.dialects.builtin import NoneAttr, i64
from xdsl.ir import Operation, SSAValue

from ...dialects.linalg_ext.indexing import ScatterOp
from ...dialects.linalg_ext.window import shape_of
from ...dialects.support.attributes import integer_attr
from ...dialects.support.buffers import memref_type
from ...dialects.support.kernel import Kernel
from ...dialects.support.scalar import Scalar
from ...hlo_dialect.ops.index_dimensions import IndexDimensions
from ..loop_nests.combiners import NEUTRAL, Combiner
from ..loop_nests.cost import region_cost, task_count, task_size
from ..loop_nests.indices import chunk, linearized
from ..loop_nests.kernel_builder import Index, IndexValue
from ..loop_nests.loop_builder import PARALLEL, LoopBuilder, buffer_of
from ..loop_nests.scatter_dimensions import UPDATES, ScatterDimensions
from ..loop_nests.unrolling import UNROLL
from .computed_inputs import BLOCK, InputReader, Source, sources_of
from .conversion import patterns

At = TypeVar("At", IndexValue, "Index", "Index | None")

ROW = 32
"""Least number of elements of a window's dimension per task: each task reads the index vectors again."""

VECTOR = 8
"""Elements of a window's row that are combined as fast as one by itself."""

UNROLLED = {UNROLL: integer_attr(4, i64)}
"""The attribute of an innermost loop over single elements: most of its instructions count and branch."""


def _integers(attribute: object) -> tuple[int, ...]:
    return cast(Any, attribute).get_values()


@dataclass(frozen=True)
class ScatterLoops(ScatterDimensions):
    """One scatter, and the loops that are emitted for it."""

    op: ScatterOp
    builder: LoopBuilder
    own: tuple[SSAValue, ...] = ()
    """The task's own results, with their elements in a row; without them the updates go to the outputs."""
    sources: Mapping[int, Source] = field(default_factory=dict[int, Source])
    """The inputs that are computed in the loops."""

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

    @cached_property
    def inputs(self) -> InputReader:
        """Reads the inputs, in loops that `visit` emits once."""
        return InputReader(self.op, self.builder, self.sources)

    # Loops.

    def visit(self, bounds: dict[int, tuple[Index, Index]]) -> None:
        """Emit all updates within `bounds`. Further ones take a copy of this object."""
        at: dict[int, Index] = {}
        with ExitStack() as nest:
            starts: list[IndexValue] | None = None
            for dim in (*self.order, None):
                # Read the index vector as soon as its position is known.
                if starts is None and all(batch in at for batch in self.batch):
                    starts = self.starts(at)
                    self.inputs.begin([at.get(each) for each in range(len(self.updates))])
                    nest.enter_context(self.when_inside(starts))
                if dim is not None and dim == self.innermost and dim in self.batch and self.inputs.takes_blocks:
                    at[dim] = nest.enter_context(self._in_blocks(dim, bounds[dim], at))
                elif dim is not None:
                    innermost = dim == self.order[-1] and dim in self.dims.window
                    attributes = PARALLEL if innermost else UNROLLED if dim == self.order[-1] else None
                    at[dim] = nest.enter_context(self.builder.loop(*bounds[dim], attributes=attributes))
            assert starts is not None
            self.update(at, starts)

    @contextmanager
    def _in_blocks(self, dim: int, bounds: tuple[Index, Index], at: Mapping[int, Index]) -> Generator[Index]:
        """The loop over one dimension, in blocks for which inputs are computed before."""
        builder = self.builder
        known = {each: at.get(each, None if each == dim else 0) for each in range(len(self.updates))}
        reads = {(0, k): self.place_of_index(known, k) for k in range(len(self.dims.index_map))}
        reads |= {(k, 0): list(known.values()) for k in range(1, len(self.op.inputs))}
        with builder.loop(*bounds, step=BLOCK) as first:
            count = builder.min(bounds[1] - first, BLOCK)
            self.inputs.compute_block(reads, first, count)
            with builder.loop(0, count, attributes=UNROLLED) as i:
                self.inputs.in_block(i)
                yield first + i

    @contextmanager
    def when_inside(self, starts: Sequence[IndexValue]) -> Generator[None]:
        """Guard the code for an update whose whole window is in bounds of the output."""
        inside = self.is_inside(starts)
        with nullcontext() if inside is None else self.builder.when(inside):
            yield

    def starts(self, at: Mapping[int, Index]) -> list[IndexValue]:
        """The index vector of the update at these indices; only the batch indices matter."""
        unsigned = bool(cast(Any, self.op.is_unsigned).value.data)
        starts: list[IndexValue] = []
        for component in range(len(self.dims.index_map)):
            read = self.inputs.read(0, self.place_of_index(at, component), component)
            starts.append(self.builder.to_index(read, unsigned))
        return starts

    def place_of_index(self, at: Mapping[int, At], component: int) -> list[At | int]:
        """Where a component of the index vector of the update at these indices is."""
        place: list[At | int] = [at[dim] for dim in self.batch]
        if self.dims.vector_dim < len(shape_of(self.op.inputs[0])):
            place.insert(self.dims.vector_dim, component)
        return place

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
        updates = [self.inputs.read(number, element) for number in range(1, len(self.op.inputs))]
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
    shapes = shape_of(op.outputs[0]), shape_of(op.inputs[1])
    return ScatterLoops(dims, *shapes, bool(cast(Any, op.is_unique).value.data), op, builder)


@patterns.on(ScatterOp)
def _scatter(op: ScatterOp, builder: LoopBuilder) -> None:
    """
    `linalg_ext.scatter` becomes loops over the updates that read an index vector per batch index.

    Tasks divide a dimension whose iterations update different elements. If there is none, and many updates go to few
    elements, each task combines its part of the updates in results of its own, and these are combined in order; else
    one thread does all.
    """
    scatter = scatter_loops(op, builder)
    scatter = replace(scatter, sources=sources_of(op, _shared(op)))
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


def _shared(op: ScatterOp) -> list[SSAValue]:
    """The parameters of the kernel around that may be one buffer with another."""
    function = cast(func.FuncOp, op.parent_op())
    return [function.body.block.args[number] for number in Kernel(function).shared]


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

"""Loops of scatter."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any, cast

from xdsl.ir import SSAValue

from ...dialects.linalg_ext_indexing import ScatterOp
from ...dialects.linalg_ext_window import shape_of
from ...hlo_dialect.index_dimensions import IndexDimensions, Place
from ..convert_linalg_to_scf.cost import task_count, task_size
from ..convert_linalg_to_scf.loop_builder import PARALLEL, Index, LoopBuilder
from . import arithmetic
from .scan import region_cost, task_range

ROW = 32
"""Elements of a window's dimension that one task takes at least: the index vectors are read again by each task."""


def _integers(attribute: object) -> tuple[int, ...]:
    return cast(Any, attribute).get_values()


@dataclass(frozen=True)
class _Scatter:
    """One scatter: its geometry, and the order of its loops."""

    op: ScatterOp
    builder: LoopBuilder
    dims: IndexDimensions

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Of the outputs."""
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
        """Window dimensions whose offsets are places in the output themselves: no index is added to them."""
        return tuple(p.offset for p in self.places if p.offset is not None and p.component is None)

    @cached_property
    def order(self) -> list[int]:
        """
        The loops, outermost first.

        Updates of one place agree in the free dimensions, so that those may go anywhere: they go inside, where they are
        the elements of rows. The others stay in order.
        """
        return [dim for dim in range(len(self.updates)) if dim not in self.free] + list(self.free)

    @cached_property
    def cut(self) -> int | None:
        """The longest dimension whose iterations never update one place, so that tasks may share them."""
        batching = [place.batch for place in self.places if place.batch is not None]
        unique = self.batch if bool(cast(Any, self.op.is_unique).value.data) else ()
        found = dict.fromkeys((*batching, *unique, *self.free))
        return max(found, key=lambda dim: self.updates[dim], default=None)

    # Loops.

    def visit(self, bounds: dict[int, tuple[Index, Index]]) -> None:
        self._loop(bounds, 0, {}, None)

    def _loop(
        self,
        bounds: dict[int, tuple[Index, Index]],
        depth: int,
        at: dict[int, Index],
        starts: list[SSAValue] | None,
    ) -> None:
        """The loops from `depth` on. `at`: the indices so far; `starts`: the index vector, once it is known."""
        if starts is None and all(dim in at for dim in self.batch):
            self._with_starts(at, lambda found: self._loop(bounds, depth, at, found))
            return
        if depth == len(self.order):
            assert starts is not None
            self._update(at, starts)
            return
        dim = self.order[depth]

        def step(index: SSAValue, _: list[SSAValue]) -> Sequence[SSAValue]:
            self._loop(bounds, depth + 1, {**at, dim: index}, starts)
            return ()

        lower, upper = bounds[dim]
        innermost = depth == len(self.order) - 1 and dim in self.dims.window
        self.builder.loop(lower, upper, step, attributes=PARALLEL if innermost else None)

    def _with_starts(self, at: dict[int, Index], then: Callable[[list[SSAValue]], None]) -> None:
        """Read the index vector; go on where its whole window is inside."""
        builder = self.builder
        indices, unsigned = self.op.inputs[0], bool(cast(Any, self.op.is_unsigned).value.data)
        where = [at[dim] for dim in self.batch]
        starts: list[SSAValue] = []
        for component in range(len(self.dims.index_map)):
            place = list(where)
            if self.dims.vector_dim < len(shape_of(indices)):
                place.insert(self.dims.vector_dim, component)
            starts.append(arithmetic.to_index(builder, builder.load(indices, place), unsigned))
        conditions: list[SSAValue] = []
        for size, place in zip(self.shape, self.places, strict=True):
            if place.component is not None:
                window = 1 if place.offset is None else self.updates[place.offset]
                # As an unsigned number, a negative one is beyond any size.
                limit = builder.index(size - window + 1)
                conditions.append(arithmetic.compare(builder, "ult", starts[place.component], limit))
        if not conditions:
            then(starts)
            return
        inside = reduce(lambda first, second: arithmetic.both(builder, first, second), conditions)
        builder.when(inside, lambda: then(starts))

    def _update(self, at: dict[int, Index], starts: list[SSAValue]) -> None:
        builder = self.builder
        where: list[Index] = []
        for place in self.places:
            index: Index = 0
            for source in (place.batch, place.offset):
                if source is not None:
                    index = builder.add(index, at[source])
            if place.component is not None:
                index = builder.add(index, starts[place.component])
            where.append(index)
        element = [at[dim] for dim in range(len(self.updates))]
        present = [builder.load(output, where) for output in self.op.outputs]
        updates = [builder.load(update, element) for update in self.op.inputs[1:]]
        fresh = builder.inline(self.op.regions[0].block, [*present, *updates])
        for value, output in zip(fresh, self.op.outputs, strict=True):
            builder.store(value, output, where)


def _scatter(op: ScatterOp, builder: LoopBuilder) -> None:
    """
    `linalg_ext.scatter` becomes loops over the updates that read an index vector for each of the batch.

    Tasks are cut from a dimension whose iterations update different places; without one, one thread does all.
    """
    window, inserted, batching = _integers(op.window), _integers(op.inserted), _integers(op.batching)
    along, index_map = _integers(op.index_batching), _integers(op.index_map)
    dims = IndexDimensions(window, inserted, batching, along, index_map, cast(Any, op.vector_dim).value.data)
    scatter = _Scatter(op, builder, dims)
    updates = scatter.updates
    if 0 in updates or 0 in scatter.shape:
        return
    whole: dict[int, tuple[Index, Index]] = {dim: (0, size) for dim, size in enumerate(updates)}
    work = math.prod(updates) * (4 * len(op.outputs) + region_cost(op.regions[0].block))
    cut = scatter.cut
    least = ROW if cut in dims.window else 1
    tasks = 1 if cut is None else task_count(work, work, -(-updates[cut] // least))
    if cut is None or tasks == 1:
        scatter.visit(whole)
        return
    size = task_size(updates[cut], tasks, least)

    def task(index: SSAValue) -> None:
        scatter.visit({**whole, cut: task_range(builder, index, size, updates[cut])})

    builder.parallel(-(-updates[cut] // size), task)


PATTERNS = ((ScatterOp, _scatter),)

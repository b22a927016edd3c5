"""
Scatters: a thread per update if no two can have the same destination. Otherwise updates are sorted by it first.

The sort is stable, so that the updates of a destination are adjacent and in order; one thread combines them one after
the other. The result has the same bits as that of a serial loop. Window dimensions that no index moves need no sort:
updates of one destination agree in them, so that each index there has its own thread.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any, cast

from xdsl.dialects.builtin import IntegerAttr, IntegerType, i32, i64
from xdsl.ir import Block, Region, SSAValue

from ....dialects.gpu.plans import Sort, SortedScatter
from ....dialects.linalg_ext.base import YieldOp
from ....dialects.linalg_ext.indexing import ScatterOp
from ....dialects.linalg_ext.sort import SortByKeyOp
from ....dialects.support.buffers import memref_type
from ...convert_linalg_ext_to_scf.scatter import ScatterLoops, scatter_loops
from ...loop_nests.indices import delinearized, linearized
from ...loop_nests.kernel_builder import Index, IndexValue
from ...loop_nests.loop_builder import LoopBuilder, buffer_of
from ...loop_nests.unrolling import UNROLL
from ..threads.builder import GpuBuilder
from ..threads.items import I64
from ..threads.launch import KernelMapper
from ..threads.phases import Phase
from .launch import ExtLaunch, erase_now
from .sort import map_sort

SEVERAL_AT_ONCE = {UNROLL: IntegerAttr(4, I64)}
"""The unroll attribute of the loop over the updates of a destination, so that several loads are in flight."""


def map_scatter(mapper: KernelMapper, phase: Phase) -> None:
    """`linalg_ext.scatter`: one launch, or one each for the destinations, their sort, and the updates in that order."""
    (op,), (plan,) = phase.ops, phase.plans
    assert isinstance(op, ScatterOp)
    scatter = ScatterMapper(mapper, op)
    if isinstance(plan, SortedScatter):
        assert isinstance(plan.sort, Sort)
        scatter.map_sorted(plan.sort)
    else:
        phase.require(not may_meet(scatter.loops), "two updates may meet in one place; #gpu.sorted_scatter orders them")
        scatter.map_separate(plan.block)


def may_meet(loops: ScatterLoops) -> bool:
    """Whether two updates may have the same destination: not if each index vector is in a batch of its own."""
    batching = {place.batch for place in loops.places}
    vectors = math.prod(loops.updates[dim] for dim in loops.batch if dim not in batching)
    return vectors > 1 and not bool(cast(Any, loops.op.is_unique).value.data)


def key_types(loops: ScatterLoops) -> tuple[IntegerType, IntegerType]:
    """The types of the sorted data: destinations, and the numbers of updates."""
    places = math.prod(n for dim, n in enumerate(loops.shape) if loops.places[dim].offset not in loops.free)
    return (i32 if places < 1 << 31 else i64, i32 if entries_of(loops) < 1 << 31 else i64)


def entries_of(loops: ScatterLoops) -> int:
    """The number of sorted entries: updates that differ in more than a free dimension."""
    return math.prod(n for dim, n in enumerate(loops.updates) if dim not in loops.free)


class ScatterMapper:
    """The launches of one scatter."""

    def __init__(self, mapper: KernelMapper, op: ScatterOp):
        self.mapper = mapper
        self.op = op
        self.loops = scatter_loops(op, LoopBuilder(mapper.kernel))
        """Used for its geometry only: no operations are added to the kernel itself."""

    # Geometry.

    @cached_property
    def sorted_dims(self) -> list[int]:
        """The updates' dimensions, except for the free ones."""
        return [dim for dim in range(len(self.loops.updates)) if dim not in self.loops.free]

    @property
    def entries(self) -> tuple[int, ...]:
        """The sizes of the sorted dimensions, which are the shape of the sorted data."""
        return tuple(self.loops.updates[dim] for dim in self.sorted_dims)

    @property
    def free(self) -> tuple[int, ...]:
        return tuple(self.loops.updates[dim] for dim in self.loops.free)

    @cached_property
    def keyed_dims(self) -> list[int]:
        """The outputs' dimensions in which entries differ."""
        return [dim for dim, place in enumerate(self.loops.places) if place.offset not in self.loops.free]

    @property
    def keyed_shape(self) -> tuple[int, ...]:
        return tuple(self.loops.shape[dim] for dim in self.keyed_dims)

    # Launches.

    def map_separate(self, threads: int) -> None:
        """A thread per update."""
        launch = ExtLaunch(self.mapper, self.op)
        loops = scatter_loops(launch.op, launch.builder)
        with launch.over(loops.updates, threads) as indices:
            at = dict(enumerate(indices))
            starts = loops.starts(at)
            with loops.when_inside(starts):
                loops.update(at, starts)

    def map_sorted(self, plan: Sort) -> None:
        """Compute the entries' destinations, sort entries by destination, apply updates in that order."""
        count = (entries_of(self.loops),)
        keys, numbers = (self.mapper.scratch(memref_type(count, type_)) for type_ in key_types(self.loops))
        self._find_places(keys, numbers)
        self._sort(keys, numbers, plan)
        self._apply(keys, numbers)

    def _find_places(self, keys: SSAValue, numbers: SSAValue) -> None:
        launch = ExtLaunch(self.mapper, self.op)
        loops, builder = scatter_loops(launch.op, launch.builder), launch.builder
        found, order = launch.buffer(keys), launch.buffer(numbers)
        with launch.over(self.entries) as indices:
            at: dict[int, Index] = {**dict.fromkeys(loops.free, 0), **dict(zip(self.sorted_dims, indices, strict=True))}
            starts = loops.starts(at)
            where = loops.where(at, starts)
            key = linearized([where[dim] for dim in self.keyed_dims], self.keyed_shape)
            value = _as_integer(builder, key, found)
            inside = loops.is_inside(starts)
            if inside is not None:
                value = inside.select(value, _nowhere(builder, found)).value
            number = linearized(indices, self.entries)
            builder.store(value, found, [number])
            builder.store(_as_integer(builder, number, order), order, [number])

    def _sort(self, keys: SSAValue, numbers: SSAValue, plan: Sort) -> None:
        types = [cast(Any, x.type).element_type for x in (keys, numbers)]
        block = Block(arg_types=types)
        end = YieldOp(block.args[0])
        block.add_op(end)
        op = SortByKeyOp.of([], [keys, numbers], [Region(block)], {"dimension": IntegerAttr(0, i64)})
        op.location = end.location = self.op.location
        self.mapper.kernel.body.block.insert_op_before(op, self.mapper.end)
        map_sort(self.mapper, op, plan)
        erase_now(op)

    def _apply(self, keys: SSAValue, numbers: SSAValue) -> None:
        """A thread for the first entry of each destination, and for each index of the free dimensions."""
        launch = ExtLaunch(self.mapper, self.op)
        loops, builder = scatter_loops(launch.op, launch.builder), launch.builder
        found, order = launch.buffer(keys), launch.buffer(numbers)
        count = math.prod(self.entries)
        with launch.over((count, *self.free)) as (first, *free):
            key = builder.load(found, [first])
            previous = builder.load(found, [builder.index(first).max(1) - 1])
            begins = builder.index(first).compare("eq", 0) | builder.on(previous).compare("ne", key)
            there = builder.on(key).compare("ne", _nowhere(builder, found))
            with builder.when(begins & there):
                self._combine(loops, (found, order), (key, first, count), dict(zip(loops.free, free, strict=True)))

    def _combine(
        self,
        loops: ScatterLoops,
        buffers: tuple[SSAValue, SSAValue],
        run: tuple[SSAValue, Index, int],
        free: Mapping[int, Index],
    ) -> None:
        """Combine all entries from `first` on that have the same key, in order, into their destination."""
        builder = loops.builder
        (found, order), (key, first, count) = buffers, run
        keyed = delinearized(builder.to_index(key, unsigned=True), self.keyed_shape)
        where: list[Index] = [0] * len(loops.shape)
        for dim, index in zip(self.keyed_dims, keyed, strict=True):
            where[dim] = index
        for dim, place in enumerate(loops.places):
            if dim not in self.keyed_dims:
                where[dim] = free[cast(int, place.offset)]
        present = [builder.load(output, where) for output in loops.op.outputs]
        end = _end_of_run(builder, found, (key, first, count))
        with builder.loop(first, end, carry=present, attributes=SEVERAL_AT_ONCE) as (at_key, values):
            number = builder.to_index(builder.load(order, [at_key]), unsigned=True)
            at = {**dict(zip(self.sorted_dims, delinearized(number, self.entries), strict=True)), **free}
            builder.yield_(*loops.combine(values, at))
        for value, output in zip(values, loops.op.outputs, strict=True):
            builder.store(value, output, where)


def _end_of_run(builder: LoopBuilder, keys: SSAValue, run: tuple[SSAValue, Index, int]) -> IndexValue:
    """The end of the run of sorted keys equal to `key`, which starts at `first`. Most runs have length one."""
    key, first, count = run
    following = builder.index(first + 1)
    goes_on = builder.on(builder.load(keys, [builder.min(following, count - 1)])).compare("eq", key)
    with builder.loop_while([following, builder.select(goes_on, count, following)]) as state:
        lower, upper = map(builder.index, state)
        builder.go_on_if(lower.below(upper))
        lower, upper = map(builder.index, state)
        middle = (lower + upper) // 2
        same = builder.on(builder.load(keys, [middle])).compare("eq", key)
        builder.yield_(builder.select(same, middle + 1, lower), builder.select(same, upper, middle))
    return builder.index(state[0])


def _as_integer(builder: GpuBuilder, value: Index, buffer: SSAValue) -> SSAValue:
    """An index as an element of an integer buffer."""
    return builder.index(value).cast_to(buffer_of(buffer).element_type)


def _nowhere(builder: GpuBuilder, buffer: SSAValue) -> SSAValue:
    """The key of entries whose window is not in bounds: greater than all others."""
    return builder.scalar(IntegerAttr(-1, cast(IntegerType, cast(Any, buffer.type).element_type)))

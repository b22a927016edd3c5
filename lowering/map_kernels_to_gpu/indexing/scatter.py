"""
Scatters: a thread for each update where no two may meet in one place. Elsewhere the updates are sorted by place first.

The sort is stable, so that the updates of a place stand side by side in their order; one thread combines them one after
the other. That gives the bits of a serial loop. Dimensions of windows that no index moves need no sort: updates of one
place agree in them, so that each index there has a thread of its own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, IntegerType, i32, i64
from xdsl.dialects.linalg.ops import YieldOp
from xdsl.ir import Block, Region, SSAValue

from ....dialects.build.buffers import memref_type, row_major
from ....dialects.gpu.plans import Sort, SortedScatter
from ....dialects.linalg_ext.indexing import ScatterOp
from ....dialects.linalg_ext.sort import SortByKeyOp
from ...convert_linalg_ext_to_scf.scatter import ScatterLoops, scatter_loops
from ...loop_nests import arithmetic
from ...loop_nests.loop_builder import Index, LoopBuilder
from ...loop_nests.unrolling import UNROLL
from ..threads.builder import GpuBuilder
from ..threads.items import I64, delinearized
from ..threads.launch import KernelMapper
from ..threads.phases import Phase
from .launch import ExtLaunch, erase_now, select
from .sort import map_sort

SEVERAL_AT_ONCE = {UNROLL: IntegerAttr(4, I64)}
"""On the loop over the updates of a place: loads of several are under way while one is combined."""


def map_scatter(mapper: KernelMapper, phase: Phase) -> None:
    """`linalg_ext.scatter`: one launch, or places, their sort, and the updates in that order."""
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
    """Whether two updates may go to one place: those of index vectors that are not each in a batch of its own."""
    batching = {place.batch for place in loops.places}
    vectors = math.prod(loops.updates[dim] for dim in loops.batch if dim not in batching)
    return vectors > 1 and not bool(cast(Any, loops.op.is_unique).value.data)


def key_types(loops: ScatterLoops) -> tuple[IntegerType, IntegerType]:
    """The types of what is sorted: places, and the numbers of updates."""
    places = math.prod(n for dim, n in enumerate(loops.shape) if loops.places[dim].offset not in loops.free)
    return (i32 if places < 1 << 31 else i64, i32 if entries_of(loops) < 1 << 31 else i64)


def entries_of(loops: ScatterLoops) -> int:
    """How many updates are sorted: those that differ in more than a free dimension."""
    return math.prod(n for dim, n in enumerate(loops.updates) if dim not in loops.free)


class ScatterMapper:
    """The launches of one scatter."""

    def __init__(self, mapper: KernelMapper, op: ScatterOp):
        self.mapper = mapper
        self.op = op
        self.loops = scatter_loops(op, LoopBuilder(mapper.kernel))
        """For its geometry only: the kernel itself gets no operations."""

    # Geometry.

    @cached_property
    def sorted_dims(self) -> list[int]:
        """The updates' dimensions, but for the free ones."""
        return [dim for dim in range(len(self.loops.updates)) if dim not in self.loops.free]

    @property
    def entries(self) -> tuple[int, ...]:
        """The sizes of the sorted dimensions: what is sorted has this shape."""
        return tuple(self.loops.updates[dim] for dim in self.sorted_dims)

    @property
    def free(self) -> tuple[int, ...]:
        return tuple(self.loops.updates[dim] for dim in self.loops.free)

    @cached_property
    def keyed_dims(self) -> list[int]:
        """The outputs' dimensions that entries differ in."""
        return [dim for dim, place in enumerate(self.loops.places) if place.offset not in self.loops.free]

    @property
    def keyed_shape(self) -> tuple[int, ...]:
        return tuple(self.loops.shape[dim] for dim in self.keyed_dims)

    # Launches.

    def map_separate(self, threads: int) -> None:
        """A thread for each update."""
        launch = ExtLaunch(self.mapper, self.op)
        loops, builder = scatter_loops(launch.op, launch.builder), launch.builder

        def update(indices: list[Index]) -> None:
            at = dict(enumerate(indices))
            starts = loops.starts(at)
            inside = loops.is_inside(starts)
            if inside is None:
                loops.update(at, starts)
            else:
                builder.when(inside, lambda: loops.update(at, starts))

        launch.finish_over(loops.updates, update, threads)

    def map_sorted(self, plan: Sort) -> None:
        """The place of each entry; entries in the order of places; the updates in the order of entries."""
        count = (entries_of(self.loops),)
        keys, numbers = (self.mapper.scratch(memref_type(count, type_)) for type_ in key_types(self.loops))
        self._find_places(keys, numbers)
        self._sort(keys, numbers, plan)
        self._apply(keys, numbers)

    def _find_places(self, keys: SSAValue, numbers: SSAValue) -> None:
        launch = ExtLaunch(self.mapper, self.op)
        loops, builder = scatter_loops(launch.op, launch.builder), launch.builder
        found, order = launch.buffer(keys), launch.buffer(numbers)

        def entry(indices: list[Index]) -> None:
            at: dict[int, Index] = {**dict.fromkeys(loops.free, 0), **dict(zip(self.sorted_dims, indices, strict=True))}
            starts = loops.starts(at)
            where = loops.where(at, starts)
            key: Index = 0
            for dim, stride in zip(self.keyed_dims, row_major(self.keyed_shape), strict=True):
                key = builder.add(key, builder.mul(where[dim], stride))
            value = _as_integer(builder, key, found)
            inside = loops.is_inside(starts)
            if inside is not None:
                value = arithmetic.choose(builder, inside, value, _nowhere(builder, found))
            number: Index = 0
            for index, stride in zip(indices, row_major(self.entries), strict=True):
                number = builder.add(number, builder.mul(index, stride))
            builder.store(value, found, [number])
            builder.store(_as_integer(builder, number, order), order, [number])

        launch.finish_over(self.entries, entry)

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
        """A thread for the first entry of each place, and each index of the free dimensions."""
        launch = ExtLaunch(self.mapper, self.op)
        loops, builder = scatter_loops(launch.op, launch.builder), launch.builder
        found, order = launch.buffer(keys), launch.buffer(numbers)
        count = math.prod(self.entries)

        def place(indices: list[Index]) -> None:
            first, *free = indices
            key = builder.load(found, [first])
            previous = builder.load(found, [builder.sub(builder.index(_max(builder, first, 1)), 1)])
            begins = arithmetic.either(
                builder, builder.compare("eq", first, 0), arithmetic.compare(builder, "ne", previous, key)
            )
            there = arithmetic.compare(builder, "ne", key, _nowhere(builder, found))

            def combine() -> None:
                self._combine(loops, (found, order), (key, first, count), dict(zip(loops.free, free, strict=True)))

            builder.when(arithmetic.both(builder, begins, there), combine)

        launch.finish_over((count, *self.free), place)

    def _combine(
        self,
        loops: ScatterLoops,
        buffers: tuple[SSAValue, SSAValue],
        run: tuple[SSAValue, Index, int],
        free: Mapping[int, Index],
    ) -> None:
        """All entries from `first` on with one key, in order, into their place."""
        builder = loops.builder
        (found, order), (key, first, count) = buffers, run
        keyed = delinearized(builder, arithmetic.to_index(builder, key, unsigned=True), self.keyed_shape)
        where: list[Index] = [0] * len(loops.shape)
        for dim, index in zip(self.keyed_dims, keyed, strict=True):
            where[dim] = index
        for dim, place in enumerate(loops.places):
            if dim not in self.keyed_dims:
                where[dim] = free[cast(int, place.offset)]
        present = [builder.load(output, where) for output in loops.op.outputs]

        def step(at_key: SSAValue, state: list[SSAValue]) -> Sequence[SSAValue]:
            number = arithmetic.to_index(builder, builder.load(order, [at_key]), unsigned=True)
            at = {**dict(zip(self.sorted_dims, delinearized(builder, number, self.entries), strict=True)), **free}
            return loops.combine(state, at)

        end = _end_of_run(builder, found, (key, first, count))
        values = builder.loop(first, end, step, inits=present, attributes=SEVERAL_AT_ONCE)
        for value, output in zip(values, loops.op.outputs, strict=True):
            builder.store(value, output, where)


def _end_of_run(builder: LoopBuilder, keys: SSAValue, run: tuple[SSAValue, Index, int]) -> SSAValue:
    """Behind the last of the sorted keys that is `key`, as the one at `first` is. Most are the only one."""
    key, first, count = run
    following = builder.index(builder.add(first, 1))
    goes_on = arithmetic.compare(builder, "eq", builder.load(keys, [builder.min(following, count - 1)]), key)

    def is_open(state: list[SSAValue]) -> SSAValue:
        return arithmetic.compare(builder, "ult", state[0], state[1])

    def halve(state: list[SSAValue]) -> Sequence[SSAValue]:
        middle = builder.div(builder.add(state[0], state[1]), 2)
        same = arithmetic.compare(builder, "eq", builder.load(keys, [middle]), key)
        return [select(builder, same, builder.add(middle, 1), state[0]), select(builder, same, state[1], middle)]

    return builder.loop_while([following, select(builder, goes_on, count, following)], is_open, halve)[0]


def _as_integer(builder: GpuBuilder, value: Index, buffer: SSAValue) -> SSAValue:
    """An index as an element of a buffer of integers."""
    return arithmetic.emit(builder, arith.IndexCastOp, [builder.index(value)], cast(Any, buffer.type).element_type)


def _nowhere(builder: GpuBuilder, buffer: SSAValue) -> SSAValue:
    """The key of entries whose window is not inside: beyond all others."""
    return builder.scalar(IntegerAttr(-1, cast(IntegerType, cast(Any, buffer.type).element_type)))


def _max(builder: GpuBuilder, value: Index, least: int) -> SSAValue:
    return arithmetic.binary(builder, arith.MaxSIOp, builder.index(value), builder.index(least))

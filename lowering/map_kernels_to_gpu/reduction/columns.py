"""
Chains with operands that are contiguous along a kept loop: neighbouring threads take columns.

A block has a tile of columns. Lanes along the tile read vectors of neighbouring columns; each of the groups takes every
n-th iteration of the reduced loops. The partial results of a column are combined by shuffles and through shared memory,
in a fixed order; then one thread per column computes the steps that use the result.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.ir import SSAValue

from ....dialects.gpu.plans import Columns
from ...loop_nests.indices import delinearized
from ...loop_nests.kernel_builder import Index
from ..threads.builder import GpuBuilder
from ..threads.items import WRITTEN_OUT
from ..threads.ranges import ceil_div
from ..threads.sweep import Sweep
from .block import combine_lanes, tree
from .chain import Chain
from .emission import ChainEmitter, Where
from .shares import parts_of


class ColumnEmitter:
    """Emits the function of a chain according to a plan."""

    def __init__(self, builder: GpuBuilder, chain: Chain, plan: Columns, partial: Sequence[SSAValue] = ()):
        """`partial`: if the plan splits columns, the buffers for the parts' results, by reduction and output."""
        self.builder = builder
        self.chain = chain
        self.plan = plan
        self.partial = list(partial)
        self.emitter = ChainEmitter(builder, chain)
        self.columns = chain.rows[-1]
        self.parts = parts_of(chain, plan)
        thread, block = builder.thread_id(), builder.block_id()
        self.lane: Index = thread % plan.lanes
        self.group: Index = thread // plan.lanes
        self.tiles = ceil_div(self.columns, plan.lanes * plan.width)
        outer = math.prod(chain.rows[:-1])
        self.tile: Index = block % self.tiles
        row = block // self.tiles
        self.outer = delinearized(row if self.parts == 1 else row % outer, chain.rows[:-1])
        self.part: Index = 0 if self.parts == 1 else block // (self.tiles * outer)
        self.blocks = self.tiles * outer * self.parts
        self.joint = chain.joint

    def emit(self) -> int:
        """Emit the function; returns the number of blocks."""
        self.emitter.start_pass(0, self.plan.partials * self.plan.width)
        self._sweep()
        if self.plan.groups == 1:
            self._columns_of_thread()
        else:
            self._columns_of_block()
        return self.blocks

    def _sweep(self) -> None:
        """Accumulate the thread's partial results; per column, one for each iteration visited together."""
        builder, plan = self.builder, self.plan
        vectors = self.columns // plan.width
        vector: Index = self.tile * plan.lanes + self.lane
        if vectors % plan.lanes:
            # Threads beyond the last column do its work too, but store nothing.
            vector = builder.min(vector, vectors - 1)
        first = vector * plan.width
        places = math.prod(self.chain.space)
        start: Index = 0
        count: Index = places
        if self.parts > 1:
            start = self.part * plan.part
            count = plan.part if places % plan.part == 0 else builder.min(places - start, plan.part)
        for place, copy in Sweep(builder, self.group, plan.groups, plan.unroll).numbers(start, count):
            where = self._along_columns(first, delinearized(place, self.chain.space))
            self.emitter.vector(0, plan.width, len(self.chain.rows) - 1, where, 0, copy % plan.partials * plan.width)

    def _along_columns(self, first: Index, inside: list[Index]) -> Where:
        """The indices of the columns from `first` on, at one iteration of the reduced loops."""
        return lambda number: ([*self.outer, first + number], inside)

    def _partial_results(self, number: Index) -> list[SSAValue]:
        """The thread's partial results of one column of its vector."""
        builder, plan = self.builder, self.plan
        places = [number + u * plan.width for u in range(plan.partials)]
        partial = [[builder.load(sums, [at]) for sums in self.emitter.sums.values()] for at in places]
        return tree(builder, self.joint, partial)

    def _columns_of_thread(self) -> None:
        """Finish columns that belong to a single thread."""
        builder, plan = self.builder, self.plan
        vector = self.tile * plan.lanes + self.lane
        first = vector * plan.width
        vectors = self.columns // plan.width
        with (
            builder.when_below(vector, vectors, vectors % plan.lanes != 0),
            builder.loop(0, plan.width, attributes=WRITTEN_OUT) as number,
        ):
            self._finish(first + number, self._partial_results(number))

    def _columns_of_block(self) -> None:
        """Combine the groups' results of each column, and continue with a thread per column."""
        builder, plan = self.builder, self.plan
        warp = builder.warp
        narrow = plan.lanes < warp
        groups = plan.block // warp if narrow else plan.groups
        group = builder.thread_id() // warp if narrow else self.group
        tile = plan.lanes * plan.width
        shared = [builder.shared((groups, tile), c) for part in self.joint.parts for c in part.states]
        with builder.loop(0, plan.width, attributes=WRITTEN_OUT) as number:
            values = self._partial_results(number)
            at = self.lane * plan.width + number
            if narrow:
                values = combine_lanes(builder, self.joint, values, warp, plan.lanes)
            with builder.guarded(builder.index(builder.thread_id() % warp).below(plan.lanes) if narrow else None):
                for value, buffer in zip(values, shared, strict=True):
                    builder.store(value, buffer, [group, at])
        builder.barrier()
        for first in range(0, tile, plan.block):
            number = builder.thread_id() + first
            with builder.when_below(number, tile, tile - first < plan.block):
                place = self.tile * tile + number
                with builder.when_below(place, self.columns, self.columns % tile != 0):
                    self._finish(place, self._combined(shared, number))

    def _combined(self, shared: Sequence[SSAValue], column: Index) -> list[SSAValue]:
        """Combine the groups' results of a column of the tile, in the order of the groups."""
        builder = self.builder
        groups = self.plan.block // max(builder.warp, self.plan.lanes)
        if groups == 1:
            return [builder.load(buffer, [0, column]) for buffer in shared]
        first = [builder.load(buffer, [0, column]) for buffer in shared]
        with builder.loop(1, groups, carry=first, attributes=WRITTEN_OUT) as (group, results):
            loaded = [builder.load(buffer, [group, column]) for buffer in shared]
            builder.yield_(*self.joint.combine(builder, results, loaded))
        return results

    def _finish(self, column: Index, values: list[SSAValue]) -> None:
        """Use a column's results: store them, or run the steps that read them."""
        builder = self.builder
        if self.parts > 1:
            row: Index = 0
            for index, size in zip((*self.outer, column), self.chain.rows, strict=True):
                row = row * size + index
            place = self.part * math.prod(self.chain.rows) + row
            for value, buffer in zip(values, self.partial, strict=True):
                builder.store(value, buffer, [place])
            return
        with self.emitter.in_row([*self.outer, column]):
            for number, own in zip(self.chain.reductions, self.joint.split(values), strict=True):
                self.emitter.finish_reduction(number, own)
            self.emitter.store_scalars()

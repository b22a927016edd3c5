"""
Chains with contiguous rows: a block, a warp or a part of a warp per row.

Neighbouring threads of a row read neighbouring vectors. An element that several passes need stays in registers, so that
memory is read once; rows that are too long for that are read again, from the second-level cache. Each pass ends with
its reductions: the group combines the threads' partial results in a fixed order, and every thread gets the result.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from contextlib import contextmanager

from xdsl.ir import SSAValue

from ....dialects.gpu.plans import Rows
from ....dialects.support.scalar import Scalar
from ...loop_nests.indices import delinearized
from ...loop_nests.kernel_builder import Index
from ..threads.builder import GpuBuilder
from ..threads.items import WRITTEN_OUT
from ..threads.ranges import ceil_div
from ..threads.sweep import Sweep
from .block import combine_group
from .chain import Chain, joint_of
from .emission import ChainEmitter
from .shares import kept_words, parts_of


class RowEmitter:
    """Emits the function of a chain according to a plan."""

    def __init__(self, builder: GpuBuilder, chain: Chain, plan: Rows, partial: Sequence[SSAValue] = ()):
        """`partial`: if the plan splits rows, the buffers for the parts' results, by reduction and output."""
        self.builder = builder
        self.chain = chain
        self.plan = plan
        self.partial = list(partial)
        self.emitter = ChainEmitter(builder, chain)
        self.vectors, self.tail = divmod(math.prod(chain.space), plan.width)
        self.chunks = ceil_div(self.vectors, plan.threads)
        self.parts = parts_of(chain, plan)
        self.kept = kept_words(chain)[0] if plan.keep else ()
        thread = builder.thread_id()
        self.lane: Index = thread % plan.threads if plan.rows > 1 else thread
        self.part: Index = builder.block_id() % self.parts

    def emit(self) -> int:
        """Emit the function; returns the number of blocks."""
        builder, plan = self.builder, self.plan
        rows = math.prod(self.chain.rows)
        blocks = ceil_div(rows, plan.rows)
        row: Index = builder.block_id() // self.parts
        is_row: Scalar | None = None
        if plan.rows > 1:
            own = builder.thread_id() // plan.threads
            row = builder.block_id() * plan.rows + own
            if rows % plan.rows:
                # All threads of a warp exchange values: those beyond the last row do its work too, but store nothing.
                is_row = builder.index(row).below(rows)
                row = builder.min(row, rows - 1)
        with self.emitter.in_row(delinearized(row, self.chain.rows)):
            self._emit_row(row, is_row)
        return blocks * self.parts

    def _emit_row(self, row: Index, is_row: Scalar | None) -> None:
        emitter, chain = self.emitter, self.chain
        emitter.keep(self.kept, self.chunks * self.plan.width)
        for at in range(chain.levels + 1):
            emitter.needed_inside(at)
            if any(chain.steps[s].level == at for s in (*chain.reductions, *chain.wide_outputs)):
                self._emit_pass(at, row, is_row)
        if self.parts == 1 and emitter.stores_scalars():
            with self._as_leader(is_row):
                emitter.store_scalars()

    @contextmanager
    def _as_leader(self, is_row: Scalar | None) -> Generator[None]:
        """Emit the `with` block for one thread of each row."""
        builder = self.builder
        leads = None if self.plan.threads == 1 else builder.index(self.lane).compare("eq", 0)
        with builder.guarded(leads), builder.guarded(is_row):
            yield

    def _emit_pass(self, at: int, row: Index, is_row: Scalar | None) -> None:
        plan, emitter = self.plan, self.emitter
        copies = plan.width * plan.partials
        emitter.start_pass(at, copies)
        stores = any(self.chain.steps[s].level == at for s in self.chain.wide_outputs)
        with self.builder.guarded(is_row if stores else None):
            self._sweep(at)
        ended = emitter.end_pass(at, copies)
        if not ended:
            return
        joint = joint_of([self.chain.steps[number] for number, _ in ended])
        totals = combine_group(self.builder, joint, [value for _, values in ended for value in values], plan.threads)
        if self.parts > 1:
            with self._as_leader(None):
                place = row * self.parts + self.part
                for total, buffer in zip(totals, self.partial, strict=True):
                    self.builder.store(total, buffer, [place])
            return
        for (number, _), values in zip(ended, joint.split(totals), strict=True):
            emitter.finish_reduction(number, values)

    # The points of a row.

    def _sweep(self, at: int) -> None:
        """Pass `at` over the thread's vectors of the row."""
        plan, builder = self.plan, self.builder
        if self.kept or self.parts == 1:
            start: Index = 0
            count: Index = self.vectors
        else:
            start = self.part * plan.part
            count = plan.part
            if self.vectors % plan.part:
                count = builder.min(self.vectors - start, plan.part)
        if self.kept:
            self._keep_in_step(at, self.vectors)
        else:
            for vector, number in Sweep(builder, self.lane, plan.threads, plan.unroll).numbers(start, count):
                self._vector(at, vector, 0, number % plan.partials * plan.width)
        if self.tail:
            self._tail(at)

    def _keep_in_step(self, at: int, count: int) -> None:
        """Process all vectors of the thread, unrolled: each has its slot in the thread-local arrays."""
        threads, width = self.plan.threads, self.plan.width
        with self.builder.loop(0, self.chunks, attributes=WRITTEN_OUT) as number:
            vector = number * threads + self.lane
            slot = number * width
            with self.builder.when_below(vector, count, count % threads != 0):
                self._vector(at, vector, slot, 0)

    def _vector(self, at: int, vector: Index, slot: Index, copy: Index) -> None:
        """The elements of one vector; `slot` and `copy` of the first, as for ChainEmitter.vector."""
        space, width = self.chain.space, self.plan.width
        outer: list[Index] = []
        first: Index = 0
        if len(space) == 1:
            first = vector * width
        elif space:
            *outer, inner = delinearized(vector, (*space[:-1], space[-1] // width))
            first = inner * width

        def where(number: Index) -> tuple[None, list[Index]]:
            return None, [*outer, first + number] if space else []

        self.emitter.vector(at, width, len(self.chain.rows) + len(space) - 1, where, slot, copy)

    def _tail(self, at: int) -> None:
        """Process the few elements after the last full vector: one thread of the last part takes them."""
        builder, plan = self.builder, self.plan
        first = self.vectors * plan.width
        thread = self.part * plan.threads + self.lane
        with (
            builder.when(builder.index(thread).compare("eq", (self.parts - 1) * plan.threads)),
            builder.loop(0, self.tail, attributes=WRITTEN_OUT) as number,
        ):
            self.emitter.vector(at, 1, -1, lambda _: (None, [number + first]), 0, number)

"""
Nests with reduction loops.

There are two forms, depending on the loop that vectorizes best:

* *in registers*, a reduction loop innermost: `for row: acc = init; for r: acc = f(acc, x); out[row] = acc`;
* *in memory*, an output loop innermost: `for tile of columns: for r: for c in tile: out[c] = f(out[c], x)`.

A reduction in registers that chooses between tuples by comparing them, as argmax does, reduces its rows in vectors
(choosing.py).

A long reduction with few outputs is cut into chunks, each reduced from the neutral element into a scratch row, and the
rows are combined in order. Long float sums are accumulated in blocks, so that rounding errors stay small.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

from xdsl.ir import SSAValue

from ...dialects.support.buffer_ops import byte_size
from ...dialects.support.buffers import memref_type, row_major
from ...dialects.support.llvm_layout import byte_width
from ..device.cpu import CPU
from ..loop_nests.combination import separated
from ..loop_nests.cost import CACHED_COLUMNS, PASS_ROWS, body_cost, task_count, task_size
from ..loop_nests.emission import Bounds, NestEmitter
from ..loop_nests.indices import chunk
from ..loop_nests.loop_builder import PARALLEL, Index, LoopBuilder, buffer_of
from ..loop_nests.nest import Access, Nest
from ..loop_nests.unrolling import LANES
from ..loop_nests.whole_vectors import Part, leaves_rest, whole_parts
from .one_pass import emit_one_pass, fits_one_pass
from .partial_results import combination_of_rows, short_runs_of, wide_rows_of
from .reduction_plan import CHUNK_ROWS, LONG_CHOICE, ReductionPlan, computed_reads, fills_registers, plan_reduction
from .together import BLOCK, Together, with_columns_along

TILE = CACHED_COLUMNS
"""Columns that are accumulated together: the tile of the output stays in the L1 cache."""

COLUMNS = 256
"""Least number of neighbouring outputs per task that accumulates in memory."""

FEW_OUTPUTS = 32
"""An output loop shorter than this does not keep all cores busy; its reduction is worth cutting."""

MAX_UNROLLED = 12
"""Most operations of a body that is small enough to unroll."""

FETCHED_ROW, FETCHED = 1024, 12 * CPU.l2_bytes
"""Bytes of a row, and of all rows, from which processors fetch ahead of one that is read by itself."""

MOST_INSIDE = 512
"""Outputs that each reduced element is combined into, one after the other: they stay in the L1 cache."""

FILLED, FILLED_WORK = 512, 1 << 17
"""Columns, and elements that are reduced to them, from which a call that fills them does not count."""

Inits = Sequence[SSAValue | None]
"""The initial scalar of each output; None if it starts from the buffer's contents."""


class ReductionEmitter:
    """Emits one planned reduction."""

    def __init__(
        self,
        builder: LoopBuilder,
        plan: ReductionPlan,
        inits: Inits,
        roots: Mapping[SSAValue, SSAValue],
        of_parts: bool = False,  # whether partial results are reduced, in little code
    ):
        self.builder = builder
        self.plan = plan
        self.inits = inits
        self.roots = roots
        self.separated = None if plan.combiners is not None else separated(plan.nest, inits)
        """The nest of the elements of a reduction that chooses, and how its partial results are combined."""
        self.whole: int | None = None
        """A reduced loop whose ranges are all a multiple of PASS_ROWS long."""
        self.of_parts = of_parts
        self.range = 1
        """A number of which the ranges of a cut kept loop are multiples, but for the last one."""

    @property
    def _chooses_rows(self) -> bool:
        """Whether a reduction that chooses takes its rows in vectors."""
        reduced = self.plan.reduced
        return self.plan.in_registers and len(reduced) == 1 and self.plan.nest.sizes[reduced[0]] >= LONG_CHOICE

    @property
    def _work(self) -> int:
        """The work of the plan; what chooses in vectors takes as long as computing the elements and their maximum."""
        if self.separated is None or not self._chooses_rows:
            return self.plan.work
        nest, parts = self.separated
        return nest.size_of(nest.free) * (body_cost(replace(nest, outputs=())) + len(parts.groups))

    def emit(self, bound: Sequence[Index], may_split: bool = True) -> None:
        """Emit the nest; with `may_split`, a reduction with few outputs may be cut into chunks."""
        plan, nest, work = self.plan, self.plan.nest, self._work
        wanted = task_count(work, work, work)
        splittable = [self._splittable(l) for l in plan.kept]
        few = max(splittable, default=1) < min(wanted, FEW_OUTPUTS)
        if self.builder.parallel_body is not None or bound or wanted == 1:
            self.emit_part(nest, self.inits, {}, bound)
        elif few and may_split and (plan.combiners or self.separated) and self._chunks(wanted) > 1:
            self._emit_in_two_stages(self._chunks(wanted))
        elif plan.kept:
            parts = dict(zip(plan.kept, splittable, strict=True))
            enough = min(wanted, FEW_OUTPUTS)
            cut = next((loop for loop, count in parts.items() if count >= enough), max(parts, key=parts.__getitem__))
            total = nest.sizes[cut]
            tasks = task_count(work, work, parts[cut])
            size = task_size(total, tasks, COLUMNS if self._is_column(cut) and total > COLUMNS else self._rows(cut))
            self.range = size
            with self.builder.parallel(-(-total // size)) as task:
                self.emit_part(nest, self.inits, {cut: chunk(self.builder, task, size, total)}, ())
        else:
            self.emit_part(nest, self.inits, {}, bound)

    def _is_column(self, loop: int) -> bool:
        """Whether the loop is the innermost one, over neighbouring outputs."""
        return not self.plan.in_registers and loop == self.plan.kept[-1]

    def _splittable(self, loop: int) -> int:
        """The number of tasks into which a kept loop can be cut: columns stay together in long contiguous runs."""
        size = self.plan.nest.sizes[loop]
        return -(-size // COLUMNS) if self._is_column(loop) else size

    def _chunks(self, wanted: int) -> int:
        """The number of chunks of a two-stage reduction; partial results must stay small compared with the input."""
        nest = self.plan.nest
        longest = max((nest.sizes[l] for l in self.plan.reduced), default=1)
        row = nest.size_of(self.plan.kept)
        return min(wanted, longest if row == 1 else longest // CHUNK_ROWS)

    def emit_part(self, nest: Nest, inits: Inits, bounds: Bounds, bound: Sequence[Index]) -> None:
        """Emit the iterations within `bounds`, serially."""
        if self.separated is not None and self._chooses_rows:
            nest = replace(nest, body=self.separated[0].body)
        emitter = NestEmitter(self.builder, nest, self.roots)
        if self.of_parts and not self.plan.in_registers and self._emit_combined_rows(emitter, inits, bounds):
            return
        emitter.make_views()
        for loop, index in enumerate(bound):
            emitter.indices[loop] = index
        emitter.load_ready()
        if self.plan.in_registers:
            self._emit_in_registers(emitter, inits, bounds)
        else:
            self._emit_in_memory(emitter, inits, bounds)

    # In registers.

    def _together(self, emitter: NestEmitter) -> Together:
        return Together(self.builder, emitter, self.plan.combiners or (), self.plan.kept, self.plan.reduced)

    def _rows(self, cut: int) -> int:
        """The rows that are summed at a time where tasks divide the loop `cut`; 1 if they are not its iterations."""
        if self.plan.combiners is None or not self.plan.in_registers or not self.plan.reduced:
            return 1
        together = self._together(NestEmitter(self.builder, self.plan.nest, self.roots))
        bounds = {cut: (0, self.plan.nest.sizes[cut])}
        return together.rows(bounds) if together.row_loop(bounds) == cut else 1

    def _emit_in_registers(self, emitter: NestEmitter, inits: Inits, bounds: Bounds) -> None:
        together = self._together(emitter)
        if self.plan.combiners is not None and together.pays(bounds):
            together.emit(inits, bounds, self.range)
            return
        with emitter.loops(self.plan.kept, bounds, innermost=not self.plan.reduced, scalar=self.of_parts):
            start = [emitter.load_output(k) if init is None else init for k, init in enumerate(inits)]
            if self.separated is not None and self._chooses_rows:
                (loop,) = self.plan.reduced
                lower, upper = bounds.get(loop, (0, emitter.nest.sizes[loop]))
                from .choosing import RowChooser  # few programs choose

                row = RowChooser(self.builder, emitter, self.separated[1], loop)
                values = row.reduce(lower, upper)
                values = values if loop in bounds else row.finish(values, upper, start)
            else:
                values = self._reduce(emitter, self.plan.reduced, start, bounds)
            for k, value in enumerate(values):
                emitter.store_output(k, value)

    def _reduce(
        self, emitter: NestEmitter, loops: Sequence[int], start: list[SSAValue], bounds: Bounds
    ) -> list[SSAValue]:
        """Reduce over `loops`, starting from `start`; return the values."""
        if not loops:
            return emitter.body(start)
        first, rest = loops[0], loops[1:]
        lower, upper = bounds.get(first, (0, emitter.nest.sizes[first]))
        if not rest:
            return self._reduce_innermost(emitter, first, start, lower, upper)

        with self.builder.loop(lower, upper, carry=start) as (index, totals), emitter.scope():
            emitter.bind(first, index)
            if self.plan.combiners is None:
                self.builder.yield_(*self._reduce(emitter, rest, totals, bounds))
            else:
                self.builder.yield_(*self._merge(totals, self._reduce(emitter, rest, self._neutral(), bounds)))
        return totals

    def _reduce_innermost(
        self, emitter: NestEmitter, loop: int, start: list[SSAValue], lower: Index, upper: Index
    ) -> list[SSAValue]:
        combiners = self.plan.combiners
        long = emitter.nest.sizes[loop] > 2 * BLOCK
        if not (long and combiners is not None and any(c.is_float_sum for c in combiners)):
            return self._accumulate(emitter, loop, start, lower, upper)
        with self.builder.loop(lower, upper, step=BLOCK, carry=start) as (index, totals):
            end = self.builder.min(index + BLOCK, upper)
            part = self._accumulate(emitter, loop, self._neutral(), index, end)
            self.builder.yield_(*self._merge(totals, part))
        return totals

    def _accumulate(
        self, emitter: NestEmitter, loop: int, start: list[SSAValue], lower: Index, upper: Index
    ) -> list[SSAValue]:
        """Combine `start` with the elements of a range, sequentially."""
        builder, totals = self.builder, start
        if builder.vector_bits < CPU.vector_bits and (lower, upper) == (0, emitter.nest.sizes[loop]):
            from .extreme_rows import extreme_of_row  # only machines with short vectors need it

            found = extreme_of_row(builder, emitter, loop, self.plan.combiners, start)
            if found is not None:
                return [found]
        for part in self._parts(emitter.nest, loop, (lower, upper)):
            loops = builder.loop(part.lower, part.upper, carry=totals, attributes=PARALLEL)
            with loops as (index, totals), emitter.scope():
                emitter.bind(loop, index)
                if part.fresh is None:
                    builder.yield_(*emitter.body(totals))
                else:
                    neutral = self._neutral()
                    values = part.choose(builder, index, emitter.body(neutral), neutral)
                    builder.yield_(*self._merge(totals, values))
        return totals

    def _parts(self, nest: Nest, loop: int, bounds: tuple[Index, Index]) -> Sequence[Part]:
        """
        The innermost loop as one, or as whole vectors and the one at its end, where elements of a rest take long: not
        half a vector, which LLVM makes of them.
        """
        size = nest.sizes[loop]
        if self.plan.combiners is None or bounds != (0, size) or size % LANES == LANES // 2:
            return (Part(*bounds),)
        return whole_parts(size) if leaves_rest(nest, loop) else (Part(*bounds),)

    def _neutral(self) -> list[SSAValue]:
        return [c.neutral(self.builder) for c in self.plan.combiners or ()]

    def _merge(self, totals: Sequence[SSAValue], parts: Sequence[SSAValue]) -> list[SSAValue]:
        combiners = self.plan.combiners or ()
        return [c.combine(self.builder, a, b) for c, a, b in zip(combiners, totals, parts, strict=True)]

    # In memory.

    def _emit_in_memory(self, emitter: NestEmitter, inits: Inits, bounds: Bounds) -> None:
        *outer, column = self.plan.kept
        lower, upper = bounds.get(column, (0, emitter.nest.sizes[column]))
        inside = self._inside(emitter.nest, bounds)
        outer = outer[: len(outer) - len(inside)]

        with emitter.loops(outer, bounds, innermost=False):
            if emitter.nest.sizes[column] <= 2 * TILE:
                self._emit_tile(emitter, [*inside, column], lower, upper, inits, bounds)
            else:
                with self.builder.loop(lower, upper, step=TILE) as index:
                    end = self.builder.min(index + TILE, upper)
                    self._emit_tile(emitter, [column], index, end, inits, bounds)

    def _inside(self, nest: Nest, bounds: Bounds) -> list[int]:
        """
        Kept loops before the last that go inside of the reduced ones: those that use places that each reduced element
        computes, and do not move them.
        """
        *outer, column = self.plan.kept
        if self._is_small() or not any(computed_reads(nest, loop)[1] for loop in self.plan.reduced):
            return []
        inside: list[int] = []
        for loop in reversed(outer):
            outputs = nest.size_of([loop, *inside, column])
            if loop in bounds or outputs > MOST_INSIDE or computed_reads(nest, loop) != (0, 0):
                break
            inside.insert(0, loop)
        return inside

    def _emit_combined_rows(self, emitter: NestEmitter, inits: Inits, bounds: Bounds) -> bool:
        """Combine rows by a function that programs share; return whether the nest combines rows."""
        combiners, loops = self.plan.combiners, (self.plan.kept, self.plan.reduced)
        if combiners is None:
            return False
        from .combining import combined_rows_of, emit_combined_rows  # few first programs need it

        found = combined_rows_of(self.builder, emitter.nest, loops, combiners, self.roots)
        if found is not None:
            emit_combined_rows(emitter, found, combiners, inits, bounds)
        return found is not None

    def _emit_tile(
        self, emitter: NestEmitter, kept: Sequence[int], lower: Index, upper: Index, inits: Inits, bounds: Bounds
    ) -> None:
        """Accumulate every reduced element into the columns [lower, upper), and all of the other loops in `kept`."""
        column = kept[-1]
        tile = {column: (lower, upper)}
        parts = self._parts(emitter.nest, column, tile[column])
        fits = len(parts) == len(kept) == 1 and fits_one_pass(emitter.nest, self.plan.reduced, bounds)
        if fits and not self._is_fetched_ahead(emitter.nest, column, self.plan.reduced[-1]):
            emit_one_pass(emitter, self.plan.reduced, column, tile, inits)
            return
        if any(init is not None for init in inits) and not self._fill(emitter, column, tile, inits):
            self._emit_inits(emitter, kept, tile, inits)
        if self.plan.combiners is not None and self.plan.reduced and self._is_small():
            self._emit_unrolled(emitter, column, tile, bounds)
        elif len(parts) > 1:
            with emitter.loops([*self.plan.reduced, *kept[:-1]], bounds, innermost=False):
                for part in parts:
                    self._emit_pass(emitter, column, part, None, [0])
        else:
            with emitter.loops([*self.plan.reduced, *kept], {**bounds, **tile}):
                for k, value in enumerate(emitter.body()):
                    emitter.store_output(k, value)

    def _emit_inits(self, emitter: NestEmitter, kept: Sequence[int], tile: Bounds, inits: Inits) -> None:
        """Store the initial values of a tile, element by element."""
        with emitter.scope():
            # No input is needed here: bind without loading.
            emitter.hoistable, saved = [False] * len(emitter.hoistable), emitter.hoistable
            with emitter.loops(kept, tile):
                for k, init in enumerate(inits):
                    if init is not None:
                        emitter.store_output(k, init)
            emitter.hoistable = saved

    def _fill(self, emitter: NestEmitter, column: int, tile: Bounds, inits: Inits) -> bool:
        """Fill many columns by a function that programs share; return whether it may."""
        nest = emitter.nest
        if nest.bound or nest.sizes[column] < FILLED or nest.size_of([*self.plan.reduced, column]) < FILLED_WORK:
            return False
        from .plain_rows import fill_columns  # few first programs need it

        return fill_columns(emitter, column, tile[column], inits)

    def _is_small(self) -> bool:
        body = self.plan.nest.body
        return body is not None and len(list(body.walk())) <= MAX_UNROLLED

    def _emit_unrolled(self, emitter: NestEmitter, column: int, tile: Bounds, bounds: Bounds) -> None:
        """Combine several reduced elements in each pass over the tile, whose loads and stores are the bottleneck."""
        *outer, inner = self.plan.reduced
        lower, upper = bounds.get(inner, (0, emitter.nest.sizes[inner]))
        # Chunks of an even multiple leave no rest.
        whole = inner == self.whole
        middle = upper if whole else lower + (upper - lower) // PASS_ROWS * PASS_ROWS
        of_one = fills_registers(emitter.nest, self.builder.vector_bits)
        if of_one or self._is_fetched_ahead(emitter.nest, column, inner):
            middle, whole = lower, False

        parts = self._parts(emitter.nest, column, tile[column])
        with emitter.loops(outer, bounds, innermost=False):
            if middle != lower:
                with self.builder.loop(lower, middle, step=PASS_ROWS) as first:
                    for part in parts:
                        self._emit_pass(emitter, column, part, inner, [first + u for u in range(PASS_ROWS)])
            if not whole and middle != upper:
                with self.builder.loop(middle, upper) as first:
                    for part in parts:
                        self._emit_pass(emitter, column, part, inner, [first])

    @staticmethod
    def _is_fetched_ahead(nest: Nest, column: int, inner: int) -> bool:
        """
        Whether one row in each pass is faster: processors fetch what follows in long rows, but not in several side by
        side, on whose lines a pass waits if they come from beyond the second-level cache. The longest rows are better
        added to accumulators some at a time, as these fill the first-level cache.
        """
        for read in nest.inputs:
            if isinstance(read, Access) and read.strides[column] == 1 and read.strides[inner]:
                buffer = buffer_of(read.root)
                row = nest.sizes[column] * byte_width(buffer.element_type)
                if FETCHED_ROW <= row <= CPU.l1_bytes // 4 and byte_size(buffer) >= FETCHED:
                    return True
        return False

    def _emit_pass(
        self, emitter: NestEmitter, column: int, part: Part, inner: int | None, rows: Sequence[Index]
    ) -> None:
        """Combine the elements of some rows, at these indices of the loop `inner`, into a part of the columns."""
        with self.builder.loop(part.lower, part.upper, attributes=PARALLEL) as index, emitter.scope():
            emitter.indices[column] = index
            before = values = [emitter.load_output(k) for k in range(len(emitter.nest.outputs))]
            for row in rows:
                with emitter.scope():
                    emitter.bind(column if inner is None else inner, index if inner is None else row)
                    values = emitter.body(values)
            for k, value in enumerate(part.choose(self.builder, index, values, before)):
                emitter.store_output(k, value)

    # In two stages.

    def _emit_in_two_stages(self, wanted: int) -> None:
        """Reduce chunks of a reduced loop into rows of a scratch buffer, then reduce these rows."""
        plan, nest, builder = self.plan, self.plan.nest, self.builder
        # A choice depends on the order of its elements, so that chunks are of neighbours.
        cut = max(plan.reduced, key=lambda l: nest.sizes[l]) if plan.combiners else plan.reduced[0]
        total = nest.sizes[cut]
        size = task_size(total, wanted, PASS_ROWS if total > PASS_ROWS * wanted else 1)
        chunks = -(-total // size)
        row = nest.size_of(plan.kept)
        strides = [0] * len(nest.sizes)
        for loop, stride in zip(plan.kept, row_major(tuple(nest.sizes[l] for l in plan.kept)), strict=True):
            strides[loop] = stride
        scratch = [
            builder.alloc(memref_type((chunks * row,), buffer_of(access.root).element_type)) for access in nest.outputs
        ]

        self.whole = cut if size % PASS_ROWS == 0 and total % PASS_ROWS == 0 else None
        with builder.parallel(chunks) as task:
            outputs = tuple(Access(buffer, 0, ((task.value, row),), tuple(strides)) for buffer in scratch)
            bounds = {cut: chunk(builder, task, size, total)}
            neutral = self._neutral() if self.separated is None else self.separated[1].neutral(builder)
            self.emit_part(replace(nest, outputs=outputs), neutral, bounds, ())
        if plan.combiners is None:
            self._choose_from_chunks(scratch, chunks, row, strides)
            return
        self.combine_rows(scratch, chunks)

    def combine_rows(self, scratch: Sequence[SSAValue], rows: int) -> None:
        """Combine rows of partial results, in order, into the outputs."""
        plan, builder = self.plan, self.builder
        assert plan.combiners is not None, "rows are combined by known operations"
        then = combination_of_rows(plan.nest, plan.kept, plan.combiners, scratch, rows)
        second = ReductionEmitter(builder, plan_reduction(then), self.inits, self.roots, of_parts=True)
        second.emit((), may_split=False)

    def _choose_from_chunks(self, scratch: list[SSAValue], chunks: int, row: int, strides: list[int]) -> None:
        """Combine the chunks' results, in order."""
        assert self.separated is not None
        builder, plan, (nest, parts) = self.builder, self.plan, self.separated
        emitter = NestEmitter(builder, nest, self.roots)
        inits = [init for init in self.inits if init is not None]

        def chosen(number: Index) -> list[SSAValue]:
            """The results of a chunk for the kept loops' indices."""
            for loop in plan.kept:
                number = number + cast(Index, emitter.indices[loop]) * strides[loop]
            return [builder.load(buffer, [number]) for buffer in scratch]

        def store(values: Sequence[SSAValue]) -> None:
            for k, value in enumerate(values):
                emitter.store_output(k, value)

        if self._chooses_rows:
            from .choosing import RowChooser

            chooser = RowChooser(builder, emitter, parts, plan.reduced[0])
            with emitter.loops(plan.kept, innermost=False):
                with builder.loop(0, chunks, carry=chooser.neutral()) as (index, totals):
                    builder.yield_(*parts.follow(builder, totals, chosen(index * row)))
                store(chooser.finish(totals, nest.sizes[plan.reduced[0]], inits))
            return
        emitter.hoistable = [False] * len(emitter.hoistable)
        with emitter.loops(plan.kept):
            store(parts.follow(builder, inits, chosen(0)))
        with builder.loop(1, chunks) as index, emitter.loops(plan.kept):
            present = [emitter.load_output(k) for k in range(len(inits))]
            store(parts.follow(builder, present, chosen(index * row)))


def emit_reduction(
    builder: LoopBuilder,
    nest: Nest,
    inits: Inits,
    roots: Mapping[SSAValue, SSAValue] | None = None,
    bound: Sequence[Index] = (),
    of_parts: bool = False,
) -> None:
    """Emit a reduction nest, of partial results or not; `inits` as in `Inits`, `bound`: indices of its bound loops."""
    if 0 in nest.sizes:
        return
    alone = not bound and builder.parallel_body is None
    plan, roots = plan_reduction(with_columns_along(builder, nest) if alone else nest), roots or {}
    loops = plan.nest, plan.kept, plan.reduced
    parts = wide_rows_of(*loops) or short_runs_of(*loops) if alone and plan.combiners else None
    if parts is None or plan.combiners is None:
        ReductionEmitter(builder, plan, inits, roots, of_parts).emit(bound)
        return
    scratch = parts.scratch(builder)
    emit_reduction(builder, parts.reduce_each(scratch), [c.neutral(builder) for c in plan.combiners], roots)
    emit_reduction(builder, parts.combine(plan.combiners, scratch), inits, roots, of_parts=parts.are_few)
    if parts.rest is not None:
        emit_reduction(builder, parts.rest, [None] * len(inits), roots)

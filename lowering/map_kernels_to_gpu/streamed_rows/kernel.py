"""
The kernel of streamed rows: a block takes a tile of rows and goes over tiles of their elements, once for each pass.

    tiles of the rows' own factors to shared memory
    for each reduction of the chain, and once more for the mixtures:
        for each tile of the rows' elements:
            the tile of each factor to shared memory, asynchronously one tile ahead
            scores of the tile, in registers
            each element: what the chain computes of it, into the thread's partial results of the reduction
            mixtures: their sums plus the products of the rows that the chain has computed
        the threads of a row combine their partial results
    sums of mixtures to memory, with the operations that follow them

No pass depends on sums that a later tile would rescale: every element is computed from the row's final maximum and sum,
as the program says, at the cost of computing scores once a pass.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from contextlib import ExitStack, contextmanager

from xdsl.ir import SSAValue

from ....dialects.gpu.plans import StreamedRows
from ....dialects.support.scalar import Scalar
from ...loop_nests.indices import delinearized
from ...loop_nests.kernel_builder import Index, IndexValue
from ...loop_nests.loop_builder import buffer_of
from ...loop_nests.masks import Condition
from ..contraction.block import SharedArena
from ..contraction.loader import both, zero
from ..reduction.block import combine_group
from ..reduction.chain import joint_of
from ..reduction.emission import in_pass
from ..threads.items import WRITTEN_OUT
from ..threads.launch import Launch
from ..threads.ranges import ceil_div
from .engine import Engine, padded
from .form import Mixture, RowProduct, StreamedForm
from .masks import mask_of
from .register_engine import RegisterEngine
from .results import MixtureWriter
from .rows import RowChain
from .tensor_engine import TensorEngine
from .tiles import SUMS_PAD, Layout, Streams


class StreamedKernel:
    """The kernel of one launch."""

    def __init__(self, launch: Launch, form: StreamedForm, plan: StreamedRows):
        self.launch = launch
        self.builder = builder = launch.builder
        self.form = form
        self.plan = plan
        layout = Layout.of(form, plan)
        self.arena = SharedArena(builder, layout.size)
        self.sums_at = layout.sums
        self.engine: Engine = (
            TensorEngine(builder, plan, launch.mapper.chip)
            if plan.tensor
            else RegisterEngine(builder, plan, self.arena, layout.parts)
        )
        self.last = math.prod(form.rows)
        """The number of rows of a matrix."""
        tiles = ceil_div(self.last, plan.m)
        self.blocks = tiles * math.prod(form.matrices)
        self.matrix: Index = builder.block_id() // tiles
        self.first: Index = builder.block_id() % tiles * plan.m
        self.batch = delinearized(self.matrix, form.matrices)
        self.streams = Streams(builder, form, plan, self.arena, layout, self.batch, self.first)
        self.tiles = ceil_div(form.length, plan.n)
        self.chains = [RowChain(builder, form.chain) for _ in range(self.engine.rows)]
        self.is_row: list[Scalar | None] = []
        """For each row of the thread: whether there is such a row; None if there always is."""

    def emit(self) -> None:
        """Emit and finish the launch."""
        buffers = {each.root: self.engine.scores_buffer(each.total) for each in self.form.scores}
        self.streams.load_rows()
        with ExitStack() as rows:
            for number, chain in enumerate(self.chains):
                rows.enter_context(chain.in_row(self._row(number)))
            for at in range(self.form.passes):
                for chain in self.chains:
                    chain.needed_inside(at)
                if in_pass(self.form.chain, at) or self.form.mixtures_of(at):
                    self._pass(at, buffers)
            self._store_scalars()
        self.launch.finish(self.blocks, self.plan.threads, self.plan.blocks)

    def _row(self, number: int) -> list[Index]:
        """
        The indices in the chain of one of the thread's rows.

        Threads beyond the last row do its work too, because all threads of a warp exchange values, but store nothing.
        """
        builder, row = self.builder, self.first + self.engine.row(number)
        self.is_row.append(None)
        if self.last % self.plan.m:
            self.is_row[-1] = builder.index(row).below(self.last)
            row = builder.min(row, self.last - 1)
        return delinearized(self.matrix * self.last + row, self.form.chain.rows)

    # Passes.

    def _pass(self, at: int, buffers: dict[SSAValue, SSAValue]) -> None:
        builder, engine = self.builder, self.engine
        mixtures, scores = self.form.mixtures_of(at), self.form.scores_of(at)
        products = [*scores, *(mixture.product for mixture in mixtures)]
        parts = [engine.parts_buffer(mixture, number) for number, mixture in enumerate(mixtures)]
        for chain in self.chains:
            chain.start_pass(at, 1)
        zeros = [engine.zeros(mixture) for mixture in mixtures]
        ahead = self.plan.stages - 1 if self.tiles > 1 else 0
        if ahead:
            self.streams.begin(products, 0, 0)
            self.streams.group()
        with builder.loop(0, self.tiles, carry=[x for each in zeros for x in each]) as (tile, carried):
            stage: Index = tile % self.plan.stages if ahead else 0
            later = tile + ahead
            with builder.when_below(later, self.tiles, ahead > 0):
                self.streams.begin(products, later, later % self.plan.stages if ahead else 0)
            self.streams.wait(self.streams.group(), ahead)
            self._tile(at, tile * self.plan.n, stage, buffers, mixtures, parts)
            rest, following = list(carried), list[SSAValue]()
            for mixture, part, each in zip(mixtures, parts, zeros, strict=True):
                own, rest = rest[: len(each)], rest[len(each) :]
                following += engine.mixed(mixture, part, self.streams.factor_of(mixture.product, stage), own)
            builder.barrier()
            builder.yield_(*following)
        self._combine(at)
        for mixture, each in zip(mixtures, zeros, strict=True):
            own, carried = carried[: len(each)], carried[len(each) :]
            self._write(mixture, own)

    def _tile(
        self,
        at: int,
        start: Index,
        stage: Index,
        buffers: dict[SSAValue, SSAValue],
        mixtures: list[Mixture],
        parts: list[SSAValue],
    ) -> None:
        """Emit pass `at` at the thread's elements of the tile that begins at `start`, but for the mixtures."""
        builder, scores = self.builder, self.form.scores_of(at)
        own = {product.root: buffers[product.root] for product in scores}
        mask = mask_of(self.form, at) if scores else None
        if mask is None:
            self._scores(scores, stage, buffers)
            self._elements(at, start, own, mixtures, parts)
            return
        stores = any(self.form.chain.steps[s].level == at for s in self.form.chain.wide_outputs)
        reaches = self._reaches(mask.condition, start)
        with builder.when(reaches):
            self._scores(scores, stage, buffers)
            if mask.uniform and not stores:
                self._elements(at, start, own, mixtures, parts)
        if mask.uniform and not stores:
            with builder.otherwise():
                self._same_elements(at, start, own, mixtures, parts)
        else:
            self._elements(at, start, own, mixtures, parts)

    def _scores(self, scores: list[RowProduct], stage: Index, buffers: dict[SSAValue, SSAValue]) -> None:
        for product in scores:
            rows, factor = self.streams.rows_of(product), self.streams.factor_of(product, stage)
            self.engine.scores(product, rows, factor, buffers[product.root])

    def _reaches(self, condition: Condition, start: Index) -> Scalar:
        """Whether a condition may hold somewhere in the tile that begins at `start`."""
        builder, rows = self.builder, self.form.chain.rows
        first = delinearized(self.matrix * self.last + self.first, rows)
        # Whether all rows of a tile differ in the last index only.
        alone = rows[-1] == self.last or rows[-1] % self.plan.m == 0
        high: Index = max(condition.constant, 0)
        low: Index = max(-condition.constant, 0)
        for loop, factor in condition.factors:
            if loop == len(rows):
                least, more = start, self.plan.n - 1
            elif alone:
                least, more = first[loop], self.plan.m - 1 if loop == len(rows) - 1 else 0
            else:
                least, more = builder.index(0), rows[loop] - 1
            high, low = (high + (least + more) * factor, low) if factor > 0 else (high, low + least * -factor)
        return builder.index(high).compare("ge", low)

    def _elements(
        self,
        at: int,
        start: Index,
        scores: dict[SSAValue, SSAValue],
        mixtures: list[Mixture],
        parts: list[SSAValue],
    ) -> None:
        builder, engine = self.builder, self.engine
        stores = any(self.form.chain.steps[s].level == at for s in self.form.chain.wide_outputs)
        links = [mixture.source for mixture in mixtures]
        for number, chain in enumerate(self.chains):
            with self._places(number, start, parts) as (place, column):
                known = {root: builder.load(buffer, engine.slot(number, place)) for root, buffer in scores.items()}
                with builder.guarded(self.is_row[number] if stores else None):
                    values = chain.element(at, column, known, links)
                    self._put_parts(number, place, mixtures, values, parts)

    def _same_elements(
        self,
        at: int,
        start: Index,
        scores: dict[SSAValue, SSAValue],
        mixtures: list[Mixture],
        parts: list[SSAValue],
    ) -> None:
        """The same in a tile whose elements are alike in each row, whatever their scores."""
        builder = self.builder
        nothing = {each.root: zero(builder, each.total) for each in self.form.scores if each.root in scores}
        for number, chain in enumerate(self.chains):
            elements, values = chain.same(at, start, nothing, [mixture.source for mixture in mixtures])
            with self._places(number, start, parts) as (place, _):
                chain.take_in(elements)
                self._put_parts(number, place, mixtures, values, parts)

    @contextmanager
    def _places(self, row: int, start: Index, parts: list[SSAValue]) -> Generator[tuple[IndexValue, Index]]:
        """A loop over a thread's elements of a tile, with their places in the row; parts beyond its end are 0."""
        builder, engine = self.builder, self.engine
        ragged = self.form.length % self.plan.n != 0
        with builder.loop(0, engine.each, attributes=WRITTEN_OUT) as place:
            column = start + engine.column(place)
            for buffer in parts if ragged else ():
                nothing = zero(builder, buffer_of(buffer).element_type)
                builder.store(nothing, buffer, engine.part_slot(row, place))
            with builder.when_below(column, self.form.length, ragged):
                yield place, column

    def _put_parts(
        self, row: int, place: Index, mixtures: list[Mixture], values: list[SSAValue], parts: list[SSAValue]
    ) -> None:
        """Store an element of a row for the mixtures that contract it."""
        for mixture, value, buffer in zip(mixtures, values, parts, strict=True):
            converted = value if self.plan.tensor else self._converted(mixture, value)
            self.builder.store(converted, buffer, self.engine.part_slot(row, place))

    def _converted(self, mixture: Mixture, value: SSAValue) -> SSAValue:
        """A row's element as the factor of a product."""
        for op in mixture.product.row_conversions:
            made = type(op).create(operands=[value], result_types=[op.results[0].type], properties=op.properties)
            value = self.builder.insert(made).results[0]
        return value

    def _combine(self, at: int) -> None:
        """Combine the partial results of the threads that share a row."""
        for chain in self.chains:
            ended = chain.end_pass(at, 1)
            if not ended:
                continue
            joint = joint_of([self.form.chain.steps[number] for number, _ in ended])
            partial = [value for _, values in ended for value in values]
            totals = combine_group(self.builder, joint, partial, self.engine.lanes)
            for (number, _), values in zip(ended, joint.split(totals), strict=True):
                chain.finish_reduction(number, values)

    # Results.

    def _leads(self) -> Scalar:
        """Whether the thread is the first of those that share its rows."""
        return self.builder.index(self.builder.thread_id() % self.engine.lanes).compare("eq", 0)

    def _store_scalars(self) -> None:
        if self.chains[0].stores_scalars():
            for chain, is_row in zip(self.chains, self.is_row, strict=True):
                with self.builder.guarded(both(self._leads(), is_row)):
                    chain.store_scalars()

    def _write(self, mixture: Mixture, sums: list[SSAValue]) -> None:
        """Write a mixture's sums; no thread reads tiles of factors any more."""
        builder = self.builder
        total = mixture.product.total
        buffer = self.arena.view(self.sums_at, (self.plan.m, padded(mixture.columns) + SUMS_PAD), total)
        self.engine.put(mixture, sums, buffer)
        writer = MixtureWriter(builder, self.form, mixture, self.plan.threads)
        for link in writer.links():
            values = [chain.scalar(link) for chain in self.chains]
            writer.per_row[link] = builder.shared((self.plan.m,), values[0].type)
            with builder.when(self._leads()):
                for number, value in enumerate(values):
                    builder.store(value, writer.per_row[link], [self.engine.row(number)])
        builder.barrier()
        writer.write(buffer, self.batch, self.first, self.plan.m)
        builder.barrier()

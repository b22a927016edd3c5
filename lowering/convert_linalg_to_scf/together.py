"""
Sums of a row with each of a few others, as of products with few columns, in one loop that loads the row once; so are
sums of several rows of a matrix with the same elements.

Columns whose elements are apart in memory are copied first, each contiguous: vectors along the rows would otherwise be
gathered from elements of all columns, for every row again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import AnyFloat
from xdsl.ir import SSAValue

from ...dialects.support.buffer_ops import byte_size
from ...dialects.support.buffers import memref_type
from ...dialects.support.kernel import CONTRACTION
from ...dialects.support.llvm_layout import byte_width
from ..device.cpu import CPU
from ..loop_nests.combiners import Combiner
from ..loop_nests.cost import LEAST_ALONG, LEAST_EACH, LEAST_ROWS_ALONG, TOGETHER, TOGETHER_ALONG, task_count, task_size
from ..loop_nests.emission import Bounds, NestEmitter
from ..loop_nests.indices import chunk
from ..loop_nests.loop_builder import PARALLEL, Index, LoopBuilder, buffer_of
from ..loop_nests.nest import Access, Nest

BLOCK = 4096
"""Elements that a float sum accumulates before it adds the block's sum to the total, if it has more than two blocks."""

LEAST = 16
"""Elements of the innermost of several loops from which it is worth adding up vectors after each run of it."""

MOST_ROWS, MOST_SUMS = 4, 8
"""Most rows of a matrix at a time, and most sums of these, each in one or two vectors of sixteen registers."""

PAGE, NEAR = 4096, 4 * CPU.l2_bytes
"""
Bytes of a row, and most of a matrix with shorter ones, that are fetched as fast beside others: from beyond the caches,
short rows come faster one after the other, in the order of memory.
"""

Place = Mapping[int, Index]
"""The indices of some kept loops."""


@dataclass(frozen=True)
class Together:
    """A reduction in registers, for all iterations of its last kept loop, or for some rows, at the same time."""

    builder: LoopBuilder
    emitter: NestEmitter
    combiners: Sequence[Combiner]
    kept: Sequence[int]
    reduced: Sequence[int]

    def pays(self, bounds: Bounds) -> bool:
        """Whether it has few columns, or several rows of a matrix by the same elements."""
        return bool(self.reduced and self.kept) and (self._has_few_columns(bounds) or self.rows(bounds) > 1)

    def _shared_by(self, loop: int) -> bool:
        """Whether the iterations of a kept loop read the same elements of some operand."""
        innermost = self.reduced[-1]
        return any(x.strides[innermost] and not x.strides[loop] for x in self._read)

    @property
    def _read(self) -> Sequence[Access]:
        return [x for x in self.emitter.nest.inputs if isinstance(x, Access)]

    def _has_few_columns(self, bounds: Bounds) -> bool:
        """
        Whether the last kept loop has few iterations that read elements of another: the products of a row with a few.
        """
        if len(self.kept) < 2:
            return False
        last, innermost, nest = self.kept[-1], self.reduced[-1], self.emitter.nest
        most = TOGETHER_ALONG if all(x.strides[innermost] in (0, 1) for x in self._read) else TOGETHER
        is_few = nest.sizes[last] * len(nest.outputs) <= most
        fills_vectors = len(self.reduced) == 1 or nest.sizes[innermost] >= LEAST
        return self._shared_by(last) and is_few and fills_vectors and last not in bounds

    def row_loop(self, bounds: Bounds) -> int | None:
        """The kept loop over rows, around the columns if these are few."""
        kept = self.kept[:-1] if self._has_few_columns(bounds) else self.kept
        return kept[-1] if kept else None

    def rows(self, bounds: Bounds) -> int:
        """
        Rows of a matrix that are multiplied by the same elements at a time: these are loaded once, and the processor
        fetches several rows ahead.
        """
        nest, row = self.emitter.nest, self.row_loop(bounds)
        are_sums = all(each.is_float_sum for each in self.combiners) and CONTRACTION in nest.op.attributes
        if row is None or len(self.reduced) != 1 or not are_sums or not self._shared_by(row):
            return 1
        (innermost,) = self.reduced
        columns = nest.sizes[self.kept[-1]] if row != self.kept[-1] else 1
        count = min(MOST_ROWS, MOST_SUMS // (columns * len(nest.outputs)), nest.sizes[row])
        matrices = [buffer_of(x.root) for x in self._read if x.strides[innermost] == 1 and x.strides[row]]
        is_fetched = bool(matrices) and all(
            nest.sizes[innermost] * byte_width(each.element_type) >= PAGE or byte_size(each) <= NEAR
            for each in matrices
        )
        return count if count > 1 and is_fetched and nest.sizes[innermost] >= LEAST_EACH * count * columns else 1

    def emit(self, inits: Sequence[SSAValue | None], bounds: Bounds, multiple: int) -> None:
        """
        Emit it; `inits`: the values that the sums start from, None for those in the buffers; `multiple`: a number of
        which the range in `bounds` of the loop over rows is a multiple, unless it is the last.
        """
        emitter, count, row = self.emitter, self.rows(bounds), self.row_loop(bounds)
        if count == 1 or row is None:
            with emitter.loops(self.kept[:-1], bounds, innermost=False):
                self._emit_rows(inits, [{}], bounds)
            return
        lower, upper = bounds.get(row, (0, emitter.nest.sizes[row]))
        are_even = emitter.nest.sizes[row] % count == 0 and (multiple % count == 0 or row not in bounds)
        middle = upper if are_even else lower + (upper - lower) // count * count
        with emitter.loops(self.kept[: self.kept.index(row)], bounds, innermost=False):
            with self.builder.loop(lower, middle, step=count) as first, emitter.scope():
                self._emit_rows(inits, [{row: first + number} for number in range(count)], bounds)
            if not are_even:
                with self.builder.loop(middle, upper) as index, emitter.scope():
                    emitter.bind(row, index)
                    self._emit_rows(inits, [{}], bounds)

    def _emit_rows(self, inits: Sequence[SSAValue | None], rows: Sequence[Place], bounds: Bounds) -> None:
        """Emit the sums of some rows, which have the indices of the loop over rows if that is not bound."""
        emitter, count, start = self.emitter, len(inits), list[SSAValue]()
        for _ in self._places(rows, bounds):
            start += [emitter.load_output(k) if init is None else init for k, init in enumerate(inits)]
        totals = self._reduce(self.reduced, start, bounds, rows)
        for number in self._places(rows, bounds):
            for k in range(count):
                emitter.store_output(k, totals[count * number + k])

    def _places(self, rows: Sequence[Place], bounds: Bounds, loads: bool = False) -> Iterator[int]:
        """
        Go through the numbers of the columns of some rows, which are bound meanwhile. `loads`: whether operands are
        loaded, as soon as they can be.
        """
        emitter, last = self.emitter, self.kept[-1]
        columns: list[Place] = [{}]
        if self.row_loop(bounds) != last:
            columns = [{last: column} for column in range(emitter.nest.sizes[last])]
        for number, row in enumerate(rows):
            with emitter.scope():
                self._bind(row, loads)
                for place, column in enumerate(columns):
                    with emitter.scope():
                        self._bind(column, loads)
                        yield number * len(columns) + place

    def _bind(self, place: Place, loads: bool) -> None:
        for loop, index in place.items():
            self.emitter.indices[loop] = index
        if loads:
            self.emitter.load_ready()

    def _reduce(
        self, loops: Sequence[int], start: list[SSAValue], bounds: Bounds, rows: Sequence[Place]
    ) -> list[SSAValue]:
        """Reduce over `loops`, starting from `start`; return the values: those of each place, one after the other."""
        emitter, builder, (first, *rest) = self.emitter, self.builder, loops
        lower, upper = bounds.get(first, (0, emitter.nest.sizes[first]))
        is_long = emitter.nest.sizes[first] > 2 * BLOCK and any(each.is_float_sum for each in self.combiners)
        if not rest and not is_long:
            return self._accumulate(first, start, (lower, upper), bounds, rows)
        with builder.loop(lower, upper, step=1 if rest else BLOCK, carry=start) as (index, totals), emitter.scope():
            neutral = [each.neutral(builder) for each in self.combiners] * (len(start) // len(self.combiners))
            if rest:
                emitter.bind(first, index)
                parts = self._reduce(rest, neutral, bounds, rows)
            else:
                block = index, builder.min(index + BLOCK, upper)
                parts = self._accumulate(first, neutral, block, bounds, rows)
            pairs = enumerate(zip(totals, parts, strict=True))
            combiners, count = self.combiners, len(self.combiners)
            builder.yield_(*(combiners[number % count].combine(builder, *pair) for number, pair in pairs))
        return totals

    def _accumulate(
        self, loop: int, start: list[SSAValue], block: tuple[Index, Index], bounds: Bounds, rows: Sequence[Place]
    ) -> list[SSAValue]:
        """Combine `start` with the elements of a range of the innermost loop."""
        emitter, builder, count = self.emitter, self.builder, len(self.combiners)
        with builder.loop(*block, carry=start, attributes=PARALLEL) as (index, totals), emitter.scope():
            emitter.bind(loop, index)
            following: list[SSAValue] = []
            for number in self._places(rows, bounds, loads=True):
                following += emitter.body(totals[count * number : count * (number + 1)])
            builder.yield_(*following)
        return totals


def with_columns_along(builder: LoopBuilder, nest: Nest) -> Nest:
    """The nest, or one that reads a copy of its columns, if it has few of them and machines have short vectors."""
    if CONTRACTION not in nest.op.attributes or builder.vector_bits >= CPU.vector_bits:
        return nest
    nest = nest.without_unit_loops()
    inputs = [x for x in nest.inputs if isinstance(x, Access)]
    if len(inputs) != 2 or len(inputs) != len(nest.inputs) or len(nest.reduction_loops) != 1:
        return nest
    for which, rows in enumerate(inputs):
        columns = inputs[1 - which]
        if _pays(nest, rows, columns):
            copied = _copied(builder, nest, columns)
            return replace(nest, inputs=(rows, copied) if which == 0 else (copied, rows))
    return nest


def _pays(nest: Nest, rows: Access, columns: Access) -> bool:
    """Whether contiguous `rows` are multiplied by few columns that are not."""
    (along,) = nest.reduction_loops
    moving = [loop for loop in nest.parallel_loops if columns.strides[loop]]
    count = nest.size_of([loop for loop in nest.parallel_loops if rows.strides[loop]])
    return (
        isinstance(buffer_of(columns.root).element_type, AnyFloat)
        and rows.strides[along] == 1 < columns.strides[along]
        and len(moving) <= 1
        and not any(rows.strides[loop] for loop in moving)
        and all(columns.strides[loop] > 0 for loop in moving)
        and nest.size_of(moving) <= TOGETHER_ALONG
        and nest.sizes[along] >= LEAST_ALONG * nest.size_of(moving)
        and count >= LEAST_ROWS_ALONG
    )


def _copied(builder: LoopBuilder, nest: Nest, columns: Access) -> Access:
    """A copy of the columns, one after the other."""
    (along,) = nest.reduction_loops
    moving = [loop for loop in nest.parallel_loops if columns.strides[loop]]
    count, length = nest.size_of(moving), nest.sizes[along]
    stride = columns.strides[moving[0]] if moving else 1
    scratch = builder.alloc(memref_type((count, length), buffer_of(columns.root).element_type))
    size = task_size(length, task_count(length, 2 * count * length, length))
    offset = columns.offset_at(builder)
    with builder.parallel(-(-length // size)) as task:
        source = builder.strided_view(columns.root, offset, (count, length), (stride, columns.strides[along]))
        with builder.loop(*chunk(builder, task, size, length), attributes=PARALLEL) as index:
            for column in range(count):
                builder.store(builder.load(source, [column, index]), scratch, [column, index])
    strides = [0] * len(nest.sizes)
    strides[along] = 1
    for loop in moving:
        strides[loop] = length
    return Access(scratch, 0, (), tuple(strides))

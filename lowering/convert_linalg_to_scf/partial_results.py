"""
Partial results of a reduction, rows of a scratch buffer, as nests.

Chunks of a long reduction have a row each. A narrow matrix, whose few columns would leave vectors empty, is reduced as
one of wide rows: some rows that are neighbours in memory are taken as one, whose partial results are combined in the
end. The rest, less than a whole wide row, follows. Runs of a few neighbours that are reduced together with elements far
from them, as in a sum over the first and the last axis, have a partial result for each element of a run.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from xdsl.dialects.linalg.ops import YieldOp
from xdsl.ir import Block, SSAValue

from ...dialects.support.buffers import memref_type, row_major
from ...dialects.support.llvm_layout import byte_width
from ..device.cpu import CPU
from ..loop_nests.combiners import Combiner
from ..loop_nests.loop_builder import LoopBuilder, buffer_of
from ..loop_nests.nest import Access, Nest

NARROW = 64
"""Columns from which rows are wide enough by themselves."""

WIDE = 128
"""Least elements of a wide row: some vectors, so that as many chains of operations are in flight."""

LEAST_WIDE = 32
"""Elements of a wide row where there are few rows, and of a run that fills vectors by itself."""

LEAST_WIDE_ROWS, FEW_WIDE_ROWS = 16, 8
"""Wide rows that make partial results worth it, with wide rows of WIDE elements and with shorter ones."""

LEAST_RUNS, FEW_RUNS = 64, 4
"""
Runs that are reduced to one that make partial results of all its elements worth it, and those if the second-level cache
holds these.
"""

NEAR = 4
"""Columns so few that a loop along one reads all of them in vectors, and takes its own from these."""


def combination_of_rows(
    nest: Nest, kept: Sequence[int], combiners: Sequence[Combiner], scratch: Sequence[SSAValue], rows: int
) -> Nest:
    """Reduce rows of partial results, each with an element for the iterations of the kept loops, to the outputs."""
    sizes = tuple(nest.sizes[loop] for loop in kept)
    return _combination(nest, kept, combiners, scratch, (*row_major(sizes), math.prod(sizes)), rows)


def _combination(
    nest: Nest,
    kept: Sequence[int],
    combiners: Sequence[Combiner],
    scratch: Sequence[SSAValue],
    strides: tuple[int, ...],
    parts: int,
) -> Nest:
    """Reduce partial results in buffers of these strides, for the kept loops and for the parts, to the outputs."""
    types = [combiner.type for combiner in combiners]
    body = Block(arg_types=[*types, *types])
    count = len(combiners)
    results = [c.copy(body.args[count + k], body.args[k]) for k, c in enumerate(combiners)]
    body.add_ops([*results, YieldOp(*(op.results[0] for op in results))])
    inputs = tuple(Access(buffer, 0, (), strides) for buffer in scratch)
    outputs = tuple(replace(x, strides=(*(x.strides[l] for l in kept), 0)) for x in nest.outputs)
    sizes = (*(nest.sizes[l] for l in kept), parts)
    return Nest(nest.op, sizes, (*(False for _ in kept), True), inputs, outputs, body)


def _buffers(builder: LoopBuilder, nest: Nest, sizes: Sequence[int]) -> list[SSAValue]:
    """New buffers of partial results of these sizes, one for each output."""
    shape = (math.prod(sizes),)
    return [builder.alloc(memref_type(shape, buffer_of(access.root).element_type)) for access in nest.outputs]


@dataclass(frozen=True)
class WideRows:
    """A reduction over the rows of a narrow matrix, or of several."""

    are_few: ClassVar[bool] = False
    """Whether partial results are combined in so little of the time that the code for it is to be short."""
    nest: Nest
    kept: tuple[int, ...]
    """The loops over matrices, and last the one over the columns."""
    row: int
    """The loop over rows that are neighbours in memory."""
    count: int
    """Rows in a wide one."""

    @property
    def _sizes(self) -> tuple[int, ...]:
        """The sizes of a scratch buffer: a wide row for each matrix."""
        *outer, columns = (self.nest.sizes[loop] for loop in self.kept)
        return *outer, self.count * columns

    def scratch(self, builder: LoopBuilder) -> list[SSAValue]:
        """New buffers of wide rows."""
        return _buffers(builder, self.nest, self._sizes)

    def reduce_each(self, scratch: Sequence[SSAValue]) -> Nest:
        """Reduce whole wide rows to one."""
        nest, row = self.nest, self.row
        sizes = list(nest.sizes)
        sizes[self.kept[-1]] *= self.count
        sizes[row] //= self.count
        strides = dict(zip(self.kept, row_major(self._sizes), strict=True))

        def widened(access: Access) -> Access:
            found = [stride * self.count if loop == row else stride for loop, stride in enumerate(access.strides)]
            return replace(access, strides=tuple(found))

        inputs = tuple(widened(x) if isinstance(x, Access) else x for x in nest.inputs)
        places = tuple(strides.get(loop, 0) for loop in range(len(sizes)))
        outputs = tuple(Access(buffer, 0, (), places) for buffer in scratch)
        return replace(nest, sizes=tuple(sizes), inputs=inputs, outputs=outputs)

    def combine(self, combiners: Sequence[Combiner], scratch: Sequence[SSAValue]) -> Nest:
        """Combine the parts of the wide rows."""
        strides = (*row_major(self._sizes), self.nest.sizes[self.kept[-1]])
        return _combination(self.nest, self.kept, combiners, scratch, strides, self.count)

    @property
    def rest(self) -> Nest | None:
        """The rows that are left."""
        nest, row = self.nest, self.row
        left = nest.sizes[row] % self.count
        if not left:
            return None
        first = nest.sizes[row] - left
        inputs = tuple(
            replace(x, offset=x.offset + first * x.strides[row]) if isinstance(x, Access) else x for x in nest.inputs
        )
        sizes = tuple(left if loop == row else size for loop, size in enumerate(nest.sizes))
        return replace(nest, sizes=sizes, inputs=inputs)


def wide_rows_of(nest: Nest, kept: Sequence[int], reduced: Sequence[int]) -> WideRows | None:
    """The wide rows of a canonical nest; None if it has enough columns, few rows, or others between them."""
    columns = [loop for loop in kept if abs(nest.outputs[0].strides[loop]) == 1]
    inputs = [x for x in nest.inputs if isinstance(x, Access)]
    if not columns or nest.dims or not 1 < nest.sizes[columns[0]] < NARROW:
        return None
    (column,) = columns
    size = nest.sizes[column]
    if not any(x.strides[column] == 1 for x in inputs):
        return None
    outer = tuple(loop for loop in kept if loop != column)
    bytes_of_row = nest.size_of(outer) * size * sum(byte_width(buffer_of(x.root).element_type) for x in nest.outputs)
    for row in reduced:
        follow = all(x.strides[row] == x.strides[column] * size for x in inputs)
        count = _rows_in_wide(nest.sizes[row], size, CPU.l2_bytes // bytes_of_row)
        if follow and count > 1:
            return WideRows(nest, (*outer, column), row, count)
    return None


@dataclass(frozen=True)
class ShortRuns:
    """A reduction over runs of a few neighbours, and over loops around them."""

    are_few: ClassVar[bool] = True
    """One for each of some runs."""
    rest: ClassVar[None] = None
    nest: Nest
    kept: tuple[int, ...]
    """The kept loops, in the order of memory, and last the one over the elements of a run."""

    @property
    def _sizes(self) -> tuple[int, ...]:
        """The sizes of a scratch buffer: a run for each output."""
        return tuple(self.nest.sizes[loop] for loop in self.kept)

    def scratch(self, builder: LoopBuilder) -> list[SSAValue]:
        """New buffers of runs."""
        return _buffers(builder, self.nest, self._sizes)

    def reduce_each(self, scratch: Sequence[SSAValue]) -> Nest:
        """Reduce the runs of each output to one, element by element."""
        nest, strides = self.nest, dict(zip(self.kept, row_major(self._sizes), strict=True))
        order = (*self.kept, *(loop for loop in nest.reduction_loops if loop != self.kept[-1]))
        places = tuple(strides.get(loop, 0) for loop in range(len(nest.sizes)))
        outputs = tuple(Access(buffer, 0, (), places) for buffer in scratch)
        reduction = tuple(loop not in strides for loop in range(len(nest.sizes)))
        return replace(nest, reduction=reduction, outputs=outputs).permuted(order)

    def combine(self, combiners: Sequence[Combiner], scratch: Sequence[SSAValue]) -> Nest:
        """Combine the elements of the runs."""
        return _combination(self.nest, self.kept[:-1], combiners, scratch, row_major(self._sizes), self._sizes[-1])


def short_runs_of(nest: Nest, kept: Sequence[int], reduced: Sequence[int]) -> ShortRuns | None:
    """
    The short runs of a canonical nest; None if it has none, too few for each output, or none that are neighbours.

    A vector of each run would have to be summed up by itself, and those of a loop around the runs are gathered, in code
    that takes long to compile.
    """
    inputs = [x for x in nest.inputs if isinstance(x, Access)]
    run = next((loop for loop in reduced if any(x.strides[loop] == 1 for x in inputs)), None)
    if run is None or len(reduced) < 2 or nest.dims or nest.sizes[run] >= LEAST_WIDE:
        return None
    size = nest.sizes[run]
    follows = [loop for loop in kept if all(x.strides[loop] == x.strides[run] * size for x in inputs)]
    if not follows or any(x.strides[run] not in (0, 1) for x in inputs):
        return None
    main = max(inputs, key=lambda x: x.strides[run])
    ordered = (*sorted(kept, key=lambda loop: -abs(main.strides[loop])), run)
    elements = nest.size_of(ordered)
    stored = elements * sum(byte_width(buffer_of(x.root).element_type) for x in nest.outputs)
    least = FEW_RUNS if stored <= CPU.l2_bytes else LEAST_RUNS
    runs = nest.size_of([loop for loop in reduced if loop != run])
    is_read_once = all(main.strides[loop] for loop in nest.free)
    return ShortRuns(nest, ordered) if is_read_once and runs >= least else None


def _rows_in_wide(rows: int, size: int, cached: int) -> int:
    """
    Rows of `size` elements in a wide one; 1 if there are too few.

    Where rows are short, the partial results are much of the work: then wide rows are as short as fills vectors, leave
    no rest if that is possible, and stay in the cache, which holds `cached` rows of each matrix.
    """
    count = 1 << (-(-WIDE // size) - 1).bit_length()
    if rows >= LEAST_WIDE_ROWS * count:
        return count
    most = min(rows // FEW_WIDE_ROWS, cached) if size > NEAR else 1
    whole = (each for each in range(-(-LEAST_WIDE // size), most + 1) if rows % each == 0)
    return next(whole, 1 << max(most, 1).bit_length() >> 1)

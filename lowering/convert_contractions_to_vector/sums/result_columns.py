"""
The sums of the columns of C, or of what is elementwise with it, added up while each tile of C is in the cache: the
statistics of a normalization after a convolution, and the sums of its gradient.

Each tile of rows adds to partial sums of its own; these are added in order at the end. Tiles depend on the shape alone,
and so do the bits of the sums.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from xdsl.dialects import memref
from xdsl.dialects.linalg.ops import FillOp, GenericOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr

from ....dialects.support.buffers import memref_type
from ...convert_linalg_to_scf.conversion import Absorbed, initial_values, nest_of
from ...convert_linalg_to_scf.reduction import ReductionEmitter, ReductionPlan
from ...loop_nests.combiners import Combiner, known_combiners
from ...loop_nests.fills import is_reduction
from ...loop_nests.kernel_builder import Index, IndexValue
from ...loop_nests.loop_builder import PARALLEL, LoopBuilder
from ...loop_nests.nest import Access, Nest, nest_of_generic


def sums_after(product: GenericOp, last: GenericOp) -> list[tuple[GenericOp, tuple[int, ...]]]:
    """
    The generics that combine the rows of what a product and its epilogue write, or of what is elementwise with that,
    each with its loops for the dimensions of these.

    `last` is the epilogue, or the product itself. Nothing in between writes what they read.
    """
    found: list[tuple[GenericOp, tuple[int, ...]]] = []
    results = {access.root for op in (product, last) for access in nest_of_generic(op).outputs}
    written: set[SSAValue] = set()
    for op in _structured_after(last):
        order = _loops_of_rows(op, results, written) if isinstance(op, GenericOp) else None
        if isinstance(op, GenericOp) and order is not None:
            found.append((op, order))
        written.update(access.root for access in nest_of(op).outputs)
    return found


def _structured_after(op: Operation) -> Iterator[GenericOp | FillOp | memref.CopyOp]:
    while (following := op.next_op) is not None:
        op = following
        if isinstance(op, (GenericOp, FillOp, memref.CopyOp)):
            yield op


def _loops_of_rows(
    op: GenericOp, results: Collection[SSAValue], written: Collection[SSAValue]
) -> tuple[int, ...] | None:
    """
    The loop for each dimension of the results in a generic that combines their elements, each at its own loop point,
    and reads nothing that was `written`; None if it does something else.
    """
    if not is_reduction(op) or not _is_closed(op.body.block):
        return None
    nest = nest_of_generic(op)
    if known_combiners(nest) is None or nest.dims or 0 in nest.sizes:
        return None
    if any(not isinstance(x, Access) or x.dynamic or x.root in written for x in nest.inputs):
        return None
    orders = {
        tuple(expr.position if isinstance(expr, AffineDimExpr) else -1 for expr in attr.data.results)
        for access, attr in zip(nest.inputs, op.indexing_maps.data, strict=False)
        if isinstance(access, Access) and access.root in results
    }
    if len(orders) != 1 or any(access.root in results for access in nest.outputs):
        return None
    (order,) = orders
    return order if sorted(order) == list(range(len(nest.sizes))) else None


def _is_closed(block: Block) -> bool:
    """Whether a body computes from its arguments alone."""
    return all(
        not op.regions and not isinstance(op, memref.LoadOp) and all(_is_inside(value, block) for value in op.operands)
        for op in block.ops
    )


def _is_inside(value: SSAValue, block: Block) -> bool:
    return value.owner is block or (isinstance(value.owner, Operation) and value.owner.parent is block)


def combines_columns(nest: Nest) -> bool:
    """Whether the outputs of a nest over loops around a matrix, its rows and columns, are one for each column."""
    return all(not any(access.strides[:-1]) and access.strides[-1] == 1 for access in nest.outputs)


@dataclass
class ResultSums:
    """The partial sums of tiles of rows, `[tiles, n]` for each output of a generic."""

    builder: LoopBuilder
    nest: Nest
    """Over the loops around C, its rows and its columns."""
    combiners: list[Combiner]
    scratch: list[SSAValue]
    tiles: int

    @staticmethod
    def of(builder: LoopBuilder, nest: Nest, tiles: int) -> ResultSums:
        """Partial sums of so many tiles of rows, in new buffers."""
        combiners = known_combiners(nest)
        assert combiners is not None, "sums_after asks for them"
        scratch = [builder.alloc(memref_type((tiles * nest.sizes[-1],), each.type)) for each in combiners]
        return ResultSums(builder, nest, combiners, scratch, tiles)

    def _emitter(self, nest: Nest, inits: Sequence[SSAValue | None]) -> ReductionEmitter:
        rows, columns = len(nest.sizes) - 2, len(nest.sizes) - 1
        plan = ReductionPlan(nest, self.combiners, [columns], [rows], in_registers=False, work=0)
        return ReductionEmitter(self.builder, plan, inits, {})

    def begin(self, tile: Index, columns: tuple[Index, Index]) -> None:
        """Let the partial sums of a tile begin with what leaves them as they are."""
        builder, width = self.builder, self.nest.sizes[-1]
        views = [builder.strided_view(buffer, tile * width, (width,), (1,)) for buffer in self.scratch]
        neutral = [combiner.neutral(builder) for combiner in self.combiners]
        with builder.loop(*columns, attributes=PARALLEL) as column:
            for value, view in zip(neutral, views, strict=True):
                builder.store(value, view, [column])

    def add(self, tile: Index, outer: Sequence[Index], rows: tuple[Index, Index], columns: tuple[Index, Index]) -> None:
        """Add rows and columns of the matrix at indices `outer` to the partial sums of their tile."""
        location, self.builder.location = self.builder.location, self.nest.op.location
        width = self.nest.sizes[-1]
        at = ((tile.value, width),) if isinstance(tile, IndexValue) else ()
        begin = 0 if isinstance(tile, IndexValue) else tile * width
        strides = (*(0 for _ in self.nest.sizes[:-1]), 1)
        outputs = tuple(Access(buffer, begin, at, strides) for buffer in self.scratch)
        nest = replace(self.nest, outputs=outputs)
        bounds = {nest.bound: rows, nest.bound + 1: columns}
        emitter = self._emitter(nest, (None,) * len(outputs))
        emitter.emit_part(nest, emitter.inits, bounds, outer)
        self.builder.location = location

    def finish(self, absorbed: Absorbed) -> None:
        """Combine the partial sums, in order, into the outputs of the generic, at the builder's insertion point."""
        assert isinstance(self.nest.op, GenericOp)
        self._emitter(self.nest, initial_values(self.nest.op, absorbed)).combine_rows(self.scratch, self.tiles)

"""
The sums of the columns of C, or of what is elementwise with it, added up while each tile of C is in the cache: the
statistics of a normalization after a convolution, and the sums of its gradient.

Each tile of rows adds to partial sums of its own; these are added in order at the end. Tiles depend on the shape alone,
and so do the bits of the sums.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from xdsl.dialects import memref
from xdsl.dialects.linalg.ops import FillOp, GenericOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr

from ...convert_linalg_to_scf.conversion import nest_of
from ...loop_nests.combiners import known_combiners
from ...loop_nests.fills import is_reduction
from ...loop_nests.nest import Access, Nest, address_of, nest_of_generic


def sums_after(product: GenericOp, last: GenericOp) -> list[tuple[GenericOp, tuple[int, ...]]]:
    """
    The generics that combine the rows of what a product and its epilogue write, or of what is elementwise with that,
    each with its loops for the dimensions of these.

    `last` is the epilogue, or the product itself. Nothing in between writes what they read.
    """
    found: list[tuple[GenericOp, tuple[int, ...]]] = []
    results = {address_of(output).root for op in (product, last) for output in op.outputs}
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

"""Rules for matrix products with one-hot rows, and for products of one factor with several others in a loop."""

from __future__ import annotations

import math
from itertools import accumulate, pairwise
from typing import cast

from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from ...hlo_dialect.expressions.tensor import Builder, Tensor, concatenate
from ...hlo_dialect.op import is_elementwise
from ...hlo_dialect.ops.comparison import CompareOp
from ...hlo_dialect.ops.contraction import DotGeneralOp
from ...hlo_dialect.ops.control_flow import WhileOp
from ...hlo_dialect.ops.conversion import ConvertOp
from ...hlo_dialect.ops.index_dimensions import IndexDimensions
from ...hlo_dialect.ops.movement import BroadcastInDimOp, ReshapeOp
from ...hlo_dialect.shapes import is_static
from ...hlo_dialect.types import bit_width, element_of, i1, is_float, is_integer, shape_of
from .indexing import counted_dim, holds_indices
from .rewrite import OPEN_ORDER, Rewrite, approximations, assumes, by, simplifications, start
from .slices import gather

MOST_ROWS = 64
"""Rows from which products are as fast apart as together."""

MOST_BYTES = 1 << 24
"""Bytes of matrices up to which they are joined before a loop."""


# -- one-hot rows ------------------------------------------------------------------------------------------


def _one_hot(value: SSAValue) -> SSAValue | None:
    """The indices, of the shape of its rows, of a matrix that is `convert(index == column)`; None if it is no such."""
    convert = value.owner
    if not isinstance(convert, ConvertOp) or element_of(convert.operands[0]) != i1:
        return None
    compare, shape = convert.operands[0].owner, shape_of(value)
    if not isinstance(compare, CompareOp) or compare.direction != "EQ" or len(shape) < 1:
        return None
    last = len(shape) - 1
    for counted, spread in ((compare.lhs, compare.rhs), (compare.rhs, compare.lhs)):
        if counted_dim(counted) != (last, shape[last]) or not holds_indices(spread, shape[last]):
            continue
        index = spread.owner
        if isinstance(index, BroadcastInDimOp):
            sizes, dims = shape_of(index.operands[0]), index.dims
            wide = [(dim, size) for dim, size in zip(dims, sizes, strict=True) if size != 1]
            rows = [(dim, size) for dim, size in enumerate(shape[:last]) if size != 1]
            if wide == rows:
                return index.operands[0]
    return None


def _row_of_one_hot(op: Operation) -> Rewrite | None:
    assert isinstance(op, DotGeneralOp)
    numbers = op.dot_dimension_numbers
    table, hot = op.operands[1], op.operands[0]
    shape = shape_of(hot)
    if (
        numbers.lhs_batching
        or numbers.lhs_contracting != (len(shape) - 1,)
        or element_of(table) != element_of(op.result)
    ):
        return None
    if not all(is_static(shape_of(value)) and 0 not in shape_of(value) for value in (hot, table)):
        return None
    index = _one_hot(hot)
    if index is None:
        return None
    (along,) = numbers.rhs_contracting
    sizes, rows, result = shape_of(table), shape[:-1], shape_of(op.result)
    i = start(index).reshape(rows)
    window = tuple(range(len(rows), len(result)))
    dims = IndexDimensions(window, (along,), (), (), (along,), len(rows))
    slices = tuple(1 if dim == along else size for dim, size in enumerate(sizes))
    picked = gather(i.builder, table, i.reshape((*rows, 1)), dims, slices, result)
    inside = ((i >= 0) & (i <= sizes[along] - 1)).broadcast(result, range(len(rows)))
    return by(inside.select(picked, 0.0 if is_float(picked.element) else 0))


@simplifications.on(DotGeneralOp)
def product_of_one_hot(op: Operation) -> Rewrite | None:
    """A product of rows `index == column` with a matrix of integers is a gather of its rows."""
    return _row_of_one_hot(op) if is_integer(element_of(op.results[0])) else None


@approximations.on(DotGeneralOp)
@assumes("the matrix is finite, and the sign of zero does not matter")
def float_product_of_one_hot(op: Operation) -> Rewrite | None:
    """A product of rows `index == column` with a matrix of floats is a gather of its rows."""
    return _row_of_one_hot(op) if is_float(element_of(op.results[0])) else None


# -- products of one factor --------------------------------------------------------------------------------


@simplifications.on(DotGeneralOp)
@assumes(OPEN_ORDER)
def merge_step_products(op: Operation) -> Rewrite | None:
    """
    Products of one factor, in a loop, with several matrices from outside are one with these side by side.

    The gates of an LSTM or GRU are written so. The matrices are joined once, before the loop.
    """
    assert isinstance(op, DotGeneralOp)
    block = op.parent
    loop = None if block is None else block.parent_op()
    if block is None or not isinstance(loop, WhileOp) or not _is_mergeable(op, block):
        return None
    others = [use.operation for use in op.operands[0].uses if use.index == 0 and use.operation.parent is block]
    dots = [
        each for each in others if isinstance(each, DotGeneralOp) and _is_same(each, op) and _is_mergeable(each, block)
    ]
    dots = sorted(dict.fromkeys(dots), key=block.get_operation_index)
    if len(dots) < 2 or dots[0] is not op:
        return None
    matrices = [each.operands[1] for each in dots]
    if len({id(matrix) for matrix in matrices}) < len(matrices):
        return None
    size = sum(math.prod(shape_of(matrix)) for matrix in matrices) * bit_width(element_of(matrices[0])) // 8
    if size > MOST_BYTES:
        return None
    return _merged(op, dots, loop)


def _merged(op: DotGeneralOp, dots: list[DotGeneralOp], loop: WhileOp) -> Rewrite:
    builder = Builder()
    (column,) = op.rhs_free
    before = Builder.before(loop)
    matrices = concatenate(before.tensors([each.operands[1] for each in dots]), column)
    joined = Tensor(builder, matrices.value)
    stated = {name: value for name, value in op.properties.items() if name != "dot_dimension_numbers"}
    element = element_of(op.result)
    product = Tensor(builder, op.operands[0]).dot(joined, op.dot_dimension_numbers, element, **stated)
    last = len(product.shape) - 1
    ends = [0, *accumulate(shape_of(each.result)[last] for each in dots)]
    parts = [product.part(last, first, end) for first, end in pairwise(ends)]
    rest = dots[1:]
    touched: list[object] = [use.operation for each in rest for use in each.result.uses]
    for each, part in zip(rest, parts[1:], strict=True):
        each.result.replace_all_uses_with(part.value)
    return Rewrite(builder.ops, [parts[0].value], touched=[*touched, *rest])


def _is_same(one: DotGeneralOp, other: DotGeneralOp) -> bool:
    """Whether two products of one factor are alike but for the number of columns."""
    return (
        one.properties == other.properties
        and element_of(one.result) == element_of(other.result)
        and element_of(one.operands[1]) == element_of(other.operands[1])
        and len(shape_of(one.operands[1])) == len(shape_of(other.operands[1]))
    )


def _is_mergeable(op: DotGeneralOp, block: Block) -> bool:
    """Whether a product of few rows, with a matrix from outside of the block, is used element by element only."""
    numbers = op.dot_dimension_numbers
    matrix = op.operands[1]
    if numbers.lhs_batching or len(op.rhs_free) != 1 or not is_static(shape_of(op.result)):
        return False
    if math.prod(shape_of(op.result)[:-1]) > MOST_ROWS or 0 in shape_of(op.result):
        return False
    outside = matrix.block if isinstance(matrix, BlockArgument) else cast(Operation, matrix.owner).parent
    if outside is block or outside is None:
        return False
    uses = [use.operation for use in op.result.uses]
    return all(is_elementwise(user) or isinstance(user, (BroadcastInDimOp, ReshapeOp)) for user in uses)

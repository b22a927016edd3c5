"""
Rules for matrix products: transposes of factors become dimension numbers, so that no transposed matrix is in memory.

The products and the order of each sum stay the same.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import Operation, SSAValue

from ...hlo_dialect.attributes import DotDimensionNumbersAttr
from ...hlo_dialect.expressions.tensor import Tensor
from ...hlo_dialect.ops.contraction import DotGeneralOp
from ...hlo_dialect.ops.conversion import ConvertOp
from ...hlo_dialect.ops.movement import TransposeOp, untransposed
from ...hlo_dialect.types import element_of, shape_of
from .rewrite import Rewrite, by, simplifications, start

Dims = tuple[int, ...]


@simplifications.on(DotGeneralOp)
def simplify_dot(op: Operation) -> Rewrite | None:
    """A product of a transpose reads the transpose's operand, if the result's dimensions keep their order."""
    assert isinstance(op, DotGeneralOp)
    numbers, (left, right) = op.dot_dimension_numbers, map(_before_conversion, op.operands)
    lhs, lhs_batching, lhs_contracting = _untransposed(left, numbers.lhs_batching, numbers.lhs_contracting, op.lhs_free)
    rhs, rhs_batching, rhs_contracting = _untransposed(
        right, numbers.rhs_batching, numbers.rhs_contracting, op.rhs_free
    )
    if lhs is left and rhs is right:
        return None
    new = DotDimensionNumbersAttr.of(lhs_batching, rhs_batching, lhs_contracting, rhs_contracting)
    return _product(op, lhs, rhs, new)


def _before_conversion(value: SSAValue) -> SSAValue:
    """
    The transpose that a factor converts, as for weights of a narrower type, if nothing else reads what that gives: its
    operand can be converted as well. Any other factor itself.
    """
    if isinstance(value.owner, ConvertOp) and value.has_one_use():
        (source,) = value.owner.operands
        return source if isinstance(source.owner, TransposeOp) else value
    return value


def _product(op: DotGeneralOp, lhs: SSAValue, rhs: SSAValue, numbers: DotDimensionNumbersAttr) -> Rewrite:
    """The product of other factors, converted to the types of those of `op`, with its other properties."""
    x = start(lhs)
    stated = {name: value for name, value in op.properties.items() if name != "dot_dimension_numbers"}
    left, right = map(element_of, op.operands)
    factors = x.convert(left), Tensor(x.builder, rhs).convert(right)
    return by(factors[0].dot(factors[1], numbers, element_of(op.results[0]), **stated))


def _untransposed(value: SSAValue, batching: Dims, contracting: Dims, free: Dims) -> tuple[SSAValue, Dims, Dims]:
    """The factor before its transposes, with the dimensions there; `free` dimensions keep their order."""
    value, dims = untransposed(value, free)
    return value, tuple(dims[dim] for dim in batching), tuple(dims[dim] for dim in contracting)


@simplifications.on(TransposeOp)
def swap_factors(op: Operation) -> Rewrite | None:
    """
    The factors of a product that is transposed change places, if the transpose then keeps the last dimension in place.

    It vanishes, or moves whole rows. JAX writes the product of attention's weights and values that way.
    """
    assert isinstance(op, TransposeOp)
    dot = op.operands[0].owner
    if not isinstance(dot, DotGeneralOp) or not dot.results[0].has_one_use() or not dot.lhs_free or not dot.rhs_free:
        return None
    algorithm = dot.algorithm
    if algorithm is not None and algorithm.lhs_precision_type != algorithm.rhs_precision_type:
        return None
    last = len(op.dims) - 1
    batch, left = len(dot.dot_dimension_numbers.lhs_batching), len(dot.lhs_free)
    shape = shape_of(dot.results[0])
    if op.dims[last] != batch + left - 1 or shape[op.dims[last]] == 1:
        return None
    numbers = dot.dot_dimension_numbers
    swapped = DotDimensionNumbersAttr.of(
        numbers.rhs_batching, numbers.lhs_batching, numbers.rhs_contracting, numbers.lhs_contracting
    )
    right = len(dot.rhs_free)
    # Where each dimension of the product is after the exchange.
    places = [*range(batch), *(batch + right + i for i in range(left)), *(batch + i for i in range(right))]
    x = start(dot.operands[1])
    stated = {name: value for name, value in dot.properties.items() if name != "dot_dimension_numbers"}
    if dot.precision_config is not None:
        stated["precision_config"] = ArrayAttr(dot.precision_config.data[::-1])
    product = x.dot(Tensor(x.builder, dot.operands[0]), swapped, element_of(dot.results[0]), **stated)
    return by(product.transpose([places[dim] for dim in op.dims]))

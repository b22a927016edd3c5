"""dot and the einsums become dot_general, sums and transposes."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation

from ...hlo_dialect.attributes import DotDimensionNumbersAttr
from ...hlo_dialect.expressions.tensor import Builder, Tensor
from ...hlo_dialect.op import replace_op
from ...hlo_dialect.ops.contraction import DotGeneralOp
from ...hlo_dialect.ops.older_contractions import DotOp, EinsumOp, Labels, UnaryEinsumOp
from ...hlo_dialect.shapes import is_static
from ...hlo_dialect.types import element_of, i32, make_tensor, shape_of
from .transform import decompositions


@decompositions.on(DotOp)
def _dot(op: DotOp) -> Sequence[Operation]:
    """
    Before: `dot %a, %b`
    After:  `dot_general %a, %b, contracting_dims = [1] x [0]`
    """
    new = DotGeneralOp.create(
        operands=op.operands,
        result_types=op.result_types,
        properties={**op.properties, "dot_dimension_numbers": op.dot_dimension_numbers},
        attributes=op.attributes,
    )
    replace_op(op, [new], new.results)
    return [new]


@decompositions.on(EinsumOp)
def _einsum(op: EinsumOp) -> Sequence[Operation]:
    """
    Before: `einsum %a, %b, config = "abx,cb->ca"`
    After:  `%0 = reduce %a by add over [2]`, `%1 = dot_general %0, %b, contracting_dims = [1] x [1]`, `transpose %1`

    Labels of only one operand are summed first; the product then contracts the labels that the result lacks.
    """
    if not all(is_static(shape_of(operand)) for operand in op.operands):
        return ()
    equation, builder = op.equation, Builder()
    output = equation.output
    (lhs, lhs_labels), (rhs, rhs_labels) = (
        _alone(Tensor(builder, operand), labels, {*others, *output})
        for operand, labels, others in zip(op.operands, equation.inputs, reversed(equation.inputs), strict=True)
    )
    shared = [label for label in lhs_labels if label in rhs_labels]
    batching = [label for label in shared if label in output]
    contracting = [label for label in shared if label not in output]
    numbers = DotDimensionNumbersAttr.of(
        *([labels.index(label) for label in batching] for labels in (lhs_labels, rhs_labels)),
        *([labels.index(label) for label in contracting] for labels in (lhs_labels, rhs_labels)),
    )
    free = [label for label in (*lhs_labels, *rhs_labels) if label not in shared]
    product_labels = [*batching, *free]
    product = lhs.dot(rhs, numbers, element_of(op.result))
    return builder.replace(op, product.transpose([product_labels.index(label) for label in output]))


@decompositions.on(UnaryEinsumOp)
def _unary_einsum(op: UnaryEinsumOp) -> Sequence[Operation]:
    """
    Before: `unary_einsum %a, config = "abc->ca"`
    After:  `%0 = reduce %a by add over [1]`, `transpose %0, dims = [1, 0]`
    """
    if not is_static(shape_of(op.operand)):
        return ()
    equation, builder = op.equation, Builder()
    source = Tensor(builder, op.operand).convert(element_of(op.result))
    summed, labels = _alone(source, equation.inputs[0], set(equation.output))
    return builder.replace(op, summed.transpose([labels.index(label) for label in equation.output]))


def _alone(x: Tensor, labels: Labels, wanted: set[str]) -> tuple[Tensor, Labels]:
    """Simplify one operand: take diagonals of repeated labels and sum over unwanted labels."""
    off_diagonal: list[int] = []
    for dim, label in enumerate(labels):
        first = labels.index(label)
        if first != dim:
            x = _only_where_equal(x, first, dim)
            off_diagonal.append(dim)
    summed = [dim for dim, label in enumerate(labels) if dim in off_diagonal or label not in wanted]
    return x.sum(summed), tuple(label for dim, label in enumerate(labels) if dim not in summed)


def _only_where_equal(x: Tensor, first: int, second: int) -> Tensor:
    """Set elements to zero unless the indices of two dimensions are equal."""

    def index(dim: int) -> Tensor:
        return x.builder.iota(make_tensor((x.shape[dim],), i32), 0).broadcast(x.shape, [dim])

    equal = index(first).equals(index(second))
    return equal.select(x, x.like(0))

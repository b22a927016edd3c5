"""hlo.dot_general: a generic over batch, left, right and contracted dimensions that multiplies and adds."""

from __future__ import annotations

from typing import Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, UnitAttr, f32, f64
from xdsl.dialects.linalg.attrs import IteratorTypeAttr
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, SSAValue

from ...dialects.support.kernel import CONTRACTION
from ...dialects.support.scalar import Scalar
from ...hlo_dialect.ops import contraction as hlo
from ...hlo_dialect.ops.convolution import ConvolutionOp
from ...hlo_dialect.types import element_of, is_boolean, is_float, make_tensor, shape_of
from .element_types import convert
from .emission import Emitter, dims_map, iterators, patterns, signless
from .narrow import NARROW
from .reduction import narrowed

FUSABLE = arith.FastMathFlagsAttr([FastMathFlag.REASSOC, FastMathFlag.ALLOW_CONTRACT])
"""Fast-math flags of a sum of products: reassociation, and contraction to fused multiply-add."""


@patterns.on(hlo.DotGeneralOp)
def _dot_general(op: hlo.DotGeneralOp, emitter: Emitter) -> None:
    """
    `hlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1]` becomes a generic over
    (b, m, n, k) marked xhlo.contraction, into a fill of zero; see `_accumulator` for the type of the sum.
    """
    numbers = op.dot_dimension_numbers
    lhs_free = _free(shape_of(op.lhs), (*numbers.lhs_batching, *numbers.lhs_contracting))
    rhs_free = _free(shape_of(op.rhs), (*numbers.rhs_batching, *numbers.rhs_contracting))
    batch, m, n = len(numbers.lhs_batching), len(lhs_free), len(rhs_free)
    k = len(numbers.lhs_contracting)
    rank = batch + m + n + k
    lhs_loops, rhs_loops = [0] * len(shape_of(op.lhs)), [0] * len(shape_of(op.rhs))
    for loop, dim in enumerate((*numbers.lhs_batching, *lhs_free)):
        lhs_loops[dim] = loop
    for loop, dim in enumerate(numbers.rhs_batching):
        rhs_loops[dim] = loop
    for loop, dim in enumerate(rhs_free, batch + m):
        rhs_loops[dim] = loop
    for loop, (left, right) in enumerate(
        zip(numbers.lhs_contracting, numbers.rhs_contracting, strict=True), batch + m + n
    ):
        lhs_loops[left] = rhs_loops[right] = loop

    sum_of_products(
        op,
        emitter,
        (
            dims_map(rank, tuple(lhs_loops)),
            dims_map(rank, tuple(rhs_loops)),
            dims_map(rank, tuple(range(batch + m + n))),
        ),
        iterators(batch + m + n, k),
        _marks(op) if k else {},
    )


def _marks(op: hlo.DotGeneralOp) -> dict[str, Attribute]:
    """
    `xhlo.contraction`, and `xhlo.tf32` if the program asks for tf32 products, which GPUs that support them may use.
    """
    marks: dict[str, Attribute] = {CONTRACTION: UnitAttr()}
    algorithm = op.algorithm
    if algorithm is not None and algorithm.num_primitive_operations.value.data == 1:
        types = (algorithm.lhs_precision_type, algorithm.rhs_precision_type)
        if all(str(type_) == "tf32" for type_ in types):
            marks["xhlo.tf32"] = UnitAttr()
    return marks


def sum_of_products(
    op: hlo.DotGeneralOp | ConvolutionOp,
    emitter: Emitter,
    maps: tuple[AffineMapAttr, ...],
    iterator_types: ArrayAttr[IteratorTypeAttr],
    attributes: dict[str, Attribute],
    shape_only: tuple[tuple[SSAValue, AffineMapAttr], ...] = (),
) -> None:
    """
    Define the result as a generic that adds the products of lhs and rhs to a fill of zero.

    `shape_only`: operands that are never read but determine loop sizes (see convolution.py).
    """
    result_type: Any = signless(op.result.type)
    element = element_of(op.result)
    accumulator = _accumulator((element_of(op.lhs), element_of(op.rhs)), element)
    type_ = make_tensor(result_type.get_shape(), signless(accumulator))
    zero = Scalar(emitter.block, op.result).constant(0, signless(accumulator))
    lhs_element, rhs_element = element_of(op.lhs), element_of(op.rhs)

    def body(x: Scalar, y: Scalar, *others: Scalar) -> Scalar:
        total = others[-1]
        x, y = convert(x, lhs_element, accumulator), convert(y, rhs_element, accumulator)
        if is_boolean(accumulator):
            return total | (x & y)
        if not is_float(accumulator):
            return total + x * y
        return _flagged(arith.AddfOp, total, _flagged(arith.MulfOp, x, y))

    inputs = [emitter.get(op.lhs), emitter.get(op.rhs), *(value for value, _ in shape_only)]
    maps = (*maps[:2], *(map_ for _, map_ in shape_only), maps[2])
    outputs = [emitter.fill(zero.value, type_)]
    results = emitter.generic(inputs, outputs, maps, iterator_types, body, attributes)
    emitter.define(op.result, results[0] if accumulator == element else narrowed(results[0], result_type, emitter))


def _accumulator(operands: tuple[Attribute, Attribute], result: Attribute) -> Attribute:
    """The type of products and sums: the result's, but f32 for f16 and bf16, and f64 for f64 operands."""
    if not is_float(result):
        return result
    if f64 in operands:
        return f64
    return f32 if isinstance(result, NARROW) else result


def _free(shape: tuple[int, ...], used: tuple[int, ...]) -> list[int]:
    return [dim for dim in range(len(shape)) if dim not in used]


def _flagged(cls: type[Any], x: Scalar, y: Scalar) -> Scalar:
    op = cls.create(operands=[x.value, y.value], result_types=[x.type], properties={"fastmath": FUSABLE})
    x.block.add_op(op)
    return Scalar(x.block, op.results[0])

"""
Rules that may change the results of floats: they apply with `--math=fast`, or by name (`simplify-hlo{also=..}`).

Each states what it assumes. Integers are left to the rules that are always on.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeGuard

from xdsl.ir import Operation, SSAValue

from ...hlo_dialect.attributes import DotDimensionNumbersAttr, ints
from ...hlo_dialect.expressions.tensor import Tensor
from ...hlo_dialect.ops.contraction import DotGeneralOp
from ...hlo_dialect.ops.creation import is_splat_of, splat_of
from ...hlo_dialect.ops.elementwise_binary import AddOp, DivideOp, MultiplyOp, PowerOp, SubtractOp
from ...hlo_dialect.ops.elementwise_unary import ExponentialOp, LogOp, RsqrtOp, SqrtOp
from ...hlo_dialect.ops.movement import BroadcastInDimOp
from ...hlo_dialect.ops.reduction import ReduceOp, single_combiner
from ...hlo_dialect.shapes import is_static
from ...hlo_dialect.types import element_of, is_float, shape_of
from .rewrite import Rewrite, approximations, assumes, by, start, to

if TYPE_CHECKING:
    from ...hlo_dialect.ops.convolution import ConvolutionOp


def _is_float(op: Operation) -> bool:
    """Whether an operation computes floats of a static shape, to the usual accuracy."""
    return is_float(element_of(op.results[0])) and is_static(shape_of(op.results[0])) and not op.properties


def _splat(value: SSAValue) -> float | None:
    """The number that a float value is everywhere."""
    found: Any = splat_of(value)
    return None if found is None or not is_float(element_of(value)) else float(found)


def _split(op: Operation) -> tuple[SSAValue, float] | None:
    """The operand that varies, and the number that the other one is, in either order."""
    for index in (0, 1):
        number = _splat(op.operands[index])
        if number is not None and _splat(op.operands[1 - index]) is None:
            return op.operands[1 - index], number
    return None


def _alone(value: SSAValue, kind: type[Operation]) -> Operation | None:
    """The operation of a class that computes a value of one use."""
    owner = value.owner
    return owner if isinstance(owner, kind) and value.has_one_use() and not owner.properties else None


# -- zeros and ones --------------------------------------------------------------------------------------


@approximations.on(MultiplyOp)
@assumes("x is finite, and the sign of zero does not matter")
def multiply_by_zero(op: Operation) -> Rewrite | None:
    """`x * 0` is 0."""
    found = _split(op) if _is_float(op) else None
    return None if found is None or found[1] != 0 else by(start(found[0]).like(0.0))


@approximations.on(SubtractOp)
@assumes("x is finite")
def subtract_itself(op: Operation) -> Rewrite | None:
    """`x - x` is 0."""
    return by(start(op.operands[0]).like(0.0)) if _is_float(op) and op.operands[0] is op.operands[1] else None


@approximations.on(DivideOp)
@assumes("x is finite and not zero")
def divide_by_itself(op: Operation) -> Rewrite | None:
    """`x / x` is 1."""
    return by(start(op.operands[0]).like(1.0)) if _is_float(op) and op.operands[0] is op.operands[1] else None


@approximations.on(AddOp, SubtractOp)
@assumes("the sign of zero does not matter")
def add_zero(op: Operation) -> Rewrite | None:
    """`x + 0` and `x - 0` are x."""
    if not _is_float(op):
        return None
    for index in (1, 0) if isinstance(op, AddOp) else (1,):
        if _splat(op.operands[index]) == 0:
            return to(op.operands[1 - index])
    return None


# -- constants -------------------------------------------------------------------------------------------


@approximations.on(DivideOp)
@assumes("the quotient may be rounded twice, and 1/c is no subnormal number")
def divide_by_constant(op: Operation) -> Rewrite | None:
    """`x / c` is `x * (1/c)`."""
    number = _splat(op.operands[1]) if _is_float(op) else None
    if number is None or number == 0 or not 2.0**-13 <= abs(number) <= 2.0**13:
        return None
    return by(start(op.operands[0]) * (1 / number))


@approximations.on(AddOp, MultiplyOp)
@assumes("sums and products may be rounded in another order, and do not overflow")
def reassociate_constants(op: Operation) -> Rewrite | None:
    """`(x + a) + b` is `x + (a + b)`, and `(x * a) * b` is `x * (a * b)`, of constants a and b."""
    found = _split(op) if _is_float(op) else None
    inner = None if found is None else _alone(found[0], type(op))
    within = None if inner is None else _split(inner)
    if found is None or within is None:
        return None
    (_, outer), (value, constant) = found, within
    both = constant + outer if isinstance(op, AddOp) else constant * outer
    if not math.isfinite(both) or not (both == 0 or 2.0**-14 <= abs(both) <= 2.0**15):
        return None
    x = start(value)
    return by(x + both if isinstance(op, AddOp) else x * both)


@approximations.on(AddOp, SubtractOp)
@assumes("products and sums may be rounded in another order, and do not overflow")
def factor_products(op: Operation) -> Rewrite | None:
    """`a * b + a * c` is `a * (b + c)`, if nothing else needs the products; so with `-`."""
    one, other = (_alone(value, MultiplyOp) for value in op.operands) if _is_float(op) else (None, None)
    if one is None or other is None:
        return None
    for index in (0, 1):
        for place in (0, 1):
            if one.operands[index] is other.operands[place]:
                b = start(one.operands[1 - index])
                c = Tensor(b.builder, other.operands[1 - place])
                total = b + c if isinstance(op, AddOp) else b - c
                return by(Tensor(b.builder, one.operands[index]) * total)
    return None


# -- powers, roots and exponentials ------------------------------------------------------------------------


@approximations.on(PowerOp)
@assumes("the power may be rounded several times; x is not -0 or -inf for roots")
def power_by_constant(op: Operation) -> Rewrite | None:
    """`x**c` is a product, a quotient or a root for c = -2, -1, -1/2, 0, 1/2, 1, 2, 3, 4."""
    exponent = _splat(op.operands[1]) if _is_float(op) else None
    x = start(op.operands[0])
    match exponent:
        case 0.0:
            return by(x.like(1.0))
        case 1.0:
            return to(op.operands[0])
        case 2.0:
            return by(x * x)
        case 3.0:
            return by(x * x * x)
        case 4.0:
            square = x * x
            return by(square * square)
        case -1.0:
            return by(1.0 / x)
        case -2.0:
            return by(1.0 / (x * x))
        case 0.5:
            return by(x.sqrt())
        case -0.5:
            return by(x.apply(RsqrtOp))
        case _:
            return None


@approximations.on(DivideOp)
@assumes("the root of the reciprocal is as good as the reciprocal of the root; x is not -0")
def divide_by_root(op: Operation) -> Rewrite | None:
    """`y / sqrt(x)` is `y * rsqrt(x)`, if nothing else needs the root."""
    root = _alone(op.operands[1], SqrtOp) if _is_float(op) else None
    if root is None:
        return None
    inverse = start(root.operands[0]).apply(RsqrtOp)
    if _splat(op.operands[0]) == 1:
        return by(inverse)
    return by(Tensor(inverse.builder, op.operands[0]) * inverse)


@approximations.on(MultiplyOp)
@assumes("x is not negative")
def square_of_root(op: Operation) -> Rewrite | None:
    """`sqrt(x) * sqrt(x)` is x."""
    root = op.operands[0].owner
    if not _is_float(op) or op.operands[0] is not op.operands[1] or not isinstance(root, SqrtOp) or root.properties:
        return None
    return to(root.operands[0])


@approximations.on(LogOp)
@assumes("the exponential does not overflow or underflow")
def log_of_exponential(op: Operation) -> Rewrite | None:
    """`log(exp(x))` is x."""
    inner = op.operands[0].owner
    if not _is_float(op) or not isinstance(inner, ExponentialOp) or inner.properties:
        return None
    return to(inner.operands[0])


@approximations.on(MultiplyOp, DivideOp)
@assumes("the exponentials may be rounded in another order, and do not overflow")
def combine_exponentials(op: Operation) -> Rewrite | None:
    """`exp(x) * exp(y)` is `exp(x + y)`, and `exp(x) / exp(y)` `exp(x - y)`, if nothing else needs them."""
    one, other = (_alone(value, ExponentialOp) for value in op.operands) if _is_float(op) else (None, None)
    if one is None or other is None:
        return None
    x = start(one.operands[0])
    y = Tensor(x.builder, other.operands[0])
    return by((x + y if isinstance(op, MultiplyOp) else x - y).exponential())


# -- sums and products of matrices -------------------------------------------------------------------------


def _sum(op: Operation) -> tuple[SSAValue, tuple[int, ...]] | None:
    """The operand and the dimensions of a sum that begins with zero."""
    if not isinstance(op, ReduceOp) or len(op.results) != 1 or not is_float(element_of(op.results[0])):
        return None
    if element_of(op.inputs[0]) != element_of(op.results[0]) or not is_splat_of(op.init_values[0], 0.0):
        return None
    return (op.inputs[0], ints(op.dimensions)) if isinstance(single_combiner(op.body), AddOp) else None


@approximations.on(ReduceOp)
@assumes("a sum may be ordered across two reductions")
def merge_sums(op: Operation) -> Rewrite | None:
    """A sum of a sum, of which nothing else needs the inner one, is one sum over the dimensions of both."""
    outer = _sum(op)
    inner = _sum(outer[0].owner) if outer is not None and isinstance(outer[0].owner, Operation) else None
    if outer is None or inner is None or not outer[0].has_one_use():
        return None
    left = [dim for dim in range(len(shape_of(inner[0]))) if dim not in inner[1]]
    return by(start(inner[0]).sum(sorted((*inner[1], *(left[dim] for dim in outer[1])))))


@approximations.on(ReduceOp)
@assumes("a factor may be applied after a sum, which does not overflow")
def factor_out_of_sum(op: Operation) -> Rewrite | None:
    """A sum of `c * x` is c times the sum of x, of a constant c."""
    found = _sum(op)
    product = None if found is None else _alone(found[0], MultiplyOp)
    split = None if product is None else _split(product)
    if found is None or split is None:
        return None
    value, factor = split
    return by(start(value).sum(found[1]) * factor)


@approximations.on(DotGeneralOp)
@assumes("products of matrices may be formed in another order, and do not overflow")
def reassociate_products(op: Operation) -> Rewrite | None:
    """`(A B) C` is `A (B C)` if that takes half of the multiplications or fewer, of matrices and a vector or matrix."""
    assert isinstance(op, DotGeneralOp)
    inner = op.operands[0].owner
    if not isinstance(inner, DotGeneralOp) or not op.operands[0].has_one_use():
        return None
    plain = all(_is_plain(each) for each in (op, inner))
    if not plain or len({element_of(value) for each in (op, inner) for value in (*each.operands, *each.results)}) != 1:
        return None
    rows, middle = shape_of(inner.operands[0])
    columns = shape_of(inner.operands[1])[1]
    last = math.prod(shape_of(op.operands[1])[1:])
    if 2 * (middle * columns * last + rows * middle * last) > rows * middle * columns + rows * columns * last:
        return None
    stated = {name: value for name, value in op.properties.items() if name != "dot_dimension_numbers"}
    numbers = DotDimensionNumbersAttr.of((), (), (1,), (0,))
    right = start(inner.operands[1])
    product = right.dot(Tensor(right.builder, op.operands[1]), numbers, **stated)
    return by(Tensor(right.builder, inner.operands[0]).dot(product, numbers, **stated))


def _is_plain(op: DotGeneralOp) -> bool:
    """Whether an operation is the product of a matrix with a matrix or a vector, rows by columns."""
    numbers = op.dot_dimension_numbers
    lhs, rhs = shape_of(op.operands[0]), shape_of(op.operands[1])
    return (
        len(lhs) == 2
        and 1 <= len(rhs) <= 2
        and is_float(element_of(op.results[0]))
        and not numbers.lhs_batching
        and (numbers.lhs_contracting, numbers.rhs_contracting) == ((1,), (0,))
        and is_static(lhs)
        and is_static(rhs)
    )


@approximations.on(MultiplyOp)
@assumes("weights may be scaled instead of products, and do not overflow")
def scale_weights(op: Operation) -> Rewrite | None:
    """
    `(x W) * s` is `x (W * s)` for a scale s of each column of the smaller W: a normalization with known statistics.
    """
    if not _is_float(op):
        return None
    for index in (0, 1):
        dot, scale = op.operands[index].owner, op.operands[1 - index].owner
        if not isinstance(dot, DotGeneralOp) or not isinstance(scale, BroadcastInDimOp) or not _is_plain(dot):
            continue
        weights, shape = dot.operands[1], shape_of(dot.operands[1])
        small = math.prod(shape) * 4 <= math.prod(shape_of(op.results[0]))
        if len(shape) != 2 or scale.dims != (1,) or not small or not dot.results[0].has_one_use():
            continue
        if element_of(weights) != element_of(op.results[0]):
            continue
        w = start(weights)
        scaled = w * Tensor(w.builder, scale.operands[0]).broadcast(shape, (1,))
        stated = {name: value for name, value in dot.properties.items() if name != "dot_dimension_numbers"}
        return by(Tensor(w.builder, dot.operands[0]).dot(scaled, dot.dot_dimension_numbers, **stated))
    return None


@approximations.on(MultiplyOp)
@assumes("filters may be scaled instead of sums, and do not overflow")
def scale_filters(op: Operation) -> Rewrite | None:
    """
    `conv(x, W) * s` is `conv(x, W * s)` for a scale s of each feature: a batch normalization with known statistics.
    """
    shape = shape_of(op.results[0])
    for index in (0, 1):
        inner, scale = op.operands[index].owner, op.operands[1 - index].owner
        if not _is_convolution(inner) or not isinstance(scale, BroadcastInDimOp):
            continue
        numbers, filters = inner.dimension_numbers, shape_of(inner.rhs)
        small = math.prod(filters) * 4 <= math.prod(shape) and is_static(filters)
        if scale.dims != (numbers.output.feature,) or not small or not inner.result.has_one_use():
            continue
        if not is_float(element_of(inner.rhs)) or element_of(inner.rhs) != element_of(op.results[0]):
            continue
        w = start(inner.rhs)
        scaled = w * Tensor(w.builder, scale.operands[0]).broadcast(filters, (numbers.kernel.feature,))
        return by(w.builder.op(type(inner), [inner.lhs, scaled], op.results[0].type, **inner.properties))
    return None


@approximations.on(MultiplyOp)
@assumes("a difference may be scaled by its terms, which do not overflow")
def scale_difference(op: Operation) -> Rewrite | None:
    """`(conv(x, W) - m) * s` is `conv(x, W) * s - m * s` for a mean m and a scale s of each feature; so of products."""
    for index in (0, 1):
        inner, scale = op.operands[index].owner, op.operands[1 - index].owner
        if not isinstance(inner, SubtractOp) or not isinstance(scale, BroadcastInDimOp):
            continue
        product, mean = inner.operands[0].owner, inner.operands[1].owner
        alone = inner.results[0].has_one_use() and inner.operands[0].has_one_use()
        if (
            not alone
            or not (_is_convolution(product) or isinstance(product, DotGeneralOp))
            or not isinstance(mean, BroadcastInDimOp)
        ):
            continue
        if scale.dims != mean.dims or len(mean.dims) != 1 or not is_float(element_of(op.results[0])):
            continue
        if mean.operands[0].type != scale.operands[0].type:
            continue
        x = start(inner.operands[0])
        m, s = Tensor(x.builder, mean.operands[0]), Tensor(x.builder, scale.operands[0])
        return by(x * Tensor(x.builder, op.operands[1 - index]) - (m * s).broadcast(x.shape, mean.dims))
    return None


def _is_convolution(owner: object) -> TypeGuard[ConvolutionOp]:
    # Most programs do not import its class.
    return isinstance(owner, Operation) and owner.name == "hlo.convolution"

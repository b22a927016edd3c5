"""hlo's unary elementwise operations on one element: one table row each."""

from __future__ import annotations

import math as pymath
from typing import Any

from xdsl.dialects import math
from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Operation, SSAValue

from ...dialects.support.kernel import NOT_ABOVE_ZERO
from ...dialects.support.scalar import Scalar, width_of
from ...hlo_dialect.ops import elementwise_unary as hlo
from ...hlo_dialect.ops.elementwise_binary import MaximumOp, SubtractOp
from ...hlo_dialect.ops.movement import BroadcastInDimOp, ReshapeOp
from ...hlo_dialect.ops.reduction import ReduceOp, single_combiner
from ...hlo_dialect.types import element_of, is_unsigned, shape_of
from .emission import scalar_patterns
from .narrow import in_single
from .signs import is_not_above_zero


def _unsigned(op: Any) -> bool:
    return is_unsigned(element_of(op.operands[0]))


@scalar_patterns.on(hlo.AbsOp)
def _abs(op: Any, x: Scalar) -> Scalar:
    if x.is_float:
        return x.abs()
    return x if _unsigned(op) else x.compare("lt", 0).select(-x, x)


@scalar_patterns.on(hlo.NotOp)
def _not(op: Any, x: Scalar) -> Scalar:
    return x ^ (1 if width_of(x.type) == 1 else -1)


def _sign(op: Any, x: Scalar) -> Scalar:
    """The sign; NaN and signed zeros are returned unchanged."""
    if x.is_float:
        own = x.compare("eq", 0.0) | x.compare("uno", x)
        return own.select(x, x.constant(1.0).copysign(x))
    if _unsigned(op):
        return x.compare("ne", 0).select(1, x.constant(0))
    return x.compare("gt", 0).select(1, x.compare("lt", 0).select(-1, x.constant(0)))


def _is_below_maximum(value: SSAValue) -> bool:
    """Whether a value is `x - m` where each element of m is at least that of x, or NaN."""
    difference = value.owner
    if type(difference) is not SubtractOp:
        return False
    x, m = difference.operands
    return _bounds(m, x, list(range(len(shape_of(x)))))


def _bounds(m: SSAValue, x: SSAValue, dims: list[int | None], depth: int = 8) -> bool:
    """
    Whether each element of m is at least those of x at its place, or NaN.

    `dims`: the dimension of x along which each dimension of m lies, None for one of size 1 that lies along none.
    `depth`: the operations that are looked at in turn, since maxima branch.
    """
    if not depth:
        return False
    op = m.owner
    if type(op) is BroadcastInDimOp:
        sizes = shape_of(op.operand)
        below = [None if size == 1 else dims[dim] for size, dim in zip(sizes, op.dims, strict=True)]
        return _bounds(op.operand, x, below, depth - 1)
    if type(op) is ReshapeOp:
        sizes = shape_of(op.operand)
        long = [dim for dim, size in zip(dims, shape_of(m), strict=True) if size != 1]
        if [size for size in sizes if size != 1] != [size for size in shape_of(m) if size != 1]:
            return False
        following = iter(long)
        return _bounds(op.operand, x, [None if size == 1 else next(following) for size in sizes], depth - 1)
    if type(op) is MaximumOp:
        return any(_bounds(operand, x, dims, depth - 1) for operand in op.operands)
    if type(op) is not ReduceOp or op.input_count != 1 or op.operands[0] is not x:
        return False
    kept = [dim for dim in range(len(shape_of(x))) if dim not in op.dims]
    along = all(size == 1 or dim == own for size, dim, own in zip(shape_of(m), dims, kept, strict=True))
    return along and type(single_combiner(op.body)) is MaximumOp


def _exponential(op: Any, x: Scalar) -> Scalar:
    exponent = op.operands[0]
    return _exp(x, _is_below_maximum(exponent) or is_not_above_zero(exponent))


def _exp(x: Scalar, not_above_zero: bool) -> Scalar:
    result = x.apply(math.ExpOp)
    if not_above_zero and isinstance(result.value.owner, Operation):
        result.value.owner.attributes[NOT_ABOVE_ZERO] = UnitAttr()
    return result


def _logistic(op: Any, x: Scalar) -> Scalar:
    """1 / (1 + e^-x), computed from e^-|x| so that nothing overflows and small results stay accurate."""
    e = _exp(-x.abs(), True)
    return x.compare("lt", 0.0).select(e, 1.0) / (e + 1.0)


def _is_finite(op: Any, x: Scalar) -> Scalar:
    return x.abs().compare("lt", pymath.inf)


def applied(cls: type[Any]) -> Any:
    """One operation of the math dialect."""

    def pattern(op: Any, *operands: Scalar) -> Scalar:
        return operands[0].apply(cls, *operands[1:])

    return pattern


def _math(cls: type[Any]) -> Any:
    """An operation of the math dialect, on narrow floats through f32."""
    return in_single(applied(cls))


scalar_patterns.add(
    {  # pyright: ignore[reportUnknownArgumentType]
        hlo.CbrtOp: _math(math.CbrtOp),
        hlo.CeilOp: _math(math.CeilOp),
        hlo.CosineOp: _math(math.CosOp),
        hlo.CountLeadingZerosOp: applied(math.CountLeadingZerosOp),
        hlo.ExponentialOp: in_single(_exponential),
        hlo.ExponentialMinusOneOp: _math(math.ExpM1Op),
        hlo.FloorOp: _math(math.FloorOp),
        hlo.IsFiniteOp: in_single(_is_finite),
        hlo.LogOp: _math(math.LogOp),
        hlo.LogPlusOneOp: _math(math.Log1pOp),
        hlo.LogisticOp: in_single(_logistic),
        hlo.NegateOp: lambda op, x: -x,
        hlo.PopcntOp: applied(math.CtPopOp),
        hlo.RoundNearestAfzOp: _math(math.RoundOp),
        hlo.RoundNearestEvenOp: _math(math.RoundEvenOp),
        hlo.RsqrtOp: _math(math.RsqrtOp),
        hlo.SignOp: in_single(_sign),
        hlo.SineOp: _math(math.SinOp),
        hlo.SqrtOp: _math(math.SqrtOp),
        hlo.TanOp: _math(math.TanOp),
        hlo.TanhOp: _math(math.TanhOp),
    }
)

"""
Elementary functions of f32 by a GPU's approximate instructions: `expand-math{mode=fast}`.

An operation with `fastmath<afn>` is one instruction (see convert-gpu-to-nvvm). The PTX ISA gives the errors: ex2, lg2
and rsqrt are accurate to 22 bits, tanh to 11, sin and cos have an absolute error of 2^-20.5 in [-pi, pi]. Denormals are
kept; special values are those of the exact functions unless a bound says otherwise.
"""

from __future__ import annotations

import math

from xdsl.dialects import arith
from xdsl.dialects import math as math_ops
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Operation

from ...dialects.support.scalar import Scalar
from .powers import with_sign_of_power

APPROXIMATE = arith.FastMathFlagsAttr([FastMathFlag.APPROX_FUNC])

LOG2_E = 1 / math.log(2)
# 2 pi in two parts; n times the first is exact for n below 2^11.
TWO_PI = (6.28125, 0.0019353071795864769)


def _instruction(x: Scalar, cls: type[Operation], *others: Scalar) -> Scalar:
    op = cls.create(
        operands=[x.value, *(other.value for other in others)],
        result_types=[x.type],
        properties={"fastmath": APPROXIMATE},
    )
    x.block.add_op(op)
    return Scalar(x.block, op.results[0])


def exp(x: Scalar) -> Scalar:
    """2^(x log2 e). Relative error 2^-22 + |x| 2^-24."""
    return _instruction(x * LOG2_E, math_ops.Exp2Op)


def log(x: Scalar) -> Scalar:
    """log2(x) ln 2. Absolute error 2^-22 next to 1, relative 2^-22 elsewhere."""
    return _instruction(x, math_ops.Log2Op) * math.log(2)


def tanh(x: Scalar) -> Scalar:
    """Relative error 2^-11."""
    return _instruction(x, math_ops.TanhOp)


def rsqrt(x: Scalar) -> Scalar:
    """Relative error 2^-22."""
    return _instruction(x, math_ops.RsqrtOp)


def sqrt(x: Scalar) -> Scalar:
    """Relative error 2^-22."""
    return _instruction(x, math_ops.SqrtOp)


def _in_one_turn(x: Scalar) -> Scalar:
    """x minus a multiple of 2 pi, in [-pi, pi]; loses precision for |x| beyond 2^12."""
    n = (x * (1 / (2 * math.pi))).round_even()
    return n.fma(-TWO_PI[1], n.fma(-TWO_PI[0], x))


def sin(x: Scalar) -> Scalar:
    """Absolute error 2^-20 for |x| < 2^12."""
    return _instruction(_in_one_turn(x), math_ops.SinOp)


def cos(x: Scalar) -> Scalar:
    """Absolute error 2^-20 for |x| < 2^12."""
    return _instruction(_in_one_turn(x), math_ops.CosOp)


def tan(x: Scalar) -> Scalar:
    """sin x / cos x."""
    reduced = _in_one_turn(x)
    return _instruction(_instruction(reduced, math_ops.SinOp), arith.DivfOp, _instruction(reduced, math_ops.CosOp))


def divide(x: Scalar, y: Scalar) -> Scalar:
    """Relative error 2 ulp; 0 if |y| exceeds 2^126."""
    return _instruction(x, arith.DivfOp, y)


def power(x: Scalar, y: Scalar) -> Scalar:
    """2^(y log2 |x|), with the signs and special cases of IEEE 754 pow. Relative error |y log2 x| 2^-22."""
    size = x.abs()
    return with_sign_of_power(_instruction(y * _instruction(size, math_ops.Log2Op), math_ops.Exp2Op), x, y, size)


def cbrt(x: Scalar) -> Scalar:
    """2^(log2 |x| / 3). Relative error 2^-18."""
    root = _instruction(_instruction(x.abs(), math_ops.Log2Op) * (1 / 3), math_ops.Exp2Op)
    return root.copysign(x)

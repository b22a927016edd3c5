"""
hlo's binary elementwise operations on one element, with XLA's values where arith's are undefined.

x / 0 = -1 (all ones), x % 0 = x, INT_MIN / -1 = INT_MIN, a shift by the width or more gives 0 or the sign.
"""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects import arith, math
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Operation

from ...dialects.arith_ops import RemFOp
from ...dialects.support.kernel import MAY_FUSE
from ...dialects.support.scalar import Scalar, width_of
from ...hlo_dialect.ops import elementwise_binary as hlo
from ...hlo_dialect.types import element_of, is_boolean, is_unsigned
from .emission import scalar_patterns
from .narrow import in_single

CONTRACT = arith.FastMathFlagsAttr([FastMathFlag.ALLOW_CONTRACT])


def _unsigned(op: Any) -> bool:
    element = element_of(op.operands[0])
    return is_unsigned(element) or is_boolean(element)


def _boolean(x: Scalar) -> bool:
    return not x.is_float and width_of(x.type) == 1


def _may_fuse(op: Any, result: Scalar) -> Scalar:
    """The result of a product or sum, which a multiply-add may compute where the operation allows it."""
    if MAY_FUSE in op.attributes:
        cast(Operation, result.value.owner).properties["fastmath"] = CONTRACT
    return result


def _add(op: Any, x: Scalar, y: Scalar) -> Scalar:
    return x | y if _boolean(x) else _may_fuse(op, x + y)


def _multiply(op: Any, x: Scalar, y: Scalar) -> Scalar:
    return x & y if _boolean(x) else _may_fuse(op, x * y)


def _subtract(op: Any, x: Scalar, y: Scalar) -> Scalar:
    return x - y


def _atan2(op: Any, x: Scalar, y: Scalar) -> Scalar:
    return x.apply(math.Atan2Op, y)


def _divide(op: Any, x: Scalar, y: Scalar) -> Scalar:
    if x.is_float:
        return x / y
    zero = y.compare("eq", 0)
    if _unsigned(op):
        return zero.select(-1, x.apply(arith.DivUIOp, zero.select(1, y)))
    overflow = x.compare("eq", -(1 << (width_of(x.type) - 1))) & y.compare("eq", -1)
    return zero.select(-1, x.apply(arith.DivSIOp, (zero | overflow).select(1, y)))


def _remainder(op: Any, x: Scalar, y: Scalar) -> Scalar:
    if x.is_float:
        return x.apply(RemFOp, y)
    zero = y.compare("eq", 0)
    if _unsigned(op):
        return zero.select(x, x.apply(arith.RemUIOp, zero.select(1, y)))
    return zero.select(x, x.apply(arith.RemSIOp, (zero | y.compare("eq", -1)).select(1, y)))


def _maximum(op: Any, x: Scalar, y: Scalar) -> Scalar:
    if x.is_float:
        return x.apply(arith.MaximumfOp, y)
    return x.apply(arith.MaxUIOp if _unsigned(op) else arith.MaxSIOp, y)


def _minimum(op: Any, x: Scalar, y: Scalar) -> Scalar:
    if x.is_float:
        return x.apply(arith.MinimumfOp, y)
    return x.apply(arith.MinUIOp if _unsigned(op) else arith.MinSIOp, y)


def _power(op: Any, x: Scalar, y: Scalar) -> Scalar:
    """Integer powers by squaring, over every bit of the exponent; a negative one yields 1/x^n rounded toward zero."""
    if x.is_float:
        return x.apply(math.PowFOp, y)
    result, base = x.constant(1), x
    for bit in range(width_of(x.type)):
        is_set = (y.shift_right_logical(bit) & 1).compare("ne", 0)
        result = is_set.select(result * base, result)
        base = base * base
    if _unsigned(op):
        return result
    odd = (y & 1).compare("ne", 0)
    of_minus_one = odd.select(-1, x.constant(1))
    inverse = x.compare("eq", 1).select(1, x.compare("eq", -1).select(of_minus_one, x.constant(0)))
    return y.compare("lt", 0).select(inverse, result)


def _shift(cls: type[Any], arithmetic: bool = False) -> Any:
    def shift(op: Any, x: Scalar, y: Scalar) -> Scalar:
        width = width_of(x.type)
        inside = y.compare("ult", width)
        if arithmetic:
            return x.apply(cls, inside.select(y, x.constant(width - 1)))
        amount = inside.select(y, x.constant(0))
        shifted = x << amount if cls is arith.ShLIOp else x.apply(cls, amount)
        return inside.select(shifted, x.constant(0))

    return shift


scalar_patterns.add(
    {  # pyright: ignore[reportUnknownArgumentType]
        hlo.AddOp: in_single(_add),
        hlo.AndOp: lambda op, x, y: x & y,
        hlo.Atan2Op: in_single(_atan2),
        hlo.DivideOp: in_single(_divide),
        hlo.MaximumOp: in_single(_maximum),
        hlo.MinimumOp: in_single(_minimum),
        hlo.MultiplyOp: in_single(_multiply),
        hlo.OrOp: lambda op, x, y: x | y,
        hlo.PowerOp: in_single(_power),
        hlo.RemainderOp: in_single(_remainder),
        hlo.ShiftLeftOp: _shift(arith.ShLIOp),
        hlo.ShiftRightArithmeticOp: _shift(arith.ShRSIOp, arithmetic=True),
        hlo.ShiftRightLogicalOp: _shift(arith.ShRUIOp),
        hlo.SubtractOp: in_single(_subtract),
        hlo.XorOp: lambda op, x, y: x ^ y,
    }
)

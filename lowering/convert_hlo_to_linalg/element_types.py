"""hlo.convert, hlo.bitcast_convert and hlo.reduce_precision on one element."""

from __future__ import annotations

import math
from typing import Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type, f32, f64
from xdsl.ir import Attribute

from ...dialects.support.scalar import Scalar, width_of
from ...hlo_dialect.ops import conversion as hlo
from ...hlo_dialect.types import element_of, is_boolean, is_float, is_narrow_float, is_unsigned
from .bits import bitcast
from .emission import scalar_patterns, signless
from .narrow import is_narrow, widened
from .narrow_floats import decoded, encoded, round_to_odd


def convert(x: Scalar, source: Attribute, target: Attribute) -> Scalar:
    """Convert `x`, of hlo's element type `source`, to `target`, with the semantics of hlo.convert."""
    if source == target:
        return x
    if is_narrow_float(source):
        return convert(decoded(x, source), f32, target)
    if is_narrow_float(target):
        return encoded(_for_rounding(x, source), target)
    if is_boolean(target):
        return widened(x).compare("ne", 0)
    if is_float(source):
        return _float_to_float(x, target) if is_float(target) else _float_to_integer(widened(x), target)
    if is_float(target):
        return _integer_to_float(x, source, target)
    return _integer_to_integer(x, source, signless(target))


def _for_rounding(x: Scalar, source: Attribute) -> Scalar:
    """An f32 that rounds to the same narrow float as the value itself."""
    if is_float(source):
        return round_to_odd(x) if width_of(x.type) == 64 else widened(x)
    if is_boolean(source) or width_of(x.type) <= 16:
        return convert(x, source, f32)
    return round_to_odd(_exact_or_sticky(x, source))


def _exact_or_sticky(x: Scalar, source: Attribute) -> Scalar:
    """An integer as f64, exact up to 32 bits; for wider integers, bits beyond the 53 of f64 become one sticky bit."""
    cast = arith.UIToFPOp if is_unsigned(source) else arith.SIToFPOp
    if width_of(x.type) == 64:
        sticky = (x & 0x7FF).compare("ne", 0).select(1 << 11, x.constant(0))
        cut = (x & ~0x7FF) | sticky
        magnitude = x if is_unsigned(source) else x ^ (x >> 63)
        x = magnitude.shift_right_logical(53).compare("eq", 0).select(x, cut)
    return x.cast(cast, f64)


def _float_to_float(x: Scalar, target: Attribute) -> Scalar:
    if is_narrow(x) and not isinstance(target, (Float16Type, BFloat16Type)):
        return x.extend(target)
    if is_narrow(x):
        return widened(x).truncate(target)
    return x.extend(target) if width_of(target) > width_of(x.type) else x.truncate(target)


def _float_to_integer(x: Scalar, target: Attribute) -> Scalar:
    """
    Round toward zero and saturate, NaN to 0: out-of-range operands never reach the conversion, which is undefined for
    them.
    """
    result_type = signless(target)
    width = width_of(result_type)
    unsigned = is_unsigned(target)
    low, high = (0, 2**width) if unsigned else (-(2 ** (width - 1)), 2 ** (width - 1))
    above, below = x.compare("ge", float(high)), x.compare("lt", float(low))
    safe = (above | below | x.compare("uno", x)).select(0.0, x)
    result = safe.cast(arith.FPToUIOp if unsigned else arith.FPToSIOp, result_type)
    largest = -1 if unsigned else high - 1
    return above.select(result.constant(largest), below.select(low, result))


def _integer_to_float(x: Scalar, source: Attribute, target: Attribute) -> Scalar:
    if is_boolean(source):
        return x.select(x.constant(1.0, target), x.constant(0.0, target))
    cast = arith.UIToFPOp if is_unsigned(source) else arith.SIToFPOp
    if not isinstance(target, (Float16Type, BFloat16Type)):
        return x.cast(cast, target)
    return _exact_or_sticky(x, source).truncate(target)  # rounded once


def _integer_to_integer(x: Scalar, source: Attribute, target: Attribute) -> Scalar:
    have, want = width_of(x.type), width_of(target)
    if have == want:
        return x
    if have > want:
        return x.truncate(target)
    unsigned = is_unsigned(source) or is_boolean(source)
    return x.cast(arith.ExtUIOp if unsigned else arith.ExtSIOp, target)


@scalar_patterns.on(hlo.ConvertOp)
def _convert(op: hlo.ConvertOp, x: Scalar) -> Scalar:
    return convert(x, element_of(op.operand), element_of(op.result))


@scalar_patterns.on(hlo.BitcastConvertOp)
def _bitcast(op: hlo.BitcastConvertOp, x: Scalar) -> Scalar:
    """A bitcast between equal widths, as in a region; bits.py has the others."""
    return bitcast(x, element_of(op.operand), element_of(op.result))


@scalar_patterns.on(hlo.ImagOp)
def _imaginary(op: hlo.ImagOp, x: Scalar) -> Scalar:
    """0: split-complex has removed complex numbers, so the operand is real."""
    return x.constant(0.0)


_FORMATS: dict[type[Any], tuple[int, int]] = {Float16Type: (5, 10), BFloat16Type: (8, 7), Float32Type: (8, 23)}


@scalar_patterns.on(hlo.ReducePrecisionOp)
def _reduce_precision(op: hlo.ReducePrecisionOp, x: Scalar) -> Scalar:
    """Round the mantissa to nearest even; overflow to infinity, as NaN without a mantissa; underflow to zero."""
    exponent_bits, mantissa_bits = op.exponent_bits.value.data, op.mantissa_bits.value.data
    have_exponent, have_mantissa = _FORMATS.get(type(x.type), (11, 52))
    bits = x.bits()
    width = width_of(bits.type)
    if mantissa_bits < have_mantissa:
        dropped = have_mantissa - mantissa_bits
        last = bits.shift_right_logical(dropped) & 1
        bits = (bits + last + ((1 << (dropped - 1)) - 1)) & -(1 << dropped)
    if exponent_bits < have_exponent:
        sign = bits & -(1 << (width - 1))
        size = bits & ((1 << (width - 1)) - 1)
        bias, small_bias = (1 << (have_exponent - 1)) - 1, (1 << (exponent_bits - 1)) - 1
        smallest = (bias - small_bias + 1) << have_mantissa
        infinite = (bias + small_bias + 1) << have_mantissa
        infinity = ((1 << have_exponent) - 1) << have_mantissa
        size = size.compare("ge", infinite).select(infinity, size.compare("lt", smallest).select(0, size))
        bits = sign | size
    is_nan = widened(x).compare("uno", widened(x))
    return is_nan.select(x if mantissa_bits else x.constant(math.inf), bits.bitcast(x.type))


@scalar_patterns.on(hlo.RealOp)
def _real(op: hlo.RealOp, x: Scalar) -> Scalar:
    return x

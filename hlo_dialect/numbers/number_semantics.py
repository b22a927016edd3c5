# NumPy's stubs give Unknown for arrays of element types that only the program knows:
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
"""
The edge cases of arithmetic, in NumPy: XLA's behaviour where IEEE 754, C and NumPy leave room or differ.

Functions take and return arrays (or NumPy scalars of rank-0 arithmetic) of one dtype and keep it, unless they say
otherwise. Callers silence NumPy's floating-point warnings (`np.errstate`); nothing here warns for integers.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from ..types import Array, is_float_dtype, narrow_integer_width
from . import complex_functions

Numbers: TypeAlias = Any
"""An array, or the NumPy scalar that arithmetic on rank 0 returns; NumPy's stubs do not type these well."""

_F32, _F64 = np.dtype(np.float32), np.dtype(np.float64)
_C64, _C128 = np.dtype(np.complex64), np.dtype(np.complex128)
_POWERS = "float8_e8m0fnu"
_WITHOUT_NAN = frozenset(("float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn"))


def is_short_float(dtype: np.dtype[Any]) -> bool:
    """Whether the dtype is a float that arithmetic takes to f32: f16, bf16, and those of 8, 6 and 4 bits."""
    return is_float_dtype(dtype) and dtype.itemsize < 4


def is_integer_dtype(dtype: np.dtype[Any]) -> bool:
    """Whether the dtype is a signed or unsigned integer of any width, and no boolean."""
    return dtype.kind in "iu" or narrow_integer_width(dtype) is not None


def integer_width(dtype: np.dtype[Any]) -> int:
    """Bits of an integer dtype."""
    return narrow_integer_width(dtype) or 8 * dtype.itemsize


def in_bytes(array: Array) -> Array:
    """i2 and i4 as i8, ui2 and ui4 as ui8, by value; anything else as it is."""
    if narrow_integer_width(array.dtype) is None:
        return array
    return array.astype(np.uint8 if array.dtype.name.startswith("u") else np.int8)


def working(array: Array, wide: bool) -> Array:
    """
    The array in the type to compute in: short floats as f32, i2 and i4 in bytes; where `wide`, floats as f64 and
    complex as complex128.

    f32 holds the exact product of two values of any shorter float and rounds sums, quotients and roots of them
    innocuously (24 >= 2 * 11 + 2 bits), so that rounding its result is one rounding. Integers are computed modulo 2**8,
    which the result's narrower modulus divides.
    """
    dtype = array.dtype
    if wide and is_float_dtype(dtype):
        return array.astype(_F64, copy=False)
    if wide and dtype == _C64:
        return array.astype(_C128)
    return array.astype(_F32) if is_short_float(dtype) else in_bytes(array)


def round_to(value: Any, dtype: np.dtype[Any]) -> Array:
    """A float, complex or equal-typed result as an array of `dtype`, rounded once, to nearest even; integers modulo."""
    array = np.asarray(value)
    if array.dtype == dtype:
        return array
    if is_short_float(array.dtype):
        array = array.astype(_F32)
    if dtype.name in _WITHOUT_NAN:
        array = np.where(np.isnan(array), array.dtype.type(-0.0), array)
    if array.dtype == _F64 and is_short_float(dtype) and dtype != np.float16:
        array = _round_f64_to_odd_f32(array)
    if dtype.name == _POWERS:
        # ml_dtypes takes every f32 denormal above the least power to the next one.
        least = array.dtype.type(2.0**-127)
        array = np.where((array > 0) & (array < least * array.dtype.type(1.5)), least, array)
    return np.asarray(array.astype(dtype))


def _round_f64_to_odd_f32(array: Numbers) -> Numbers:
    """
    f64 to f32, toward zero with the last bit set where inexact.

    A second rounding to bf16 then gives the same as one rounding from f64; ml_dtypes' own cast rounds twice.
    """
    near = np.asarray(array.astype(_F32))
    back = near.astype(_F64)
    toward_zero = np.where(np.abs(back) > np.abs(array), np.nextafter(near, np.float32(0)), near)
    inexact = (back != array) & ~np.isnan(array)
    return np.asarray(toward_zero.view(np.uint32) | inexact).view(_F32)


def _odd_int64_to_f64(array: Numbers) -> Numbers:
    """An integer as f64, exact or with a last bit that makes the next rounding the only one."""
    wide = array.astype(np.uint64 if array.dtype.kind == "u" else np.int64)
    mask = wide.dtype.type(2**12 - 1)
    sticky = np.where((wide & mask) != 0, wide.dtype.type(2**11), wide.dtype.type(0))
    small = wide < 2**53 if wide.dtype.kind == "u" else np.abs(wide) < 2**53
    # INT64_MIN stays negative under abs, and so counts as small: it is a power of two, hence exact.
    return np.where(small, wide, (wide & ~mask) | sticky).astype(_F64)


def convert(array: Numbers, dtype: np.dtype[Any]) -> Array:
    """
    Convert values to `dtype` as hlo.convert does.

    To boolean: whether not zero. Float to integer: truncated, saturated at the ends, NaN becomes 0. Integer to a
    narrower integer: modulo. Complex to anything real: the real part. To float: one rounding, to nearest even; numbers
    beyond the largest become infinite, NaN in a format without infinities, the largest number in one without NaN too,
    whose NaN is -0.
    """
    if array.dtype == dtype:
        return array
    if array.dtype.kind == "c" and dtype.kind != "c":
        array = array.real
    array = in_bytes(np.asarray(array))
    if dtype.kind == "b":
        return np.asarray(array.astype(_F32) != 0 if is_short_float(array.dtype) else array != 0)
    if is_integer_dtype(dtype) and is_float_dtype(array.dtype):
        return float_to_integer(array, dtype)
    if array.dtype.kind in "iu" and is_short_float(dtype):
        return round_to(_odd_int64_to_f64(array), dtype)
    if dtype.kind == "c":
        return array.astype(_F64 if is_float_dtype(array.dtype) else array.dtype).astype(dtype)
    return round_to(array, dtype)


def integer_bounds(dtype: np.dtype[Any]) -> tuple[int, int]:
    """The least and the greatest value of an integer dtype."""
    width = integer_width(dtype)
    if dtype.kind == "u" or dtype.name.startswith("u"):
        return 0, (1 << width) - 1
    return -(1 << (width - 1)), (1 << (width - 1)) - 1


def float_to_integer(array: Numbers, dtype: np.dtype[Any]) -> Numbers:
    """Truncate, saturate, NaN to 0."""
    values = array.astype(_F64)
    low, high = integer_bounds(dtype)
    # The upper bound as a float may be one above the largest integer (2**63): compare with >=, never cast it.
    too_high, too_low = values >= float(high), values <= float(low)
    inside = np.where(too_high | too_low | np.isnan(values), 0.0, values)
    wide = np.dtype(np.int8) if narrow_integer_width(dtype) else dtype
    result = inside.astype(wide)
    result = np.where(too_high, wide.type(high), result)
    return np.where(too_low, wide.type(low), result).astype(dtype)


def multiply(lhs: Numbers, rhs: Numbers) -> Numbers:
    """Product; of booleans: and; of integers modulo 2 ** width."""
    return complex_functions.multiply(lhs, rhs) if lhs.dtype.kind == "c" else np.multiply(lhs, rhs)


def divide(lhs: Numbers, rhs: Numbers) -> Numbers:
    """Quotient. Integers: toward zero; x / 0 has all bits set (-1); the smallest / -1 is the smallest."""
    if lhs.dtype.kind == "c":
        return complex_functions.divide(lhs, rhs)
    if lhs.dtype.kind not in "iu":
        return np.divide(lhs, rhs)
    zero = rhs == 0
    if lhs.dtype.kind == "u":
        return np.where(zero, lhs.dtype.type(np.iinfo(lhs.dtype).max), lhs // np.where(zero, 1, rhs).astype(lhs.dtype))
    minus_one = rhs == -1
    safe = np.where(zero | minus_one, 1, rhs).astype(lhs.dtype)
    floor = lhs // safe
    inexact = floor * safe != lhs
    quotient = floor + (inexact & ((lhs < 0) != (safe < 0))).astype(lhs.dtype)
    quotient = np.where(minus_one, np.negative(lhs), quotient)
    return np.where(zero, lhs.dtype.type(-1), quotient)


def remainder(lhs: Numbers, rhs: Numbers) -> Numbers:
    """Remainder with the sign of `lhs`. Integers: x % 0 is x, the smallest % -1 is 0. Floats: C's fmod, exact."""
    if lhs.dtype.kind not in "iu":
        return np.fmod(lhs, rhs)
    zero = rhs == 0
    unit = zero if lhs.dtype.kind == "u" else zero | (rhs == -1)
    safe = np.where(unit, 1, rhs).astype(lhs.dtype)
    return np.where(zero, lhs, np.fmod(lhs, safe))


def power(lhs: Numbers, rhs: Numbers) -> Numbers:
    """lhs ** rhs. Integers: modulo; a negative exponent gives 1, -1 (by parity) or 0, as the truncated reciprocal."""
    if lhs.dtype.kind == "c":
        return complex_functions.power(lhs, rhs)
    if lhs.dtype.kind not in "iu":
        return np.power(lhs, rhs)
    exponent = rhs.astype(np.int64) if rhs.dtype.kind == "i" else rhs.astype(np.uint64)
    negative = exponent < 0
    bits = np.where(negative, 0, exponent).astype(np.uint64)
    result, square = np.ones_like(lhs), lhs.copy() if isinstance(lhs, np.ndarray) else lhs
    while (bits != 0).any():
        result = np.where((bits & 1) != 0, result * square, result)
        square = square * square
        bits = bits >> np.uint64(1)
    if lhs.dtype.kind == "u":
        return result
    reciprocal = np.where(lhs == 1, 1, np.where(lhs == -1, np.where(exponent % 2 != 0, -1, 1), 0))
    return np.where(negative, reciprocal, result).astype(lhs.dtype)


def maximum(lhs: Numbers, rhs: Numbers) -> Numbers:
    """IEEE 754 maximum: NaN wins, +0 is above -0. Booleans: or. Complex: by real, then by imaginary part."""
    result = np.maximum(lhs, rhs)
    if lhs.dtype.kind == "f":
        return np.where((lhs == 0) & (rhs == 0), lhs + rhs, result)
    return result


def minimum(lhs: Numbers, rhs: Numbers) -> Numbers:
    """IEEE 754 minimum: NaN wins, -0 is below +0. Booleans: and. Complex: by real, then by imaginary part."""
    result = np.minimum(lhs, rhs)
    if lhs.dtype.kind == "f":
        return np.where((lhs == 0) & (rhs == 0), -(-lhs - rhs), result)
    return result


def sign(x: Numbers) -> Numbers:
    """-1, 0 or 1; NaN and both zeros are themselves; a complex number on the unit circle, NaN in both parts or 0."""
    if x.dtype.kind == "f":
        return np.where(np.isnan(x) | (x == 0), x, np.copysign(x.dtype.type(1), x))
    if x.dtype.kind == "c":
        return complex_functions.sign(x)
    return np.sign(x)


def round_half_away(x: Numbers) -> Numbers:
    """To the nearest integer, halves away from zero; the fraction is compared, since x + 0.5 itself rounds."""
    whole = np.trunc(x)
    up = np.where(np.abs(x - whole) >= 0.5, x.dtype.type(1), x.dtype.type(0))
    return np.where(np.isfinite(x), np.copysign(np.abs(whole) + up, x), x)


def unsigned_view(x: Numbers) -> Numbers:
    """The bits of integers or floats as unsigned integers of their width, or in a byte."""
    array = np.ascontiguousarray(x).reshape(np.shape(x))
    bits = array.view(np.dtype(f"u{array.dtype.itemsize}"))
    width = narrow_integer_width(array.dtype)
    return bits if width is None else bits & np.uint8((1 << width) - 1)


def shift(lhs: Numbers, rhs: Numbers, direction: str) -> Numbers:
    """
    Shift `left`, right `logical` or right `arithmetic`; the amount is read as unsigned.

    An amount of the width or more gives 0, or all sign bits for `arithmetic`, which reads unsigned operands as signed.
    """
    bits, amount = unsigned_view(lhs), unsigned_view(rhs)
    width = integer_width(lhs.dtype)
    past = amount >= width
    amount = np.where(past, 0, amount).astype(bits.dtype)
    if direction == "arithmetic":
        amount = np.where(past, width - 1, amount).astype(bits.dtype)
        signed = np.dtype(f"i{bits.dtype.itemsize}")
        # The sign of an i2 or i4 moves to the top of its byte.
        free = signed.type(8 * bits.dtype.itemsize - width)
        moved = (bits.view(signed) << free) >> free
        return _of_bits((moved >> amount.view(signed)).view(bits.dtype), lhs.dtype)
    shifted = bits << amount if direction == "left" else bits >> amount
    return _of_bits(np.where(past, bits.dtype.type(0), shifted), lhs.dtype)


def _of_bits(bits: Numbers, dtype: np.dtype[Any]) -> Numbers:
    """Integers of `dtype` from the low bits of these words."""
    width = narrow_integer_width(dtype)
    kept = bits if width is None else bits & np.uint8((1 << width) - 1)
    return np.ascontiguousarray(kept).reshape(np.shape(kept)).view(dtype)


def count_leading_zeros(x: Numbers) -> Numbers:
    """The number of zero bits above the highest set one; the width for 0."""
    bits = unsigned_view(x)
    width = integer_width(x.dtype)
    step = 1
    while step < width:
        bits = bits | (bits >> bits.dtype.type(step))
        step *= 2
    return _of_bits((width - np.bitwise_count(bits).astype(np.int64)).astype(bits.dtype), x.dtype)


def popcnt(x: Numbers) -> Numbers:
    """The number of set bits, modulo the type's range."""
    bits = unsigned_view(x)
    return _of_bits(np.bitwise_count(bits).astype(bits.dtype), x.dtype)


def bitcast(array: Array, dtype: np.dtype[Any], have: int, want: int) -> Array:
    """
    The bits of elements of `have` bits as elements of `want` bits, the least significant first.

    Narrower elements get a last dimension of the parts; wider ones take it away.
    """
    shape = array.shape
    parts = shape if have == want else (*shape, have // want) if have > want else shape[:-1]
    flat = np.ascontiguousarray(array).reshape(-1)
    if have >= 8 and want >= 8:
        return flat.view(dtype).reshape(parts)
    bits = np.unpackbits(
        flat.view(np.uint8).reshape(flat.size, array.dtype.itemsize), axis=1, count=have, bitorder="little"
    )
    return np.packbits(bits.reshape(-1, want), axis=1, bitorder="little").view(dtype).reshape(parts)


def logistic(x: Numbers) -> Numbers:
    """1 / (1 + exp(-x)), without overflow and with full relative precision for negative x."""
    if x.dtype.kind == "c":
        return complex_functions.logistic(x)
    small = np.exp(-np.abs(x))
    return np.where(x < 0, small, 1) / (1 + small)


def rsqrt(x: Numbers) -> Numbers:
    """1 / sqrt(x)"""
    return complex_functions.rsqrt(x) if x.dtype.kind == "c" else 1 / np.sqrt(x)


def total_order_key(x: Numbers) -> Numbers:
    """Signed integers that order floats as IEEE 754 totalOrder does: -NaN, -inf, .., -0, +0, .., inf, NaN."""
    if is_float_dtype(x.dtype) and x.dtype.itemsize == 1:
        x = x.astype(_F32)
    signed = unsigned_view(x).view(np.dtype(f"i{x.dtype.itemsize}"))
    return np.where(signed < 0, signed ^ np.iinfo(signed.dtype).max, signed)


def weak_order_key(x: Numbers) -> Numbers:
    """Signed integers that order floats with all NaN equal and above infinity, and both zeros equal."""
    key = total_order_key(np.where(x == 0, np.zeros_like(x), x))
    return np.where(np.isnan(x), np.iinfo(key.dtype).max, key)


_FLOAT_FORMATS = {2: (5, 10), 4: (8, 23), 8: (11, 52)}
"""Bits of exponent and mantissa by the size of NumPy's own floats."""


def reduce_precision(x: Numbers, exponent_bits: int, mantissa_bits: int) -> Numbers:
    """
    Floats rounded to a format with these numbers of exponent and mantissa bits, kept in their own type.

    To nearest even; infinite beyond the format's range, a zero of the same sign below its normal range. NaN stays NaN,
    except that a format without mantissa bits, which has none, takes it for infinity, as StableHLO's interpreter does.
    Floats of 8 bits or less are taken as f16, which has them all but the powers of two (f8E8M0FNU), those as f32.
    """
    if x.dtype.kind != "f" or x.dtype.itemsize == 1:
        half = x.dtype.itemsize == 1 and x.dtype.name != _POWERS
        wide = x.astype(np.float16 if half else _F32)
        return round_to(reduce_precision(wide, exponent_bits, mantissa_bits), x.dtype)
    source_exponent, source_mantissa = _FLOAT_FORMATS[x.dtype.itemsize]
    bits = unsigned_view(x)
    word = bits.dtype.type
    nan = np.isnan(x)
    if mantissa_bits < source_mantissa:
        dropped = source_mantissa - mantissa_bits
        last = (bits >> word(dropped)) & word(1)
        bits = np.where(nan, bits, bits + word((1 << (dropped - 1)) - 1) + last)
        bits = bits & word(~((1 << dropped) - 1) & int(np.iinfo(bits.dtype).max))
    if exponent_bits < source_exponent:
        bits = _reduce_exponent(bits, exponent_bits, source_exponent, source_mantissa)
    return np.where(nan, x if mantissa_bits else x.dtype.type(np.inf), np.asarray(bits).view(x.dtype))


def _reduce_exponent(bits: Numbers, exponent_bits: int, source_exponent: int, source_mantissa: int) -> Numbers:
    """Bits of floats with exponents outside the narrower format's range made infinite or zero."""
    word = bits.dtype.type
    sign_mask = word(1 << (source_exponent + source_mantissa))
    exponent_mask = word(((1 << source_exponent) - 1) << source_mantissa)
    bias, reduced_bias = (1 << (source_exponent - 1)) - 1, (1 << (exponent_bits - 1)) - 1
    exponent = bits & exponent_mask
    overflows = exponent > word((bias + reduced_bias) << source_mantissa)
    underflows = exponent <= word((bias - reduced_bias) << source_mantissa)
    signs = bits & sign_mask
    bits = np.where(overflows, signs | exponent_mask, bits)
    return np.where(underflows, signs, bits)

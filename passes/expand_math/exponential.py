"""
exp, log and functions built from them.

Range reductions are those of every libm (Muller, Elementary Functions, ch. 11); the coefficients are minimax fits for
these ranges (Remez exchange in 40 digits). Error bounds hold over the whole range, denormal results included, and are
tested on f32 and f64 (in units in the last place of the exact result).

Products of tiny numbers are denormal long before the results are, and on Intel's processors each costs a hundred
cycles. So r^2 Q(r) + r is r (r Q(r)) + r, a product and a multiply-add, whose own product is not rounded.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from xdsl.dialects.builtin import IntegerType, bf16, f64, i32

from ...dialects.cpu import NearestOp, ScaleOp
from ...dialects.support.scalar import LOG_FOR_SINGLE, Scalar, in_double, is_double, polynomial, power_of_two, to_single
from .powers import with_sign_of_power

LOG2_E = 1 / math.log(2)
# ln 2 in two parts; n * LN2_HIGH is exact for every exponent n.
LN2_32 = (0.693359375, -0.00021219444170128554)
LN2_64 = (0.6931471805598903, 5.497923018708371e-14)

_MAGIC_32, _MAGIC_64 = 12582912.0, 6755399441055744.0
"""1.5 * 2^mantissa: a sum with it is rounded to an integer, which is in its low bits."""

LEAST_SQUARE, LEAST_FACTOR = 2.0**-70, 2.0**-40
"""Addends in log1p of f32: lost where the square and the cube matter, they keep these from underflowing elsewhere."""

TWO_THIRDS_32 = 0x3F2AAAAB
"""The bits of 2/3 as f32."""

# e^r = 1 + r + r^2 Q(r) for |r| <= ln(2)/2. Error of Q r^2: 3.2e-9 (f32), 8.4e-19 (f64).
EXP_32 = (0.5, 0.166665181517601, 0.04166620224714279, 0.008369024842977524, 0.001395072671584785)
EXP_64 = (
    0.5, 0.16666666666666666, 0.041666666666666664, 0.008333333333333305, 0.0013888888888889308, 0.00019841269841517514,
    2.480158730252905e-05, 2.755731840000483e-06, 2.755730862482965e-07, 2.505322902991588e-08, 2.089716663335615e-09,
    1.5537953974871176e-10,
)  # fmt: skip
_ZERO_32, _ZERO_64 = -104.5, -746.0
"""Below these e^x is 0."""
_BOUND_32, _BOUND_64 = 100.0, 720.0
"""Beyond these e^x is infinite, and 2^n no factor of its own."""
_SUBNORMAL_32, _SUBNORMAL_64 = -87.33654, -708.3964185322641
"""Below these e^x is subnormal."""
# log(1+f) = f - f^2/2 + f^3 P(f) for |f| <= 1/3. Error relative to f^2: 9e-10.
LOG_32 = (
    0.3333333730697632, -0.24999819695949554, 0.1999930590391159, -0.16679616272449493, 0.14312836527824402,
    -0.1219528540968895, 0.1066138744354248, -0.12847115099430084, 0.12357929348945618,
)  # fmt: skip
# log((1+s)/(1-s)) = 2s + s^3 R(s^2), s = f/(2+f), |f| <= 1/3. Error relative to s^2: 3e-19.
LOG_64 = (
    0.666666666666666, 0.4000000000006008, 0.285714285550303, 0.22222224384567021, 0.18181660703301403,
    0.1539127799332485, 0.1317084927369168, 0.13861411921128935,
)  # fmt: skip
# For f32 results computed in f64: 2^r = 1 + r E(r) for |r| <= 1/2 with error 9e-11.
EXP2_MIXED = (
    0.6931471805537165, 0.240226509225972, 0.05550410928695152, 0.009618056614616868, 0.001333345463414372,
    0.0001546146988924263, 1.5310057431188725e-05,
)  # fmt: skip
# Four thirds of the upper half of the bits of 1 as f64, minus a correction that minimizes cbrt's worst initial error.
CBRT_BIAS = 1072693248.0 * 4 / 3 - 71500.0


def _reduce(x: Scalar) -> tuple[Scalar, Scalar]:
    """
    n (an integer of the float's width) and r with x = n ln 2 + r, |r| <= ln(2)/2; for NaN, r is NaN and n arbitrary.

    Adding 1.5 * 2^mantissa rounds to the nearest integer and leaves it in the low bits: no float-to-int
    conversion, whose result for NaN would be undefined.
    """
    magic, (high, low) = (_MAGIC_64, LN2_64) if is_double(x) else (_MAGIC_32, LN2_32)
    shifted = x.fma(LOG2_E, magic)
    n = shifted - magic
    integer = shifted.bits() - x.constant(magic).bits()
    return integer, n.fma(-low, n.fma(-high, x))


def _clamped(x: Scalar, low: float, high: float) -> Scalar:
    """min(max(x, low), high), NaN staying NaN."""
    x = x.compare("gt", high).select(high, x)
    return x.compare("lt", low).select(low, x)


def exp(x: Scalar) -> Scalar:
    """
    e^x. Error below 1 ulp in f32 and f64; denormal results are rounded once more.

    Computed 2^64 times as large where x is negative, and as small where it is not, so that no factor is denormal or
    infinite; the last product then underflows or overflows where e^x does. If it is 0, as for masked attention scores,
    the larger one is 0 too: a product that underflows costs a hundred cycles.
    """
    high, zero = (_BOUND_64, _ZERO_64) if is_double(x) else (_BOUND_32, _ZERO_32)
    x = x.compare("gt", high).select(high, x)
    product, scale = _with_scale(x)
    return x.compare("uge", zero).select(product, 0.0) * scale


def _with_scale(x: Scalar) -> tuple[Scalar, Scalar]:
    """e^x, so much larger or smaller that it is neither subnormal nor infinite, and the power of two to multiply by."""
    # A processor chooses by the sign bit itself, of NaN as well, for which any factor will do.
    negative = x.bits().compare("lt", 0)
    scale = negative.select(x.constant(2.0**-64), x.constant(2.0**64))
    exponent, r = _exponent(x, 2 * (1023 if is_double(x) else 127))
    # A product rather than a sum of bits, so that NaN stays NaN whatever its low bits are.
    return _mantissa(r) * (exponent - scale.bits()).bitcast(x.type), scale


def exp_not_above_zero(x: Scalar) -> Scalar:
    """
    e^x as `exp` computes it, with the same bits, where x is at most zero, or NaN.

    Where the result is 0, both factors are chosen, since LLVM would choose after a last product with a constant.
    """
    bias, zero = (1023, _ZERO_64) if is_double(x) else (127, _ZERO_32)
    exponent, r = _exponent(x, bias + 64)
    is_some = x.compare("uge", zero)
    return _mantissa(is_some.select(r, 0.0)) * is_some.select(exponent, 0).bitcast(x.type) * 2.0**-64


def _exponent(x: Scalar, bias: int) -> tuple[Scalar, Scalar]:
    """n + bias at the place of a float's exponent, without bits that are lost above it, and r: see `_reduce`."""
    magic, (high, low) = (_MAGIC_64, LN2_64) if is_double(x) else (_MAGIC_32, LN2_32)
    shifted = x.fma(LOG2_E, magic + bias)
    n = shifted - (magic + bias)
    return shifted.bits() << (52 if is_double(x) else 23), n.fma(-low, n.fma(-high, x))


def _mantissa(r: Scalar) -> Scalar:
    """e^r, |r| <= ln(2)/2."""
    return polynomial(r, (1.0, 1.0, *(EXP_64 if is_double(r) else EXP_32)))


def scaled_exp(x: Scalar) -> Scalar:
    """
    e^x as `exp` computes it, with the same bits, where one instruction multiplies by any power of two.

    A result that is 0, as for masked attention scores, does not come from a product that underflows, either. In vectors
    both selections are masks of other operations, and cost nothing.
    """
    # e^x is infinite above the second bound, as is its product with 2^n.
    zero, high = (_ZERO_64, 710.0) if is_double(x) else (_ZERO_32, 89.0)
    is_some = x.compare("uge", zero)
    n, r = _reduce(is_some.select(x.compare("gt", high).select(high, x), 0.0))
    return is_some.select(_scaled(r, n), 0.0)


def scaled_exp_not_above_zero(x: Scalar) -> Scalar:
    """
    The same where x is at most zero, or NaN: nothing overflows.

    Where the result is 0, r may be any number and n is 0, so that the product does not underflow.
    """
    is_some = x.compare("uge", _ZERO_64 if is_double(x) else _ZERO_32)
    n, r = _reduce(x)
    return is_some.select(_scaled(r, is_some.select(n, 0)), 0.0)


def _scaled(r: Scalar, n: Scalar) -> Scalar:
    """2^n e^r, |r| <= ln(2)/2."""
    mantissa = _mantissa(r)
    exponent = n.truncate(i32) if is_double(r) else n
    op = ScaleOp.make(mantissa.value, exponent.value)
    r.block.add_op(op)
    return Scalar(r.block, op.result)


@dataclass(frozen=True)
class _Subnormals:
    """
    Results e^x below the least normal number, without an operation of floats that makes one.

    Such a number is a multiple of the least one, and its bits are that multiple. So e^x is computed 2^149 (f64: 2^1074)
    times as large and rounded to an integer: by a sum with 2^23 (2^52), which leaves it in the low bits, or by the
    instruction of AVX-512.
    """

    x: Scalar
    converts: bool
    """Whether the CPU has the instruction."""

    @cached_property
    def is_small(self) -> Scalar:
        """Whether the result is one of them."""
        return self.x.compare("lt", _SUBNORMAL_64 if is_double(self.x) else _SUBNORMAL_32)

    @property
    def shift(self) -> int:
        """The exponent of the least number, negated."""
        return 1074 if is_double(self.x) else 149

    def larger(self, n: Scalar, place: int = 0) -> Scalar:
        """The exponent n, in a number's bits from `place` on, of the multiple where the result is one."""
        return self.is_small.select(n + (self.shift << place), n)

    def rounded(self, y: Scalar) -> Scalar:
        """The result, of which `y` is a multiple where it is small."""
        return self.is_small.select(self._integer(y), y.bits()).bitcast(y.type)

    def _integer(self, y: Scalar) -> Scalar:
        if self.converts:
            op = NearestOp.make(y.value)
            y.block.add_op(op)
            return Scalar(y.block, op.result)
        least = y.constant(2.0 ** (52 if is_double(y) else 23))
        return (y + least).bits() - least.bits()


def summed_exp(x: Scalar) -> Scalar:
    """e^x with the same bits as `exp`, where an operation that makes a subnormal number takes a hundred cycles."""
    x = _clamped(x, _ZERO_64, _BOUND_64) if is_double(x) else _clamped(x, _ZERO_32, _BOUND_32)
    subnormals = _Subnormals(x, converts=False)
    product, scale = _with_scale(x)
    return subnormals.rounded(product * subnormals.is_small.select(2.0 ** (subnormals.shift - 64), scale))


def summed_exp_not_above_zero(x: Scalar, converts: bool = False) -> Scalar:
    """The same where x is at most zero, or NaN, so that 2^n is a number."""
    place, bias, zero = (52, 1023, _ZERO_64) if is_double(x) else (23, 127, _ZERO_32)
    x = x.compare("lt", zero).select(zero, x)
    subnormals = _Subnormals(x, converts)
    exponent, r = _exponent(x, bias)
    return subnormals.rounded(_mantissa(r) * subnormals.larger(exponent, place).bitcast(x.type))


def scaled_summed_exp(x: Scalar) -> Scalar:
    """The same by the instructions of AVX-512."""
    zero, high = (_ZERO_64, 710.0) if is_double(x) else (_ZERO_32, 89.0)
    x = _clamped(x, zero, high)
    subnormals = _Subnormals(x, converts=True)
    n, r = _reduce(x)
    return subnormals.rounded(_scaled(r, subnormals.larger(n)))


def scaled_summed_exp_not_above_zero(x: Scalar) -> Scalar:
    """The same where x is at most zero, or NaN: no power of two is beyond all numbers, and a product does."""
    return summed_exp_not_above_zero(x, converts=True)


def expm1(x: Scalar) -> Scalar:
    """e^x - 1. Error below 2 ulp: 2^n (e^r - 1) + (2^n - 1), nothing cancels."""
    low, high, coefficients = (-40.0, 710.0, EXP_64) if is_double(x) else (-20.0, 89.0, EXP_32)
    clamped = _clamped(x, low, high)
    n, r = _reduce(clamped)
    fraction = r.fma(r * polynomial(r, coefficients), r)
    # Half of 2^n: 2^n itself overflows one step before the result does.
    half = power_of_two(n - 1, x.type)
    result = half.fma(fraction, half - 0.5) * 2.0
    # Tiny arguments are returned unchanged: keeps denormals and the sign of zero.
    return x.abs().compare("lt", 1e-20).select(x, result)


def tanh(x: Scalar) -> Scalar:
    """t / (t + 2) with t = e^(2|x|) - 1, which is 2|x| for tiny x. Error below 3 ulp."""
    limit, coefficients = (20.0, EXP_64) if is_double(x) else (9.5, EXP_32)
    size = x.abs()
    clamped = size.compare("gt", limit).select(limit, size)
    n, r = _reduce(clamped + clamped)
    scale = power_of_two(n, x.type)
    t = scale.fma(r.fma(r * polynomial(r, coefficients), r), scale - 1.0)
    return (t / (t + 2.0)).copysign(x)


def _log_parts(x: Scalar) -> tuple[Scalar, Scalar]:
    """The exponent e (as a float) and f with x = 2^e (1 + f), 2/3 <= 1 + f < 4/3; for positive finite x."""
    if is_double(x):
        shift, tiny, scale, scale_exponent, two_thirds = 52, 2.0**-1022, 2.0**54, 54.0, 0x3FE5555555555555
    else:
        shift, tiny, scale, scale_exponent, two_thirds = 23, 2.0**-126, 2.0**25, 25.0, TWO_THIRDS_32
    denormal = x.compare("lt", tiny)
    bits = denormal.select(x * scale, x).bits() - two_thirds
    exponent = (bits >> shift).to_float(x.type) - denormal.select(x.constant(scale_exponent), 0.0)
    mantissa = ((bits & ((1 << shift) - 1)) + two_thirds).bitcast(x.type)
    return exponent, mantissa - 1.0


def _log_special(x: Scalar, result: Scalar) -> Scalar:
    """log's values at 0, infinity, negative numbers and NaN."""
    result = x.compare("lt", math.inf).select(result, x)
    result = x.compare("eq", 0.0).select(-math.inf, result)
    return x.compare("lt", 0.0).select(math.nan, result)


def _log_finite(x: Scalar, correction: Scalar | None = None) -> Scalar:
    """log(x) (+ correction, a small term added before rounding) for positive finite x."""
    exponent, f = _log_parts(x)
    if is_double(x):
        s = f / (f + 2.0)
        z = s * s
        half_square = f * f * 0.5
        tail = s * (half_square + z * polynomial(z, LOG_64))
        low = exponent.fma(LN2_64[1], tail)
        if correction is not None:
            low = low + correction
        return exponent * LN2_64[0] - ((half_square - low) - f)
    return _log_reduced(exponent, f)


def _log_reduced(exponent: Scalar, f: Scalar, correction: Scalar | None = None, may_be_tiny: bool = False) -> Scalar:
    """
    log(2^exponent (1 + f)) (+ correction, a small term added before rounding) in f32 for |f| <= 1/3.

    f may be tiny if the caller does not use the result then.
    """
    square, factor = (f.fma(f, LEAST_SQUARE), f + LEAST_FACTOR) if may_be_tiny else (f * f, f)
    tail = square.fma(-0.5, (square * factor) * polynomial(f, LOG_32))
    low = exponent.fma(LN2_32[1], tail)
    if correction is not None:
        low = low + correction
    return exponent.fma(LN2_32[0], f + low)


def log(x: Scalar) -> Scalar:
    """The natural logarithm. Error below 1.5 ulp in f32, 1 ulp in f64."""
    return _log_special(x, _log_finite(x))


def _log_mixed(x: Scalar) -> tuple[Scalar, Scalar]:
    """e (a float) and log(m), where the f64 x = 2^e m, 2/3 <= m < 4/3, is positive, finite and normal; error 4e-11."""
    bits = x.bits() - 0x3FE5555555555555
    f = ((bits & ((1 << 52) - 1)) + 0x3FE5555555555555).bitcast(x.type) - 1.0
    s = f / (f + 2.0)
    z = s * s
    return (bits >> 52).to_float(x.type), (s * z).fma(polynomial(z, LOG_FOR_SINGLE), s + s)


def log1p(x: Scalar) -> Scalar:
    """log(1 + x). Error below 2 ulp in f64, 1 ulp in f32."""
    if not is_double(x):
        return _log1p_single(x)
    is_tiny = x.abs().compare("lt", 2.0**-54)
    given, x = x, is_tiny.select(0.0, x)
    u = x + 1.0
    # The rounding error of 1 + x, over u: exact for small x, irrelevant for huge x.
    lost = x.compare("lt", 1.0).select(x - (u - 1.0), (u - x).constant(1.0) - (u - x)) / u
    return is_tiny.select(given, _log_special(u, _log_finite(u, lost)))


def _log1p_single(x: Scalar) -> Scalar:
    """
    log(1 + x) with 1 + x = 2^e (1 + f): f is x 2^-e + (2^-e - 1), one rounding, and none for e = 0.

    For the largest x, 2^-e is a denormal number, so that x / 4 is multiplied by 4 2^-e. Where that loses bits, log(1 +
    x) is x, and the quarter is 0: products with subnormal numbers are slow.
    """
    u = x + 1.0
    e = (u.bits() - TWO_THIRDS_32) >> 23
    scale = power_of_two(2 - e, x.type)
    is_tiny = x.abs().compare("lt", 2.0**-25)
    quarter, power = is_tiny.select(0.0, x) * 0.25, scale.fma(0.25, -1.0)
    f = quarter.fma(scale, power)
    # The rounding error of f, over 1 + f.
    lost = quarter.fma(scale, power - f)
    result = _log_special(u, _log_reduced(e.to_float(x.type), f, lost.fma(-f, lost), may_be_tiny=True))
    return is_tiny.select(x, result)


def power(x: Scalar, y: Scalar) -> Scalar:
    """x ** y in f32 by 2^(y log2|x|) in f64: error below 1 ulp. The special cases are those of IEEE 754 pow."""
    wide_x, wide_y = in_double(x), in_double(y)
    size, single_size = wide_x.abs(), x.abs()
    exponent, log_m = _log_mixed(size)
    log2 = log_m.fma(LOG2_E, exponent)
    log2 = single_size.compare("eq", 0.0).select(-math.inf, single_size.compare("lt", math.inf).select(log2, size))
    result = to_single(_exp2_mixed(_clamped(wide_y * log2, -200.0, 200.0)))
    return with_sign_of_power(result, x, y, single_size)


def _exp2_mixed(x: Scalar) -> Scalar:
    """2^x in f64 for |x| <= 1000; error 9e-11."""
    shifted = x + _MAGIC_64
    r = x - (shifted - _MAGIC_64)
    return r.fma(polynomial(r, EXP2_MIXED), 1.0) * power_of_two(shifted.bits(), x.type)


def cbrt(x: Scalar) -> Scalar:
    """
    The cube root in f32, by z = |x|^(-1/3) in f64 and |x| z^2: error below 1 ulp.

    The upper half of the bits of |x| approximates its logarithm: minus a third of it, taken in f64, gives z within 4%.
    With e = 1 - |x| z^3, a step of order 4 leaves a relative error of 0.15 e^4 <= 2e-5, a further one of order 2 leaves
    5e-10.
    """
    size = in_double(x.abs())
    upper = ((size.bits().shift_right_logical(32)) | (0x433 << 52)).bitcast(size.type)
    # 1.5 * 2^52 keeps the integer in the low bits: upper holds it above 2^52.
    bits = upper.fma(-1 / 3, 1.5 * 2.0**52 + 2.0**52 / 3 + CBRT_BIAS).bits()
    z = (bits << 32).bitcast(size.type)
    for series in ((1 / 3, 2 / 9, 14 / 81), (1 / 3,)):
        e = (size * z).fma(-(z * z), z.constant(1.0))
        z = (z * e).fma(polynomial(e, series), z)
    root = to_single(size * (z * z)).copysign(x)
    return x.abs().compare("lt", math.inf).select(root, x)


def rsqrt(x: Scalar) -> Scalar:
    """1 / sqrt(x), each rounded: error below 1.5 ulp."""
    return 1.0 / x.sqrt()


def round_to_bf16(x: Scalar) -> Scalar:
    """
    An f32 as bfloat16, to nearest even, in integer arithmetic.

    x86's conversion instruction flushes denormals. NaN stays NaN: its payload is truncated and made quiet.
    """
    bits = x.bits()
    rounded = bits + (bits.shift_right_logical(16) & 1) + 0x7FFF
    quiet = bits | 0x400000
    chosen = x.compare("uno", x).select(quiet, rounded)
    return chosen.shift_right_logical(16).truncate(IntegerType(16)).bitcast(bf16)


def round_double_to_bf16(x: Scalar) -> Scalar:
    """
    An f64 as bfloat16, rounded once.

    Goes through an f32 rounded to odd (Boldo and Melquiond, 2008): setting the last bit of an inexact result keeps the
    second rounding from seeing a false tie.
    """
    single = to_single(x)
    back = single.extend(f64)
    bits = single.bits()
    too_large = back.abs().compare("gt", x.abs())
    toward_zero = too_large.select(bits - 1, bits)
    inexact = back.compare("lt", x) | back.compare("gt", x)
    odd = inexact.select(toward_zero | 1, bits)
    return round_to_bf16(odd.bitcast(single.type))

"""
chlo.erf and chlo.erfc as hlo arithmetic.

Approximations by minimax polynomials (Remez exchange in 40 or more digits, weighted to the error that matters, their
coefficients then rounded to the element type). With a = |x|:

* near 0, a <= near_end:  erf(a) = a + a NEAR(a a), for erfc of f32, which needs it up to 1/2 only, NEAR_HALF
* the tail, a >= 1/2:     erfc(a) = e^(-a a) TAIL(q) / (a + 3/4), q = (a - 2) / (a + 2), in f32
                          e^(-a a) TAIL(q) / (a + 1/2), q = (a - 3) / (a + 3), in f64
* above near_end, f32:    erf(a) = 1 - ROOT(a - 1)^4, without a division or an exponential
* above near_end, f64:    erf(a) = 1 - e^(a LOG_COMPLEMENT(a))

| polynomial     | over                     | degree f32, f64 | error f32, f64    | of what        |
| NEAR           | 0 <= a <= near_end       | 6, 11           | 2.6e-9, 7.4e-18   | erf, relative  |
| NEAR_HALF      | 0 <= a <= 1/2            | 4, -            | 8.8e-10, -        | erfc, relative |
| TAIL           | 0.5 <= a <= tail_end     | 8, 21           | 9.0e-9, 4.0e-18   | erfc, relative |
| ROOT           | near_end <= a <= erf_end | 8, -            | 1.2e-8, -         | erf, absolute  |
| LOG_COMPLEMENT | near_end <= a <= erf_end | -, 17           | -, 3.5e-18        | erf, absolute  |

ROOT is the fourth root of erfc. Its argument is exact up to 2, where erfc is not small: the coefficients' products, and
with them their rounding errors, are small there.

Beyond tail_end erfc is below half of the smallest denormal number, beyond erf_end erf rounds to 1.

The tail's factors would accumulate rounding errors, and a a needs more digits than a product has. Therefore a is split
in halves, of which the upper has an exact square, and the rounding errors of TAIL and the divisor are added back, with
or without a fused multiply-add. In f32 the exponential is written out, so that its last rounding can be added back too;
the divisor's 3/4 has the exponent of the least a, which makes the difference exact that finds its rounding error.

Error bounds: erf 1.5 ulp in f32 and f64; erfc 2 ulp in f32, and in f64 3 ulp if e^x is rounded correctly, 4 ulp if it
is accurate to 1 ulp; denormal results included. f16 and bf16 are computed in f32 and rounded once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import Float64Type

from ...hlo_dialect.chlo.special import ErfcOp, ErfOp
from ...hlo_dialect.expressions.real import Number, Real
from ...hlo_dialect.types import f32, f64, i32, i64
from .rules import Function, functions


@dataclass(frozen=True)
class ErrorFunctionTables:
    """The polynomials of one element type."""

    near: tuple[float, ...]
    near_end: float
    tail: tuple[float, ...]
    tail_end: float
    far: tuple[float, ...]
    """ROOT of f32, LOG_COMPLEMENT of f64."""
    erf_end: float


# fmt: off
SINGLE = ErrorFunctionTables(
    near=(0.12837917, -0.3761262, 0.11283491, -0.026849169, 0.0051785577, -0.00079178927, 7.5319076e-05),
    near_end=1.05,
    tail=(
        0.702337325, -0.153178513, -0.0225989707, 0.0622774176, -0.026175743, -0.0022342545, 0.0041288347,
        0.000264522037, -0.000635774457,
    ),
    tail_end=10.06,
    far=(
        0.6297696, -0.41548917, 0.004360025, 0.05066034, -0.003409399, -0.0058635473, 0.0015650868, -5.5689852e-05,
        -1.4902407e-05,
    ),
    erf_end=3.93,
)
DOUBLE = ErrorFunctionTables(
    near=(
        0.12837916709551256, -0.3761263890318352, 0.112837916709442, -0.026866170643113415, 0.005223977606130842,
        -0.0008548325929766244, 0.0001205529358693695, -1.4924712439534814e-05, 1.6447132699786621e-06,
        -1.6206318752969208e-07, 1.3710988704190523e-08, -7.779462971761597e-10,
    ),
    near_end=1.0,
    tail=(
        0.6265040291348648, -0.06781055306229065, -0.02378114717672499, 0.0648225793513898, -0.05963683170768136,
        0.03415401367160876, -0.011885257458541324, 0.0012646959150444475, 0.0009443451673174149,
        -0.0003899162071837736, -5.257978312966864e-05, 6.25501096385007e-05, 2.4740391670303837e-06,
        -1.0051932160626117e-05, -3.630242085620692e-07, 1.7401184744939373e-06, 1.715886422105684e-07,
        -3.138529791782573e-07, -6.010325060249712e-08, 5.493936945416888e-08, 1.1177209825119998e-08,
        -7.353619350529426e-09,
    ),
    tail_end=27.5,
    far=(
        -1.1283791081989745, -0.6366202771986569, -0.10277072217003573, 0.01912468811196365, 0.00021253947541974383,
        -0.001693277789143737, 0.0005753347901320128, 4.4667017831419123e-07, -9.51632636767684e-05,
        5.588261220052349e-05, -2.029211548036989e-05, 5.367602787175687e-06, -1.0740626383959051e-06,
        1.6231367676182193e-07, -1.803990255784557e-08, 1.39440642469259e-09, -6.701191883565733e-11,
        1.5078666231757806e-12,
    ),
    erf_end=6.0,
)
# fmt: on
NEAR_HALF = (0.12837915, -0.37612534, 0.112817444, -0.026699407, 0.004614593)
TAIL_CENTER = 2.0000205
"""Where q is 0 in f32, chosen near 2 so that the first coefficient of TAIL is a number of f32."""
TAIL_RECIPROCAL = (0.36937, -0.5583, 0.2198)
"""1 / (a + 3/4) of f32 by q, within 3 %, for corrections."""
LOG_2 = (0.693359375, -0.00021219444170128554)
"""log 2 in two parts: the products of the first with integers up to 2^14 are exact in f32."""
EXP_REST = (0.4999998807907104, 0.16666433215141296, 0.041669417172670364, 0.008378096856176853, 0.0013795243576169014)
"""e^r = 1 + r + r^2 EXP_REST(r) for |r| <= 0.39, relative error 7e-9."""


LOST = 4.0
"""From here on, 2 - erfc rounds to 2 in f32."""
LEAST_SQUARE = 2.0**-100
"""An addend of squares in polynomials of f32, where it is lost: a product that underflows costs a hundred cycles."""


def erf(x: Number) -> Number:
    """The error function of f32 or f64; NaN and -0 are returned unchanged."""
    tables = _tables(x)
    size = abs(x)
    # One instruction of x86, unlike a minimum, and NaN stays NaN too.
    bounded = (size > tables.erf_end).select(tables.erf_end, size)
    far = (_far_in_double if tables is DOUBLE else _far_in_single)(bounded)
    return (size < tables.near_end).select(near_zero(size, tables.near), far).copysign(x)


def _far_in_single(a: Number) -> Number:
    """erf(a) for near_end <= a <= erf_end."""
    root = (a - 1.0).polynomial(SINGLE.far)
    square = root * root
    return square.multiply_add(-square, 1.0)


def _far_in_double(a: Number) -> Number:
    return 1.0 - (a * a.polynomial(DOUBLE.far)).exponential()


def erfc(x: Number) -> Number:
    """1 - erf(x) of f32 or f64, with small relative error down to the smallest denormal; NaN is returned unchanged."""
    magnitude = abs(x)
    is_near = magnitude < 0.5
    if _tables(x) is DOUBLE:
        near, beyond = near_zero(x, DOUBLE.near), tail_in_double(magnitude.minimum(DOUBLE.tail_end))
    else:
        # One instruction of x86, unlike a minimum, and NaN stays NaN too.
        bounded = (magnitude > SINGLE.tail_end).select(SINGLE.tail_end, is_near.select(0.5, magnitude))
        end = (x < 0.0).select(x.like(LOST), SINGLE.tail_end)
        near, beyond = near_zero(x, NEAR_HALF), _tail_in_single(bounded, end)
    far = (x < 0.0).select(2.0 - beyond, beyond)
    return is_near.select(1.0 - near, far)


def _tables(x: Real) -> ErrorFunctionTables:
    return DOUBLE if isinstance(x.element, Float64Type) else SINGLE


def near_zero(x: Number, coefficients: Sequence[float]) -> Number:
    """erf(x) where the coefficients' polynomial of x x is erf(x) / x - 1."""
    return x.multiply_add(x.multiply_add(x, LEAST_SQUARE).polynomial(coefficients), x)


def _tail_in_single(a: Number, end: Number) -> Number:
    """
    erfc(a) of f32 for 1/2 <= a <= tail_end, or 0 from `end` on.

    It is computed 2^64 times as large: its last product alone makes subnormal numbers. Where it is 0, a factor is, so
    that nothing underflows.
    """
    first, *others = SINGLE.tail
    power, rest = _gaussian_in_single(a)
    power = (a < end).select(power, 0.0)
    q = (a - TAIL_CENTER) / (a + TAIL_CENTER)
    change = q * q.polynomial(others)
    scaled = change + first
    numerator = scaled.multiply_add(rest, scaled)
    lost = change - (scaled - first)
    lost_above = scaled.multiply_add(rest, scaled - numerator) + lost.multiply_add(rest, lost)
    divisor = a + 0.75
    lost_below = 0.75 - (divisor - a)
    quotient = numerator / divisor
    correction = quotient.multiply_add(-lost_below, lost_above)
    return correction.multiply_add(q.polynomial(TAIL_RECIPROCAL), quotient) * power * 2.0**-64


def _gaussian_in_single(a: Number) -> tuple[Number, Number]:
    """
    2^(n + 64) and e^r - 1 of e^(-a a) = 2^n e^r, |r| <= 0.39, for 0 <= a <= tail_end of f32; any numbers for NaN.

    `half` is a rounded to 12 bits, so that half half is exact; a a = half half - small, |small| < 0.04. The sum with
    `magic` has the power's biased exponent in its lowest bits.
    """
    magic = 1.5 * 2.0**23 + 64 + 127
    half = ((a.bits_as(i32) + (1 << 11)) & -(1 << 12)).bits_as(f32)
    small = (half - a) * (half + a)
    square = half * half
    shifted = square.multiply_add(-1 / math.log(2), magic)
    n = shifted - magic
    r = n.multiply_add(-LOG_2[0], -square) + n.multiply_add(-LOG_2[1], small)
    return (shifted.bits_as(i32) << 23).bits_as(f32), (r * r).multiply_add(r.polynomial(EXP_REST), r)


def tail_in_double(a: Number) -> Number:
    """
    erfc(a) of f64 for 1/2 <= a <= tail_end, with the roundings of a a, TAIL's last sum and the divisor added back.

    `half` is a rounded to 26 bits, so that half half is exact; a a = half half - small, |small| < 1.5e-5.
    """
    first, *others = DOUBLE.tail
    q = (a - 3.0) / (a + 3.0)
    change = q * q.polynomial(others)
    half = ((a.bits_as(i64) + (1 << 26)) & -(1 << 27)).bits_as(f64)
    small = (half - a) * (half + a)
    divisor = a + 0.5
    lost_below = 0.5 - (divisor - a)
    scaled = change + first
    lost_above = change - (scaled - first)
    # e^small - 1 to third order, plus the rounding error relative to `scaled`, which is within 8 % of 0.6.
    correction = small * small.polynomial((1.0, 1 / 2, 1 / 6)) - lost_below / divisor + lost_above * (1 / 0.6)
    return (scaled + scaled * correction) * (half * half).exponential_of_negative() / divisor


functions.add(
    {
        ErfOp: Function(erf),
        ErfcOp: Function(erfc),
    }
)

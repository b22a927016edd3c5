"""Singular values of upper triangular matrices of two rows, as LAPACK's las2 and lasv2."""

from __future__ import annotations

from typing import NamedTuple

from ....dialects.support.scalar import Scalar
from .notation import larger, smaller


class Pair(NamedTuple):
    """Singular values, with signs, and the rotations that make the matrix diagonal."""

    most: Scalar
    least: Scalar
    right_cosine: Scalar
    right_sine: Scalar
    left_cosine: Scalar
    left_sine: Scalar


def _nonzero(x: Scalar) -> Scalar:
    """The number, or 1 for 0: a divisor whose quotient is not used then."""
    return x.compare("eq", 0.0).select(1.0, x)


def least_singular_value(f: Scalar, g: Scalar, h: Scalar) -> Scalar:
    """The smaller singular value of ((f, g), (0, h))."""
    low, high, size = smaller(f.abs(), h.abs()), larger(f.abs(), h.abs()), g.abs()
    sum_, difference = low / _nonzero(high) + 1.0, (high - low) / _nonzero(high)
    small, part = size / _nonzero(high), high / _nonzero(size)
    square = small * small
    short = low * (f.constant(2.0) / ((sum_ * sum_ + square).sqrt() + (difference * difference + square).sqrt()))
    one, other = sum_ * part, difference * part
    factor = f.constant(1.0) / ((one * one + 1.0).sqrt() + (other * other + 1.0).sqrt())
    long = part.compare("eq", 0.0).select(low * high / _nonzero(size), low * factor * part * 2.0)
    return low.compare("eq", 0.0).select(0.0, size.compare("lt", high).select(short, long))


def singular_pair(f: Scalar, g: Scalar, h: Scalar, rounding: float) -> Pair:
    """The singular values of ((f, g), (0, h)) and their vectors."""
    one = f.constant(1.0)
    swapped = h.abs().compare("gt", f.abs())
    ft, ht = swapped.select(h, f), swapped.select(f, h)
    fa, ha, ga = ft.abs(), ht.abs(), g.abs()
    none, long = ga.compare("eq", 0.0), ga.compare("gt", fa)
    huge = long & (fa / _nonzero(ga)).compare("lt", rounding)
    d = fa - ha
    l = d.compare("eq", fa).select(1.0, d / _nonzero(fa))
    m = g / _nonzero(ft)
    t = one + 1.0 - l
    mm = m * m
    s, r = (t * t + mm).sqrt(), l.compare("eq", 0.0).select(m.abs(), (l * l + mm).sqrt())
    a = (s + r) * 0.5
    tiny = l.compare("eq", 0.0).select(
        f.constant(2.0).copysign(ft) * one.copysign(g), g / _nonzero(d.copysign(ft)) + m / t
    )
    tangent = mm.compare("eq", 0.0).select(tiny, (m / (s + t) + m / _nonzero(r + l)) * (a + 1.0))
    length = (tangent * tangent + 4.0).sqrt()
    crt, srt = f.constant(2.0) / length, tangent / length
    clt, slt = (crt + srt * m) / a, ht / _nonzero(ft) * srt / a
    small_huge = ha.compare("gt", 1.0).select(fa / _nonzero(ga / _nonzero(ha)), fa / _nonzero(ga) * ha)
    least = none.select(ha, huge.select(small_huge, ha / a))
    most = none.select(fa, huge.select(ga, fa * a))
    clt = none.select(1.0, huge.select(1.0, clt))
    slt = none.select(0.0, huge.select(ht / _nonzero(g), slt))
    srt = none.select(0.0, huge.select(1.0, srt))
    crt = none.select(1.0, huge.select(ft / _nonzero(g), crt))
    csl, snl = swapped.select(srt, clt), swapped.select(crt, slt)
    csr, snr = swapped.select(slt, crt), swapped.select(clt, srt)

    def sign(*numbers: Scalar) -> Scalar:
        product = one
        for number in numbers:
            product = product * one.copysign(number)
        return product

    by_size = swapped.select(sign(snr, snl, h), sign(csr, csl, f))
    total = (long & _not(none)).select(sign(snr, csl, g), by_size)
    return Pair(most.copysign(total), least.copysign(total * sign(f, h)), csr, snr, csl, snl)


def _not(condition: Scalar) -> Scalar:
    return condition ^ condition.constant(1)

# NumPy's stubs give Unknown for arrays of element types that only the program knows:
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
"""
Functions of complex numbers in NumPy, for references, where NumPy has none or loses digits.

Infinities, NaN and signed zeros are those of C's Annex G (C17, G.5 and G.6) and, for functions that C lacks, of their
definitions by functions that it has. NumPy's own functions of complex numbers are the C library's.
Callers silence NumPy's floating-point warnings.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

Numbers: TypeAlias = Any
"""An array, or the NumPy scalar that arithmetic on rank 0 returns."""


def _joined(re: Numbers, im: Numbers) -> Numbers:
    """The parts as complex numbers; `re + 1j * im` would lose zeros' signs and infinities."""
    parts = np.broadcast_arrays(re, im)
    result = np.empty(parts[0].shape, np.result_type(*parts, np.complex64))
    result.real, result.imag = parts
    return result


def _wide(z: Numbers) -> Numbers:
    return z.astype(np.clongdouble)


def multiply(lhs: Numbers, rhs: Numbers) -> Numbers:
    """The product, with four products rounded each; NumPy fuses two of them with their sum where it has FMA."""
    a, b, c, d = lhs.real, lhs.imag, rhs.real, rhs.imag
    return _joined(a * c - b * d, a * d + b * c)


def divide(lhs: Numbers, rhs: Numbers) -> Numbers:
    """The quotient. As in C's Annex G, by 0 and infinite by finite is infinite, and finite by infinite is 0."""
    plain = np.divide(lhs, rhs)
    endless = np.copysign(rhs.real.dtype.type(np.inf), rhs.real)
    finite = np.isfinite(lhs), np.isfinite(rhs)
    x, y = (np.where(known, z, _units(z)) for known, z in zip(finite, (lhs, rhs), strict=True))
    grows, vanishes = np.isinf(lhs) & finite[1], np.isinf(rhs) & finite[0]
    scale = np.where(grows, np.inf, 0.0).astype(endless.dtype)
    towards = x * np.conj(y)
    found = np.where(grows | vanishes, _joined(towards.real * scale, towards.imag * scale), plain)
    found = np.where(rhs == 0, _joined(lhs.real * endless, lhs.imag * endless), found)
    return np.where(np.isnan(plain.real) & np.isnan(plain.imag) | (rhs == 0), found, plain)


def _units(z: Numbers) -> Numbers:
    """1 for each infinite part and 0 for any other, with the parts' signs."""
    return _joined(*(np.copysign(np.isinf(part).astype(part.dtype), part) for part in (z.real, z.imag)))


def square(z: Numbers) -> Numbers:
    """z * z as (x - y) (x + y) + 2 i x y: the difference of two squares that overflow is infinite or 0, not NaN."""
    x, y = z.real, z.imag
    even = (np.abs(x) == np.abs(y)) & np.isfinite(x)
    return _joined(np.where(even, x.dtype.type(0), (x - y) * (x + y)), x * y * x.dtype.type(2))


def sign(z: Numbers) -> Numbers:
    """The number on the unit circle, NaN in both parts or 0; NaN in the infinite parts."""
    wide = _wide(z)
    size = np.abs(wide)
    unit = np.where(z == 0, z, _joined(wide.real / size, wide.imag / size))
    return np.where(np.isnan(z), complex(np.nan, np.nan), unit).astype(z.dtype)


def exponential_minus_one(z: Numbers) -> Numbers:
    """exp(z) - 1, accurate near 0: (exp(x) - 1) cos y - 2 sin(y / 2)**2 and the imaginary part of exp(z)."""
    wide = _wide(z)
    x, y = wide.real, wide.imag
    whole = np.exp(wide)
    half = np.sin(y / 2)
    near = np.expm1(x) * np.cos(y) - 2 * half * half
    return _joined(np.where(x > 50, whole.real, np.where(np.isneginf(x), -1, near)), whole.imag)


def log_plus_one(z: Numbers) -> Numbers:
    """log(1 + z), accurate near 0 and where |1 + z| is 1: there its real part is half of log1p(|1 + z|**2 - 1)."""
    from fractions import Fraction

    x, y = (np.asarray(part, np.longdouble) for part in (z.real, z.imag))
    found = np.log(_joined(1 + x, y))
    excess = np.asarray(x * (2 + x) + y * y)
    near = (np.abs(excess) < 0.5) & np.isfinite(z)
    for place in np.argwhere(near & (np.abs(excess) < np.abs(x) * 1e-3)):
        a, b = (Fraction(float(part[tuple(place)])) for part in (x, y))
        excess[tuple(place)] = float(2 * a + a * a + b * b)
    return _joined(np.where(near, np.log1p(np.where(near, excess, 0)) / 2, found.real), found.imag)


def rsqrt(z: Numbers) -> Numbers:
    """1 / sqrt(z); infinite with a NaN at 0, and 0 where a part is infinite."""
    endless = np.isinf(z.real) | np.isinf(z.imag)
    found: Numbers = np.where(endless, 0, np.where(z == 0, complex(np.inf, np.nan), 1 / np.sqrt(_wide(z))))
    return _joined(found.real, np.copysign(found.imag, -z.imag))


def cbrt(z: Numbers) -> Numbers:
    """The cube root of |z| at a third of the angle."""
    wide = _wide(z)
    size, angle = np.cbrt(np.abs(wide)), np.arctan2(wide.imag, wide.real) / 3
    sine = np.sin(angle)
    return _joined(size * np.cos(angle), np.where(sine == 0, sine, size * sine))


def logistic(z: Numbers) -> Numbers:
    """1 / (1 + exp(-z)), or exp(z) / (1 + exp(z)) for a negative real part, where exp(-z) would overflow."""
    wide = _wide(z)
    left = wide.real < 0
    shrunk = np.exp(np.where(left, wide, -wide))
    one = _joined(np.ones_like(wide.real), np.zeros_like(wide.real))
    return np.where(left, shrunk, one) / _joined(1 + shrunk.real, shrunk.imag)


def power(base: Numbers, exponent: Numbers) -> Numbers:
    """exp(exponent log(base)); 1 where the base is 1."""
    return np.where(base == 1, base.dtype.type(1), np.power(base, exponent))

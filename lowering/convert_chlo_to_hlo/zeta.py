"""
zeta and polygamma as hlo arithmetic.

Results in f32 and narrower are computed in f64 and rounded once. Error bounds in ulp, for q > 0 (x > 0):

| operation | f32, f16, bf16 | f64                           |
| zeta      | 0.6            | 8, and 24 of denormal results |
| polygamma | 0.6            | 8 + 2 log(n!)                 |

Euler and Maclaurin: the first terms of the sum, and a series for the rest. Negative q, for integer x, is mapped to
positive ones: with f = q - floor(q), the terms at negative numbers are zeta(x, 1 - f) minus zeta(x, 1 - q), with the
sign (-1)**x. There the error bound is relative to the largest of these.
"""

from __future__ import annotations

import math

from ...hlo_dialect.chlo import special as chlo
from ...hlo_dialect.expressions.real import Number, Real
from ...hlo_dialect.numbers.special_functions import bernoulli
from .rules import Function, functions
from .special import digamma, lgamma

MOST_PRODUCTS, MOST_EXACT_PRODUCTS = 8, 4
"""The largest known x for which (q + n)**-x is a product of 1 / (q + n), in f32 and f64: its error is about x ulp."""


def _known(x: Real) -> int | None:
    """The small whole number that a value is everywhere, if the program states it: any float type has these."""
    found = x.known
    return next((number for number in range(MOST_PRODUCTS + 1) if number == found), None)


def zeta(x: Number, q: Number, exact: bool) -> Number:
    whole_q, whole_x = q.equals(q.floor()), x.equals(x.floor())
    positive = q > 0.0
    fraction = q - q.floor()
    right = _zeta_of_positive(x, positive.select(q, fraction), exact)
    negative_terms = _zeta_of_positive(x, 1.0 - fraction, exact) - _zeta_of_positive(x, 1.0 - q, exact)
    even = (x % 2.0).equals(0.0)
    left = right + even.select(negative_terms, -negative_terms)
    left = whole_q.select(even.select(x.like(math.inf), math.nan), whole_x.select(left, math.nan))
    result = positive.select(right, left)
    result = x.equals(1.0).select(math.inf, (x < 1.0).select(math.nan, result))
    return x.is_nan().select(x, q.is_nan().select(q, result))


def _zeta_of_positive(x: Number, q: Number, exact: bool) -> Number:
    """The sum of (q + n)**-x for q > 0, x > 1."""
    first, count = (12, 12) if exact else (8, 7)
    known = _known(x)

    def term(base: Number) -> Number:
        if known is None or not 2 <= known <= (MOST_EXACT_PRODUCTS if exact else MOST_PRODUCTS):
            return base**-x
        inverse = result = 1.0 / base
        for _ in range(known - 1):
            result = result * inverse
        return result

    total = term(q)
    for n in range(1, first):
        total = total + term(q + float(n))
    end = q + float(first)
    power = term(end)
    rest = end * power / (x - 1.0) + power * 0.5
    factor = x * power / end
    square = 1.0 / (end * end)
    for k in range(1, count + 1):
        rest = rest + factor * float(bernoulli(2 * k) / math.factorial(2 * k))
        if k < count:
            factor = factor * ((x + (2.0 * k - 1)) * (x + 2.0 * k) * square)
    # If the rest underflows, its factors may overflow; an infinite q has no terms at all.
    total = power.equals(0.0).select(total, total + rest)
    total = q.equals(math.inf).select(0.0, total)
    endless = q.equals(1.0).select(q.like(1.0), (q < 1.0).select(q.like(math.inf), 0.0))
    return x.equals(math.inf).select(endless, total)


def polygamma(n: Number, x: Number, exact: bool) -> Number:
    known = _known(n)
    order = n + 1.0 if known is None else n.like(float(known + 1))
    odd = (order % 2.0).equals(0.0)
    # n! alone may overflow: multiply twice by its root.
    root = (lgamma(order, exact) * 0.5).exponential()
    size = root * zeta(order, x, exact) * root
    result = odd.select(size, -size)
    whole = n.equals(n.floor()) & (n >= 0.0) & (n < math.inf)
    result = whole.select(result, math.nan)
    return n.equals(0.0).select(digamma(x, exact), result)


functions.add(
    {
        chlo.ZetaOp: Function(zeta, of_doubles=True),
        chlo.PolygammaOp: Function(polygamma, of_doubles=True),
    }
)

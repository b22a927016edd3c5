"""Factors of complex matrices, and systems with these; tridiagonal systems."""

from __future__ import annotations

from ....dialects.support.scalar import Scalar
from ...loop_nests.kernel_builder import IndexValue
from ..cholesky_rows import Triangle
from .notation import Code, Grid, Line, Number


def cholesky(code: Code, a: Grid, n: IndexValue, info: Line) -> None:
    """The lower factor in place of the lower triangle; info is 0, or the number of the first bad pivot, from 1."""
    info[0] = code.number(0.0)
    with code.loop(0, n) as j:
        square = code.real_total(0, j, lambda k: a[j, k].square())
        pivot = (a[j, j].re - square).sqrt()
        good = pivot.compare("gt", 0.0)
        with code.when(code.negated(good) & info[0].re.compare("eq", 0.0)):
            info[0] = Number(code.float_of(j + 1))
        a[j, j] = Number(pivot)
        with code.loop(j + 1, n) as i:
            product = code.total(0, j, lambda k, i=i: a[i, k] * a[j, k].conjugate())
            a[i, j] = (a[i, j] - product) / Number(pivot)


def cholesky_by_rows(code: Code, a: Grid, triangle: Triangle, info: Line) -> None:
    """The same as `cholesky`, with the rows of the upper factor in vectors."""
    n, row = triangle.n, triangle.padded
    parts = [code.matrix(at, row, 1, False) for at in triangle.places(0, 0)]
    zero = code.number(0.0)
    with code.loop(0, n) as j:
        with code.independent(0, row) as i:
            for part in parts:
                part[j, i] = zero
        with code.loop(j, n) as i:
            value = a[i, j].conjugate()
            for part, number in zip(parts, (value.re, value.im), strict=False):
                assert number is not None
                part[j, i] = Number(number)
    triangle.factor()
    info[0] = zero
    with code.loop(0, n) as j:
        # The root of a bad pivot is 0 or NaN.
        pivot = parts[0][j, j]
        good = pivot.re.compare("gt", 0.0)
        with code.when(code.negated(good) & info[0].re.compare("eq", 0.0)):
            info[0] = Number(code.float_of(j + 1))
        a[j, j] = pivot
        with code.loop(j + 1, n) as i:
            a[i, j] = Number(*(part[j, i].re for part in parts)).conjugate()


def lu(code: Code, a: Grid, m: IndexValue, n: IndexValue, pivots: Line, info: Line) -> None:
    """As LAPACK's getrf."""
    builder = code.builder
    info[0] = code.number(0.0)
    one = code.number(1.0)
    with code.loop(0, builder.min(m, n)) as j:
        # LAPACK compares the sums of the absolute values of both parts.
        with builder.loop(j + 1, m, carry=[_size(a[j, j]), j]) as (i, state):
            size = _size(a[i, j])
            more = size.compare("gt", state[0])
            builder.yield_(more.select(size, state[0]), more.select(i.value, state[1]))
        row = builder.index(state[1])
        pivots[j] = Number(code.float_of(row + 1))
        with code.when(row.compare("ne", j)):
            upper, lower = a.line(j), a.line(row)
            with code.independent(0, n) as c:
                x, y = upper[c], lower[c]
                upper[c] = y
                lower[c] = x
        zero = a[j, j].size().compare("eq", 0.0)
        with code.when(zero & info[0].re.compare("eq", 0.0)):
            info[0] = Number(code.float_of(j + 1))
        divisor = one.selected(zero, a[j, j])
        with code.loop(j + 1, m) as i:
            factor = a[i, j] / divisor
            a[i, j] = factor
            with code.independent(j + 1, n) as c:
                a[i, c] = a[i, c] - factor * a[j, c]


def _size(value: Number) -> Scalar:
    """The sum of the absolute values of both parts."""
    return value.re.abs() + value.imaginary.abs() if value.im is not None else value.re.abs()


def solve_triangle(code: Code, a: Grid, x: Grid, n: IndexValue, k: IndexValue, unit: bool, conjugate: bool) -> None:
    """`a x = b` for a lower triangle and k right sides, which x begins with; `conjugate` takes that of a."""

    def element(i: IndexValue, j: IndexValue) -> Number:
        return a[i, j].conjugate() if conjugate else a[i, j]

    with code.loop(0, n) as j:
        if not unit:
            pivot = element(j, j)
            with code.loop(0, k) as c:
                x[j, c] = x[j, c] / pivot
        with code.loop(j + 1, n) as i:
            factor = element(i, j)
            with code.independent(0, k) as c:
                x[i, c] = x[i, c] - factor * x[j, c]


def tridiagonal_system(
    code: Code, lower: Line, d: Line, upper: Line, x: Grid, n: IndexValue, k: IndexValue, info: Line
) -> None:
    """
    As LAPACK's gtsv: `lower` begins with the element below the first of the diagonal, and gets the second one above it.
    """
    info[0] = code.number(0.0)
    zero = code.number(0.0)
    with code.loop(0, n - 1) as i:
        stay = d[i].size() if d[i].im is None else _size(d[i])
        own = stay.compare("ge", _size(lower[i]))
        with code.when(own):
            bad = d[i].size().compare("eq", 0.0)
            with code.when(bad & info[0].re.compare("eq", 0.0)):
                info[0] = Number(code.float_of(i + 1))
            factor = lower[i] / code.number(1.0).selected(bad, d[i])
            d[i + 1] = d[i + 1] - factor * upper[i]
            with code.loop(0, k) as c:
                x[i + 1, c] = x[i + 1, c] - factor * x[i, c]
            lower[i] = zero
        with code.otherwise():
            factor = d[i] / lower[i]
            d[i] = lower[i]
            below, right = d[i + 1], upper[i]
            d[i + 1] = right - factor * below
            with code.when(i < n - 2):
                further = upper[i + 1]
                lower[i] = further
                upper[i + 1] = -(factor * further)
            with code.otherwise():
                lower[i] = zero
            upper[i] = below
            with code.loop(0, k) as c:
                first, second = x[i, c], x[i + 1, c]
                x[i, c] = second
                x[i + 1, c] = first - factor * second
    last = code.index(n - 1)
    with code.when(d[last].size().compare("eq", 0.0) & info[0].re.compare("eq", 0.0)):
        info[0] = Number(code.float_of(n))
    with code.when(info[0].re.compare("eq", 0.0)), code.downwards(0, n) as i, code.loop(0, k) as c:
        next_, second = code.builder.min(i + 1, last), code.builder.min(i + 2, last)
        x[i, c] = x[i, c] - (upper[i] * x[next_, c]).selected(i < last, zero)
        x[i, c] = x[i, c] - (lower[i] * x[second, c]).selected(i < n - 2, zero)
        x[i, c] = x[i, c] / d[i]

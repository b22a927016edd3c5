"""
Householder reflectors, I - tau v v^H, and what they give: QR, products with Q, Hessenberg and tridiagonal forms.

Vectors and factors are LAPACK's: v begins with 1, which is not stored; Q is the product of the reflectors in order.
"""

from __future__ import annotations

from ...loop_nests.kernel_builder import Index, IndexValue
from .notation import Code, Grid, Line, Number, hypotenuse, larger, power_of_two_below


def reflector(code: Code, column: Line, count: Index, v: Line) -> tuple[Number, Number]:
    """
    The reflector whose adjoint maps a vector of `count` elements to a multiple of the first: that real multiple, and
    tau. The vector is replaced by both, v is written with its 1.
    """
    alpha, one, zero = column[0], code.real(1.0), code.real(0.0)
    largest = code.largest(1, count, lambda i: column[i].size())
    # One scale for all: parts of a vector near the least normal number are not lost beside the others.
    scale = power_of_two_below(larger(alpha.size(), largest))
    inverse = one / scale
    rest = code.real_total(1, count, lambda i: column[i].scaled(inverse).square()).sqrt()
    length = hypotenuse(alpha.scaled(inverse).length(), rest) * scale
    needed = rest.compare("ne", 0.0) | largest.compare("ne", 0.0)
    if alpha.im is not None:
        needed = needed | alpha.im.compare("ne", 0.0)
    # The squares of subnormal numbers are 0: a vector of no others stays.
    needed = needed & length.compare("ne", 0.0)
    beta = needed.select(-length.copysign(alpha.re), alpha.re)
    divisor = needed.select(beta, one)
    tau = Number(needed.select((beta - alpha.re) / divisor, zero))
    if alpha.im is not None:
        tau = Number(tau.re, -alpha.im / divisor)
    shift = (alpha - Number(beta)).selected(needed, Number(one))
    with code.independent(1, count) as i:
        value = column[i] / shift
        column[i] = value
        v[i] = value
    v[0] = Number(one)
    column[0] = Number(beta)
    return Number(beta), tau


def vector_of(code: Code, column: Line, count: Index, v: Line) -> None:
    """Copy the vector of a stored reflector, with its 1."""
    with code.independent(1, count) as i:
        v[i] = column[i]
    v[0] = code.number(1.0)


def from_left(code: Code, v: Line, tau: Number, c: Grid, rows: Index, columns: Index, w: Line) -> None:
    """`c -= tau v (v^H c)`; w has room for a row."""
    zero = code.number(0.0)
    with code.independent(0, columns) as j:
        w[j] = zero
    with code.loop(0, rows) as i:
        factor = v[i].conjugate()
        with code.independent(0, columns) as j:
            w[j] = w[j] + factor * c[i, j]
    with code.loop(0, rows) as i:
        factor = tau * v[i]
        with code.independent(0, columns) as j:
            c[i, j] = c[i, j] - factor * w[j]


def from_right(code: Code, v: Line, tau: Number, c: Grid, rows: Index, columns: Index) -> None:
    """`c -= tau (c v) v^H`."""
    with code.loop(0, rows) as i:
        factor = tau * code.total(0, columns, lambda j, i=i: c[i, j] * v[j])
        with code.independent(0, columns) as j:
            c[i, j] = c[i, j] - factor * v[j].conjugate()


def qr(code: Code, a: Grid, m: IndexValue, n: IndexValue, tau: Line, v: Line, w: Line) -> None:
    """As LAPACK's geqrf."""
    with code.loop(0, code.builder.min(m, n)) as k:
        qr_step(code, a, k, m, n, tau, v, w)


def qr_step(code: Code, a: Grid, k: IndexValue, m: IndexValue, n: IndexValue, tau: Line, v: Line, w: Line) -> None:
    """Make column k one of R, and apply its reflector to the columns after it."""
    rows = code.index(m - k)
    _, factor = reflector(code, a.part(k, k).down(0), rows, v)
    tau[k] = factor
    from_left(code, v, factor.conjugate(), a.part(k, k + 1), rows, n - k - 1, w)


def pivoted_qr(code: Code, a: Grid, m: IndexValue, n: IndexValue, order: Line, tau: Line, v: Line, w: Line) -> None:
    """As LAPACK's geqp3: columns whose entry of `order` is not 0 come first, then always the one of largest norm."""
    builder = code.builder
    with builder.loop(0, n, carry=[code.index(0)]) as (j, state):
        free = builder.index(state[0])
        first = order[j].re.compare("ne", 0.0)
        order[j] = Number(code.float_of(j + 1))
        with code.when(first):
            exchange_columns(code, a, m, j, free, order)
        builder.yield_(builder.select(first, free + 1, free))
    fixed = builder.index(state[0])
    with code.loop(0, builder.min(m, n)) as k:
        rows = code.index(m - k)
        with code.when(k >= fixed):
            start = [code.norm(a.part(k, k).down(0), rows), k]
            with builder.loop(k + 1, n, carry=start) as (j, state):
                norm = code.norm(a.part(k, j).down(0), rows)
                more = norm.compare("gt", state[0])
                builder.yield_(more.select(norm, state[0]), more.select(j.value, state[1]))
            exchange_columns(code, a, m, k, builder.index(state[1]), order)
        qr_step(code, a, k, m, n, tau, v, w)


def exchange_columns(code: Code, a: Grid, m: Index, j: IndexValue, k: IndexValue, order: Line) -> None:
    with code.loop(0, m) as i:
        first, second = a[i, j], a[i, k]
        a[i, j] = second
        a[i, k] = first
    first, second = order[j], order[k]
    order[j] = second
    order[k] = first


def first_columns(
    code: Code, q: Grid, m: IndexValue, n: IndexValue, k: IndexValue, tau: Line, v: Line, w: Line
) -> None:
    """As LAPACK's orgqr: vectors of k reflectors become the first n columns of Q."""
    zero, one = code.number(0.0), code.number(1.0)
    with code.loop(0, m) as i, code.independent(k, n) as j:
        q[i, j] = one.selected(i.compare("eq", j), zero)
    with code.downwards(0, k) as i:
        rows = code.index(m - i)
        vector_of(code, q.part(i, i).down(0), rows, v)
        factor = tau[i]
        from_left(code, v, factor, q.part(i, i + 1), rows, n - i - 1, w)
        with code.independent(1, rows) as r:
            q[i + r, i] = -(factor * v[r])
        q[i, i] = one - factor
        with code.loop(0, i) as r:
            q[r, i] = zero


def times_q(
    code: Code, vectors: Grid, tau: Line, k: IndexValue, c: Grid, m: IndexValue, n: IndexValue, v: Line, w: Line
) -> None:
    """Q c, for m rows and n columns."""
    with code.downwards(0, k) as i:
        _one_from_left(code, vectors, tau[i], i, c, m, n, v, w)


def times_adjoint(
    code: Code, vectors: Grid, tau: Line, k: IndexValue, c: Grid, m: IndexValue, n: IndexValue, v: Line, w: Line
) -> None:
    """Q^H c."""
    with code.loop(0, k) as i:
        _one_from_left(code, vectors, tau[i].conjugate(), i, c, m, n, v, w)


def _one_from_left(
    code: Code, vectors: Grid, tau: Number, i: IndexValue, c: Grid, m: IndexValue, n: IndexValue, v: Line, w: Line
) -> None:
    rows = code.index(m - i)
    vector_of(code, vectors.part(i, i).down(0), rows, v)
    from_left(code, v, tau, c.part(i, 0), rows, n, w)


def by_q(
    code: Code, vectors: Grid, tau: Line, k: IndexValue, c: Grid, m: IndexValue, n: IndexValue, v: Line, adjoint: bool
) -> None:
    """c Q, or c Q^H."""
    with code.downwards(0, k) if adjoint else code.loop(0, k) as i:
        columns = code.index(n - i)
        vector_of(code, vectors.part(i, i).down(0), columns, v)
        factor = tau[i].conjugate() if adjoint else tau[i]
        from_right(code, v, factor, c.part(0, i), m, columns)


def hessenberg(
    code: Code, a: Grid, n: IndexValue, low: IndexValue, high: IndexValue, tau: Line, v: Line, w: Line
) -> None:
    """As LAPACK's gehrd, for rows from `low` to `high - 1`; other factors are 0."""
    with code.loop(0, n - 1) as i:
        tau[i] = code.number(0.0)
    with code.loop(low, high - 1) as i:
        rows = code.index(high - i - 1)
        _, factor = reflector(code, a.part(i + 1, i).down(0), rows, v)
        tau[i] = factor
        from_right(code, v, factor, a.part(0, i + 1), high, rows)
        from_left(code, v, factor.conjugate(), a.part(i + 1, i + 1), rows, n - i - 1, w)


def product_below(code: Code, vectors: Grid, tau: Line, q: Grid, n: IndexValue, v: Line, w: Line) -> None:
    """Q of reflectors whose vectors begin below the diagonal; the vectors become zeros."""
    code.identity(q, n, n)
    with code.downwards(0, n - 1) as i:
        rows = code.index(n - i - 1)
        vector_of(code, vectors.part(i + 1, i).down(0), rows, v)
        from_left(code, v, tau[i], q.part(i + 1, i + 1), rows, rows, w)
        with code.loop(i + 2, n) as r:
            vectors[r, i] = code.number(0.0)


def tridiagonal(
    code: Code, whole: Grid, n: IndexValue, d: Line, e: Line, tau: Line, made: Grid, v: Line, w: Line
) -> None:
    """
    As LAPACK's sytrd or hetrd of a lower triangle: `whole` has both triangles, and is overwritten; the diagonals and
    vectors are written to the lower triangle of `made`.
    """
    half = code.real(-0.5)
    with code.loop(0, n - 1) as i:
        rows = code.index(n - i - 1)
        beta, factor = reflector(code, whole.part(i + 1, i).down(0), rows, v)
        e[i] = Number(beta.re)
        tau[i] = factor
        with code.loop(1, rows) as r:
            made[i + 1 + r, i] = v[r]
        made[i + 1, i] = beta
        rest = whole.part(i + 1, i + 1)
        # w = tau rest v, by rows of the adjoint.
        with code.independent(0, rows) as r:
            w[r] = code.number(0.0)
        with code.loop(0, rows) as r:
            value = factor * v[r]
            with code.independent(0, rows) as c:
                w[c] = w[c] + rest[r, c].conjugate() * value
        product = code.total(0, rows, lambda r: w[r].conjugate() * v[r])
        shift = (factor * product).scaled(half)
        with code.independent(0, rows) as r:
            w[r] = w[r] + shift * v[r]
        with code.loop(0, rows) as r:
            own, other = v[r], w[r]
            with code.independent(0, rows) as c:
                rest[r, c] = rest[r, c] - own * w[c].conjugate() - other * v[c].conjugate()
    with code.loop(0, n) as i:
        value = Number(whole[i, i].re)
        d[i] = value
        made[i, i] = value


def mirror(code: Code, source: Grid, whole: Grid, n: IndexValue, scale: Number) -> None:
    """Both triangles of a Hermitian matrix from the lower one, times a real number."""
    with code.loop(0, n) as i:
        with code.loop(0, i) as j:
            value = source[i, j] * scale
            whole[i, j] = value
            whole[j, i] = value.conjugate()
        whole[i, i] = Number(source[i, i].re * scale.re)

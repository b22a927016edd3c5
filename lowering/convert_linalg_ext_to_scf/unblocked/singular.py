"""
Singular values by one-sided Jacobi rotations, which make the columns of a matrix orthogonal.

See Hestenes (Inversion of matrices by biorthogonalization, 1958) and Demmel and Veselic (Jacobi's method is more
accurate than QR, 1992).
"""

from __future__ import annotations

from dataclasses import dataclass

from ....dialects.support.scalar import Scalar
from ...loop_nests.kernel_builder import Index, IndexValue
from .householder import qr, times_q
from .notation import Code, Counter, Grid, Line, Number, larger
from .symmetric import sort

MOST_SWEEPS = 40
"""Sweeps over all pairs, after which the matrix counts as one that does not converge."""


def rotate_all(code: Code, columns: Grid, rows: IndexValue, n: IndexValue, vectors: Grid | None, info: Line) -> None:
    """
    Rotate n columns, given as rows of `columns`, until they are orthogonal, and rows of `vectors` with them; `info`
    becomes 0, or 1 where they do not converge.
    """
    sweep, turned = Counter(code, 0), Counter(code, 1)
    with code.loop_while(lambda: turned.get().compare("ne", 0) & (sweep.get() < MOST_SWEEPS)):
        turned.set(0)
        sweep.set(code.index(sweep.get() + 1))
        with code.loop(0, n - 1) as p, code.loop(p + 1, n) as q:
            _rotate_pair(code, columns, rows, n, vectors, p, q, turned)
    info[0] = Number(turned.get().compare("ne", 0).select(code.real(1.0), code.real(0.0)))


def _rotate_pair(
    code: Code,
    columns: Grid,
    rows: IndexValue,
    n: IndexValue,
    vectors: Grid | None,
    p: IndexValue,
    q: IndexValue,
    turned: Counter,
) -> None:
    first, second = columns.line(p), columns.line(q)
    alpha, beta = (code.real_total(0, rows, lambda i, x=x: x[i].square()) for x in (first, second))
    gamma = code.total(0, rows, lambda i: first[i].conjugate() * second[i])
    size, one = gamma.length(), code.real(1.0)
    # Columns that are nothing but rounding errors of others end where their squares underflow.
    limit = larger(alpha.sqrt() * beta.sqrt() * (8 * code.eps), code.real(code.tiny / code.eps))
    # False for NaN.
    with code.when(size.compare("gt", limit)):
        turned.set(1)
        zeta = (beta - alpha) / (size * 2.0)
        # Beyond, the square overflows, and the tangent is half of the inverse.
        big = zeta.abs().compare("gt", 1.0 / code.eps)
        root = (zeta * zeta + one).sqrt()
        tangent = (one / (zeta.abs() + big.select(zeta.abs(), root))).copysign(zeta)
        c = one / (tangent * tangent + one).sqrt()
        s = c * tangent
        phase = Number(gamma.re / size, None if gamma.im is None else gamma.im / size)
        _turn(code, first, second, rows, c, s, phase)
        if vectors is not None:
            _turn(code, vectors.line(p), vectors.line(q), n, c, s, phase)


def _turn(code: Code, first: Line, second: Line, count: Index, c: Scalar, s: Scalar, phase: Number) -> None:
    """Rotate the first and the second, times the conjugate of `phase`."""
    back = phase.conjugate()
    with code.independent(0, count) as i:
        x, y = first[i], second[i] * back
        first[i] = x.scaled(c) - y.scaled(s)
        second[i] = x.scaled(s) + y.scaled(c)


def columns_of_r(code: Code, a: Grid, n: IndexValue, columns: Grid, v: Grid | None) -> None:
    """The columns of a matrix's R as rows; the identity in v."""
    zero = code.number(0.0)
    with code.loop(0, n) as i, code.loop(0, n) as j:
        columns[j, i] = a[i, j].selected(i <= j, zero)
    if v is not None:
        code.identity(v, n, n)


def sorted_norms(code: Code, columns: Grid, n: IndexValue, s: Line, v: Grid | None, scale: Scalar) -> None:
    """The norms of orthogonal columns, descending, times `scale`; both are sorted by them."""
    with code.loop(0, n) as k:
        s[k] = Number(code.norm(columns.line(k), n))
    sort(code, s, n, [columns] if v is None else [columns, v], descending=True)
    with code.loop(0, n) as k:
        s[k] = s[k].scaled(scale)


@dataclass(frozen=True)
class LeftVectors:
    """
    Left singular vectors: those of R, times the Q of a matrix.

    The orthogonal columns of R V are Q times a diagonal matrix, to rounding, and their QR factorization gives
    orthogonal vectors also where columns vanish.
    """

    code: Code
    a: Grid
    """The reflectors of the matrix's Q: m rows."""
    tau: Line
    square: Grid
    """Memory for those of R V."""
    square_tau: Line
    v: Line
    w: Line

    def compute(self, m: IndexValue, n: IndexValue, columns: Grid, u: Grid, count: IndexValue) -> None:
        """Write `count` columns of `u`, of m rows: n, or m."""
        code, square = self.code, self.square
        with code.loop(0, n) as i, code.loop(0, n) as j:
            square[i, j] = columns[j, i]
        qr(code, square, n, n, self.square_tau, self.v, self.w)
        code.identity(u, m, count)
        with code.loop(0, n) as k:
            # The diagonal of R is real.
            u[k, k] = Number(code.real(1.0).copysign(square[k, k].re))
        times_q(code, square, self.square_tau, n, u, n, count, self.v, self.w)
        times_q(code, self.a, self.tau, n, u, m, count, self.v, self.w)

"""Eigenvectors from complex Schur forms, and complex Schur forms from real ones."""

from __future__ import annotations

from ....dialects.support.scalar import Scalar
from ...loop_nests.kernel_builder import IndexValue
from .notation import Code, Grid, Line, Number, Variable, larger, power_of_two_below
from .schur import rotation, turn_columns


def complex_form(code: Code, t: Grid, z: Grid, n: IndexValue, wi: Line) -> None:
    """
    Make a real Schur form triangular; t and the vectors, rows of z, are complex already. `wi`: where it is negative,
    the row is the second one of a block; of two conjugate eigenvalues the one above the real axis comes first.
    """
    with code.downwards(1, n) as k, code.when(wi[k].re.compare("lt", 0.0)):
        first = code.index(k - 1)
        middle, below = t[k, k].re, t[k, first]
        part = t[first, k].re.abs().sqrt() * below.re.abs().sqrt()
        c, s, _ = rotation(code, Number(code.real(0.0), part), below)
        upper, lower = t.line(first), t.line(k)
        with code.independent(first, n) as j:
            x, y = upper[j], lower[j]
            upper[j] = x.scaled(c) + s * y
            lower[j] = y.scaled(c) - s.conjugate() * x
        turn_columns(code, t.transposed(), first, 0, k + 1, c, s)
        turn_columns(code, z, first, 0, n, c, s)
        t[k, first] = code.number(0.0, 0.0)
        t[first, first] = Number(middle, part)
        t[k, k] = Number(middle, -part)


def eigenvectors(
    code: Code, t: Grid, q: Grid, n: IndexValue, found: Grid, x: Line, scales: Line | None, left: bool
) -> None:
    """
    Columns of `found`: eigenvectors, of length 1 and with a real largest element, of a matrix with the triangular Schur
    form t and vectors as columns of q. Left ones are those of the transposed form, in reverse order, conjugated.

    x has room for a vector. `scales`: the factors of the rows of a balanced matrix.
    """
    if left:
        t = t.transposed().turned(n)
        q = Grid(code, q.place(0, n - 1), q.row, 0 - q.column, q.complex)
    size = code.largest(0, n, lambda i: code.largest(0, n, lambda j: t[i, j].size()))
    least = larger(size * code.eps, code.real(code.tiny))
    with code.loop(0, n) as k:
        _solve(code, t, k, x, least)
        place = code.index(n - 1 - k) if left else k
        with code.loop(0, n) as i:
            value = code.total(0, k + 1, lambda j, i=i: (q[i, j].conjugate() if left else q[i, j]) * x[j])
            if scales is not None:
                factor = scales[i].re
                value = value.scaled(code.real(1.0) / factor if left else factor)
            found[i, place] = value.conjugate() if left else value
        _normalize(code, found.down(place), n)


def _solve(code: Code, t: Grid, k: IndexValue, x: Line, least: Scalar) -> None:
    """The eigenvector of a triangular matrix for its element k of the diagonal, up to that element."""
    one = code.real(1.0)
    x[k] = Number(one, code.real(0.0))
    value = t[k, k]
    with code.downwards(0, k) as j:
        total = code.total(j + 1, k + 1, lambda c: t[j, c] * x[c])
        pivot = t[j, j] - value
        small = pivot.length().compare("lt", least)
        pivot = Number(least, code.real(0.0)).selected(small, pivot)
        x[j] = -total / pivot
        size = x[j].size()
        # Elements grow by repeated eigenvalues; only their ratios count.
        with code.when(size.compare("gt", 1.0 / code.eps)):
            factor = one / power_of_two_below(size)
            with code.independent(j, k + 1) as i:
                x[i] = x[i].scaled(factor)


def _normalize(code: Code, vector: Line, n: IndexValue) -> None:
    one = code.real(1.0)
    norm = code.norm(vector, n)
    inverse = one / norm.compare("eq", 0.0).select(1.0, norm)
    best, re, im = Variable(code, 0.0), Variable(code, 1.0), Variable(code, 0.0)
    with code.loop(0, n) as i:
        value = vector[i]
        length = value.length()
        with code.when(length.compare("gt", best.get())):
            best.set(length)
            re.set(value.re / length)
            im.set(value.imaginary / length)
    turn = Number(re.get(), -im.get())
    with code.loop(0, n) as i:
        value = vector[i]
        largest = value.length().compare("eq", best.get())
        made = (value * turn).scaled(inverse)
        whole = Number((value.length() * inverse), code.real(0.0))
        same = largest & value.re.compare("eq", re.get() * best.get())
        vector[i] = whole.selected(same, made)


def make_conjugates(code: Code, vectors: Grid, n: IndexValue, wi: Line) -> None:
    """Exactly real vectors for real eigenvalues of a real matrix, and conjugate ones for conjugate ones."""
    zero, one = code.real(0.0), code.real(1.0)
    with code.loop(0, n) as k:
        part = wi[k].re
        real, second = part.compare("eq", 0.0), part.compare("lt", 0.0)
        before = code.index(k - 1).max(0)
        # Where an eigenvalue has several vectors, their real parts have another length.
        length = code.real_total(0, n, lambda i: vectors[i, k].re * vectors[i, k].re).sqrt()
        inverse = one / length.compare("eq", 0.0).select(1.0, length)
        with code.loop(0, n) as i:
            own, first = vectors[i, k], vectors[i, before].conjugate()
            vectors[i, k] = Number(own.re * inverse, zero).selected(real, first.selected(second, own))


def balance(code: Code, a: Grid, n: IndexValue, scales: Line) -> None:
    """Scale rows and columns by powers of two until their norms are alike, as LAPACK's gebal does."""
    one = code.real(1.0)
    with code.loop(0, n) as i:
        scales[i] = code.number(1.0)
    sweep, changed = Variable(code, 0.0), Variable(code, 1.0)
    with code.loop_while(lambda: changed.get().compare("ne", 0.0) & sweep.get().compare("lt", 20.0)):
        changed.set(code.real(0.0))
        sweep.set(sweep.get() + 1.0)
        with code.loop(0, n) as i:
            column, row = code.norm(a.down(i), n), code.norm(a.line(i), n)
            good = column.compare("gt", 0.0) & row.compare("gt", 0.0)
            ratio = good.select(row, one) / good.select(column, one)
            # A power of two near the root of the ratio.
            factor = power_of_two_below((ratio * 2.0).sqrt())
            better = (column * factor + row / factor).compare("lt", (column + row) * 0.95)
            with code.when(good & better):
                changed.set(one)
                scales[i] = scales[i].scaled(factor)
                with code.loop(0, n) as j:
                    a[i, j] = a[i, j].scaled(one / factor)
                with code.loop(0, n) as j:
                    a[j, i] = a[j, i].scaled(factor)

"""
Eigenvalues and eigenvectors of tridiagonal matrices by implicit QL steps.

The method is that of Bowdler, Martin, Reinsch and Wilkinson (The QR and QL algorithms for symmetric matrices, 1968).
"""

from __future__ import annotations

from collections.abc import Sequence

from ....dialects.support.scalar import Scalar
from ...loop_nests.kernel_builder import Index, IndexValue
from .notation import Code, Counter, Grid, Line, Number, Variable, hypotenuse, larger

MOST_STEPS = 60
"""Steps for one eigenvalue, after which the matrix counts as one that does not converge."""


def eigenvalues(code: Code, d: Line, e: Line, n: IndexValue, z: Grid | None, info: Line) -> None:
    """
    Replace the diagonal d by the eigenvalues in ascending order; e, below it, is overwritten. Elements are about 1.

    Row k of z becomes that of eigenvector k: it begins with the columns of the matrix that made T, as rows. `info`
    becomes 0, or 1 where an eigenvalue does not converge.
    """
    info[0] = code.number(0.0)
    _Steps(code, d, e, n, z).run(info)
    sort(code, d, n, [z] if z is not None else [])


class _Steps:
    def __init__(self, code: Code, d: Line, e: Line, n: IndexValue, z: Grid | None):
        self.code = code
        self.d = d
        self.e = e
        self.n = n
        self.z = z
        self.end = Counter(code, 0)
        self.step = Counter(code, 0)
        self.place = Counter(code, 0)
        self.s, self.c, self.p, self.g, self.r = (Variable(code, 0.0) for _ in range(5))

    def run(self, info: Line) -> None:
        code, n, end, step = self.code, self.n, self.end, self.step
        with code.loop(0, n) as first:
            step.set(0)
            self.find_block(first)
            with code.loop_while(lambda: (end.get() > first) & (step.get() < MOST_STEPS)):
                step.set(code.index(step.get() + 1))
                self.ql(first, end.get())
                self.find_block(first)
            with code.when(end.get() > first):
                info[0] = code.number(1.0)

    def find_block(self, first: IndexValue) -> None:
        """Set `end` to the first row from `first` on whose element below is negligible."""
        code, d, e, end = self.code, self.d, self.e, self.end
        end.set(first)

        def coupled() -> Scalar:
            at = end.get()
            last = code.index(code.builder.min(at, self.n - 2)).max(0)
            # The comparison is false for NaN, so that every loop ends.
            whole = larger((d[last].re.abs() + d[last + 1].re.abs()) * code.eps, code.real(code.eps * code.eps))
            return (at < self.n - 1) & e[last].re.abs().compare("gt", whole)

        with code.loop_while(coupled):
            end.set(code.index(end.get() + 1))

    def ql(self, first: IndexValue, last: IndexValue) -> None:
        """One step on rows `first` to `last`."""
        code, d, e, place = self.code, self.d, self.e, self.place
        s, c, p, g, r = self.s, self.c, self.p, self.g, self.r
        one = code.real(1.0)
        shift = (d[first + 1].re - d[first].re) / (e[first].re * 2.0)
        length = hypotenuse(shift, one)
        g.set(d[last].re - d[first].re + e[first].re / (shift + length.copysign(shift)))
        s.set(one)
        c.set(one)
        p.set(code.real(0.0))
        r.set(one)
        place.set(last - 1)
        with code.loop_while(lambda: (place.get() >= first) & r.get().compare("ne", 0.0)):
            self.rotate(place.get(), last)
        # Where a rotation vanished, its rows are a block of their own now.
        with code.when(r.get().compare("ne", 0.0)):
            d[first] = Number(d[first].re - p.get())
            e[first] = Number(g.get())
            e[last] = code.number(0.0)

    def rotate(self, i: IndexValue, last: IndexValue) -> None:
        code, d, e = self.code, self.d, self.e
        s, c, p, g, r = self.s, self.c, self.p, self.g, self.r
        f, b = s.get() * e[i].re, c.get() * e[i].re
        length = hypotenuse(f, g.get())
        r.set(length)
        e[i + 1] = Number(length)
        with code.when(length.compare("eq", 0.0)):
            d[i + 1] = Number(d[i + 1].re - p.get())
            e[last] = code.number(0.0)
        with code.otherwise():
            s.set(f / length)
            c.set(g.get() / length)
            start = d[i + 1].re - p.get()
            turn = (d[i].re - start) * s.get() + c.get() * b * 2.0
            p.set(s.get() * turn)
            d[i + 1] = Number(start + p.get())
            g.set(c.get() * turn - b)
            if self.z is not None:
                rotate_rows(code, self.z, i, i + 1, self.n, c.get(), -s.get())
            self.place.set(i - 1)


def rotate_rows(code: Code, z: Grid, i: Index, j: Index, n: IndexValue, c: Scalar, s: Scalar) -> None:
    """`row i, row j = c row i + s row j, c row j - s row i`."""
    first, second = z.line(i), z.line(j)
    with code.independent(0, n) as k:
        x, y = first[k], second[k]
        first[k] = x.scaled(c) + y.scaled(s)
        second[k] = y.scaled(c) - x.scaled(s)


def sort(code: Code, values: Line, n: IndexValue, grids: Sequence[Grid], descending: bool = False) -> None:
    """Sort values, and the rows of square matrices with them."""
    builder = code.builder
    with code.loop(0, n - 1) as i:
        with builder.loop(i + 1, n, carry=[values[i].re, i]) as (j, state):
            value = values[j].re
            before = value.compare("gt" if descending else "lt", state[0])
            builder.yield_(before.select(value, state[0]), before.select(j.value, state[1]))
        found = builder.index(state[1])
        with code.when(found.compare("ne", i)):
            values[found] = values[i]
            values[i] = Number(code.real(state[0]))
            for grid in grids:
                first, second = grid.line(i), grid.line(found)
                with code.independent(0, n) as k:
                    x, y = first[k], second[k]
                    first[k] = y
                    second[k] = x

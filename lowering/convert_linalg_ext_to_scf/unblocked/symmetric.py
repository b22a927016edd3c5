"""
Eigenvalues and eigenvectors of tridiagonal matrices by implicit QL and QR steps.

The method is that of Bowdler, Martin, Reinsch and Wilkinson (The QR and QL algorithms for symmetric matrices, 1968), in
the order of LAPACK's steqr, which decides the signs of vectors.
"""

from __future__ import annotations

from collections.abc import Sequence

from ....dialects.support.scalar import Scalar
from ...loop_nests.kernel_builder import Index, IndexValue
from .notation import Code, Counter, Grid, Line, Number, Variable, hypotenuse
from .rotations import turn_rows

MOST_STEPS = 30
"""Steps for each row, after which the matrix counts as one that does not converge."""


def eigenvalues(code: Code, d: Line, e: Line, n: IndexValue, z: Grid | None, info: Line) -> None:
    """
    Replace the diagonal d by the eigenvalues in ascending order; e, below it, is overwritten. Elements are about 1.

    Row k of z becomes that of eigenvector k: it begins with the columns of the matrix that made T, as rows, which have
    whole vectors (`padded`). `info`
    becomes 0, or 1 where an eigenvalue does not converge.
    """
    info[0] = code.number(0.0)
    _Steps(code, d, e, n, z).run(info)
    sort(code, d, n, [z] if z is not None else [])


class _Steps:
    """
    Blocks are worked off from the top, each from the end whose diagonal element is smaller in size: `way` is 1, or -1
    for a block that is worked off upwards.
    """

    def __init__(self, code: Code, d: Line, e: Line, n: IndexValue, z: Grid | None):
        self.code = code
        self.d = d
        self.e = e
        self.n = n
        self.z = z
        self.steps, self.next, self.at, self.last, self.end, self.way = (Counter(code, 0) for _ in range(6))
        self.s, self.c, self.p, self.g, self.r = (Variable(code, 0.0) for _ in range(5))
        # Squares of this size are exact enough.
        self.small = code.tiny / code.eps**2

    def run(self, info: Line) -> None:
        code, n = self.code, self.n
        most = code.index(n * MOST_STEPS)
        with code.loop_while(lambda: (self.next.get() < n) & (self.steps.get() < most)):
            self.find_block()
            with code.loop_while(lambda: self.remains() & (self.steps.get() < most)):
                self.find_end()
                self.deflate()
        with code.when(self.next.get() < n):
            info[0] = code.number(1.0)
        with code.when(self.remains()):
            info[0] = code.number(1.0)

    def remains(self) -> Scalar:
        """Whether rows of the block are left."""
        return _on_way(self.last.get() - self.at.get(), self.way.get()).compare("ge", 0)

    def below(self, i: IndexValue) -> IndexValue:
        """The number of the element between row i and the one after it on the way."""
        return self.code.index(self.code.builder.min(i, self.code.index(i + self.way.get())))

    def find_block(self) -> None:
        """Set the block's ends and the way; the next block begins after it."""
        code, d, e, end = self.code, self.d, self.e, self.end
        first = self.next.get()
        end.set(first)

        def coupled() -> Scalar:
            i = code.index(code.builder.min(end.get(), self.n - 2)).max(0)
            # The comparisons are false for NaN, so that every loop ends.
            least = d[i].re.abs().sqrt() * d[i + 1].re.abs().sqrt() * (code.eps / 2)
            size = e[i].re.abs()
            return (end.get() < self.n - 1) & size.compare("gt", least) & size.compare("gt", 0.0)

        with code.loop_while(coupled):
            end.set(code.index(end.get() + 1))
        last = end.get()
        with code.when(last < self.n - 1):
            e[last] = code.number(0.0)
        upwards = d[last].re.abs().compare("lt", d[first].re.abs())
        builder = code.builder
        self.way.set(builder.select(upwards, -1, 1))
        self.at.set(builder.select(upwards, last, first))
        self.last.set(builder.select(upwards, first, last))
        self.next.set(code.index(last + 1))

    def find_end(self) -> None:
        """Set `end` to the first row from `at` on whose element below is negligible."""
        code, d, e, end = self.code, self.d, self.e, self.end
        end.set(self.at.get())

        def coupled() -> Scalar:
            i = end.get()
            more = i.compare("ne", self.last.get())
            following = code.builder.select(more, i + self.way.get(), i)
            size = e[code.index(code.builder.min(i, following))].re
            least = d[i].re.abs() * ((code.eps / 2) * (code.eps / 2)) * d[following].re.abs() + code.tiny
            return more & (size * size).compare("gt", least)

        with code.loop_while(coupled):
            end.set(code.index(end.get() + self.way.get()))

    def deflate(self) -> None:
        """Split a row, or two of them, off the block, or make a step."""
        code, e, way = self.code, self.e, self.way.get()
        first, end = self.at.get(), self.end.get()
        with code.when(end.compare("ne", self.last.get())):
            e[self.below(end)] = code.number(0.0)
        count = _on_way(end - first, way)
        with code.when(count.compare("eq", 0)):
            self.at.set(code.index(first + way))
        with code.when(count.compare("eq", 1)):
            self.pair(self.below(first))
            self.at.set(code.index(first + way + way))
        with code.when(count > 1):
            self.steps.set(code.index(self.steps.get() + 1))
            self.ql(first, end, way)

    def pair(self, i: IndexValue) -> None:
        """The eigenvalues of rows i and i + 1, and the rotation to their vectors: the larger one in size is first."""
        code, d, e = self.code, self.d, self.e
        a, b, c = d[i].re, e[i].re, d[i + 1].re
        total, difference, twice = a + c, a - c, b + b
        root = hypotenuse(difference, twice)
        negative, right = total.compare("lt", 0.0), difference.compare("ge", 0.0)
        first = negative.select(total - root, total + root) * 0.5
        larger_one = a.abs().compare("gt", c.abs())
        most, least = larger_one.select(a, c), larger_one.select(c, a)
        divisor = first.compare("eq", 0.0).select(1.0, first)
        second = (most / divisor) * least - (b / divisor) * b
        second = total.compare("eq", 0.0).select(root * -0.5, second)
        cosine = right.select(difference + root, difference - root)
        by_cosine = cosine.abs().compare("gt", twice.abs())
        upper, lower = by_cosine.select(twice, cosine), by_cosine.select(cosine, twice)
        none = lower.compare("eq", 0.0)
        tangent = -upper / none.select(1.0, lower)
        one = code.real(1.0) / (tangent * tangent + 1.0).sqrt()
        other = none.select(0.0, tangent * one)
        cs, sn = by_cosine.select(other, one), by_cosine.select(one, other)
        same = negative ^ right
        cs, sn = same.select(-sn, cs), same.select(cs, sn)
        if self.z is not None:
            turn_rows(code, self.z, i, code.index(i + 1), cs, sn)
        d[i], d[i + 1], e[i] = Number(first), Number(second), code.number(0.0)

    def ql(self, first: IndexValue, end: IndexValue, way: IndexValue) -> None:
        """One step on rows `first` to `end`."""
        code, d, e, place = self.code, self.d, self.e, self.end
        s, c, p, g = self.s, self.c, self.p, self.g
        below = e[self.below(first)].re
        shift = (d[first + way].re - d[first].re) / (below * 2.0)
        length = hypotenuse(shift, code.real(1.0))
        g.set(d[end].re - d[first].re + below / (shift + length.copysign(shift)))
        s.set(code.real(1.0))
        c.set(code.real(1.0))
        p.set(code.real(0.0))
        place.set(code.index(end - way))
        with code.loop_while(lambda: _on_way(place.get() - first, way).compare("ge", 0)):
            self.rotate(place.get(), end, way)
            place.set(code.index(place.get() - way))
        d[first] = Number(d[first].re - p.get())
        e[self.below(first)] = Number(g.get())

    def rotate(self, i: IndexValue, end: IndexValue, way: IndexValue) -> None:
        code, d, e = self.code, self.d, self.e
        s, c, p, g, r = self.s, self.c, self.p, self.g, self.r
        own, following = e[self.below(i)].re, code.index(i + way)
        f, b = s.get() * own, c.get() * own
        square = f * f + g.get() * g.get()
        r.set(square.sqrt())
        with code.when(square.compare("lt", self.small)):
            r.set(hypotenuse(f, g.get()))
        length = r.get()
        # A rotation of nothing is the identity.
        none = f.compare("eq", 0.0)
        divisor = length.compare("eq", 0.0).select(1.0, length)
        c.set(none.select(1.0, g.get().abs() / divisor))
        signed = none.select(g.get(), divisor.copysign(g.get()))
        s.set(none.select(0.0, f / none.select(1.0, signed)))
        with code.when(following.compare("ne", end)):
            e[self.below(following)] = Number(signed)
        start = d[following].re - p.get()
        turn = (d[i].re - start) * s.get() + c.get() * b * 2.0
        p.set(s.get() * turn)
        d[following] = Number(start + p.get())
        g.set(c.get() * turn - b)
        if self.z is not None:
            turn_rows(code, self.z, i, following, c.get(), -s.get())


def _on_way(distance: Index, way: IndexValue) -> IndexValue:
    """A distance on the way."""
    return way.builder.index(way * distance)


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

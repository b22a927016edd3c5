"""
Schur forms of Hessenberg matrices by implicit QR steps: with one shift if they are complex, with two if they are real.

The real steps and the standard form of blocks of two rows are those of LAPACK's lahqr and lanv2.
"""

from __future__ import annotations

from ....dialects.support.scalar import Scalar
from ...loop_nests.kernel_builder import Index, IndexValue
from .householder import reflector
from .notation import Code, Counter, Grid, Line, Number, Variable, hypotenuse, larger, smaller

STEPS = 30
"""Steps for one eigenvalue, on the average, after which the matrix counts as one that does not converge."""


class SchurSteps:
    """
    Reduces h to its Schur form; the rows of z, vectors, are multiplied by the same rotations. Where not the `whole`
    form is wanted, what lies outside of the blocks is not computed.
    """

    def __init__(self, code: Code, h: Grid, n: IndexValue, z: Grid | None, v: Line, whole: bool = True):
        self.code = code
        self.h = h
        self.n = n
        self.z = z
        self.v = v
        self.whole = whole
        self.first = Counter(code, 0)
        self.last = Counter(code, 0)
        self.step = Counter(code, 0)
        self.left = Counter(code, 0)
        self.norm = Variable(code, 0.0)

    def run(self, info: Line) -> None:
        """`info` becomes 0, or the number from 1 of the row whose eigenvalue does not converge."""
        code, n, h = self.code, self.n, self.h
        info[0] = code.number(0.0)
        self.last.set(n - 1)
        self.left.set(code.index(n.max(10) * STEPS))
        self.norm.set(code.largest(0, n, lambda i: code.largest(0, n, lambda j: h[i, j].size())))
        with code.loop_while(lambda: self.last.get() >= 0):
            self.find_block()
            first, last = self.first.get(), self.last.get()
            with code.when(first > last - self.block):
                self.deflate(first, last)
                self.last.set(first - 1)
                self.step.set(0)
            with code.otherwise():
                self.step.set(code.index(self.step.get() + 1))
                self.left.set(code.index(self.left.get() - 1))
                self.qr(first, last)
                with code.when(self.left.get() <= 0):
                    info[0] = Number(code.float_of(last + 1))
                    self.last.set(-1)

    block = 1
    """The most rows of a block that is left."""

    def find_block(self) -> None:
        """Set `first` to the last row up to `last` whose element left of the diagonal is negligible, and make it 0."""
        code, h, first = self.code, self.h, self.first
        first.set(self.last.get())

        def coupled() -> Scalar:
            at = first.get()
            k = at.max(1)
            near = h[k - 1, k - 1].length() + h[k, k].length()
            whole = near.compare("eq", 0.0).select(self.norm.get(), near)
            return (at > 0) & h[k, k - 1].length().compare("gt", larger(whole * code.eps, code.real(code.tiny)))

        with code.loop_while(coupled):
            first.set(code.index(first.get() - 1))
        with code.when(first.get() > 0):
            h[first.get(), first.get() - 1] = code.number(0.0)

    def is_unusual(self) -> Scalar:
        """Whether a shift of another kind is due, because the usual ones may go round in circles."""
        return self.code.index(self.step.get() % 10).compare("eq", 0)

    def deflate(self, first: IndexValue, last: IndexValue) -> None:
        """Finish the block of rows `first` to `last`."""

    def qr(self, first: IndexValue, last: IndexValue) -> None:
        """One step on the block."""
        raise NotImplementedError


class ComplexSteps(SchurSteps):
    """Steps with Wilkinson's shift."""

    def qr(self, first: IndexValue, last: IndexValue) -> None:
        code, h = self.code, self.h
        shift = self.shift(first, last)
        bulge_re, bulge_im = Variable(code, 0.0), Variable(code, 0.0)
        start = h[first, first] - shift
        bulge_re.set(start.re)
        bulge_im.set(start.imaginary)
        with code.loop(first, last) as k:
            own = Number(bulge_re.get(), bulge_im.get())
            c, s, made = rotation(code, own, h[k + 1, self.column(k, first)])
            with code.when(k > first):
                h[k, k - 1] = made
                h[k + 1, k - 1] = code.number(0.0)
            upper, lower = h.line(k), h.line(k + 1)
            with code.independent(k, self.n if self.whole else last + 1) as j:
                x, y = upper[j], lower[j]
                upper[j] = x.scaled(c) + s * y
                lower[j] = y.scaled(c) - s.conjugate() * x
            end = code.builder.min(k + 3, code.index(last + 1))
            turn_columns(code, h.transposed(), k, 0 if self.whole else first, end, c, s)
            if self.z is not None:
                turn_columns(code, self.z, k, 0, self.n, c, s)
            bulge = h[k + 1, k]
            bulge_re.set(bulge.re)
            bulge_im.set(bulge.imaginary)

    def column(self, k: IndexValue, first: IndexValue) -> IndexValue:
        """The column of the bulge: the first one begins in column `first`, the others left of the diagonal."""
        return (self.code.index(k - 1)).max(first)

    def shift(self, first: IndexValue, last: IndexValue) -> Number:
        code, h = self.code, self.h
        corner, above = h[last, last], h[last - 1, last - 1]
        product = h[last - 1, last] * h[last, last - 1]
        half = (above - corner).scaled(0.5)
        root = (half * half + product).root()
        against = (half.conjugate() * root).re.compare("lt", 0.0)
        sum_ = half + (-root).selected(against, root)
        zero = sum_.size().compare("eq", 0.0)
        usual = corner - (product / Number(code.real(1.0), code.real(0.0)).selected(zero, sum_))
        other = h[last, last] + Number(h[last, last - 1].length() * 0.75, code.real(0.0))
        return other.selected(self.is_unusual(), usual)


def rotation(code: Code, x: Number, y: Number) -> tuple[Scalar, Number, Number]:
    """c, real, s and r with `c x + s y = r` and `c y = conj(s) x`."""
    one, zero = code.real(1.0), code.real(0.0)
    first, second = x.length(), y.length()
    length = hypotenuse(first, second)
    nothing = first.compare("eq", 0.0)
    none = second.compare("eq", 0.0)
    safe = first.compare("eq", 0.0).select(one, first)
    phase = Number(one, zero).selected(nothing, Number(x.re / safe, x.imaginary / safe))
    divisor = length.compare("eq", 0.0).select(one, length)
    c = none.select(one, first / divisor)
    s = phase * y.conjugate()
    s = Number(s.re / divisor, s.imaginary / divisor)
    made = phase.scaled(length)
    return c, Number(none.select(zero, s.re), none.select(zero, s.imaginary)), made


def turn_columns(code: Code, rows: Grid, k: Index, low: Index, high: Index, c: Scalar, s: Number) -> None:
    """Multiply columns k and k + 1, given as rows, from `low` to `high - 1`, by the adjoint of a rotation of rows."""
    first, second, back = rows.line(k), rows.line(k + 1), s.conjugate()
    with code.independent(low, high) as i:
        x, y = first[i], second[i]
        first[i] = x.scaled(c) + y * back
        second[i] = y.scaled(c) - x * s


class RealSteps(SchurSteps):
    """Francis's double steps; blocks of two rows are left in LAPACK's standard form. h has a row and column more."""

    block = 2

    def __init__(
        self, code: Code, h: Grid, n: IndexValue, z: Grid | None, v: Line, wr: Line, wi: Line, whole: bool = True
    ):
        super().__init__(code, h, n, z, v, whole)
        self.wr = wr
        self.wi = wi
        self.start = Counter(code, 0)
        self.shifts = [Variable(code, 0.0) for _ in range(4)]
        self.bulge = [Variable(code, 0.0) for _ in range(3)]

    def deflate(self, first: IndexValue, last: IndexValue) -> None:
        code, h = self.code, self.h
        with code.when(first.compare("eq", last)):
            self.wr[last] = h[last, last]
            self.wi[last] = code.number(0.0)
        with code.otherwise():
            block = Block(code, h, first)
            c, s = block.standardize(self.wr, self.wi)
            with code.independent(first + 2, self.n) as j:
                x, y = h[first, j].re, h[last, j].re
                h[first, j] = Number(x * c + y * s)
                h[last, j] = Number(y * c - x * s)
            for grid, count in ((h.transposed(), first), (self.z, self.n)):
                if grid is None:
                    continue
                upper, lower = grid.line(first), grid.line(last)
                with code.independent(0, count) as j:
                    x, y = upper[j].re, lower[j].re
                    upper[j] = Number(x * c + y * s)
                    lower[j] = Number(y * c - x * s)

    def qr(self, first: IndexValue, last: IndexValue) -> None:
        code, h = self.code, self.h
        self.find_shifts(first, last)
        self.find_start(first, last)
        with code.loop(self.start.get(), last) as k:
            inside = k > self.start.get()
            third = k < last - 1
            before = code.index(k - 1).max(0)
            for place in range(3):
                found = inside.select(h[k + place, before].re, self.bulge[place].get())
                if place == 2:
                    found = third.select(found, code.real(0.0))
                self.v[place] = Number(found)
            beta, tau = reflector(code, self.v, 3, self.v.after(3))
            t1, v2, v3 = tau.re, self.v[1].re, self.v[2].re
            with code.when(inside):
                h[k, before] = beta
                h[k + 1, before] = code.number(0.0)
                with code.when(third):
                    h[k + 2, before] = code.number(0.0)
            with code.otherwise(), code.when(k > first):
                h[k, before] = Number(h[k, before].re * (1.0 - t1))
            end = code.builder.min(k + 4, code.index(last + 1))
            columns, rows = (self.n, 0) if self.whole else (last + 1, first)
            for grid, low, high in ((h, k, columns), (h.transposed(), rows, end), (self.z, 0, self.n)):
                if grid is None:
                    continue
                lines = [grid.line(k), grid.line(k + 1), grid.line(k + 2)]
                with code.independent(low, high) as j:
                    x, y, w = (line[j].re for line in lines)
                    total = x + v2 * y + v3 * w
                    for line, old, factor in zip(lines, (x, y, w), (t1, t1 * v2, t1 * v3), strict=True):
                        line[j] = Number(old - total * factor)

    def find_shifts(self, first: IndexValue, last: IndexValue) -> None:
        code, h = self.code, self.h
        corner = [h[last - 1, last - 1].re, h[last - 1, last].re, h[last, last - 1].re, h[last, last].re]
        near = h[last, last - 1].re.abs() + h[last - 1, code.index(last - 2).max(0)].re.abs()
        other = near * 0.75 + h[last, last].re
        unusual = self.is_unusual()
        changed = [other, near * -0.4375, near, other]
        h11, h12, h21, h22 = (unusual.select(a, b) for a, b in zip(changed, corner, strict=True))
        size = h11.abs() + h12.abs() + h21.abs() + h22.abs()
        size = size.compare("eq", 0.0).select(1.0, size)
        h11, h12, h21, h22 = (x / size for x in (h11, h12, h21, h22))
        trace = (h11 + h22) * 0.5
        det = (h11 - trace) * (h22 - trace) - h12 * h21
        root = det.abs().sqrt()
        pair = det.compare("ge", 0.0)
        up, down = trace + root, trace - root
        nearest = (up - h22).abs().compare("le", (down - h22).abs()).select(up, down)
        re = pair.select(trace, nearest) * size
        im = pair.select(root, 0.0) * size
        for variable, value in zip(self.shifts, (re, im, re, -im), strict=True):
            variable.set(value)

    def find_start(self, first: IndexValue, last: IndexValue) -> None:
        """The row where the bulge begins, as low as two small elements in a row allow, and its first column."""
        code, h, start = self.code, self.h, self.start
        re, im, _, _ = (variable.get() for variable in self.shifts)
        start.set(last - 2)

        def vector(m: IndexValue) -> list[Scalar]:
            below = h[m + 1, m].re
            size = (h[m, m].re - re).abs() + im.abs() + below.abs()
            size = size.compare("eq", 0.0).select(1.0, size)
            below = below / size
            one = (h[m, m].re - re) * ((h[m, m].re - re) / size) + im * (im / size) + below * h[m, m + 1].re
            two = below * (h[m, m].re + h[m + 1, m + 1].re - re - re)
            three = below * h[m + 2, m + 1].re
            size = one.abs() + two.abs() + three.abs()
            size = size.compare("eq", 0.0).select(1.0, size)
            return [one / size, two / size, three / size]

        def above() -> Scalar:
            m = start.get()
            one, two, three = vector(m)
            before = code.index(m - 1).max(0)
            near = h[before, before].re.abs() + h[m, m].re.abs() + h[m + 1, m + 1].re.abs()
            small = (h[m, before].re.abs() * (two.abs() + three.abs())).compare("le", one.abs() * near * code.eps)
            return (m > first) & code.negated(small)

        with code.loop_while(above):
            start.set(code.index(start.get() - 1))
        for variable, value in zip(self.bulge, vector(start.get()), strict=True):
            variable.set(value)


class Block:
    """A block of two rows of a real matrix."""

    def __init__(self, code: Code, h: Grid, first: IndexValue):
        self.code = code
        self.h = h
        self.first = first
        last = first + 1
        self.places = [(first, first), (first, last), (last, first), (last, last)]
        self.a, self.b, self.c, self.d = (Variable(code, h[place].re) for place in self.places)
        self.cs, self.sn = Variable(code, 1.0), Variable(code, 0.0)

    def standardize(self, wr: Line, wi: Line) -> tuple[Scalar, Scalar]:
        """As LAPACK's lanv2: the block's standard form and its eigenvalues; the rotation's cosine and sine."""
        code, one, zero = self.code, self.code.real(1.0), self.code.real(0.0)
        a, b, c, d, cs, sn = self.a, self.b, self.c, self.d, self.cs, self.sn
        with code.when(c.get().compare("ne", 0.0)):
            with code.when(b.get().compare("eq", 0.0)):
                cs.set(zero)
                sn.set(one)
                first = a.get()
                a.set(d.get())
                d.set(first)
                b.set(-c.get())
                c.set(zero)
            with code.otherwise():
                equal = (a.get() - d.get()).compare("eq", 0.0)
                opposite = (b.get().compare("gt", 0.0)) ^ (c.get().compare("gt", 0.0))
                with code.when(code.negated(equal & opposite)):
                    self._reduce()
        values = [variable.get() for variable in (a, b, c, d)]
        for place, value in zip(self.places, values, strict=True):
            self.h[place] = Number(value)
        wr[self.first] = Number(values[0])
        wr[self.first + 1] = Number(values[3])
        part = values[2].compare("eq", 0.0).select(0.0, values[1].abs().sqrt() * values[2].abs().sqrt())
        wi[self.first] = Number(part)
        wi[self.first + 1] = Number(-part)
        return cs.get(), sn.get()

    def _reduce(self) -> None:
        code, one = self.code, self.code.real(1.0)
        a, b, c, d = (variable.get() for variable in (self.a, self.b, self.c, self.d))
        p = (a - d) * 0.5
        most = larger(b.abs(), c.abs())
        least = smaller(b.abs(), c.abs()) * one.copysign(b) * one.copysign(c)
        scale = larger(p.abs(), most)
        z = p / scale * p + most / scale * least
        with code.when(z.compare("ge", 4 * code.eps)):
            root = p + (scale.sqrt() * z.sqrt()).copysign(p)
            length = hypotenuse(c, root)
            self.a.set(d + root)
            self.d.set(d - most / root * least)
            self.cs.set(root / length)
            self.sn.set(c / length)
            self.b.set(b - c)
            self.c.set(code.real(0.0))
        with code.otherwise():
            self._equalize(a, b, c, d)

    def _equalize(self, a: Scalar, b: Scalar, c: Scalar, d: Scalar) -> None:
        """Complex, or nearly equal real eigenvalues: make the elements of the diagonal equal."""
        code, one, zero = self.code, self.code.real(1.0), self.code.real(0.0)
        sigma, difference = b + c, a - d
        length = hypotenuse(sigma, difference)
        cs = ((sigma.abs() / length + 1.0) * 0.5).sqrt()
        sn = -(difference * 0.5 / (length * cs)) * one.copysign(sigma)
        aa, bb, cc, dd = a * cs + b * sn, b * cs - a * sn, c * cs + d * sn, d * cs - c * sn
        a, b, c, d = aa * cs + cc * sn, bb * cs + dd * sn, cc * cs - aa * sn, dd * cs - bb * sn
        middle = (a + d) * 0.5
        for variable, value in zip((self.a, self.b, self.c, self.d), (middle, b, c, middle), strict=True):
            variable.set(value)
        self.cs.set(cs)
        self.sn.set(sn)
        with code.when(c.compare("ne", 0.0)):
            with code.when(b.compare("eq", 0.0)):
                self.b.set(-c)
                self.c.set(zero)
                self.cs.set(-sn)
                self.sn.set(cs)
            with code.otherwise():
                same = code.negated(b.compare("gt", 0.0) ^ c.compare("gt", 0.0))
                with code.when(same):
                    first, second = b.abs().sqrt(), c.abs().sqrt()
                    p = (first * second).copysign(c)
                    inverse = one / (b + c).abs().sqrt()
                    self.a.set(middle + p)
                    self.d.set(middle - p)
                    self.b.set(b - c)
                    self.c.set(zero)
                    turn, side = first * inverse, second * inverse
                    self.cs.set(cs * turn - sn * side)
                    self.sn.set(cs * side + sn * turn)

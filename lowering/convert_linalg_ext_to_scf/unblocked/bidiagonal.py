"""
Singular values and vectors of real bidiagonal matrices by implicit QR steps, with or without shifts.

The method is that of Demmel and Kahan (Accurate singular values of bidiagonal matrices, 1990), in the order of LAPACK's
bdsqr, which decides the signs of vectors.
"""

from __future__ import annotations

from dataclasses import replace

from ....dialects.support.scalar import Scalar
from ...loop_nests.kernel_builder import IndexValue
from .notation import Code, Counter, Grid, Line, Number, Variable, hypotenuse, larger, smaller
from .rotations import turn_rows
from .singular_pairs import least_singular_value, singular_pair

MOST_STEPS = 8
"""Steps for each pair of rows, after which the matrix counts as one that does not converge."""


class BidiagonalSteps:
    """
    Replaces the diagonal d by singular values, in any order; e, above it, is overwritten. Rows of u and v, which begin
    as identities, become vectors. Blocks are worked off from the last row; `way` is 1 where one is chased downwards.
    """

    def __init__(self, code: Code, d: Line, e: Line, n: IndexValue, u: Grid, v: Grid):
        self.code = code
        self.d = d
        self.e = e
        self.n = n
        self.u = u
        self.v = v
        self.steps, self.low, self.high, self.old_low, self.old_high = (Counter(code, 0) for _ in range(5))
        self.way, self.split, self.at = Counter(code, 1), Counter(code, 0), Counter(code, 0)
        self.least, self.most, self.shift, self.limit, self.mu = (Variable(code, 0.0) for _ in range(5))
        self.f, self.g, self.c, self.s, self.oc, self.os = (Variable(code, 0.0) for _ in range(6))
        self.rounding = code.eps / 2
        self.tolerance = max(10.0, min(100.0, self.rounding**-0.125)) * self.rounding

    def run(self, info: Line) -> None:
        code, n, high = self.code, self.n, self.high
        info[0] = code.number(0.0)
        self.set_limit()
        most = code.index(code.index(n * n) * MOST_STEPS)
        high.set(code.index(n - 1))
        self.old_low.set(-1)
        self.old_high.set(-1)
        with code.loop_while(lambda: (high.get() > 0) & (self.steps.get() < most)):
            self.steps.set(code.index(self.steps.get() + 1))
            self.find_block()
            size = code.index(high.get() - self.low.get())
            with code.when(size.compare("eq", 0)):
                high.set(code.index(high.get() - 1))
            with code.when(size.compare("eq", 1)):
                self.pair(self.low.get())
                high.set(code.index(high.get() - 2))
            with code.when(size > 1):
                self.choose_way()
                self.step()
        with code.when(high.get() > 0):
            info[0] = code.number(1.0)
        self.make_positive()

    def set_limit(self) -> None:
        """Elements above the diagonal up to this size are negligible."""
        code, d, e = self.code, self.d, self.e
        self.least.set(d[0].re.abs())
        self.mu.set(d[0].re.abs())
        with code.loop(1, self.n) as i:
            self.follow(d[i].re.abs(), e[i - 1].re.abs())
        root = code.float_of(self.n).sqrt()
        floor = code.float_of(code.index(self.n * self.n) * 6) * code.tiny
        self.limit.set(larger(self.least.get() / root * self.tolerance, floor))

    def follow(self, size: Scalar, above: Scalar) -> None:
        """One term of the bound of the least singular value."""
        mu = self.mu.get()
        whole = mu + above
        self.mu.set(size * (mu / whole.compare("eq", 0.0).select(1.0, whole)))
        self.least.set(smaller(self.mu.get(), self.least.get()))

    def find_block(self) -> None:
        """Set `low` to the first row of the block that ends at `high`, and `most` to its largest element."""
        code, d, e, low, high = self.code, self.d, self.e, self.low, self.high
        low.set(high.get())
        self.most.set(d[high.get()].re.abs())

        def coupled() -> Scalar:
            above = code.index(low.get() - 1).max(0)
            # False for NaN.
            return (low.get() > 0) & e[above].re.abs().compare("gt", self.limit.get())

        with code.loop_while(coupled):
            i = code.index(low.get() - 1)
            self.most.set(larger(self.most.get(), larger(d[i].re.abs(), e[i].re.abs())))
            low.set(i)
        with code.when(low.get() > 0):
            e[code.index(low.get() - 1)] = code.number(0.0)

    def pair(self, i: IndexValue) -> None:
        code, d, e = self.code, self.d, self.e
        found = singular_pair(d[i].re, e[i].re, d[i + 1].re, self.rounding)
        d[i], e[i], d[i + 1] = Number(found.most), code.number(0.0), Number(found.least)
        turn_rows(code, self.v, i, code.index(i + 1), found.right_cosine, found.right_sine)
        turn_rows(code, self.u, i, code.index(i + 1), found.left_cosine, found.left_sine)

    def choose_way(self) -> None:
        """A new block is chased from its larger end to the smaller one."""
        code, d, low, high = self.code, self.d, self.low.get(), self.high.get()
        with code.when((low > self.old_high.get()) | (high < self.old_low.get())):
            downwards = d[low].re.abs().compare("ge", d[high].re.abs())
            self.way.set(code.builder.select(downwards, 1, -1))

    def above(self, i: IndexValue) -> IndexValue:
        """The number of the element between row i and the one after it on the way."""
        return self.code.index(self.code.builder.min(i, self.code.index(i + self.way.get())))

    def step(self) -> None:
        code, d, e, builder = self.code, self.d, self.e, self.code.builder
        down = self.way.get() > 0
        first = builder.select(down, self.low.get(), self.high.get())
        last = builder.select(down, self.high.get(), self.low.get())
        before_last = self.above(code.index(last - self.way.get()))
        with code.when(e[before_last].re.abs().compare("le", d[last].re.abs() * self.tolerance)):
            e[before_last] = code.number(0.0)
        with code.otherwise():
            self.find_split(first, last)
            with code.when(self.split.get().compare("eq", 0)):
                self.old_low.set(self.low.get())
                self.old_high.set(self.high.get())
                self.set_shift(first, before_last)
                with code.when(self.shift.get().compare("eq", 0.0)):
                    self.chase_without_shift(first, last)
                with code.otherwise():
                    self.chase(first, last)
                with code.when(e[before_last].re.abs().compare("le", self.limit.get())):
                    e[before_last] = code.number(0.0)

    def find_split(self, first: IndexValue, last: IndexValue) -> None:
        """Whether an element above the diagonal is negligible, which becomes 0; else a bound of the least value."""
        code, d, e, at, way = self.code, self.d, self.e, self.at, self.way.get()
        self.split.set(0)
        self.mu.set(d[first].re.abs())
        self.least.set(d[first].re.abs())
        at.set(first)
        with code.loop_while(lambda: at.get().compare("ne", last) & self.split.get().compare("eq", 0)):
            i = at.get()
            size, place = code.index(i + way), self.above(i)
            above = e[place].re.abs()
            with code.when(above.compare("le", self.mu.get() * self.tolerance)):
                e[place] = code.number(0.0)
                self.split.set(1)
            with code.otherwise():
                self.follow(d[size].re.abs(), above)
            at.set(size)

    def set_shift(self, first: IndexValue, before_last: IndexValue) -> None:
        """The least singular value of the last two rows, or 0 where it would spoil small ones, or is nothing."""
        code, d, e = self.code, self.d, self.e
        shift = least_singular_value(d[before_last].re, e[before_last].re, d[before_last + 1].re)
        ratio = self.least.get() / self.most.get() * (code.float_of(self.n) * self.tolerance)
        small = ratio.compare("le", max(self.rounding, 0.01 * self.tolerance))
        start = d[first].re.abs()
        part = shift / start.compare("eq", 0.0).select(1.0, start)
        nothing = start.compare("gt", 0.0) & (part * part).compare("lt", self.rounding)
        self.shift.set((small | nothing).select(0.0, shift))

    def grids(self) -> tuple[Grid, Grid]:
        """The vectors of the side that is rotated first, and of the other one."""
        down, builder = self.way.get() > 0, self.code.builder
        places = [self.code.index(grid.at) for grid in (self.v, self.u)]
        first = builder.select(down, places[0], places[1])
        second = builder.select(down, places[1], places[0])
        return replace(self.u, at=first), replace(self.u, at=second)

    def rotation(self, f: Scalar, g: Scalar, c: Variable, s: Variable) -> Scalar:
        """Set the rotation that makes (f, g) the vector (r, 0), and return r."""
        none, upright = g.compare("eq", 0.0), f.compare("eq", 0.0)
        length = hypotenuse(f, g)
        signed = upright.select(length, length.copysign(f))
        r = none.select(f, signed)
        divisor = length.compare("eq", 0.0).select(1.0, length)
        signed_divisor = signed.compare("eq", 0.0).select(1.0, signed)
        c.set(none.select(1.0, f.abs() / divisor))
        s.set(none.select(0.0, g / signed_divisor))
        return r

    def chase_without_shift(self, first: IndexValue, last: IndexValue) -> None:
        code, d, e, at, way = self.code, self.d, self.e, self.at, self.way.get()
        near, far = self.grids()
        self.c.set(code.real(1.0))
        self.oc.set(code.real(1.0))
        at.set(first)
        with code.loop_while(lambda: at.get().compare("ne", last)):
            i = at.get()
            following = code.index(i + way)
            r = self.rotation(d[i].re * self.c.get(), e[self.above(i)].re, self.c, self.s)
            with code.when(i.compare("ne", first)):
                e[self.above(code.index(i - way))] = Number(self.os.get() * r)
            d[i] = Number(self.rotation(self.oc.get() * r, d[following].re * self.s.get(), self.oc, self.os))
            turn_rows(code, near, i, following, self.c.get(), self.s.get())
            turn_rows(code, far, i, following, self.oc.get(), self.os.get())
            at.set(following)
        end = d[last].re * self.c.get()
        d[last] = Number(end * self.oc.get())
        e[self.above(code.index(last - way))] = Number(end * self.os.get())

    def chase(self, first: IndexValue, last: IndexValue) -> None:
        code, d, e, at, way = self.code, self.d, self.e, self.at, self.way.get()
        near, far = self.grids()
        start, shift = d[first].re, self.shift.get()
        self.f.set((start.abs() - shift) * (code.real(1.0).copysign(start) + shift / start))
        self.g.set(e[self.above(first)].re)
        at.set(first)
        with code.loop_while(lambda: at.get().compare("ne", last)):
            i = at.get()
            following, place = code.index(i + way), self.above(i)
            r = self.rotation(self.f.get(), self.g.get(), self.c, self.s)
            with code.when(i.compare("ne", first)):
                e[self.above(code.index(i - way))] = Number(r)
            c, s = self.c.get(), self.s.get()
            own, above, other = d[i].re, e[place].re, d[following].re
            turn_rows(code, near, i, following, c, s)
            rest = above * c - own * s
            d[i] = Number(self.rotation(own * c + above * s, other * s, self.c, self.s))
            c2, s2 = self.c.get(), self.s.get()
            self.f.set(rest * c2 + other * c * s2)
            e[place] = Number(self.f.get())
            d[following] = Number(other * c * c2 - rest * s2)
            turn_rows(code, far, i, following, c2, s2)
            with code.when(following.compare("ne", last)):
                after = self.above(following)
                value = e[after].re
                self.g.set(value * s2)
                e[after] = Number(value * c2)
            at.set(following)

    def make_positive(self) -> None:
        code, d, v = self.code, self.d, self.v
        with code.loop(0, self.n) as k, code.when(d[k].re.compare("lt", 0.0)):
            d[k] = -d[k]
            line = v.line(k)
            with code.independent(0, self.n) as i:
                line[i] = -line[i]

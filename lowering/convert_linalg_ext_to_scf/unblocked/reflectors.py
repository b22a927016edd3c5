"""
Householder reflectors, I - tau v v^T, of one real matrix whose rows are in vectors.

A panel is one vector wide. Its columns are reduced one after the other, in a pass over its rows for each, which also
sums the products with the next column. Then all reflectors of the panel are applied to the columns after it together: a
vector of columns is read twice, whatever the number of reflectors. Vectors and factors are LAPACK's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import Float64Type, i32
from xdsl.ir import SSAValue

from ....dialects.support.scalar import Scalar
from ...loop_nests.kernel_builder import Index, IndexValue
from ..few_sides import sum_of
from ..fourier_passes import Vec, Vectors
from ..matrices import compared, divided, selected
from .notation import hypotenuse, larger, power_of_two_below

ROOM = 4
"""Vectors that a panel needs beside its reflectors: their factors, sums of products, a scale, and numbers of lanes."""


@dataclass(frozen=True)
class Panel:
    """The body of a function that reduces the columns of a panel; rows are `row` elements apart."""

    vectors: Vectors
    buffer: SSAValue
    a: IndexValue
    """The first element on the diagonal."""
    row: IndexValue
    v: IndexValue
    """The reflectors' vectors, as columns of a matrix whose rows are vectors; zeros above them."""
    tau: IndexValue
    """The vectors of ROOM."""
    rows: IndexValue
    count: IndexValue
    """The columns to reduce."""

    def reduce(self) -> None:
        vectors, builder, lanes = self.vectors, self.vectors.builder, self.vectors.lanes
        zero = vectors.constant(0.0)
        vectors.store(zero, self.buffer, self.tau)
        for lane in range(lanes):
            self._put(float(lane), self._numbers + lane)
        with builder.loop(0, self.rows) as i:
            vectors.store(zero, self.buffer, self.v + i * lanes)
        self._sum(0, builder.on(vectors.element_at(self.buffer, self._numbers + 1)))
        with builder.loop(0, self.count) as k:
            self._reflect(k)

    @property
    def _sums(self) -> Index:
        return self.tau + self.vectors.lanes

    @property
    def _scale(self) -> Index:
        return self.tau + 2 * self.vectors.lanes

    @property
    def _numbers(self) -> Index:
        return self.tau + 3 * self.vectors.lanes

    def _place(self, i: Index, j: Index) -> Index:
        return self.a + self.row * i + j

    def _get(self, place: Index) -> Scalar:
        return self.vectors.builder.on(self.vectors.element_at(self.buffer, place))

    def _put(self, value: Scalar | float, place: Index) -> None:
        builder = self.vectors.builder
        made = value if isinstance(value, Scalar) else self._constant(value)
        builder.store(made, builder.strided_view(self.buffer, place, (1,), (1,)), [0])

    def _constant(self, value: float) -> Scalar:
        vectors = self.vectors
        return vectors.builder.on(vectors.element_at(self.buffer, self._numbers)).constant(value)

    def _sum(self, k: Index, scale: Scalar) -> None:
        """The products of column k below the diagonal, times a scale, with all columns."""
        vectors, builder = self.vectors, self.vectors.builder
        first = builder.index(k) + 1
        with builder.loop(first, self.rows, carry=[vectors.constant(0.0).value]) as (i, state):
            factor = vectors.splat((self._get(self._place(i, k)) * scale).value)
            own = vectors.load(self.buffer, self._place(i, 0))
            builder.yield_(Vec(vectors, state[0]).plus_product(factor, own).value)
        vectors.store(Vec(vectors, state[0]), self.buffer, self._sums)
        self._put(scale, self._scale)

    def _reflect(self, k: IndexValue) -> None:
        vectors, builder = self.vectors, self.vectors.builder
        self._scale_if_needed(k)
        scale, alpha = self._get(self._scale), self._get(self._place(k, k))
        # The sum of squares has the scale once, since one factor of each product has it.
        length = (self._get(self._sums + k) * scale).sqrt() / scale
        beta = -hypotenuse(alpha, length).copysign(alpha)
        needed = length.compare("ne", 0.0)
        divisor = needed.select(alpha - beta, 1.0)
        tau = needed.select((beta - alpha) / needed.select(beta, 1.0), 0.0)
        self._put(tau, self.tau + k)
        own, sums = vectors.load(self.buffer, self._place(k, 0)), vectors.load(self.buffer, self._sums)
        factor = own + divided(sums, vectors.splat((divisor * scale).value))
        factor = factor * vectors.splat(tau.value)
        # Columns that are reduced stay.
        number = vectors.splat(builder.on(k.cast_to(i32)).cast(arith.SIToFPOp, vectors.element).value)
        later = compared("gt", vectors.load(self.buffer, self._numbers), number)
        factor = selected(later, factor, vectors.constant(0.0))
        vectors.store(own - factor, self.buffer, self._place(k, 0))
        self._put(needed.select(beta, alpha), self._place(k, k))
        self._put(1.0, self.v + k * (vectors.lanes + 1))
        self._take_out(k, factor, divisor)

    def _take_out(self, k: IndexValue, factor: Vec, divisor: Scalar) -> None:
        """Take the reflector out of the rows below, and sum the products with the next column."""
        vectors, builder, lanes = self.vectors, self.vectors.builder, self.vectors.lanes
        following = builder.index(builder.min(k + 1, lanes - 1))
        negative = -factor
        start = builder.index(k + 1)
        zero = vectors.constant(0.0).value

        def row(i: IndexValue) -> Vec:
            value = self._get(self._place(i, k)) / divisor
            own = vectors.load(self.buffer, self._place(i, 0)).plus_product(vectors.splat(value.value), negative)
            vectors.store(own, self.buffer, self._place(i, 0))
            self._put(value, self._place(i, k))
            self._put(value, self.v + i * lanes + k)
            return own

        with builder.when(start < self.rows):
            # The next row's own element is on the diagonal.
            row(start)
        with builder.loop(start + 1, self.rows, carry=[zero]) as (i, state):
            own = row(i)
            other = vectors.splat(self._get(self._place(i, following)).value)
            builder.yield_(Vec(vectors, state[0]).plus_product(other, own).value)
        vectors.store(Vec(vectors, state[0]), self.buffer, self._sums)
        self._put(1.0, self._scale)

    def _scale_if_needed(self, k: IndexValue) -> None:
        """Sum again where squares or products may have been too large or small."""
        vectors, builder = self.vectors, self.vectors.builder
        sums = vectors.load(self.buffer, self._sums)
        square, spoiled = self._get(self._sums + k), builder.on(sum_of(sums - sums))
        low, high = (2.0**-400, 2.0**900) if isinstance(vectors.element, Float64Type) else (2.0**-40, 2.0**100)
        good = square.compare("gt", low) & square.compare("lt", high) & spoiled.compare("eq", 0.0)
        with builder.when(good):
            pass
        with builder.otherwise():
            with builder.loop(k + 1, self.rows, carry=[self._constant(0.0)]) as (i, state):
                builder.yield_(larger(self._get(self._place(i, k)).abs(), builder.on(state[0])))
            self._sum(k, self._constant(1.0) / power_of_two_below(builder.on(state[0])))


@dataclass(frozen=True)
class Block:
    """The bodies of functions on the reflectors of a panel, and a matrix of as many rows."""

    vectors: Vectors
    buffer: SSAValue
    v: IndexValue
    """As in Panel."""
    gram: IndexValue
    """The products of the reflectors' vectors with each other, rows as vectors."""
    rows: IndexValue

    def square(self) -> None:
        """Sum the products of the vectors with each other."""
        vectors = self.vectors
        for number, total in enumerate(self._products(self.v, vectors.builder.index(vectors.lanes))):
            vectors.store(total, self.buffer, self.gram + number * vectors.lanes)

    def apply(self, tau: IndexValue, c: IndexValue, row: IndexValue, parts: IndexValue, forward: bool) -> None:
        """
        Multiply `parts` vectors of columns by the reflectors' product, or by its transpose if `forward`: then the first
        reflector is the first that is applied.
        """
        vectors, builder, lanes = self.vectors, self.vectors.builder, self.vectors.lanes
        with builder.loop(0, parts) as part:
            at = builder.index(c + part * lanes)
            factors = self._factors(tau, self._products(at, row), forward)
            with builder.loop(0, self.rows) as i:
                place = at + row * i
                totals = [vectors.load(self.buffer, place), vectors.constant(0.0)]
                for number, factor in enumerate(factors):
                    totals[number % 2] = totals[number % 2].plus_product(
                        self._element(self.v + i * lanes + number), factor
                    )
                vectors.store(totals[0] + totals[1], self.buffer, place)

    def _element(self, place: Index) -> Vec:
        return self.vectors.splat(self.vectors.element_at(self.buffer, place))

    def _products(self, at: Index, row: IndexValue) -> list[Vec]:
        """The products of all vectors with a vector of columns."""
        vectors, builder, lanes = self.vectors, self.vectors.builder, self.vectors.lanes
        start = [vectors.constant(0.0).value] * lanes
        with builder.loop(0, self.rows, carry=start) as (i, state):
            own = vectors.load(self.buffer, at + row * i)
            sums = [Vec(vectors, value) for value in state]
            made = [s.plus_product(self._element(self.v + i * lanes + p), own) for p, s in enumerate(sums)]
            builder.yield_(*(each.value for each in made))
        return [Vec(vectors, value) for value in state]

    def _factors(self, tau: IndexValue, products: Sequence[Vec], forward: bool) -> list[Vec]:
        """The multiples of the vectors that are added: each reflector sees what those before it have changed."""
        lanes = self.vectors.lanes
        order = range(lanes) if forward else range(lanes - 1, -1, -1)
        found: dict[int, Vec] = {}
        for p in order:
            total = products[p]
            for q, factor in found.items():
                total = total.plus_product(self._element(self.gram + p * lanes + q), factor)
            found[p] = -(total * self._element(tau + p))
        return [found[p] for p in range(lanes)]

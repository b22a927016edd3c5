"""
The body of functions that factor one matrix, whose rows are in vectors.

It is copied as an upper triangle, whose rows are contiguous: row j, divided by the root of its pivot, times its own
elements, conjugated, is subtracted from the rows after it. The rows of a panel are finished among themselves first and
subtracted from the others together, in the same order, so that each of those is read and written once for all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import math as xdsl_math
from xdsl.ir import SSAValue

from ...dialects.support.scalar import NO_FASTMATH
from ..loop_nests.kernel_builder import Index, IndexValue
from ..loop_nests.loop_builder import PARALLEL
from .fourier_memory import transposed
from .fourier_passes import Vec, Vectors
from .matrices import divided

PANEL = 8
"""Rows of real numbers that are subtracted together; half as many of complex ones: factors stay in registers."""

TOGETHER = 2
"""Real rows from which they are subtracted at once: with the factors of both in registers, each vector is read once."""


def root_of(x: Vec) -> Vec:
    """The square root in each lane."""
    op = xdsl_math.SqrtOp.create(operands=[x.value], result_types=[x.value.type], properties={"fastmath": NO_FASTMATH})
    return Vec(x.vectors, x.vectors.builder.insert(op).result)


@dataclass(frozen=True)
class Triangle:
    """
    An upper triangle of n rows in scratch memory, from `at` on; rows are `padded` elements, whole vectors, apart.

    One of complex numbers has their imaginary parts `imaginary` elements further.
    """

    vectors: Vectors
    scratch: SSAValue
    at: IndexValue
    n: IndexValue
    padded: IndexValue
    imaginary: IndexValue | None = None

    def place(self, i: Index, j: Index) -> Index:
        return self.at + self.padded * i + j

    def places(self, i: Index, j: Index) -> list[Index]:
        """Where the parts of an element are."""
        place = self.place(i, j)
        return [place] if self.imaginary is None else [place, self.imaginary + place]

    def load(self, i: Index, j: Index) -> list[Vec]:
        """The parts of elements from (i, j) on."""
        return [self.vectors.load(self.scratch, place) for place in self.places(i, j)]

    def store(self, values: Sequence[Vec], i: Index, j: Index) -> None:
        for value, place in zip(values, self.places(i, j), strict=True):
            self.vectors.store(value, self.scratch, place)

    @property
    def panel(self) -> int:
        return PANEL if self.imaginary is None else PANEL // 2

    @property
    def together(self) -> int:
        return TOGETHER if self.imaginary is None else 1

    @property
    def parts(self) -> IndexValue:
        """The vectors of a row."""
        lanes = self.vectors.lanes
        return self.vectors.builder.index((self.n + (lanes - 1)) // lanes)

    def factor(self) -> None:
        """Replace a symmetric matrix by its factor; elements left of the diagonal, in its vectors, mean nothing."""
        builder, size, together = self.vectors.builder, self.panel, self.together
        with builder.loop(0, builder.index(self.n + (size - 1)) // size) as panel:
            first = builder.index(panel * size)
            # No rows follow the last panel, which may have fewer.
            following = builder.index(builder.min(builder.index(first + size), self.n))
            self._finish(first, following)
            groups = builder.index(builder.index(self.n - following) // together)
            with builder.loop(0, groups) as group:
                i = builder.index(following + group * together)
                self._subtract(first, [builder.index(i + number) for number in range(together)])
            if together > 1:
                with builder.loop(following + groups * together, self.n) as i:
                    self._subtract(first, [i])

    def _finish(self, first: IndexValue, end: IndexValue) -> None:
        """Divide each of some rows by its pivot, and take its multiples from those after it among them."""
        vectors, builder, lanes = self.vectors, self.vectors.builder, self.vectors.lanes
        with builder.loop(first, end) as j:
            pivot = root_of(vectors.splat(vectors.element_at(self.scratch, self.place(j, j))))
            with builder.loop(j // lanes, self.parts) as part:
                column = part * lanes
                self.store([divided(value, pivot) for value in self.load(j, column)], j, column)
            with builder.loop(j + 1, end) as i:
                self._take(i, [i], [j])

    def _subtract(self, first: IndexValue, rows: Sequence[IndexValue]) -> None:
        """Take the multiples of the rows of a panel from others."""
        builder = self.vectors.builder
        self._take(rows[0], rows, [builder.index(first + number) for number in range(self.panel)])

    def _take(self, start: IndexValue, rows: Sequence[IndexValue], others: Sequence[IndexValue]) -> None:
        """From each of `rows`, from column `start` on, take `others` times their elements in the row's column."""
        builder, lanes = self.vectors.builder, self.vectors.lanes
        factors = [[self._negated(j, i) for j in others] for i in rows]
        with builder.loop(start // lanes, self.parts) as part:
            column = part * lanes
            totals = [self.load(i, column) for i in rows]
            for number, j in enumerate(others):
                own = self.load(j, column)
                totals = [
                    _plus_conjugate_product(total, each[number], own)
                    for total, each in zip(totals, factors, strict=True)
                ]
            for i, total in zip(rows, totals, strict=True):
                self.store(total, i, column)

    def _negated(self, i: IndexValue, j: IndexValue) -> list[Vec]:
        """The parts of an element times -1, each in every lane."""
        vectors = self.vectors
        return [-vectors.splat(vectors.element_at(self.scratch, place)) for place in self.places(i, j)]


def _plus_conjugate_product(total: Sequence[Vec], x: Sequence[Vec], y: Sequence[Vec]) -> list[Vec]:
    """`total + conj(x) y`, of the parts of real or complex numbers."""
    if len(total) == 1:
        return [total[0].plus_product(x[0], y[0])]
    real = total[0].plus_product(x[0], y[0]).plus_product(x[1], y[1])
    return [real, total[1].plus_product(x[0], y[1]).plus_product(-x[1], y[0])]


@dataclass(frozen=True)
class Moving:
    """Moves a triangle between a matrix in an array, from `begin` on, and scratch memory."""

    triangle: Triangle
    array: SSAValue
    begin: IndexValue
    lower: bool
    """Whether the matrix holds the lower triangle: then rows and columns are exchanged."""

    def place(self, i: Index, j: Index) -> Index:
        """Where the array holds element (i, j) of the upper triangle."""
        row, column = (j, i) if self.lower else (i, j)
        return self.begin + self.triangle.n * row + column

    def read(self) -> None:
        """Elements after a row's end are zero."""
        triangle, vectors = self.triangle, self.triangle.vectors
        builder, lanes = vectors.builder, vectors.lanes
        zero = vectors.constant(0.0)
        with builder.loop(0, triangle.n) as i:
            vectors.store(zero, triangle.scratch, triangle.place(i, (triangle.parts - 1) * lanes))
        with builder.loop(0, self.blocks) as i, builder.loop(i, self.blocks) as j:
            self._move_block(i * lanes, j * lanes, False)
        self._move_rest(False)

    def write(self) -> None:
        """Elements outside of the triangle are not touched."""
        vectors = self.triangle.vectors
        builder, lanes = vectors.builder, vectors.lanes
        with builder.loop(0, self.blocks) as i:
            with builder.loop(i + 1, self.blocks) as j:
                self._move_block(i * lanes, j * lanes, True)
            end = builder.index(i * lanes + lanes)
            with builder.loop(i * lanes, end) as row, builder.loop(row, end) as column:
                self._move_element(row, column, True)
        self._move_rest(True)

    @property
    def blocks(self) -> IndexValue:
        """Squares of whole vectors along the diagonal."""
        return self.triangle.vectors.builder.index(self.triangle.n // self.triangle.vectors.lanes)

    def _move_block(self, i: Index, j: Index, writes: bool) -> None:
        triangle, vectors = self.triangle, self.triangle.vectors
        numbers = range(vectors.lanes)
        inside = [triangle.place(i + number, j) for number in numbers]
        outside = [self.place(i, j + number) if self.lower else self.place(i + number, j) for number in numbers]
        pair = [(triangle.scratch, inside), (self.array, outside)]
        (source, places), (target, others) = pair if writes else pair[::-1]
        rows = [vectors.load(source, place) for place in places]
        for row, place in zip(transposed(rows) if self.lower else rows, others, strict=True):
            vectors.store(row, target, place)

    def _move_rest(self, writes: bool) -> None:
        """Move the columns after the last whole block."""
        builder, n = self.triangle.vectors.builder, self.triangle.n
        done = builder.index(self.blocks * self.triangle.vectors.lanes)
        with builder.loop(0, n) as i, builder.loop(i.max(done), n) as j:
            self._move_element(i, j, writes)

    def _move_element(self, i: IndexValue, j: IndexValue, writes: bool) -> None:
        triangle, vectors = self.triangle, self.triangle.vectors
        pair = [(triangle.scratch, triangle.place(i, j)), (self.array, self.place(i, j))]
        (source, place), (target, other) = pair if writes else pair[::-1]
        vectors.builder.store(
            vectors.element_at(source, place), vectors.builder.strided_view(target, other, (1,), (1,)), [0]
        )

    def copy_other_triangle(self, source: SSAValue) -> None:
        """Copy what is beyond the diagonal from a matrix at the same place of another array."""
        builder, n = self.triangle.vectors.builder, self.triangle.n
        with builder.loop(0, n) as row:
            bounds = (row + 1, n) if self.lower else (0, row)
            with builder.loop(*bounds, attributes=PARALLEL) as column:
                place = self.begin + n * row + column
                value = self.triangle.vectors.element_at(source, place)
                builder.store(value, builder.strided_view(self.array, place, (1,), (1,)), [0])

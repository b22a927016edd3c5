"""
Loops of cholesky: a matrix in each lane of vectors, or the rows of one matrix in vectors.

Many matrices are transposed into scratch memory, so that a vector holds one element of each. The elements of L are
computed column by column, four rows at a time; U is the same with rows and columns exchanged.

The rows of one of few matrices are in vectors, as in cholesky_rows.py; short ones stay in registers.
"""

from __future__ import annotations

from typing import Any, cast

from xdsl.ir import SSAValue

from ...dialects.linalg_ext.factorization import CholeskyOp
from ..loop_nests.kernel_builder import Index, IndexValue
from ..loop_nests.loop_builder import LoopBuilder
from .cholesky_rows import Moving, Triangle, root_of
from .conversion import patterns
from .fourier_passes import Vec, Vectors
from .matrices import MOST_WIDE, MatrixFunctions, divided

ROWS = 4
"""Rows of a column that are computed at once."""


class Driver(MatrixFunctions):
    """The loops of one operation."""

    def __init__(self, op: CholeskyOp, builder: LoopBuilder):
        super().__init__(op, builder)
        self.n = self.shape[-1]
        self.lower = bool(cast(Any, op.lower).value.data)

    def emit(self) -> None:
        """Divide the groups of matrices among tasks."""
        n = self.n
        source, target, info = map(self.flat, (self.op.inputs[0], *self.op.outputs))
        elements = n * n * self.lanes if self.wide else n * self.padded
        with self.groups(n * n * n // 6 + 4 * n * n, elements) as (group, scratch, at):
            if self.wide:
                self.lanes_of_group(source, target, scratch, at, group)
            else:
                self.rows_of_matrix(source, target, scratch, at, group)
            # The root of a bad pivot is 0 or NaN.
            self.report(target, info, group, "not_positive")

    # A matrix in each lane.

    def lanes_of_group(
        self, source: SSAValue, target: SSAValue, scratch: SSAValue, at: IndexValue, group: IndexValue
    ) -> None:
        size = self.n * self.n
        self.read(source, size, group, scratch, at)
        strides = (self.n, 1) if self.lower else (1, self.n)

        def factor(vectors: Vectors, buffer: Any, start: Any, row: Any, column: Any, n: Any) -> None:
            _Lanes(vectors, buffer, start, row, column, n).factor()

        self.call("cholesky", (scratch, at, *strides, self.n), factor)
        self.write(target, size, group, scratch, at)

    # One matrix.

    @property
    def padded(self) -> int:
        """The length of a row of whole vectors in scratch memory; rows do not begin in the same sets of a cache."""
        whole = -(-self.n // self.lanes) * self.lanes
        return whole if self.n <= MOST_WIDE or whole // self.lanes % 2 else whole + self.lanes

    def rows_of_matrix(
        self, source: SSAValue, target: SSAValue, scratch: SSAValue, at: IndexValue, matrix: IndexValue
    ) -> None:
        builder, n = self.builder, self.n
        if n > MOST_WIDE:
            self.long_rows(source, target, scratch, at, matrix)
            return
        padded = self.padded
        strides = (1, n) if self.lower else (n, 1)
        given, made = (builder.strided_view(array, matrix * (n * n), (n, n), strides) for array in (source, target))
        whole = builder.strided_view(scratch, at, (n, padded), (padded, 1))
        vectors = Vectors(builder, self.element, self.lanes)
        zero = vectors.constant(0.0)
        with builder.loop(0, n * padded // self.lanes) as place:
            vectors.store(zero, scratch, at + place * self.lanes)
        with builder.loop(0, n) as i, builder.loop(i, n) as j:
            builder.store(builder.load(given, [i, j]), whole, [i, j])
        with builder.loop(0, n) as i, builder.loop(0, i) as j:
            builder.store(builder.load(given, [i, j]), made, [i, j])
        with builder.loop(0, n) as j:
            self.short_row(vectors, scratch, at, j)
        with builder.loop(0, n) as i, builder.loop(i, n) as j:
            builder.store(builder.load(whole, [i, j]), made, [i, j])

    def short_row(self, vectors: Vectors, scratch: SSAValue, at: IndexValue, j: IndexValue) -> None:
        """Divide row j by its pivot and take its multiples from the rows after it: it stays in registers."""
        builder, padded = self.builder, self.padded
        start = builder.index(at + j * padded)
        pivot = root_of(vectors.splat(vectors.element_at(scratch, start + j)))
        row = [divided(vectors.load(scratch, start + k), pivot) for k in range(0, padded, self.lanes)]
        for number, part in enumerate(row):
            vectors.store(part, scratch, start + number * self.lanes)
        with builder.loop(j + 1, self.n) as i:
            factor = -vectors.splat(vectors.element_at(scratch, start + i))
            for number, part in enumerate(row):
                place = at + i * padded + number * self.lanes
                vectors.store(vectors.load(scratch, place).plus_product(factor, part), scratch, place)

    def long_rows(
        self, source: SSAValue, target: SSAValue, scratch: SSAValue, at: IndexValue, matrix: IndexValue
    ) -> None:
        """The same for rows that do not fit into registers, in functions for all sizes."""
        lower, suffix = self.lower, "lower" if self.lower else "upper"

        def read(vectors: Vectors, array: Any, begin: Any, *given: Any) -> None:
            Moving(Triangle(vectors, *given), array, begin, lower).read()

        def factor(vectors: Vectors, *given: Any) -> None:
            Triangle(vectors, *given).factor()

        def write(vectors: Vectors, array: Any, begin: Any, given: Any, *triangle: Any) -> None:
            moving = Moving(Triangle(vectors, *triangle), array, begin, lower)
            moving.copy_other_triangle(given)
            moving.write()

        begin, triangle = matrix * (self.n * self.n), (scratch, at, self.n, self.padded)
        self.call(f"read_{suffix}", (source, begin, *triangle), read)
        self.call("cholesky_rows", triangle, factor)
        self.call(f"write_{suffix}", (target, begin, source, *triangle), write)


class _Lanes:
    """The body of the function that factors a matrix in each lane; element (i, j) is at `i row + j column`."""

    def __init__(
        self,
        vectors: Vectors,
        buffer: SSAValue,
        at: IndexValue,
        row: IndexValue,
        column: IndexValue,
        n: IndexValue,
    ):
        self.vectors = vectors
        self.buffer = buffer
        self.at = at
        self.row = row
        self.column = column
        self.n = n

    def place(self, i: IndexValue, j: IndexValue) -> Index:
        return self.at + (self.row * i + self.column * j) * self.vectors.lanes

    def load(self, i: IndexValue, j: IndexValue) -> Vec:
        return self.vectors.load(self.buffer, self.place(i, j))

    def factor(self) -> None:
        builder = self.vectors.builder
        with builder.loop(0, self.n) as j:
            (total,) = self.sums([j], j)
            pivot = root_of(total)
            self.vectors.store(pivot, self.buffer, self.place(j, j))
            whole = builder.index(builder.index(self.n - 1 - j) // ROWS)
            with builder.loop(0, whole) as block:
                first = builder.index(j + 1 + block * ROWS)
                self.column_of(pivot, [builder.index(first + k) for k in range(ROWS)], j)
            with builder.loop(j + 1 + whole * ROWS, self.n) as i:
                self.column_of(pivot, [i], j)

    def column_of(self, pivot: Vec, rows: list[IndexValue], j: IndexValue) -> None:
        for i, total in zip(rows, self.sums(rows, j), strict=True):
            self.vectors.store(divided(total, pivot), self.buffer, self.place(i, j))

    def sums(self, rows: list[IndexValue], j: IndexValue) -> list[Vec]:
        """Element (i, j) without the products of elements before it in rows i and j, for some rows."""
        vectors, builder = self.vectors, self.vectors.builder
        start = [self.load(i, j).value for i in rows]
        with builder.loop(0, j, carry=start) as (k, state):
            other = -self.load(j, k)
            sums = [Vec(vectors, value) for value in state]
            totals = [total.plus_product(self.load(i, k), other) for total, i in zip(sums, rows, strict=True)]
            builder.yield_(*(total.value for total in totals))
        return [Vec(vectors, value) for value in state]


@patterns.on(CholeskyOp)
def _cholesky(op: CholeskyOp, builder: LoopBuilder) -> None:
    """`linalg_ext.cholesky` becomes loops over groups of matrices, or over matrices."""
    driver = Driver(op, builder)
    if driver.n and driver.count:
        driver.emit()

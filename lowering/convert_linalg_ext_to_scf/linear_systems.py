"""
Loops of lu and triangular_solve: a matrix in each lane of vectors, or one matrix whose rows are vectorized.

Every triangular system is solved forward: an upper one backwards in memory, one from the right or with a transposed
matrix with rows and columns exchanged.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import i32
from xdsl.dialects.math import AbsFOp
from xdsl.ir import SSAValue

from ...dialects.linalg_ext.factorization import LuOp, TriangularSolveOp
from ...dialects.linalg_ext.window import shape_of
from ...dialects.support.scalar import NO_FASTMATH, Scalar
from ..loop_nests.kernel_builder import Index, IndexValue
from ..loop_nests.loop_builder import PARALLEL, LoopBuilder
from .conversion import patterns
from .few_sides import MOST_SIDES, TOGETHER, FewSides
from .fourier_passes import Vec, Vectors
from .many_sides import ManySides
from .matrices import MatrixFunctions, compared, divided, selected, size_of

NumberT = TypeVar("NumberT", int, IndexValue)

COLUMNS = 4
"""Columns of right sides that are solved at once."""

SIDES_OF_LANES = 4
"""Vectors of contiguous right sides from which on these are solved as they are, not with a system in each lane."""

BLOCK_OF_SIDES = 512
"""Right sides of one call: with those of few rows they are a task."""


@dataclass(frozen=True)
class _LuLanes:
    """The body of the function that factors a matrix in each lane; after the matrices there is room for a vector."""

    vectors: Vectors
    buffer: SSAValue
    at: IndexValue
    rows: IndexValue
    columns: IndexValue
    pivots: SSAValue
    pivots_at: IndexValue
    held: IndexValue
    """The number of matrices."""

    def place(self, i: IndexValue, j: Index) -> Index:
        return self.at + (self.columns * i + j) * self.vectors.lanes

    def load(self, i: IndexValue, j: Index) -> Vec:
        return self.vectors.load(self.buffer, self.place(i, j))

    def factor(self) -> None:
        vectors, builder = self.vectors, self.vectors.builder
        least = builder.index(builder.min(self.rows, self.columns))
        with builder.loop(0, least) as j:
            self.exchange(j, least)
            pivot = self.load(j, j)
            divisor = selected(compared("eq", pivot, vectors.constant(0.0)), vectors.constant(1.0), pivot)
            with builder.loop(j + 1, self.rows) as i:
                factor = divided(self.load(i, j), divisor)
                vectors.store(factor, self.buffer, self.place(i, j))
                factor = -factor
                with builder.loop(j + 1, self.columns) as c:
                    value = self.load(i, c).plus_product(factor, self.load(j, c))
                    vectors.store(value, self.buffer, self.place(i, c))

    def exchange(self, j: IndexValue, least: IndexValue) -> None:
        """Find the largest element of a column in each lane, note its row, and bring that row to the front."""
        vectors, builder = self.vectors, self.vectors.builder
        start = [size_of(self.load(j, j)).value, self.number(j).value]
        with builder.loop(j + 1, self.rows, carry=start) as (i, state):
            best, where = (Vec(vectors, value) for value in state)
            size = size_of(self.load(i, j))
            larger = compared("gt", size, best)
            builder.yield_(selected(larger, size, best).value, selected(larger, self.number(i), where).value)
        room = self.place(self.rows, 0)
        vectors.store(Vec(vectors, state[1]), self.buffer, room)
        with builder.loop(0, vectors.lanes) as lane:
            found = builder.on(vectors.element_at(self.buffer, room + lane)).cast(arith.FPToSIOp, i32)
            row = builder.to_index(found.value, unsigned=True)
            matrix = builder.index(builder.min(lane, builder.index(self.held - 1)))
            noted = builder.strided_view(self.pivots, self.pivots_at + (matrix * least + j), (1,), (1,))
            builder.store(found + 1, noted, [0])
            with builder.when(row.compare("ne", j)), builder.loop(0, self.columns) as c:
                first, second = self.place(j, c) + lane, self.place(row, c) + lane
                values = [vectors.element_at(self.buffer, place) for place in (first, second)]
                for value, place in zip(values, (second, first), strict=True):
                    builder.store(value, builder.strided_view(self.buffer, place, (1,), (1,)), [0])

    def number(self, index: IndexValue) -> Vec:
        """An index as a float in every lane."""
        builder = self.vectors.builder
        return self.vectors.splat(builder.on(index.cast_to(i32)).cast(arith.SIToFPOp, self.vectors.element).value)


@dataclass(frozen=True)
class _LuRows:
    """The body of the function that factors one matrix, whose rows LLVM vectorizes, in the result."""

    vectors: Vectors
    source: SSAValue
    target: SSAValue
    at: IndexValue
    rows: IndexValue
    columns: IndexValue
    pivots: SSAValue
    pivots_at: IndexValue

    def place(self, i: IndexValue, j: IndexValue) -> IndexValue:
        return self.vectors.builder.index(self.at + self.columns * i + j)

    def load(self, i: IndexValue, j: IndexValue) -> Scalar:
        return self.vectors.builder.on(self.vectors.element_at(self.target, self.place(i, j)))

    def store(self, value: Scalar, i: IndexValue, j: IndexValue) -> None:
        builder = self.vectors.builder
        builder.store(value, builder.strided_view(self.target, self.place(i, j), (1,), (1,)), [0])

    def size(self, i: IndexValue, j: IndexValue) -> Scalar:
        builder, value = self.vectors.builder, self.load(i, j).value
        op = AbsFOp.create(operands=[value], result_types=[value.type], properties={"fastmath": NO_FASTMATH})
        return builder.on(builder.insert(op).result)

    def factor(self) -> None:
        vectors, builder = self.vectors, self.vectors.builder
        size = builder.index(self.rows * self.columns)
        with builder.loop(0, size, attributes=PARALLEL) as k:
            given = vectors.element_at(self.source, self.at + k)
            builder.store(given, builder.strided_view(self.target, self.at + k, (1,), (1,)), [0])
        with builder.loop(0, builder.min(self.rows, self.columns)) as j:
            self.exchange(j)
            pivot = self.load(j, j)
            divisor = pivot.compare("eq", 0.0).select(1.0, pivot)
            with builder.loop(j + 1, self.rows) as i:
                factor = self.load(i, j) / divisor
                self.store(factor, i, j)
                with builder.loop(j + 1, self.columns, attributes=PARALLEL) as c:
                    self.store(self.load(i, c) - factor * self.load(j, c), i, c)

    def exchange(self, j: IndexValue) -> None:
        """Find the largest element of a column, note its row, and bring that row to the front."""
        builder = self.vectors.builder
        with builder.loop(j + 1, self.rows, carry=[self.size(j, j), j]) as (i, state):
            own = self.size(i, j)
            larger = own.compare("gt", state[0])
            builder.yield_(larger.select(own, state[0]), larger.select(i.value, state[1]))
        row = builder.index(state[1])
        noted = builder.strided_view(self.pivots, self.pivots_at + j, (1,), (1,))
        builder.store(builder.index(row + 1).cast_to(i32), noted, [0])
        with builder.when(row.compare("ne", j)), builder.loop(0, self.columns, attributes=PARALLEL) as c:
            first, second = self.load(j, c), self.load(row, c)
            self.store(first, row, c)
            self.store(second, j, c)


class _Lu(MatrixFunctions):
    """The loops of one lu."""

    def emit(self) -> None:
        rows, columns = self.shape[-2:]
        size, least = rows * columns, min(rows, columns)
        source, target, pivots, info = map(self.flat, (self.op.inputs[0], *self.op.outputs))
        elements = (size + columns) * self.lanes if self.wide else 1
        with self.groups(size * least // 2 + 4 * size, elements) as (group, scratch, at):
            if self.wide:
                self.read(source, size, group, scratch, at)
                first, end = self.matrices_of(group)
                held = self.builder.index(end) - first

                def factor(vectors: Vectors, *given: Any) -> None:
                    _LuLanes(vectors, *given).factor()

                where = self.builder.index(first) * least
                self.call("lu", (scratch, at, rows, columns, pivots, where, held), factor)
                self.write(target, size, group, scratch, at)
            else:

                def factor_rows(vectors: Vectors, *given: Any) -> None:
                    _LuRows(vectors, *given).factor()

                self.call("lu_rows", (source, target, group * size, rows, columns, pivots, group * least), factor_rows)
            self.report(target, info, group, "zero")


@dataclass(frozen=True)
class _System(Generic[NumberT]):
    """
    A lower triangular system of n rows with k right sides: the places of the first elements of the matrix and of the
    solution, and their strides, in elements; numbers, or values in the function that solves it.
    """

    a: NumberT
    a_row: NumberT
    a_column: NumberT
    x: NumberT
    x_row: NumberT
    x_column: NumberT
    n: NumberT
    k: NumberT

    @staticmethod
    def of(op: TriangularSolveOp) -> _System[int]:
        left, lower, transpose = (bool(cast(Any, flag).value.data) for flag in (op.left, op.lower, op.transpose))
        rows, columns = shape_of(op.inputs[1])[-2:]
        n, k = (rows, columns) if left else (columns, rows)
        # x op(a) = b is op(a)^T x^T = b^T.
        swapped = transpose == left
        a_row, a_column = (1, n) if swapped else (n, 1)
        x_row, x_column = (columns, 1) if left else (1, columns)
        if lower == swapped:  # an upper system, from its end
            end = (n - 1) * (a_row + a_column)
            return _System(end, -a_row, -a_column, (n - 1) * x_row, -x_row, x_column, n, k)
        return _System(0, a_row, a_column, 0, x_row, x_column, n, k)

    def factor(self, i: IndexValue, j: IndexValue) -> Index:
        """The place of an element of the matrix."""
        return self.a + self.a_row * i + self.a_column * j

    def solution(self, i: IndexValue, c: IndexValue, begin: Index = 0) -> Index:
        """The place of element i of solution c, of a system that begins there."""
        return begin + self.x + self.x_row * i + self.x_column * c


@dataclass(frozen=True)
class _SolveLanes:
    """The body of the function that solves a system in each lane."""

    vectors: Vectors
    buffer: SSAValue
    system: _System[IndexValue]

    def matrix(self, i: IndexValue, j: IndexValue) -> Vec:
        return self.vectors.load(self.buffer, self.system.factor(i, j) * self.vectors.lanes)

    def solution(self, i: IndexValue, c: IndexValue) -> Index:
        return self.system.solution(i, c) * self.vectors.lanes

    def solve(self, unit: bool) -> None:
        builder = self.vectors.builder
        with builder.loop(0, self.system.n) as i:
            whole = builder.index(self.system.k // COLUMNS)
            with builder.loop(0, whole) as block:
                first = builder.index(block * COLUMNS)
                self.columns(i, [builder.index(first + number) for number in range(COLUMNS)], unit)
            with builder.loop(whole * COLUMNS, self.system.k) as column:
                self.columns(i, [column], unit)

    def columns(self, i: IndexValue, columns: list[IndexValue], unit: bool) -> None:
        """Element i of some columns."""
        vectors, builder = self.vectors, self.vectors.builder
        places = [self.solution(i, column) for column in columns]
        start = [vectors.load(self.buffer, place).value for place in places]
        with builder.loop(0, i, carry=start) as (j, state):
            factor = -self.matrix(i, j)
            sums = [Vec(vectors, value) for value in state]
            others = [vectors.load(self.buffer, self.solution(j, column)) for column in columns]
            builder.yield_(*(s.plus_product(factor, x).value for s, x in zip(sums, others, strict=True)))
        for place, value in zip(places, state, strict=True):
            found = Vec(vectors, value)
            vectors.store(found if unit else divided(found, self.matrix(i, i)), self.buffer, place)


@dataclass(frozen=True)
class _SolveRows:
    """The body of the function that solves one system, whose rows LLVM vectorizes, in the result, from `begin` on."""

    vectors: Vectors
    source: SSAValue
    target: SSAValue
    begin: IndexValue
    matrix: SSAValue
    system: _System[IndexValue]

    def factor(self, i: IndexValue, j: IndexValue) -> Scalar:
        return self.vectors.builder.on(self.vectors.element_at(self.matrix, self.system.factor(i, j)))

    def place(self, i: IndexValue, c: IndexValue) -> IndexValue:
        return self.vectors.builder.index(self.system.solution(i, c, self.begin))

    def load(self, i: IndexValue, c: IndexValue) -> Scalar:
        return self.vectors.builder.on(self.vectors.element_at(self.target, self.place(i, c)))

    def store(self, value: Scalar | SSAValue, place: Index) -> None:
        builder = self.vectors.builder
        builder.store(value, builder.strided_view(self.target, place, (1,), (1,)), [0])

    def solve(self, unit: bool) -> None:
        builder, n, k = self.vectors.builder, self.system.n, self.system.k
        size = builder.index(n * k)
        with builder.loop(0, size, attributes=PARALLEL) as place:
            self.store(self.vectors.element_at(self.source, self.begin + place), self.begin + place)
        with builder.loop(0, n) as j:
            if not unit:
                pivot = self.factor(j, j)
                with builder.loop(0, k, attributes=PARALLEL) as c:
                    self.store(self.load(j, c) / pivot, self.place(j, c))
            with builder.loop(j + 1, n) as i:
                factor = self.factor(i, j)
                with builder.loop(0, k, attributes=PARALLEL) as c:
                    self.store(self.load(i, c) - factor * self.load(j, c), self.place(i, c))


class _Solve(MatrixFunctions):
    """The loops of one triangular_solve."""

    def emit(self) -> None:
        op = cast(TriangularSolveOp, self.op)
        unit, system = bool(cast(Any, op.unit).value.data), _System.of(op)
        n, k = system.n, system.k
        a, b, x = map(self.flat, (*op.inputs, op.outputs[0]))
        if system.x_column == 1 and k >= (SIDES_OF_LANES if self.wide else 1) * self.lanes and k > MOST_SIDES:
            self.many_sides(system, a, b, x, unit)
            return
        if not self.wide and system.x_column != 1 and k > max(MOST_SIDES, self.lanes - 1):
            self.turned_sides(system, a, b, x, unit)
            return
        few = not self.wide and k <= MOST_SIDES and n >= self.lanes
        elements = (n * n + n * k) * self.lanes if self.wide else n * k if few else 1
        with self.groups(n * n * k // 2 + 4 * n * (n + k), elements) as (group, scratch, at):
            if few:
                self.few_sides(system, a, b, x, group, scratch, at)
            elif not self.wide:
                self.rows(system, a, b, x, group, unit)
            else:
                first = self.builder.index(at)
                second = self.builder.index(first + n * n * self.lanes)
                self.read(a, n * n, group, scratch, first)
                self.read(b, n * k, group, scratch, second)
                # Both are counted in vectors.
                base = self.builder.index(first // self.lanes)
                places = (base + system.a, system.a_row, system.a_column)
                others = (base + n * n + system.x, system.x_row, system.x_column)

                def solve(vectors: Vectors, buffer: Any, *given: Any) -> None:
                    _SolveLanes(vectors, buffer, _System(*given)).solve(unit)

                self.call("solve_unit" if unit else "solve", (scratch, *places, *others, n, k), solve)
                self.write(x, n * k, group, scratch, second)

    def rows(self, system: _System[int], a: SSAValue, b: SSAValue, x: SSAValue, number: IndexValue, unit: bool) -> None:
        """Solve one system in the result."""
        n, k = system.n, system.k

        def solve(vectors: Vectors, source: Any, target: Any, begin: Any, matrix: Any, *given: Any) -> None:
            _SolveRows(vectors, source, target, begin, matrix, _System(*given)).solve(unit)

        matrix = (a, number * (n * n) + system.a, system.a_row, system.a_column)
        sides = (system.x, system.x_row, system.x_column)
        self.call("rows_unit" if unit else "rows", (b, x, number * (n * k), *matrix, *sides, n, k), solve)

    def many_sides(self, system: _System[int], a: SSAValue, b: SSAValue, x: SSAValue, unit: bool) -> None:
        """Solve blocks of right sides, which are contiguous, in the result."""
        builder, (n, k) = self.builder, (system.n, system.k)
        size = min(k, BLOCK_OF_SIDES)
        blocks = -(-k // size)

        def solve(vectors: Vectors, *given: Any) -> None:
            ManySides(vectors, *given).solve(unit)

        with self.groups(n * n * size // 2 + 4 * n * size, 1, self.count * blocks) as (number, _, _):
            matrix, block = builder.index(number // blocks), builder.index(number % blocks)
            first = builder.index(block * size)
            matrices = (a, matrix * (n * n) + system.a, system.a_row, system.a_column)
            sides = (b, x, matrix * (n * k) + system.x + first, system.x_row)
            count = builder.min(size, builder.index(k - first))
            self.call("many_sides_unit" if unit else "many_sides", (*matrices, *sides, n, count), solve)

    def turned_sides(self, system: _System[int], a: SSAValue, b: SSAValue, x: SSAValue, unit: bool) -> None:
        """Solve one system whose right sides are rows, as columns of scratch memory."""
        builder, (n, k) = self.builder, (system.n, system.k)
        row = k if system.x_row > 0 else -k

        def solve(vectors: Vectors, buffer: Any, begin: Any, a: Any, at: Any, i: Any, j: Any, *given: Any) -> None:
            ManySides(vectors, a, at, i, j, buffer, buffer, begin, *given).solve(unit)

        with self.groups(n * n * k // 2 + 6 * n * k, n * k, self.count) as (matrix, scratch, at):
            outside = [builder.strided_view(array, matrix * (n * k), (k, n), (n, 1)) for array in (b, x)]
            inside = builder.strided_view(scratch, at, (k, n), (1, k))
            with builder.loop(0, k) as c, builder.loop(0, n) as i:
                builder.store(builder.load(outside[0], [c, i]), inside, [c, i])
            first = builder.index(at + (0 if row > 0 else (n - 1) * k))
            matrices = (a, matrix * (n * n) + system.a, system.a_row, system.a_column)
            self.call("turned_sides_unit" if unit else "turned_sides", (scratch, first, *matrices, row, n, k), solve)
            with builder.loop(0, k) as c, builder.loop(0, n) as i:
                builder.store(builder.load(inside, [c, i]), outside[1], [c, i])

    def few_sides(
        self,
        system: _System[int],
        a: SSAValue,
        b: SSAValue,
        x: SSAValue,
        number: IndexValue,
        scratch: SSAValue,
        at: IndexValue,
    ) -> None:
        """Solve one system, with the right sides as columns of scratch memory."""
        builder, (n, k) = self.builder, (system.n, system.k)
        unit, backwards = bool(cast(Any, self.op).unit.value.data), system.a != 0
        by_columns = abs(system.a_row) == 1 and n > 1
        row = abs(system.x_row)
        for source, target in ((b, scratch), (scratch, x)):
            if source is scratch:
                for side in range(0, k, TOGETHER):
                    sides = min(TOGETHER, k - side)

                    def solve(vectors: Vectors, *given: Any, sides: int = sides) -> None:
                        FewSides(vectors, *given, sides=sides).solve(by_columns, backwards, unit)

                    flags = "".join(str(int(flag)) for flag in (by_columns, backwards, unit))
                    self.call(f"sides_{sides}_{flags}", (a, number * (n * n), scratch, at + n * side, n), solve)
            with builder.loop(0, k) as c, builder.loop(0, n, attributes=PARALLEL) as i:
                outside, inside = number * (n * k) + i * row + c * system.x_column, at + c * n + i
                pair = (inside, outside) if source is scratch else (outside, inside)
                views = [
                    builder.strided_view(array, place, (1,), (1,))
                    for array, place in zip((source, target), pair, strict=True)
                ]
                builder.store(builder.load(views[0], [0]), views[1], [0])


@patterns.on(LuOp)
def _lu(op: LuOp, builder: LoopBuilder) -> None:
    """`linalg_ext.lu` becomes loops over groups of matrices, or over matrices."""
    if 0 not in shape_of(op.inputs[0]):
        _Lu(op, builder).emit()


@patterns.on(TriangularSolveOp)
def _solve(op: TriangularSolveOp, builder: LoopBuilder) -> None:
    """`linalg_ext.triangular_solve` becomes loops over groups of systems, or over systems."""
    if 0 not in shape_of(op.inputs[1]):
        _Solve(op, builder).emit()

"""
A triangular system with few right sides, whose rows are in vectors.

The right sides are columns of scratch memory. With rows of the matrix in memory as they are meant, element i of a
solution takes a product of row i and the elements before it; where rows are those of the transposed matrix, each
element that is found is taken out of those after it. Upper systems go backwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, vector
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import SSAValue

from ...dialects.support.scalar import Scalar
from ..loop_nests.kernel_builder import Index, IndexValue
from .fourier_passes import Vec, Vectors

MOST_SIDES = 8
"""The most right sides; with more of them vectors along these are better."""

_REASSOCIATED = arith.FastMathFlagsAttr([FastMathFlag.REASSOC])

TOGETHER = 4
"""Right sides for which a row is read once."""


@dataclass(frozen=True)
class FewSides:
    """The body of a function for some right sides, whose columns are n elements each, one after the other from `at`."""

    vectors: Vectors
    array: SSAValue
    begin: IndexValue
    scratch: SSAValue
    at: IndexValue
    n: IndexValue
    sides: int

    def solve(self, by_columns: bool, backwards: bool, unit: bool) -> None:
        """`by_columns`: the rows in memory are the matrix's columns."""
        builder = self.vectors.builder
        with builder.loop(0, self.n) as turn:
            i = builder.index(self.n - 1 - turn) if backwards else turn
            others = (i + 1, self.n) if by_columns != backwards else (0, i)
            row = builder.index(self.begin + i * self.n)
            if by_columns:
                found = self.finish(i, row, [self.side(c, i) for c in range(self.sides)], unit)
                self.take_out(row, others, found)
            else:
                self.finish(i, row, self.products(row, others, i), unit)

    def place(self, side: int, i: Index) -> Index:
        return self.at + self.n * side + i

    def side(self, side: int, i: IndexValue) -> Scalar:
        vectors = self.vectors
        return vectors.builder.on(vectors.element_at(self.scratch, self.place(side, i)))

    def finish(self, i: IndexValue, row: IndexValue, values: Sequence[Scalar], unit: bool) -> list[Scalar]:
        """Divide element i of each side by the pivot."""
        vectors, builder = self.vectors, self.vectors.builder
        pivot = vectors.element_at(self.array, row + i)
        found = list(values) if unit else [value / pivot for value in values]
        for side, value in enumerate(found):
            builder.store(value, builder.strided_view(self.scratch, self.place(side, i), (1,), (1,)), [0])
        return found

    def products(self, row: IndexValue, others: tuple[Index, Index], i: IndexValue) -> list[Scalar]:
        """Element i of each side without the products of the row and the elements that are known."""
        vectors, builder, lanes = self.vectors, self.vectors.builder, self.vectors.lanes
        low, parts, rest = self._parts(others)
        zero = vectors.constant(0.0)
        with builder.loop(0, parts, carry=[zero.value for _ in range(self.sides)]) as (part, state):
            place = builder.index(low + part * lanes)
            own = vectors.load(self.array, row + place)
            sums = [Vec(vectors, value) for value in state]
            known = [vectors.load(self.scratch, self.place(side, place)) for side in range(self.sides)]
            builder.yield_(*(s.plus_product(own, x).value for s, x in zip(sums, known, strict=True)))
        totals = [builder.on(sum_of(Vec(vectors, value))) for value in state]
        with builder.loop(rest, others[1], carry=totals) as (place, state):
            own = builder.on(vectors.element_at(self.array, row + place))
            following = [builder.on(s) + own * self.side(c, place) for c, s in enumerate(state)]
            builder.yield_(*following)
        return [self.side(c, i) - builder.on(total) for c, total in enumerate(state)]

    def take_out(self, row: IndexValue, others: tuple[Index, Index], found: Sequence[Scalar]) -> None:
        """Take the products of elements that are known and a row from the other elements of each side."""
        vectors, builder, lanes = self.vectors, self.vectors.builder, self.vectors.lanes
        low, parts, rest = self._parts(others)
        factors = [-vectors.splat(value.value) for value in found]
        with builder.loop(0, parts) as part:
            place = builder.index(low + part * lanes)
            own = vectors.load(self.array, row + place)
            for side, factor in enumerate(factors):
                target = self.place(side, place)
                value = vectors.load(self.scratch, target).plus_product(own, factor)
                vectors.store(value, self.scratch, target)
        with builder.loop(rest, others[1]) as place:
            own = builder.on(vectors.element_at(self.array, row + place))
            for side, value in enumerate(found):
                target = builder.strided_view(self.scratch, self.place(side, place), (1,), (1,))
                builder.store(self.side(side, place) - own * value, target, [0])

    def _parts(self, others: tuple[Index, Index]) -> tuple[IndexValue, IndexValue, Index]:
        """The start of a range, its whole vectors, and the start of what is left."""
        builder, lanes = self.vectors.builder, self.vectors.lanes
        low = builder.index(others[0])
        parts = builder.index(builder.index(others[1]) - low) // lanes
        return low, builder.index(parts), low + builder.index(parts) * lanes


def sum_of(x: Vec) -> SSAValue:
    """The sum of a vector's elements."""
    kind = vector.CombiningKindAttr(vector.CombiningKindFlag.ADD)
    op = vector.ReductionOp.create(
        operands=[x.value],
        result_types=[x.vectors.element],
        properties={"kind": kind, "fastmath": _REASSOCIATED},
    )
    return x.vectors.builder.insert(op).dest

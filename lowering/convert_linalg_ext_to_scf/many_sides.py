"""A triangular system with many right sides, which are rows of vectors: those in memory are taken as they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from ..loop_nests.kernel_builder import Index, IndexValue
from .fourier_passes import Vec, Vectors
from .matrices import divided

VECTORS = 4
"""Vectors of right sides that are solved at once."""


@dataclass(frozen=True)
class ManySides:
    """The body of a function for some right sides: strides are in elements, and every row of sides is contiguous."""

    vectors: Vectors
    array: SSAValue
    a: IndexValue
    a_row: IndexValue
    a_column: IndexValue
    given: SSAValue
    found: SSAValue
    x: IndexValue
    x_row: IndexValue
    n: IndexValue
    sides: IndexValue

    def solve(self, unit: bool) -> None:
        builder, lanes = self.vectors.builder, self.vectors.lanes
        block = VECTORS * lanes
        blocks = builder.index(self.sides // block)
        with builder.loop(0, blocks) as number, builder.loop(0, self.n) as i:
            self.vectors_of(i, [number * block + lanes * part for part in range(VECTORS)], unit)
        rest = builder.index(builder.index(self.sides - blocks * block) // lanes)
        with builder.loop(0, rest) as number, builder.loop(0, self.n) as i:
            self.vectors_of(i, [blocks * block + number * lanes], unit)
        with builder.loop(blocks * block + rest * lanes, self.sides) as side, builder.loop(0, self.n) as i:
            self.side(i, side, unit)

    def element(self, i: IndexValue, j: IndexValue) -> SSAValue:
        return self.vectors.element_at(self.array, self.a + self.a_row * i + self.a_column * j)

    def place(self, i: IndexValue, side: Index) -> Index:
        return self.x + self.x_row * i + side

    def vectors_of(self, i: IndexValue, sides: Sequence[Index], unit: bool) -> None:
        """Element i of some vectors of sides."""
        vectors, builder = self.vectors, self.vectors.builder
        start = [vectors.load(self.given, self.place(i, side)).value for side in sides]
        with builder.loop(0, i, carry=start) as (j, state):
            factor = -vectors.splat(self.element(i, j))
            known = [vectors.load(self.found, self.place(j, side)) for side in sides]
            sums = [Vec(vectors, value) for value in state]
            builder.yield_(*(s.plus_product(factor, x).value for s, x in zip(sums, known, strict=True)))
        pivot = None if unit else vectors.splat(self.element(i, i))
        for side, value in zip(sides, state, strict=True):
            result = Vec(vectors, value)
            vectors.store(result if pivot is None else divided(result, pivot), self.found, self.place(i, side))

    def side(self, i: IndexValue, side: IndexValue, unit: bool) -> None:
        """Element i of one side."""
        vectors, builder = self.vectors, self.vectors.builder
        start = [vectors.element_at(self.given, self.place(i, side))]
        with builder.loop(0, i, carry=start) as (j, state):
            known = builder.on(vectors.element_at(self.found, self.place(j, side)))
            builder.yield_(builder.on(state[0]) - builder.on(self.element(i, j)) * known)
        value = builder.on(state[0])
        if not unit:
            value = value / self.element(i, i)
        builder.store(value, builder.strided_view(self.found, self.place(i, side), (1,), (1,)), [0])

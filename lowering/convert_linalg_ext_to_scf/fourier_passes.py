"""
The arithmetic of Fourier transforms: one pass of a radix over the planes of a line.

A plane holds the real, or the imaginary, parts of an element in a group of lines, next to each other. The machine's
vectors hold the group, or a part of it: a loop over parts is the innermost one, so that the group's cache line is read
once, and each part's butterfly stays in registers. All transforms are forward ones; an inverse one exchanges the planes
before and after.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import VectorType
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects.support.creation import create_op
from ...dialects.support.scalar import NO_FASTMATH, scalar_attr
from ...hlo_dialect.ops.algorithms.fourier import unit_circle
from ..loop_nests.kernel_builder import Index, IndexValue
from ..loop_nests.loop_builder import LoopBuilder


class Vec:
    """A vector under construction, with operators."""

    __slots__ = ("value", "vectors")

    def __init__(self, vectors: Vectors, value: SSAValue):
        self.vectors = vectors
        self.value = value

    def _emit(self, cls: type[Operation], *others: Vec) -> Vec:
        op = create_op(
            cls,
            operands=[self.value, *(other.value for other in others)],
            result_types=[self.value.type],
            properties={"fastmath": NO_FASTMATH},
        )
        return Vec(self.vectors, self.vectors.builder.insert(op).results[0])

    def __add__(self, other: Vec) -> Vec:
        return self._emit(arith.AddfOp, other)

    def __sub__(self, other: Vec) -> Vec:
        return self._emit(arith.SubfOp, other)

    def __mul__(self, other: Vec) -> Vec:
        return self._emit(arith.MulfOp, other)

    def __neg__(self) -> Vec:
        return self._emit(arith.NegfOp)

    def plus_product(self, x: Vec, y: Vec) -> Vec:
        """`self + x * y`, rounded once."""
        op = create_op(vector.FMAOp, operands=[x.value, y.value, self.value], result_types=[self.value.type])
        return Vec(self.vectors, self.vectors.builder.insert(op).res)


class Number(NamedTuple):
    """A complex number in each lane."""

    re: Vec
    im: Vec

    def plus(self, other: Number) -> Number:
        return Number(self.re + other.re, self.im + other.im)

    def minus(self, other: Number) -> Number:
        return Number(self.re - other.re, self.im - other.im)

    def times(self, w: Number) -> Number:
        re = (self.re * w.re).plus_product(-self.im, w.im)
        return Number(re, (self.im * w.re).plus_product(self.re, w.im))

    def scaled(self, factor: Vec) -> Number:
        return Number(self.re * factor, self.im * factor)

    def plus_scaled(self, x: Number, factor: Vec) -> Number:
        return Number(self.re.plus_product(x.re, factor), self.im.plus_product(x.im, factor))

    def turned(self) -> Number:
        """The number times -i."""
        return Number(self.im, -self.re)

    def conjugate(self) -> Number:
        return Number(self.re, -self.im)


class Side(Protocol):
    """Where a pass finds its numbers, or puts them; a place is the number of an element of the lines."""

    def read(self, vectors: Vectors, place: Index) -> Number: ...

    def write(self, vectors: Vectors, value: Number, place: Index) -> None: ...


@dataclass(frozen=True)
class Planes:
    """Real and imaginary parts in one buffer: elements from `at`, and `apart` elements further."""

    buffer: SSAValue
    at: Index
    apart: Index

    @property
    def exchanged(self) -> Planes:
        """The same numbers times i, conjugated: the parts take each other's place."""
        return Planes(self.buffer, self.at + self.apart, 0 - self.apart)

    def read(self, vectors: Vectors, place: Index) -> Number:
        at = self.at + place * vectors.group + vectors.part
        return Number(vectors.load(self.buffer, at), vectors.load(self.buffer, at + self.apart))

    def write(self, vectors: Vectors, value: Number, place: Index) -> None:
        at = self.at + place * vectors.group + vectors.part
        vectors.store(value.re, self.buffer, at)
        vectors.store(value.im, self.buffer, at + self.apart)


class Vectors:
    """Builds vectors of `lanes` elements, and reads and writes them."""

    def __init__(self, builder: LoopBuilder, element: Attribute, lanes: int, group: int | None = None, part: Index = 0):
        self.builder = builder
        self.element = element
        self.lanes = lanes
        self.group = lanes if group is None else group
        """The lines of a group, a multiple of the lanes."""
        self.part = part
        """The first line of the group in these vectors."""
        self.type: VectorType[Any] = VectorType(element, [lanes])

    def of_lanes(self, lanes: int) -> Vectors:
        """Vectors of another length."""
        return self if lanes == self.lanes else Vectors(self.builder, self.element, lanes)

    @property
    def whole(self) -> Vectors:
        """Vectors of a whole group."""
        return self.of_lanes(self.group)

    @contextmanager
    def each_part(self) -> Generator[Vectors]:
        """A loop over the parts of a group."""
        if self.group == self.lanes:
            yield self
            return
        with self.builder.loop(0, self.group // self.lanes) as number:
            yield Vectors(self.builder, self.element, self.lanes, self.group, number * self.lanes)

    def load(self, buffer: SSAValue, at: Index) -> Vec:
        view = self.builder.strided_view(buffer, at, (self.lanes,), (1,))
        op = create_op(vector.LoadOp, operands=[view, self.builder.index(0).value], result_types=[self.type])
        return Vec(self, self.builder.insert(op).result)

    def store(self, value: Vec, buffer: SSAValue, at: Index) -> None:
        view = self.builder.strided_view(buffer, at, (self.lanes,), (1,))
        self.builder.insert(create_op(vector.StoreOp, operands=[value.value, view, self.builder.index(0).value]))

    def splat(self, value: SSAValue) -> Vec:
        op = create_op(vector.BroadcastOp, operands=[value], result_types=[self.type])
        return Vec(self, self.builder.insert(op).vector)

    def constant(self, value: float) -> Vec:
        return self.splat(self.builder.scalar(scalar_attr(value, self.element)))

    def element_at(self, buffer: SSAValue, at: Index) -> SSAValue:
        return self.builder.load(self.builder.strided_view(buffer, at, (1,), (1,)), [0])

    def pair(self, buffer: SSAValue, at: Index) -> Number:
        """A complex number of a table in every lane."""
        return Number(*(self.splat(self.element_at(buffer, at + part)) for part in (0, 1)))

    def number(self, side: Side, place: Index) -> Number:
        return side.read(self, place)

    def put(self, value: Number, side: Side, place: Index) -> None:
        side.write(self, value, place)


Butterfly = Callable[[Vectors, Sequence[Number]], list[Number]]


def _two(vectors: Vectors, x: Sequence[Number]) -> list[Number]:
    return [x[0].plus(x[1]), x[0].minus(x[1])]


def _three(vectors: Vectors, x: Sequence[Number]) -> list[Number]:
    total = x[1].plus(x[2])
    middle = x[0].plus_scaled(total, vectors.constant(-0.5))
    side = x[1].minus(x[2]).turned().scaled(vectors.constant(math.sqrt(0.75)))
    return [x[0].plus(total), middle.plus(side), middle.minus(side)]


def _four(vectors: Vectors, x: Sequence[Number]) -> list[Number]:
    even, odd = _two(vectors, (x[0], x[2])), _two(vectors, (x[1], x[3]))
    turned = odd[1].turned()
    return [even[0].plus(odd[0]), even[1].plus(turned), even[0].minus(odd[0]), even[1].minus(turned)]


def _five(vectors: Vectors, x: Sequence[Number]) -> list[Number]:
    cos, sin = unit_circle(np.arange(1, 3), 5, 1)
    c1, c2, s1, s2 = (vectors.constant(float(value)) for value in (*cos, *sin))
    outer, inner = x[1].plus(x[4]), x[2].plus(x[3])
    outer_side, inner_side = x[1].minus(x[4]).turned(), x[2].minus(x[3]).turned()
    first = x[0].plus_scaled(outer, c1).plus_scaled(inner, c2)
    second = x[0].plus_scaled(outer, c2).plus_scaled(inner, c1)
    first_side = outer_side.scaled(s1).plus_scaled(inner_side, s2)
    second_side = outer_side.scaled(s2).plus_scaled(inner_side, -s1)
    zero = x[0].plus(outer).plus(inner)
    return [zero, first.plus(first_side), second.plus(second_side), second.minus(second_side), first.minus(first_side)]


def _eight(vectors: Vectors, x: Sequence[Number]) -> list[Number]:
    even, odd = _four(vectors, x[0::2]), _four(vectors, x[1::2])
    half = vectors.constant(math.sqrt(0.5))
    odd[1] = Number(odd[1].re + odd[1].im, odd[1].im - odd[1].re).scaled(half)
    odd[2] = odd[2].turned()
    odd[3] = Number(odd[3].im - odd[3].re, -(odd[3].re + odd[3].im)).scaled(half)
    pairs = zip(even, odd, strict=True)
    both = [(a.plus(b), a.minus(b)) for a, b in pairs]
    return [a for a, _ in both] + [b for _, b in both]


BUTTERFLIES: dict[int, Butterfly] = {2: _two, 3: _three, 4: _four, 5: _five, 8: _eight}
"""Transforms of a few elements, in registers."""


AT_ONCE = 2
"""Pairs of results of a prime radix that share the reading of its elements; radix 7 has three."""


@dataclass(frozen=True)
class PassLoops:
    """
    One pass: element (i, j, k) of (before, radix, after) source elements, transformed over j and multiplied by roots,
    becomes element (j, i, k) of the target.
    """

    vectors: Vectors
    source: Side
    target: Side
    table: SSAValue
    twiddles: IndexValue
    primes: IndexValue
    radix: IndexValue
    before: IndexValue
    after: IndexValue
    twiddled: bool
    """Whether `after` is not 1."""

    def emit(self, own: int | None) -> None:
        """`own`: the radix, if there is code for it."""
        builder = self.vectors.builder
        with builder.loop(0, self.before) as i, builder.loop(0, self.after) as k, self.vectors.each_part() as vectors:
            part = replace(self, vectors=vectors)
            if own is not None:
                part._registers(own, i, k)
            else:
                part._prime(i, k)

    def _registers(self, radix: int, i: IndexValue, k: IndexValue) -> None:
        vectors = self.vectors
        first = self.after * (i * radix) + k
        values = [vectors.number(self.source, self.after * j + first) for j in range(radix)]
        for j, value in enumerate(BUTTERFLIES[radix](vectors, values)):
            self._put(value, j, i, k)

    def _put(self, value: Number, j: Index, i: IndexValue, k: IndexValue) -> None:
        vectors = self.vectors
        if self.twiddled and j != 0:
            root = self.twiddles + (self.after * (j - 1) + k) * 2
            value = value.times(vectors.pair(self.table, root))
        vectors.put(value, self.target, self.after * (self.before * j + i) + k)

    def _prime(self, i: IndexValue, k: IndexValue) -> None:
        """
        For every odd radix, in loops: the sum and the difference of elements j and radix - j take their place, and
        contribute to results l and radix - l, some of which are computed at once.
        """
        vectors, builder, radix = self.vectors, self.vectors.builder, self.radix
        half = builder.index(radix + 1) >> 1
        first = self.after * (radix * i) + k
        zero = vectors.number(self.source, first)
        with builder.loop(1, half, carry=[zero.re.value, zero.im.value]) as (j, sums):
            total = Number(Vec(vectors, sums[0]), Vec(vectors, sums[1]))
            places = self.after * j + first, self.after * (radix - j) + first
            one, other = (vectors.number(self.source, place) for place in places)
            both = one.plus(other)
            vectors.put(both, self.source, places[0])
            vectors.put(one.minus(other), self.source, places[1])
            total = total.plus(both)
            builder.yield_(total.re.value, total.im.value)
        self._put(Number(Vec(vectors, sums[0]), Vec(vectors, sums[1])), 0, i, k)
        pairs = builder.index(half - 1)
        with builder.loop(0, builder.index(pairs + (AT_ONCE - 1)) // AT_ONCE) as block:
            # The last results overlap those before them.
            result = builder.index(builder.min(builder.index(block * AT_ONCE), pairs - AT_ONCE))
            for number, (middle, side) in enumerate(self._pairs_of_results(zero, result, pairs, first)):
                self._put(middle.plus(side), result + (number + 1), i, k)
                self._put(middle.minus(side), radix - (result + (number + 1)), i, k)

    def _pairs_of_results(
        self, zero: Number, result: IndexValue, pairs: IndexValue, first: Index
    ) -> list[tuple[Number, Number]]:
        """The sums over cosines and over sines of results from `result + 1` on and of those mirrored."""
        vectors, builder = self.vectors, self.vectors.builder
        none = vectors.constant(0.0).value

        def numbers(state: Sequence[SSAValue]) -> list[tuple[Number, Number]]:
            parts = [Vec(vectors, value) for value in state]
            return [(Number(*parts[n : n + 2]), Number(*parts[n + 2 : n + 4])) for n in range(0, len(parts), 4)]

        with builder.loop(0, pairs, carry=[zero.re.value, zero.im.value, none, none] * AT_ONCE) as (j, state):
            both = vectors.number(self.source, self.after * (j + 1) + first)
            apart = vectors.number(self.source, self.after * (self.radix - (j + 1)) + first)
            sums: list[Number] = []
            for number, (middle, side) in enumerate(numbers(state)):
                root = vectors.pair(self.table, self.primes + (pairs * (result + number) + j) * 2)
                sums += middle.plus_scaled(both, root.re), side.plus_scaled(apart, root.im)
            builder.yield_(*(part.value for value in sums for part in value))
        # The roots' imaginary parts have their sign: times i, not -i.
        return [(middle, Number(-side.im, side.re)) for middle, side in numbers(state)]

"""Elementwise steps between the passes of Fourier transforms: spectra of real rows, chirps, roots of split rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.ir import SSAValue

from ..loop_nests.kernel_builder import Index, IndexValue
from .fourier_memory import shuffled
from .fourier_passes import Number, Planes, Side, Vectors
from .fourier_plan import FINE


@dataclass(frozen=True)
class SplitRoots:
    """The roots of unity between the lines of a split row: w^(k (column + l)) for element k of the line in lane l."""

    table: SSAValue
    lanes: Index
    """The offset of w^(k l), or of the roots themselves."""
    coarse: Index = 0
    fine: Index = 0
    column: Index | None = None
    """None if the table has the roots themselves."""

    def root(self, vectors: Vectors, k: Index) -> Number:
        at = k * (2 * vectors.group) + self.lanes + vectors.part
        of_lanes = Number(vectors.load(self.table, at), vectors.load(self.table, at + vectors.group))
        if self.column is None:
            return of_lanes
        exponent = vectors.builder.index(k * self.column)
        high, low = exponent // FINE, exponent % FINE
        first = vectors.pair(self.table, vectors.builder.index(high) * 2 + self.coarse)
        second = vectors.pair(self.table, vectors.builder.index(low) * 2 + self.fine)
        return first.times(second).times(of_lanes)


@dataclass(frozen=True)
class Rooted:
    """A side whose numbers are multiplied by roots of unity before they are written."""

    side: Side
    roots: SplitRoots

    def read(self, vectors: Vectors, place: Index) -> Number:
        return self.side.read(vectors, place)

    def write(self, vectors: Vectors, value: Number, place: Index) -> None:
        self.side.write(vectors, value.times(self.roots.root(vectors, place)), place)


@dataclass(frozen=True)
class Steps:
    """The bodies of functions that map planes to planes."""

    vectors: Vectors
    source: Planes
    target: Planes
    table: SSAValue
    at: Index
    """The offset of the step's numbers in the table."""
    n: IndexValue

    def real_spectrum(self) -> None:
        """
        From the transform of n pairs of real numbers to the n + 1 elements of their spectrum:
        2 X_k = Z_k + conj Z_(n-k) - i w^k (Z_k - conj Z_(n-k)).
        """
        vectors, builder = self.vectors, self.vectors.builder
        half = vectors.constant(0.5)
        with builder.loop(0, self.n + 1) as k, self.vectors.each_part() as vectors:
            mirrored = builder.index(self.n - k)
            one = vectors.number(self.source, builder.select(k >= self.n, 0, k))
            other = vectors.number(self.source, builder.select(mirrored >= self.n, 0, mirrored)).conjugate()
            root = vectors.pair(self.table, self.at + k * 2)
            turned = one.minus(other).times(root).turned()
            vectors.put(one.plus(other).plus(turned).scaled(half), self.target, k)

    def pairs_of_spectrum(self) -> None:
        """
        From the n + 1 elements of a real row's spectrum to the transform of its n pairs, times 2:
        2 Z_k = X_k + conj X_(n-k) + i conj w^k (X_k - conj X_(n-k)). The ends' imaginary parts do not matter.
        """
        vectors, builder = self.vectors, self.vectors.builder
        zero = vectors.constant(0.0)
        with self.vectors.each_part() as vectors:
            for end in (0, self.n):
                place = self.source.at + builder.index(end) * vectors.group + vectors.part
                vectors.store(zero, self.source.buffer, place + self.source.apart)
        with builder.loop(0, self.n) as k, self.vectors.each_part() as vectors:
            one = vectors.number(self.source, k)
            other = vectors.number(self.source, self.n - k).conjugate()
            root = vectors.pair(self.table, self.at + k * 2).conjugate()
            turned = one.minus(other).times(root).turned()
            vectors.put(one.plus(other).minus(turned), self.target, k)

    def whole_spectrum(self) -> None:
        """The other elements of a real row's spectrum of odd n, in place; the first one's imaginary part is zero."""
        vectors, builder = self.vectors, self.vectors.builder
        zero = vectors.constant(0.0)
        with self.vectors.each_part() as vectors:
            vectors.store(zero, self.source.buffer, self.source.at + self.source.apart + vectors.part)
        with builder.loop(builder.index(self.n + 1) >> 1, self.n) as k, self.vectors.each_part() as vectors:
            vectors.put(vectors.number(self.source, self.n - k).conjugate(), self.source, k)

    def times_table(self, size: Index) -> None:
        """Elements times the table's, and zeros from element n up to `size`."""
        builder = self.vectors.builder
        with builder.loop(0, self.n) as k, self.vectors.each_part() as vectors:
            value = vectors.number(self.source, k).times(vectors.pair(self.table, self.at + k * 2))
            vectors.put(value, self.target, k)
        zero = self.vectors.constant(0.0)
        with builder.loop(self.n, size) as k, self.vectors.each_part() as vectors:
            vectors.put(Number(zero, zero), self.target, k)


@dataclass(frozen=True)
class RealRow:
    """The body of a function between a row of n pairs' transform and its spectrum of n + 1 elements, in memory."""

    vectors: Vectors
    source: SSAValue
    source_at: IndexValue
    target: SSAValue
    target_at: IndexValue
    table: SSAValue
    roots: tuple[Index, ...]
    """The offsets of w^l for each lane, of w^e for small e, and for multiples of FINE; or only that of each w^k."""
    n: IndexValue

    def spectrum(self) -> None:
        """As `Steps.real_spectrum`; the source is followed by a copy of its first element."""
        vectors = self.vectors
        half = vectors.constant(0.5)
        for element in (0, 1):
            first = vectors.element_at(self.source, self.source_at * 2 + element)
            end = (self.source_at + self.n) * 2 + element
            vectors.builder.store(first, vectors.builder.strided_view(self.source, end, (1,), (1,)), [0])

        def combined(one: Number, other: Number, root: Number) -> Number:
            return one.plus(other).plus(one.minus(other).times(root).turned()).scaled(half)

        self._each(vectors.builder.index(self.n + 1), combined)
        builder = vectors.builder
        zero = builder.on(vectors.element_at(self.source, self.source_at * 2)).constant(0.0)
        for end in (0, self.n):
            place = (self.target_at + end) * 2 + 1
            builder.store(zero, builder.strided_view(self.target, place, (1,), (1,)), [0])

    def pairs(self) -> None:
        """As `Steps.pairs_of_spectrum`."""
        vectors, builder = self.vectors, self.vectors.builder

        def combined(one: Number, other: Number, root: Number) -> Number:
            return one.plus(other).minus(one.minus(other).times(root.conjugate()).turned())

        self._each(self.n, combined)
        first, last = (
            builder.on(vectors.element_at(self.source, builder.index(at) * 2))
            for at in (self.source_at, self.source_at + self.n)
        )
        for part, value in enumerate((first + last, first - last)):
            builder.store(value, builder.strided_view(self.target, self.target_at * 2 + part, (1,), (1,)), [0])

    def _each(self, count: IndexValue, combined: Callable[[Number, Number, Number], Number]) -> None:
        """Elements k and n - k of the source and w^k to element k of the target, for `count` of them, in vectors."""
        builder, lanes, group = self.vectors.builder, self.vectors.lanes, self.vectors.group
        with builder.loop(0, builder.index(count + (group - 1)) // group) as block, self.vectors.each_part() as vectors:
            # The last group overlaps the one before it.
            first = builder.index(builder.min(builder.index(block * group), builder.index(count - group)))
            k = builder.index(first + vectors.part)
            one = self._pairs(self.source, self.source_at + k)
            back = self._pairs(self.source, self.source_at + self.n - k - (lanes - 1))
            other = Number(*(shuffled(part, part, range(lanes - 1, -1, -1)) for part in back)).conjugate()
            value = combined(one, other, self._root(vectors, first))
            at = (self.target_at + k) * 2
            low = [lane // 2 + lanes * (lane % 2) for lane in range(lanes)]
            vectors.store(shuffled(value.re, value.im, low), self.target, at)
            high = [lane + lanes // 2 for lane in low]
            vectors.store(shuffled(value.re, value.im, high), self.target, at + lanes)

    def _pairs(self, array: SSAValue, at: Index) -> Number:
        vectors, lanes = self.vectors, self.vectors.lanes
        low, high = (vectors.load(array, at * 2 + part) for part in (0, lanes))
        return Number(*(shuffled(low, high, range(part, 2 * lanes, 2)) for part in (0, 1)))

    def _root(self, vectors: Vectors, k: IndexValue) -> Number:
        builder = vectors.builder
        if len(self.roots) == 1:
            at = k + self.roots[0] + vectors.part
            return Number(vectors.load(self.table, at), vectors.load(self.table, at + self.n + 1))
        of_lanes, fine, coarse = self.roots
        first = vectors.pair(self.table, builder.index(k // FINE) * 2 + coarse)
        second = vectors.pair(self.table, builder.index(k % FINE) * 2 + fine)
        at = builder.index(of_lanes) + vectors.part
        lanes = Number(vectors.load(self.table, at), vectors.load(self.table, at + vectors.group))
        return first.times(second).times(lanes)

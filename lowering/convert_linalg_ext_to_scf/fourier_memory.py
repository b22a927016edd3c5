"""
Moving the elements of Fourier transforms between arrays and planes.

An array holds complex numbers as pairs. Element j of line l is at `at + j step + l apart`, counted in pairs (in
numbers, if the array is real). Where fewer lines are left than a vector has lanes, the last line is in several lanes,
which are computed, and written, alike. Loops over single elements stay scalar: in the planes these are apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import vector
from xdsl.ir import SSAValue

from ...dialects.support.buffers import i64_array
from ...dialects.support.creation import create_op
from ..loop_nests.kernel_builder import Index, IndexValue
from ..loop_nests.loop_builder import SCALAR, LoopBuilder
from .fourier_passes import Number, Planes, Vec, Vectors


def shuffled(first: Vec, second: Vec, lanes: Sequence[int]) -> Vec:
    """Lanes of two vectors, those of the second numbered after the first's."""
    vectors = first.vectors
    op = create_op(
        vector.ShuffleOp,
        operands=[first.value, second.value],
        result_types=[vectors.type],
        properties={"mask": i64_array(tuple(lanes))},
    )
    return Vec(vectors, vectors.builder.insert(op).results[0])


def transposed(rows: Sequence[Vec]) -> list[Vec]:
    """The columns of a square of vectors: in each step the halves of pairs of blocks change places."""
    count = len(rows)
    found = list(rows)
    half = 1
    while half < count:
        low = [lane if not lane & half else count + lane - half for lane in range(count)]
        high = [lane + half if not lane & half else count + lane for lane in range(count)]
        following = list(found)
        for number in range(count):
            if not number & half:
                a, b = found[number], found[number + half]
                following[number], following[number + half] = shuffled(a, b, low), shuffled(a, b, high)
        found = following
        half *= 2
    return found


@dataclass(frozen=True)
class Lines:
    """Lines of an array, one per lane."""

    array: SSAValue
    at: Index
    step: Index
    apart: Index
    count: Index
    """The number of lines, at most a vector's lanes."""

    def place(self, builder: LoopBuilder, lane: Index) -> IndexValue:
        """Where a lane's line begins."""
        last = builder.index(self.count) - 1
        number = builder.index(builder.min(builder.index(lane), last))
        return builder.index(number * self.apart + self.at)


@dataclass(frozen=True)
class SideBySide:
    """Lines side by side in an array, `lanes` of them: two vectors hold the pairs of an element."""

    array: SSAValue
    at: Index
    step: Index
    exchanged: bool = False
    """Whether the parts are the numbers' imaginary and real ones."""
    scale: SSAValue | None = None
    """The factors by which numbers are multiplied before they are written."""

    def read(self, vectors: Vectors, place: Index) -> Number:
        lanes = vectors.lanes
        at = (place * self.step + self.at) * 2
        low, high = (vectors.load(self.array, at + part) for part in (0, lanes))
        parts = [shuffled(low, high, range(part, 2 * lanes, 2)) for part in (0, 1)]
        return Number(*(reversed(parts) if self.exchanged else parts))

    def write(self, vectors: Vectors, value: Number, place: Index) -> None:
        lanes = vectors.lanes
        value = value if self.scale is None else value.scaled(vectors.splat(self.scale))
        first, second = reversed(value) if self.exchanged else value
        low = [lane // 2 + lanes * (lane % 2) for lane in range(lanes)]
        high = [lane + lanes // 2 for lane in low]
        at = (place * self.step + self.at) * 2
        vectors.store(shuffled(first, second, low), self.array, at)
        vectors.store(shuffled(first, second, high), self.array, at + lanes)


@dataclass(frozen=True)
class Moving:
    """The bodies of functions that read lines into planes and write them back."""

    vectors: Vectors
    lines: Lines
    planes: Planes
    n: Index
    """Elements of a line."""

    # Lines whose elements are next to each other.

    def read_rows(self) -> None:
        """A vector of pairs from each line at once, transposed in registers."""
        vectors, builder = self.vectors, self.vectors.builder
        lanes, pairs = vectors.lanes, vectors.lanes // 2
        starts = [self.lines.place(builder, lane) for lane in range(lanes)]
        whole = builder.index(self.n) // pairs * pairs
        with builder.loop(0, builder.index(whole) // pairs) as block:
            j = block * pairs
            columns = transposed([vectors.load(self.lines.array, (start + j) * 2) for start in starts])
            for number in range(pairs):
                value = Number(columns[2 * number], columns[2 * number + 1])
                vectors.put(value, self.planes, j + number)
        self.read_any(whole)

    def write_rows(self, scale: Vec) -> None:
        vectors, builder = self.vectors, self.vectors.builder
        lanes, pairs = vectors.lanes, vectors.lanes // 2
        starts = [self.lines.place(builder, lane) for lane in range(lanes)]
        whole = builder.index(self.n) // pairs * pairs
        with builder.loop(0, builder.index(whole) // pairs) as block:
            j = block * pairs
            values = [vectors.number(self.planes, j + number).scaled(scale) for number in range(pairs)]
            rows = transposed([part for value in values for part in value])
            for start, row in zip(starts, rows, strict=True):
                vectors.store(row, self.lines.array, (start + j) * 2)
        self.write_any(scale, whole)

    # Any lines.

    def read_any(self, first: Index = 0) -> None:
        """Elements from `first`, one number at a time."""
        vectors, builder = self.vectors, self.vectors.builder
        with builder.loop(0, vectors.lanes) as lane:
            start = self.lines.place(builder, lane)
            with builder.loop(first, self.n, attributes=SCALAR) as j:
                at = (j * self.lines.step + start) * 2
                for part in (0, 1):
                    self._put_element(vectors.element_at(self.lines.array, at + part), part, j, lane)

    def write_any(self, scale: Vec, first: Index = 0) -> None:
        builder = self.vectors.builder
        self._scale(scale, first)
        with builder.loop(0, self.lines.count) as lane:
            start = self.lines.place(builder, lane)
            with builder.loop(first, self.n, attributes=SCALAR) as j:
                at = (j * self.lines.step + start) * 2
                for part in (0, 1):
                    self._write_element(self._element(part, j, lane), at + part)

    def read_real(self) -> None:
        """Lines of real numbers next to each other: the imaginary parts are zero."""
        vectors, builder, planes = self.vectors, self.vectors.builder, self.planes
        lanes, zero = vectors.lanes, vectors.constant(0.0)
        starts = [self.lines.place(builder, lane) for lane in range(lanes)]
        whole = builder.index(self.n) // lanes * lanes
        with builder.loop(0, builder.index(whole) // lanes) as block:
            j = block * lanes
            columns = transposed([vectors.load(self.lines.array, start + j) for start in starts])
            for number, column in enumerate(columns):
                vectors.put(Number(column, zero), planes, j + number)
        with builder.loop(0, lanes) as lane:
            start = self.lines.place(builder, lane)
            with builder.loop(whole, self.n, attributes=SCALAR) as j:
                self._put_element(vectors.element_at(self.lines.array, j + start), 0, j, lane)
        with builder.loop(whole, self.n) as j:
            vectors.store(zero, planes.buffer, planes.at + j * lanes + planes.apart)

    def write_real(self, scale: Vec) -> None:
        """The real parts."""
        vectors, builder, lanes = self.vectors, self.vectors.builder, self.vectors.lanes
        starts = [self.lines.place(builder, lane) for lane in range(lanes)]
        whole = builder.index(self.n) // lanes * lanes
        with builder.loop(0, builder.index(whole) // lanes) as block:
            j = block * lanes
            rows = transposed([vectors.number(self.planes, j + number).re * scale for number in range(lanes)])
            for start, row in zip(starts, rows, strict=True):
                vectors.store(row, self.lines.array, start + j)
        self._scale(scale, whole)
        with builder.loop(0, self.lines.count) as lane:
            start = self.lines.place(builder, lane)
            with builder.loop(whole, self.n, attributes=SCALAR) as j:
                self._write_element(self._element(0, j, lane), j + start)

    def _scale(self, scale: Vec, first: Index) -> None:
        with self.vectors.builder.loop(first, self.n) as j:
            self.vectors.put(self.vectors.number(self.planes, j).scaled(scale), self.planes, j)

    def _where(self, part: int, j: IndexValue, lane: IndexValue) -> Index:
        at = self.planes.at + (j * self.vectors.lanes + lane)
        return at + self.planes.apart if part else at

    def _put_element(self, value: SSAValue, part: int, j: IndexValue, lane: IndexValue) -> None:
        view = self.vectors.builder.strided_view(self.planes.buffer, self._where(part, j, lane), (1,), (1,))
        self.vectors.builder.store(value, view, [0])

    def _element(self, part: int, j: IndexValue, lane: IndexValue) -> SSAValue:
        return self.vectors.element_at(self.planes.buffer, self._where(part, j, lane))

    def _write_element(self, value: SSAValue, at: Index) -> None:
        self.vectors.builder.store(value, self.vectors.builder.strided_view(self.lines.array, at, (1,), (1,)), [0])

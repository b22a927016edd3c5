"""
Moving the elements of Fourier transforms between arrays and planes.

An array holds complex numbers as pairs. Element j of line l is at `at + j step + l apart`, counted in pairs (in
numbers, if the array is real); either the elements of a line or the lines are next to each other. Where fewer lines
are left than a vector has lanes, the last line is in several lanes, which are computed, and written, alike.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from xdsl.dialects import vector
from xdsl.ir import SSAValue

from ...dialects.support.buffers import i64_array
from ...dialects.support.creation import create_op
from ...dialects.support.scalar import width_of
from ..loop_nests.kernel_builder import Index, IndexValue
from ..loop_nests.loop_builder import LoopBuilder
from ..loop_nests.transposed_rows import transposed as columns_of
from .fourier_passes import Number, Planes, Vec, Vectors


def shuffled(first: Vec, second: Vec, lanes: Sequence[int]) -> Vec:
    """Some lanes of two vectors, those of the second numbered after the first's."""
    vectors = first.vectors.of_lanes(len(lanes))
    op = create_op(
        vector.ShuffleOp,
        operands=[first.value, second.value],
        result_types=[vectors.type],
        properties={"mask": i64_array(tuple(lanes))},
    )
    return Vec(vectors, vectors.builder.insert(op).results[0])


def joined(parts: Sequence[Vec]) -> Vec:
    """A vector of the lanes of several, whose number is a power of two."""
    while len(parts) > 1:
        both = range(2 * parts[0].vectors.lanes)
        parts = [shuffled(a, b, both) for a, b in zip(parts[::2], parts[1::2], strict=True)]
    return parts[0]


def transposed(rows: Sequence[Vec]) -> list[Vec]:
    """The columns of squares of vectors' lanes, which are side by side where rows are longer than their number."""
    vectors = rows[0].vectors
    return columns_of(rows, vectors.lanes, width_of(vectors.element), shuffled)


def most_together(numbers: int, lanes: int) -> int:
    """The lanes of the longest vector for some numbers next to each other: a power of two."""
    return min(lanes, 1 << numbers.bit_length() - 1)


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
    """
    Lines side by side in an array: one or two vectors, which may overlap, hold the pairs of an element.

    Lanes beyond the last line hold its numbers too.
    """

    array: SSAValue
    at: Index
    step: Index
    count: int
    """The number of lines, at most a vector's lanes."""
    exchanged: bool = False
    """Whether the parts are the numbers' imaginary and real ones."""
    scale: SSAValue | None = None
    """The factors by which numbers are multiplied before they are written."""

    def _pieces(self, vectors: Vectors) -> tuple[Vectors, int, int]:
        """The vectors, where the second one begins, and the lines in them."""
        # Fewer lines than a group's are read by vectors of whole groups.
        count = min(self.count, vectors.lanes)
        piece = most_together(2 * count, vectors.lanes)
        return vectors.of_lanes(piece), 2 * count - piece, count

    def _place(self, vectors: Vectors, place: Index) -> Index:
        return (place * self.step + self.at + vectors.part) * 2

    def read(self, vectors: Vectors, place: Index) -> Number:
        short, second, count = self._pieces(vectors)
        at = self._place(vectors, place)
        low, high = (short.load(self.array, at + offset) for offset in (0, second))
        numbers = [2 * min(lane, count - 1) for lane in range(vectors.lanes)]
        lanes = [number if number < short.lanes else short.lanes + number - second for number in numbers]
        parts = [shuffled(low, high, [lane + part for lane in lanes]) for part in (0, 1)]
        return Number(*(reversed(parts) if self.exchanged else parts))

    def write(self, vectors: Vectors, value: Number, place: Index) -> None:
        value = value if self.scale is None else value.scaled(vectors.splat(self.scale))
        parts = reversed(value) if self.exchanged else value
        first, other = parts
        short, second, _ = self._pieces(vectors)
        at = self._place(vectors, place)
        for offset in (0, second) if second else (0,):
            lanes = [number // 2 + vectors.lanes * (number % 2) for number in range(offset, offset + short.lanes)]
            short.store(shuffled(first, other, lanes), self.array, at + offset)


@dataclass(frozen=True)
class Moving:
    """The bodies of functions that read lines of elements next to each other into planes, and write them back."""

    vectors: Vectors
    lines: Lines
    planes: Planes
    n: Index
    """Elements of a line."""

    def read_rows(self, piece: int) -> None:
        """A piece of so many numbers from each line at once, transposed in registers."""
        with self._pieces(piece, 2) as (vectors, j, places):
            columns = self._read(places, piece)
            for number in range(piece // 2):
                vectors.put(Number(columns[2 * number], columns[2 * number + 1]), self.planes, j + number)

    def write_rows(self, piece: int, scale: Vec) -> None:
        with self._pieces(piece, 2) as (vectors, j, places):
            values = [vectors.number(self.planes, j + number).scaled(scale) for number in range(piece // 2)]
            self._write([part for value in values for part in value], places)

    def read_real(self, piece: int) -> None:
        """Lines of real numbers: the imaginary parts are zero."""
        zero = self.vectors.constant(0.0)
        with self._pieces(piece, 1) as (vectors, j, places):
            for number, column in enumerate(self._read(places, piece)):
                vectors.put(Number(column, zero), self.planes, j + number)

    def write_real(self, piece: int, scale: Vec) -> None:
        """The real parts."""
        with self._pieces(piece, 1) as (vectors, j, places):
            values = [vectors.number(self.planes, j + number).re * scale for number in range(piece)]
            self._write(values, places)

    @contextmanager
    def _pieces(self, piece: int, parts: int) -> Generator[tuple[Vectors, IndexValue, list[Index]]]:
        """
        Loops over parts of the group and pieces of their lines: vectors, the first element of each piece, its places.

        Elements have `parts` numbers. The last piece overlaps the one before it, if the lines are no multiple of it;
        none has fewer numbers.
        """
        builder, elements = self.vectors.builder, piece // parts
        with self.vectors.each_part() as vectors:
            starts = [self.lines.place(builder, vectors.part + lane) for lane in range(vectors.lanes)]
            last = builder.index(self.n) - elements
            with builder.loop(0, builder.index(builder.index(self.n) + (elements - 1)) // elements) as block:
                j = builder.index(builder.min(builder.index(block * elements), last))
                yield vectors, j, [(start + j) * parts for start in starts]

    def _read(self, places: Sequence[Index], piece: int) -> list[Vec]:
        """The numbers of a piece of each line, a vector for each."""
        short, array = self.vectors.of_lanes(piece), self.lines.array
        rows = [[short.load(array, place) for place in places[row::piece]] for row in range(piece)]
        return transposed([joined(parts) for parts in rows])

    def _write(self, numbers: Sequence[Vec], places: Sequence[Index]) -> None:
        piece = len(numbers)
        for first, row in enumerate(transposed(numbers)):
            for part, place in enumerate(places[first::piece]):
                lanes = range(part * piece, (part + 1) * piece)
                value = row if piece == row.vectors.lanes else shuffled(row, row, lanes)
                value.vectors.store(value, self.lines.array, place)

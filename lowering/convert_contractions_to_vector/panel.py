"""
The bodies of functions of one panel of a factor: that copies it, and that finds its least number, if it is of bf16.

`cpu.dot` takes subnormal numbers, also those that it computes, for zeros. Factors are multiples of their last bits, so
that their products, and sums of these, are multiples of the product of the least last bits: where this is at least the
least normal number, nothing that the instruction computes is subnormal. Other panels are widened, and their products
added in the same order, so that the result has the same bits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from xdsl.dialects.builtin import BFloat16Type, Float32Type, Float64Type, IntegerType, bf16, i8, i16, i32
from xdsl.ir import Attribute, SSAValue

from ...dialects.support.scalar import Scalar, scalar_attr
from ..loop_nests.kernel_builder import Index
from ..loop_nests.loop_builder import PARALLEL, SCALAR, LoopBuilder, buffer_of
from .shared_function import writes
from .vectors import VectorBuilder, is_vector, lanes_of, powers_of_two

Packed: TypeAlias = Float32Type | Float64Type | BFloat16Type | IntegerType[Any, Any]
"""The element type of a panel."""

LEAST_TRANSPOSED = 4
"""The least side of a block that is transposed in registers."""

MAGNITUDE = i16
"""The type of a panel's least number: the bits of a bf16 without its sign, minus one, so that zero is the greatest."""

NO_SIGN = 0x7FFF

EXPONENT = 7
"""The place of the exponent in the bits of a bf16."""

NORMAL_SUM = 2 * 127 + 2 * EXPONENT - 126
"""
The least sum of the exponents of two factors, with their biases, whose last bits' product is a normal number of f32.
"""

LEAST_CONSTANT = NORMAL_SUM // 2
"""The least exponent of a constant that is packed by the compiler."""


def packed_type(element: Packed, group: int) -> Packed:
    """The type of the elements of panels, of which groups are multiplied and added to sums of type `element`."""
    pair = i16 if isinstance(element, IntegerType) else bf16
    return {1: element, 2: pair, 4: i8}[group]


@dataclass(frozen=True)
class Panel:
    """One panel: the parameters of the function, and the numbers that are known."""

    builder: LoopBuilder
    source: SSAValue
    source_at: Index
    target: SSAValue
    target_at: Index
    moving: Index
    """The source stride, in elements, along which the copy is not contiguous."""
    count: Index
    """Elements along k."""
    filled: Index
    """The number of rows, or columns, inside the matrix; the rest are zero."""
    width: int
    group: int
    lanes: int
    """Groups in one vector."""
    bias: int
    """The packed number of an element that is zero."""

    @property
    def element(self) -> Packed:
        return buffer_of(self.target).element_type

    @property
    def vectors(self) -> VectorBuilder:
        return VectorBuilder(self.builder)

    @property
    def step(self) -> int:
        """Elements of the panel from one group along k to the next."""
        return self.width * self.group

    def copy_across(self) -> None:
        """Copy a source that is contiguous across the panel."""
        builder, group = self.builder, self.group
        whole = self.count // group
        with builder.loop(0, whole) as k:
            if self.filled == self.width:
                self._copy_group(k)
            else:
                with builder.when(builder.index(self.filled).compare("eq", self.width)):
                    self._copy_group(k)
                with builder.otherwise():
                    self._copy_rows_of_group(k)
        if group > 1:
            with builder.loop(whole * group, self.count) as k:
                self._copy_row(whole, k - whole * group)
            with builder.loop(self.count, (self.count + (group - 1)) // group * group) as k:
                row = self._strided(
                    self.target, self.target_at + whole * self.step + (k - whole * group), self.width, group
                )
                self._fill(row, 0, self.width)

    def _copy_group(self, k: Index) -> None:
        """Copy one group along k of a panel inside the matrix; neighbours along k are interleaved."""
        vectors, group = self.vectors, self.group
        target = self._strided(self.target, self.target_at + k * self.step, self.step, 1)
        rows = [
            self._strided(self.source, self.source_at + (k * group + rank) * self.moving, self.width, 1)
            for rank in range(group)
        ]
        for first, length in powers_of_two(self.width, self.lanes):
            found = [self._packed(vectors.load(row, [first], length)) for row in rows]
            while len(found) > 1:
                half = len(found) // 2
                found = [self._interleaved(x, y) for x, y in zip(found[:half], found[half:], strict=True)]
            vectors.store(found[0], target, [first * group])

    def _interleaved(self, x: SSAValue, y: SSAValue) -> SSAValue:
        size = lanes_of(x)
        return self.vectors.shuffled(x, y, [lane for i in range(size) for lane in (i, size + i)])

    def _copy_rows_of_group(self, k: Index) -> None:
        for rank in range(self.group):
            self._copy_row(k, rank)

    def _copy_row(self, k: Index, rank: Index) -> None:
        """Copy one element of group k of each row inside the matrix, and zeros for the others."""
        source = self._strided(self.source, self.source_at + (k * self.group + rank) * self.moving, self.width, 1)
        target = self._strided(self.target, self.target_at + k * self.step + rank, self.width, self.group)
        attributes = PARALLEL if self.group == 1 else SCALAR
        self._fill(target, 0, self.filled, source, attributes)
        self._fill(target, self.filled, self.width, None, attributes)

    def copy_along_k(self, rows: int, k_stride: int) -> None:
        """Copy rows that are `k_stride` elements apart along k, of which there are at most `rows`."""
        builder = self.builder
        side = min(self.lanes, (1 << (rows // self.group).bit_length()) // 2)
        done: Index = 0
        if k_stride == 1 and side >= LEAST_TRANSPOSED:
            blocks = self.count // (side * self.group)
            done = blocks * (side * self.group)
            if self.filled == self.width:
                self._transpose(blocks, side)
            else:
                with builder.when(builder.index(self.filled).compare("eq", self.width)):
                    self._transpose(blocks, side)
                with builder.otherwise():
                    self._copy_rows(rows, k_stride, 0, done)
        self._copy_rows(rows, k_stride, done, self.count)
        if self.group > 1:
            with builder.loop(self.count, (self.count + (self.group - 1)) // self.group * self.group) as k:
                at = self.target_at + k // self.group * self.step + k % self.group
                self._fill(self._strided(self.target, at, self.width, self.group), 0, self.width)

    def _transpose(self, blocks: Index, side: int) -> None:
        """Copy the first `blocks * side` groups along k of a panel inside the matrix, through registers."""
        builder, whole = self.builder, self.width // side * side
        with builder.loop(0, blocks) as number:
            # The rows that are no whole vector come first: what a vector has beyond the panel is written again later.
            if whole < self.width:
                self._transpose_block(number, whole, self.width - whole, side)
            if whole == side:
                self._transpose_block(number, 0, side, side)
            elif whole:
                with builder.loop(0, whole, step=side) as first:
                    self._transpose_block(number, first, side, side)

    def _transpose_block(self, number: Index, first: Index, count: int, side: int) -> None:
        """Copy block `number` of `side` groups along k of some rows, at most `side`."""
        vectors, group, elements = self.vectors, self.group, side * self.group
        at, begin = self.source_at + number * elements, self.target_at + number * (side * self.step)
        size = (side - 1) * self.step + count * group
        target = self._strided(self.target, begin + first * group, size, 1)
        found = [self._loaded(at + (first + row) * self.moving, elements, side) for row in range(count)]
        for k, column in enumerate(vectors.transposed([*found, *[found[0]] * (side - count)])):
            after = (side - 1 - k) * self.width + count
            for lane, length in [(0, side)] if after >= side else powers_of_two(count, side):
                part = vectors.bitcast(vectors.part(column, lane, length), self.element, length * group)
                vectors.store(part, target, [k * self.step + lane * group])

    def _loaded(self, at: Index, elements: int, side: int) -> SSAValue:
        """Elements along k of one row, as `side` groups."""
        row = self._strided(self.source, at, elements, 1)
        value = self._packed(self.vectors.load(row, [0], elements))
        return value if self.group == 1 else self.vectors.bitcast(value, i32, side)

    def _copy_rows(self, rows: int, k_stride: int, lower: Index, upper: Index) -> None:
        """Copy elements [lower, upper) along k of each row inside the matrix, and zeros for the others."""
        builder = self.builder
        if lower == upper:
            return
        with builder.loop(0, self.filled) as i:
            self._copy_one(i, rows, k_stride, lower, upper)
        if self.filled != self.width:
            with builder.loop(self.filled, self.width) as i:
                self._copy_one(i, rows, None, lower, upper)

    def _copy_one(self, i: Index, rows: int, k_stride: int | None, lower: Index, upper: Index) -> None:
        """Copy one row, or zeros."""
        source = (
            None if k_stride is None else self._strided(self.source, self.source_at + i * self.moving, rows, k_stride)
        )
        if self.group == 1:
            target = self._strided(self.target, self.target_at + i, rows, self.width)
            self._fill(target, lower, upper, source)
            return
        at = self.target_at + i * self.group
        target = self.builder.strided_view(self.target, at, (-(-rows // self.group), self.group), (self.step, 1))
        with self.builder.loop(lower, upper, attributes=SCALAR) as k:
            value = self._zero() if source is None else self._packed(self.builder.load(source, [k]))
            self.builder.store(value, target, [k // self.group, k % self.group])

    def _strided(self, buffer: SSAValue, at: Index, size: int, stride: int) -> SSAValue:
        return self.builder.strided_view(buffer, at, (size,), (stride,))

    def _fill(
        self,
        target: SSAValue,
        lower: Index,
        upper: Index,
        source: SSAValue | None = None,
        attributes: Mapping[str, Attribute] = SCALAR,
    ) -> None:
        """
        Copy the elements of a range from the same indices of `source`, or set them to zero. `attributes`: those of the
        loop, by default for a target whose elements are apart.
        """
        if lower == upper:
            return
        with self.builder.loop(lower, upper, attributes=attributes) as at:
            value = self._zero() if source is None else self._packed(self.builder.load(source, [at]))
            self.builder.store(value, target, [at])

    def _packed(self, value: SSAValue) -> SSAValue:
        """An element, or a vector of them, as it is in the panel."""
        value = self.vectors.widened(value, self.element)
        if not self.bias:
            return value
        bias = self._zero()
        return self.vectors.add(value, self.vectors.splat(bias, lanes_of(value)) if is_vector(value) else bias)

    def _zero(self) -> SSAValue:
        """An element beyond the matrix's edge, whose products are zero or with zeros."""
        return self.builder.scalar(scalar_attr(self.bias, self.element))


@writes(3)
def emit_least(builder: LoopBuilder, parameters: Sequence[SSAValue], lanes: int) -> None:
    """
    The body of a function of a panel, its first element, the number of elements, and an element of a buffer: it stores
    the panel's least number there, but for zeros. `lanes`: elements of a vector.
    """
    panel, begin, elements, target, at = parameters
    begin, count = builder.index(begin), builder.index(elements)
    vectors = VectorBuilder(builder)
    whole = count // lanes * lanes

    def least(carried: SSAValue, first: Index, length: int) -> SSAValue:
        view = builder.strided_view(panel, begin + first, (length,), (1,))
        bits = vectors.bitcast(vectors.load(view, [0], length), MAGNITUDE, length)
        without_sign, one = (vectors.splat(builder.scalar(scalar_attr(n, MAGNITUDE)), length) for n in (NO_SIGN, 1))
        return vectors.least(carried, vectors.subtract(vectors.conjunction(bits, without_sign), one))

    greatest = builder.scalar(scalar_attr(-1, MAGNITUDE))
    with builder.loop(0, whole, step=lanes, carry=[vectors.splat(greatest, lanes)]) as (first, found):
        builder.yield_(least(found[0], first, lanes))
    with builder.loop(whole, count, carry=[vectors.folded(found[0], vectors.least)]) as (first, found):
        builder.yield_(least(found[0], first, 1))
    vectors.store(found[0], target, [builder.index(at)])


@writes(1)
def emit_pairs(builder: LoopBuilder, parameters: Sequence[SSAValue], lanes: int) -> None:
    """
    The body of a function of two buffers, a place, a number of elements, and a distance: element i of the first buffer
    becomes element 2 i of the second, followed by that at the distance. `lanes`: elements of a vector.
    """
    source, target, begin, elements, apart = parameters
    begin, count, distance = builder.index(begin), builder.index(elements), builder.index(apart)
    vectors = VectorBuilder(builder)
    whole = count // lanes * lanes

    def join(first: Index, length: int) -> None:
        at = begin + first
        views = [builder.strided_view(source, place, (length,), (1,)) for place in (at, at + distance)]
        x, y = (vectors.load(view, [0], length) for view in views)
        pairs = vectors.shuffled(x, y, [lane for i in range(length) for lane in (i, length + i)])
        vectors.store(pairs, builder.strided_view(target, at * 2, (2 * length,), (1,)), [0])

    with builder.loop(0, whole, step=lanes) as first:
        join(first, lanes)
    with builder.loop(whole, count) as first:
        join(first, 1)


@writes(1)
def emit_widened(builder: LoopBuilder, parameters: Sequence[SSAValue], lanes: int) -> None:
    """
    The body of a function of two buffers, a place and a number of elements: these integers of the first buffer, in the
    wider type of the second. `lanes`: elements of a vector.
    """
    source, target, begin, elements = parameters
    begin, count = builder.index(begin), builder.index(elements)
    vectors, whole = VectorBuilder(builder), count // lanes * lanes

    def widen(at: Index, length: int) -> None:
        views = [builder.strided_view(buffer, begin + at, (length,), (1,)) for buffer in (source, target)]
        found = vectors.widened(vectors.load(views[0], [0], length), buffer_of(target).element_type)
        vectors.store(found, views[1], [0])

    with builder.loop(0, whole, step=lanes) as first:
        widen(first, lanes)
    with builder.loop(whole, count) as first:
        widen(first, 1)


def are_normal(builder: LoopBuilder, numbers: Sequence[tuple[SSAValue, Index] | None]) -> Scalar | None:
    """
    Whether no products and sums of two panels are subnormal, from the buffers and indices of their least numbers, which
    panels of constants lack; None if both are constants.
    """
    total: Index = 0
    normal: Scalar | None = None
    for place in numbers:
        if place is None:
            total += LEAST_CONSTANT
            continue
        exponent = builder.to_index(builder.load(place[0], [place[1]]), unsigned=True) >> EXPONENT
        each = exponent.compare("ugt", 0)
        normal = each if normal is None else normal & each
        total = exponent + total
    return None if normal is None else normal & builder.index(total).compare("uge", NORMAL_SUM)

"""
Packing the factors of a matrix product into panels.

A panel holds `width` neighbouring rows of A (columns of B), interleaved along k: `panel[k * width + i]`, with zeros
beyond the matrix's edge, so that the micro-kernel reads memory sequentially and needs no edge checks. A function copies
one panel; like the micro-kernel it takes sizes as parameters.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.dialects import arith, func
from xdsl.ir import SSAValue

from ...dialects.support.buffers import memref_type
from ...dialects.support.scalar import scalar_attr
from ..loop_nests.kernel_builder import Index, IndexValue
from ..loop_nests.loop_builder import PARALLEL, LoopBuilder, buffer_of
from ..loop_nests.nest import Access
from .contraction import Element, i32
from .shared_function import call_shared


@dataclass(frozen=True)
class Around:
    """One loop around the product, as an operand sees it."""

    size: int
    stride: int
    """The loop's stride in the operand, in elements; 0 if the loop does not move it."""
    matrices: int
    """The number of packed matrices that one step advances."""


@dataclass(frozen=True)
class Operand:
    """One factor of the product."""

    access: Access
    around: tuple[Around, ...]
    size: int
    """Rows of A, or columns of B."""
    stride: int
    k_size: int
    k_stride: int
    width: int
    """Rows, or columns, of a panel."""
    local: bool
    """Whether each panel is needed only once and so packed when needed, one pass at a time, instead of beforehand."""

    @property
    def panels(self) -> int:
        return -(-self.size // self.width)

    @property
    def panel_size(self) -> int:
        return self.k_size * self.width

    @property
    def matrices(self) -> int:
        return math.prod(loop.size for loop in self.around if loop.stride)


def number_matrices(sizes: Sequence[int], strides: Sequence[int]) -> tuple[Around, ...]:
    """Number the matrices that an operand has over the loops around the product."""
    found: list[Around] = []
    count = 1
    for size, stride in zip(reversed(sizes), reversed(strides), strict=True):
        found.append(Around(size, stride, count if stride else 0))
        count *= size if stride else 1
    return tuple(reversed(found))


class Packer:
    """Packs one operand; `buffer` holds all its panels, or one panel of one pass if packed when needed."""

    def __init__(self, builder: LoopBuilder, kernel: func.FuncOp, operand: Operand, element: Element, kc: int):
        self.builder = builder
        self.kernel = kernel
        self.operand = operand
        self.element = element
        self.kc = kc
        size = operand.matrices * operand.panels * operand.panel_size
        self._all = None if operand.local else builder.alloc(memref_type((size,), element))
        self._local: SSAValue | None = None

    @property
    def buffer(self) -> SSAValue:
        found = self._local if self.operand.local else self._all
        assert found is not None, "begin_task comes first"
        return found

    def begin_task(self) -> None:
        """Called in each task before the operand is used."""
        if self.operand.local:
            self._local = self.builder.alloca(memref_type((self.kc * self.operand.width,), self.element))

    @property
    def count(self) -> int:
        """The number of panels to pack beforehand."""
        return 0 if self.operand.local else self.operand.matrices * self.operand.panels

    def pack_panel(self, number: IndexValue) -> None:
        """Pack panel `number` of all panels, beforehand."""
        operand = self.operand
        matrix = 0 if operand.matrices == 1 else number // operand.panels
        which = number if operand.matrices == 1 else number % operand.panels
        position: list[Index] = []
        for loop in operand.around:
            moves = loop.stride and operand.matrices > 1
            position.append(matrix // loop.matrices % loop.size if moves else 0)
        self._fill(position, which, 0, operand.k_size, number * operand.panel_size, operand.k_size)

    def panel(self, position: Sequence[Index], which: Index, lower: Index, upper: Index) -> Index:
        """
        The offset in `buffer` of the packed panel `which` for k in [lower, upper); packs it now if not packed yet.

        `position`: the indices of the loops around the product.
        """
        operand = self.operand
        if operand.local:
            self._fill(position, which, lower, upper - lower, 0, self.kc)
            return 0
        number: Index = 0
        for loop, index in zip(operand.around, position, strict=True):
            number += index * loop.matrices
        number = number * operand.panels + which
        return number * operand.panel_size + lower * operand.width

    def _fill(
        self, position: Sequence[Index], which: Index, lower: Index, count: Index, target_at: Index, rows: int
    ) -> None:
        """Copy `count` elements along k, from `lower`, of panel `which` to `buffer[target_at..]`."""
        builder, operand = self.builder, self.operand
        source = operand.access.offset_at(builder)
        for loop, index in zip(operand.around, position, strict=True):
            source += index * loop.stride
        first = which * operand.width
        source += first * operand.stride
        source += lower * operand.k_stride
        even = operand.size % operand.width == 0
        filled = operand.width if even else builder.min(operand.size - first, operand.width)
        along_k = operand.stride != 1
        moving = operand.stride if along_k else operand.k_stride
        arguments = (operand.access.root, source, self.buffer, target_at, moving, count, filled)

        def emit(inside: LoopBuilder, parameters: Sequence[SSAValue]) -> None:
            source, source_at, target, *numbers = parameters
            panel = _Panel(inside, source, inside.index(source_at), target, *map(inside.index, numbers))
            if even:
                panel = replace(panel, filled=operand.width)
            if along_k:
                panel.copy_along_k(rows, operand.k_stride, operand.width)
            else:
                panel.copy_across(operand.width)

        call_shared(builder, self.kernel, "pack", arguments, emit)


@dataclass(frozen=True)
class _Panel:
    """The body of a function that copies a panel: its parameters."""

    builder: LoopBuilder
    source: SSAValue
    source_at: Index
    target: SSAValue
    target_at: Index
    moving: Index
    """The source stride, in elements, along which the copy is not contiguous."""
    count: Index
    """Steps along k."""
    filled: Index
    """The number of rows, or columns, inside the matrix; the rest are zero."""

    def copy_across(self, width: int) -> None:
        """Copy a source that is contiguous across the panel."""
        builder = self.builder
        with builder.loop(0, self.count) as k:
            source = builder.strided_view(self.source, self.source_at + k * self.moving, (width,), (1,))
            target = builder.strided_view(self.target, self.target_at + k * width, (width,), (1,))
            self._fill_row(target, 0, self.filled, source)
            self._fill_row(target, self.filled, width)

    def copy_along_k(self, rows: int, k_stride: int, width: int) -> None:
        """Copy each row of the panel separately."""
        builder = self.builder
        with builder.loop(0, self.filled) as i:
            source_at = self.source_at + i * self.moving
            source = builder.strided_view(self.source, source_at, (rows,), (k_stride,))
            row = builder.strided_view(self.target, self.target_at + i, (rows,), (width,))
            self._fill_row(row, 0, self.count, source)
        if self.filled != width:
            with builder.loop(self.filled, width) as i:
                row = builder.strided_view(self.target, self.target_at + i, (rows,), (width,))
                self._fill_row(row, 0, self.count)

    def _fill_row(self, target: SSAValue, lower: Index, upper: Index, source: SSAValue | None = None) -> None:
        """Copy the elements of a range from the same indices of `source`, or set them to zero."""
        if lower == upper:
            return
        with self.builder.loop(lower, upper, attributes=PARALLEL) as at:
            value = self._zero() if source is None else self.builder.load(source, [at])
            self._store(value, target, at)

    def _zero(self) -> SSAValue:
        return self.builder.scalar(scalar_attr(0, buffer_of(self.target).element_type))

    def _store(self, value: SSAValue, target: SSAValue, at: Index) -> None:
        element = buffer_of(target).element_type
        if value.type != element:
            widening = arith.ExtSIOp if element == i32 else arith.ExtFOp
            value = self.builder.insert(widening.create(operands=[value], result_types=[element])).result
        self.builder.store(value, target, [at])

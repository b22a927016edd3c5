"""
Packing the factors of a matrix product into panels.

A panel holds `width` neighbouring rows of A (columns of B), interleaved along k: `panel[k * width + i]`, with zeros
beyond the matrix's edge, so that the micro-kernel reads memory forwards and never asks where the edge is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, FloatAttr
from xdsl.ir import SSAValue

from ...dialects.buffers import memref_type
from ..convert_linalg_to_scf.loop_builder import PARALLEL, Index, LoopBuilder
from ..convert_linalg_to_scf.nest import Access


@dataclass(frozen=True)
class Around:
    """One loop around the product, as an operand sees it."""

    size: int
    stride: int
    """Elements that the loop moves the operand; 0: the loop does not move it."""
    matrices: int
    """How many packed matrices further one step is."""


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
    """Every panel is needed once: it is packed there, one pass at a time, instead of all panels beforehand."""

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
    """Packs one operand; `buffer` holds all its panels, or one panel of one pass where they are packed in place."""

    def __init__(self, builder: LoopBuilder, operand: Operand, element: AnyFloat, kc: int):
        self.builder = builder
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
        """Panels to be packed beforehand."""
        return 0 if self.operand.local else self.operand.matrices * self.operand.panels

    def pack_panel(self, number: SSAValue) -> None:
        """Pack panel `number` of all panels, beforehand."""
        builder, operand = self.builder, self.operand
        matrix = 0 if operand.matrices == 1 else builder.div(number, operand.panels)
        which = number if operand.matrices == 1 else builder.rem(number, operand.panels)
        position: list[Index] = []
        for loop in operand.around:
            moves = loop.stride and operand.matrices > 1
            position.append(builder.rem(builder.div(matrix, loop.matrices), loop.size) if moves else 0)
        self._fill(position, which, 0, operand.k_size, builder.mul(number, operand.panel_size), operand.k_size)

    def panel(self, position: Sequence[Index], which: Index, lower: Index, upper: Index) -> Index:
        """
        Where the packed panel `which` begins in `buffer` for k in [lower, upper), packing it now if it is not yet.

        `position`: the indices of the loops around the product.
        """
        builder, operand = self.builder, self.operand
        if operand.local:
            self._fill(position, which, lower, builder.sub(upper, lower), 0, self.kc)
            return 0
        number: Index = 0
        for loop, index in zip(operand.around, position, strict=True):
            number = builder.add(number, builder.mul(index, loop.matrices))
        number = builder.add(builder.mul(number, operand.panels), which)
        return builder.add(builder.mul(number, operand.panel_size), builder.mul(lower, operand.width))

    def _fill(
        self, position: Sequence[Index], which: Index, lower: Index, count: Index, target_at: Index, rows: int
    ) -> None:
        """Copy `count` elements along k, from `lower`, of panel `which` to `buffer[target_at..]`."""
        builder, operand = self.builder, self.operand
        source = operand.access.offset_at(builder)
        for loop, index in zip(operand.around, position, strict=True):
            source = builder.add(source, builder.mul(index, loop.stride))
        first = builder.mul(which, operand.width)
        source = builder.add(source, builder.mul(first, operand.stride))
        source = builder.add(source, builder.mul(lower, operand.k_stride))
        shape = (rows, operand.width)
        values = builder.strided_view(operand.access.root, source, shape, (operand.k_stride, operand.stride))
        target = builder.strided_view(self.buffer, target_at, shape, (operand.width, 1))
        zero = builder.scalar(FloatAttr(0.0, self.element))

        def copy(k: SSAValue, i: SSAValue) -> Sequence[SSAValue]:
            builder.store(self._extended(builder.load(values, [k, i])), target, [k, i])
            return ()

        def clear(k: SSAValue, i: SSAValue) -> Sequence[SSAValue]:
            builder.store(zero, target, [k, i])
            return ()

        if operand.size % operand.width == 0:
            self._nest(0, operand.width, count, copy)
        else:
            filled = builder.min(builder.sub(operand.size, first), operand.width)
            self._nest(0, filled, count, copy)
            self._nest(filled, operand.width, count, clear)

    def _nest(
        self, lower: Index, upper: Index, count: Index, body: Callable[[SSAValue, SSAValue], Sequence[SSAValue]]
    ) -> None:
        """Two loops; inside the one along which the source is contiguous."""
        builder = self.builder

        def along_k(i: SSAValue, _: list[SSAValue]) -> Sequence[SSAValue]:
            return builder.loop(0, count, lambda k, _: body(k, i), attributes=PARALLEL)

        def across(k: SSAValue, _: list[SSAValue]) -> Sequence[SSAValue]:
            return builder.loop(lower, upper, lambda i, _: body(k, i), attributes=PARALLEL)

        if self.operand.stride == 1:
            builder.loop(0, count, across)
        else:
            builder.loop(lower, upper, along_k)

    def _extended(self, value: SSAValue) -> SSAValue:
        if value.type == self.element:
            return value
        return self.builder.insert(arith.ExtFOp.create(operands=[value], result_types=[self.element])).result

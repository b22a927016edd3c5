"""
Packing the factors of a matrix product into panels.

A panel holds `width` neighbouring rows of A (columns of B), interleaved along k: `panel[k * width + i]`, with zeros
beyond the matrix's edge, so that the micro-kernel reads memory forwards and never asks where the edge is. A function
copies one panel; like the micro-kernel it gets sizes passed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import AnyFloat, FloatAttr
from xdsl.ir import SSAValue

from ...dialects.build.buffers import memref_type
from ..loop_nests.loop_builder import PARALLEL, Index, LoopBuilder, buffer_of
from ..loop_nests.nest import Access
from .shared_function import call_shared


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

    def __init__(self, builder: LoopBuilder, kernel: func.FuncOp, operand: Operand, element: AnyFloat, kc: int):
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
        even = operand.size % operand.width == 0
        filled = operand.width if even else builder.min(builder.sub(operand.size, first), operand.width)
        along_k = operand.stride != 1
        moving = operand.stride if along_k else operand.k_stride
        arguments = (operand.access.root, source, self.buffer, target_at, moving, count, filled)

        def emit(inside: LoopBuilder, parameters: Sequence[SSAValue]) -> None:
            panel = _Panel(inside, *parameters)
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
    """Elements between rows of the source along which the copy does not run."""
    count: Index
    """Steps along k."""
    filled: Index
    """Rows, or columns, that are not zero."""

    def copy_across(self, width: int) -> None:
        """The source is contiguous across the panel."""
        builder = self.builder

        def step(k: SSAValue, _: list[SSAValue]) -> Sequence[SSAValue]:
            source_at = builder.add(self.source_at, builder.mul(k, self.moving))
            source = builder.strided_view(self.source, source_at, (width,), (1,))
            target_at = builder.add(self.target_at, builder.mul(k, width))
            target = builder.strided_view(self.target, target_at, (width,), (1,))
            self._loop(0, self.filled, lambda i: self._store(builder.load(source, [i]), target, i))
            self._loop(self.filled, width, lambda i: self._store(self._zero(), target, i))
            return ()

        builder.loop(0, self.count, step)

    def copy_along_k(self, rows: int, k_stride: int, width: int) -> None:
        """Each row of the panel is read on its own."""
        builder = self.builder

        def target(i: SSAValue) -> SSAValue:
            return builder.strided_view(self.target, builder.add(self.target_at, i), (rows,), (width,))

        def copy(i: SSAValue, _: list[SSAValue]) -> Sequence[SSAValue]:
            source_at = builder.add(self.source_at, builder.mul(i, self.moving))
            source, row = builder.strided_view(self.source, source_at, (rows,), (k_stride,)), target(i)
            self._loop(0, self.count, lambda k: self._store(builder.load(source, [k]), row, k))
            return ()

        def clear(i: SSAValue, _: list[SSAValue]) -> Sequence[SSAValue]:
            row = target(i)
            self._loop(0, self.count, lambda k: self._store(self._zero(), row, k))
            return ()

        builder.loop(0, self.filled, copy)
        if self.filled != width:
            builder.loop(self.filled, width, clear)

    def _loop(self, lower: Index, upper: Index, body: Callable[[SSAValue], None]) -> None:
        if lower != upper:
            self.builder.loop(lower, upper, lambda i, _: (body(i), ())[1], attributes=PARALLEL)

    def _zero(self) -> SSAValue:
        return self.builder.scalar(FloatAttr(0.0, buffer_of(self.target).element_type))  # pyright: ignore

    def _store(self, value: SSAValue, target: SSAValue, at: SSAValue) -> None:
        element = buffer_of(target).element_type
        if value.type != element:
            value = self.builder.insert(arith.ExtFOp.create(operands=[value], result_types=[element])).result
        self.builder.store(value, target, [at])

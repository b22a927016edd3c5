"""
Packing the factors of a matrix product into panels.

A panel holds `width` neighbouring rows of A (columns of B), interleaved along k: `panel[k * width + i]`, with zeros
beyond the matrix's edge, so that the micro-kernel reads memory sequentially and needs no edge checks. Where the
micro-kernel multiplies groups of g elements along k, these are together: `panel[(k / g * width + i) * g + k % g]`.

A function copies one panel; like the micro-kernel it takes sizes as parameters. Whole blocks pass through registers: a
source that is contiguous along k is transposed there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from xdsl.dialects import func
from xdsl.ir import SSAValue

from ...dialects.support.buffers import Buffer, memref_type
from ..loop_nests.kernel_builder import Index, IndexValue
from ..loop_nests.loop_builder import LoopBuilder
from ..loop_nests.nest import Access
from .blocking import Blocking
from .panel import Packed, Panel
from .shared_function import call_known


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
    """Contracted elements."""
    k_stride: int
    width: int
    """Rows, or columns, of a panel."""
    group: int
    """Elements along k that are multiplied together."""
    local: bool
    """Whether each panel is needed only once and so packed when needed, one pass at a time, instead of beforehand."""

    @property
    def panels(self) -> int:
        return -(-self.size // self.width)

    @property
    def panel_size(self) -> int:
        return -(-self.k_size // self.group) * self.group * self.width

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


class Prepacked(Protocol):
    """The constants that the compiler packs, see constants.py."""

    def panels(self, operand: Operand, element: Packed, bias: int) -> SSAValue | None:
        """The buffer with all panels of an operand that is a constant; None for others."""
        ...


class Packer:
    """Packs one operand; `buffer` holds all its panels, or one panel of one pass if packed when needed."""

    def __init__(
        self,
        builder: LoopBuilder,
        kernel: func.FuncOp,
        operand: Operand,
        blocking: Blocking,
        element: Packed,
        bias: int,
        constants: Prepacked,
        by_tasks: bool = False,
    ):
        """
        `element`: the type of packed elements. `bias` is added to each, modulo the type's range. `by_tasks`: each task
        packs all panels of its matrices, in memory of its own.
        """
        self.builder = builder
        self.kernel = kernel
        self.element = element
        self.bias = bias
        self.lanes = blocking.lanes
        self.kc = blocking.kc * operand.group
        self.by_tasks = by_tasks
        self._all = None if by_tasks else constants.panels(operand, element, bias)
        self._is_packed = self._all is not None
        self.operand = replace(operand, local=False) if self._is_packed else operand
        if not self._is_packed and not operand.local and not by_tasks:
            self._all = builder.alloc(self._every_panel)
        self._local: SSAValue | None = None

    @property
    def _every_panel(self) -> Buffer:
        """The type of a buffer with all panels."""
        operand = self.operand
        return memref_type((operand.matrices * operand.panels * operand.panel_size,), self.element)

    @property
    def buffer(self) -> SSAValue:
        found = self._local if self.operand.local else self._all
        assert found is not None, "begin_task comes first"
        return found

    def begin_task(self) -> None:
        """Called in each task before the operand is used."""
        if self.by_tasks:
            self._all = self.builder.alloca(self._every_panel)
        if self.operand.local:
            self._local = self.builder.alloca(memref_type((self.kc * self.operand.width,), self.element))

    @property
    def count(self) -> int:
        """The number of panels to pack beforehand."""
        return 0 if self.operand.local or self._is_packed else self.operand.matrices * self.operand.panels

    def pack_panel(self, number: IndexValue, count: Index | None = None) -> None:
        """Pack panel `number` of all panels, beforehand; only the first `count` elements along k if given."""
        operand = self.operand
        matrix = 0 if operand.matrices == 1 else number // operand.panels
        which = number if operand.matrices == 1 else number % operand.panels
        position: list[Index] = []
        for loop in operand.around:
            moves = loop.stride and operand.matrices > 1
            position.append(matrix // loop.matrices % loop.size if moves else 0)
        rows = operand.k_size if count is None else count
        self._fill(position, which, 0, rows, number * operand.panel_size, operand.k_size)

    def panel(self, position: Sequence[Index], which: Index, lower: Index, upper: Index) -> Index:
        """
        The offset in `buffer` of the packed panel `which` for groups in [lower, upper); packs it now if not packed yet.

        `position`: the indices of the loops around the product.
        """
        operand, group = self.operand, self.operand.group
        if operand.local:
            count = self.builder.min(upper * group, operand.k_size) - lower * group
            self._fill(position, which, lower * group, count, 0, self.kc)
            return 0
        number: Index = 0
        for loop, index in zip(operand.around, position, strict=True):
            number += index * loop.matrices
        number = number * operand.panels + which
        return number * operand.panel_size + lower * (operand.width * group)

    def _fill(
        self, position: Sequence[Index], which: Index, lower: Index, count: Index, target_at: Index, rows: int
    ) -> None:
        """Copy `count` elements along k, at most `rows`, from `lower`, of panel `which` to `buffer[target_at..]`."""
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
        facts = _Facts(
            width=operand.width,
            group=operand.group,
            lanes=self.lanes,
            bias=self.bias,
            even=even,
            along_k=(rows, operand.k_stride) if along_k else None,
        )
        call_known(builder, self.kernel, "pack", arguments, facts, _emit)


@dataclass(frozen=True)
class _Facts:
    """The facts on which a function that packs a panel depends."""

    width: int
    group: int
    lanes: int
    bias: int
    even: bool
    """Whether every panel is full."""
    along_k: tuple[int, int] | None
    """The most elements along k and their stride, of a source that is copied along k."""


def _emit(builder: LoopBuilder, parameters: Sequence[SSAValue], facts: _Facts) -> None:
    source, source_at, target, *numbers = parameters
    at, moved, steps, filled = map(builder.index, numbers)
    panel = Panel(
        builder=builder,
        source=source,
        source_at=builder.index(source_at),
        target=target,
        target_at=at,
        moving=moved,
        count=steps,
        filled=facts.width if facts.even else filled,
        width=facts.width,
        group=facts.group,
        lanes=facts.lanes,
        bias=facts.bias,
    )
    if facts.along_k is not None:
        panel.copy_along_k(*facts.along_k)
    else:
        panel.copy_across()

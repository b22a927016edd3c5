"""One factor of a matrix product as it is packed: its elements in memory, its panels, and the order of these."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ...dialects.support.scalar import width_of
from ..device.cpu import CPU
from ..loop_nests.kernel_builder import Index
from ..loop_nests.loop_builder import buffer_of
from ..loop_nests.nest import Access
from .factors.computed import ComputedFactor


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
    """Whether only one tile needs each panel, so that its task packs it, one pass at a time, instead of beforehand."""
    run: int = 1
    """Panels that are packed together then."""
    computed: ComputedFactor | None = None
    """Its computation, piece by piece; `access` and the strides then say how it would lie in memory."""
    by_passes: int = 0
    """Elements along k of a pass, if the parts of all panels for it are together; 0: each panel is whole."""

    @property
    def panels(self) -> int:
        return -(-self.size // self.width)

    @property
    def panel_size(self) -> int:
        return -(-self.k_size // self.group) * self.group * self.width

    @property
    def layout(self) -> tuple[object, ...]:
        """Where its elements lie in its buffer, and where in panels."""
        strides = self.size, self.stride, self.k_size, self.k_stride
        return (self.access.offset, self.around, *strides, self.width, self.group, self.by_passes)

    @property
    def matrices(self) -> int:
        return math.prod(loop.size for loop in self.around if loop.stride)

    def place(self, begin: Index, which: Index, lower: Index, count: Index) -> Index:
        """
        The offset, among all panels, of the part of a panel with the `count` elements along k from `lower`, a whole
        pass if passes are together. `begin`: the number of its matrix's first panel.
        """
        if self.by_passes:
            return begin * self.panel_size + lower * (self.width * self.panels) + which * (count * self.width)
        return (begin + which) * self.panel_size + lower * self.width


def panels_in_run(operand: Operand, run: int) -> int:
    """The panels that share `run` bytes of a row; one if rows do not lie across panels, or the matrix is small."""
    bytes_each = width_of(buffer_of(operand.access.root).element_type) // 8
    small = operand.size * operand.k_size * bytes_each <= CPU.l2_bytes
    if operand.stride != 1 or (small and operand.computed is None):
        return 1
    return max(1, min(operand.panels, run // (operand.width * bytes_each)))


def number_matrices(sizes: Sequence[int], strides: Sequence[int]) -> tuple[Around, ...]:
    """Number the matrices that an operand has over the loops around the product."""
    found: list[Around] = []
    count = 1
    for size, stride in zip(reversed(sizes), reversed(strides), strict=True):
        found.append(Around(size, stride, count if stride else 0))
        count *= size if stride else 1
    return tuple(reversed(found))

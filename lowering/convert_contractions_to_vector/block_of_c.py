"""The blocks of C that a micro-kernel writes, as far as its code depends on them."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Attribute

from ...dialects.support.scalar import width_of

LEAST_MASKED = 256
"""Bits of a vector from which machines read and write parts of it."""


@dataclass(frozen=True)
class Target:
    """The properties of the blocks of C on which the code depends."""

    column: int
    """Stride, in elements, from one column to the next."""
    rows_vary: bool
    """Whether some block has fewer than `mr` rows in C."""
    columns_vary: bool
    never_whole: bool
    """Whether no block has all its rows and columns in C."""
    overwrite: bool | None
    """Whether the sums are stored, rather than added; None: if none are there, see `Arguments.earlier`."""
    b_packed: bool
    """Whether B is packed into panels, whose stride along k is known."""
    columns_overlap: bool = False
    """Whether the last panel of B ends with its last column, rather than with zeros."""
    b_streams: bool = False
    """Whether the next blocks read the same rows of B, further along."""
    widened: bool = False
    """Whether pairs of bf16 are multiplied as f32, in the order of `cpu.dot`."""
    offsets: bool = False
    """Whether the sums of a block of bytes start from given offsets, rather than finding them; see offsets.py."""
    rows_beside: bool = False
    """Whether the rows of C are neighbours in memory, rather than its columns."""

    @property
    def is_whole(self) -> bool:
        """Whether vectors of C are read and written, in some blocks at least."""
        return (self.column == 1 or self.rows_beside) and not self.never_whole

    def has_masks(self, element: Attribute, lanes: int) -> bool:
        """Whether parts of vectors of C can be read and written."""
        width = width_of(element)
        return self.column == 1 and width >= 32 and width * lanes >= LEAST_MASKED

    def is_optimized(self, element: Attribute, lanes: int) -> bool:
        """Whether LLVM's optimizer sees the code: elements are written one by one, or a loop has branches."""
        if self.is_whole and self.rows_beside and self.overwrite is None:
            return True
        by_elements = self.rows_vary or self.columns_vary or not self.is_whole
        return by_elements and not self.has_masks(element, lanes)

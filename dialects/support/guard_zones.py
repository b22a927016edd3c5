"""
Guard mode's layout of memory: each buffer between pages that nothing may access.

A buffer lies at one side of its pages: at the end, so that the first byte after it is in the inaccessible *gap* after
it; or at the start, so that the byte before it is in the gap. The rest of its pages, the *slack*, is filled with a
pattern. Code for the CPU assumes no larger alignment than that of elements, which both sides have; kernels for GPUs do,
which only the start has.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterable

PAGE = mmap.PAGESIZE

POISON = 0xFF
"""The bytes of memory that nothing was written to: NaN in floats, -1 in integers."""

RED_ZONE = 0xA5
"""The bytes of the slack."""

END, START = SIDES = ("end", "start")
"""Where a buffer lies in its pages."""

LEAST_GAP, LARGEST_GAP = 16 * PAGE, 4096 * PAGE
"""Bytes of the gap beside a buffer: as many as the buffer has, within these bounds."""


def pages(size: int) -> int:
    """The bytes of the pages that a buffer of `size` bytes takes."""
    return -(-size // PAGE) * PAGE


def guarded_places(sizes: Iterable[int], side: str) -> tuple[list[int], int]:
    """The offset of each buffer from the start of a page, and the bytes of the whole with its gaps."""
    places: list[int] = []
    end = 0
    behind = LEAST_GAP
    for size in sizes:
        whole = pages(size)
        gap = pages(min(max(size, LEAST_GAP), LARGEST_GAP))
        first = end + max(gap, behind)
        places.append(first + (whole - size if side == END else 0))
        end, behind = first + whole, gap
    return places, end + behind

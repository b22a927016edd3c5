"""Buffers that are passed over part by part."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from ..loop_nests.kernel_builder import Index, IndexValue
from ..loop_nests.loop_builder import LoopBuilder
from .kernel import tasks

PART = 1 << 15
"""Elements of a part, as far as there are `MOST_PARTS`."""

MOST_PARTS = 64


def parts_of(count: int) -> int:
    """The parts of `count` elements."""
    return min(MOST_PARTS, -(-count // PART))


@contextmanager
def in_parts(builder: LoopBuilder, count: int) -> Generator[tuple[IndexValue, Index, Index]]:
    """A loop over the parts of `count` elements, parallel if there are enough: its number, first element and size."""
    parts = parts_of(count)
    size = -(-count // parts)
    with tasks(builder, parts, count) as part:
        at = part * size
        yield part, at, builder.min(count - at, size)

"""Tasks, and buffers that are passed over part by part."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from ..loop_nests.cost import task_count, task_size
from ..loop_nests.indices import chunk
from ..loop_nests.kernel_builder import Index, IndexValue
from ..loop_nests.loop_builder import LoopBuilder

PART = 1 << 15
"""Elements of a part, as far as there are `MOST_PARTS`."""

MOST_PARTS = 64


@contextmanager
def tasks(builder: LoopBuilder, count: int, work: int) -> Generator[IndexValue]:
    """A loop from 0 to count-1, parallel if there is enough work."""
    found = task_count(count, work, count)
    size = task_size(count, found)
    if found == 1 or size == 1:
        with builder.loop(0, count) if found == 1 else builder.parallel(count) as index:
            yield index
        return
    with builder.parallel(-(-count // size)) as task, builder.loop(*chunk(builder, task, size, count)) as index:
        yield index


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

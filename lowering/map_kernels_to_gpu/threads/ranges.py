"""Ranges of work shared out: over parts, over the threads of a grid."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ....dialects.build.buffers import row_major
from ...loop_nests.loop_builder import Index
from .builder import GpuBuilder

THREADS = 256
"""Threads of a block where nothing asks for another number."""


def ceil_div(count: int, size: int) -> int:
    """How many parts of `size` hold `count`."""
    return -(-count // size)


def over_threads(
    builder: GpuBuilder, sizes: Sequence[int], body: Callable[[list[Index]], None], threads: int = THREADS
) -> int:
    """Emit `body` for one point of the box `sizes` in each thread, guarded at the end; the blocks that it takes."""
    total = math.prod(sizes)
    number = builder.add(builder.mul(builder.block_id(), threads), builder.thread_id())

    def point() -> None:
        indices: list[Index] = []
        for dim, stride in enumerate(row_major(tuple(sizes))):
            index = builder.div(number, stride)
            indices.append(index if dim == 0 else builder.rem(index, sizes[dim]))
        body(indices)

    if total % threads:
        builder.when(builder.compare("ult", number, total), point)
    else:
        point()
    return ceil_div(total, threads)

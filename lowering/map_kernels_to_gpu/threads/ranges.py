"""Division of ranges of work into parts, and over the threads of a grid."""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from contextlib import contextmanager

from ...loop_nests.indices import delinearized
from ...loop_nests.kernel_builder import Index
from .builder import GpuBuilder

THREADS = 256
"""Threads of a block unless stated otherwise."""


def ceil_div(count: int, size: int) -> int:
    """The number of parts of `size` that hold `count`."""
    return -(-count // size)


@contextmanager
def over_threads(builder: GpuBuilder, sizes: Sequence[int], threads: int = THREADS) -> Generator[list[Index]]:
    """One point of the box `sizes` in each thread of `blocks_over` blocks, with a bounds check at the end."""
    total = math.prod(sizes)
    number = builder.block_id() * threads + builder.thread_id()
    with builder.when_below(number, total, total % threads != 0):
        yield delinearized(number, sizes)


def blocks_over(sizes: Sequence[int], threads: int = THREADS) -> int:
    """The number of blocks of `threads` threads with a thread per point of a box."""
    return ceil_div(math.prod(sizes), threads)

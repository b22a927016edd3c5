"""
Memory for running programs: a pool that keeps its pages.

The operating system zeroes a fresh page on its first touch (about 2.5 GB/s, against 20 and more for writes to a
resident page), so large outputs and arenas come from a pool and return to it when the last array that uses them is
dropped.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import threading
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...hlo_dialect.machine_memory import machine_memory

if TYPE_CHECKING:
    from ...hlo_dialect.types import Array

PAGE = 4096
HUGE_PAGE = 2 << 20
SMALL = 64 << 10
"""The size in bytes below which NumPy's allocator is used, because malloc keeps such blocks itself."""


def default_limit() -> int:
    """Bytes of unused memory that the pool keeps: XHLO_POOL_BYTES, else a quarter of the machine's memory."""
    set_by_user = os.environ.get("XHLO_POOL_BYTES")
    if set_by_user:
        return int(set_by_user)
    return machine_memory() // 4


class Block:
    """Memory in its own mapping; `address` is page-aligned, from 2 MiB on to a huge page."""

    __slots__ = ("_keep", "address", "size")

    def __init__(self, size: int):
        self.size = size
        extra = HUGE_PAGE if size >= HUGE_PAGE else 0
        mapping = mmap.mmap(-1, size + extra)
        if extra and hasattr(mapping, "madvise") and hasattr(mmap, "MADV_HUGEPAGE"):
            mapping.madvise(mmap.MADV_HUGEPAGE)
        start = ctypes.addressof(ctypes.c_char.from_buffer(mapping))
        self._keep = mapping
        self.address = (start + extra - 1) // HUGE_PAGE * HUGE_PAGE if extra else start


class BufferPool:
    """Blocks by rounded size; `take` and `give_back` are thread-safe."""

    def __init__(self, limit: int | None = None):
        self.limit = default_limit() if limit is None else limit
        self._free: dict[int, list[Block]] = defaultdict(list)
        self._kept = 0
        self._lock = threading.Lock()

    @staticmethod
    def rounded(size: int) -> int:
        """The size of the block for a request: whole pages, or whole huge pages for large requests."""
        unit = HUGE_PAGE if size >= HUGE_PAGE else PAGE
        return max(1, -(-size // unit)) * unit

    def take(self, size: int) -> Block:
        """A block of at least `size` bytes with undefined contents. Raises MemoryError."""
        rounded = self.rounded(size)
        with self._lock:
            free = self._free.get(rounded)
            if free:
                self._kept -= rounded
                return free.pop()
        try:
            return Block(rounded)
        except (OSError, OverflowError, ValueError) as error:
            raise MemoryError(f"cannot allocate {size} bytes for a buffer: {error}") from error

    def give_back(self, block: Block) -> None:
        with self._lock:
            if self._kept + block.size <= self.limit:
                self._free[block.size].append(block)
                self._kept += block.size

    def clear(self) -> None:
        """Return all unused memory to the operating system."""
        with self._lock:
            self._free.clear()
            self._kept = 0


POOL = BufferPool()
"""The process's pool."""


class _Owner:
    """The owner of a pooled array's memory; it returns the block when the array's last view is dropped."""

    __slots__ = ("__array_interface__", "_block")

    def __init__(self, block: Block, shape: tuple[int, ...], dtype: np.dtype[Any]):
        self._block = block
        self.__array_interface__ = {
            "version": 3,
            "shape": shape,
            "typestr": dtype.str if dtype.isbuiltin == 1 else f"|V{dtype.itemsize}",
            "data": (block.address, False),
        }

    def __del__(self) -> None:
        POOL.give_back(self._block)


def new_array(shape: tuple[int, ...], dtype: np.dtype[Any], nbytes: int) -> Array:
    """An uninitialized array; large ones live in the pool and return to it when dropped."""
    if nbytes < SMALL:
        return np.empty(shape, dtype)
    array = np.asarray(_Owner(POOL.take(nbytes), shape, dtype))
    return array if array.dtype == dtype else array.view(dtype)


def array_maker(shape: tuple[int, ...], dtype: np.dtype[Any], nbytes: int) -> Callable[[], Array]:
    """A function that does what `new_array` does, with nothing between the caller and NumPy for small arrays."""
    return partial(np.empty, shape, dtype) if nbytes < SMALL else partial(new_array, shape, dtype, nbytes)

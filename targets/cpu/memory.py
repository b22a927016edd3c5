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
from collections.abc import Callable
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...hlo_dialect.machine_memory import machine_memory

if TYPE_CHECKING:
    from ...hlo_dialect.types import Array

PAGE = 4096
HUGE_PAGE = 2 << 20
PRIVATE = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}
"""
Python's mappings are shared unless told otherwise: a process and those that it forks would write to each other's
arrays, and Linux has huge pages for private mappings only, unless they are configured for shared ones.
"""
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
        mapping = mmap.mmap(-1, size + extra, **PRIVATE)
        if extra and hasattr(mapping, "madvise") and hasattr(mmap, "MADV_HUGEPAGE"):
            mapping.madvise(mmap.MADV_HUGEPAGE)
        start = ctypes.addressof(ctypes.c_char.from_buffer(mapping))
        self._keep = mapping
        self.address = (start + extra - 1) // HUGE_PAGE * HUGE_PAGE if extra else start


class BufferPool:
    """
    Blocks by rounded size; `take` and `give_back` may be called from any thread, and by the garbage collector.

    Both are part of every call with large results, so the usual ones take no lock: they only append to a list and pop
    from it, which threads may do at once.
    """

    def __init__(self, limit: int | None = None):
        self.limit = default_limit() if limit is None else limit
        self._free: dict[int, list[Block]] = {}
        self._mapped = 0
        """The bytes of all blocks, in use or not, under the lock."""
        self._lock = threading.RLock()

    @staticmethod
    def rounded(size: int) -> int:
        """The size of the block for a request: whole pages, or whole huge pages for large requests."""
        unit = HUGE_PAGE if size >= HUGE_PAGE else PAGE
        return max(1, -(-size // unit)) * unit

    def take(self, size: int) -> Block:
        """A block of at least `size` bytes with undefined contents. Raises MemoryError."""
        return self.take_block(self.rounded(size))

    def take_block(self, rounded: int) -> Block:
        """A block of a size that `rounded` gave."""
        try:
            return self._free[rounded].pop()
        except (KeyError, IndexError):
            return self._new_block(rounded)

    def _new_block(self, rounded: int) -> Block:
        try:
            block = Block(rounded)
        except (OSError, OverflowError, ValueError) as error:
            raise MemoryError(f"cannot allocate {rounded} bytes for a buffer: {error}") from error
        with self._lock:
            self._free.setdefault(rounded, [])
            self._mapped += rounded
        return block

    def give_back(self, block: Block) -> None:
        if self._mapped <= self.limit or self._may_keep(block):
            self._free[block.size].append(block)

    def _may_keep(self, block: Block) -> bool:
        with self._lock:
            unused = sum(size * len(blocks) for size, blocks in self._free.items())
            if unused + block.size <= self.limit:
                return True
            self._mapped -= block.size
            return False

    def clear(self) -> None:
        """Return all unused memory to the operating system."""
        with self._lock:
            for size, blocks in self._free.items():
                while blocks:
                    blocks.pop()
                    self._mapped -= size


POOL = BufferPool()
"""The process's pool."""


class _Lent:
    """The owner of a pooled array's memory; it returns the block when the array's last view is dropped."""

    block: Block | None = None
    """None if an interrupt (Ctrl-C) came before the owner had it: then it is free as it is."""

    def __del__(self) -> None:
        if self.block is not None:
            POOL.give_back(self.block)


@cache
def _lent_bytes(size: int) -> Any:
    """The class of owners of blocks of `size` bytes: bytes in memory, from which NumPy makes an array at once."""
    return type("_LentBytes", (_Lent, ctypes.c_char * size), {})


def _pooled_array(shape: tuple[int, ...], dtype: np.dtype[Any], size: int, lent: Any) -> Array:
    block = POOL.take_block(size)
    owner = lent.from_address(block.address)
    owner.block = block
    return np.ndarray(shape, dtype, owner)


def new_array(shape: tuple[int, ...], dtype: np.dtype[Any], nbytes: int) -> Array:
    """An uninitialized array; large ones live in the pool and return to it when dropped."""
    return array_maker(shape, dtype, nbytes)()


def array_maker(shape: tuple[int, ...], dtype: np.dtype[Any], nbytes: int) -> Callable[[], Array]:
    """A function that does what `new_array` does, with nothing between the caller and NumPy for small arrays."""
    if nbytes < SMALL:
        return partial(np.empty, shape, dtype)
    size = BufferPool.rounded(nbytes)
    return partial(_pooled_array, shape, dtype, size, _lent_bytes(size))

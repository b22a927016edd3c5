"""
GPU memory: a pool of blocks that are kept for reuse.

cuMemAlloc takes 100 us and more, and cuMemFree waits for the whole device, so blocks return to a pool. A block belongs
to a stream: its next user works in the same stream, after all earlier users, so that no wait is needed.
"""

from __future__ import annotations

import os
import threading
from collections import defaultdict
from collections.abc import Callable

from .driver import CudaError, Driver

ALIGNMENT = 512
"""The granularity of block sizes, in bytes."""

LARGE = 1 << 20
"""The size in bytes from which blocks are rounded up to multiples of `LARGE_UNIT`."""
LARGE_UNIT = 2 << 20


def rounded(nbytes: int) -> int:
    """The size of the block that serves a request."""
    unit = LARGE_UNIT if nbytes >= LARGE else ALIGNMENT
    return max(1, -(-nbytes // unit)) * unit


def default_limit(memory: int) -> int:
    """Bytes of unused device memory that are kept: XHLO_GPU_POOL_BYTES, else a quarter of the device's."""
    set_by_user = os.environ.get("XHLO_GPU_POOL_BYTES")
    return int(set_by_user) if set_by_user else memory // 4


class Block:
    """Device memory that returns to its pool when its last holder drops it."""

    __slots__ = ("__weakref__", "_pool", "address", "foreign_streams", "size", "stream")

    def __init__(self, pool: DevicePool, address: int, size: int, stream: int):
        self._pool = pool
        self.address = address
        self.size = size
        self.stream = stream
        """Work in this stream may still use the memory."""
        self.foreign_streams: set[int] = set()
        """Work in these streams may use it too, if it was passed to another library."""

    def used_in(self, stream: int) -> None:
        """Note that work in another stream may use the memory from now on."""
        if stream != self.stream:
            self.foreign_streams.add(stream)

    def __del__(self) -> None:
        self._pool.give_back(self.address, self.size, self.stream, self.foreign_streams)


class DevicePool:
    """
    Blocks by stream and size. Thread-safe.

    `order(stream, other)` makes the stream wait for the work enqueued in `other`, and returns False if that stream
    cannot be waited for (its owner may have destroyed it); the pool then waits for the device.
    """

    def __init__(self, driver: Driver, order: Callable[[int, int], bool], limit: int | None = None):
        self._driver = driver
        self._order = order
        self.limit = default_limit(driver.device.memory) if limit is None else limit
        self._free: dict[tuple[int, int], list[int]] = defaultdict(list)
        self._kept = 0
        self._returned: list[tuple[int, int, int, set[int]]] = []
        """The memory of dropped blocks. A finalizer must not wait for a lock; appending to a list needs none."""
        self._lock = threading.Lock()
        self.in_use = 0
        """Bytes of blocks that are held, or that were not collected yet."""
        self.closed = False

    def take(self, nbytes: int, stream: int) -> Block:
        """A block of at least `nbytes` bytes with undefined contents. Raises MemoryError."""
        size = rounded(nbytes)
        self.collect()
        with self._lock:
            free = self._free.get((stream, size))
            if free:
                self._kept -= size
                address = free.pop()
            else:
                address = self._allocate(size, nbytes)
            self.in_use += size
        return Block(self, address, size, stream)

    def _allocate(self, size: int, nbytes: int) -> int:
        with self._driver.entered():
            for retry in (False, True):
                try:
                    return self._driver.allocate(size)
                except CudaError as error:
                    if error.name != "CUDA_ERROR_OUT_OF_MEMORY":
                        raise
                    if retry:
                        used, memory = self.in_use, self._driver.device.memory
                        raise MemoryError(
                            f"{error.name}: cannot allocate {nbytes} bytes on {self._driver.device.name}: arrays "
                            f"and arenas of this process take {used} of its {memory} bytes"
                        ) from error
                    self._clear()
        raise AssertionError

    def give_back(self, address: int, size: int, stream: int, foreign_streams: set[int]) -> None:
        """Return a block. Called by finalizers, which run at any time on any thread, so it waits for no lock."""
        if not self.closed:
            self._returned.append((address, size, stream, foreign_streams))

    def collect(self) -> None:
        """Keep or free the returned memory."""
        while self._returned:
            try:
                address, size, stream, foreign = self._returned.pop()
            except IndexError:
                return
            ordered = [self._order(stream, other) for other in foreign]
            if not all(ordered):
                with self._driver.entered():
                    self._driver.synchronize_all()
            with self._lock:
                self.in_use -= size
                if self._kept + size <= self.limit:
                    self._free[stream, size].append(address)
                    self._kept += size
                    continue
            with self._driver.entered():
                self._driver.free(address)

    @property
    def kept(self) -> int:
        """Bytes of unused blocks."""
        return self._kept

    def clear(self) -> None:
        """Return all unused memory to the device."""
        self.collect()
        with self._lock, self._driver.entered():
            self._clear()

    def _clear(self) -> None:
        for free in self._free.values():
            for address in free:
                self._driver.free(address)
        self._free.clear()
        self._kept = 0

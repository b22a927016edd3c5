"""
Memory of the GPU: blocks that are kept for the next one who asks.

cuMemAlloc takes 100 us and more, and cuMemFree waits for the whole device, so blocks go back to a pool. A block belongs
to a stream: whoever takes it again works in the same stream, after all that used it before, and nobody has to wait.
"""

from __future__ import annotations

import os
import threading
from collections import defaultdict
from collections.abc import Callable

from .driver import CudaError, Driver

ALIGNMENT = 512
"""Bytes: blocks are multiples of this."""

LARGE = 1 << 20
"""Bytes from which blocks are rounded up to multiples of `LARGE_UNIT`."""
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
    """Device memory that goes back to its pool when the last who holds it drops it."""

    __slots__ = ("__weakref__", "_pool", "address", "foreign_streams", "size", "stream")

    def __init__(self, pool: DevicePool, address: int, size: int, stream: int):
        self._pool = pool
        self.address = address
        self.size = size
        self.stream = stream
        """Work in this stream may still use the memory."""
        self.foreign_streams: set[int] = set()
        """And work in these, where it was handed to somebody else."""

    def used_in(self, stream: int) -> None:
        """Work in another stream may use the memory from now on."""
        if stream != self.stream:
            self.foreign_streams.add(stream)

    def __del__(self) -> None:
        self._pool.give_back(self.address, self.size, self.stream, self.foreign_streams)


class DevicePool:
    """
    Blocks by stream and size. Safe from several threads.

    `order(stream, other)` is to make the stream wait for what is enqueued in another; False where that other stream
    cannot be waited for (its owner may have destroyed it), and the device is waited for instead.
    """

    def __init__(self, driver: Driver, order: Callable[[int, int], bool], limit: int | None = None):
        self._driver = driver
        self._order = order
        self.limit = default_limit(driver.device.memory) if limit is None else limit
        self._free: dict[tuple[int, int], list[int]] = defaultdict(list)
        self._kept = 0
        self._returned: list[tuple[int, int, int, set[int]]] = []
        """What dropped blocks gave back. A finalizer must not wait for a lock; appending to a list takes none."""
        self._lock = threading.Lock()
        self.in_use = 0
        """Bytes of blocks that somebody holds, or that were not collected yet."""
        self.closed = False

    def take(self, nbytes: int, stream: int) -> Block:
        """A block of at least so many bytes with whatever is in it. Raises MemoryError."""
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
        """For finalizers, which run at any time on any thread: nothing here waits for a lock."""
        if not self.closed:
            self._returned.append((address, size, stream, foreign_streams))

    def collect(self) -> None:
        """Keep, or free, what was given back."""
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
        """Bytes of blocks that nobody holds."""
        return self._kept

    def clear(self) -> None:
        """Give all unused memory back to the device."""
        self.collect()
        with self._lock, self._driver.entered():
            self._clear()

    def _clear(self) -> None:
        for free in self._free.values():
            for address in free:
                self._driver.free(address)
        self._free.clear()
        self._kept = 0

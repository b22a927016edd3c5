"""
GPU memory: a pool of blocks that are kept for reuse.

cuMemAlloc takes 100 us and more, and cuMemFree waits for the whole device, so blocks return to a pool. A block belongs
to a stream: its next user works in the same stream, after all earlier users, so that it waits only for work in other
streams.
"""

from __future__ import annotations

import os
import threading
from collections import defaultdict
from typing import NamedTuple, Protocol

from .driver import LEGACY_STREAM, Driver, GpuError
from .streams import Identity, Stream

UNKNOWN_STREAM = -1
"""Stands for a stream that another library did not name."""

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

    __slots__ = ("__weakref__", "_pool", "address", "foreign_streams", "size", "stream", "users")

    def __init__(self, pool: DevicePool, address: int, size: int, stream: Stream):
        self._pool = pool
        self.address = address
        self.size = size
        self.stream = stream
        """Work in this stream may still use the memory."""
        self.users: set[Stream] = set()
        """Our work in these streams may use it too."""
        self.foreign_streams: set[int] = set()
        """The handles of streams in which other libraries' work may use it, UNKNOWN_STREAM among them."""

    def used_in(self, stream: Stream) -> None:
        """Note that work in another stream of ours may use the memory from now on."""
        if stream.identity != self.stream.identity:
            self.users.add(stream)

    def __del__(self) -> None:
        self._pool.give_back(_Returned(self.address, self.size, self.stream, self.users, self.foreign_streams))


class _Returned(NamedTuple):
    """The memory of a dropped block."""

    address: int
    size: int
    stream: Stream
    users: set[Stream]
    foreign_streams: set[int]


class Ordering(Protocol):
    """The order between streams, as the pool needs it."""

    @property
    def stream(self) -> Stream:
        """The device's own stream."""
        ...

    def wait_for(self, stream: Stream, other: Stream) -> None:
        """Make a stream wait for our work in another."""
        ...

    def wait_for_handle(self, stream: Stream, handle: int) -> None:
        """Make a stream wait for all work in the stream that a handle names now. Raises GpuError."""
        ...


class DevicePool:
    """
    Blocks by stream and size. Thread-safe.

    A block that another library used in a stream that may be gone by now is set aside: nothing orders later work after
    that stream but a wait for the whole device. It happens once the memory set aside reaches `limit`, or is needed.
    """

    def __init__(self, driver: Driver, ordering: Ordering, limit: int | None = None):
        self._driver = driver
        self._ordering = ordering
        self.limit = default_limit(driver.device.memory) if limit is None else limit
        self._free: dict[tuple[Identity | None, int], list[tuple[int, set[Stream]]]] = defaultdict(list)
        """
        Addresses, and the streams to wait for before the memory is used, by the stream that needs no wait and the size
        in bytes. The work on blocks without a stream is done.
        """
        self._kept = 0
        self._aside: list[tuple[int, int]] = []
        """Addresses and sizes of the blocks that wait for the whole device."""
        self._bytes_aside = 0
        self._returned: list[_Returned] = []
        """The memory of dropped blocks. A finalizer must not wait for a lock; appending to a list needs none."""
        self._lock = threading.Lock()
        self.in_use = 0
        """Bytes of blocks that are held, or that were not collected yet."""
        self.closed = False

    def take(self, nbytes: int, stream: Stream) -> Block:
        """A block of at least `nbytes` bytes with undefined contents. Raises MemoryError."""
        size = rounded(nbytes)
        self.collect()
        users: set[Stream] = set()
        with self._lock:
            free = self._free.get((stream.identity, size)) or self._free.get((None, size))
            if free:
                self._kept -= size
                address, users = free.pop()
            else:
                address = self._allocate(size, nbytes)
            self.in_use += size
        for user in users:
            self._ordering.wait_for(stream, user)
        return Block(self, address, size, stream)

    def _allocate(self, size: int, nbytes: int) -> int:
        with self._driver.entered():
            for retry in (False, True):
                try:
                    return self._driver.allocate(size)
                except GpuError as error:
                    if not error.out_of_memory:
                        raise
                    if retry:
                        used, memory = self.in_use, self._driver.device.memory
                        raise MemoryError(
                            f"{error.name}: cannot allocate {nbytes} bytes on {self._driver.device.name}: arrays "
                            f"and arenas of this process take {used} of its {memory} bytes"
                        ) from error
                    self._clear()
        raise AssertionError

    def give_back(self, returned: _Returned) -> None:
        """Return a block. Called by finalizers, which run at any time on any thread, so it waits for no lock."""
        if not self.closed:
            self._returned.append(returned)

    def collect(self) -> None:
        """Keep, set aside or free the returned memory."""
        while self._returned:
            try:
                returned = self._returned.pop()
            except IndexError:
                return
            address, size = returned.address, returned.size
            ordered = self._order_after_others(returned)
            with self._lock:
                self.in_use -= size
                if not ordered:
                    self._aside.append((address, size))
                    self._bytes_aside += size
                elif self._kept + size <= self.limit:
                    self._free[returned.stream.identity, size].append((address, returned.users))
                    self._kept += size
                else:
                    with self._driver.entered():
                        self._driver.free(address)
                if self._bytes_aside > self.limit:
                    self._settle()

    def _order_after_others(self, returned: _Returned) -> bool:
        """Add what orders a block's next user after the work of other libraries; False if nothing does."""
        foreign = returned.foreign_streams
        if not foreign:
            return True
        if foreign != {LEGACY_STREAM}:
            return False
        try:
            self._ordering.wait_for_handle(self._ordering.stream, LEGACY_STREAM)
        except GpuError:
            # A stream is being captured; or the device failed, which the next wait for it shows.
            return False
        if returned.stream is not self._ordering.stream:
            returned.users.add(self._ordering.stream)
        return True

    def retire(self, identity: Identity) -> None:
        """Set the unused blocks of a stream aside, whose handle names another one now, or that is not used any more."""
        with self._lock:
            for key in [key for key in self._free if key[0] == identity]:
                size = key[1]
                for address, _ in self._free.pop(key):
                    self._aside.append((address, size))
                    self._kept -= size
                    self._bytes_aside += size

    def _settle(self) -> None:
        """Wait for the device, and keep the blocks set aside."""
        with self._driver.entered():
            self._driver.synchronize_all()
            while self._aside:
                address, size = self._aside.pop()
                self._bytes_aside -= size
                if self._kept + size <= self.limit:
                    self._free[None, size].append((address, set()))
                    self._kept += size
                else:
                    self._driver.free(address)

    @property
    def kept(self) -> int:
        """Bytes of unused blocks."""
        return self._kept + self._bytes_aside

    def clear(self) -> None:
        """Return all unused memory to the device."""
        self.collect()
        with self._lock, self._driver.entered():
            self._clear()

    def _clear(self) -> None:
        for free in self._free.values():
            for address, _ in free:
                self._driver.free(address)
        self._free.clear()
        for address, _ in self._aside:
            self._driver.free(address)
        self._aside.clear()
        self._kept = self._bytes_aside = 0

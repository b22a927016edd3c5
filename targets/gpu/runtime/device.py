"""
A GPU in this process: its driver, its memory, the stream of its work, and the objects that must live until work is
done.

All work of the process on a device goes to one stream unless a call names another, so that it runs in the order of the
calls, whichever threads make them.
"""

from __future__ import annotations

import atexit
import itertools
import os
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from ....hlo_dialect.types import Array, ArrayType
from .driver import PER_THREAD_STREAM, WORKSPACE_BYTES, Driver, GpuError, GpuUnavailableError
from .memory import Block, DevicePool
from .staging import Staging
from .streams import Identity, Stream

CHECK = "XHLO_GPU_CHECK"
"""The environment variable that, set to 1, makes a run wait for each kernel, so that errors name the right kernel."""

CHIP = "XHLO_GPU_CHIP"
"""The environment variable that names the chip to compile for: sm_90."""

ORDINAL = "XHLO_GPU_DEVICE"
"""The environment variable that chooses the GPU by its number; 0 by default."""


class StreamState:
    """
    The state shared by the runs in one stream. A run holds `lock` while it enqueues its work.

    All programs that run in a stream use the same arena, one after the other: it has the size of the largest, and its
    address does not change, so that graphs made with it stay valid.
    """

    REGISTERS = 512
    """Slots of page-locked memory for the conditions of loops and branches, which programs share."""

    def __init__(self, device: Device, stream: Stream):
        self.stream = stream
        self.lock = threading.RLock()
        self._device = device
        self._arena: Block | None = None
        self._workspace: Block | None = None
        self._registers: int | None = None

    def arena(self, nbytes: int) -> int:
        """The address of at least `nbytes` bytes for a run. Raises MemoryError."""
        if not nbytes:
            return 0
        if self._arena is None or self._arena.size < nbytes:
            self._arena = None
            self._arena = self._device.allocate(nbytes, self.stream)
        return self._arena.address

    def workspace(self) -> int:
        """The address of workspace for library calls, which run one after the other. Raises MemoryError."""
        if self._workspace is None:
            self._workspace = self._device.allocate(WORKSPACE_BYTES, self.stream)
        return self._workspace.address

    def registers(self, count: int) -> int:
        """The address of page-locked memory, 8 bytes per register."""
        if count > self.REGISTERS:
            # A separate block; hardly any program has so many loops and branches.
            return self._device.driver.allocate_host(8 * count)
        with self.lock:
            if self._registers is None:
                self._registers = self._device.driver.allocate_host(8 * self.REGISTERS)
            return self._registers


class Device:
    """One device. Its methods are thread-safe."""

    MAX_NOTED = 64
    """The number of runs remembered for error messages."""
    MAX_STREAMS = 16
    """The maximum number of streams whose arenas are kept."""

    def __init__(self, driver: Driver, pool_limit: int | None = None):
        self.driver = driver
        self.info = driver.device
        self._lock = threading.Lock()
        self._events: list[int] = []
        """Untimed events, kept for reuse."""
        with driver.entered():
            handle = driver.new_stream()
            self.stream = Stream(handle, (driver.stream_id(handle), 0), self._events)
            """The stream of all work without a stream of the caller's."""
        self.pool = DevicePool(driver, self, pool_limit)
        self._up, self._down = Staging(driver), Staging(driver)
        self._pending: list[tuple[int, Any]] = []
        """Events, and the objects that must not be freed before they happen."""
        self.closed = False
        """Whether the process is about to exit, and the driver with it: nothing is freed any more."""
        atexit.register(_close, weakref.ref(self))
        self._streams: OrderedDict[Identity, StreamState] = OrderedDict()
        self._threads, self._thread_numbers = threading.local(), itertools.count(1)
        self._downloads: Stream | None = None
        """The stream of copies from arrays of callers' streams, which may be gone by now."""
        self._running: list[tuple[str, ...]] = []
        """The kernels of the runs since the last wait for the GPU."""

    def allocate(self, nbytes: int, stream: Stream) -> Block:
        """Allocate memory for work in the stream. Raises MemoryError."""
        return self.pool.take(nbytes, stream)

    # Streams.

    def stream_at(self, handle: int) -> Stream:
        """The stream that a handle names now, for the calling thread. Raises GpuError."""
        if handle == self.stream.handle:
            return self.stream
        with self.driver.entered():
            number = self.driver.stream_id(handle)
        identity = number, self._thread_number() if handle == PER_THREAD_STREAM else 0
        with self._lock:
            found = self._streams.get(identity)
            if found is not None:
                return found.stream
            gone = [] if handle == PER_THREAD_STREAM else self._named(handle)
            for old in gone:
                del self._streams[old]
        for old in gone:
            self.pool.retire(old)
        return self.on(Stream(handle, identity, self._events)).stream

    def _named(self, handle: int) -> list[Identity]:
        return [identity for identity, state in self._streams.items() if state.stream.handle == handle]

    def _thread_number(self) -> int:
        number = getattr(self._threads, "number", None)
        if number is None:
            number = self._threads.number = next(self._thread_numbers)
        return number

    def on(self, stream: Stream) -> StreamState:
        """The state shared by runs in the stream."""
        oldest = None
        with self._lock:
            found = self._streams.get(stream.identity)
            if found is None:
                found = self._streams[stream.identity] = StreamState(self, stream)
            self._streams.move_to_end(stream.identity)
            if len(self._streams) > self.MAX_STREAMS:
                oldest = next(key for key in self._streams if key != self.stream.identity)
                del self._streams[oldest]
        if oldest is not None:
            self.pool.retire(oldest)
        return found

    # Errors that may occur after enqueueing.

    def note_run(self, kernels: tuple[str, ...]) -> None:
        """Record that a run of these kernels was enqueued."""
        if not self._running or self._running[-1] is not kernels:
            self._running.append(kernels)
            del self._running[: -self.MAX_NOTED]

    @contextmanager
    def waiting(self) -> Generator[None]:
        """The context of a wait for the GPU: an error names the kernel that failed, or those that may have."""
        try:
            with self.driver.entered():
                yield
        except GpuError as error:
            suspects = sorted({name for run in self._running for name in run})
            if error.kernel is not None or not suspects:
                raise
            if len(suspects) == 1:
                raise type(error)(error.name, error.what, suspects[0]) from error
            names = ", ".join(f"@{name}" for name in suspects[:8]) + (", .." if len(suspects) > 8 else "")
            what = f"{error.what}; the kernels that ran are {names}: with {CHECK}=1 each is waited for by itself"
            raise type(error)(error.name, what) from error

    # Ordering between streams.

    def wait_for(self, stream: Stream, other: Stream) -> None:
        """Make a stream wait for our work in another."""
        if stream.identity != other.identity:
            self._order(stream.handle, other)

    def wait_for_handle(self, stream: Stream, handle: int) -> None:
        """Make a stream wait for all work in the stream that a handle names now. Raises GpuError."""
        if stream.handle != handle:
            self._record_and_wait(stream.handle, handle)

    def let_wait(self, handle: int, stream: Stream) -> None:
        """Make the stream that a handle names now wait for our work in one of ours. Raises GpuError."""
        if handle != stream.handle or handle == PER_THREAD_STREAM:
            self._order(handle, stream)

    def _order(self, waiting: int, stream: Stream) -> None:
        if stream is self.stream:
            self._record_and_wait(waiting, stream.handle)
        elif stream.event is not None:
            with self.driver.entered():
                self.driver.wait(waiting, stream.event)

    def _record_and_wait(self, waiting: int, handle: int) -> None:
        with self.driver.entered():
            event = self._take_event()
            self.driver.record(event, handle)
            self.driver.wait(waiting, event)
            # The wait is for the last record, so that the event may be reused immediately.
            self._events.append(event)

    @contextmanager
    def running_in(self, stream: Stream) -> Generator[None]:
        """The context that enqueues a run; it records the end of the work in a caller's stream. Raises GpuError."""
        try:
            yield
        except BaseException:
            with suppress(GpuError):
                self._record_end(stream)
            raise
        self._record_end(stream)

    def _record_end(self, stream: Stream) -> None:
        if stream is not self.stream:
            with self.driver.entered():
                if stream.event is None:
                    stream.event = self._take_event()
                self.driver.record(stream.event, stream.handle)

    def check_not_captured(self, handle: int) -> None:
        """Raises GpuError if the stream is being captured into a graph, which would hold addresses of the pool."""
        with self.driver.entered():
            if self.driver.is_captured(handle):
                what = "cannot run a program in a stream that is being captured; run it before the capture begins"
                raise self.driver.errors(self.driver.errors.CAPTURED, what)

    def _take_event(self) -> int:
        try:
            return self._events.pop()
        except IndexError:
            return self.driver.new_event()

    # Objects that must live until the GPU is done with them.

    def keep_until_done(self, kept: Any, stream: Stream, owners: Iterable[int]) -> None:
        """
        Keep `kept` alive until the work enqueued in the stream so far is done, foreign memory that it reads, and make
        the streams of its owners, by handle, wait for that work: their later writes come after our reads.
        """
        with self.driver.entered():
            event = self._take_event()
            self.driver.record(event, stream.handle)
            for owner in owners:
                if owner != stream.handle:
                    self.driver.wait(owner, event)
        with self._lock:
            self._pending.append((event, kept))

    def release_done(self) -> None:
        """Drop the objects that the GPU is done with."""
        if not self._pending:
            return
        done: list[Any] = []
        with self._lock, self.driver.entered():
            pending, self._pending = self._pending, []
            for number, (event, kept) in enumerate(pending):
                # In the order of the calls: entries after one that is not done are most likely not done either.
                if not self.driver.is_done(event):
                    self._pending = pending[number:]
                    break
                self._events.append(event)
                done.append(kept)
        done.clear()

    # Copies from and to the host.

    def upload(self, array: Array, target: int, stream: Stream) -> None:
        """Copy a contiguous array to a device address; the array may change when this returns. Raises GpuError."""
        if array.nbytes:
            with self.driver.entered():
                self._up.upload(target, array.ctypes.data, array.nbytes, stream.handle)

    def download(self, source: int, type_: ArrayType, stream: Stream) -> Array:
        """The array at a device address after all work enqueued in the stream, which exists. Raises GpuError."""
        array: Array = np.empty(type_.shape, type_.dtype)
        if array.nbytes:
            with self.waiting():
                self._down.download(array.ctypes.data, source, array.nbytes, stream.handle)
        return array

    def read(self, source: int, type_: ArrayType, stream: Stream) -> Array:
        """The array at a device address after our runs in a stream, which may be gone. Raises GpuError."""
        if stream is self.stream:
            return self.download(source, type_, stream)
        if self._downloads is None:
            with self.driver.entered():
                handle = self.driver.new_stream()
                self._downloads = Stream(handle, (self.driver.stream_id(handle), 0), self._events)
        self.wait_for(self._downloads, stream)
        return self.download(source, type_, self._downloads)

    def synchronize(self, stream: Stream | None = None) -> None:
        """Wait for our work in a stream, or in the device's own. Raises GpuError for its failures."""
        with self.waiting():
            if stream is None or stream is self.stream:
                self.driver.synchronize(self.stream.handle)
            elif stream.event is not None:
                self.driver.synchronize_event(stream.event)
        self._running.clear()
        self.release_done()


def _close(device: weakref.ref[Device]) -> None:
    found = device()
    if found is not None:
        found.closed = found.pool.closed = True


def chosen_ordinal() -> int:
    """The GPU's number from XHLO_GPU_DEVICE. Raises GpuUnavailableError if it is not a number."""
    text = os.environ.get(ORDINAL, "0")
    if not text.isdecimal():
        raise GpuUnavailableError(f"{ORDINAL} is the number of a GPU, from 0, not '{text}'")
    return int(text)


class Devices:
    """The GPUs of a vendor in this process, each opened once."""

    def __init__(self, driver: Callable[[int], Driver], unavailable: type[GpuUnavailableError]):
        """`driver` opens the GPU of a number; `unavailable` is raised where it cannot."""
        self._driver = driver
        self._unavailable = unavailable
        self._found: dict[int, Device] = {}
        self._lock = threading.Lock()

    def open(self, ordinal: int | None = None) -> Device:
        """The device with that number, or the one that XHLO_GPU_DEVICE chooses. Raises GpuUnavailableError."""
        number = chosen_ordinal() if ordinal is None else ordinal
        with self._lock:
            found = self._found.get(number)
            if found is None:
                try:
                    found = self._found[number] = Device(self._driver(number))
                except GpuError as error:
                    raise self._unavailable(f"the GPU {number} cannot be used: {error}") from error
            return found

    def use(self, device: Device | None, ordinal: int = 0) -> None:
        """Replace the GPU by a device (for tests), or, with None, restore it."""
        with self._lock:
            if device is None:
                self._found.pop(ordinal, None)
            else:
                self._found[ordinal] = device

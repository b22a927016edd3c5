"""
A GPU in this process: its driver, its memory, the stream of its work, and the objects that must live until work is
done.

All work of the process on a device goes to one stream unless a call names another, so that it runs in the order of the
calls, whichever threads make them.
"""

from __future__ import annotations

import atexit
import os
import threading
import weakref
from collections import OrderedDict
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ....hlo_dialect.types import Array, ArrayType
from ....lowering.device.chips import DEFAULT_CHIP, UnknownChipError, chip_of_capability, get_chip
from .driver import LEGACY_STREAM, PER_THREAD_STREAM, WORKSPACE_BYTES, CudaError, Driver, GpuUnavailableError
from .memory import Block, DevicePool
from .staging import Staging

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

    def __init__(self, device: Device, stream: int):
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
        with driver.entered():
            self.stream = driver.new_stream()
        self.pool = DevicePool(driver, self.order, pool_limit)
        self._up, self._down = Staging(driver), Staging(driver)
        self._pending: list[tuple[int, Any]] = []
        """Events, and the objects that must not be freed before they happen."""
        self._events: list[int] = []
        """Untimed events, kept for reuse."""
        self.closed = False
        atexit.register(_close, weakref.ref(self))
        """Whether the process is about to exit, and the driver with it: nothing is freed any more."""
        self._streams: OrderedDict[int, StreamState] = OrderedDict()
        self._running: list[tuple[str, ...]] = []
        """The kernels of the runs since the last wait for the GPU."""

    def allocate(self, nbytes: int, stream: int) -> Block:
        """Allocate memory for work in the stream. Raises MemoryError."""
        return self.pool.take(nbytes, stream)

    def on(self, stream: int) -> StreamState:
        """The state shared by runs in the stream."""
        with self._lock:
            found = self._streams.get(stream)
            if found is None:
                found = self._streams[stream] = StreamState(self, stream)
            self._streams.move_to_end(stream)
            if len(self._streams) > self.MAX_STREAMS:
                oldest = next(key for key in self._streams if key != self.stream)
                del self._streams[oldest]
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
        except CudaError as error:
            suspects = sorted({name for run in self._running for name in run})
            if error.kernel is not None or not suspects:
                raise
            if len(suspects) == 1:
                raise CudaError(error.name, error.what, suspects[0]) from error
            names = ", ".join(f"@{name}" for name in suspects[:8]) + (", .." if len(suspects) > 8 else "")
            what = f"{error.what}; the kernels that ran are {names}: with {CHECK}=1 each is waited for by itself"
            raise CudaError(error.name, what) from error

    # Ordering between streams.

    def order(self, stream: int, other: int) -> bool:
        """Make a stream wait for another. Returns False if that one may no longer exist."""
        if stream != other:
            if other not in (LEGACY_STREAM, PER_THREAD_STREAM, self.stream):
                return False
            self.wait_for(stream, other)
        return True

    def wait_for(self, stream: int, other: int) -> None:
        """Make a stream wait for all work enqueued in another, which must exist."""
        if stream == other:
            return
        with self.driver.entered():
            event = self._take_event()
            self.driver.record(event, other)
            self.driver.wait(stream, event)
            # The wait is for the last record, so that the event may be reused immediately.
            self._events.append(event)

    def _take_event(self) -> int:
        try:
            return self._events.pop()
        except IndexError:
            return self.driver.new_event()

    # Objects that must live until the GPU is done with them.

    def keep_until_done(self, kept: Any, stream: int) -> None:
        """Keep `kept` alive until the work enqueued in the stream so far is done: foreign memory that it reads."""
        with self.driver.entered():
            event = self._take_event()
            self.driver.record(event, stream)
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

    def upload(self, array: Array, target: int, stream: int) -> None:
        """Copy a contiguous array to a device address; the array may change when this returns. Raises CudaError."""
        if array.nbytes:
            with self.driver.entered():
                self._up.upload(target, array.ctypes.data, array.nbytes, stream)

    def download(self, source: int, type_: ArrayType, stream: int) -> Array:
        """The array at a device address after all work enqueued in the stream. Raises CudaError."""
        array: Array = np.empty(type_.shape, type_.dtype)
        if array.nbytes:
            with self.waiting():
                self._down.download(array.ctypes.data, source, array.nbytes, stream)
        return array

    def synchronize(self, stream: int | None = None) -> None:
        """Wait for all work of a stream. Raises CudaError for its failures."""
        with self.waiting():
            self.driver.synchronize(self.stream if stream is None else stream)
        self._running.clear()
        self.release_done()


def _close(device: weakref.ref[Device]) -> None:
    found = device()
    if found is not None:
        found.closed = found.pool.closed = True


_devices: dict[int, Device] = {}
_lock = threading.Lock()


def chosen_ordinal() -> int:
    """The GPU's number from XHLO_GPU_DEVICE. Raises GpuUnavailableError if it is not a number."""
    text = os.environ.get(ORDINAL, "0")
    if not text.isdecimal():
        raise GpuUnavailableError(f"{ORDINAL} is the number of a GPU, from 0, not '{text}'")
    return int(text)


def open_device(ordinal: int | None = None) -> Device:
    """
    The device with that number, or the one that XHLO_GPU_DEVICE chooses; one object per device in the process.

    Raises GpuUnavailableError if it is unavailable.
    """
    number = chosen_ordinal() if ordinal is None else ordinal
    with _lock:
        found = _devices.get(number)
        if found is None:
            from .cuda_driver import CudaDriver

            try:
                found = _devices[number] = Device(CudaDriver(number))
            except CudaError as error:
                raise GpuUnavailableError(f"the GPU {number} cannot be used: {error}") from error
        return found


def present_chip() -> str:
    """
    The chip to compile for: from the environment variable XHLO_GPU_CHIP, from the GPU that programs run on, or a
    default if there is none, because compiling needs no GPU.

    Raises GpuUnavailableError for an unknown GPU or name.
    """
    chosen = os.environ.get(CHIP)
    try:
        if chosen:
            return get_chip(chosen).name
        device = open_device()
    except UnknownChipError as error:
        raise GpuUnavailableError(f"{CHIP}: {error}") from None
    except GpuUnavailableError:
        return DEFAULT_CHIP
    try:
        return chip_of_capability(*device.info.capability).name
    except UnknownChipError as error:
        raise GpuUnavailableError(f"{device.info.name}: {error}") from None


def use_device(device: Device | None, ordinal: int = 0) -> None:
    """Replace the GPU by a device (for tests), or, with None, restore it."""
    with _lock:
        if device is None:
            _devices.pop(ordinal, None)
        else:
            _devices[ordinal] = device

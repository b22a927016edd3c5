"""
A GPU in this process: its driver, its memory, the stream that work goes to, and what has to live until work is done.

All work of the process on a device goes to one stream unless a call names another, so that it is done in the order of
the calls, whichever threads make them.
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
"""The environment variable that, set to 1, makes a run wait for each kernel, so that errors name the right one."""

CHIP = "XHLO_GPU_CHIP"
"""The environment variable that names the chip to compile for: sm_90."""

ORDINAL = "XHLO_GPU_DEVICE"
"""The environment variable that chooses the GPU, by its number; 0 where it is not set."""


class StreamState:
    """
    What runs in one stream share. A run holds `lock` while it enqueues its work.

    All programs that run in a stream use the same arena, one after the other: it is as large as the largest needs, and
    its address stays, so that graphs that were made with it stay right.
    """

    REGISTERS = 512
    """Places of page-locked memory that conditions of loops and branches are copied to, which programs share."""

    def __init__(self, device: Device, stream: int):
        self.stream = stream
        self.lock = threading.RLock()
        self._device = device
        self._arena: Block | None = None
        self._workspace: Block | None = None
        self._registers: int | None = None

    def arena(self, nbytes: int) -> int:
        """The address of at least so many bytes for a run. Raises MemoryError."""
        if not nbytes:
            return 0
        if self._arena is None or self._arena.size < nbytes:
            self._arena = None
            self._arena = self._device.allocate(nbytes, self.stream)
        return self._arena.address

    def workspace(self) -> int:
        """The address of memory for calls of libraries, which are done one after the other. Raises MemoryError."""
        if self._workspace is None:
            self._workspace = self._device.allocate(WORKSPACE_BYTES, self.stream)
        return self._workspace.address

    def registers(self, count: int) -> int:
        """The address of page-locked memory, 8 bytes for each register."""
        if count > self.REGISTERS:
            # A block of its own; there is hardly a program with so many loops and branches.
            return self._device.driver.allocate_host(8 * count)
        with self.lock:
            if self._registers is None:
                self._registers = self._device.driver.allocate_host(8 * self.REGISTERS)
            return self._registers


class Device:
    """One device. Its methods are safe from several threads."""

    MAX_NOTED = 64
    """Runs that are remembered for the messages of errors."""
    MAX_STREAMS = 16
    """Streams whose arenas are kept."""

    def __init__(self, driver: Driver, pool_limit: int | None = None):
        self.driver = driver
        self.info = driver.device
        self._lock = threading.Lock()
        with driver.entered():
            self.stream = driver.new_stream()
        self.pool = DevicePool(driver, self.order, pool_limit)
        self._up, self._down = Staging(driver), Staging(driver)
        self._pending: list[tuple[int, Any]] = []
        """Events, and what must not be freed before they happen."""
        self._events: list[int] = []
        """Untimed ones, to be used again."""
        self.closed = False
        atexit.register(_close, weakref.ref(self))
        """Whether the process is about to end, and the driver with it: nothing is freed any more."""
        self._streams: OrderedDict[int, StreamState] = OrderedDict()
        self._running: list[tuple[str, ...]] = []
        """The kernels of the runs since the GPU was last waited for."""

    def allocate(self, nbytes: int, stream: int) -> Block:
        """Memory whose users work in the stream. Raises MemoryError."""
        return self.pool.take(nbytes, stream)

    def on(self, stream: int) -> StreamState:
        """What runs in the stream share."""
        with self._lock:
            found = self._streams.get(stream)
            if found is None:
                found = self._streams[stream] = StreamState(self, stream)
            self._streams.move_to_end(stream)
            if len(self._streams) > self.MAX_STREAMS:
                oldest = next(key for key in self._streams if key != self.stream)
                del self._streams[oldest]
            return found

    # What may fail after it was enqueued.

    def note_run(self, kernels: tuple[str, ...]) -> None:
        """A run of these kernels was enqueued."""
        if not self._running or self._running[-1] is not kernels:
            self._running.append(kernels)
            del self._running[: -self.MAX_NOTED]

    @contextmanager
    def waiting(self) -> Generator[None]:
        """Around a wait for the GPU: an error of it names the kernel that failed, or those that may have."""
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

    # Order between streams.

    def order(self, stream: int, other: int) -> bool:
        """Make a stream wait for another; False where nobody knows whether that one still exists."""
        if stream != other:
            if other not in (LEGACY_STREAM, PER_THREAD_STREAM, self.stream):
                return False
            self.wait_for(stream, other)
        return True

    def wait_for(self, stream: int, other: int) -> None:
        """Make a stream wait for all that is enqueued in another, which must exist."""
        if stream == other:
            return
        with self.driver.entered():
            event = self._take_event()
            self.driver.record(event, other)
            self.driver.wait(stream, event)
            # The wait is for what was recorded last: the event may be used again at once.
            self._events.append(event)

    def _take_event(self) -> int:
        try:
            return self._events.pop()
        except IndexError:
            return self.driver.new_event()

    # What has to live until the GPU is done with it.

    def keep_until_done(self, kept: Any, stream: int) -> None:
        """Hold `kept` until what is enqueued in the stream so far is done: somebody else's memory that it reads."""
        with self.driver.entered():
            event = self._take_event()
            self.driver.record(event, stream)
        with self._lock:
            self._pending.append((event, kept))

    def release_done(self) -> None:
        """Drop what the GPU is done with."""
        if not self._pending:
            return
        done: list[Any] = []
        with self._lock, self.driver.entered():
            pending, self._pending = self._pending, []
            for number, (event, kept) in enumerate(pending):
                # In the order of the calls: what comes after one that is not done is most likely not done either.
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
        """The array at a device address after all that is enqueued in the stream. Raises CudaError."""
        array: Array = np.empty(type_.shape, type_.dtype)
        if array.nbytes:
            with self.waiting():
                self._down.download(array.ctypes.data, source, array.nbytes, stream)
        return array

    def synchronize(self, stream: int | None = None) -> None:
        """Wait for all of a stream. Raises CudaError for what failed there."""
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
    """Raises GpuUnavailableError for an XHLO_GPU_DEVICE that is no number."""
    text = os.environ.get(ORDINAL, "0")
    if not text.isdecimal():
        raise GpuUnavailableError(f"{ORDINAL} is the number of a GPU, from 0, not '{text}'")
    return int(text)


def open_device(ordinal: int | None = None) -> Device:
    """
    The device of that number, or the one that XHLO_GPU_DEVICE chooses; one object for each in the process.

    Raises GpuUnavailableError where it cannot be had.
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
    The chip to compile for: that of the environment variable XHLO_GPU_CHIP, of the GPU that programs run on, or, where
    there is none, a usual one: compiling needs no GPU.

    Raises GpuUnavailableError for a GPU or a name that is not known.
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
    """Put a device in the place of a GPU (for tests), or, with None, take it away."""
    with _lock:
        if device is None:
            _devices.pop(ordinal, None)
        else:
            _devices[ordinal] = device

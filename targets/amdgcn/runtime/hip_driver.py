"""
HIP, AMD's runtime for GPUs, through ctypes: the library libamdhip64, of ROCm 5.7 or newer.

Its functions are those of "HIP Runtime API Reference", and it takes the place of the CUDA driver
(gpu/runtime/driver.py). It uses the device's primary context, as PyTorch and CuPy do. A graph is kept as a list of
commands, which are enqueued one after the other.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from ctypes import byref, c_char, c_float, c_int, c_size_t, c_uint, c_void_p
from dataclasses import dataclass
from typing import Any

from ...gpu.runtime.driver import (
    Changeable,
    Command,
    CopyOnDevice,
    CopyToHost,
    DeviceInfo,
    Launch,
    LibraryCall,
    RecordEvent,
)
from .errors import HipError, HipUnavailableError

LIBRARIES = ("libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5")
WINDOWS_LIBRARIES = ("amdhip64_7.dll", "amdhip64_6.dll")

_PROPERTIES = ("hipGetDevicePropertiesR0600", "hipGetDeviceProperties")
_PROPERTIES_BYTES = 1 << 14
"""More than the structure has in any version. The only part that is read is found by its content."""

_ARCHITECTURE = re.compile(rb"gfx[0-9a-f]+")

_NON_BLOCKING = 1
"""hipStreamNonBlocking"""
_NO_TIMING = 2
"""hipEventDisableTiming"""
_UNREGISTERED = 0
"""hipMemoryTypeUnregistered: memory that HIP does not know."""


def load_library() -> Any:
    """HIP's library. Raises HipUnavailableError if it is missing or does not load."""
    names = WINDOWS_LIBRARIES if sys.platform == "win32" else LIBRARIES
    folder = os.path.join(os.environ.get("ROCM_PATH", "/opt/rocm"), "lib")
    reason = ""
    for name in (*names, os.path.join(folder, names[0])):
        try:
            return ctypes.CDLL(name)
        except OSError as error:
            reason = reason or str(error)
    raise HipUnavailableError(f"there is no HIP runtime on this machine ({reason}); ROCm brings it")


@dataclass
class _Graph:
    """The commands of a graph, in order."""

    commands: list[Command]


class HipDriver:
    """One device of HIP. Raises HipUnavailableError."""

    errors = HipError

    def __init__(self, ordinal: int = 0, library: Any = None):
        self._api = load_library() if library is None else library
        for name in ("hipGetErrorName", "hipGetErrorString"):
            getattr(self._api, name).restype = ctypes.c_char_p
        count = c_int()
        status = self._api.hipInit(c_uint(0)) or self._api.hipGetDeviceCount(byref(count))
        if status or not count.value:
            name = self._name(status) if status else "hipErrorNoDevice"
            reason = "HIP finds no GPU" if name == "hipErrorNoDevice" else f"HIP does not start ({name})"
            raise HipUnavailableError(reason)
        if not 0 <= ordinal < count.value:
            raise HipUnavailableError(f"there is no GPU {ordinal}; HIP shows {count.value}, numbered from 0")
        self._ordinal = ordinal
        self._device = self._describe()

    @property
    def device(self) -> DeviceInfo:
        return self._device

    def _describe(self) -> DeviceInfo:
        ordinal = c_int(self._ordinal)
        name, memory = (c_char * 256)(), c_size_t()
        self._call("read the device's name", "hipDeviceGetName", name, c_int(len(name)), ordinal)
        self._call("read the device's memory", "hipDeviceTotalMem", byref(memory), ordinal)
        properties = ctypes.create_string_buffer(_PROPERTIES_BYTES)
        function = next(each for each in _PROPERTIES if hasattr(self._api, each))
        self._call("read the device's properties", function, properties, ordinal)
        found = _ARCHITECTURE.search(properties.raw)
        architecture = found[0].decode() if found else "unknown"
        return DeviceInfo(self._ordinal, name.value.decode(errors="replace"), (0, 0), memory.value, 0, 0, architecture)

    def _name(self, status: int) -> str:
        return self._api.hipGetErrorName(c_int(status)).decode()

    def _call(self, what: str, function: str, *arguments: Any, kernel: str | None = None) -> None:
        """Call HIP. Raises HipError."""
        status = getattr(self._api, function)(*arguments)
        if status:
            text = self._api.hipGetErrorString(c_int(status)).decode()
            raise HipError(self._name(status), f"cannot {what}: {text}", kernel)

    @contextmanager
    def entered(self) -> Generator[None]:
        before = c_int()
        self._call("find the current device", "hipGetDevice", byref(before))
        if before.value == self._ordinal:
            yield
            return
        self._call("enter the device", "hipSetDevice", c_int(self._ordinal))
        try:
            yield
        finally:
            self._api.hipSetDevice(before)

    # Memory.

    def allocate(self, nbytes: int) -> int:
        address = c_void_p()
        self._call(f"allocate {nbytes} bytes on the GPU", "hipMalloc", byref(address), c_size_t(nbytes))
        return address.value or 0

    def device_of(self, address: int) -> int | None:
        # hipPointerAttribute_t begins with the type of the memory and the number of the device.
        attributes = (c_int * 16)()
        if self._api.hipPointerGetAttributes(attributes, c_void_p(address)) or attributes[0] == _UNREGISTERED:
            return None
        return attributes[1]

    def free(self, address: int) -> None:
        self._call("free device memory", "hipFree", c_void_p(address))

    def allocate_host(self, nbytes: int) -> int:
        address, what = c_void_p(), f"allocate {nbytes} bytes of page-locked memory"
        self._call(what, "hipHostMalloc", byref(address), c_size_t(nbytes), c_uint(0))
        return address.value or 0

    def copy_to_device(self, target: int, source: int, nbytes: int, stream: int) -> None:
        self._copy("hipMemcpyHtoDAsync", f"copy {nbytes} bytes to the GPU", target, source, nbytes, stream)

    def _copy(self, function: str, what: str, target: int, source: int, nbytes: int, stream: int) -> None:
        self._call(what, function, c_void_p(target), c_void_p(source), c_size_t(nbytes), c_void_p(stream))

    # Code.

    def load(self, code: bytes) -> Any:
        module = c_void_p()
        self._call("load the kernels' code", "hipModuleLoadData", byref(module), ctypes.c_char_p(code))
        return module

    def cuda_version(self) -> int:
        """The version of HIP: the major one times 10,000,000, as it counts."""
        version = c_int()
        self._call("read the version of HIP", "hipDriverGetVersion", byref(version))
        return version.value

    def unload(self, module: Any) -> None:
        self._call("unload the kernels' code", "hipModuleUnload", module)

    def function(self, module: Any, name: str, shared_bytes: int) -> Any:
        """A kernel may use all memory of the workgroup that the chip has: nothing is asked for."""
        function = c_void_p()
        what = "find the kernel"
        self._call(what, "hipModuleGetFunction", byref(function), module, name.encode(), kernel=name)
        return function

    # Streams and events.

    def new_stream(self) -> int:
        stream = c_void_p()
        self._call("make a stream", "hipStreamCreateWithFlags", byref(stream), c_uint(_NON_BLOCKING))
        return stream.value or 0

    def stream_id(self, stream: int) -> int:
        """HIP numbers streams from version 7 on; before, the handle is the number."""
        if not hasattr(self._api, "hipStreamGetId"):
            return stream
        number = ctypes.c_ulonglong()
        self._call("identify a stream", "hipStreamGetId", c_void_p(stream), byref(number))
        return number.value

    def is_captured(self, stream: int) -> bool:
        status = c_int()
        self._call("look at a stream", "hipStreamIsCapturing", c_void_p(stream), byref(status))
        return status.value != 0

    def synchronize(self, stream: int) -> None:
        self._call("wait for the GPU", "hipStreamSynchronize", c_void_p(stream))

    def synchronize_all(self) -> None:
        self._call("wait for the GPU", "hipDeviceSynchronize")

    def new_event(self, timed: bool = False) -> int:
        event = c_void_p()
        self._call("make an event", "hipEventCreateWithFlags", byref(event), c_uint(0 if timed else _NO_TIMING))
        return event.value or 0

    def free_event(self, event: int) -> None:
        self._call("free an event", "hipEventDestroy", c_void_p(event))

    def record(self, event: int, stream: int) -> None:
        self._call("record an event", "hipEventRecord", c_void_p(event), c_void_p(stream))

    def wait(self, stream: int, event: int) -> None:
        self._call("wait for an event", "hipStreamWaitEvent", c_void_p(stream), c_void_p(event), c_uint(0))

    def synchronize_event(self, event: int) -> None:
        self._call("wait for the GPU", "hipEventSynchronize", c_void_p(event))

    def is_done(self, event: int) -> bool:
        status = self._api.hipEventQuery(c_void_p(event))
        if status and self._name(status) == "hipErrorNotReady":
            return False
        if status:
            raise HipError(self._name(status), "cannot look at an event")
        return True

    def elapsed_ns(self, start: int, end: int) -> int:
        milliseconds = c_float()
        self._call("read a time", "hipEventElapsedTime", byref(milliseconds), c_void_p(start), c_void_p(end))
        return round(1e6 * milliseconds.value)

    # Work.

    def enqueue(self, command: Command, stream: int) -> None:
        match command:
            case Launch():
                self._launch(command, stream)
            case LibraryCall():
                raise HipError("hipErrorNotSupported", "cannot call a library for matrix products", command.name)
            case CopyOnDevice(target, source, nbytes):
                self._copy("hipMemcpyDtoDAsync", f"copy {nbytes} bytes", target, source, nbytes, stream)
            case CopyToHost(target, source, nbytes):
                self._copy("hipMemcpyDtoHAsync", f"copy {nbytes} bytes to the host", target, source, nbytes, stream)
            case RecordEvent(event):
                self.record(event, stream)

    def _launch(self, launch: Launch, stream: int) -> None:
        """HIP reads the values of the parameters before it returns."""
        values = [c_void_p(argument) for argument in launch.arguments]
        pointers = (c_void_p * max(1, len(values)))(*(ctypes.addressof(value) for value in values))
        sizes = [c_uint(size) for size in (*launch.grid, *launch.block, launch.shared_bytes)]
        arguments = (launch.function, *sizes, c_void_p(stream), pointers, None)
        self._call("launch it", "hipModuleLaunchKernel", *arguments, kernel=launch.name)

    def make_graph(self, commands: Sequence[Command]) -> Any:
        return _Graph(list(commands))

    def update_graph(self, graph: Any, changed: Mapping[int, Changeable]) -> None:
        for position, command in changed.items():
            graph.commands[position] = command

    def launch_graph(self, graph: Any, stream: int) -> None:
        for command in graph.commands:
            self.enqueue(command, stream)

    def free_graph(self, graph: Any) -> None:
        graph.commands.clear()

"""
HIP's library as `HipDriver` calls it through ctypes, on a simulated device: the checks are those of `SimulatedDriver`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from simulated_gpu import SimulatedDriver
from xhlo.targets.amdgcn.runtime.errors import HipError
from xhlo.targets.gpu.runtime.driver import CopyOnDevice, CopyToHost, Launch
from xhlo.targets.nvptx.runtime.errors import CudaError

CODES = {
    "hipErrorInvalidValue": 1,
    "hipErrorOutOfMemory": 2,
    "hipErrorNoDevice": 100,
    "hipErrorNotFound": 500,
    "hipErrorNotReady": 600,
    "hipErrorIllegalAddress": 700,
    "hipErrorUnknown": 999,
}
NAMES = {code: name for name, code in CODES.items()}


class _Function:
    """A function of the library, whose `restype` callers may set."""

    def __init__(self, call: Callable[..., Any]):
        self._call = call
        self.restype: Any = None

    def __call__(self, *arguments: Any) -> Any:
        return self._call(*arguments)


def _value(argument: Any) -> int:
    return (argument.value if hasattr(argument, "value") else argument) or 0


def _store(pointer: Any, value: int | float) -> None:
    pointer._obj.value = value


class FakeHip:
    """
    A library with `count` devices of an `architecture`; `calls` lists the functions that were called. "Machine code" is
    the gpu-level IR as text, as for the simulated device.
    """

    def __init__(self, architecture: str = "gfx90a:sramecc+:xnack-", count: int = 1):
        self.gpu = SimulatedDriver()
        self.gpu.errors = HipError  # pyright: ignore[reportAttributeAccessIssue]
        self.architecture, self.count = architecture, count
        self.calls: list[str] = []
        self.current = 0
        self.fails: dict[str, str] = {}
        """The error that each call of a function returns."""
        self._objects: dict[int, Any] = {}

    def __getattr__(self, name: str) -> _Function:
        found = getattr(type(self), f"_{name}", None)
        if not name.startswith("hip") or found is None:
            raise AttributeError(name)
        function = self.__dict__[name] = _Function(lambda *arguments: self._guarded(name, found, arguments))
        return function

    def _guarded(self, name: str, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        self.calls.append(name)
        if name in self.fails:
            return CODES[self.fails[name]]
        try:
            with self.gpu.entered():
                return function(self, *arguments) or 0
        except CudaError as error:
            renamed = error.name.replace("CUDA_ERROR_", "").title().replace("_", "")
            return CODES.get(f"hipError{renamed}", CODES["hipErrorUnknown"])

    def _hipGetErrorName(self, status: Any) -> bytes:
        return NAMES[_value(status)].encode()

    def _hipGetErrorString(self, status: Any) -> bytes:
        return b"as HIP says it"

    def _hipInit(self, flags: Any) -> None:
        pass

    def _hipGetDeviceCount(self, count: Any) -> int:
        _store(count, self.count)
        return 0 if self.count else CODES["hipErrorNoDevice"]

    def _hipGetDevice(self, device: Any) -> None:
        _store(device, self.current)

    def _hipSetDevice(self, device: Any) -> None:
        self.current = _value(device)

    def _hipDeviceGetName(self, name: Any, size: Any, device: Any) -> None:
        name.value = b"Fake Instinct"

    def _hipDeviceTotalMem(self, memory: Any, device: Any) -> None:
        _store(memory, self.gpu.memory_bytes)

    def _hipGetDevicePropertiesR0600(self, properties: Any, device: Any) -> None:
        text = self.architecture.encode()
        properties[1160 : 1160 + len(text)] = text

    def _hipMalloc(self, address: Any, size: Any) -> None:
        _store(address, self.gpu.allocate(_value(size)))

    def _hipFree(self, address: Any) -> None:
        self.gpu.free(_value(address))

    def _hipPointerGetAttributes(self, attributes: Any, address: Any) -> int:
        found = self.gpu.device_of(_value(address))
        if found is None:
            return CODES["hipErrorInvalidValue"]
        attributes[0], attributes[1] = 2, found
        return 0

    def _hipHostMalloc(self, address: Any, size: Any, flags: Any) -> None:
        _store(address, self.gpu.allocate_host(_value(size)))

    def _hipMemcpyHtoDAsync(self, target: Any, source: Any, size: Any, stream: Any) -> None:
        self.gpu.copy_to_device(_value(target), _value(source), _value(size), _value(stream))

    def _hipMemcpyDtoDAsync(self, target: Any, source: Any, size: Any, stream: Any) -> None:
        self.gpu.enqueue(CopyOnDevice(_value(target), _value(source), _value(size)), _value(stream))

    def _hipMemcpyDtoHAsync(self, target: Any, source: Any, size: Any, stream: Any) -> None:
        self.gpu.enqueue(CopyToHost(_value(target), _value(source), _value(size)), _value(stream))

    def _keep(self, pointer: Any, kept: Any) -> None:
        number = len(self._objects) + 1
        self._objects[number] = kept
        _store(pointer, number)

    def _hipModuleLoadData(self, module: Any, code: Any) -> None:
        self._keep(module, self.gpu.load(code.value))

    def _hipModuleUnload(self, module: Any) -> None:
        self.gpu.unload(self._objects[_value(module)])

    def _hipModuleGetFunction(self, function: Any, module: Any, name: bytes) -> int:
        found = self._objects[_value(module)]
        if name.decode() not in found:
            return CODES["hipErrorNotFound"]
        self._keep(function, self.gpu.function(found, name.decode(), 0))
        return 0

    def _hipDriverGetVersion(self, version: Any) -> None:
        _store(version, 60_000_000)

    def _hipStreamCreateWithFlags(self, stream: Any, flags: Any) -> None:
        assert _value(flags) == 1, "the stream waits for the default stream"
        _store(stream, self.gpu.new_stream())

    def _hipStreamIsCapturing(self, stream: Any, status: Any) -> None:
        _store(status, int(self.gpu.is_captured(_value(stream))))

    def _hipStreamSynchronize(self, stream: Any) -> None:
        self.gpu.synchronize(_value(stream))

    def _hipDeviceSynchronize(self) -> None:
        self.gpu.synchronize_all()

    def _hipEventCreateWithFlags(self, event: Any, flags: Any) -> None:
        _store(event, self.gpu.new_event())

    def _hipEventDestroy(self, event: Any) -> None:
        self.gpu.free_event(_value(event))

    def _hipEventRecord(self, event: Any, stream: Any) -> None:
        self.gpu.record(_value(event), _value(stream))

    def _hipStreamWaitEvent(self, stream: Any, event: Any, flags: Any) -> None:
        self.gpu.wait(_value(stream), _value(event))

    def _hipEventSynchronize(self, event: Any) -> None:
        self.gpu.synchronize_event(_value(event))

    def _hipEventQuery(self, event: Any) -> int:
        return 0 if self.gpu.is_done(_value(event)) else CODES["hipErrorNotReady"]

    def _hipEventElapsedTime(self, milliseconds: Any, start: Any, end: Any) -> None:
        _store(milliseconds, self.gpu.elapsed_ns(_value(start), _value(end)) / 1e6)

    def _hipModuleLaunchKernel(self, function: Any, *rest: Any) -> None:
        *sizes, stream, parameters, extra = rest
        assert extra is None
        found = self._objects[_value(function)]
        count = len(found.function.function_type.inputs)
        arguments = tuple(ctypes.c_void_p.from_address(parameters[i]).value or 0 for i in range(count))
        grid, block, shared = sizes[:3], sizes[3:6], sizes[6]
        x, y, z = map(_value, grid)
        a, b, c = map(_value, block)
        launch = Launch(found, found.name, (x, y, z), (a, b, c), _value(shared), arguments)
        self.gpu.enqueue(launch, _value(stream))

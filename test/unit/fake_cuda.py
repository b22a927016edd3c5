"""
`cuda.bindings.driver` without a driver: the types are real, the functions work on a simulated GPU.

Each call is checked against the signature at the beginning of the real function's documentation.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from contextlib import ExitStack
from functools import cache, partial
from typing import Any

import cuda.bindings.driver as real

from simulated_gpu import Function, Graph, SimulatedDriver
from xhlo.targets.nvptx.runtime.driver import CopyOnDevice, CopyToHost, CudaError, Launch, RecordEvent

DEVICE = real.CUmemorytype.CU_MEMORYTYPE_DEVICE


@cache
def parameters(name: str) -> int:
    """The number of arguments of the real function."""
    line = getattr(real, name).__doc__.splitlines()[0]
    text = re.sub(r"\[[^][]*\]", "", re.sub(r"\[[^][]*\]", "", line[line.index("(") + 1 : line.rindex(")")]))
    return len([part for part in text.split(",") if part.strip()])


HANDLES: dict[tuple[str, int], Callable[[Any], Any]] = {
    ("cuGraphExecKernelNodeSetParams", 1): real.CUgraphNode,
    ("cuGraphExecMemcpyNodeSetParams", 1): real.CUgraphNode,
    ("cuGraphExecChildGraphNodeSetParams", 1): real.CUgraphNode,
    ("cuGraphExecChildGraphNodeSetParams", 2): lambda _: real.CUgraph(1),
    ("cuGraphAddChildGraphNode", 3): lambda _: real.CUgraph(1),
}
"""Real handles for arguments whose class does not determine their type, by function and position."""


@cache
def no_driver() -> bool:
    try:
        real.cuInit(0)
    except RuntimeError:
        return True
    return False


def check_types(name: str, arguments: tuple[Any, ...]) -> None:
    """
    Pass the arguments, with real handles for ours, to the real function, without a driver.

    It converts them, which fails for a wrong type, and then does not find the driver.
    """
    if not no_driver():
        return
    given = [HANDLES.get((name, at), partial(_real, at))(value) for at, value in enumerate(arguments)]
    try:
        getattr(real, name)(*given)
    except RuntimeError:
        return
    raise AssertionError(f"{name} did not look for a driver")


def _real(at: int, value: Any) -> Any:
    match value:
        case dict():
            return real.CUmodule(1)
        case Function():
            return real.CUfunction(1)
        case Graph():
            return real.CUgraphExec(1)
        case list():
            return real.CUgraph(1) if at == 0 else [real.CUgraphNode(node) for node in value]
        case KernelNode():
            parameters = real.CUDA_KERNEL_NODE_PARAMS()
            for field in KernelNode.__slots__:
                if hasattr(value, field):
                    setattr(parameters, field, _real(at, getattr(value, field)))
            return parameters
    return value


class KernelNode:
    """CUDA_KERNEL_NODE_PARAMS, whose real class takes real functions only."""

    __slots__ = tuple(
        name for name in dir(real.CUDA_KERNEL_NODE_PARAMS) if not name.startswith("_") and name != "getPtr"
    )


class FakeCuda:
    """Stands in for the module: `monkeypatch.setitem(sys.modules, bindings.MODULE, FakeCuda())`."""

    def __init__(self, gpu: SimulatedDriver | None = None, devices: int = 1):
        self.gpu = gpu or SimulatedDriver()
        self.devices = devices
        self.context_depth = 0
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if not re.match(r"cu[A-Z]", name):
            return getattr(real, name)
        found = getattr(type(self), f"_{name}", None)
        assert found is not None, f"the fake has no {name}"

        def call(*arguments: Any) -> tuple[Any, ...]:
            assert len(arguments) == parameters(name), f"{name} takes {parameters(name)} arguments"
            if name not in self.calls:
                check_types(name, arguments)
            self.calls.append(name)
            try:
                with ExitStack() as stack:
                    if self.context_depth:
                        stack.enter_context(self.gpu.entered())
                    result = found(self, *arguments)
            except CudaError as error:
                return (getattr(real.CUresult, error.name), *[None] * RESULTS.get(name, 0))
            success = real.CUresult.CUDA_SUCCESS
            return (success,) if result is None else (success, result)

        return call

    # The device.

    def _cuInit(self, flags: int) -> None: ...

    version = 13000

    def _cuDriverGetVersion(self) -> int:
        return self.version

    def _cuDeviceGetCount(self) -> int:
        return self.devices

    def _cuDeviceGet(self, ordinal: int) -> Any:
        return real.CUdevice(ordinal)

    def _cuDevicePrimaryCtxRetain(self, device: Any) -> Any:
        return real.CUcontext(77)

    def _cuCtxPushCurrent(self, context: Any) -> None:
        assert int(context) == 77
        self.context_depth += 1

    def _cuCtxPopCurrent(self) -> Any:
        self.context_depth -= 1
        return real.CUcontext(77)

    def _cuCtxSynchronize(self) -> None:
        self.gpu.synchronize_all()

    def _cuDeviceGetAttribute(self, attribute: Any, device: Any) -> int:
        names = real.CUdevice_attribute
        return {
            names.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: self.gpu.capability[0],
            names.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: self.gpu.capability[1],
            names.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: 4,
            names.CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE: 1 << 20,
        }[attribute]

    def _cuDeviceGetName(self, length: int, device: Any) -> bytes:
        return b"Fake GPU".ljust(length, b"\0")

    def _cuDeviceTotalMem(self, device: Any) -> int:
        return self.gpu.memory_bytes

    def _cuGetErrorName(self, status: Any) -> bytes:
        return real.CUresult(status).name.encode()

    def _cuGetErrorString(self, status: Any) -> bytes:
        return b"as the driver says it"

    # Memory.

    def _cuMemAlloc(self, nbytes: int) -> Any:
        return real.CUdeviceptr(self.gpu.allocate(nbytes))

    def _cuMemFree(self, address: Any) -> None:
        self.gpu.free(int(address))

    def _cuMemHostAlloc(self, nbytes: int, flags: int) -> int:
        return self.gpu.allocate_host(nbytes)

    def _cuMemFreeHost(self, address: int) -> None:
        self.gpu.free_host(address)

    def _cuMemcpyHtoDAsync(self, target: Any, source: int, nbytes: int, stream: Any) -> None:
        self.gpu.copy_to_device(int(target), source, nbytes, int(stream))

    def _cuMemcpyDtoHAsync(self, target: int, source: Any, nbytes: int, stream: Any) -> None:
        self.gpu.enqueue(CopyToHost(target, int(source), nbytes), int(stream))

    def _cuMemcpyDtoDAsync(self, target: Any, source: Any, nbytes: int, stream: Any) -> None:
        self.gpu.enqueue(CopyOnDevice(int(target), int(source), nbytes), int(stream))

    # Code.

    def _cuModuleLoadData(self, image: bytes) -> Any:
        assert image.endswith(b"\0")
        return self.gpu.load(image)

    def _cuModuleUnload(self, module: Any) -> None:
        self.gpu.unload(module)

    def _cuModuleGetFunction(self, module: Any, name: bytes) -> Any:
        return self.gpu.function(module, name.decode(), 0)

    def _cuFuncSetAttribute(self, function: Any, attribute: Any, value: int) -> None:
        names = real.CUfunction_attribute
        assert attribute == names.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        self.gpu.log.append(f"shared {value}")

    # Streams and events.

    def _cuStreamCreate(self, flags: Any) -> Any:
        assert flags == real.CUstream_flags.CU_STREAM_NON_BLOCKING
        return real.CUstream(self.gpu.new_stream())

    def _cuStreamSynchronize(self, stream: Any) -> None:
        self.gpu.synchronize(int(stream))

    def _cuStreamWaitEvent(self, stream: Any, event: Any, flags: int) -> None:
        self.gpu.wait(int(stream), int(event))

    def _cuEventCreate(self, flags: Any) -> Any:
        return real.CUevent(self.gpu.new_event())

    def _cuEventDestroy(self, event: Any) -> None:
        self.gpu.free_event(int(event))

    def _cuEventRecord(self, event: Any, stream: Any) -> None:
        self.gpu.record(int(event), int(stream))

    def _cuEventQuery(self, event: Any) -> None:
        if not self.gpu.is_done(int(event)):
            raise CudaError("CUDA_ERROR_NOT_READY", "")

    def _cuEventSynchronize(self, event: Any) -> None:
        self.gpu.synchronize_event(int(event))

    def _cuEventElapsedTime(self, start: Any, end: Any) -> float:
        return self.gpu.elapsed_ns(int(start), int(end)) / 1e6

    # Work.

    def _arguments(self, function: Any, address: int) -> tuple[int, ...]:
        """The parameters that an array of addresses points to."""
        count = len(function.function.function_type.inputs)
        if not count:
            return ()
        pointers = (ctypes.c_uint64 * count).from_address(address)
        return tuple(ctypes.c_uint64.from_address(pointer).value for pointer in pointers)

    def _cuLaunchKernel(self, function: Any, *rest: Any) -> None:
        grid, block, (shared, stream, arguments, extra) = rest[:3], rest[3:6], rest[6:]
        assert extra == 0
        launch = Launch(function, function.name, grid, block, shared, self._arguments(function, arguments))
        self.gpu.enqueue(launch, int(stream))

    def _cuGraphCreate(self, flags: int) -> list[Any]:
        return []

    def _add(self, graph: list[Any], after: Any, count: int, command: Any) -> int:
        # One after the other.
        assert (after is None and count == 0) if not graph else (list(after) == [len(graph)] and count == 1)
        graph.append(command)
        return len(graph)

    def _cuGraphAddKernelNode(self, graph: list[Any], after: Any, count: int, parameters: Any) -> int:
        return self._add(graph, after, count, self._kernel(parameters))

    def _kernel(self, node: Any) -> Launch:
        function = node.func
        grid, block = (node.gridDimX, node.gridDimY, node.gridDimZ), (node.blockDimX, node.blockDimY, node.blockDimZ)
        arguments = self._arguments(function, node.kernelParams)
        return Launch(function, function.name, grid, block, node.sharedMemBytes, arguments)

    CUDA_KERNEL_NODE_PARAMS = KernelNode

    def _cuGraphAddMemcpyNode(self, graph: list[Any], after: Any, count: int, parameters: Any, context: Any) -> int:
        assert int(context) == 77
        return self._add(graph, after, count, self._copy(parameters))

    def _copy(self, node: Any) -> CopyOnDevice | CopyToHost:
        assert (node.srcMemoryType, node.Height, node.Depth) == (DEVICE, 1, 1)
        if node.dstMemoryType == DEVICE:
            return CopyOnDevice(int(node.dstDevice), int(node.srcDevice), node.WidthInBytes)
        assert node.dstMemoryType == real.CUmemorytype.CU_MEMORYTYPE_HOST
        return CopyToHost(int(node.dstHost), int(node.srcDevice), node.WidthInBytes)

    def _cuGraphAddEventRecordNode(self, graph: list[Any], after: Any, count: int, event: Any) -> int:
        return self._add(graph, after, count, RecordEvent(int(event)))

    def _cuGraphInstantiate(self, graph: list[Any], flags: int) -> Any:
        return self.gpu.make_graph(graph)

    def _cuGraphDestroy(self, graph: Any) -> None: ...

    def _cuGraphExecKernelNodeSetParams(self, executable: Any, node: int, parameters: Any) -> None:
        self.gpu.update_graph(executable, {node - 1: self._kernel(parameters)})

    def _cuGraphExecMemcpyNodeSetParams(self, executable: Any, node: int, parameters: Any, context: Any) -> None:
        self.gpu.update_graph(executable, {node - 1: self._copy(parameters)})

    def _cuGraphLaunch(self, executable: Any, stream: Any) -> None:
        self.gpu.launch_graph(executable, int(stream))

    def _cuGraphExecDestroy(self, executable: Any) -> None:
        self.gpu.free_graph(executable)


RESULTS = dict.fromkeys(
    "cuDriverGetVersion cuMemAlloc cuMemHostAlloc cuModuleLoadData cuModuleGetFunction cuStreamCreate cuEventCreate cuEventElapsedTime "
    "cuGraphCreate cuGraphAddKernelNode cuGraphAddMemcpyNode cuGraphAddEventRecordNode cuGraphInstantiate".split(),
    1,
)

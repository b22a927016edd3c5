"""
`cuda.bindings.driver` without a driver: the types are real, the functions work on a simulated GPU.

Each call is checked against the signature at the beginning of the real function's documentation.
"""

from __future__ import annotations

import ctypes
import gc
import re
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

import cuda.bindings.driver as real

from simulated_gpu import Function, Graph, SimulatedDriver
from xhlo.targets.gpu.runtime.driver import CopyOnDevice, CopyToHost, Launch, RecordEvent
from xhlo.targets.nvptx.runtime.errors import CudaError

DEVICE = real.CUmemorytype.CU_MEMORYTYPE_DEVICE


@cache
def parameters(name: str) -> int:
    """The number of arguments of the real function."""
    line = getattr(real, name).__doc__.splitlines()[0]
    text = re.sub(r"\[[^][]*\]", "", re.sub(r"\[[^][]*\]", "", line[line.index("(") + 1 : line.rindex(")")]))
    return len([part for part in text.split(",") if part.strip()])


HANDLES: dict[tuple[str, int], Callable[[Any], Any]] = {
    ("cuGraphDestroy", 0): lambda _: real.CUgraph(1),
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
    # Each call looks for the driver under a lock; a program that is collected meanwhile would call into it again.
    collects = gc.isenabled()
    gc.disable()
    try:
        getattr(real, name)(*given)
    except RuntimeError:
        return
    finally:
        if collects:
            gc.enable()
    raise AssertionError(f"{name} did not look for a driver")


def _real(at: int, value: Any) -> Any:
    match value:
        case dict():
            return real.CUmodule(1)
        case Function():
            return real.CUfunction(1)
        case Executable():
            return real.CUgraphExec(1)
        case Template():
            return real.CUgraph(1)
        case Node():
            return real.CUgraphNode(1)
        case [Node(), *_]:
            return [real.CUgraphNode(1) for _ in value]
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


@dataclass(eq=False)
class Template:
    """A CUgraph."""

    nodes: list[Node] = field(default_factory=list)
    destroyed: bool = False


@dataclass(eq=False)
class Node:
    """A CUgraphNode."""

    graph: Template
    command: Any


@dataclass(eq=False)
class Executable:
    """A CUgraphExec, which holds copies of the nodes."""

    template: Template
    graph: Graph


class FakeCuda:
    """Stands in for the module: `monkeypatch.setitem(sys.modules, bindings.MODULE, FakeCuda())`."""

    def __init__(self, gpu: SimulatedDriver | None = None, devices: int = 1):
        self.gpu = gpu or SimulatedDriver()
        self.devices = devices
        self.context_depth = 0
        self.calls: list[str] = []
        self.mode = real.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_GLOBAL
        self.compiler_log = b""

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

    def _cuThreadExchangeStreamCaptureMode(self, mode: Any) -> Any:
        before, self.mode = self.mode, mode
        return before

    def _check_capture(self) -> None:
        """Refuse calls that may not be made during a capture in global mode, and end the capture."""
        if self.gpu.captured and self.mode != real.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED:
            self.gpu.captured.clear()
            raise CudaError("CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "")

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
        self._check_capture()
        return real.CUdeviceptr(self.gpu.allocate(nbytes))

    def _cuMemFree(self, address: Any) -> None:
        self._check_capture()
        self.gpu.free(int(address))

    def _cuMemHostAlloc(self, nbytes: int, flags: int) -> int:
        self._check_capture()
        return self.gpu.allocate_host(nbytes)

    def _cuMemcpyHtoDAsync(self, target: Any, source: int, nbytes: int, stream: Any) -> None:
        self.gpu.copy_to_device(int(target), source, nbytes, int(stream))

    def _cuMemcpyDtoHAsync(self, target: int, source: Any, nbytes: int, stream: Any) -> None:
        self.gpu.enqueue(CopyToHost(target, int(source), nbytes), int(stream))

    def _cuMemcpyDtoDAsync(self, target: Any, source: Any, nbytes: int, stream: Any) -> None:
        self.gpu.enqueue(CopyOnDevice(int(target), int(source), nbytes), int(stream))

    # Code.

    def _cuPointerGetAttribute(self, attribute: Any, address: int) -> int:
        assert attribute == real.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
        found = self.gpu.device_of(address)
        if found is None:
            raise CudaError("CUDA_ERROR_INVALID_VALUE", "")
        return found

    def _cuModuleLoadDataEx(self, image: bytes, count: int, options: list[Any], values: list[Any]) -> Any:
        assert image.endswith(b"\0")
        self._check_capture()
        assert [option.name for option in options] == [
            "CU_JIT_ERROR_LOG_BUFFER",
            "CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES",
        ]
        assert count == 2 and len(values[0]) == values[1] > len(self.compiler_log)
        values[0][: len(self.compiler_log)] = self.compiler_log
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

    def _cuStreamGetId(self, stream: Any) -> int:
        return self.gpu.stream_id(int(stream))

    def _cuStreamIsCapturing(self, stream: Any) -> Any:
        status = real.CUstreamCaptureStatus
        captured = self.gpu.is_captured(int(stream))
        return status.CU_STREAM_CAPTURE_STATUS_ACTIVE if captured else status.CU_STREAM_CAPTURE_STATUS_NONE

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

    def _cuGraphCreate(self, flags: int) -> Template:
        return Template()

    def _add(self, graph: Template, after: Any, count: int, command: Any) -> Node:
        # One after the other.
        assert not graph.destroyed
        assert (after is None and count == 0) if not graph.nodes else (list(after) == graph.nodes[-1:] and count == 1)
        graph.nodes.append(Node(graph, command))
        return graph.nodes[-1]

    def _cuGraphAddKernelNode(self, graph: Template, after: Any, count: int, parameters: Any) -> Node:
        return self._add(graph, after, count, self._kernel(parameters))

    def _kernel(self, node: Any) -> Launch:
        function = node.func
        grid, block = (node.gridDimX, node.gridDimY, node.gridDimZ), (node.blockDimX, node.blockDimY, node.blockDimZ)
        arguments = self._arguments(function, node.kernelParams)
        return Launch(function, function.name, grid, block, node.sharedMemBytes, arguments)

    CUDA_KERNEL_NODE_PARAMS = KernelNode

    def _cuGraphAddMemcpyNode(self, graph: Template, after: Any, count: int, parameters: Any, context: Any) -> Node:
        assert int(context) == 77
        return self._add(graph, after, count, self._copy(parameters))

    def _copy(self, node: Any) -> CopyOnDevice | CopyToHost:
        assert (node.srcMemoryType, node.Height, node.Depth) == (DEVICE, 1, 1)
        if node.dstMemoryType == DEVICE:
            return CopyOnDevice(int(node.dstDevice), int(node.srcDevice), node.WidthInBytes)
        assert node.dstMemoryType == real.CUmemorytype.CU_MEMORYTYPE_HOST
        return CopyToHost(int(node.dstHost), int(node.srcDevice), node.WidthInBytes)

    def _cuGraphAddEventRecordNode(self, graph: Template, after: Any, count: int, event: Any) -> Node:
        return self._add(graph, after, count, RecordEvent(int(event)))

    def _cuGraphInstantiate(self, graph: Template, flags: int) -> Executable:
        assert not graph.destroyed
        return Executable(graph, self.gpu.make_graph([node.command for node in graph.nodes]))

    def _cuGraphDestroy(self, graph: Any) -> None:
        if isinstance(graph, Template):
            assert not graph.destroyed
            graph.destroyed = True

    def _change(self, executable: Executable, node: Node, command: Any) -> None:
        """Handles of nodes are those of the template, and are gone with it."""
        if node.graph is not executable.template or node.graph.destroyed:
            raise CudaError("CUDA_ERROR_INVALID_VALUE", "")
        self.gpu.update_graph(executable.graph, {node.graph.nodes.index(node): command})

    def _cuGraphExecKernelNodeSetParams(self, executable: Executable, node: Node, parameters: Any) -> None:
        self._change(executable, node, self._kernel(parameters))

    def _cuGraphExecMemcpyNodeSetParams(
        self, executable: Executable, node: Node, parameters: Any, context: Any
    ) -> None:
        self._change(executable, node, self._copy(parameters))

    def _cuGraphLaunch(self, executable: Any, stream: Any) -> None:
        self.gpu.launch_graph(executable.graph, int(stream))

    def _cuGraphExecDestroy(self, executable: Any) -> None:
        self.gpu.free_graph(executable.graph)


RESULTS = dict.fromkeys(
    "cuDriverGetVersion cuMemAlloc cuMemHostAlloc cuModuleLoadDataEx cuModuleGetFunction cuStreamCreate cuStreamGetId "
    "cuStreamIsCapturing cuPointerGetAttribute cuThreadExchangeStreamCaptureMode cuEventCreate cuEventElapsedTime "
    "cuGraphCreate cuGraphAddKernelNode cuGraphAddMemcpyNode cuGraphAddEventRecordNode cuGraphInstantiate".split(),
    1,
)

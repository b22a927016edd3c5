"""
The CUDA driver, through `cuda.bindings.driver` of the wheel cuda-bindings (12.8 or newer, and 13).

It uses the device's primary context, as PyTorch, CuPy and JAX do, so that an address is valid in all of them.
"""

from __future__ import annotations

import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....hlo_dialect.types import Array
from ...gpu.runtime.driver import (
    Changeable,
    Command,
    CopyOnDevice,
    CopyToHost,
    DeviceInfo,
    GpuUnavailableError,
    Launch,
    LibraryCall,
    RecordEvent,
)
from .bindings import load_bindings
from .cublaslt import CublasLt
from .errors import CudaError

_NO_GPU = {
    "CUDA_ERROR_NO_DEVICE": "the CUDA driver finds no GPU",
    "CUDA_ERROR_STUB_LIBRARY": "libcuda is the stub of a toolkit, not a driver",
    "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH": "the CUDA driver and its kernel module are of different versions",
    "CUDA_ERROR_INSUFFICIENT_DRIVER": "the CUDA driver is older than what cuda-bindings needs",
}

LOG_BYTES = 8192
"""The size of the buffer for the errors of the driver's compiler."""


def device_count(api: Any) -> int:
    """The number of GPUs that the driver reports. Raises GpuUnavailableError without a driver or a GPU."""
    try:
        (status,) = api.cuInit(0)
        found, count = api.cuDeviceGetCount() if status == 0 else (status, 0)
    except RuntimeError as error:
        # The exceptions of cuda-bindings if libcuda cannot be loaded; the classes differ between versions.
        missing = "NotFound" in type(error).__name__ or "dlopen" in str(error)
        reason = "libcuda comes with NVIDIA's display driver" if missing else str(error)
        raise GpuUnavailableError(f"there is no CUDA driver on this machine: {reason}") from None
    if found != 0:
        name = _text(api.cuGetErrorName(found)[1])
        raise GpuUnavailableError(_NO_GPU.get(name, f"the CUDA driver does not start ({name})"))
    if count == 0:
        raise GpuUnavailableError(_NO_GPU["CUDA_ERROR_NO_DEVICE"])
    return count


def _text(found: Any) -> str:
    return found.decode() if isinstance(found, bytes) else str(found)


class _Parameters:
    """A kernel's parameters in the driver's form: an array of addresses of values."""

    __slots__ = ("address", "pointers", "values")

    def __init__(self, arguments: Sequence[int]):
        self.values: Array = np.array(arguments, np.uint64)
        start = self.values.ctypes.data
        self.pointers: Array = np.arange(start, start + 8 * len(arguments), 8, dtype=np.uint64)
        self.address = self.pointers.ctypes.data if arguments else 0


@dataclass
class _Node:
    """A command in a graph, with the handles that the driver needs to change it."""

    handle: Any
    parameters: Any
    """CUDA_KERNEL_NODE_PARAMS or CUDA_MEMCPY3D; None for an event."""
    arguments: _Parameters | None = None


@dataclass
class _Graph:
    executable: Any
    nodes: list[_Node]
    template: Any
    """The CUgraph that it was made from: it owns the nodes, by whose handles the executable graph is changed."""


class CudaDriver:
    """One device of the CUDA driver. Raises GpuUnavailableError."""

    errors = CudaError

    def __init__(self, ordinal: int = 0):
        self._api = api = load_bindings()
        count = device_count(api)
        if not 0 <= ordinal < count:
            raise GpuUnavailableError(f"there is no GPU {ordinal}; the driver shows {count}, numbered from 0")
        handle = self._call("find the device", api.cuDeviceGet(ordinal))
        self._context = self._call("make a context on the device", api.cuDevicePrimaryCtxRetain(handle))
        self._device = self._describe(ordinal, handle)
        self._streams: dict[int, Any] = {}
        self._cublaslt: CublasLt | None = None
        self._capturing: Any = None
        """The stream in which library calls are captured."""
        self._lock, self._capture_lock = threading.Lock(), threading.Lock()

    @property
    def device(self) -> DeviceInfo:
        return self._device

    def _describe(self, ordinal: int, handle: Any) -> DeviceInfo:
        api = self._api
        attributes = api.CUdevice_attribute

        def attribute(name: str) -> int:
            value = getattr(attributes, f"CU_DEVICE_ATTRIBUTE_{name}")
            return self._call(f"read the device's {name}", api.cuDeviceGetAttribute(value, handle))

        name = _text(self._call("read the device's name", api.cuDeviceGetName(128, handle)))
        return DeviceInfo(
            ordinal=ordinal,
            name=name.rstrip("\0"),
            capability=(attribute("COMPUTE_CAPABILITY_MAJOR"), attribute("COMPUTE_CAPABILITY_MINOR")),
            memory=self._call("read the device's memory", api.cuDeviceTotalMem(handle)),
            multiprocessors=attribute("MULTIPROCESSOR_COUNT"),
            l2_bytes=attribute("L2_CACHE_SIZE"),
        )

    def _call(self, what: str, found: tuple[Any, ...], kernel: str | None = None) -> Any:
        """Call the driver and return its values. Raises CudaError."""
        if found[0] != 0:
            self._fail(what, found[0], kernel)
        return found[1] if len(found) == 2 else found[1:]

    def _fail(self, what: str, status: Any, kernel: str | None) -> None:
        api = self._api
        (_, name), (_, text) = api.cuGetErrorName(status), api.cuGetErrorString(status)
        raise CudaError(_text(name), f"cannot {what}: {_text(text)}", kernel)

    @contextmanager
    def entered(self) -> Generator[None]:
        api = self._api
        self._call("enter the device's context", api.cuCtxPushCurrent(self._context))
        try:
            yield
        finally:
            api.cuCtxPopCurrent()

    # Memory.

    @contextmanager
    def _during_captures(self) -> Generator[None]:
        """
        The context of calls that the driver refuses, and that end captures, while another library records a stream of
        its own into a graph (CU_STREAM_CAPTURE_MODE_GLOBAL), unless the calling thread vouches for them.
        """
        mode = self._api.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
        before = self._call("exchange the mode of captures", self._api.cuThreadExchangeStreamCaptureMode(mode))
        try:
            yield
        finally:
            self._api.cuThreadExchangeStreamCaptureMode(before)

    def allocate(self, nbytes: int) -> int:
        with self._during_captures():
            return int(self._call(f"allocate {nbytes} bytes on the GPU", self._api.cuMemAlloc(nbytes)))

    def device_of(self, address: int) -> int | None:
        api = self._api
        attribute = api.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
        found = api.cuPointerGetAttribute(attribute, address)
        if found[0] == api.CUresult.CUDA_ERROR_INVALID_VALUE:
            return None
        return int(self._call("find the device of an address", found))

    def free(self, address: int) -> None:
        with self._during_captures():
            self._call("free device memory", self._api.cuMemFree(address))

    def allocate_host(self, nbytes: int) -> int:
        what = f"allocate {nbytes} bytes of page-locked memory"
        with self._during_captures():
            return int(self._call(what, self._api.cuMemHostAlloc(nbytes, 0)))

    def copy_to_device(self, target: int, source: int, nbytes: int, stream: int) -> None:
        found = self._api.cuMemcpyHtoDAsync(target, source, nbytes, self._stream(stream))
        self._call(f"copy {nbytes} bytes to the GPU", found)

    # Code.

    def load(self, code: bytes) -> Any:
        api, log = self._api, bytearray(LOG_BYTES)
        text = code if code.endswith(b"\0") else code + b"\0"
        options = api.CUjit_option
        names = [options.CU_JIT_ERROR_LOG_BUFFER, options.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES]
        with self._during_captures():
            found = api.cuModuleLoadDataEx(text, len(names), names, [log, len(log)])
        said = log.partition(b"\0")[0].decode(errors="replace").strip()
        return self._call("load the kernels' code" + (f" (the driver's compiler says: {said})" if said else ""), found)

    def cuda_version(self) -> int:
        return int(self._call("read the driver's version", self._api.cuDriverGetVersion()))

    def unload(self, module: Any) -> None:
        self._call("unload the kernels' code", self._api.cuModuleUnload(module))

    def function(self, module: Any, name: str, shared_bytes: int) -> Any:
        api = self._api
        function = self._call("find the kernel", api.cuModuleGetFunction(module, name.encode()), name)
        if shared_bytes:
            attribute = api.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            what = f"give it {shared_bytes} bytes of shared memory"
            self._call(what, api.cuFuncSetAttribute(function, attribute, shared_bytes), name)
        return function

    # Streams and events.

    def _stream(self, stream: int) -> Any:
        found = self._streams.get(stream)
        if found is None:
            found = self._streams[stream] = self._api.CUstream(stream)
        return found

    def new_stream(self) -> int:
        flags = self._api.CUstream_flags.CU_STREAM_NON_BLOCKING
        return int(self._call("make a stream", self._api.cuStreamCreate(flags)))

    def stream_id(self, stream: int) -> int:
        return int(self._call("identify a stream", self._api.cuStreamGetId(self._stream(stream))))

    def is_captured(self, stream: int) -> bool:
        found = self._call("look at a stream", self._api.cuStreamIsCapturing(self._stream(stream)))
        return found != self._api.CUstreamCaptureStatus.CU_STREAM_CAPTURE_STATUS_NONE

    def synchronize(self, stream: int) -> None:
        self._call("wait for the GPU", self._api.cuStreamSynchronize(self._stream(stream)))

    def synchronize_all(self) -> None:
        self._call("wait for the GPU", self._api.cuCtxSynchronize())

    def new_event(self, timed: bool = False) -> int:
        flags = self._api.CUevent_flags
        chosen = flags.CU_EVENT_DEFAULT if timed else flags.CU_EVENT_DISABLE_TIMING
        return int(self._call("make an event", self._api.cuEventCreate(chosen)))

    def free_event(self, event: int) -> None:
        self._call("free an event", self._api.cuEventDestroy(self._api.CUevent(event)))

    def record(self, event: int, stream: int) -> None:
        self._call("record an event", self._api.cuEventRecord(self._api.CUevent(event), self._stream(stream)))

    def wait(self, stream: int, event: int) -> None:
        found = self._api.cuStreamWaitEvent(self._stream(stream), self._api.CUevent(event), 0)
        self._call("wait for an event", found)

    def synchronize_event(self, event: int) -> None:
        self._call("wait for the GPU", self._api.cuEventSynchronize(self._api.CUevent(event)))

    def is_done(self, event: int) -> bool:
        found = self._api.cuEventQuery(self._api.CUevent(event))
        if found[0] == self._api.CUresult.CUDA_ERROR_NOT_READY:
            return False
        self._call("look at an event", found)
        return True

    def elapsed_ns(self, start: int, end: int) -> int:
        event = self._api.CUevent
        return round(1e6 * self._call("read a time", self._api.cuEventElapsedTime(event(start), event(end))))

    # Work.

    def enqueue(self, command: Command, stream: int) -> None:
        api, on = self._api, self._stream(stream)
        match command:
            case Launch():
                parameters = _Parameters(command.arguments)
                found = api.cuLaunchKernel(
                    command.function, *command.grid, *command.block, command.shared_bytes, on, parameters.address, 0
                )
                self._call("launch it", found, command.name)
            case LibraryCall():
                self._call_library(command, stream)
            case CopyOnDevice(target, source, nbytes):
                self._call(f"copy {nbytes} bytes", api.cuMemcpyDtoDAsync(target, source, nbytes, on))
            case CopyToHost(target, source, nbytes):
                self._call(f"copy {nbytes} bytes to the host", api.cuMemcpyDtoHAsync(target, source, nbytes, on))
            case RecordEvent(event):
                self.record(event, stream)

    def make_graph(self, commands: Sequence[Command]) -> _Graph:
        api = self._api
        template = self._call("make a graph", api.cuGraphCreate(0))
        try:
            nodes: list[_Node] = []
            for command in commands:
                nodes.append(self._add_node(template, [nodes[-1].handle] if nodes else None, command))
            executable = self._call("make a graph ready", api.cuGraphInstantiate(template, 0))
        except BaseException:
            api.cuGraphDestroy(template)
            raise
        return _Graph(executable, nodes, template)

    def _add_node(self, graph: Any, after: list[Any] | None, command: Command) -> _Node:
        api, count = self._api, len(after or ())
        match command:
            case Launch():
                parameters, arguments = self._kernel_parameters(command)
                found = api.cuGraphAddKernelNode(graph, after, count, parameters)
                return _Node(self._call("add it to a graph", found, command.name), parameters, arguments)
            case LibraryCall():
                captured = self._captured(command)
                try:
                    found = api.cuGraphAddChildGraphNode(graph, after, count, captured)
                    return _Node(self._call("add a library's call to a graph", found, command.name), None)
                finally:
                    api.cuGraphDestroy(captured)
            case RecordEvent(event):
                found = api.cuGraphAddEventRecordNode(graph, after, count, api.CUevent(event))
                return _Node(self._call("add an event to a graph", found), None)
            case CopyOnDevice() | CopyToHost():
                parameters = self._copy_parameters(command)
                found = api.cuGraphAddMemcpyNode(graph, after, count, parameters, self._context)
                return _Node(self._call("add a copy to a graph", found), parameters)

    # Library calls.

    def _library(self) -> CublasLt:
        with self._lock:
            if self._cublaslt is None:
                self._cublaslt = CublasLt()
            return self._cublaslt

    def _call_library(self, call: LibraryCall, stream: int) -> None:
        self._library().matmul(call.problem, call.arguments, call.workspace, stream, call.name)

    def _captured(self, call: LibraryCall) -> Any:
        """The work that a call enqueues, as a graph. A call with other addresses has the same nodes."""
        api = self._api
        self._library().prepare(call.problem, call.name)
        with self._capture_lock:
            if self._capturing is None:
                self._capturing = self._stream(self.new_stream())
            stream = self._capturing
            # Relaxed, because the library may load its kernels during the capture.
            mode = api.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
            self._call("record a library's call", api.cuStreamBeginCapture(stream, mode), call.name)
            try:
                self._call_library(call, int(stream))
            finally:
                ended = api.cuStreamEndCapture(stream)
            return self._call("record a library's call", ended, call.name)

    def _kernel_parameters(self, launch: Launch) -> tuple[Any, _Parameters]:
        arguments = _Parameters(launch.arguments)
        parameters = self._api.CUDA_KERNEL_NODE_PARAMS()
        parameters.func = launch.function
        parameters.gridDimX, parameters.gridDimY, parameters.gridDimZ = launch.grid
        parameters.blockDimX, parameters.blockDimY, parameters.blockDimZ = launch.block
        parameters.sharedMemBytes = launch.shared_bytes
        parameters.kernelParams = arguments.address
        return parameters, arguments

    def _copy_parameters(self, copy: CopyOnDevice | CopyToHost) -> Any:
        parameters = self._api.CUDA_MEMCPY3D()
        kinds = self._api.CUmemorytype
        parameters.srcMemoryType = kinds.CU_MEMORYTYPE_DEVICE
        parameters.srcDevice = self._api.CUdeviceptr(copy.source)
        if isinstance(copy, CopyOnDevice):
            parameters.dstMemoryType = kinds.CU_MEMORYTYPE_DEVICE
            parameters.dstDevice = self._api.CUdeviceptr(copy.target)
        else:
            parameters.dstMemoryType = kinds.CU_MEMORYTYPE_HOST
            parameters.dstHost = copy.target
        parameters.WidthInBytes, parameters.Height, parameters.Depth = copy.nbytes, 1, 1
        return parameters

    def update_graph(self, graph: _Graph, changed: Mapping[int, Changeable]) -> None:
        api = self._api
        for position, command in changed.items():
            node = graph.nodes[position]
            if isinstance(command, Launch):
                assert node.arguments is not None
                # The array that the node's parameters point to; the driver reads it during the call.
                node.arguments.values[:] = command.arguments
                found = api.cuGraphExecKernelNodeSetParams(graph.executable, node.handle, node.parameters)
                self._call("change its arguments in a graph", found, command.name)
            elif isinstance(command, LibraryCall):
                captured = self._captured(command)
                try:
                    found = api.cuGraphExecChildGraphNodeSetParams(graph.executable, node.handle, captured)
                    self._call("change a library's call in a graph", found, command.name)
                finally:
                    api.cuGraphDestroy(captured)
            else:
                node.parameters = self._copy_parameters(command)
                found = api.cuGraphExecMemcpyNodeSetParams(
                    graph.executable, node.handle, node.parameters, self._context
                )
                self._call("change a copy in a graph", found)

    def launch_graph(self, graph: _Graph, stream: int) -> None:
        self._call("launch a graph", self._api.cuGraphLaunch(graph.executable, self._stream(stream)))

    def free_graph(self, graph: _Graph) -> None:
        self._call("free a graph", self._api.cuGraphExecDestroy(graph.executable))
        self._call("free a graph's nodes", self._api.cuGraphDestroy(graph.template))

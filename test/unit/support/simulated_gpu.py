"""
A simulated GPU: the driver's protocol on the host's memory, with kernels on the SIMT interpreter.

Work in a stream is done only when something waits for it, so that missing synchronization shows as wrong results: a
stream's queue runs at `synchronize`, or up to an event that another queue waits for. "Machine code" is the gpu-level IR
as text.
"""

from __future__ import annotations

import bisect
import ctypes
import itertools
import threading
from collections import Counter, deque
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.memref import GlobalOp

from xhlo.dialects.gpu.functions import GpuFuncOp, GpuModuleOp
from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.printing import print_module
from xhlo.hlo_dialect.reading import parse_module
from xhlo.lowering.device.chips import get_chip
from xhlo.targets.gpu.runtime.device import Device
from xhlo.targets.gpu.runtime.driver import (
    WORKSPACE_BYTES,
    Changeable,
    Command,
    CopyOnDevice,
    CopyToHost,
    DeviceInfo,
    Launch,
    LibraryCall,
    RecordEvent,
)
from xhlo.targets.gpu.runtime.host_program import HostProgram
from xhlo.targets.nvptx.build import build_image
from xhlo.targets.nvptx.executable import CudaExecutable
from xhlo.targets.nvptx.runtime.errors import CudaError
from xhlo.targets.nvptx.target import nvptx
from xhlo.targets.program.lowering import Lowering
from xhlo.targets.simt.kernel import run_kernel
from xhlo.targets.simt.library import run_matmul
from xhlo.targets.simt.memref_ops import layout_of

LEGACY, PER_THREAD = 1, 2
MAX_PITCH = 2**31 - 1
"""CU_DEVICE_ATTRIBUTE_MAX_PITCH, the most bytes of a copy in a graph."""


@dataclass
class Event:
    recorded: object | None = None
    """Its entry in the queue; None if it was never recorded, which counts as done."""
    time: int = 0


@dataclass
class Entry:
    stream: int
    run: Callable[[], None]
    done: bool = False


@dataclass
class Function:
    name: str
    function: GpuFuncOp


@dataclass
class Graph:
    """An executable graph."""

    commands: list[Command]
    freed: bool = False


@dataclass
class SimulatedDriver:
    """
    A device with `capacity` bytes. `log` lists the calls, `ran` the kernels that ran, `counts` the calls by method.
    """

    memory_bytes: int = 1 << 30
    capability: tuple[int, int] = (9, 0)
    ordinal: int = 0
    log: list[str] = field(default_factory=list)
    ran: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    refuse: dict[str, str] = field(default_factory=dict)
    """The error that the next call of a method (or "launch @kernel") raises, by name."""
    faults: dict[str, str] = field(default_factory=dict)
    """The error that running a kernel leaves in the device, by kernel."""

    errors = CudaError

    def __post_init__(self) -> None:
        self.device = DeviceInfo(self.ordinal, "Simulated GPU", self.capability, self.memory_bytes, 4, 1 << 20)
        self._numbers = itertools.count(16)
        self._next_address = 0x7F0000000000
        self._blocks: dict[int, np.ndarray] = {}
        self._bases: list[int] = []
        self._host: dict[int, np.ndarray] = {}
        self._queues: dict[int, deque[Entry]] = {LEGACY: deque()}
        """The streams' work, by their numbers."""
        self._handles: dict[int, int] = {LEGACY: LEGACY}
        """The numbers of the streams by their handles."""
        self._spare_handles: list[int] = []
        self.captured: set[int] = set()
        """The handles of streams that another library is capturing."""
        self._events: dict[int, Event] = {}
        self.devices: dict[int, int] = {}
        """The numbers of the devices of blocks that are not on this one."""
        self.cuda = 13000
        self._sticky: str | None = None
        self._lock = threading.RLock()
        self._threads = threading.local()
        self._clock = 0

    # Bookkeeping.

    def _called(self, name: str) -> None:
        assert getattr(self._threads, "depth", 0), f"{name} outside of entered()"
        self.counts[name] += 1
        error = self.refuse.pop(name, None)
        if error is not None:
            raise CudaError(error, f"cannot {name}", name.partition("@")[2] or None)
        if self._sticky is not None:
            raise CudaError(self._sticky, f"cannot {name}: left by a kernel")

    @contextmanager
    def entered(self) -> Generator[None]:
        self._threads.depth = getattr(self._threads, "depth", 0) + 1
        try:
            yield
        finally:
            self._threads.depth -= 1

    # Memory.

    @property
    def allocated(self) -> int:
        return sum(block.nbytes for block in self._blocks.values())

    def allocate(self, nbytes: int) -> int:
        self._called("allocate")
        with self._lock:
            if self.allocated + nbytes > self.memory_bytes:
                raise CudaError("CUDA_ERROR_OUT_OF_MEMORY", f"cannot allocate {nbytes} bytes on the GPU: out of memory")
            address = self._next_address
            self._next_address += -(-(nbytes + 4096) // 4096) * 4096
            self._blocks[address] = np.full(nbytes, 0xCB, np.uint8)
            bisect.insort(self._bases, address)
            return address

    def device_of(self, address: int) -> int | None:
        at = bisect.bisect_right(self._bases, address) - 1
        known = at >= 0 and address < self._bases[at] + self._blocks[self._bases[at]].nbytes
        return self.devices.get(self._bases[at], self.ordinal) if known else None

    def free(self, address: int) -> None:
        self._called("free")
        with self._lock:
            # Waits for the work that uses the memory.
            self._drain_all()
            del self._blocks[address]
            self._bases.remove(address)

    def allocate_host(self, nbytes: int) -> int:
        self._called("allocate_host")
        block = np.full(nbytes, 0xCD, np.uint8)
        self._host[block.ctypes.data] = block
        return block.ctypes.data

    def bytes_at(self, address: int, nbytes: int) -> np.ndarray:
        """The device's memory at an address."""
        base = self._bases[bisect.bisect_right(self._bases, address) - 1]
        block = self._blocks[base]
        assert address - base + nbytes <= block.nbytes, f"{nbytes} bytes at {address:#x} are outside of the block"
        return block[address - base : address - base + nbytes]

    def copy_to_device(self, target: int, source: int, nbytes: int, stream: int) -> None:
        self._called("copy_to_device")
        assert source in self._host, "from memory that is not page-locked"
        self._put(stream, lambda: self._write(target, ctypes.string_at(source, nbytes)))

    def _write(self, target: int, data: bytes) -> None:
        self.bytes_at(target, len(data))[:] = np.frombuffer(data, np.uint8)

    # Code.

    def load(self, code: bytes) -> Any:
        self._called("load")
        module = parse_module(code.decode().rstrip("\0"), "<machine code>", make_context())
        return {
            function.sym_name.data: function
            for device in module.body.block.ops
            if isinstance(device, GpuModuleOp)
            for function in device.body.block.ops
            if isinstance(function, GpuFuncOp)
        }

    def cuda_version(self) -> int:
        return self.cuda

    def unload(self, module: Any) -> None:
        self._called("unload")

    def function(self, module: Any, name: str, shared_bytes: int) -> Any:
        self._called("function")
        return Function(name, module[name])

    # Streams and events.

    def new_stream(self) -> int:
        """Handles of destroyed streams are reused, the last one first, as the driver does."""
        self._called("new_stream")
        number = next(self._numbers)
        handle = self._spare_handles.pop() if self._spare_handles else number
        self._handles[handle] = number
        self._queues[number] = deque()
        return handle

    def destroy_stream(self, stream: int) -> None:
        """Its work is done all the same."""
        del self._handles[stream]
        self._spare_handles.append(stream)

    def stream_id(self, stream: int) -> int:
        """The number of a stream; an unknown handle is undefined behaviour for the driver, and an error here."""
        if stream == PER_THREAD:
            if not hasattr(self._threads, "stream"):
                self._threads.stream = next(self._numbers)
                self._queues[self._threads.stream] = deque()
            return self._threads.stream
        assert stream in self._handles, f"stream {stream} does not exist"
        return self._handles[stream]

    def is_captured(self, stream: int) -> bool:
        return stream in self.captured

    def _put(self, stream: int, run: Callable[[], None]) -> Entry:
        if stream in self.captured:
            raise CudaError("CUDA_ERROR_STREAM_CAPTURE_ISOLATION", "work of another stream")
        number = self.stream_id(stream)
        entry = Entry(number, run)
        self._queues[number].append(entry)
        return entry

    def _drain(self, stream: int, until: object | None = None) -> None:
        """Do the work of the stream of a number, up to and including an entry."""
        queue = self._queues[stream]
        with self._lock:
            while queue:
                entry = queue.popleft()
                entry.run()
                entry.done = True
                if entry is until:
                    break

    def _drain_all(self) -> None:
        for stream in list(self._queues):
            self._drain(stream)

    def synchronize(self, stream: int) -> None:
        self._called("synchronize")
        self._drain(self.stream_id(stream))
        self._called("synchronize")

    def synchronize_all(self) -> None:
        self._called("synchronize_all")
        if self.captured:
            self.captured.clear()
            raise CudaError("CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "the capture has ended")
        self._drain_all()

    def new_event(self, timed: bool = False) -> int:
        self._called("new_event")
        event = next(self._numbers)
        self._events[event] = Event()
        return event

    def free_event(self, event: int) -> None:
        self._called("free_event")
        del self._events[event]

    def record(self, event: int, stream: int) -> None:
        self._called("record")
        found = self._events[event]

        def happen() -> None:
            found.time = self._clock

        found.recorded = self._put(stream, happen)

    def wait(self, stream: int, event: int) -> None:
        self._called("wait")
        # The last recording at the time the wait is enqueued.
        recorded = self._events[event].recorded
        self._put(stream, lambda: self._reach(recorded))

    def _reach(self, recorded: object | None) -> None:
        if isinstance(recorded, Entry) and not recorded.done:
            self._drain(recorded.stream, recorded)

    def synchronize_event(self, event: int) -> None:
        self._called("synchronize_event")
        self._reach(self._events[event].recorded)
        self._called("synchronize_event")

    def is_done(self, event: int) -> bool:
        self._called("is_done")
        recorded = self._events[event].recorded
        return not isinstance(recorded, Entry) or recorded.done

    def elapsed_ns(self, start: int, end: int) -> int:
        return self._events[end].time - self._events[start].time

    # Work.

    def enqueue(self, command: Command, stream: int) -> None:
        if isinstance(command, Launch):
            self._called(f"launch @{command.name}")
        self._called("enqueue")
        self.log.append(_described(command))
        if isinstance(command, RecordEvent):
            self.record(command.event, stream)
        else:
            self._put(stream, lambda: self._perform(command))

    def _perform(self, command: Command) -> None:
        self._clock += 1000
        match command:
            case Launch():
                self._launch(command)
            case LibraryCall():
                self._multiply(command)
            case CopyOnDevice(target, source, nbytes):
                self._write(target, self.bytes_at(source, nbytes).tobytes())
            case CopyToHost(target, source, nbytes):
                assert any(base <= target < base + block.nbytes for base, block in self._host.items())
                ctypes.memmove(target, self.bytes_at(source, nbytes).tobytes(), nbytes)
            case RecordEvent(event):
                self._events[event].time = self._clock

    def _launch(self, launch: Launch) -> None:
        self.ran.append(launch.name)
        if launch.name in self.faults:
            self._sticky = self.faults[launch.name]
        if self._sticky is not None:
            return
        function = launch.function.function
        buffers = []
        for parameter, address in zip(function.function_type.inputs, launch.arguments, strict=True):
            shape, _, dtype = layout_of(function, parameter)
            nbytes = int(np.prod(shape)) * dtype.itemsize
            data = self.bytes_at(address, nbytes) if nbytes else np.empty(0, np.uint8)
            buffers.append(data.view(dtype).reshape(shape))
        run_kernel(function, buffers, grid=launch.grid, block=launch.block)

    def _multiply(self, call: LibraryCall) -> None:
        self.ran.append(call.name)
        self.bytes_at(call.workspace, WORKSPACE_BYTES)[:] = 0xCB
        one = call.problem
        types = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "bf16": ml_dtypes.bfloat16}
        types |= {"i8": np.int8, "i32": np.int32}
        sizes = [(one.lhs.end(one.batch), one.element), (one.rhs.end(one.batch), one.element)]
        sizes += [(one.out.columns, one.result)] * one.bias + [(one.out.end(one.batch), one.result)]
        buffers = [
            self.bytes_at(address, size * np.dtype(types[element]).itemsize).view(types[element])
            for address, (size, element) in zip(call.arguments, sizes, strict=True)
        ]
        run_matmul(one, buffers)

    def make_graph(self, commands: Sequence[Command]) -> Graph:
        self._called("make_graph")
        self.log.append(f"graph of {len(commands)}")
        copies = [command for command in commands if isinstance(command, (CopyOnDevice, CopyToHost))]
        if any(command.nbytes > MAX_PITCH for command in copies):
            raise CudaError("CUDA_ERROR_INVALID_VALUE", "the width of a copy")
        return Graph(list(commands))

    def update_graph(self, graph: Graph, changed: Mapping[int, Changeable]) -> None:
        self._called("update_graph")
        self.log.append(f"update of {sorted(changed)}")
        for position, command in changed.items():
            assert type(graph.commands[position]) is type(command)
            graph.commands[position] = command

    def launch_graph(self, graph: Graph, stream: int) -> None:
        self._called("launch_graph")
        assert not graph.freed
        self.log.append("graph")
        commands = list(graph.commands)
        self._put(stream, lambda: [self._perform(command) for command in commands] and None)

    def free_graph(self, graph: Graph) -> None:
        self._called("free_graph")
        graph.freed = True


def _described(command: Command) -> str:
    match command:
        case Launch():
            return f"launch {command.name}"
        case LibraryCall():
            return f"library {command.name}"
        case CopyOnDevice():
            return f"copy {command.nbytes}"
        case CopyToHost():
            return f"read {command.nbytes}"
        case RecordEvent():
            return "event"


def as_text(module: ModuleOp, host: HostProgram) -> tuple[str, bytes]:
    """The "machine code" of a module of the stage "loops"."""
    for op in list(module.body.block.ops):
        if not isinstance(op, (GpuModuleOp, GlobalOp)):
            op.detach()
    return print_module(module), b""


def compile_simulated(
    text: str,
    device: Device | None = None,
    *,
    profile: bool = False,
    fuse: bool = True,
    chip: str = "sm_90",
    libraries: str = "never",
) -> CudaExecutable:
    """A program for the simulated GPU, by all of the target's passes up to the gpu-level IR."""
    ctx = make_context()
    module = parse_module(text, "<text>", ctx)
    machine = get_chip(chip)
    target = nvptx(chip, libraries=libraries)
    lowering = Lowering(ctx, module, target, profile=profile, fuse=fuse)
    image = build_image(lowering, machine, machine.ptx, emission=as_text)
    return CudaExecutable(image, lambda stage: "", device or simulated_device())


def simulated_device(pool_limit: int | None = None, **settings: Any) -> Device:
    return Device(SimulatedDriver(**settings), pool_limit)

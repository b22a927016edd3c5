"""
The runtime's interface to a GPU driver.

`CudaDriver` (nvptx/runtime/cuda_driver.py) calls the CUDA driver, `HipDriver` (amdgcn/runtime/hip_driver.py) HIP; tests
use a simulated one. Addresses, streams and events are integers: device addresses of the driver, handles of CUstream and
CUevent. Methods that take a stream return once the work is enqueued; the work of one stream runs in order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from ....dialects.gpu.library import Matmul
from ....hlo_dialect.diagnostics import Diagnostic, DiagnosticError

Dims = tuple[int, int, int]

PER_THREAD_STREAM = 2
LEGACY_STREAM = 1
"""CU_STREAM_LEGACY: the stream that every blocking stream waits for, and the default of libraries."""


class GpuError(RuntimeError):
    """
    The driver returned an error, or a kernel failed.

    `name` is the driver's, `kernel` the device function, if one is known to be the cause.
    """

    OUT_OF_MEMORY: ClassVar[str]
    """The driver's name for too little memory."""
    CAPTURED: ClassVar[str]
    """Its name for work that cannot be recorded into a graph."""

    def __init__(self, name: str, what: str, kernel: str | None = None):
        super().__init__(f"{name}: {what}" if kernel is None else f"{name}: kernel @{kernel}: {what}")
        self.name = name
        self.what = what
        self.kernel = kernel

    @property
    def out_of_memory(self) -> bool:
        """Whether the device's memory did not suffice."""
        return self.name == self.OUT_OF_MEMORY


class GpuUnavailableError(DiagnosticError):
    """
    There is no GPU to run on, or a requirement is missing; the message says which.

    >>> import numpy as np
    >>> import xhlo
    >>> exe = xhlo.compile("func.func @main(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> }", target="gpu")
    >>> try:
    ...     y = exe(np.float32(3))
    ... except xhlo.GpuUnavailableError as error:
    ...     y = np.float32(3)  # error.reason says what is missing
    >>> float(y)
    3.0
    """

    TARGET = "gpu"
    HINT = "everything up to machine code works without a GPU: hlo-opt --target=nvptx --emit=ptx"

    def __init__(self, reason: str):
        notes = (Diagnostic("note", self.HINT),)
        super().__init__(Diagnostic("error", f"the {self.TARGET} target cannot run here: {reason}", notes=notes))
        self.reason = reason


@dataclass(frozen=True)
class DeviceInfo:
    """The properties of a GPU."""

    ordinal: int
    name: str
    capability: tuple[int, int]
    memory: int
    """Bytes."""
    multiprocessors: int
    l2_bytes: int
    architecture: str = ""
    """`gfx942`, of AMD's GPUs, which have no compute capability."""

    @property
    def chip(self) -> str:
        """`sm_90`: the chip to compile for."""
        return self.architecture or f"sm_{self.capability[0]}{self.capability[1]}"


@dataclass(frozen=True)
class Launch:
    """A kernel launch over a grid of blocks; its parameters are addresses."""

    function: Any
    """The handle that `Driver.function` returned."""
    name: str
    grid: Dims
    block: Dims
    shared_bytes: int
    """Bytes of dynamic shared memory."""
    arguments: tuple[int, ...]


@dataclass(frozen=True)
class LibraryCall:
    """A matrix product by the vendor's library."""

    problem: Matmul
    name: str
    """The name of the kernel that it is part of."""
    arguments: tuple[int, ...]
    """Addresses of the factors, of the bias if there is one, and of the result."""
    workspace: int
    """The address of WORKSPACE_BYTES that only the stream of the call uses."""


@dataclass(frozen=True)
class CopyOnDevice:
    """A copy from one device address to another; the two ranges do not overlap."""

    target: int
    source: int
    nbytes: int


@dataclass(frozen=True)
class CopyToHost:
    """A copy from a device address to page-locked host memory."""

    target: int
    source: int
    nbytes: int


@dataclass(frozen=True)
class RecordEvent:
    """Record an event that happens when all earlier commands are done."""

    event: int


Command = Launch | LibraryCall | CopyOnDevice | CopyToHost | RecordEvent


Changeable = Launch | LibraryCall | CopyOnDevice | CopyToHost
"""The commands whose addresses can be changed in a graph."""

WORKSPACE_BYTES = 32 << 20
"""Bytes of device memory for the library calls of each stream, as NVIDIA recommends for Hopper and later chips."""


class Driver(Protocol):
    """
    One device. Every method except `entered` must be called inside `with driver.entered()`.

    Raises: GpuError, of the class `errors`.
    """

    @property
    def errors(self) -> type[GpuError]: ...

    @property
    def device(self) -> DeviceInfo: ...

    def entered(self) -> AbstractContextManager[None]:
        """The context in which the device is the calling thread's current one."""
        ...

    # Memory.

    def allocate(self, nbytes: int) -> int:
        """The address of new device memory, aligned to 256 bytes."""
        ...

    def free(self, address: int) -> None:
        """Free memory, after waiting for its users."""
        ...

    def device_of(self, address: int) -> int | None:
        """The number of the device whose context owns the memory at an address; None if CUDA does not know it."""
        ...

    def allocate_host(self, nbytes: int) -> int:
        """The address of new page-locked host memory."""
        ...

    def copy_to_device(self, target: int, source: int, nbytes: int, stream: int) -> None:
        """Copy from host memory; page-locked memory must not change until the copy is done."""
        ...

    # Code.

    def load(self, code: bytes) -> Any:
        """A module of machine code, or of PTX text, in the device's context. A GpuError holds the compiler's log."""
        ...

    def cuda_version(self) -> int:
        """The version of CUDA that the driver supports: 13000 is 13.0."""
        ...

    def unload(self, module: Any) -> None: ...

    def function(self, module: Any, name: str, shared_bytes: int) -> Any:
        """A kernel of a module, allowed to use `shared_bytes` of dynamic shared memory."""
        ...

    # Streams and events.

    def new_stream(self) -> int:
        """Create a stream that does not wait for the legacy stream."""
        ...

    def stream_id(self, stream: int) -> int:
        """A number of the stream that the handle names for the calling thread, unique for the life of the process."""
        ...

    def is_captured(self, stream: int) -> bool:
        """Whether work enqueued in the stream is recorded into a graph instead of being done."""
        ...

    def synchronize(self, stream: int) -> None:
        """Wait for all work of a stream. Raises GpuError for its failures."""
        ...

    def synchronize_all(self) -> None:
        """Wait for all streams of the device."""
        ...

    def new_event(self, timed: bool = False) -> int: ...

    def free_event(self, event: int) -> None: ...

    def record(self, event: int, stream: int) -> None: ...

    def wait(self, stream: int, event: int) -> None:
        """Make work enqueued in the stream from now on wait for the event."""
        ...

    def synchronize_event(self, event: int) -> None:
        """Wait until the event happened. Raises GpuError for failures before it."""
        ...

    def is_done(self, event: int) -> bool: ...

    def elapsed_ns(self, start: int, end: int) -> int:
        """Nanoseconds between two timed events that have happened."""
        ...

    # Work.

    def enqueue(self, command: Command, stream: int) -> None: ...

    def make_graph(self, commands: Sequence[Command]) -> Any:
        """An instantiated graph that runs the commands in order."""
        ...

    def update_graph(self, graph: Any, changed: Mapping[int, Changeable]) -> None:
        """Change arguments or addresses of the graph's commands, by their position, from its next launch on."""
        ...

    def launch_graph(self, graph: Any, stream: int) -> None: ...

    def free_graph(self, graph: Any) -> None: ...

"""
What the runtime asks of a GPU's driver.

`CudaDriver` (cuda_driver.py) asks the CUDA driver; tests put a simulated one in its place. Addresses, streams and
events are integers: device addresses as the driver gives them, handles of CUstream and CUevent. What takes a stream
returns when it is enqueued; the work of one stream is done in its order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from ....dialects.gpu.library import Matmul
from ....hlo_dialect.diagnostics import Diagnostic, DiagnosticError

Dims = tuple[int, int, int]

PER_THREAD_STREAM = 2
LEGACY_STREAM = 1
"""CU_STREAM_LEGACY: the stream that every other blocking one waits for; what libraries use unless told otherwise."""


class CudaError(RuntimeError):
    """
    The driver refused something, or a kernel failed.

    `name` is CUDA's ("CUDA_ERROR_ILLEGAL_ADDRESS"), `kernel` the device function where one is known to be the cause.
    """

    def __init__(self, name: str, what: str, kernel: str | None = None):
        super().__init__(f"{name}: {what}" if kernel is None else f"{name}: kernel @{kernel}: {what}")
        self.name = name
        self.what = what
        self.kernel = kernel


class GpuUnavailableError(DiagnosticError):
    """There is no GPU to run on, or something that running takes is missing; the message says what."""

    def __init__(self, reason: str):
        notes = (
            Diagnostic("note", "everything up to machine code works without a GPU: hlo-opt --target=nvptx --emit=ptx"),
        )
        super().__init__(Diagnostic("error", f"the gpu target cannot run here: {reason}", notes=notes))
        self.reason = reason


@dataclass(frozen=True)
class DeviceInfo:
    """A GPU."""

    ordinal: int
    name: str
    capability: tuple[int, int]
    memory: int
    """Bytes."""
    multiprocessors: int
    l2_bytes: int

    @property
    def chip(self) -> str:
        """`sm_90`: the chip to compile for."""
        return f"sm_{self.capability[0]}{self.capability[1]}"


@dataclass(frozen=True)
class Launch:
    """A kernel over a grid of blocks; its parameters are addresses."""

    function: Any
    """What `Driver.function` gave."""
    name: str
    grid: Dims
    block: Dims
    shared_bytes: int
    """Of dynamic shared memory."""
    arguments: tuple[int, ...]


@dataclass(frozen=True)
class LibraryCall:
    """A matrix product by the vendor's library."""

    problem: Matmul
    name: str
    """Of the kernel that it is a part of."""
    arguments: tuple[int, ...]
    """Addresses of the factors, of the bias where there is one, and of the result."""
    workspace: int
    """The address of memory that only the stream of the call uses, WORKSPACE_BYTES of it."""


@dataclass(frozen=True)
class CopyOnDevice:
    """Bytes from one device address to another; the two do not overlap."""

    target: int
    source: int
    nbytes: int


@dataclass(frozen=True)
class CopyToHost:
    """Bytes from a device address to page-locked memory of the host."""

    target: int
    source: int
    nbytes: int


@dataclass(frozen=True)
class RecordEvent:
    """The event happens when all before it is done."""

    event: int


Command = Launch | LibraryCall | CopyOnDevice | CopyToHost | RecordEvent


Changeable = Launch | LibraryCall | CopyOnDevice | CopyToHost
"""What a graph can be told other addresses of."""

WORKSPACE_BYTES = 32 << 20
"""Of device memory for the library calls of each stream: what NVIDIA recommends for Hopper and later chips."""


class Driver(Protocol):
    """
    One device. Every method but `entered` is called inside `with driver.entered()`.

    Raises: CudaError.
    """

    @property
    def device(self) -> DeviceInfo: ...

    def entered(self) -> AbstractContextManager[None]:
        """Makes the device the calling thread's current one for a while."""
        ...

    # Memory.

    def allocate(self, nbytes: int) -> int:
        """The address of new device memory, aligned to 256 bytes."""
        ...

    def free(self, address: int) -> None:
        """Waits for what uses the memory."""
        ...

    def allocate_host(self, nbytes: int) -> int:
        """The address of new page-locked host memory."""
        ...

    def free_host(self, address: int) -> None: ...

    def copy_to_device(self, target: int, source: int, nbytes: int, stream: int) -> None:
        """From host memory, which must stay as it is until the copy is done where it is page-locked."""
        ...

    # Code.

    def load(self, code: bytes) -> Any:
        """A module of machine code, or of PTX text, in the device's context."""
        ...

    def unload(self, module: Any) -> None: ...

    def function(self, module: Any, name: str, shared_bytes: int) -> Any:
        """A kernel of a module, allowed to take so much dynamic shared memory."""
        ...

    # Streams and events.

    def new_stream(self) -> int:
        """A stream that does not wait for the legacy one."""
        ...

    def synchronize(self, stream: int) -> None:
        """Wait for all of a stream. Raises CudaError for what went wrong in it."""
        ...

    def synchronize_all(self) -> None:
        """Wait for all streams of the device."""
        ...

    def new_event(self, timed: bool = False) -> int: ...

    def free_event(self, event: int) -> None: ...

    def record(self, event: int, stream: int) -> None: ...

    def wait(self, stream: int, event: int) -> None:
        """What is enqueued in the stream from now on waits for the event."""
        ...

    def synchronize_event(self, event: int) -> None:
        """Wait until it happened. Raises CudaError for what went wrong before it."""
        ...

    def is_done(self, event: int) -> bool: ...

    def elapsed_ns(self, start: int, end: int) -> int:
        """Nanoseconds between two timed events that have happened."""
        ...

    # Work.

    def enqueue(self, command: Command, stream: int) -> None: ...

    def make_graph(self, commands: Sequence[Command]) -> Any:
        """A graph that runs the commands one after the other, ready to be launched."""
        ...

    def update_graph(self, graph: Any, changed: Mapping[int, Changeable]) -> None:
        """Other arguments or addresses for commands of the graph, by their position, from its next launch on."""
        ...

    def launch_graph(self, graph: Any, stream: int) -> None: ...

    def free_graph(self, graph: Any) -> None: ...

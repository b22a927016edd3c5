"""A program compiled for a GPU: GPU arrays in and out, or NumPy arrays with copies."""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from ...hlo_dialect.diagnostics import DiagnosticError
from ...hlo_dialect.types import Array
from ..program.arguments import host_array
from ..program.errors import hide_our_frames
from ..program.executable import Executable
from .image import GpuImage
from .runtime.arrays import DeviceArray, is_on_device, operand, stream_handle
from .runtime.device import Device
from .runtime.driver import Driver
from .runtime.loaded import LoadedProgram


class GpuExecutable(Executable):
    """
    Call it with one array for each argument of `@main`; it returns an array, or a tuple of arrays.

    GPU arrays as arguments (of this package, or of any library with `__dlpack__` or `__cuda_array_interface__`:
    PyTorch, CuPy, JAX, Numba) are used in place, others are copied to the GPU. Results are `DeviceArray`s if an
    argument is a GPU array, else NumPy arrays; `on_device=True` or `False` selects one of them.

    A call returns when its work is enqueued in `stream` (by default the process's stream for the device), unless it
    returns NumPy arrays, has checks or calls host functions. Kernel errors are raised as GpuError by the next wait for
    the GPU.

    Raises GpuUnavailableError without a GPU, TypeError for arguments that do not fit before anything runs, MemoryError,
    GpuError. Thread-safe.
    """

    target: ClassVar[str]
    """The name of the target that loads what `serialize` writes."""

    def __init__(self, image: GpuImage, text_at: Callable[[str], str], device: Device | None = None):
        super().__init__(image.facts, text_at)
        self.image = image
        self._device = device
        self._loaded: LoadedProgram | None = None
        self._lock = threading.Lock()
        self._rows = {kernel.name: kernel for kernel in image.facts.kernels}

    def serialize(self) -> bytes:
        """The executable as bytes, for `xhlo.deserialize` on a machine with the same version of xhlo."""
        from .serialization import serialize

        return serialize(self.image, self.source, self.target)

    @abstractmethod
    def open_device(self) -> Device:
        """The device to run on. Raises GpuUnavailableError."""

    @abstractmethod
    def load_code(self, driver: Driver, image: GpuImage) -> Any:
        """The image's code as a module of the driver. Raises GpuUnavailableError, GpuError."""

    def load(self) -> LoadedProgram:
        """The program on the device, loaded at the first call. Raises GpuUnavailableError."""
        with self._lock:
            if self._loaded is None:
                device = self.open_device() if self._device is None else self._device
                spent = self._spent if self.facts.profiled else None
                self._loaded = LoadedProgram(self.image, device, spent, self.load_code)
            return self._loaded

    def place(self, arguments: Sequence[Any]) -> Sequence[Any]:
        """The arguments as GPU arrays; GPU arrays are unchanged. Raises TypeError."""
        device = self.load().device
        placed: list[Any] = []
        for index, (argument, wanted) in enumerate(zip(arguments, self.facts.inputs, strict=True)):
            if not is_on_device(argument):
                array = host_array(argument, index, wanted)
                block = device.allocate(wanted.nbytes, device.stream)
                device.upload(array, block.address, device.stream)
                argument = DeviceArray(device, wanted, block)
            placed.append(argument)
        return placed

    def wait(self) -> None:
        """Wait for the runs in the process's stream for the device. Raises GpuError."""
        self.load().device.synchronize()

    def _spent(self, kernel: str, nanoseconds: int) -> None:
        row = self._rows[kernel]
        row.calls += 1
        row.nanoseconds += nanoseconds

    def __call__(
        self, *arguments: Any, out: Any = None, stream: Any = None, on_device: bool | None = None, **named: Any
    ) -> Any:
        try:
            flat = self.signature.bind(arguments, named, self.facts.inputs)
            memory = None if out is None else self._memory_of(out)
            return self.results(self._computed(flat, memory, stream, on_device))
        except (DiagnosticError, TypeError) as error:
            hide_our_frames(error)
            raise

    def compute(self, arguments: Sequence[Any], memory: Sequence[Array] | None) -> Sequence[Any]:
        return self._computed(arguments, memory, None, None)

    def _computed(
        self, arguments: Sequence[Any], memory: Sequence[Array] | None, stream: Any, on_device: bool | None
    ) -> list[Any]:
        inputs = self.facts.inputs
        if memory is not None:
            if on_device:
                raise TypeError("out= takes NumPy arrays: on_device=True leaves the results on the GPU")
            on_device = False
        if on_device is None:
            on_device = any(map(is_on_device, arguments))
        for index, (argument, wanted) in enumerate(zip(arguments, inputs, strict=True)):
            # Before the GPU is opened, because wrong arguments are errors on any machine.
            if isinstance(argument, np.ndarray) or not is_on_device(argument):
                host_array(argument, index, wanted)
        loaded = self.load()
        device = loaded.device
        chosen = device.stream if stream is None else device.stream_at(stream_handle(stream))
        device.release_done()
        if chosen is not device.stream:
            device.check_not_captured(chosen.handle)
        with device.running_in(chosen):
            operands = [
                operand(*each, device, chosen) for each in zip(arguments, range(len(inputs)), inputs, strict=True)
            ]
            outputs = [
                DeviceArray(device, type_, device.allocate(type_.nbytes, chosen)) for type_ in self.facts.outputs
            ]
            loaded.run([each.address for each in operands], [each.address for each in outputs], chosen)
        foreign = [each for each in operands if each.foreign_stream is not None]
        if foreign:
            streams = {each.foreign_stream for each in foreign if each.foreign_stream is not None}
            device.keep_until_done([each.owner for each in foreign], chosen, streams)
        count = self.facts.result_count
        # Checks only use the extra results.
        extra = [array.numpy() for array in outputs[count:]]
        results: list[Any] = [array if on_device else array.numpy() for array in outputs[:count]]
        for index, place in enumerate(memory or ()):
            np.copyto(place, results[index])
            results[index] = place
        return [*results, *extra]

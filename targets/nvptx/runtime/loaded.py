"""A program on a device: its code and constants there, and its runs in each stream."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from ....hlo_dialect.custom_calls.registry import run_target
from ....hlo_dialect.types import Array, ArrayType
from ....lowering.device.chips import get_chip
from ...program.facts import HostCall
from ..image import GpuImage
from .device import Device
from .driver import CudaError, DeviceInfo, Driver, GpuUnavailableError
from .plan import plan
from .runner import HostFunction, Runner, Spent


class LoadedProgram:
    """
    The code is loaded and the constants are copied once. Raises GpuUnavailableError for a device that it does not fit,
    DiagnosticError where it calls functions that are not registered, CudaError.
    """

    MAX_STREAMS = 8
    """Streams whose graphs are kept."""

    def __init__(self, image: GpuImage, device: Device, spent: Spent | None):
        self.device = device
        self._image = image
        self._spent = spent
        self._host_functions = [host_function(call, device) for call in image.facts.host_calls]
        self._plan = plan(image.host.steps, image.facts.profiled)
        self._runners: OrderedDict[int, Runner] = OrderedDict()
        self._lock = threading.Lock()
        driver = device.driver
        functions = image.host.functions
        with driver.entered():
            self._module = _load(driver, image) if functions else None
            self._functions = {name: driver.function(self._module, name, size) for name, size in functions.items()}
        content = np.frombuffer(image.host.constants, np.uint8)
        self._constants = device.allocate(content.nbytes, device.stream) if content.nbytes else None
        if self._constants is not None:
            device.upload(content, self._constants.address, device.stream)
            device.synchronize()

    def run(self, inputs: Sequence[int], outputs: Sequence[int], stream: int) -> None:
        """Enqueue a run on memory at these addresses. Raises CudaError, MemoryError, and what host functions raise."""
        with self.device.driver.entered():
            runner = self._runner(stream)
            with runner.state.lock:
                addresses = [*inputs, *outputs, runner.state.arena(self._image.facts.arena_bytes), 0]
                if self._constants is not None:
                    self._constants.used_in(stream)
                    addresses[-1] = self._constants.address
                runner.run(self._plan, addresses)

    def _runner(self, stream: int) -> Runner:
        with self._lock:
            found = self._runners.get(stream)
            if found is None:
                found = self._runners[stream] = Runner(
                    self.device,
                    self.device.on(stream),
                    self._functions,
                    self._host_functions,
                    self._image.host.registers,
                    self._spent,
                )
                if len(self._runners) > self.MAX_STREAMS:
                    # Whoever runs it now holds on to it; its graphs go when he is done.
                    self._runners.popitem(last=False)
            self._runners.move_to_end(stream)
            return found

    def __del__(self) -> None:
        """The driver waits for what still runs."""
        module, device = getattr(self, "_module", None), getattr(self, "device", None)
        if module is not None and device is not None and not device.closed:
            self._runners.clear()
            # After the fault of a kernel nothing can be freed any more.
            with suppress(CudaError), device.driver.entered():
                device.driver.synchronize_all()
                device.driver.unload(module)


def _load(driver: Driver, image: GpuImage) -> Any:
    codes = codes_for(image, driver.device)
    for code in codes[:-1]:
        try:
            return driver.load(code)
        except CudaError as error:
            if error.name not in NOT_UNDERSTOOD:
                raise
    return driver.load(codes[-1])


NOT_UNDERSTOOD = ("CUDA_ERROR_INVALID_IMAGE", "CUDA_ERROR_NO_BINARY_FOR_GPU", "CUDA_ERROR_INVALID_SOURCE")
"""What a driver says to machine code of an assembler that is newer than itself."""


def codes_for(image: GpuImage, device: DeviceInfo) -> tuple[bytes, ...]:
    """
    What to have the driver load, the best first: machine code where it is of this device, then PTX, which it compiles.

    Machine code runs on later devices of the same major version, PTX on all later ones; that of an `a` chip on that
    chip alone. Raises GpuUnavailableError.
    """
    chip = get_chip(image.chip)
    major, minor = divmod(chip.capability, 10)
    own = (major, minor) == device.capability
    if not own and (chip.accelerated or (major, minor) > device.capability):
        raise GpuUnavailableError(f"the program was compiled for {chip.name}; the {device.name} is {device.chip}")
    ptx = (image.ptx.encode(),)
    return (image.cubin, *ptx) if image.cubin and major == device.capability[0] else ptx


def host_function(stated: HostCall, device: Device) -> HostFunction:
    """
    A function of the host program on copies of the GPU's buffers. What it raises ends the run.

    Raises DiagnosticError for a target that is not registered.
    """
    target, call = stated.resolve()
    count = len(call.operands)

    def run(addresses: Sequence[int], stream: int) -> None:
        sources = zip(addresses[:count], call.operands, strict=True)
        operands = [device.download(address, type_, stream) for address, type_ in sources]
        values = run_target(target, call, operands)
        for address, type_, value in zip(addresses[count:], call.results, values, strict=True):
            device.upload(_as(type_, value), address, stream)

    return run


def _as(type_: ArrayType, value: Any) -> Array:
    array: Array = np.empty(type_.shape, type_.dtype)
    array[...] = value
    return array

"""A program on a device: its code, its constants, and its runs in each stream."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from ....hlo_dialect.custom_calls.registry import run_target
from ....hlo_dialect.limits import shown
from ....hlo_dialect.types import Array, ArrayType
from ...program.facts import HostCall
from ..image import GpuImage
from .device import Device
from .driver import DeviceInfo, Driver, GpuError
from .plan import plan
from .runner import HostFunction, Runner, Spent
from .streams import Identity, Stream

Loader = Callable[[Driver, GpuImage], Any]


class LoadedProgram:
    """
    A program whose code is loaded and whose constants are copied once. Raises GpuUnavailableError for a device that it
    does not fit, DiagnosticError for calls of unregistered functions, MemoryError if it needs more memory than the
    device has, GpuError.
    """

    MAX_STREAMS = 8
    """The maximum number of streams whose graphs are kept."""

    def __init__(self, image: GpuImage, device: Device, spent: Spent | None, load: Loader):
        """`load` loads the image's code."""
        _check_memory(image, device.driver.device)
        self.device = device
        self._image = image
        self._spent = spent
        self._host_functions = [host_function(call, device) for call in image.facts.host_calls]
        self._plan = plan(image.host.steps, image.facts.profiled)
        self._runners: OrderedDict[Identity, Runner] = OrderedDict()
        self._lock = threading.Lock()
        driver = device.driver
        functions = image.host.functions
        with driver.entered():
            self._module = load(driver, image) if functions else None
            self._functions = {name: driver.function(self._module, name, size) for name, size in functions.items()}
        content = np.frombuffer(image.host.constants, np.uint8)
        self._constants = device.allocate(content.nbytes, device.stream) if content.nbytes else None
        if self._constants is not None:
            device.upload(content, self._constants.address, device.stream)
            device.synchronize()

    def run(self, inputs: Sequence[int], outputs: Sequence[int], stream: Stream) -> None:
        """
        Enqueue a run on memory at these addresses. Raises GpuError, MemoryError, and exceptions of host functions.
        """
        with self.device.driver.entered():
            runner = self._runner(stream)
            with runner.state.lock:
                addresses = [*inputs, *outputs, runner.state.arena(self._image.facts.arena_bytes), 0]
                if self._constants is not None:
                    self._constants.used_in(stream)
                    addresses[-1] = self._constants.address
                runner.run(self._plan, addresses)

    def _runner(self, stream: Stream) -> Runner:
        with self._lock:
            found = self._runners.get(stream.identity)
            if found is None:
                found = self._runners[stream.identity] = Runner(
                    self.device,
                    self.device.on(stream),
                    self._functions,
                    self._host_functions,
                    self._image.host.registers,
                    self._spent,
                )
                if len(self._runners) > self.MAX_STREAMS:
                    # A concurrent run holds a reference; the graphs are freed when it is done.
                    self._runners.popitem(last=False)
            self._runners.move_to_end(stream.identity)
            return found

    def __del__(self) -> None:
        """The driver waits for running work."""
        module, device = getattr(self, "_module", None), getattr(self, "device", None)
        if module is not None and device is not None and not device.closed:
            self._runners.clear()
            # After a kernel fault nothing can be freed any more.
            with suppress(GpuError), device.driver.entered():
                device.driver.synchronize_all()
                device.driver.unload(module)


def _check_memory(image: GpuImage, device: DeviceInfo) -> None:
    """Raise MemoryError if no run can fit. Arguments may share memory: only the largest is sure to need its own."""
    facts = image.facts
    needed = {
        "its largest argument": max((each.nbytes for each in facts.inputs), default=0),
        "its results": sum(each.nbytes for each in facts.outputs),
        "intermediate values": facts.arena_bytes,
        "constants": len(image.host.constants),
    }
    if (total := sum(needed.values())) > device.memory:
        parts = ", ".join(f"{shown(nbytes)} for {what}" for what, nbytes in needed.items() if nbytes)
        raise MemoryError(
            f"the program needs at least {shown(total)} of GPU memory ({parts}); {device.name} has "
            f"{shown(device.memory)}"
        )


def host_function(stated: HostCall, device: Device) -> HostFunction:
    """
    Wrap a function of the host program so that it runs on copies of GPU buffers. An exception ends the run.

    Raises DiagnosticError for a target that is not registered.
    """
    target, call = stated.resolve()
    count = len(call.operands)

    def run(addresses: Sequence[int], stream: Stream) -> None:
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

"""A program compiled for an AMD GPU."""

from __future__ import annotations

from typing import Any

from ..gpu.executable import GpuExecutable
from ..gpu.image import GpuImage
from ..gpu.runtime.device import Device
from ..gpu.runtime.driver import Driver
from .linking import is_linked, linked
from .runtime.device import open_device
from .runtime.errors import HipUnavailableError


class HipExecutable(GpuExecutable):
    """
    Called as a GpuExecutable is, on a device of HIP. Raises HipUnavailableError without a GPU, or for one of another
    chip.
    """

    target = "amdgcn"

    def open_device(self) -> Device:
        return open_device()

    def load_code(self, driver: Driver, image: GpuImage) -> Any:
        """The code object, which is linked now if no linker was at hand when the program was compiled."""
        if image.chip != driver.device.chip:
            name, chip = driver.device.name, driver.device.chip
            raise HipUnavailableError(f"the program was compiled for {image.chip}; the {name} is {chip}")
        return driver.load(image.cubin if is_linked(image.cubin) else linked(image.cubin))

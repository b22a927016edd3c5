"""A program compiled for an NVIDIA GPU."""

from __future__ import annotations

from typing import Any

from ..gpu.executable import GpuExecutable
from ..gpu.image import GpuImage
from ..gpu.runtime.device import Device
from ..gpu.runtime.driver import Driver
from .runtime.code import load_code
from .runtime.device import open_device


class CudaExecutable(GpuExecutable):
    """Called as a GpuExecutable is, on a device of CUDA."""

    target = "nvptx"

    def open_device(self) -> Device:
        return open_device()

    def load_code(self, driver: Driver, image: GpuImage) -> Any:
        """Machine code that fits the device, or PTX."""
        return load_code(driver, image)

"""The GPUs of NVIDIA's on this machine."""

from __future__ import annotations

import os

from ....lowering.device.chips import DEFAULT_CHIP, UnknownChipError, chip_of_capability, get_chip
from ...gpu.runtime.device import CHIP, Devices
from ...gpu.runtime.driver import Driver, GpuUnavailableError


def _driver(number: int) -> Driver:
    from .cuda_driver import CudaDriver

    return CudaDriver(number)


DEVICES = Devices(_driver, GpuUnavailableError)
open_device, use_device = DEVICES.open, DEVICES.use


def present_chip() -> str:
    """
    The chip to compile for: from the environment variable XHLO_GPU_CHIP, from the GPU that programs run on, or a
    default if there is none, because compiling needs no GPU.

    Raises GpuUnavailableError for an unknown GPU or name.
    """
    chosen = os.environ.get(CHIP)
    try:
        if chosen:
            return get_chip(chosen).name
        device = open_device()
    except UnknownChipError as error:
        raise GpuUnavailableError(f"{CHIP}: {error}") from None
    except GpuUnavailableError:
        return DEFAULT_CHIP
    try:
        return chip_of_capability(*device.info.capability).name
    except UnknownChipError as error:
        raise GpuUnavailableError(f"{device.info.name}: {error}") from None

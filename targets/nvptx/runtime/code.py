"""Loads a program's code by the CUDA driver: machine code that fits the device, else PTX."""

from __future__ import annotations

import re
from typing import Any

from ....lowering.device.chips import get_chip, ptx_of_cuda, ptx_text
from ...gpu.image import GpuImage
from ...gpu.runtime.driver import DeviceInfo, Driver, GpuUnavailableError
from .errors import CudaError


def load_code(driver: Driver, image: GpuImage) -> Any:
    """The module of machine code that fits the device, or of the PTX. Raises GpuUnavailableError, CudaError."""
    codes = codes_for(image, driver.device)
    for code in codes[:-1]:
        try:
            return driver.load(code)
        except CudaError as error:
            if error.name not in NOT_UNDERSTOOD:
                raise
    try:
        return driver.load(codes[-1])
    except CudaError as error:
        if error.name != UNSUPPORTED_PTX:
            raise
        return driver.load(_for_older_driver(image, driver).encode())


def _for_older_driver(image: GpuImage, driver: Driver) -> str:
    """
    The PTX stated to be of the newest version that the driver reads. Most code needs no more; where it uses a later
    instruction, the driver refuses that. Raises GpuUnavailableError if the version does not know the chip.
    """
    cuda = driver.cuda_version()
    newest, chip = ptx_of_cuda(cuda), get_chip(image.chip)
    if newest < chip.oldest_ptx:
        raise GpuUnavailableError(
            f"the driver is of CUDA {cuda // 1000}.{cuda % 1000 // 10}, which reads PTX up to {ptx_text(newest)}; "
            f"{chip.name} is known from {ptx_text(chip.oldest_ptx)} on: update the driver"
        )
    return re.sub(r"(?m)^\.version [0-9.]+$", f".version {ptx_text(newest)}", image.ptx, count=1)


UNSUPPORTED_PTX = "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"

NOT_UNDERSTOOD = (
    "CUDA_ERROR_INVALID_IMAGE",
    "CUDA_ERROR_NO_BINARY_FOR_GPU",
    "CUDA_ERROR_INVALID_SOURCE",
    UNSUPPORTED_PTX,
)
"""The driver's errors for machine code of an assembler newer than itself."""


def codes_for(image: GpuImage, device: DeviceInfo) -> tuple[bytes, ...]:
    """
    The codes for the driver to load, best first: machine code that fits this device, then PTX, which the driver
    compiles.

    Machine code runs on later devices of the same major version, PTX on all later devices; code for an `a` chip runs on
    that chip only. Raises GpuUnavailableError.
    """
    chip = get_chip(image.chip)
    major, minor = divmod(chip.capability, 10)
    own = (major, minor) == device.capability
    if not own and (chip.accelerated or (major, minor) > device.capability):
        raise GpuUnavailableError(f"the program was compiled for {chip.name}; the {device.name} is {device.chip}")
    ptx = (image.ptx.encode(),)
    return (image.cubin, *ptx) if image.cubin and major == device.capability[0] else ptx

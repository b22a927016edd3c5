"""The GPUs of AMD's on this machine."""

from __future__ import annotations

import os

from ....lowering.device.amd_chips import AMD_CHIPS, AmdChip
from ....lowering.device.gpu import UnknownChipError, chip_of_name
from ...gpu.runtime.device import CHIP, Devices
from ...gpu.runtime.driver import Driver
from .errors import HipUnavailableError


def _driver(number: int) -> Driver:
    from .hip_driver import HipDriver

    return HipDriver(number)


DEVICES = Devices(_driver, HipUnavailableError)
open_device, use_device = DEVICES.open, DEVICES.use


def present_chip(default: AmdChip) -> AmdChip:
    """
    The chip to compile for: from the environment variable XHLO_GPU_CHIP, from the GPU that programs run on, or a
    default if there is none, because compiling needs no GPU. Raises HipUnavailableError for an unknown GPU or name.
    """
    chosen = os.environ.get(CHIP)
    try:
        name = chosen or open_device().info.chip
    except HipUnavailableError:
        return default
    try:
        return chip_of_name(AMD_CHIPS, name)
    except UnknownChipError as error:
        raise HipUnavailableError(f"{CHIP}: {error}" if chosen else str(error)) from None

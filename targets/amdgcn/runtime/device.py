"""The GPUs of AMD's on this machine."""

from __future__ import annotations

import os
import threading

from ....lowering.device.amd_chips import AMD_CHIPS, AmdChip
from ....lowering.device.gpu import UnknownChipError, chip_of_name
from ...nvptx.runtime.device import CHIP, Device, chosen_ordinal
from .errors import HipError, HipUnavailableError

_devices: dict[int, Device] = {}
_lock = threading.Lock()


def open_device() -> Device:
    """
    The device that XHLO_GPU_DEVICE chooses; one object per device in the process.

    Raises HipUnavailableError if it is unavailable.
    """
    number = chosen_ordinal()
    with _lock:
        found = _devices.get(number)
        if found is None:
            from .hip_driver import HipDriver

            try:
                found = _devices[number] = Device(HipDriver(number))
            except HipError as error:
                raise HipUnavailableError(f"the GPU {number} cannot be used: {error}") from error
        return found


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


def use_device(device: Device | None, ordinal: int = 0) -> None:
    """Replace the GPU by a device (for tests), or, with None, restore it."""
    with _lock:
        if device is None:
            _devices.pop(ordinal, None)
        else:
            _devices[ordinal] = device

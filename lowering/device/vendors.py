"""All GPU chips by name."""

from __future__ import annotations

from collections.abc import Mapping

from .amd_chips import AMD_CHIPS
from .chips import CHIPS
from .gpu import GpuChip, chip_of_name

ALL_CHIPS: Mapping[str, GpuChip] = {**CHIPS, **AMD_CHIPS}


def find_chip(name: str) -> GpuChip:
    """The chip of any vendor with that name. Raises UnknownChipError, which lists the known names."""
    return chip_of_name(ALL_CHIPS, name)

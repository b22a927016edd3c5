"""Passes for one GPU chip."""

from __future__ import annotations

from dataclasses import dataclass

from ...hlo_dialect.hlo_pass import HloPass
from .chips import DEFAULT_CHIP
from .gpu import GpuChip
from .vendors import find_chip


@dataclass(frozen=True)
class GpuPass(HloPass):
    """A pass with the option `chip`. Raises UnknownChipError when it is made for a chip that nobody knows."""

    chip: str = DEFAULT_CHIP
    """The chip's name, as in `lowering/device/vendors.py`."""

    def __post_init__(self) -> None:
        find_chip(self.chip)

    @property
    def gpu(self) -> GpuChip:
        """The chip."""
        return find_chip(self.chip)

"""A program compiled for a GPU as data: its kernels' code, the host's part, and the facts about it."""

from __future__ import annotations

from dataclasses import dataclass

from ..program.facts import Facts
from .runtime.host_program import HostProgram


@dataclass
class GpuImage:
    """The result of a compilation. Nothing in it is an address or a handle, so it can be kept as bytes."""

    chip: str
    cubin: bytes
    """Machine code of the chip; empty where nothing here assembles PTX, which the driver then does."""
    ptx: str
    """The same kernels for the chip and later ones; empty in a program without kernels."""
    host: HostProgram
    facts: Facts

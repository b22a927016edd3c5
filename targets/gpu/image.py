"""A program compiled for a GPU as data: the code of its kernels, the host program, and the facts about it."""

from __future__ import annotations

from dataclasses import dataclass

from ..program.facts import Facts
from .runtime.host_program import HostProgram


@dataclass
class GpuImage:
    """The result of a compilation. It contains no address or handle, so it can be serialized."""

    chip: str
    cubin: bytes
    """
    Machine code for the chip; empty without an assembler, in which case the driver compiles the PTX. For AMD's chips it
    is a code object, or without a linker an object file.
    """
    ptx: str
    """The same kernels for the chip and later ones; empty in a program without kernels, and for AMD's chips."""
    host: HostProgram
    facts: Facts

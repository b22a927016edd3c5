"""A program compiled for a GPU as data: its kernels' code, and all that running it takes besides."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...hlo_dialect.types import ArrayType
from ..cpu.image import Check, HostCall
from ..executable import Kernel
from .runtime.host_program import HostProgram


@dataclass
class GpuImage:
    """What a compilation makes; nothing in it is an address or a handle, so that it can be kept as bytes."""

    chip: str
    cubin: bytes
    """Machine code of the chip; empty where nothing here assembles PTX, which the driver then does."""
    ptx: str
    """The same kernels for the chip and later ones; empty in a program without kernels."""
    host: HostProgram
    inputs: tuple[ArrayType, ...]
    outputs: tuple[ArrayType, ...]
    """Results of the entry, then the operands of the checks."""
    result_count: int
    arena_bytes: int
    kernels: list[Kernel]
    checks: tuple[Check, ...] = ()
    host_calls: tuple[HostCall, ...] = ()
    profiled: bool = False
    stages: dict[str, float] = field(default_factory=dict[str, float])
    """Seconds of compile time by stage, in order."""

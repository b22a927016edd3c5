"""
AMD chips: the facts that kernel mapping and AMDGCN emission depend on.

The limits are those of the instruction set manuals ("AMD Instinct MI200", "AMD Instinct MI300" and "RDNA3 Instruction
Set Architecture") and of LLVM's "User Guide for AMDGPU Backend". Numbers of compute units and cache sizes are those of
one typical part; they affect tile sizes, never results.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .gpu import GpuChip

if TYPE_CHECKING:
    from xdsl.ir import Attribute

DEFAULT_AMD_CHIP = "gfx942"

CDNA_WAVE = 64

MOST_WORK_ITEMS = 2**32 - 1
"""The most threads of a launch along one axis: their numbers have 32 bits."""


@dataclass(frozen=True)
class AmdChip(GpuChip):
    """A chip of AMD; `simds` is the number of SIMD units of a compute unit, each with registers of its own."""

    wave: int
    """Threads of a wave: 64 on CDNA, 32 on RDNA."""
    simds: int

    @property
    def warp(self) -> int:
        return self.wave

    @property
    def target(self) -> Attribute:
        from ...dialects.gpu.rocdl import target_attribute

        return target_attribute(self.name)

    def matrix_depth(self, element: Attribute) -> int:
        from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type, i8

        if isinstance(element, Float32Type):
            return 4 if self.wave == CDNA_WAVE else 0
        if element == i8:
            return 32 if self.name == "gfx942" else 16
        return 16 if isinstance(element, (BFloat16Type, Float16Type)) else 0

    def launch_bounds(self, blocks: int, threads: int) -> Mapping[str, Attribute]:
        """The registers are those of a SIMD unit, on which the waves of the blocks are spread evenly."""
        from ...dialects.gpu.rocdl import resident_waves

        return resident_waves(-(-blocks * threads // (self.wave * self.simds)))


_KB, _MB = 1024, 1024 * 1024

AMD_CHIPS = {
    chip.name: chip
    for chip in (
        #       name       part              a block   threads CUs  L2        wave SIMDs
        AmdChip("gfx90a",  "MI210, MI250X",  64 * _KB, 2048,   110, 8 * _MB,  64,  4),
        AmdChip("gfx942",  "MI300A, MI300X", 64 * _KB, 2048,   304, 32 * _MB, 64,  4),
        AmdChip("gfx1100", "RX 7900 XTX",    64 * _KB, 1024,   96,  6 * _MB,  32,  2),
    )
}  # fmt: skip

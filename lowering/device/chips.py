"""
NVIDIA chips: the facts that kernel mapping and PTX emission depend on.

The limits are those of the CUDA C++ programming guide (table "Technical specifications per compute capability"), the
PTX versions those of the PTX ISA (section "Release notes"), which LLVM checks too: it aborts the process if a version
does not support a chip. Numbers of multiprocessors and cache sizes are those of one typical part; they affect tile
sizes, never results.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .gpu import GpuChip, UnknownChipError, chip_of_name

if TYPE_CHECKING:
    from xdsl.ir import Attribute

WARP = 32
"""Threads of a warp."""

MAX_BLOCK_THREADS = 1024
MAX_GRID = (2**31 - 1, 65535, 65535)
"""Maximum blocks along x, y, z."""

STATIC_SHARED_BYTES = 48 * 1024
"""Shared memory per block without an opt-in from the driver (`max dynamic shared size`)."""

MAX_REGISTERS = 255
"""Maximum registers per thread, 32 bits each."""

PTX_VERSIONS = (
    63, 64, 65, 70, 71, 72, 73, 74, 75, 76, 77, 78, 80, 81, 82, 83, 84, 85, 86, 87, 88, 90,
)  # fmt: skip
"""The PTX versions that llvmlite's LLVM emits and some chip of the table accepts: 78 is 7.8."""

PTX_OF_CUDA = {
    11_00: 70, 11_01: 71, 11_02: 72, 11_03: 73, 11_04: 74, 11_05: 75, 11_06: 76, 11_07: 77, 11_08: 78,
    12_00: 80, 12_01: 81, 12_02: 82, 12_03: 83, 12_04: 84, 12_05: 85, 12_07: 86, 12_08: 87, 12_09: 88,
    13_00: 90,
}  # fmt: skip
"""The newest PTX version by the release of CUDA, 1208 is 12.8, from the PTX ISA's table of release notes."""

PTX_WRITTEN = 78
"""The lowest version with all instructions that LLVM selects for our code on older chips: bf16, `max.NaN`."""

DEFAULT_CHIP = "sm_90"


class PtxVersionError(ValueError):
    """A PTX version that LLVM does not emit, or that does not support the chip."""


@dataclass(frozen=True)
class Chip(GpuChip):
    """A chip of NVIDIA: `sm_90`; `sm_90a` has instructions that no other chip supports."""

    oldest_ptx: int
    """The first PTX version that supports it: 78 is 7.8."""

    @property
    def warp(self) -> int:
        return WARP

    @property
    def target(self) -> Attribute:
        from ...dialects.gpu.nvvm import target_attribute

        return target_attribute(self.name)

    def launch_bounds(self, blocks: int, threads: int) -> Mapping[str, Attribute]:
        from ...dialects.gpu.nvvm import resident_blocks

        return resident_blocks(blocks)

    @property
    def capability(self) -> int:
        """The compute capability: 90 of `sm_90a`."""
        return int(self.name.removeprefix("sm_").rstrip("af"))

    @property
    def ptx(self) -> int:
        """The PTX version that is emitted for it by default."""
        return max(self.oldest_ptx, PTX_WRITTEN)

    @property
    def accelerated(self) -> bool:
        """Whether it is an `a` variant, with instructions of this chip only."""
        return self.name.endswith("a")

    # Features that not all chips have ---------------------------------------------------------------------------

    @property
    def has_async_copies(self) -> bool:
        """`cp.async`: copies from global to shared memory that need no registers."""
        return self.capability >= 80

    @property
    def has_tensor_cores(self) -> bool:
        return True

    @property
    def has_deep_tensor_cores(self) -> bool:
        return self.capability >= 80

    @property
    def has_library(self) -> bool:
        return True

    @property
    def has_bf16_tensor_cores(self) -> bool:
        """`mma.sync` on bf16, tf32 and f64; every chip of the table has it on f16."""
        return self.capability >= 80

    @property
    def has_wgmma(self) -> bool:
        """`wgmma.mma_async`: products of 64 rows by a warp group, with operands in shared memory."""
        return self.name == "sm_90a"

    @property
    def has_nan_max(self) -> bool:
        """`max.NaN` and `min.NaN`, which have HLO's semantics; otherwise two more instructions are needed."""
        return self.capability >= 80


_KB, _MB = 1024, 1024 * 1024

CHIPS = {
    chip.name: chip
    for chip in (
        #    name       part          a block    threads SMs  L2         PTX
        Chip("sm_75",   "T4",         64 * _KB,  1024,   40,  4 * _MB,   63),
        Chip("sm_80",   "A100",       163 * _KB, 2048,   108, 40 * _MB,  70),
        Chip("sm_86",   "A10",        99 * _KB,  1536,   72,  6 * _MB,   71),
        Chip("sm_87",   "AGX Orin",   163 * _KB, 1536,   16,  4 * _MB,   74),
        Chip("sm_89",   "L40S",       99 * _KB,  1536,   142, 96 * _MB,  78),
        Chip("sm_90",   "H100, H200", 227 * _KB, 2048,   132, 50 * _MB,  78),
        Chip("sm_90a",  "H100, H200", 227 * _KB, 2048,   132, 50 * _MB,  80),
        Chip("sm_100",  "B200",       227 * _KB, 2048,   148, 126 * _MB, 86),
        Chip("sm_100a", "B200",       227 * _KB, 2048,   148, 126 * _MB, 86),
        Chip("sm_103",  "B300",       227 * _KB, 2048,   148, 126 * _MB, 88),
        Chip("sm_103a", "B300",       227 * _KB, 2048,   148, 126 * _MB, 88),
        Chip("sm_120",  "RTX 5090",   99 * _KB,  1536,   170, 96 * _MB,  87),
        Chip("sm_120a", "RTX 5090",   99 * _KB,  1536,   170, 96 * _MB,  87),
        Chip("sm_121",  "GB10",       99 * _KB,  1536,   48,  24 * _MB,  88),
        Chip("sm_121a", "GB10",       99 * _KB,  1536,   48,  24 * _MB,  88),
    )
}  # fmt: skip


def get_chip(name: str) -> Chip:
    """The chip of that name. Raises UnknownChipError, which lists the known names."""
    return chip_of_name(CHIPS, name)


def chip_of_capability(major: int, minor: int) -> Chip:
    """
    The chip to compile for on a device of that compute capability: the same, else the newest older one.

    Machine code for an older one runs if the major versions are equal; otherwise the driver compiles PTX.
    Raises UnknownChipError for devices older than the table.
    """
    capability = 10 * major + minor
    own = CHIPS.get(f"sm_{capability}")
    if own is not None:
        return own
    older = [chip for chip in CHIPS.values() if not chip.accelerated and chip.capability < capability]
    if not older:
        raise UnknownChipError(f"compute capability {major}.{minor} is not supported; the oldest is 7.5")
    return max(older, key=lambda chip: chip.capability)


def ptx_version(chip: Chip, wanted: str | None = None) -> int:
    """
    The PTX version to emit for a chip: that of the table, or the `wanted` one, such as "8.0".

    Raises PtxVersionError for versions that LLVM does not emit, and for those that do not support the chip: LLVM would
    abort the process.
    """
    if wanted is None:
        return chip.ptx
    match = re.fullmatch(r"(\d+)\.(\d)", wanted)
    version = int(match[1] + match[2]) if match else -1
    if version not in PTX_VERSIONS:
        known = ", ".join(ptx_text(one) for one in PTX_VERSIONS if one >= chip.oldest_ptx)
        raise PtxVersionError(f"PTX {wanted} is not a version that LLVM writes; for {chip.name} there are {known}")
    if version < chip.oldest_ptx:
        oldest = ptx_text(chip.oldest_ptx)
        raise PtxVersionError(f"PTX {wanted} does not know {chip.name}: it is known from PTX {oldest} on")
    return version


def ptx_of_cuda(version: int) -> int:
    """The newest PTX version that a driver for a version of CUDA, 12080 is 12.8, is known to read; 0 before CUDA 11."""
    release = version // 1000 * 100 + version % 1000 // 10
    return max((ptx for cuda, ptx in PTX_OF_CUDA.items() if cuda <= release), default=0)


def ptx_text(version: int) -> str:
    """`7.8` of 78."""
    return f"{version // 10}.{version % 10}"

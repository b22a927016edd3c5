"""
NVIDIA chips: what a mapping of kernels and the emission of PTX must know of each.

The limits are those of the CUDA C++ programming guide (table "Technical specifications per compute capability"), the
PTX versions those of the PTX ISA (section "Release notes"), which LLVM checks too: it ends the process where a version
does not know a chip. Numbers of multiprocessors and cache sizes are of one typical part; they decide about tile sizes,
never about results.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

WARP = 32
"""Threads that run in step."""

MAX_BLOCK_THREADS = 1024
MAX_GRID = (2**31 - 1, 65535, 65535)
"""Blocks along x, y, z."""

STATIC_SHARED_BYTES = 48 * 1024
"""Shared memory that a block may have without asking the driver for more (`max dynamic shared size`)."""

MAX_REGISTERS = 255
"""Of a thread, 32 bits each."""

PTX_VERSIONS = (
    63, 64, 65, 70, 71, 72, 73, 74, 75, 76, 77, 78, 80, 81, 82, 83, 84, 85, 86, 87, 88, 90,
)  # fmt: skip
"""The versions of PTX that llvmlite's LLVM writes and some chip of the table takes: 78 is 7.8."""

PTX_WRITTEN = 78
"""The lowest version that has all instructions that LLVM selects for us on chips that are older: bf16, `max.NaN`."""

DEFAULT_CHIP = "sm_90"


class UnknownChipError(LookupError):
    """No chip has the name."""


class PtxVersionError(ValueError):
    """A PTX version that LLVM does not write, or that does not know the chip."""


@dataclass(frozen=True)
class Chip:
    """A chip family's limits; sizes in bytes."""

    name: str
    """As LLVM and ptxas call it: `sm_90`; `sm_90a` has instructions that no other chip runs."""
    part: str
    """The part that the counts below are of."""
    oldest_ptx: int
    """The first PTX version that knows it: 78 is 7.8."""
    shared_per_block: int
    """Shared memory of one block at most, when the driver is asked for it."""
    shared_per_multiprocessor: int
    threads_per_multiprocessor: int
    blocks_per_multiprocessor: int
    multiprocessors: int
    l2_bytes: int
    registers_per_multiprocessor: int = 65536

    @property
    def capability(self) -> int:
        """The compute capability: 90 of `sm_90a`."""
        return int(self.name.removeprefix("sm_").rstrip("af"))

    @property
    def ptx(self) -> int:
        """The PTX version that is written for it where none is asked for."""
        return max(self.oldest_ptx, PTX_WRITTEN)

    @property
    def accelerated(self) -> bool:
        """Whether it is an `a` form, with the instructions of this chip alone."""
        return self.name.endswith("a")

    # What it can do that others cannot ------------------------------------------------------------------------

    @property
    def has_async_copies(self) -> bool:
        """`cp.async`: copies from global to shared memory that need no registers."""
        return self.capability >= 80

    @property
    def has_bf16_tensor_cores(self) -> bool:
        """`mma.sync` on bf16, and on tf32 and f64; on f16 every chip of the table has it."""
        return self.capability >= 80

    @property
    def has_f8_tensor_cores(self) -> bool:
        """`mma.sync` on f8E4M3FN and f8E5M2."""
        return self.capability >= 89

    @property
    def has_bf16_arithmetic(self) -> bool:
        """add, mul and fma of bf16; else they are made of f32 ones."""
        return self.capability >= 90

    @property
    def has_clusters(self) -> bool:
        """Clusters of blocks, and copies of whole tiles by the tensor memory accelerator."""
        return self.capability >= 90

    @property
    def has_wgmma(self) -> bool:
        """`wgmma.mma_async`: products of 64 rows by a warp group, operands in shared memory."""
        return self.name == "sm_90a"

    @property
    def has_nan_max(self) -> bool:
        """`max.NaN` and `min.NaN`, which are HLO's; else two instructions more."""
        return self.capability >= 80


_KB, _MB = 1024, 1024 * 1024

CHIPS = {
    chip.name: chip
    for chip in (
        #     name        part           PTX  a block,   an SM     threads blocks  SMs  L2
        Chip("sm_75",    "T4",           63, 64 * _KB,  64 * _KB,  1024,   16,     40,  4 * _MB),
        Chip("sm_80",    "A100",         70, 163 * _KB, 164 * _KB, 2048,   32,     108, 40 * _MB),
        Chip("sm_86",    "A10",          71, 99 * _KB,  100 * _KB, 1536,   16,     72,  6 * _MB),
        Chip("sm_87",    "AGX Orin",     74, 163 * _KB, 164 * _KB, 1536,   16,     16,  4 * _MB),
        Chip("sm_89",    "L40S",         78, 99 * _KB,  100 * _KB, 1536,   24,     142, 96 * _MB),
        Chip("sm_90",    "H100, H200",   78, 227 * _KB, 228 * _KB, 2048,   32,     132, 50 * _MB),
        Chip("sm_90a",   "H100, H200",   80, 227 * _KB, 228 * _KB, 2048,   32,     132, 50 * _MB),
        Chip("sm_100",   "B200",         86, 227 * _KB, 228 * _KB, 2048,   32,     148, 126 * _MB),
        Chip("sm_100a",  "B200",         86, 227 * _KB, 228 * _KB, 2048,   32,     148, 126 * _MB),
        Chip("sm_103",   "B300",         88, 227 * _KB, 228 * _KB, 2048,   32,     148, 126 * _MB),
        Chip("sm_103a",  "B300",         88, 227 * _KB, 228 * _KB, 2048,   32,     148, 126 * _MB),
        Chip("sm_120",   "RTX 5090",     87, 99 * _KB,  100 * _KB, 1536,   24,     170, 96 * _MB),
        Chip("sm_120a",  "RTX 5090",     87, 99 * _KB,  100 * _KB, 1536,   24,     170, 96 * _MB),
        Chip("sm_121",   "GB10",         88, 99 * _KB,  100 * _KB, 1536,   24,     48,  24 * _MB),
        Chip("sm_121a",  "GB10",         88, 99 * _KB,  100 * _KB, 1536,   24,     48,  24 * _MB),
    )
}  # fmt: skip


def get_chip(name: str) -> Chip:
    """The chip of that name. Raises UnknownChipError, which says what there is."""
    chip = CHIPS.get(name)
    if chip is None:
        meant = next((one for one in CHIPS.values() if name.lower() in one.part.lower().split(", ")), None)
        hint = "" if meant is None else f"; {name} is {meant.name}"
        raise UnknownChipError(f"no chip is named '{name}'; there are: {', '.join(CHIPS)}{hint}")
    return chip


def chip_of_capability(major: int, minor: int) -> Chip:
    """
    The chip to compile for on a device of that compute capability: its own, else the newest before it.

    Machine code of the latter runs where the major versions are equal; elsewhere the driver compiles PTX.
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
    The PTX version to write for a chip: that of the table, or the `wanted` one, "8.0".

    Raises PtxVersionError for versions that LLVM does not write, and for those that do not know the chip: on these LLVM
    would end the process.
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


def ptx_text(version: int) -> str:
    """`7.8` of 78."""
    return f"{version // 10}.{version % 10}"

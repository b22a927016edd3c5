"""
GPU chips of all vendors: the facts that the mapping of kernels depends on.

`chips.py` has those of NVIDIA, `amd_chips.py` those of AMD; `vendors.py` finds one by its name. The terms are CUDA's:
what AMD calls a wave is a warp here, a workgroup a block, a compute unit a multiprocessor, and LDS shared memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from xdsl.ir import Attribute


PAYS = 0.75
"""The part of the time of launches that one block may take instead, as both are estimates."""


MOST_NS = 2.5e8
"""Nanoseconds of a launch, which is not interrupted."""


class UnknownChipError(ValueError):
    """There is no chip of this name: an option of passes and targets has an invalid value."""


@dataclass(frozen=True)
class GpuChip:
    """A chip family's limits; sizes in bytes. A feature that a vendor's class does not state is one it lacks."""

    name: str
    """The name used by LLVM: `sm_90`, `gfx90a`."""
    part: str
    """The part that the counts below belong to."""
    shared_per_block: int
    """Maximum shared memory of one block."""
    threads_per_multiprocessor: int
    multiprocessors: int
    l2_bytes: int

    @property
    def warp(self) -> int:
        """Threads of a warp, which exchange values by shuffles."""
        raise NotImplementedError

    @property
    def target(self) -> Attribute:
        """The attribute of a gpu.module whose functions are for this chip."""
        raise NotImplementedError

    def launch_bounds(self, blocks: int, threads: int) -> Mapping[str, Attribute]:
        """The attributes of a kernel whose registers must allow `blocks` resident blocks of `threads` threads."""
        raise NotImplementedError

    # Rates, for the choice between mappings; they never affect results.

    @property
    def launch_ns(self) -> float:
        """Nanoseconds that a kernel of a graph costs that waits for the one before it, besides its work."""
        return 2000

    @property
    def barrier_ns(self) -> float:
        """Nanoseconds that the threads of a block wait for each other, until they see what the others wrote."""
        return 150

    @property
    def loads_per_ns(self) -> float:
        """Elements that a multiprocessor reads from its shared memory or first cache."""
        return 48

    @property
    def operations_per_ns(self) -> float:
        """Additions of one element on a multiprocessor."""
        return 192

    # Features that not all chips have ---------------------------------------------------------------------------

    @property
    def has_async_copies(self) -> bool:
        """Copies from global to shared memory that need no registers."""
        return False

    @property
    def has_tensor_cores(self) -> bool:
        """`nvgpu.mma.sync` on f16."""
        return False

    @property
    def has_deep_tensor_cores(self) -> bool:
        """`nvgpu.mma.sync` on i8, and multiplications of 32 bytes along k."""
        return False

    @property
    def has_bf16_tensor_cores(self) -> bool:
        """`nvgpu.mma.sync` on bf16, tf32 and f64."""
        return False

    def matrix_depth(self, element: Attribute) -> int:
        """The columns of A in one `amdgpu.mfma` or `amdgpu.wmma` of these elements; 0 if there is none."""
        return 0

    @property
    def has_library(self) -> bool:
        """Whether the runtime calls the vendor's library for matrix products."""
        return False


ChipType = TypeVar("ChipType", bound=GpuChip)


def chip_of_name(chips: Mapping[str, ChipType], name: str) -> ChipType:
    """The chip of that name among `chips`. Raises UnknownChipError, which lists their names."""
    chip = chips.get(name)
    if chip is None:
        meant = next((one for one in chips.values() if name.lower() in one.part.lower().split(", ")), None)
        hint = "" if meant is None else f"; {name} is {meant.name}"
        raise UnknownChipError(f"no chip is named '{name}'; there are: {', '.join(chips)}{hint}")
    return chip

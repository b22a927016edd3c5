"""How functions and globals say that they are a GPU's: the vendors' attributes, and LLVM's address spaces."""

from __future__ import annotations

from typing import NamedTuple


class Marks(NamedTuple):
    """The names of a vendor's attributes."""

    kernel: str
    """On a device function: it is launched from the host."""
    block_size: str
    """On a kernel: the size of a block along x, y, z of every launch."""
    dynamic: str
    """On a global in shared memory (AMD's LDS): each launch states its size."""
    resident: str
    """
    On a kernel: the blocks per multiprocessor, or AMD's waves per SIMD unit, that there must be room for, which limits
    the registers of a thread.
    """


NVVM = Marks("nvvm.kernel", "nvvm.reqntid", "nvvm.dynamic_shared", "nvvm.minctasm")
ROCDL = Marks("rocdl.kernel", "rocdl.reqd_work_group_size", "rocdl.dynamic_lds", "rocdl.waves_per_eu")

GLOBAL_SPACE = 1
"""LLVM's address space of global memory."""

SHARED_SPACE = 3
"""LLVM's address space of shared memory, and of AMD's LDS."""

PRIVATE_SPACE = 5
"""LLVM's address space of a thread's own memory on AMD's GPUs, the stack."""

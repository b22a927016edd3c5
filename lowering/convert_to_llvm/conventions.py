"""The differences between CPU and GPU functions in the llvm dialect: pointers, index, hardware features."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import llvm
from xdsl.dialects.builtin import IntAttr, IntegerType

from ...dialects.gpu.marks import GLOBAL_SPACE, PRIVATE_SPACE, SHARED_SPACE

PTR = llvm.LLVMPointerType()
I32 = IntegerType(32)
I64 = IntegerType(64)

INDEX_BITWIDTH = "xhlo.index_bitwidth"
"""Function attribute: the bits in which to compute index, on a device function whose index values all fit."""


@dataclass(frozen=True)
class Conventions:
    """The differences between CPU and GPU functions."""

    pointer: llvm.LLVMPointerType
    """The type of a memref without a memory space."""
    index: IntegerType
    """The integer type of index."""
    device: bool
    """Whether the functions are for a GPU: it rounds to bf16 in hardware and has shared memory, but no C library."""
    soft_half: bool = False
    """Whether f16 is converted by integer arithmetic, for CPUs without instructions that do it."""
    soft_fma: bool = False
    """Whether the CPU has no fused multiply-add."""
    soft_extremes: bool = False
    """Whether maximum and minimum of doubles are comparisons: LLVM has no code for them on Armv7."""
    slow_masks: bool = False
    """Whether vectors are stored under a mask slowly, so that a loop that keeps some elements stores them too."""
    stack: llvm.LLVMPointerType = PTR
    """The type of an address of the stack."""
    scope: str = "device"
    """LLVM's name of the scope of all threads of a GPU."""


def _pointer(space: int) -> llvm.LLVMPointerType:
    return llvm.LLVMPointerType(IntAttr(space))


SHARED_PTR = _pointer(SHARED_SPACE)
CPU = Conventions(PTR, I64, device=False)
GPU_32 = Conventions(_pointer(GLOBAL_SPACE), I32, device=True)
GPU_64 = Conventions(_pointer(GLOBAL_SPACE), I64, device=True)
_AMD_STACK = _pointer(PRIVATE_SPACE)
AMD_32 = Conventions(_pointer(GLOBAL_SPACE), I32, device=True, stack=_AMD_STACK, scope="agent")
AMD_64 = Conventions(_pointer(GLOBAL_SPACE), I64, device=True, stack=_AMD_STACK, scope="agent")

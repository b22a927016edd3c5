"""How the functions of a CPU and of a GPU differ in the llvm dialect: pointers, index, what the machine has."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import llvm
from xdsl.dialects.builtin import IntAttr, IntegerType

from ...dialects.gpu.nvvm import GLOBAL_SPACE, SHARED_SPACE

PTR = llvm.LLVMPointerType()
I32 = IntegerType(32)
I64 = IntegerType(64)

INDEX_BITWIDTH = "xhlo.index_bitwidth"
"""On a function of the device whose index values all fit: the bits that they are computed in."""


@dataclass(frozen=True)
class Conventions:
    """What differs between the functions of a CPU and of a GPU."""

    pointer: llvm.LLVMPointerType
    """The type of a memref without a memory space."""
    index: IntegerType
    """The integer that index is."""
    device: bool
    """A GPU: it rounds to bf16 by itself, has no C library, and memory that blocks share."""


def _pointer(space: int) -> llvm.LLVMPointerType:
    return llvm.LLVMPointerType(IntAttr(space))


SHARED_PTR = _pointer(SHARED_SPACE)
CPU = Conventions(PTR, I64, device=False)
GPU_32 = Conventions(_pointer(GLOBAL_SPACE), I32, device=True)
GPU_64 = Conventions(_pointer(GLOBAL_SPACE), I64, device=True)

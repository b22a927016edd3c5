"""
LLVM attributes of a function that the host launches: its block size, and aliasing facts about each buffer.

A parameter is `noalias`: launches pass whole buffers that do not overlap. LLVM takes that to mean that nothing else
changes the buffer while the function runs, not even other threads of the block, and moves accesses across barriers. So
a buffer through which threads communicate, read and written around a barrier, is not `noalias`. One that is only read
is, and is loaded through the non-coherent cache.
"""

from __future__ import annotations

from xdsl.dialects import func, llvm
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, MemRefType
from xdsl.ir import Operation, SSAValue

from ...dialects.gpu.marks import NVVM, ROCDL
from ...dialects.llvm_ops import AtomicRMWOp
from ...hlo_dialect.walking import operations_in
from ..device.parts import MATH_FUNCTION
from .builder import UNIT
from .conventions import I64

KERNEL_ALIGNMENT = 16
"""Alignment in bytes of the buffers of a launch: the arena's have 64, the caller's are checked."""


def mark_kernel(made: llvm.FuncOp, op: func.FuncOp) -> None:
    """Set the parameter attributes and the launch bounds of a converted kernel."""
    align = IntegerAttr(KERNEL_ALIGNMENT, I64)
    alone, shared = DictionaryAttr({"llvm.noalias": UNIT, "llvm.align": align}), DictionaryAttr({"llvm.align": align})
    common = _exchanged(made)
    made.properties["arg_attrs"] = ArrayAttr(
        [
            DictionaryAttr({}) if not isinstance(type_, MemRefType) else shared if argument in common else alone
            for argument, type_ in zip(made.body.blocks[0].args, op.function_type.inputs.data, strict=True)
        ]
    )
    made.attributes.update({name: attr for name, attr in op.attributes.items() if name.startswith(("nvvm.", "rocdl."))})


def is_launched(op: func.FuncOp) -> bool:
    """Whether the host launches a function of the device."""
    return NVVM.kernel in op.attributes or ROCDL.kernel in op.attributes


def _exchanged(function: llvm.FuncOp) -> set[SSAValue]:
    """The parameters through which threads may see others' writes: read as well as written, around a barrier."""
    roots: dict[SSAValue, SSAValue] = {argument: argument for argument in function.body.blocks[0].args}
    read: set[SSAValue] = set()
    written: set[SSAValue] = set()
    waits = False
    for op in operations_in(function):
        found = [roots[value] for value in op.operands if value in roots]
        if isinstance(op, (llvm.GEPOp, llvm.BitcastOp)):
            roots.update((result, found[0]) for result in op.results if found)
        elif isinstance(op, llvm.LoadOp):
            read.update(found)
        elif isinstance(op, llvm.StoreOp):
            written.update(found)
        else:
            # Nothing is known about other uses of a pointer: block copies, atomic operations, inline assembly.
            read.update(found)
            written.update(found)
            waits = waits or _waits(op)
    return read & written if waits else set()


def _waits(op: Operation) -> bool:
    """Whether the threads of a block may wait for each other at the operation."""
    if isinstance(op, llvm.CallIntrinsicOp):
        name = op.intrin.data.removeprefix("llvm.nvvm.").removeprefix("llvm.amdgcn.")
        return name.startswith(("barrier", "bar.", "mbarrier", "fence", "membar", "s.barrier"))
    if isinstance(op, llvm.CallOp) and op.callee is not None:
        return not op.callee.string_value().startswith(MATH_FUNCTION)
    return isinstance(op, (llvm.InlineAsmOp, llvm.CallOp, AtomicRMWOp))

"""Checks of device functions that are the same for all vendors."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import llvm
from xdsl.dialects.builtin import FixedBitwidthType, ModuleOp
from xdsl.ir import Attribute

from ...dialects.gpu.functions import GpuModuleOp
from ...dialects.gpu.marks import SHARED_SPACE
from ...hlo_dialect.diagnostics import fail
from ...hlo_dialect.walking import operations_in
from ...lowering.device.parts import chip_of, device_modules


def check_chip(module: ModuleOp, chip: str) -> None:
    """Reject functions that were mapped to another chip. Raises DiagnosticError."""
    for device in device_modules(module):
        made_for = chip_of(device)
        if made_for is not None and made_for != chip:
            fail(device, f"is made for {made_for}, not for {chip}: give --chip={made_for}, or map it anew")


def functions_of(part: ModuleOp | GpuModuleOp) -> Mapping[str, llvm.FuncOp]:
    """The functions of the llvm dialect by name."""
    return {op.sym_name.data: op for op in part.body.block.ops if isinstance(op, llvm.FuncOp)}


def check_shared_memory(part: ModuleOp | GpuModuleOp, most: int) -> None:
    """Reject kernels with more than `most` bytes of static shared memory. Raises DiagnosticError."""
    shared = {
        op.sym_name.data: _bytes_of(op.global_type)
        for op in part.body.block.ops
        if isinstance(op, llvm.GlobalOp) and op.addr_space.value.data == SHARED_SPACE
    }
    for function in functions_of(part).values():
        names = {
            address.global_name.string_value()
            for address in operations_in(function)
            if isinstance(address, llvm.AddressOfOp)
        }
        used = sum(shared.get(name, 0) for name in names)
        if used > most:
            fail(function, f"has {used} bytes of static shared memory for a block; there are {most}")


def _bytes_of(type_: Attribute) -> int:
    if isinstance(type_, llvm.LLVMArrayType):
        return type_.size.data * _bytes_of(type_.type)
    return type_.size if isinstance(type_, FixedBitwidthType) else 0


def check_calls(part: ModuleOp | GpuModuleOp) -> None:
    """Reject calls of functions that the device does not have. Raises DiagnosticError."""
    functions = functions_of(part)
    for op in operations_in(part):
        if isinstance(op, llvm.CallOp) and op.callee is not None:
            callee = functions.get(op.callee.string_value())
            if callee is None or not callee.body.blocks:
                fail(op, f"calls @{op.callee.string_value()}, which is no function of the device")

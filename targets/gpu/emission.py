"""The device functions of a module of the llvm dialect as LLVM IR."""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from ...lowering.device.parts import device_modules
from ..llvm_text.module import emit_device_llvm_ir, emit_llvm_ir


def emit_llvm(module: ModuleOp, triple: str) -> str:
    """
    The device functions as LLVM IR: those of the gpu.modules, else all functions of an llvm module.

    Empty for a program without kernels. Raises DiagnosticError for operations outside the llvm dialect.
    """
    if device_modules(module):
        return emit_device_llvm_ir(module, triple=triple)
    if any(isinstance(op, func.FuncOp) for op in module.body.block.ops):
        return f'target triple = "{triple}"\n'
    return emit_llvm_ir(module, triple=triple)

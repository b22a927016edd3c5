"""
Checks of device functions before LLVM, which aborts the process for operations that it cannot select.

AMD's GPUs have instructions for square roots, rounding, minima and the like, but LLVM brings no library of elementary
functions for them: expand-math makes arithmetic of those.
"""

from __future__ import annotations

import re

from xdsl.dialects import llvm
from xdsl.dialects.builtin import ModuleOp

from ...dialects.gpu.marks import NVVM, ROCDL
from ...hlo_dialect.diagnostics import fail
from ...hlo_dialect.walking import operations_in
from ...lowering.device.amd_chips import AmdChip
from ...lowering.device.parts import device_modules
from ..gpu.checks import check_calls, check_chip, check_shared_memory

_NO_INSTRUCTION = re.compile(
    r"llvm\.(?:exp|exp2|exp10|log|log2|log10|sin|cos|sincos|tan|tanh|sinh|cosh|asin|acos|atan|atan2|pow|powi)\."
)


def check_device_functions(module: ModuleOp, chip: AmdChip) -> None:
    """Reject operations that would abort the process, or that no driver would load. Raises DiagnosticError."""
    check_chip(module, chip.name)
    for part in device_modules(module) or (module,):
        check_shared_memory(part, chip.shared_per_block)
        check_calls(part)
        for op in operations_in(part):
            if isinstance(op, llvm.CallIntrinsicOp):
                _check_intrinsic(op)
            elif isinstance(op, llvm.FuncOp) and NVVM.kernel in op.attributes:
                fail(op, f"is a kernel of NVIDIA's ({NVVM.kernel}); those of {chip.name} have {ROCDL.kernel}")


def _check_intrinsic(op: llvm.CallIntrinsicOp) -> None:
    name = op.intrin.data
    if _NO_INSTRUCTION.match(name):
        fail(op, f"calls {name}, for which AMD's GPUs have no exact instruction; expand-math makes arithmetic of it")
    if name.startswith("llvm.nvvm."):
        fail(op, f"calls {name}, an instruction of NVIDIA's GPUs")

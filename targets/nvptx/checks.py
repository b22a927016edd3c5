"""
Checks of device functions before LLVM, which aborts the process for operations that a chip lacks.

NVPTX has instructions for square roots, rounding, minima and the like, but no library of elementary functions.
"""

from __future__ import annotations

import re

from xdsl.dialects import llvm
from xdsl.dialects.builtin import ModuleOp

from ...dialects.gpu.marks import NVVM
from ...hlo_dialect.diagnostics import fail
from ...hlo_dialect.walking import operations_in
from ...lowering.device.chips import STATIC_SHARED_BYTES, Chip, ptx_text
from ...lowering.device.parts import device_modules
from ..gpu.checks import check_calls, check_chip, check_shared_memory, functions_of

OLD_PARAMETER_BYTES, PARAMETER_BYTES = 4096, 32764
"""Bytes of a kernel's parameters, before PTX 8.1 and from 8.1 on."""

_NO_INSTRUCTION = re.compile(
    r"llvm\.(?:(?:exp|exp10|log|log2|log10|sin|cos|sincos|tan|tanh|sinh|cosh|asin|acos|atan|atan2|pow|powi|ldexp|frexp)\."
    r"|exp2\.f64|canonicalize\.bf16)"
)

_NEEDS = (
    ("cp.async.bulk", "", 90, 80),
    ("mapa", "", 90, 80),
    ("barrier.cluster", "", 90, 80),
    ("read.ptx.sreg.cluster", "", 90, 80),
    ("read.ptx.sreg.ncluster", "", 90, 80),
    ("griddepcontrol", "", 90, 78),
    ("setmaxnreg", "", 90, 80),
    ("stmatrix", "", 90, 78),
    ("cp.async", "", 80, 70),
    ("mbarrier", "", 80, 70),
    ("redux.sync.f", "", 100, 86),
    ("redux.sync", "", 80, 70),
    ("mma.", ".e4m3", 89, 84),
    ("mma.", ".e5m2", 89, 84),
    ("mma.", ".bf16", 80, 70),
    ("mma.", ".tf32", 80, 70),
    ("mma.", ".f64", 80, 70),
    ("mma.m16n8k16", "", 80, 70),
    ("mma.m16n8k32", "", 80, 70),
    ("mma.m16n8k64", "", 80, 70),
    ("fma.", "bf16", 80, 70),
    ("ex2.approx", "bf16", 90, 78),
    ("tanh.approx", "bf16", 90, 78),
    ("tcgen05", "", 100, 86),
)
"""
Requirements of the intrinsics llvm.nvvm.*: prefix, contained text; their least compute capability and PTX version. The
first match counts.
"""


def check_device_functions(module: ModuleOp, chip: Chip, ptx: int) -> None:
    """
    Reject operations that would abort the process, or that no driver would load.

    `ptx`: the PTX version, 78 is 7.8. Raises DiagnosticError.
    """
    check_chip(module, chip.name)
    for part in device_modules(module) or (module,):
        check_shared_memory(part, STATIC_SHARED_BYTES)
        for function in functions_of(part).values():
            _check_parameters(function, ptx)
        check_calls(part)
        for op in operations_in(part):
            if isinstance(op, llvm.CallIntrinsicOp):
                _check_intrinsic(op, chip, ptx)


def _check_parameters(op: llvm.FuncOp, ptx: int) -> None:
    """Check the size of a kernel's parameters, which is limited."""
    parameters = 8 * len(op.function_type.inputs)
    most = PARAMETER_BYTES if ptx >= 81 else OLD_PARAMETER_BYTES
    if NVVM.kernel in op.attributes and parameters > most:
        fail(op, f"has {parameters} bytes of parameters; a kernel takes {most} in PTX {ptx_text(ptx)}")


def _check_intrinsic(op: llvm.CallIntrinsicOp, chip: Chip, ptx: int) -> None:
    name = op.intrin.data
    if _NO_INSTRUCTION.match(name):
        fail(op, f"calls {name}, for which NVIDIA's GPUs have no instruction; expand-math makes arithmetic of it")
    if not name.startswith("llvm.nvvm."):
        return
    short = name.removeprefix("llvm.nvvm.")
    if short.startswith("wgmma") and not chip.has_wgmma:
        fail(op, f"calls {name}, which sm_90a alone has; this chip is {chip.name}")
    for start, contained, capability, version in _NEEDS:
        if short.startswith(start) and contained in short:
            if chip.capability < capability:
                fail(op, f"calls {name}, which needs a chip from sm_{capability} on; this one is {chip.name}")
            if ptx < version:
                needed = ptx_text(version)
                fail(op, f"calls {name}, which needs PTX {needed}; this is PTX {ptx_text(ptx)} (see --ptx-version)")
            return

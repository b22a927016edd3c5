"""
Checks of device functions before LLVM, which aborts the process for operations that a chip lacks.

NVPTX has instructions for square roots, rounding, minima and the like, but no library of elementary functions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from xdsl.dialects import llvm
from xdsl.dialects.builtin import FixedBitwidthType, ModuleOp
from xdsl.ir import Attribute

from ...dialects.gpu import nvvm
from ...hlo_dialect.diagnostics import fail
from ...hlo_dialect.walking import operations_in
from ...lowering.device.chips import STATIC_SHARED_BYTES, Chip, ptx_text
from ...lowering.device.parts import chip_of, device_modules

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
    for device in device_modules(module):
        made_for = chip_of(device)
        if made_for is not None and made_for != chip.name:
            fail(device, f"is made for {made_for}, not for {chip.name}: give --chip={made_for}, or map it anew")
    for part in device_modules(module) or (module,):
        functions = {op.sym_name.data: op for op in part.body.block.ops if isinstance(op, llvm.FuncOp)}
        shared = {
            op.sym_name.data: _bytes_of(op.global_type)
            for op in part.body.block.ops
            if isinstance(op, llvm.GlobalOp) and op.addr_space.value.data == nvvm.SHARED_SPACE
        }
        for function in functions.values():
            _check_memory(function, shared, ptx)
        for op in operations_in(part):
            if isinstance(op, llvm.CallIntrinsicOp):
                _check_intrinsic(op, chip, ptx)
            elif isinstance(op, llvm.CallOp) and op.callee is not None:
                callee = functions.get(op.callee.string_value())
                if callee is None or not callee.body.blocks:
                    fail(op, f"calls @{op.callee.string_value()}, which is no function of the device")


def _check_memory(op: llvm.FuncOp, shared: Mapping[str, int], ptx: int) -> None:
    """Check the sizes of a kernel's shared memory and parameters, which are limited."""
    names = {
        address.global_name.string_value() for address in operations_in(op) if isinstance(address, llvm.AddressOfOp)
    }
    used = sum(shared.get(name, 0) for name in names)
    if used > STATIC_SHARED_BYTES:
        fail(op, f"has {used} bytes of static shared memory for a block; there are {STATIC_SHARED_BYTES}")
    parameters = 8 * len(op.function_type.inputs)
    most = PARAMETER_BYTES if ptx >= 81 else OLD_PARAMETER_BYTES
    if nvvm.KERNEL in op.attributes and parameters > most:
        fail(op, f"has {parameters} bytes of parameters; a kernel takes {most} in PTX {ptx_text(ptx)}")


def _bytes_of(type_: Attribute) -> int:
    if isinstance(type_, llvm.LLVMArrayType):
        return type_.size.data * _bytes_of(type_.type)
    return type_.size if isinstance(type_, FixedBitwidthType) else 0


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

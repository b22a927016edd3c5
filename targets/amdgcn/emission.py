"""The device functions of a module of the llvm dialect as AMDGCN assembly and as an object file of a chip."""

from __future__ import annotations

import re
from functools import lru_cache

from xdsl.dialects.builtin import ModuleOp

from ...lowering.device.amd_chips import AmdChip
from ..gpu import emission
from ..gpu.codegen import Backend
from .checks import check_device_functions

TRIPLE = "amdgcn-amd-amdhsa"


CODE_OBJECT_VERSION = 4
"""The version of the ABI: the oldest that LLVM writes. All drivers for these chips load it, all linkers know it."""

_NODE = re.compile(r"(?m)^!\d+ = ")


def emit_llvm(module: ModuleOp) -> str:
    """The device functions as LLVM IR (see gpu/emission.py), with the version of the code object."""
    text = emission.emit_llvm(module, TRIPLE)
    node = len(_NODE.findall(text))
    flag = f'!{{i32 1, !"amdhsa_code_object_version", i32 {100 * CODE_OBJECT_VERSION}}}'
    return f"{text}!llvm.module.flags = !{{!{node}}}\n!{node} = {flag}\n"


def emit_assembly(module: ModuleOp, chip: AmdChip) -> str:
    """
    The assembly of a module's device functions, with the metadata of the code object.

    Products and sums are not contracted to fma unless the LLVM IR allows it. Raises DiagnosticError for operations
    outside the llvm dialect, or that AMD's GPUs have no code for.
    """
    check_device_functions(module, chip)
    return Backend(TRIPLE, chip.name).assembly(emit_llvm(module))


def emit_object(module: ModuleOp, chip: AmdChip) -> bytes:
    """The relocatable ELF file of the device functions; see linking.py for what a driver loads."""
    check_device_functions(module, chip)
    return _object(emit_llvm(module), chip.name)


@lru_cache(maxsize=1)
def _object(text: str, chip: str) -> bytes:
    """Cached, because the object file and the code object are requested one after the other."""
    return Backend(TRIPLE, chip).object_code(text)

"""
The part of a module that the last lowering passes convert: its device functions if there are any, else all of it.

In a module with a gpu.module the functions at the top are the host program: calls, launches, copies, loops and
branches around them. The runtime interprets it as it is, so these passes do not change it.
"""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from ...dialects.gpu.functions import GpuFuncOp, GpuModuleOp

MATH_FUNCTION = "xhlo_math_"
"""The name prefix of expand-math's functions, which are pure."""


def device_modules(module: ModuleOp) -> list[GpuModuleOp]:
    return [op for op in module.body.block.ops if type(op) is GpuModuleOp]


def chip_of(device: GpuModuleOp) -> str | None:
    """The chip that a gpu.module targets, if stated."""
    from ...dialects.gpu.registers import ChipTargetAttr

    targets = device.targets.data if device.targets is not None else ()
    return next((target.chip.data for target in targets if isinstance(target, ChipTargetAttr)), None)


def is_amd(device: GpuModuleOp) -> bool:
    """Whether a gpu.module is for a chip of AMD; one that states no chip is for NVIDIA's."""
    return any(target.name == "rocdl.target" for target in (device.targets.data if device.targets else ()))


def lowered_parts(module: ModuleOp) -> list[ModuleOp | GpuModuleOp]:
    """The gpu.modules of a module; if there are none, the module itself."""
    return list(device_modules(module)) or [module]


def lowered_functions(module: ModuleOp) -> list[func.FuncOp | GpuFuncOp]:
    """The functions that the last lowering passes convert."""
    return [
        op for part in lowered_parts(module) for op in part.body.block.ops if isinstance(op, (func.FuncOp, GpuFuncOp))
    ]

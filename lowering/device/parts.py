"""
What the last lowering passes work on: the functions of the device where a module has some, else the whole module.

In a module with a gpu.module the functions at the top are the host program: calls, launches, copies, loops and
branches around them. The runtime walks it as it stands, so these passes leave it alone.
"""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from ...dialects.gpu.functions import GpuFuncOp, GpuModuleOp
from ...dialects.gpu.nvvm import TargetAttr

MATH_FUNCTION = "xhlo_math_"
"""How the names of expand-math's functions begin, which compute and do nothing else."""


def device_modules(module: ModuleOp) -> list[GpuModuleOp]:
    return [op for op in module.body.block.ops if isinstance(op, GpuModuleOp)]


def chip_of(device: GpuModuleOp) -> str | None:
    """The chip that a gpu.module is made for, where it says."""
    targets = device.targets.data if device.targets is not None else ()
    return next((target.chip.data for target in targets if isinstance(target, TargetAttr)), None)


def lowered_parts(module: ModuleOp) -> list[ModuleOp | GpuModuleOp]:
    """The gpu.modules of a module; a module without one itself."""
    return list(device_modules(module)) or [module]


def lowered_functions(module: ModuleOp) -> list[func.FuncOp | GpuFuncOp]:
    """The functions that the last lowering passes convert."""
    return [
        op for part in lowered_parts(module) for op in part.body.block.ops if isinstance(op, (func.FuncOp, GpuFuncOp))
    ]

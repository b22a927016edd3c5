"""Lower kernels of linalg on memrefs to launches of device functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, MemRefType, ModuleOp, UnitAttr
from xdsl.ir import Operation

from ...dialects.cpu import HostCallOp
from ...dialects.gpu.functions import GpuLaunchFuncOp, GpuModuleOp
from ...dialects.gpu.library import MatmulOp
from ...dialects.gpu.plans import (
    Block,
    Columns,
    Elementwise,
    Library,
    NoLaunch,
    Plan,
    Points,
    RegisterTile,
    Rows,
    ScanBlocks,
    ScanRows,
    ScanThreads,
    Serial,
    Sort,
    SortedScatter,
    StreamedRows,
    TensorTile,
    Transpose,
)
from ...dialects.linalg_ext.sort import SortByKeyOp, SortOp
from ...dialects.linalg_ext.window import shape_of
from ...dialects.support.kernel import kernels_of
from ...hlo_dialect.diagnostics import fail
from ...hlo_dialect.walking import operations_in
from ..device.gpu import GpuChip
from ..device.gpu_pass import GpuPass
from ..device.parts import device_modules
from ..loop_nests.fills import is_reduction
from .elementwise.mapping import map_elementwise
from .elementwise.transpose import map_transpose
from .indexing.mapping import map_ext
from .indexing.sort import SortShape
from .reduction.mapping import map_chain, map_reduction
from .serial import map_parallel_loop, map_serially, parallel_range
from .threads.launch import KernelMapper
from .threads.phases import Phase, planned_phases

DEVICE = "kernels"
"""The name of the module of device functions."""

Mapping = Callable[[KernelMapper, Phase], None]
"""Replaces a phase by the launches of its plan; raises DiagnosticError if the plan does not fit."""


def map_contraction(mapper: KernelMapper, phase: Phase) -> None:
    """See contraction/, whose import takes longer than mapping a program without contractions."""
    from .contraction import mapping

    mapping.map_contraction(mapper, phase)


def map_streamed_rows(mapper: KernelMapper, phase: Phase) -> None:
    """See streamed_rows/."""
    from .streamed_rows import mapping

    mapping.map_streamed_rows(mapper, phase)


def map_block(mapper: KernelMapper, phase: Phase) -> None:
    """See block/."""
    from .block import mapping

    mapping.map_block(mapper, phase)


def map_library(mapper: KernelMapper, phase: Phase) -> None:
    """See library/."""
    from .library import mapping

    mapping.map_library(mapper, phase)


def map_points(mapper: KernelMapper, phase: Phase) -> None:
    """Map with one thread per result, update or iteration."""
    op, threads = phase.anchor, phase.plans[0].block
    if phase.is_structured and len(phase.structured) == 1 and is_reduction(op):
        map_reduction(mapper, phase, threads)
    elif parallel_range(op) is not None and len(phase.ops) == 1:
        map_parallel_loop(mapper, phase, threads)
    else:
        map_ext(mapper, phase)


def map_nothing(mapper: KernelMapper, phase: Phase) -> None:
    """Work on no elements needs no launch, nor does sorting a single one."""
    op = phase.anchor
    idle = any(0 in shape_of(x) for x in op.operands if isinstance(x.type, MemRefType))
    single = isinstance(op, (SortOp, SortByKeyOp)) and SortShape.of(op, Sort(2)).length == 1
    phase.require(idle or single, "the operation works on elements")


MAPPINGS: dict[type[Plan], Mapping] = {
    NoLaunch: map_nothing,
    Serial: map_serially,
    Points: map_points,
    Block: map_block,
    Elementwise: map_elementwise,
    Transpose: map_transpose,
    Rows: map_chain,
    Columns: map_chain,
    RegisterTile: map_contraction,
    TensorTile: map_contraction,
    StreamedRows: map_streamed_rows,
    Library: map_library,
    ScanRows: map_ext,
    ScanThreads: map_ext,
    ScanBlocks: map_ext,
    Sort: map_ext,
    SortedScatter: map_ext,
}


def map_kernel(kernel: func.FuncOp, device: GpuModuleOp, chip: GpuChip) -> None:
    """Replace a kernel's operations by launches and library calls."""
    mapper, old = KernelMapper(kernel, device, chip), list(kernel.body.block.ops)
    for phase in planned_phases(kernel):
        mapper.phase = phase
        alone = len(phase.plans) == 1 or isinstance(phase.plans[0], Elementwise)
        phase.require(alone, "operations that join it have plans of their own")
        MAPPINGS[type(phase.plans[0])](mapper, phase)
    if not any(isinstance(op, HostCallOp) for op in old):
        _erase_mapped(kernel, old)


def _erase_mapped(kernel: func.FuncOp, ops: list[Operation]) -> None:
    """Erase the replaced operations: all but the terminator and the buffers passed between launches."""
    launches = [op for op in kernel.body.block.ops if isinstance(op, (GpuLaunchFuncOp, MatmulOp))]
    kept = {value.owner for launch in launches for value in launch.operands}
    for op in reversed(ops[:-1]):
        if op not in kept:
            op.detach()
            op.erase(safe_erase=False)


def _take_functions(module: ModuleOp, device: GpuModuleOp) -> None:
    """Move the functions that device functions call, such as those of a factorization, into the device's module."""
    functions = {op.sym_name.data: op for op in module.body.block.ops if type(op) is func.FuncOp}
    waiting: list[Operation] = [device]
    while waiting:
        for op in operations_in(waiting.pop()):
            called = functions.get(op.callee.string_value()) if type(op) is func.CallOp else None
            if called is not None and not called.is_declaration and called.parent is module.body.block:
                called.detach()
                device.body.block.add_op(called)
                waiting.append(called)


def _is_mapped(kernel: func.FuncOp) -> bool:
    return any(isinstance(op, (GpuLaunchFuncOp, MatmulOp)) for op in operations_in(kernel))


@dataclass(frozen=True)
class MapKernelsToGpuPass(GpuPass):
    """
    Lower each kernel to launches of functions in a gpu.module: parallel loops become blocks and threads.

    Before: `linalg.generic {..} ins(%a ..) outs(%b ..) attrs = {gpu.plan = #gpu.elementwise<..>} {..}` in a kernel
    After:  `gpu.launch_func @kernels::@loop_fusion_0 blocks in (..) threads in (..) args(%a, %b : ..)` in the kernel
    Assumes: the output of plan-gpu-kernels: an operation without a plan, or with one that does not fit, is an error.
            Functions that a kernel calls, such as those of a factorization, move into the gpu.module.
    Leaves: no linalg, no linalg_ext. Host functions keep their calls, loops, branches and copies.
    """

    name = "map-kernels-to-gpu"
    takes_tensors = False
    illegal = ("linalg.*", "linalg_ext.*")

    def run(self, ctx: Context, module: ModuleOp) -> None:
        kernels = [kernel for kernel in kernels_of(module) if not _is_mapped(kernel)]
        known = device_modules(module)
        if known and kernels:
            fail(known[0], f"is there already: {self.name} takes a module whose kernels are not mapped")
        if known:
            return
        chip = self.gpu
        device = GpuModuleOp(DEVICE)
        device.targets = ArrayAttr([chip.target])
        for kernel in kernels:
            map_kernel(kernel, device, chip)
        _take_functions(module, device)
        if device.body.block.first_op is not None or any(isinstance(op, MatmulOp) for op in operations_in(module)):
            # Emitted even without kernels: functions beside a gpu.module belong to the host.
            module.body.block.add_op(device)
            module.attributes["gpu.container_module"] = UnitAttr()

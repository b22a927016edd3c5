"""Kernels of linalg on memrefs become launches of functions of the device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from xdsl.context import Context
from xdsl.dialects import func, memref
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, UnitAttr
from xdsl.dialects.linalg.ops import FillOp, GenericOp
from xdsl.ir import Operation

from ...dialects.build.kernel import CONTRACTION, Kernel, kernels_of
from ...dialects.cpu import HostCallOp
from ...dialects.gpu.functions import GpuLaunchFuncOp, GpuModuleOp
from ...dialects.gpu.library import MatmulOp
from ...dialects.gpu.nvvm import TargetAttr
from ...hlo_dialect.diagnostics import fail
from ...hlo_dialect.hlo_pass import HloPass
from ...hlo_dialect.walking import operations_in
from ..device.chips import DEFAULT_CHIP, Chip, UnknownChipError, get_chip
from ..loop_nests.fills import absorbed_fills
from .elementwise.mapping import map_elementwise
from .elementwise.together import map_together
from .elementwise.transpose import map_transpose
from .indexing.mapping import convert_others, map_ext
from .reduction.mapping import map_chain, map_reduction
from .serial import map_serially
from .threads.launch import KernelMapper, Phase, phases_of

if TYPE_CHECKING:
    from .library.mapping import Libraries

DEVICE = "kernels"
"""The name of the module of device functions."""

Mapping = Callable[[KernelMapper, Phase], bool]


def map_contraction(mapper: KernelMapper, phase: Phase) -> bool:
    """That of contraction.py, which takes longer to load than a program without contractions to map."""
    if not any(CONTRACTION in op.attributes for op in phase.ops):
        return False
    from .contraction import mapping as contraction

    return contraction.map_contraction(mapper, phase)


RUN_MAPPINGS: tuple[Mapping, ...] = (map_contraction, map_chain, map_together)
"""Tried in order on runs of several phases, the longest first: a reduction with what follows it, a row kernel."""

MAPPINGS: tuple[Mapping, ...] = (
    map_transpose,
    map_elementwise,
    map_contraction,
    map_chain,
    map_reduction,
    map_ext,
    map_serially,
)
"""Tried in order on each phase; the last takes any."""


def map_kernel(kernel: func.FuncOp, device: GpuModuleOp, chip: Chip, libraries: Libraries = "never") -> None:
    """Replace a kernel's operations by launches, and by calls of libraries."""
    convert_others(kernel)
    old = list(kernel.body.block.ops)
    structured = [op for op in old if isinstance(op, (FillOp, GenericOp, memref.CopyOp))]
    call = next((op for op in old if isinstance(op, HostCallOp)), None)
    if call is not None:
        # The host makes it, between launches.
        if structured:
            fail(call, "stands in a kernel with other operations; map-kernels-to-gpu takes it alone")
        return
    rows = Kernel(kernel).rows
    mapper = KernelMapper(kernel, device, chip)
    absorbed = absorbed_fills(structured)
    phases = phases_of(kernel, structured, absorbed)
    while phases:
        del phases[: _map_calls(mapper, phases, libraries) or _map_run(mapper, phases, rows)]
    _erase_mapped(kernel, old)


def _map_calls(mapper: KernelMapper, phases: Sequence[Phase], libraries: Libraries) -> int:
    """Map the longest run of phases, from the first one on, that a library takes; its length, 0 where it takes none."""
    if libraries == "never":
        return 0
    from .library.mapping import map_library

    for count in range(len(phases), 0, -1):
        run = phases[:count]
        if all(phase.is_structured for phase in run):
            whole = Phase(tuple(op for phase in run for op in phase.ops), phases[0].absorbed)
            if map_library(mapper, whole, libraries):
                return count
    return 0


def _map_run(mapper: KernelMapper, phases: Sequence[Phase], rows: int) -> int:
    """Map the longest run of phases, from the first one on, that a mapping takes as a whole; its length."""
    for count in range(len(phases), 1, -1):
        run = phases[:count]
        if all(phase.is_structured for phase in run):
            whole = Phase(tuple(op for phase in run for op in phase.ops), phases[0].absorbed, rows)
            if any(mapping(mapper, whole) for mapping in RUN_MAPPINGS):
                return count
    next(mapping for mapping in MAPPINGS if mapping(mapper, phases[0]))
    return 1


def _erase_mapped(kernel: func.FuncOp, ops: list[Operation]) -> None:
    """Erase what the launches replace: all but the kernel's end and the buffers that launches hand on."""
    launches = [op for op in kernel.body.block.ops if isinstance(op, (GpuLaunchFuncOp, MatmulOp))]
    kept = {value.owner for launch in launches for value in launch.operands}
    for op in reversed(ops[:-1]):
        if op not in kept:
            op.detach()
            op.erase(safe_erase=False)


@dataclass(frozen=True)
class MapKernelsToGpuPass(HloPass):
    """
    Each kernel becomes launches of functions in a gpu.module: its parallel loops become blocks and threads.

    Before: `linalg.generic {..} ins(%a : memref<1000xf32>) outs(%b : memref<1000xf32>) {..}` in a kernel
    After:  `gpu.launch_func @kernels::@loop_fusion_0 blocks in (..) threads in (..) args(%a, %b : ..)` in the kernel
    Assumes: the level after bufferize; linear indexing maps.
    Leaves: no linalg, no linalg_ext. Host functions keep their calls, loops, branches and copies.
    """

    name = "map-kernels-to-gpu"
    illegal = ("linalg.*", "linalg_ext.*")

    chip: str = DEFAULT_CHIP
    """`lowering/device/chips.py` has their names."""

    libraries: Literal["never", "auto", "always"] = "never"
    """Which contractions become calls of cuBLASLt: none, those large enough, or all that it takes."""

    def __post_init__(self) -> None:
        try:
            get_chip(self.chip)
        except UnknownChipError as error:
            raise ValueError(str(error)) from None

    def run(self, ctx: Context, module: ModuleOp) -> None:
        chip = get_chip(self.chip)
        device = GpuModuleOp(DEVICE)
        device.targets = ArrayAttr([TargetAttr(StringAttr(chip.name))])
        for kernel in list(kernels_of(module)):
            map_kernel(kernel, device, chip, self.libraries)
        calls = any(isinstance(op, MatmulOp) for op in operations_in(module)) if self.libraries != "never" else False
        if device.body.block.first_op is not None or calls:
            # Without kernels too: what stands beside a gpu.module is the host's.
            module.body.block.add_op(device)
            module.attributes["gpu.container_module"] = UnitAttr()

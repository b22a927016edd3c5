"""The linalg_ext operations that have launches of their own; the others in a kernel become loops."""

from __future__ import annotations

from xdsl.dialects import func

from ....dialects.gpu.plans import Points, ScanBlocks, ScanRows, ScanThreads, Sort, SortedScatter
from ....dialects.linalg_ext.base import DestinationOp
from ....dialects.linalg_ext.indexing import ScatterOp
from ....dialects.linalg_ext.sort import SortByKeyOp, SortOp
from ....dialects.linalg_ext.window import ScanOp, SelectAndScatterOp
from ...convert_linalg_ext_to_scf.conversion import convert_operation
from ...loop_nests.loop_builder import LoopBuilder
from ..threads.launch import KernelMapper
from ..threads.phases import Phase
from .scan import map_scan
from .scatter import map_scatter
from .select_and_scatter import map_select_and_scatter
from .sort import map_sort

MAPPED = (ScanOp, ScatterOp, SelectAndScatterOp, SortByKeyOp, SortOp)


def map_ext(mapper: KernelMapper, phase: Phase) -> None:
    """Map a phase of one linalg_ext operation."""
    plan, op = phase.plans[0], phase.anchor if len(phase.ops) == 1 else None
    match op, plan:
        case ScanOp(), ScanRows() | ScanThreads() | ScanBlocks():
            map_scan(mapper, phase)
        case ScatterOp(), SortedScatter() | Points():
            map_scatter(mapper, phase)
        case SelectAndScatterOp(), Points():
            map_select_and_scatter(mapper, op, plan.threads)
        case SortOp() | SortByKeyOp(), Sort():
            map_sort(mapper, op, plan)
        case _:
            phase.require(False, "it is the plan of another operation")


def convert_others(kernel: func.FuncOp) -> None:
    """Lower calls of host functions and operations of other packages, as convert-linalg-ext-to-scf does."""
    for op in list(kernel.body.block.ops):
        if isinstance(op, DestinationOp) and not isinstance(op, MAPPED):
            convert_operation(op, LoopBuilder(kernel))

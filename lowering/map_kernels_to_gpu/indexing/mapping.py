"""Which linalg_ext operations have launches of their own, and those of a kernel that have none as loops."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from xdsl.dialects import func
from xdsl.ir import Operation

from ....dialects.linalg_ext.base import DestinationOp
from ....dialects.linalg_ext.indexing import ScatterOp
from ....dialects.linalg_ext.sort import SortByKeyOp, SortOp
from ....dialects.linalg_ext.window import ScanOp, SelectAndScatterOp
from ...convert_linalg_ext_to_scf.conversion import convert_operation
from ...loop_nests.loop_builder import LoopBuilder
from ..threads.launch import KernelMapper, Phase
from .scan import map_scan
from .scatter import map_scatter
from .select_and_scatter import map_select_and_scatter
from .sort import map_sort

EXT_MAPPINGS: Mapping[type[Operation], Callable[[KernelMapper, Any], None]] = {
    ScanOp: map_scan,
    ScatterOp: map_scatter,
    SelectAndScatterOp: map_select_and_scatter,
    SortOp: map_sort,
    SortByKeyOp: map_sort,
}


def map_ext(mapper: KernelMapper, phase: Phase) -> bool:
    """Map a phase of one linalg_ext operation; whether it is one."""
    mapping = EXT_MAPPINGS.get(type(phase.ops[0])) if len(phase.ops) == 1 else None
    if mapping is None:
        return False
    mapping(mapper, phase.ops[0])
    return True


def convert_others(kernel: func.FuncOp) -> None:
    """Calls of host functions, and operations of other packages: as convert-linalg-ext-to-scf does."""
    for op in list(kernel.body.block.ops):
        if isinstance(op, DestinationOp) and type(op) not in EXT_MAPPINGS:
            convert_operation(op, LoopBuilder(kernel))

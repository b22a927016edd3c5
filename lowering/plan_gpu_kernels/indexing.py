"""Plans of sorts, scans and scatters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects import func
from xdsl.ir import Attribute

from ...dialects.gpu.plans import NoLaunch, Plan, Points, ScanBlocks, ScanRows, ScanThreads, Sort, SortedScatter
from ...dialects.linalg_ext.indexing import ScatterOp
from ...dialects.linalg_ext.sort import SortByKeyOp, SortOp
from ...dialects.linalg_ext.window import ScanOp, SelectAndScatterOp, shape_of
from ...dialects.support.llvm_layout import byte_width
from ..convert_linalg_ext_to_scf.scatter import scatter_loops
from ..device.chips import STATIC_SHARED_BYTES
from ..device.gpu import GpuChip
from ..loop_nests.loop_builder import LoopBuilder, buffer_of
from ..map_kernels_to_gpu.indexing.scan import lines_of
from ..map_kernels_to_gpu.indexing.scatter import entries_of, key_types, may_meet
from ..map_kernels_to_gpu.threads.phases import Phase
from ..map_kernels_to_gpu.threads.ranges import ceil_div

SCAN_THREADS = 256

ELEMENTS = 15
"""
Maximum number of neighbouring elements per thread in a tile. Odd, so that the threads of a warp access different banks.
"""

SHORTEST_CHUNK = 64
"""Minimum elements of a column for a thread of its own."""

BLOCKS = 4
"""Blocks of chunks per multiprocessor."""

MOST_ROWS = 256
"""Maximum number of short rows per block, one thread each."""

SHORT_ROW = 48
"""Maximum length of a short row."""

MOST_SORT_THREADS = 1024
BLOCK_THREADS = 256
"""Threads of a block that sorts several short rows."""


def plan_ext(phase: Phase, chip: GpuChip) -> tuple[Plan, ...]:
    """The plan of one linalg_ext operation; none for any other phase."""
    op = phase.ops[0]
    match op if len(phase.ops) == 1 else None:
        case ScanOp() as scan:
            return (plan_scan(scan, chip),)
        case ScatterOp() as scatter:
            return (_plan_scatter(scatter),)
        case SelectAndScatterOp() as scatter:
            empty = 0 in shape_of(scatter.inputs[0]) or 0 in shape_of(scatter.inputs[1])
            return (NoLaunch() if empty else Points(),)
        case SortOp() | SortByKeyOp() as sort:
            shape, dim = shape_of(sort.outputs[0]), int(cast(Any, sort.dimension).value.data)
            rows = math.prod(n for d, n in enumerate(shape) if d != dim)
            if shape[dim] < 2 or rows == 0:
                return (NoLaunch(),)
            return (plan_sort(shape[dim], rows, [buffer_of(x).element_type for x in sort.outputs]),)
        case _:
            return ()


def plan_scan(op: ScanOp, chip: GpuChip) -> Plan:
    """A thread per column or short row if there are many, or a block per long row; if there are few, chunks of them."""
    outer, length, inner = lines_of(op)
    if 0 in (outer, length, inner):
        return NoLaunch()
    element = sum(byte_width(buffer_of(x).element_type) for x in op.outputs)
    if inner == 1 and length <= SHORT_ROW:
        rows, row_bytes = MOST_ROWS, (length | 1) * element
        while rows > chip.warp and (rows * row_bytes > STATIC_SHARED_BYTES or rows >= 2 * outer):
            rows //= 2
        if rows * row_bytes <= STATIC_SHARED_BYTES:
            return ScanRows(rows)
    if inner > 1 or length <= SHORT_ROW:
        lines = max(1, outer * inner)
        chunks = max(1, min(chip.multiprocessors * SCAN_THREADS // lines, length // SHORTEST_CHUNK))
        return ScanThreads(max(1, ceil_div(length, chunks)), SCAN_THREADS)
    elements = ELEMENTS
    while elements > 1 and SCAN_THREADS * (elements + 1) * element > STATIC_SHARED_BYTES:
        elements -= 2
    threads = chip.warp
    while threads < SCAN_THREADS and threads * elements < length:
        threads *= 2
    tile = threads * elements
    chunks = max(1, min(BLOCKS * chip.multiprocessors // max(1, outer), length // (2 * tile)))
    return ScanBlocks(ceil_div(ceil_div(length, tile), chunks) * tile, elements, threads)


def plan_sort(length: int, rows: int, types: Sequence[Attribute]) -> Sort:
    """Tiles as long as shared memory allows; several rows per block if they are short."""
    element = 4 + sum(byte_width(type_) for type_ in types)
    tile = 2
    while tile < length and tile < 2 * MOST_SORT_THREADS and 2 * tile * element <= STATIC_SHARED_BYTES:
        tile *= 2
    together = max(1, min(2 * BLOCK_THREADS // tile, rows)) if tile >= length else 1
    while together > 1 and together * tile * element > STATIC_SHARED_BYTES:
        together //= 2
    return Sort(tile, together)


def _plan_scatter(op: ScatterOp) -> Plan:
    """A thread per update if no two can have the same destination; otherwise the updates are sorted by destination."""
    function = op.parent_op()
    assert isinstance(function, func.FuncOp)
    loops = scatter_loops(op, LoopBuilder(function))
    if 0 in loops.updates or 0 in loops.shape:
        return NoLaunch()
    return SortedScatter(plan_sort(entries_of(loops), 1, key_types(loops))) if may_meet(loops) else Points()

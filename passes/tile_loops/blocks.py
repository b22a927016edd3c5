"""Tiles of a loop for the blocks of a GPU, each of which runs the loop as a kernel, with its steps inside."""

from __future__ import annotations

import math

from xdsl.ir import Operation

from ...hlo_dialect.loops import Loop
from ...hlo_dialect.op import HloOp, is_elementwise
from ...hlo_dialect.ops.contraction import DotGeneralOp
from ...hlo_dialect.ops.control_flow import WhileOp
from ...hlo_dialect.ops.gather import GatherOp
from ...hlo_dialect.ops.window import ReduceWindowOp
from ...hlo_dialect.types import shape_of
from ...lowering.device.gpu import MOST_NS, PAYS, GpuChip
from ...lowering.device.vendors import find_chip
from .rows import Rows, rows_of
from .sinking import sink_into_tiles
from .sizes import step_of
from .tiles import Tiles, tile_loop

MOST_OPERATIONS = 200
"""Operations of a loop that becomes one function."""

LOADS = 2
"""Elements that a multiply-add of a few rows reads."""

THREADS = 512
"""Results that a block computes at once."""

ELEMENT_NS = 5
"""Nanoseconds of an element of a sum in one thread."""


def tile_for_blocks(op: WhileOp, chip: str) -> str:
    """Replace a loop by one over tiles, if that pays; returns in words what was done, or why it stays."""
    loop = Loop(op)
    found = rows_of(loop)
    if not isinstance(found, str):
        found = _tiles_of(found, find_chip(chip))
    if isinstance(found, str):
        return f"not tiled: {found}"
    rows = found.rows
    if any(result.first_use and i not in rows.carried for i, result in enumerate(op.results)):
        return "not tiled: a value without rows is used after it"
    products = (each for each in loop.body.ops if isinstance(each, DotGeneralOp))
    work = sum(each.flops() / 2 for each in products) / found.count * (loop.trip_count or 0)
    inner = tile_loop(found)
    outer = inner.parent_op()
    assert isinstance(outer, WhileOp)
    # A product of all steps of a tile reads its factors less often than as many steps do.
    moved = sink_into_tiles(outer, inner, most=work)
    also = f", with {moved} product{'s' * (moved > 1)} from before it" if moved else ""
    return f"{found.count} tiles of {found.size} rows run the loop each by itself{also}"


def _tiles_of(rows: Rows, chip: GpuChip) -> Tiles | str:
    """The rows of a block, such that its steps take less time than the launches of their kernels; or why not."""
    ops = [op for op in rows.loop.body.ops if isinstance(op, HloOp)]
    if rows.loop.trip_count is None:
        return "it may not end"
    if len(ops) > MOST_OPERATIONS:
        return f"it has {len(ops)} operations"
    if any(isinstance(op, (GatherOp, ReduceWindowOp)) for op in ops):
        return "a block runs no gathers and windows"
    products = [op for op in ops if isinstance(op, DotGeneralOp)]
    kernels = len(products) + sum(op.ROLE == "reduce" for op in ops) + 2
    work = sum(map(_elements, ops)) / chip.loads_per_ns
    work += sum(op.flops() / 2 for op in products) * LOADS / chip.loads_per_ns

    def time(size: int) -> float:
        waves, part = math.ceil(rows.count / size / chip.multiprocessors), size / rows.count
        waits = sum(_latency(op, part) for op in products)
        return waves * (kernels * 2 * chip.barrier_ns + max(work * part, waits))

    sizes = [size for size in range(1, rows.count) if rows.count % size == 0]
    size = min(sizes, key=time)
    apart = kernels * chip.launch_ns + work / chip.multiprocessors
    if _is_in_loop(rows.loop.op) and time(rows.count) < PAYS * apart:
        return "a block may run it with the loop around"
    if time(size) >= PAYS * apart:
        return f"a block takes {time(size) / 1000:.1f} us for a step, launches take {apart / 1000:.1f}"
    if time(size) * rows.loop.trip_count > MOST_NS:
        return f"one launch would take {time(size) * rows.loop.trip_count / 1e6:.0f} ms, and is not interrupted"
    step = step_of(rows)
    if step.again * rows.count / size > step.work * rows.count:
        return "each block would compute again what all rows share"
    return Tiles(rows, size)


def _is_in_loop(op: Operation) -> bool:
    """Whether there is a loop of known length around."""
    above = op.parent_op()
    while above is not None and not isinstance(above, WhileOp):
        above = above.parent_op()
    return above is not None and Loop(above).trip_count is not None


def _latency(op: DotGeneralOp, part: float) -> float:
    """Nanoseconds of the sums of a part of a product, as many at once as a block has threads."""
    results = math.prod(shape_of(op.results[0]))
    return ELEMENT_NS * op.flops() / 2 / results * math.ceil(results * part / THREADS) if results else 0


def _elements(op: Operation) -> float:
    if not isinstance(op, HloOp) or not (is_elementwise(op) or op.ROLE == "reduce"):
        return 0
    return max((math.prod(shape_of(value)) for value in (*op.operands, *op.results)), default=0)

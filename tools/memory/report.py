"""The memory of a program on the CPU: its arena, what reuse saves, and which buffers are alive where it is fullest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects import func
from xdsl.dialects.builtin import MemRefType, ModuleOp

from ...dialects.support.buffer_ops import byte_size
from ...dialects.support.buffers import Buffer
from ...dialects.support.kernel import entry_name
from ...hlo_dialect.diagnostics import fail, file_location
from ...hlo_dialect.dialect import make_context
from ...hlo_dialect.limits import shown
from ...passes.manager.pipelines import DEFAULT_OPT_LEVEL
from ...passes.manager.places import pass_name
from ...passes.plan_buffers.intervals import Interval, Positions
from ...passes.plan_buffers.offsets import assign_offsets
from ...passes.plan_buffers.transform import hoist_kernel_buffers, result_memory
from ...targets.cpu.target import CPU
from ...targets.program.pipeline import run_passes

PLANNER = "plan-buffers"


def memory_table(module: ModuleOp, opt_level: int = DEFAULT_OPT_LEVEL) -> str:
    """
    A table of the intermediate buffers of a module, which stays as it is. Raises DiagnosticError as a compilation does,
    and for a module whose buffers are planned already.
    """
    ctx, copy, cpu = make_context(), module.clone(), CPU.at_level(opt_level)
    specs = cpu.passes_after(cpu.level_of(copy), cpu.last_stage)
    names = [pass_name(spec) for spec in specs]
    if PLANNER not in names:
        fail(module, f"is past {PLANNER}: its buffers have places, and their uses are not known any more")
    run_passes(ctx, copy, cpu.placed(specs[: names.index(PLANNER)]))
    hoist_kernel_buffers(copy)
    entry = next(op for op in copy.ops if isinstance(op, func.FuncOp) and op.sym_name.data == entry_name(copy))
    positions = Positions(entry)
    intervals = positions.intervals()
    arena = assign_offsets(intervals, result_memory(copy, entry, positions))
    elsewhere = [each for each in intervals if each.result is not None]
    intervals = [each for each in intervals if each.result is None]
    at, alive = fullest(intervals)
    peak, whole = sum(each.size for each in alive), sum(each.size for each in intervals)
    buffers = (cast(Buffer, type_) for type_ in entry.function_type.inputs.data if isinstance(type_, MemRefType))
    taken = sum(map(byte_size, buffers))
    lines = [
        f"arguments and results {shown(taken)}",
        f"arena {shown(arena)}: {len(intervals)} buffers of {shown(whole)}; {shown(peak)} alive at once, {at}",
    ]
    if elsewhere:
        lines.append(f"{len(elsewhere)} buffers of {shown(sum(each.size for each in elsewhere))} in memory of results")
    lines += [f"  {each.size:>14,} bytes  {_described(each)}" for each in sorted(alive, key=lambda x: -x.size)]
    return "\n".join(lines) + "\n"


def fullest(intervals: Sequence[Interval]) -> tuple[str, list[Interval]]:
    """Where most bytes are alive, as a text, and the buffers that are."""
    best: list[Interval] = []
    for start in sorted({each.start for each in intervals}):
        alive = [each for each in intervals if each.start <= start <= each.end]
        if sum(each.size for each in alive) > sum(each.size for each in best):
            best = alive
    newest = max(best, key=lambda each: each.start, default=None)
    return ("nowhere" if newest is None else f"for {_described(newest)}"), best


def _described(interval: Interval) -> str:
    """`%name: memref<..>, used last by @kernel (file:line:column)`."""
    name, last = interval.op.memref.name_hint, interval.last
    user = f"@{last.callee.root_reference.data}" if isinstance(last, func.CallOp) else f"'{last.name}'"
    location = file_location(last.location)
    where = f" ({location.filename.data}:{location.line.data}:{location.column.data})" if location else ""
    named = f"%{name}: " if name else ""
    return f"{named}{interval.op.memref.type}, used last by {user}{where}"

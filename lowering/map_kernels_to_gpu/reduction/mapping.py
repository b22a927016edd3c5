"""
Nests with reduction loops, with what is computed from their results: chains.

Where the operands lie contiguous along the reduced loops, threads share rows; where they do along a kept loop, threads
take columns. Few and long rows are reduced in two launches. A reduction whose operation is not known to be associative
has a thread for each result.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import replace

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import SSAValue

from ....dialects.gpu.nvvm import I32, MIN_BLOCKS
from ...convert_linalg_to_scf.conversion import initial_values
from ...convert_linalg_to_scf.reduction import emit_reduction
from ...device.chips import Chip
from ...loop_nests.fills import is_reduction
from ...loop_nests.loop_builder import Index
from ...loop_nests.nest import Nest
from ..threads.launch import KernelMapper, Launch, Phase
from ..threads.ranges import THREADS, over_threads
from ..threads.vectors import element_bytes
from .chain import Chain, column_loop, make_chain, temporaries_of
from .columns import ColumnEmitter, plan_columns, with_column_last
from .row_plan import SPLIT_BYTES, plan_rows, row_bytes
from .rows import RowEmitter
from .two_stage import partial_types, second_stage

RESIDENT, RESIDENT_ROWS, RESIDENT_WIDE = 1024, 896, 512
"""
Threads for which a multiprocessor is to have registers: with 64 for each, those that keep its memory accesses going; of
chains that keep rows in registers, and of types of 64 bits.
"""


def map_chain(mapper: KernelMapper, phase: Phase) -> bool:
    """Map one or several phases that are a chain; whether they are one that is better not cut."""
    if not phase.is_structured or not any(is_reduction(op) for op in phase.structured):
        return False
    temporaries = temporaries_of(phase.ops, phase.nests())
    chain = _chain_of(phase, temporaries)
    if chain is None or any(chain.steps[s].combination is None for s in chain.reductions):
        return False
    if len(chain.steps) > 1 and _is_better_cut(chain, mapper.chip):
        return False
    _map_chain(mapper, phase, chain, temporaries)
    return True


def _chain_of(phase: Phase, temporaries: Collection[SSAValue]) -> Chain | None:
    inits = [initial_values(op, phase.absorbed) for op in phase.structured]
    chain = make_chain(phase.nests(), inits, phase.rows, temporaries)
    loop = None if chain is None else column_loop(chain)
    return chain if chain is None or loop is None else with_column_last(chain, loop)


def _is_better_cut(chain: Chain, chip: Chip) -> bool:
    """Whether a chain of several passes would leave most of the chip idle, or read memory in strides."""
    if chain.levels < 2 and not chain.wide_outputs:
        return False
    few = 2 * math.prod(chain.rows) <= chip.multiprocessors
    return column_loop(chain) is not None or (few and row_bytes(chain) >= 4 * SPLIT_BYTES)


def _launch(mapper: KernelMapper, phase: Phase, temporaries: Collection[SSAValue]) -> tuple[Launch, Chain]:
    """A launch of the phase, and the chain in it."""
    launch = Launch(mapper, phase)
    chain = _chain_of(launch.phase, {launch.mapping[buffer] for buffer in temporaries})
    assert chain is not None
    return launch, chain


def _map_chain(mapper: KernelMapper, phase: Phase, chain: Chain, temporaries: Collection[SSAValue]) -> None:
    """One launch, or two where several blocks share rows."""
    columns = column_loop(chain) is not None and chain.levels == 1 and not chain.wide_outputs
    parts = (plan_columns if columns else plan_rows)(chain, mapper.chip).parts
    launch, chain = _launch(mapper, phase, temporaries)
    if parts == 1:
        _emit(launch, chain, columns, mapper.chip)
        return
    scratch = [mapper.scratch(type_) for type_ in partial_types(chain, parts)]
    _emit(launch, chain, columns, mapper.chip, [launch.parameter(buffer) for buffer in scratch])
    launch, chain = _launch(mapper, phase, temporaries)
    partial = [launch.parameter(buffer) for buffer in scratch]
    _emit(launch, second_stage(chain, partial, parts, not columns), columns, mapper.chip, may_split=False)


def _emit(
    launch: Launch, chain: Chain, columns: bool, chip: Chip, partial: Sequence[SSAValue] = (), may_split: bool = True
) -> None:
    if columns:
        by_columns = plan_columns(chain, chip, may_split)
        grid, block = ColumnEmitter(launch.builder, chain, by_columns, partial).emit(), by_columns.block
    else:
        by_rows = plan_rows(chain, chip, may_split)
        grid, block = RowEmitter(launch.builder, chain, by_rows, partial).emit(), by_rows.block
    # Left to itself, the assembler spills registers for more blocks than it takes to keep memory busy.
    resident = max(1, _resident(chain) // block)
    launch.function.attributes[MIN_BLOCKS] = IntegerAttr(resident, I32)
    launch.finish(grid, (block, 1, 1))


def _resident(chain: Chain) -> int:
    """For how many threads a multiprocessor is to have registers."""
    if any(part.positioned for part in chain.joint.parts):
        return 1
    if any(element_bytes(x) > 4 for x in chain.wide_accesses()):
        return RESIDENT_WIDE
    return RESIDENT if chain.levels == 1 and not chain.wide_outputs else RESIDENT_ROWS


def kept_first(nest: Nest) -> Nest:
    """The nest with the loops that are not reduced outermost, and given from outside."""
    kept, reduced = nest.parallel_loops, nest.reduction_loops
    return replace(nest.permuted([*kept, *reduced]), bound=len(kept))


def map_reduction(mapper: KernelMapper, phase: Phase) -> bool:
    """Map a phase of one nest that reduces: a thread for each result; whether it is one."""
    if not phase.is_structured or len(phase.structured) != 1 or not any(phase.nests()[0].reduction):
        return False
    if 0 in phase.nests()[0].sizes:
        return True
    launch = Launch(mapper, phase)
    op = launch.phase.structured[0]
    nest = kept_first(launch.phase.nests()[0])
    builder = launch.builder

    def result(indices: list[Index]) -> None:
        bound = [builder.index(index) for index in indices]
        emit_reduction(builder, nest, launch.inits(op), None, bound)

    launch.finish(over_threads(builder, nest.sizes[: nest.bound], result), (THREADS, 1, 1))
    return True

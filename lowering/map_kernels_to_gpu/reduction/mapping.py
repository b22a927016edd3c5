"""
Nests with reduction loops, and the operations on their results: chains.

If the operands are contiguous along the reduced loops, threads share rows; if they are along a kept loop, threads take
columns. Few and long rows are reduced in two launches. A reduction whose operation is not known to be associative has a
thread per result.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import replace

from xdsl.ir import SSAValue

from ....dialects.gpu.plans import Columns, Rows
from ...convert_linalg_to_scf.reduction import emit_reduction
from ...device.chips import MAX_REGISTERS
from ...loop_nests.nest import Nest
from ..threads.launch import KernelMapper, Launch
from ..threads.phases import Phase
from ..threads.ranges import blocks_over, ceil_div, over_threads
from ..threads.vectors import VECTOR_BYTES, element_bytes
from .chain import Chain, chain_of_phase, temporaries_of
from .columns import ColumnEmitter
from .rows import RowEmitter
from .shares import kept_words, main_accesses, parts_of
from .two_stage import partial_types, second_stage


def map_chain(mapper: KernelMapper, phase: Phase) -> None:
    """Map a chain, by rows or by columns: one launch, or two if several blocks share rows."""
    temporaries = temporaries_of(phase.ops, phase.nests()) if phase.is_structured else set[SSAValue]()
    chain, (plan, *_) = chain_of_phase(phase, temporaries), phase.plans
    phase.require(chain is not None, "the operations are no chain of associative reductions over the same rows")
    assert chain is not None and isinstance(plan, (Rows, Columns))
    _check(phase, chain, plan, mapper.chip.warp)
    if not plan.part:
        _emit(*_launch(mapper, phase, temporaries), plan)
        return
    parts = parts_of(chain, plan)
    scratch = [mapper.scratch(type_) for type_ in partial_types(chain, parts)]
    launch, chain = _launch(mapper, phase, temporaries)
    _emit(launch, chain, plan, [launch.parameter(buffer) for buffer in scratch])
    launch, chain = _launch(mapper, phase, temporaries)
    chain = second_stage(chain, [launch.parameter(buffer) for buffer in scratch], parts, isinstance(plan, Rows))
    assert isinstance(plan.then, (Rows, Columns))
    _check(phase, chain, plan.then, mapper.chip.warp)
    _emit(launch, chain, plan.then)


def _check(phase: Phase, chain: Chain, plan: Rows | Columns, warp: int) -> None:
    """Raises DiagnosticError if rows are not divisible as planned, or do not stay in registers."""
    if isinstance(plan, Rows):
        phase.require(plan.rows == 1 or plan.threads <= warp, "a row of more than a warp has a block of its own")
    several = plan.groups > 1 if isinstance(plan, Columns) else plan.rows > 1 or plan.threads > warp
    whole = not several or plan.block % warp == 0
    phase.require(whole, f"a block of {plan.block} threads is not a multiple of {warp}")
    one_pass = chain.levels == 1 and not chain.wide_outputs
    phase.require(one_pass or not plan.part, "parts of a row are reduced on their own; this one takes several passes")
    sizes = (*chain.rows, *chain.space)
    if isinstance(plan, Columns):
        phase.require(bool(chain.rows) and one_pass, "columns are of one pass over kept and reduced loops")
        size, loop, ragged, places = chain.rows[-1], len(chain.rows) - 1, False, math.prod(chain.space)
    else:
        size, loop = (sizes[-1], len(sizes) - 1) if chain.space else (1, -1)
        ragged, places = len(chain.space) == 1 and not plan.keep, math.prod(chain.space) // plan.width
    divides = plan.width <= size if ragged else size % plan.width == 0
    phase.require(divides, f"{size} elements do not divide into vectors of {plan.width}")
    widest = max((element_bytes(x) for x in main_accesses(chain, loop)), default=1) if sizes else 1
    phase.require(plan.width * widest <= VECTOR_BYTES, f"an access moves {VECTOR_BYTES} bytes, aligned to as many")
    phase.require(plan.part < places or not plan.part, f"a part of {plan.part} is all of the {places} there are")
    if isinstance(plan, Rows) and plan.keep:
        kept, words = kept_words(chain)
        phase.require(bool(kept), "no pass over a row needs what an earlier one read or computed")
        registers = words * plan.width * ceil_div(places, plan.threads)
        few = registers <= MAX_REGISTERS
        phase.require(few, f"{registers} registers of a thread to keep; the limit is {MAX_REGISTERS}")


def _launch(mapper: KernelMapper, phase: Phase, temporaries: Collection[SSAValue]) -> tuple[Launch, Chain]:
    """A launch of the phase, and the chain in it."""
    launch = Launch(mapper, phase)
    chain = chain_of_phase(launch.phase, {launch.mapping[buffer] for buffer in temporaries})
    assert chain is not None
    return launch, chain


def _emit(launch: Launch, chain: Chain, plan: Rows | Columns, partial: Sequence[SSAValue] = ()) -> None:
    if isinstance(plan, Columns):
        grid = ColumnEmitter(launch.builder, chain, plan, partial).emit()
    else:
        grid = RowEmitter(launch.builder, chain, plan, partial).emit()
    launch.finish(grid, plan.block, plan.blocks)


def kept_first(nest: Nest) -> Nest:
    """The nest with the kept loops outermost and bound from outside."""
    kept, reduced = nest.parallel_loops, nest.reduction_loops
    return replace(nest.permuted([*kept, *reduced]), bound=len(kept))


def map_reduction(mapper: KernelMapper, phase: Phase, threads: int) -> None:
    """Map one reduction: a thread per result."""
    launch = Launch(mapper, phase)
    op = launch.phase.structured[0]
    nest = kept_first(launch.phase.nests()[0])
    builder = launch.builder
    sizes = nest.sizes[: nest.bound]
    with over_threads(builder, sizes, threads) as indices:
        emit_reduction(builder, nest, launch.inits(op), None, [builder.index(index) for index in indices])
    launch.finish(blocks_over(sizes, threads), threads)

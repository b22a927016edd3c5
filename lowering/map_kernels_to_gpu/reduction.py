"""Nests with reduction loops: a thread for each result."""

from __future__ import annotations

from dataclasses import replace

from ..convert_linalg_to_scf.loop_builder import Index
from ..convert_linalg_to_scf.nest import Nest
from ..convert_linalg_to_scf.reduction import emit_reduction
from .launch import KernelMapper, Launch, Phase
from .threads import THREADS, over_threads


def kept_first(nest: Nest) -> Nest:
    """The nest with the loops that are not reduced outermost, and given from outside."""
    kept, reduced = nest.parallel_loops, nest.reduction_loops
    return replace(nest.permuted([*kept, *reduced]), bound=len(kept))


def map_reduction(mapper: KernelMapper, phase: Phase) -> bool:
    """Map a phase of one nest that reduces; whether it is one."""
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

"""Nests without reduction: a thread for each element."""

from __future__ import annotations

from ..convert_linalg_to_scf.elementwise import canonical
from ..convert_linalg_to_scf.emission import NestEmitter
from ..convert_linalg_to_scf.loop_builder import Index
from .launch import KernelMapper, Launch, Phase
from .threads import THREADS, over_threads


def map_elementwise(mapper: KernelMapper, phase: Phase) -> bool:
    """Map a phase of one all-parallel nest; whether it is one."""
    if not phase.is_structured or len(phase.structured) != 1 or any(phase.nests()[0].reduction):
        return False
    if 0 in phase.nests()[0].sizes:
        return True
    launch = Launch(mapper, phase)
    nest = canonical(launch.phase.nests()[0])
    builder = launch.builder

    def element(indices: list[Index]) -> None:
        emitter = NestEmitter(builder, nest)
        with emitter.scope():
            for loop, index in enumerate(indices):
                emitter.indices[loop] = index
            emitter.load_ready()
            for k, value in enumerate(emitter.body()):
                emitter.store_output(k, value)

    launch.finish(over_threads(builder, nest.sizes, element), (THREADS, 1, 1))
    return True

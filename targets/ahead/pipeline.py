"""The CPU pipeline for a program that runs without the JIT's runtime: one thread, and nobody who could stop it."""

from __future__ import annotations

from collections.abc import Mapping

from ...passes.manager.pipelines import LOWER_LINALG, LOWER_LLVM, LOWER_LOOPS
from ..cpu.target import NATIVE_CALLS, SIZED_BY_VECTORS
from ..program.pipeline import Pipeline
from .machine import Machine

_RUNTIME = ("outline-parallel-loops", "place-safepoints")
"""Passes that leave calls of the runtime."""


class AheadPipeline(Pipeline):
    """The passes of the CPU, with the vector width of the machine."""

    lowering: Mapping[str, tuple[str, ...]] = {
        "linalg": LOWER_LINALG,
        "loops": tuple(name for name in LOWER_LOOPS if name not in _RUNTIME),
        "llvm": tuple(name for name in LOWER_LLVM if name not in _RUNTIME),
    }

    def __init__(self, machine: Machine):
        self.machine = machine

    def tune(self, spec: str) -> str:
        """
        Let kernels overwrite what is not needed any more, and state the width of the machine's vectors to the passes
        that depend on it.
        """
        if spec == "bufferize":
            return "bufferize{in-place=true}"
        if spec in SIZED_BY_VECTORS:
            return f"{spec}{{vector-bits={self.machine.vector_bits}}}"
        return NATIVE_CALLS.get(spec, spec)

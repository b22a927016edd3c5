"""The CPU pipeline for a program that runs without the JIT's runtime: without its threads, and nobody could stop it."""

from __future__ import annotations

from collections.abc import Mapping

from ...passes.manager.pipelines import LOWER_LINALG, LOWER_LLVM, LOWER_LOOPS
from ..cpu.target import tuned_for
from ..program.pipeline import Pipeline
from .machine import Machine
from .threads import Threads

_PARALLEL = "outline-parallel-loops"
_RUNTIME = (_PARALLEL, "place-safepoints")
"""Passes that leave calls of the runtime."""


class AheadPipeline(Pipeline):
    """The passes of the CPU, as the machine needs them."""

    def __init__(self, machine: Machine, threads: Threads = Threads.NONE, external: bool = True):
        self.machine = machine
        self.external = external
        self.one_thread = threads is Threads.NONE
        left_out = [name for name in _RUNTIME if name != _PARALLEL or threads is Threads.NONE]
        self.lowering: Mapping[str, tuple[str, ...]] = {
            "linalg": LOWER_LINALG,
            "loops": tuple(name for name in LOWER_LOOPS if name not in left_out),
            "llvm": tuple(name for name in LOWER_LLVM if name not in left_out),
        }

    def tune(self, spec: str) -> str:
        """
        Let kernels overwrite what is not needed any more, give calls of LAPACK their memory or factor matrices of any
        size without it, let the program make the verdict of its checks, and state what the machine's vectors are and
        can to the passes that depend on it.
        """
        if spec == "extract-checks":
            return "extract-checks{number=true}"
        if spec == "bufferize":
            return "bufferize{in-place=true}"
        if spec == "decompose-hlo":
            return f"decompose-hlo{{native-calls=true {'workspaces' if self.external else 'any-size'}=true}}"
        return tuned_for(self.machine, spec, self.one_thread)

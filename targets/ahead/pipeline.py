"""The CPU pipeline for a program that runs without the JIT's runtime: without its threads, and nobody could stop it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...passes.manager.pipelines import LOWER_LINALG, LOWER_LLVM, LOWER_LOOPS
from ..cpu.target import Cpu, tuned_for, with_dots
from ..program.pipeline import Pipeline
from .machine import Machine
from .threads import Threads

_PARALLEL = "outline-parallel-loops"
_RUNTIME = (_PARALLEL, "place-safepoints")
"""Passes that leave calls of the runtime."""


WITHOUT_LAPACK = "decompose-hlo{native-calls=true any-size=true}"


@dataclass(frozen=True, eq=False)
class LoopsForLapack(Cpu):
    """This computer's CPU with loops in place of LAPACK's routines, whose signs may be others."""

    @property
    def machine(self) -> str:
        return f"{super().machine} without LAPACK".lstrip()

    def tune(self, spec: str) -> str:
        return WITHOUT_LAPACK if spec == "decompose-hlo" else super().tune(spec)


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
            found = "decompose-hlo{native-calls=true workspaces=true}" if self.external else WITHOUT_LAPACK
            return with_dots(found, self.machine.dots)
        return tuned_for(self.machine, spec, self.one_thread)

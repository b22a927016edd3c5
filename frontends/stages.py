"""The texts of a compiled function that every front end shows under the same names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..hlo_dialect.printing.graph import graph_of
from ..targets.compile import compile_program
from ..targets.program.executable import Executable


def text_of(stage: str, program: Any, target: Any, compiled: Callable[[], Executable]) -> str:
    """
    A program at a stage as text.

    "hlo", "optimized_hlo" with its kernels, "optimized_hlo_dot" as a graph for Graphviz, or a stage of
    `Executable.as_text`: "hlo-text", "linalg", "loops", "llvm", "asm"; "ptx" is that of the GPU target on any target.
    `compiled` gives the executable for `target`. Raises ValueError for an unknown stage.
    """
    if stage == "optimized_hlo_dot":
        return graph_of(compiled().as_text("fused"))
    if stage == "ptx" and target == "cpu":
        return compile_program(program, "gpu").as_text(stage)
    return compiled().as_text({"optimized_hlo": "fused"}.get(stage, stage))

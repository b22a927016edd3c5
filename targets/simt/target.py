"""The SIMT interpreter as a target."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...passes.manager.pipelines import LOWER_GPU_LOOPS, LOWER_LINALG
from ..nvptx.target import tuned
from ..program.target import Target, TextAt

if TYPE_CHECKING:
    from ..program.executable import Executable
    from ..program.lowering import Lowering


class Simt(Target):
    """Kernels for GPUs, interpreted: finds data races, needs no GPU."""

    name = "simt"
    summary = "the kernels of nvptx, interpreted with NumPy: finds data races, needs no GPU"
    # Every access is bounded by its buffer, so that the side does not matter; kernels assume that arrays are aligned,
    # as at the start of their pages.
    guards = {"plan-buffers": ("plan-buffers{guard=start}",)}
    lowering = {"linalg": LOWER_LINALG, "loops": LOWER_GPU_LOOPS}

    def tune(self, spec: str) -> str:
        """As for the usual GPU."""
        return tuned(spec)

    def build(self, lowering: Lowering, text_at: TextAt) -> Executable:
        from .executable import build

        return build(lowering, text_at)


SIMT = Simt()

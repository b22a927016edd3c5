"""The SIMT interpreter as a target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...lowering.device.chips import DEFAULT_CHIP
from ...lowering.device.vendors import ALL_CHIPS
from ...passes.manager.pipelines import LOWER_GPU_LOOPS, LOWER_LINALG
from ..gpu.target import GpuTarget
from ..program.target import TextAt

if TYPE_CHECKING:
    from ..program.executable import Executable
    from ..program.lowering import Lowering


@dataclass(frozen=True)
class Simt(GpuTarget):
    """Kernels for a GPU, interpreted: finds data races, needs no GPU."""

    name = "simt"
    summary = "the kernels of nvptx or amdgcn, interpreted with NumPy: finds data races, needs no GPU"
    # Every access is bounded by its buffer, so that the side does not matter; kernels assume that arrays are aligned,
    # as at the start of their pages.
    guards = {"plan-buffers": ("plan-buffers{guard=start}",)}
    lowering = {"linalg": LOWER_LINALG, "loops": LOWER_GPU_LOOPS}
    options = ("chip",)

    @property
    def machine(self) -> str:
        return self.chip.name if self.chip.name != DEFAULT_CHIP else ""

    def configured(self, options: Mapping[str, str]) -> Simt:
        return self.for_chip(ALL_CHIPS, options)

    def build(self, lowering: Lowering, text_at: TextAt) -> Executable:
        from .executable import build

        return build(lowering, text_at)


SIMT = Simt(ALL_CHIPS[DEFAULT_CHIP])

"""Compile a module to a program image for a GPU: its pipeline, PTX, machine code. No GPU is needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ...hlo_dialect.diagnostics import DiagnosticError
from ...lowering.device.chips import Chip
from ..gpu.image import GpuImage
from ..gpu.runtime.host_program import HostProgram, read_host_program
from ..program.lowering import Lowering
from .assembler import assemblers
from .cubin_cache import cached_cubin
from .emission import emit_ptx

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

Emission = Callable[["ModuleOp", HostProgram], tuple[str, bytes]]
"""From a module of the stage "loops" and its host program to (PTX, machine code)."""


def build_image(lowering: Lowering, chip: Chip, ptx: int, emission: Emission | None = None) -> GpuImage:
    """
    Lower the module, which is consumed, and compile it for a chip to a version of PTX (78 is 7.8).

    `emission` replaces the step from gpu-level IR to machine code. Raises DiagnosticError.
    """
    lowering.to("loops")
    host = read_host_program(lowering.module)
    if emission is not None:
        text, cubin = emission(lowering.module, host)
    else:
        text, cubin = _emission(lowering, host, chip, ptx)
    return GpuImage(chip.name, cubin, text, host, lowering.facts)


def _emission(lowering: Lowering, host: HostProgram, chip: Chip, ptx: int) -> tuple[str, bytes]:
    lowering.to_the_end()
    if not host.functions:
        return "", b""
    with lowering.timing.stage("emit PTX"):
        text = emit_ptx(lowering.module, chip, ptx)
    with lowering.timing.stage("assemble"):
        return text, machine_code(text, chip)


def machine_code(ptx: str, chip: Chip) -> bytes:
    """
    The cubin; empty if there is no assembler: then the GPU's driver compiles the PTX.

    Raises DiagnosticError if all assemblers are too old.
    """
    try:
        return cached_cubin(ptx, chip)
    except DiagnosticError:
        if next(assemblers(), None) is None:
            return b""
        raise

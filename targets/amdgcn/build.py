"""Compile a module to a program image for an AMD GPU. No GPU is needed."""

from __future__ import annotations

from ...lowering.device.amd_chips import AmdChip
from ..gpu.image import GpuImage
from ..gpu.runtime.host_program import read_host_program
from ..program.lowering import Lowering
from .emission import emit_object
from .linking import find_linker, linked


def build_image(lowering: Lowering, chip: AmdChip) -> GpuImage:
    """
    Lower the module, which is consumed, and compile it for a chip: to a code object, or without a linker to an object
    file. Raises DiagnosticError.
    """
    lowering.to("loops")
    host = read_host_program(lowering.module)
    lowering.to_the_end()
    code = b""
    if host.functions:
        with lowering.timing.stage("emit code"):
            code = emit_object(lowering.module, chip)
        if find_linker() is not None:
            with lowering.timing.stage("link"):
                code = linked(code)
    return GpuImage(chip.name, code, "", host, lowering.facts)

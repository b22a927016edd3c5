"""Compile a module to a program image for the CPU: its pipeline, then LLVM."""

from __future__ import annotations

from ..llvm_text.module import emit_units
from ..program.lowering import Lowering
from .image import Image
from .jit import LEVEL, compile_units


def build_image(lowering: Lowering) -> Image:
    """Lower the module, which is consumed, and compile it to an image. Raises DiagnosticError."""
    lowering.to_the_end()
    timing = lowering.timing
    with timing.stage("emit LLVM IR"):
        units = emit_units(lowering.module, guarded=lowering.facts.guard is not None)
    llvm: dict[str, float] = {}
    code = compile_units(units.texts, units.shared, llvm, LEVEL if lowering.opt_level else 0)
    timing.seconds.update((f"LLVM {name}", seconds) for name, seconds in llvm.items())
    return Image(code, units.data, lowering.facts)

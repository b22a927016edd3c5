"""Compile a module to a program image for the CPU: its pipeline, then LLVM."""

from __future__ import annotations

from collections import OrderedDict

from ...lowering.convert_contractions_to_vector.shared_function import KnownFunctions, knowing
from ..llvm_text.module import emit_units
from ..program.lowering import Lowering
from .image import Image
from .jit import LEVEL, compile_units

_texts: OrderedDict[str, tuple[str, str]] = OrderedDict()
"""The symbols and texts of shared functions by key, the last ones that were made; see `KnownFunctions`."""

_TEXTS_KEPT = 1024


def build_image(lowering: Lowering) -> Image:
    """Lower the module, which is consumed, and compile it to an image. Raises DiagnosticError."""
    known = KnownFunctions(_texts.get) if lowering.is_plain else None
    with knowing(known):
        lowering.to_the_end()
    timing = lowering.timing
    with timing.stage("emit LLVM IR"):
        own = {} if known is None else known.found
        units = emit_units(lowering.module, guarded=lowering.facts.guard is not None, known=own)
    _texts.update(own)
    while len(_texts) > _TEXTS_KEPT:
        _texts.popitem(last=False)
    llvm: dict[str, float] = {}
    code = compile_units(units.texts, units.shared, llvm, LEVEL if lowering.opt_level else 0)
    timing.seconds.update((f"LLVM {name}", seconds) for name, seconds in llvm.items())
    return Image(code, units.data, lowering.facts)

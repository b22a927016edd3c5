"""Compile a module to a program image for the CPU: its pipeline, then LLVM."""

from __future__ import annotations

from ...lowering.convert_contractions_to_vector.shared_function import KnownFunctions, knowing
from ..llvm_text.module import emit_units
from ..program.lowering import Lowering
from .collecting import while_collecting
from .image import Image
from .jit import LEVEL, QUICK, compile_units
from .known_code import KnownCode, note_symbols


def build_image(lowering: Lowering) -> Image:
    """Lower the module, which is consumed, and compile it to an image. Raises DiagnosticError."""
    kept = KnownCode()
    known = KnownFunctions(kept.symbol_of) if lowering.is_plain else None
    with knowing(known):
        lowering.to_the_end()
    timing = lowering.timing
    symbols = {} if known is None else known.found
    with timing.stage("emit LLVM IR"):
        units = emit_units(lowering.module, guarded=lowering.facts.guard is not None, known=symbols)
    llvm: dict[str, float] = {}
    level = LEVEL if lowering.opt_level else 0
    texts, levels = list(units.texts), [QUICK if starts else level for starts in units.starting]
    if linked := [call for call in lowering.facts.host_calls if call.is_of_lapack]:
        from .lapack import text_of_calls

        texts.append(text_of_calls(linked))
        levels.append(level)
    lowering.drop_module()
    code = while_collecting(lambda: compile_units(texts, units.shared, llvm, levels, kept.codes))
    note_symbols(symbols)
    timing.seconds.update((f"LLVM {name}", seconds) for name, seconds in llvm.items())
    return Image(code, units.data, lowering.facts)

"""
Compile a module to a program image for the CPU: its pipeline, then LLVM.

The garbage collector frees the IR meanwhile: LLVM does not hold Python's lock.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ...hlo_dialect.garbage_collector import collect_left_behind, left_behind
from ...hlo_dialect.threads import Background
from ...lowering.convert_contractions_to_vector.shared_function import KnownFunctions, knowing
from ..llvm_text.module import emit_units
from ..program.lowering import Lowering
from .image import Image
from .jit import LEVEL, QUICK, compile_units
from .known_code import KnownCode, note_symbols
from .thread_limits import default_thread_count

T = TypeVar("T")

WORTH_A_THREAD = 5_000
"""Objects that take several times as long to free as a thread to start."""


def build_image(lowering: Lowering, options: str = "") -> Image:
    """
    Lower the module, which is consumed, and compile it to an image. `options`: those of the target that code depends
    on. Raises DiagnosticError.
    """
    kept = KnownCode()
    known = KnownFunctions(kept.symbol_of, kept.scratch_of, options) if lowering.is_plain else None
    with knowing(known):
        lowering.to_the_end()
    if known is not None:
        lowering.then("share-kernels")
    timing = lowering.timing
    symbols = {} if known is None else known.found
    with timing.stage("emit LLVM IR"):
        units = emit_units(lowering.module, guarded=lowering.facts.guard is not None, known=symbols)
    llvm: dict[str, float] = {}
    level = LEVEL if lowering.opt_level else 0
    texts, levels = list(units.texts), [QUICK if starts else level for starts in units.starting]
    shared = dict(units.shared)
    if linked := [call for call in lowering.facts.host_calls if call.is_of_lapack]:
        from .lapack import text_of_calls

        text, loops = text_of_calls(linked)
        texts.append(text)
        levels.append(QUICK)
        shared |= loops
    lowering.drop_module()
    code = while_collecting(lambda: compile_units(texts, shared, llvm, levels, kept.codes))
    note_symbols(symbols, {} if known is None else known.scratch)
    timing.seconds.update((f"LLVM {name}", seconds) for name, seconds in llvm.items())
    return Image(code, units.data, lowering.facts)


def while_collecting(work: Callable[[], T]) -> T:
    """
    The result of `work`. Where much was built that nothing refers to any more, another thread does the work while this
    one frees that: finalizers run where Python would run them too.
    """
    if left_behind() < WORTH_A_THREAD or default_thread_count() < 2:
        return work()
    try:
        beside = Background(work)
    except RuntimeError:
        return work()  # the system has no thread left, or Python is ending
    try:
        collect_left_behind()
    finally:
        # A fork while it holds locks would leave them locked in the child.
        beside.join()
    return beside.result()

"""
Machine code in the cache folder.

Its key is the PTX, the chip and the assemblers' versions. Other programs with the same kernels find it too, and so does
the same program after a change of the compiler that leaves its PTX as it was.
"""

from __future__ import annotations

from ...hlo_dialect.diagnostics import Diagnostic, DiagnosticError
from ...lowering.device.chips import Chip
from ..cache.files import cache_folder, kept
from .assembler import MISSING, assemble, assemblers


def cached_cubin(ptx: str, chip: Chip) -> bytes:
    """
    The machine code of PTX for a chip: from the folder, or assembled and put there.

    Raises DiagnosticError where there is no assembler or only ones that are too old, AssemblyError for wrong PTX.
    """
    if cache_folder() is None:
        return assemble(ptx, chip).code
    names = [assembler.name for assembler in assemblers()]
    if not names:
        raise DiagnosticError(Diagnostic("error", MISSING))
    return kept(["cubin", ptx, chip.name, names], ".cubin", lambda: assemble(ptx, chip).code, bytes, bytes)

"""
Machine code in the cache folder.

The key is the PTX, the chip and the assemblers' versions. Other programs with the same kernels share it, as does the
same program after a change of the compiler that keeps its PTX.
"""

from __future__ import annotations

from ...hlo_dialect.diagnostics import Diagnostic, DiagnosticError
from ...lowering.device.chips import Chip
from ..cache.files import kept, program_folder
from .assembler import MISSING, assemble, assemblers


def cached_cubin(ptx: str, chip: Chip) -> bytes:
    """
    The machine code of PTX for a chip, from the cache folder, or assembled and stored there.

    Raises DiagnosticError if there is no assembler or all are too old, AssemblyError for invalid PTX.
    """
    if program_folder() is None:
        return assemble(ptx, chip).code
    names = [assembler.name for assembler in assemblers()]
    if not names:
        raise DiagnosticError(Diagnostic("error", MISSING))
    return kept(["cubin", ptx, chip.name, names], ".cubin", lambda: assemble(ptx, chip).code, bytes, bytes)

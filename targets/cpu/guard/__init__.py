"""Guard mode on the CPU: buffers between inaccessible pages, and reports of accesses outside of them."""

from __future__ import annotations

import ctypes
import sys

from ....hlo_dialect.diagnostics import Diagnostic, DiagnosticError


def check_system() -> None:
    """Raises DiagnosticError on other systems than 64-bit Linux; the other files of this folder load nowhere else."""
    if not sys.platform.startswith("linux") or ctypes.sizeof(ctypes.c_void_p) != 8:
        raise DiagnosticError(Diagnostic("error", "guard mode on the CPU needs 64-bit Linux"))

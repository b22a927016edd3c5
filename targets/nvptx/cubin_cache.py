"""
Machine code kept in a folder from one process to the next: that of the environment variable XHLO_CACHE_DIR.

A file's name is the hash of all that decides what is in it: the PTX, the chip and the assembler's version. Other
programs with the same kernels find it too, and so does the same program after a change of the compiler that leaves its
PTX as it was. A damaged file is written anew. Nothing is ever deleted: that is for the owner of the folder.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import warnings
from pathlib import Path

from ...hlo_dialect.diagnostics import Diagnostic, DiagnosticError
from ...lowering.device.chips import Chip
from ..disk_cache import cache_folder
from .assembler import MISSING, assemble, assemblers

MAGIC = b"XHLOCUBN"
"""Then the SHA-256 of the code, then the code."""


def cached_cubin(ptx: str, chip: Chip) -> bytes:
    """
    The machine code of PTX for a chip: from the folder, or assembled and put there.

    Raises DiagnosticError where there is no assembler or only ones that are too old, AssemblyError for wrong PTX.
    """
    folder = cache_folder()
    if folder is None:
        return assemble(ptx, chip).code
    names = [assembler.name for assembler in assemblers()]
    if not names:
        raise DiagnosticError(Diagnostic("error", MISSING))
    key = json.dumps([MAGIC.decode(), ptx, chip.name, names]).encode()
    path = folder / f"{hashlib.sha256(key).hexdigest()}.cubin"
    code = _read(path)
    if code is None:
        code = assemble(ptx, chip).code
        _write(path, code)
    return code


def _read(path: Path) -> bytes | None:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        warnings.warn(f"{path} cannot be read: {error.strerror}", RuntimeWarning, stacklevel=2)
        return None
    start = len(MAGIC) + 32
    digest, code = data[len(MAGIC) : start], data[start:]
    if not data.startswith(MAGIC) or hashlib.sha256(code).digest() != digest:
        warnings.warn(f"{path} is damaged and will be written anew", RuntimeWarning, stacklevel=2)
        return None
    return code


def _write(path: Path, code: bytes) -> None:
    """Readers see a whole file or none; a failure is a warning."""
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".", delete=False) as file:
            temporary = Path(file.name)
            file.write(MAGIC + hashlib.sha256(code).digest() + code)
        os.replace(temporary, path)
    except OSError as error:
        warnings.warn(f"{path} cannot be written: {error.strerror}", RuntimeWarning, stacklevel=2)
        if temporary is not None:
            temporary.unlink(missing_ok=True)

"""
Link an object file to the code object that a driver loads (HSACO): a shared library of AMD's ABI.

That takes lld, LLVM's linker: the program that the environment variable XHLO_LLD names, `ld.lld` on PATH, that of ROCm,
or one of an LLVM in /usr/lib/llvm-*. llvmlite brings LLVM without it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from functools import lru_cache
from pathlib import Path

from ...hlo_dialect.diagnostics import Diagnostic, DiagnosticError

CHOICE = "XHLO_LLD"

MISSING = (
    "the object file cannot be linked to a code object: there is no ld.lld on PATH and none of ROCm; "
    f"install lld, or name it in {CHOICE} (--emit=asm and --emit=obj need none)"
)

_ELF_TYPE = slice(16, 18)
"""Bytes of an ELF file's header: 1 for an object file, 3 for a shared library."""


def is_linked(code: bytes) -> bool:
    """Whether an ELF file is a shared library, which a driver loads."""
    return code[_ELF_TYPE] == b"\x03\x00"


def find_linker() -> str | None:
    """The path of lld; None if there is none. Raises DiagnosticError if XHLO_LLD names no program."""
    chosen = os.environ.get(CHOICE, "")
    if chosen:
        found = shutil.which(chosen)
        if found is None:
            raise DiagnosticError(Diagnostic("error", f"{CHOICE} names {chosen}, which is no program"))
        return found
    rocm = Path(os.environ.get("ROCM_PATH", "/opt/rocm"), "llvm", "bin", "ld.lld")
    installed = sorted(Path("/usr/lib").glob("llvm-*/bin/ld.lld"), key=_number, reverse=True)
    candidates = [shutil.which("ld.lld"), *map(str, (rocm, *installed))]
    return next((path for path in candidates if path is not None and os.access(path, os.X_OK)), None)


def _number(path: Path) -> int:
    found = re.search(r"llvm-(\d+)", str(path))
    return int(found[1]) if found else 0


def linked(code: bytes) -> bytes:
    """The code object of an object file. Raises DiagnosticError without a linker, or if that refuses the file."""
    linker = find_linker()
    if linker is None:
        raise DiagnosticError(Diagnostic("error", MISSING))
    with tempfile.TemporaryDirectory(prefix="xhlo-") as folder:
        (Path(folder) / "kernels.o").write_bytes(code)
        command = [linker, "-shared", "--no-undefined", "kernels.o", "-o", "kernels.hsaco"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        made = Path(folder) / "kernels.hsaco"
        if done.returncode or not made.exists():
            said = (done.stdout + done.stderr).strip()
            raise DiagnosticError(Diagnostic("error", f"{linker} does not link the kernels: {said}"))
        return made.read_bytes()


@lru_cache(maxsize=4)
def _version(path: str) -> str:
    done = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def linker_version() -> str:
    """The linker's name for cache keys; empty without one."""
    linker = find_linker()
    return "" if linker is None else _version(linker)

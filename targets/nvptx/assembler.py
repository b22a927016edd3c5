"""
Assemble PTX to machine code of a chip (a cubin), by ptxas, or by nvJitLink in this process.

They are tried in this order: the ptxas that the environment variable XHLO_PTXAS names, the ptxas on PATH, that of the
wheel `nvidia-cuda-nvcc`, then the library of the wheel `nvidia-nvjitlink` or of a CUDA toolkit. An assembler that is
too old for the chip or the PTX version is skipped. XHLO_PTXAS=nvjitlink selects the library.
"""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from ...hlo_dialect.diagnostics import Diagnostic, DiagnosticError
from ...lowering.device.chips import Chip
from .resources import KernelResources, parse_resources

CHOICE = "XHLO_PTXAS"
NVJITLINK = "nvjitlink"

MISSING = (
    "PTX cannot be assembled: there is no ptxas on PATH and no nvJitLink; "
    "`pip install nvidia-cuda-nvcc` or `pip install nvidia-nvjitlink` brings one (--emit=ptx needs neither)"
)

_TOO_OLD = re.compile(
    r"Unsupported \.version|is not defined for option 'gpu-name'|ERROR_UNSUPPORTED_PTX_VERSION"
    r"|ERROR_UNRECOGNIZED_OPTION|ERROR_UNSUPPORTED_ARCH|[Uu]nsupported (?:gpu )?arch"
)
_PLACE = re.compile(r"^ptxas .*, line (\d+); error\s*: (.*)$", re.MULTILINE)


class AssemblyError(RuntimeError):
    """PTX that the assembler rejects: a bug of the compiler, or of a caller that passes its own PTX."""


class _TooOld(Exception):
    """The assembler does not know the chip or the PTX version; the message is the assembler's."""


@dataclass(frozen=True)
class Cubin:
    """Machine code of one chip."""

    code: bytes
    """An ELF file that the driver can load."""
    kernels: tuple[KernelResources, ...]
    """The resources of its kernels, sorted by name."""
    assembler: str
    """The assembler's name and version: "ptxas 13.0.88"."""


@dataclass(frozen=True)
class Assembler:
    """One way from PTX to a cubin."""

    name: str
    """The name with the version; part of cache keys, because the code depends on it."""
    run: Callable[[str, Chip], tuple[bytes, str]]
    """(PTX, chip) to (cubin, log). Raises AssemblyError."""


def assemble(ptx: str, chip: Chip) -> Cubin:
    """
    The machine code of a module of PTX for a chip.

    Raises DiagnosticError if there is no assembler or all are too old; AssemblyError for invalid PTX, with the
    assembler's messages and the lines they refer to.
    """
    refused: list[str] = []
    for assembler in assemblers():
        try:
            code, log = assembler.run(ptx, chip)
        except _TooOld as error:
            refused.append(f"{assembler.name}: {error}")
        else:
            return Cubin(code, parse_resources(log), assembler.name)
    if not refused:
        raise DiagnosticError(Diagnostic("error", MISSING))
    notes = tuple(Diagnostic("note", reason) for reason in refused)
    raise DiagnosticError(Diagnostic("error", f"no assembler at hand knows {chip.name} and its PTX", notes=notes))


def assemblers() -> Iterator[Assembler]:
    """
    The assemblers of this machine, in the order in which they are tried. Raises DiagnosticError for an invalid
    XHLO_PTXAS.
    """
    chosen = os.environ.get(CHOICE, "")
    if chosen and chosen != NVJITLINK:
        found = shutil.which(chosen)
        if found is None:
            raise DiagnosticError(Diagnostic("error", f"{CHOICE} names {chosen}, which is no program"))
        yield _ptxas(found)
        return
    if chosen != NVJITLINK:
        on_path = shutil.which("ptxas")
        if on_path is not None:
            yield _ptxas(on_path)
        for path in _ptxas_of_wheels():
            yield _ptxas(path)
    version = _nvjitlink_version()
    if version is not None:
        yield Assembler(f"nvJitLink {version}", _run_nvjitlink)


# ptxas -------------------------------------------------------------------------------------------------------------


def _ptxas_of_wheels() -> Iterator[str]:
    """The ptxas programs of the wheels `nvidia-cuda-nvcc` and `nvidia-cuda-nvcc-cu12`, newest first."""
    name = "ptxas.exe" if sys.platform == "win32" else "ptxas"
    for folder in sys.path:
        root = Path(folder or ".", "nvidia")
        for path in (*sorted(root.glob(f"cu[0-9]*/bin/{name}"), reverse=True), root / "cuda_nvcc" / "bin" / name):
            if os.access(path, os.X_OK):
                yield str(path)


@lru_cache
def _ptxas(path: str) -> Assembler:
    done = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
    version = re.search(r"\bV(\d+\.\d+\.\d+)", done.stdout)
    return Assembler(f"ptxas {version[1] if version else path}", lambda ptx, chip: _run_ptxas(path, ptx, chip))


def _run_ptxas(path: str, ptx: str, chip: Chip) -> tuple[bytes, str]:
    with tempfile.TemporaryDirectory(prefix="xhlo-") as folder:
        # The cubin contains the name of its source, so the name is always the same.
        (Path(folder) / "kernels.ptx").write_text(ptx)
        command = [path, "-v", f"-arch={chip.name}", "kernels.ptx", "-o", "kernels.cubin"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            raise _refusal(done.stdout + done.stderr, ptx)
        made = Path(folder) / "kernels.cubin"
        if not made.exists():
            raise DiagnosticError(Diagnostic("error", f"{path} writes no machine code: is it ptxas?"))
        return made.read_bytes(), done.stdout + done.stderr


def _refusal(log: str, ptx: str) -> Exception:
    """Classify an assembler's error: an assembler that is too old, or invalid PTX, shown with its lines."""
    if _TOO_OLD.search(log):
        lines = [line for line in log.splitlines() if _TOO_OLD.search(line)]
        return _TooOld(lines[0].strip())
    source = ptx.splitlines()
    places = [
        f"  line {number}: {message}\n    {source[int(number) - 1].strip() if int(number) <= len(source) else ''}"
        for number, message in _PLACE.findall(log)[:5]
    ]
    return AssemblyError("the PTX is refused:\n" + ("\n".join(places) or log.strip()))


# nvJitLink ---------------------------------------------------------------------------------------------------------


def _bindings() -> Any:
    """The bindings' module. It raises many kinds of errors if it or its dependencies are missing or do not fit."""
    return importlib.import_module("cuda.bindings.nvjitlink")


@lru_cache(maxsize=1)
def _nvjitlink_version() -> str | None:
    """The version of nvJitLink; None if the library or its bindings are missing."""
    try:
        return ".".join(map(str, _bindings().version()))
    except Exception:
        return None


def _run_nvjitlink(ptx: str, chip: Chip) -> tuple[bytes, str]:
    library = _bindings()
    options = [f"-arch={chip.name}", "-Xptxas=-v"]
    handle: Any = None
    try:
        handle = library.create(len(options), options)
        data = ptx.encode()
        library.add_data(handle, library.InputType.PTX, data, len(data), "kernels.ptx")
        library.complete(handle)
        code = bytearray(library.get_linked_cubin_size(handle))
        library.get_linked_cubin(handle, code)
        return bytes(code), _log(library.get_info_log_size, library.get_info_log, handle)
    except library.nvJitLinkError as error:
        log = "" if handle is None else _log(library.get_error_log_size, library.get_error_log, handle)
        raise _refusal(f"{log}\n{error}", ptx) from None
    finally:
        if handle is not None:
            library.destroy(handle)


def _log(size: Callable[[Any], int], read: Callable[[Any, bytearray], None], handle: Any) -> str:
    log = bytearray(size(handle))
    if log:
        read(handle, log)
    return log.rstrip(b"\0").decode(errors="replace")

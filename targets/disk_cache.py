"""
Executables kept in a folder from one process to the next: that of the environment variable XHLO_CACHE_DIR.

A file's name is the hash of all that decides what is in it: the program's text, the options, the versions of the
machine and its software, and the compiler's own files. A file that cannot be read is written anew, with a warning.
Nothing is ever deleted: that is for the owner of the folder.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import warnings
from functools import lru_cache
from importlib.metadata import entry_points
from pathlib import Path

from ..hlo_dialect.custom_calls.registry import ENTRY_POINT_GROUP, REGISTRY
from .executable import Executable
from .registry import Target
from .serialized import FORMAT, load_executable
from .source import Source

VARIABLE = "XHLO_CACHE_DIR"
_PACKAGE = Path(__file__).resolve().parents[1]
_FOLDERS = ("dialects", "hlo_dialect", "lowering", "passes", "targets")


def cache_folder() -> Path | None:
    """Where executables are kept; None where they are not."""
    folder = os.environ.get(VARIABLE)
    return Path(folder) if folder else None


def cache_path(folder: Path, source: Source, target: Target, profile: bool) -> Path | None:
    """The program's file; None where the program or the target is not to be kept."""
    if target.environment is None:
        return None
    # A registered function may be another one in another process.
    if "custom_call" in source.text and (REGISTRY.version or entry_points(group=ENTRY_POINT_GROUP)):
        return None
    parts = [FORMAT, target.environment(), compiler_fingerprint(), source.text, source.filename, target.name, profile]
    return folder / f"{hashlib.sha256(json.dumps(parts).encode()).hexdigest()}.xhlo"


@lru_cache(maxsize=1)
def compiler_fingerprint() -> str:
    """Changes when a file of the compiler does."""
    found = hashlib.sha256()
    for folder in _FOLDERS:
        for path in sorted((_PACKAGE / folder).rglob("*.py")):
            status = path.stat()
            found.update(f"{path.relative_to(_PACKAGE)} {status.st_size} {status.st_mtime_ns}\n".encode())
    return found.hexdigest()


def read(path: Path) -> Executable | None:
    """The executable in a file; None where there is none, or none that can be used."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        warnings.warn(f"{path} cannot be read: {error.strerror}", RuntimeWarning, stacklevel=2)
        return None
    try:
        return load_executable(data)
    except ValueError as error:
        warnings.warn(f"{path} is not used and will be written anew: {error}", RuntimeWarning, stacklevel=2)
        return None


def write(path: Path, executable: Executable) -> None:
    """Keep an executable. Readers see a whole file or none; a failure is a warning."""
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".", delete=False) as file:
            temporary = Path(file.name)
            file.write(executable.serialize())
        os.replace(temporary, path)
    except OSError as error:
        warnings.warn(f"{path} cannot be written: {error.strerror}", RuntimeWarning, stacklevel=2)
        if temporary is not None:
            temporary.unlink(missing_ok=True)

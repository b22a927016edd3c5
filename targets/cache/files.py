"""
A folder of checksummed files that outlives a process, named by the environment variable XHLO_CACHE_DIR.

A file's name is the hash of everything that determines its contents. A damaged or unreadable file is rewritten, with a
warning. Files are never deleted; the folder's owner is responsible for cleanup.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")

VARIABLE = "XHLO_CACHE_DIR"
MAGIC = b"XHLOKEPT"
"""Followed by the SHA-256 of the contents, then the contents."""


def cache_folder() -> Path | None:
    """The cache folder; None without one."""
    folder = os.environ.get(VARIABLE)
    return Path(folder) if folder else None


def kept(
    key: Sequence[Any], suffix: str, make: Callable[[], T], to_bytes: Callable[[T], bytes], load: Callable[[bytes], T]
) -> T:
    """
    The value stored for `key` (of JSON types); if there is none, the result of `make`, which is stored.

    `load` raises ValueError for unusable contents.
    """
    folder = cache_folder()
    if folder is None:
        return make()
    path = folder / f"{hashlib.sha256(json.dumps(key).encode()).hexdigest()}{suffix}"
    try:
        contents = read(path)
        if contents is not None:
            return load(contents)
    except ValueError as error:
        _warn(f"{path} is not used and will be written anew: {error}")
    value = make()
    write(path, to_bytes(value))
    return value


def read(path: Path) -> bytes | None:
    """The contents of a file; None if it cannot be read. Raises ValueError for a damaged file."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        _warn(f"{path} cannot be read: {error.strerror}")
        return None
    start = len(MAGIC) + hashlib.sha256().digest_size
    contents = data[start:]
    if data[:start] != MAGIC + hashlib.sha256(contents).digest():
        raise ValueError("it is damaged")
    return contents


def write(path: Path, contents: bytes) -> None:
    """Write a file. Readers see a whole file or none; a failure is a warning."""
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".", delete=False) as file:
            temporary = Path(file.name)
            file.write(MAGIC + hashlib.sha256(contents).digest() + contents)
        os.replace(temporary, path)
    except OSError as error:
        _warn(f"{path} cannot be written: {error.strerror}")
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def _warn(text: str) -> None:
    warnings.warn(text, RuntimeWarning, stacklevel=4)

"""
A folder of checksummed files that outlives a process, named by the environment variable XHLO_CACHE_DIR.

Without that variable executables are not kept, but the machine code of xhlo itself is, in the user's own folder for
caches: about 100 KB for each version of xhlo. `XHLO_CACHE_DIR=` (set, and empty) keeps nothing.

A file's name is the hash of everything that determines its contents. A damaged or unreadable file is rewritten, with a
warning; one that another user may have written is not used (trust.py). Files are never deleted; the folder's owner is
responsible for cleanup.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from .trust import SUPPORTED, NotTrustedError, make_folder, open_folder, read_file, write_file

T = TypeVar("T")

VARIABLE = "XHLO_CACHE_DIR"
MAGIC = b"XHLOKEPT"
"""Followed by the SHA-256 of the contents, then the contents."""


def cache_folder() -> Path | None:
    """The cache folder; None without one."""
    folder = os.environ.get(VARIABLE)
    if folder and not SUPPORTED:
        _warn(f"{VARIABLE} is ignored: on this system it cannot be seen who wrote a file")
        return None
    return Path(folder) if folder else None


def own_folder() -> Path | None:
    """The folder for machine code of xhlo itself; None if nothing is to be kept, or there is no folder for caches."""
    if VARIABLE in os.environ or not SUPPORTED:
        return cache_folder()
    chosen = os.environ.get("XDG_CACHE_HOME", "")
    # The specification of base directories: a relative path is invalid and ignored.
    caches = Path(chosen) if os.path.isabs(chosen) else _home_caches()
    return caches / "xhlo" if caches is not None and os.access(_existing(caches), os.W_OK) else None


def _home_caches() -> Path | None:
    try:
        home = Path.home()
    except RuntimeError:
        return None
    return home / "Library" / "Caches" if sys.platform == "darwin" else home / ".cache"


def _existing(path: Path) -> Path:
    """The path, or the nearest folder above it that exists."""
    return next(each for each in (path, *path.parents) if each.exists())


def fingerprint(root: Path, folders: Iterable[str]) -> str:
    """A hash of the names, sizes and times of the Python files in folders of `root`."""
    found = hashlib.sha256()
    for folder in folders:
        for path in sorted((root / folder).rglob("*.py")):
            status = path.stat()
            found.update(f"{path.relative_to(root)} {status.st_size} {status.st_mtime_ns}\n".encode())
    return found.hexdigest()


def kept(
    key: Sequence[Any],
    suffix: str,
    make: Callable[[], T],
    to_bytes: Callable[[T], bytes],
    load: Callable[[bytes], T],
    folder_of: Callable[[], Path | None] = cache_folder,
) -> T:
    """
    The value stored for `key` (of JSON types); if there is none, the result of `make`, which is stored.

    `load` raises ValueError for unusable contents.
    """
    folder = folder_of()
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
    """
    The contents of a file; None if it cannot be read, or if another user may have written it.

    Raises ValueError for a damaged file.
    """
    try:
        with open_folder(path.parent) as folder:
            data = read_file(folder, path)
    except FileNotFoundError:
        return None
    except NotTrustedError as error:
        _warn(f"the cache {path.parent} is not trusted: {error}")
        return None
    except OSError as error:
        _warn(f"{path} cannot be read: {error.strerror}")
        return None
    start = len(MAGIC) + hashlib.sha256().digest_size
    contents = data[start:]
    if data[:start] != MAGIC + hashlib.sha256(contents).digest():
        raise ValueError("it is damaged")
    return contents


def may_read(path: Path) -> bool:
    """Whether only this user can have written a file; if not, with a warning. A missing file may be read."""
    try:
        with open_folder(path.parent) as folder:
            read_file(folder, path)
    except NotTrustedError as error:
        _warn(f"the cache {path.parent} is not trusted: {error}")
        return False
    except OSError:
        pass
    return True


def write(path: Path, contents: bytes) -> None:
    """Write a file, for this user alone. Readers see a whole file or none; a failure is a warning."""
    try:
        make_folder(path.parent)
        with open_folder(path.parent) as folder:
            write_file(folder, path.name, MAGIC + hashlib.sha256(contents).digest() + contents)
    except NotTrustedError as error:
        _warn(f"the cache {path.parent} is not trusted: {error}")
    except OSError as error:
        _warn(f"{path} cannot be written: {error.strerror}")


_warned: set[str] = set()


def _warn(text: str) -> None:
    """Each text once in a process."""
    if text not in _warned:
        _warned.add(text)
        warnings.warn(text, RuntimeWarning, stacklevel=4)

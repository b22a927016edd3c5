"""
A folder of checksummed files that outlives a process: compiled programs, and the machine code of xhlo itself.

It is the user's own folder for caches, or that of the environment variable XHLO_CACHE_DIR; `XHLO_CACHE_DIR=` (set, and
empty) keeps nothing. The files of programs together take at most XHLO_CACHE_SIZE bytes (512 MB without it), and those
that were not used for longest go first; with `XHLO_CACHE_SIZE=0` no programs are kept.

A file's name is the hash of everything that determines its contents. A damaged or unreadable file is rewritten, with a
warning; one that another user may have written is not used (trust.py).
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from ...hlo_dialect.machine_memory import parse_size
from .eviction import make_room
from .trust import SUPPORTED, NotTrustedError, make_folder, open_file, open_folder, write_file

T = TypeVar("T")
S = TypeVar("S")

VARIABLE, SIZE_VARIABLE = "XHLO_CACHE_DIR", "XHLO_CACHE_SIZE"
DEFAULT_SIZE = 512 << 20
MAGIC = b"XHLOKEP2"
"""Followed by `_checksum`, then the contents."""
START = len(MAGIC) + hashlib.sha256().digest_size
_BLOCK = 4 << 10
"""Bytes that the smallest file takes."""
READ_AHEAD = 128 << 10
"""Bytes that are read at once of a file that is read in parts."""


def cache_folder() -> Path | None:
    """The folder for caches; None if nothing is to be kept, or there is no such folder."""
    chosen = os.environ.get(VARIABLE)
    if not SUPPORTED:
        if chosen:
            _warn(f"{VARIABLE} is ignored: on this system it cannot be seen who wrote a file")
        return None
    if chosen is not None:
        return Path(chosen) if chosen else None
    base = os.environ.get("XDG_CACHE_HOME", "")
    # The specification of base directories: a relative path is invalid and ignored.
    caches = Path(base) if os.path.isabs(base) else _home_caches()
    return caches / "xhlo" if caches is not None and os.access(_existing(caches), os.W_OK) else None


def program_folder() -> Path | None:
    """The folder for compiled programs; None if none are to be kept."""
    return cache_folder() if cache_size() else None


def cache_size() -> int:
    """The bytes that kept files may take together."""
    text = os.environ.get(SIZE_VARIABLE)
    if not text:
        return DEFAULT_SIZE
    try:
        return parse_size(text)
    except ValueError as error:
        _warn(f"{SIZE_VARIABLE} is ignored: {error}")
        return DEFAULT_SIZE


def _home_caches() -> Path | None:
    try:
        home = Path.home()
    except RuntimeError:
        return None
    return home / "Library" / "Caches" if sys.platform == "darwin" else home / ".cache"


def _existing(path: Path) -> Path:
    """The path, or the nearest folder above it that exists."""
    # A folder that this user may not look into, such as another's home, is none; Path.exists raises an error for it.
    return next(each for each in (path, *path.parents) if os.path.exists(each))


def fingerprint(root: Path | str, folders: Iterable[str]) -> str:
    """A hash of the names, sizes and times of the Python files in folders of `root`."""
    found = hashlib.sha256()
    for folder in folders:
        for line in sorted(_described(os.path.join(root, folder), folder)):
            found.update(line.encode())
    return found.hexdigest()


def _described(folder: str, name: str) -> Iterator[str]:
    """A line for each Python file in a folder and those in it; hundreds of files, so without a Path for each."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".py"):
                status = entry.stat()
                yield f"{name}/{entry.name} {status.st_size} {status.st_mtime_ns}\n"
            elif entry.is_dir() and entry.name != "__pycache__":
                yield from _described(entry.path, f"{name}/{entry.name}")


def kept(
    key: Sequence[Any],
    suffix: str,
    make: Callable[[], T],
    to_bytes: Callable[[T], bytes | None],
    load: Callable[[bytes], T],
    folder_of: Callable[[], Path | None] = program_folder,
) -> T:
    """
    The value stored for `key` (of JSON types); if there is none, the result of `make`, which is stored.

    `load` raises ValueError for unusable contents; `to_bytes` returns None for a value that is not to be stored.
    """
    path = place(key, suffix, folder_of)
    found = None if path is None else stored(path, load)
    if found is not None:
        return found
    value = make()
    contents = None if path is None else to_bytes(value)
    if path is not None and contents is not None:
        write(path, contents)
    return value


def place(key: Sequence[Any], suffix: str, folder_of: Callable[[], Path | None]) -> Path | None:
    """The file of a key (of JSON types); None if nothing is kept."""
    folder = folder_of()
    if folder is None:
        return None
    return folder / f"{hashlib.sha256(MAGIC + json.dumps(key).encode()).hexdigest()}{suffix}"


def _checksum(path: Path, contents: bytes) -> bytes:
    """The SHA-256 of a file's name, which says whose code it is, and its contents."""
    found = hashlib.sha256(path.name.encode() + b"\0")
    found.update(contents)
    return found.digest()


def stored(path: Path, load: Callable[[bytes], T]) -> T | None:
    """The contents of a file, loaded; None if there are none, and with a warning if they are unusable."""
    return _loaded(path, read, load)


class Parts:
    """
    Contents of a file that are read where they are used.

    They are not mapped into memory: where another machine replaces a file on a network, a process that reads the
    memory of the old one would be ended. What follows a part is read with it, as it is mostly asked for next.
    """

    _descriptor = -1
    _ahead: tuple[int, bytes] = 0, b""
    """The part that was read last, and where it begins."""

    def __init__(self, file: BinaryIO) -> None:
        self._descriptor = os.dup(file.fileno())
        self._size = os.fstat(self._descriptor).st_size

    def read(self, start: int, end: int) -> bytes:
        """Bytes of the contents; fewer if they cannot be read."""
        begin, found = self._ahead
        if start < begin or end > begin + len(found):
            size = max(end - start, READ_AHEAD)
            try:
                found = os.pread(self._descriptor, min(size, self._size), START + start)
            except OSError:
                return b""
            begin = start
            self._ahead = begin, found
        return found[start - begin : end - begin]

    def __del__(self, close: Callable[[int], None] = os.close) -> None:
        # The names of modules are gone when the process ends.
        try:  # noqa: SIM105
            close(self._descriptor)
        except OSError:
            pass


def stored_in_parts(path: Path, load: Callable[[Parts], T]) -> T | None:
    """The same of contents that are read where they are used, and whose damage is for `load` to find."""
    return _loaded(path, lambda path: _opened(path, Parts), load)


def _loaded(path: Path, contents_of: Callable[[Path], S | None], load: Callable[[S], T]) -> T | None:
    try:
        contents = contents_of(path)
        return None if contents is None else load(contents)
    except ValueError as error:
        _warn(f"{path} is not used and will be written anew: {error}")
        return None


def read(path: Path) -> bytes | None:
    """
    The contents of a file; None if it cannot be read, or if another user may have written it.

    Raises ValueError for a file that is damaged, or that was written under another name.
    """
    data = _opened(path, lambda file: file.read())
    if data is None:
        return None
    contents = data[START:]
    if data[:START] != MAGIC + _checksum(path, contents):
        raise ValueError("it is damaged")
    return contents


def _opened(path: Path, use: Callable[[BinaryIO], T]) -> T | None:
    """The result of `use` for a file; None if it cannot be read, or if another user may have written it."""
    try:
        with open_folder(path.parent) as folder, open_file(folder, path) as file:
            return use(file)
    except FileNotFoundError:
        return None
    except NotTrustedError as error:
        _warn(f"the cache {path.parent} is not trusted: {error}")
        return None
    except OSError as error:
        _warn_of_folder(path, "read", error)
        return None


def may_read(path: Path) -> bool:
    """Whether only this user can have written a file; if not, with a warning. A missing file may be read."""
    try:
        with open_folder(path.parent) as folder, open_file(folder, path):
            pass
    except NotTrustedError as error:
        _warn(f"the cache {path.parent} is not trusted: {error}")
        return False
    except OSError:
        pass
    return True


def write(path: Path, contents: bytes, *, limited: bool = True) -> None:
    """
    Write a file, for this user alone. Readers see a whole file or none; a failure is a warning.

    A file that is larger than an eighth of what may be kept is not, if it is `limited`. Some writes, chosen by their
    checksums, remove what is too much: on average one each time that a 64th of what may be kept is written.
    """
    limit = cache_size() or DEFAULT_SIZE
    if limited and len(contents) > limit // 8:
        return
    try:
        make_folder(path.parent)
        with open_folder(path.parent) as folder:
            checksum = _checksum(path, contents)
            write_file(folder, path.name, MAGIC + checksum + contents)
            if int.from_bytes(checksum[:4]) * limit < (len(contents) + _BLOCK) * 64 << 32:
                make_room(folder, limit)
    except NotTrustedError as error:
        _warn(f"the cache {path.parent} is not trusted: {error}")
    except OSError as error:
        _warn_of_folder(path, "written", error)


_warned: set[str] = set()


def _warn(text: str, about: str | None = None) -> None:
    """Each text once in a process, or one of those about the same thing."""
    about = about or text
    if about not in _warned:
        _warned.add(about)
        warnings.warn(text, RuntimeWarning, stacklevel=4)


def _warn_of_folder(path: Path, done: str, error: OSError) -> None:
    """Name the first file only: a program has dozens, and the reason is mostly that of their folder."""
    _warn(f"{path} cannot be {done}: {error.strerror}", f"{path.parent} {done} {error.strerror}")

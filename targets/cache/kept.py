"""
Facts of installed files that processes would learn again and again, in one file each beside the compiler's byte code.

Python keeps the byte code of a module in `__pycache__`; these facts follow from installed files just as that does.
Where the folder is not this user's, or Python writes no byte code, the folder for caches takes its place.
"""

from __future__ import annotations

import atexit
import marshal
import os
import sys
from collections.abc import Callable, Mapping
from functools import cache
from importlib.util import MAGIC_NUMBER, cache_from_source
from pathlib import Path
from struct import pack, unpack
from typing import Any
from zlib import crc32

from .files import VARIABLE, Parts, cache_folder, place, stored_in_parts, write
from .trust import SUPPORTED, NotTrustedError, open_folder

_FORMAT = b"2" + MAGIC_NUMBER
LIMIT = 32 << 20
"""Bytes of a file beyond which only what the last process used is kept: other versions of files make room."""


class Kept:
    """
    Values by key, both of the types that `marshal` writes: those of a file, and those that this process has added.

    `last` is called when the process ends, for values that are not worth the time before.
    """

    def __init__(self, name: str, last: Callable[[], None] | None = None) -> None:
        self.name = name
        self._last = last
        self._files: list[_File] | None = None
        self._used: set[Any] = set()
        self._new: dict[Any, bytes] = {}
        self._ends = False

    def get(self, key: Any) -> Any:
        """The value of a key, made anew; None if there is none."""
        self._used.add(key)
        data: bytes | None = self._new.get(key)
        if data is None:
            data = next((data for file in self._opened() if key in file.places and (data := file.data(key))), None)
        return None if data is None else marshal.loads(data)

    def add(self, key: Any, value: Any) -> None:
        """Keep a value, from the end of this process on for others."""
        self.ends_with_it()
        self._used.add(key)
        self._new[key] = marshal.dumps(value)

    def ends_with_it(self) -> None:
        """Store what there is to add when the process ends."""
        if not self._ends:
            self._ends = True
            atexit.register(self.keep)

    def is_beside_byte_code(self) -> bool:
        """Whether these values, if they are stored at all, are beside the byte code that Python stores."""
        written = _written(self.name)
        return written is None or written == _paths(self.name)[0]

    def keep(self) -> None:
        """Store what this process has added, beside what others have stored meanwhile."""
        path = _written(self.name)
        if path is None:
            return
        if self._last is not None:
            self._last()
        if not self._new:
            return
        self._files = None
        every: dict[Any, bytes] = {
            key: data for file in reversed(self._opened()) for key in file.places if (data := file.data(key))
        }
        every.update(self._new)
        if sum(map(len, every.values())) > LIMIT:
            every = {key: data for key, data in every.items() if key in self._used}
        # The size of the folder for caches does not say what may lie beside byte code.
        write(path, _joined(every), limited=path != _paths(self.name)[0])
        self._files = None
        self._new.clear()

    def _opened(self) -> list[_File]:
        if self._files is None:
            written = _written(self.name)
            paths = [path for path in _paths(self.name) if path is not None and os.path.exists(path)]
            # First that to which values of changed files are added.
            found = [stored_in_parts(path, _File) for path in sorted(paths, key=lambda path: path != written)]
            self._files = [file for file in found if file is not None]
        return self._files


class _File:
    """
    The values of a file, each read when it is asked for.

    The format and the version of byte code, the length and the checksum of a table, the table, and the values. The
    table has the place and the checksum of each. They are short ones: Python's own byte code has none.
    """

    def __init__(self, contents: Parts) -> None:
        """Raises ValueError if the table is damaged."""
        self.places: dict[Any, tuple[int, int, int]] = {}
        self._contents = contents
        start = len(_FORMAT) + 8
        head = contents.read(0, start)
        if head[: len(_FORMAT)] != _FORMAT:
            return  # of another version of Python, whose byte code has the same tag
        if len(head) < start:
            raise ValueError("it is damaged")
        length, checksum = unpack("<II", head[-8:])
        self._values = start + length
        table = contents.read(start, self._values)
        if crc32(table) != checksum:
            raise ValueError("it is damaged")
        self.places = marshal.loads(table)

    def data(self, key: Any) -> bytes:
        """The bytes of a value; none if they are damaged."""
        start, end, checksum = self.places[key]
        data = self._contents.read(self._values + start, self._values + end)
        return data if crc32(data) == checksum else b""


def _joined(values: Mapping[Any, bytes]) -> bytes:
    """The contents of a file; see `_File`."""
    places: dict[Any, tuple[int, int, int]] = {}
    end = 0
    for key, data in values.items():
        places[key] = (end, end := end + len(data), crc32(data))
    table = marshal.dumps(places)
    return b"".join((_FORMAT, pack("<II", len(table), crc32(table)), table, *values.values()))


def _paths(name: str) -> tuple[Path | None, Path | None]:
    """The files for this version of Python, beside byte code and in the folder for caches; None where none is kept."""
    if os.environ.get(VARIABLE) == "":
        return None, None
    beside = Path(cache_from_source(__file__)).with_suffix(f".{name}")  # __pycache__/kept.cpython-311.methods
    # Byte code names the folder that it is in.
    elsewhere = place([*beside.suffixes, sys.pycache_prefix], ".code", cache_folder)
    return beside if _is_ours(beside.parent) else None, elsewhere


def _written(name: str) -> Path | None:
    """The one of these that is written."""
    beside, elsewhere = _paths(name)
    writes = beside is not None and not sys.dont_write_bytecode and os.access(beside.parent, os.W_OK)
    return beside if writes else elsewhere


@cache
def _is_ours(folder: Path) -> bool:
    """Whether only this user may write the folder."""
    if not SUPPORTED:
        return False
    try:
        with open_folder(folder):
            return True
    except (OSError, NotTrustedError):
        return False

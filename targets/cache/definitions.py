"""
The code that Python generates for classes, kept from one process to the next.

For each class `dataclasses` writes the methods as text and compiles it, in every process anew: that took a sixth of a
first compilation, most of it for the classes of xDSL. Here compiled code is found by the hash of its text.
"""

from __future__ import annotations

import atexit
import builtins
import dataclasses
import hashlib
import marshal
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType
from typing import Any

from .files import cache_folder, place, stored, write

LIMIT = 8 << 20
"""Bytes of kept code beyond which only that of the last process is kept: texts of other versions make room."""


class Definitions:
    """Code by the hash of its text: that of the file, and that which this process has added."""

    def __init__(self) -> None:
        self.compiled = 0
        """The number of texts that were compiled, because they were not kept."""
        self._kept: dict[bytes, bytes] | None = None
        self._used: set[bytes] = set()
        self._new: dict[bytes, bytes] = {}

    def code_of(self, text: str) -> CodeType:
        """
        The code of a text. It is another object for each call: what the interpreter learns about the classes that a
        function meets is stored with its code, and classes whose methods are alike should not share that.
        """
        if self._kept is None:
            self._kept = self._read()
        name = hashlib.sha256(text.encode()).digest()
        self._used.add(name)
        data = self._kept.get(name) or self._new.get(name)
        if data is not None:
            return marshal.loads(data)
        self.compiled += 1
        code = compile(text, "<string>", "exec", dont_inherit=True)
        if not self._new:
            atexit.register(self.keep)
        self._new[name] = marshal.dumps(code)
        return code

    def keep(self) -> None:
        """Store what this process has added, beside what others have stored meanwhile."""
        path = _file()
        if path is None or not self._new:
            return
        every = self._read() | self._new
        if sum(map(len, every.values())) > LIMIT:
            every = {name: data for name, data in every.items() if name in self._used}
        write(path, marshal.dumps(every))
        self._new.clear()

    def _read(self) -> dict[bytes, bytes]:
        path = _file()
        return (path and stored(path, _loaded)) or {}


def _file() -> Path | None:
    """The file for this version of Python: others have other instructions."""
    made_by = (sys.implementation.cache_tag, sys.hexversion, sys.flags.optimize)
    return place(("definitions", *made_by), ".code", cache_folder)


def _loaded(contents: bytes) -> dict[bytes, bytes]:
    """Raises ValueError if it is something else."""
    try:
        return dict(marshal.loads(contents))
    except (EOFError, TypeError) as error:
        raise ValueError("it holds no code") from error


DEFINITIONS = Definitions()

_NAMES = dataclasses.__dict__
_lock = threading.Lock()
_scopes = 0


def _execute(text: Any, globals_: dict[str, Any] | None = None, locals_: Any = None) -> None:
    """`exec`, as `dataclasses` calls it."""
    code = DEFINITIONS.code_of(text) if isinstance(text, str) else text
    builtins.exec(code, _NAMES if globals_ is None else globals_, locals_)


@contextmanager
def kept_definitions() -> Generator[None]:
    """Use kept code for the methods of dataclasses that are defined inside; the classes are the same."""
    global _scopes
    with _lock:
        _scopes += 1
        _NAMES.setdefault("exec", _execute)
    try:
        yield
    finally:
        with _lock:
            _scopes -= 1
            if not _scopes and _NAMES.get("exec") is _execute:
                del _NAMES["exec"]

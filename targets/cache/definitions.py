"""
The code that Python generates for classes, kept from one process to the next.

For each class `dataclasses` writes the methods as text and compiles it, in every process anew: that took a sixth of a
first compilation, most of it for the classes of xDSL. Here compiled code is found by its text.
"""

from __future__ import annotations

import builtins
import dataclasses
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import CodeType
from typing import Any

from .kept import Kept


class Definitions:
    """Code by its text."""

    def __init__(self) -> None:
        self.compiled = 0
        """The number of texts that were compiled, because they were not kept."""
        self.kept = Kept("methods")

    def code_of(self, text: str) -> CodeType:
        """
        The code of a text. It is another object for each call: what the interpreter learns about the classes that a
        function meets is stored with its code, and classes whose methods are alike should not share that.
        """
        code = self.kept.get(text)
        if code is not None:
            return code
        self.compiled += 1
        code = compile(text, "<string>", "exec", dont_inherit=True)
        self.kept.add(text, code)
        return code


DEFINITIONS = Definitions()

_NAMES = dataclasses.__dict__
_lock = threading.RLock()  # a handler of a signal may compile meanwhile
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
                _NAMES.pop("exec", None)

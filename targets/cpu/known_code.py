"""
The functions that programs share, by keys that state what their code depends on (see `KnownFunctions`).

A key leads to the symbol of a function, and the symbol to its object file (`compile_units`); this process and the
cache folder keep both. So a program's products and transforms are mostly there before they are lowered. With the symbol
of a whole kernel are the types of the buffers that it takes after its arguments.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ...dialects.support.buffers import Buffer, buffer_of_text, buffer_text
from ...hlo_dialect.plugins import fingerprint as plugins_fingerprint
from ..cache.files import cache_folder, place, stored, write
from ..llvm_text.module import SHARED_SYMBOL
from .jit import made_by, shared_code

_KEPT = 1024
_SYMBOL = re.compile(SHARED_SYMBOL + r"[0-9a-f]{24}")
_IN_CODE = re.compile(_SYMBOL.pattern.encode())


class _Known(NamedTuple):
    symbol: str
    scratch: tuple[Buffer, ...]


_symbols: OrderedDict[str, _Known] = OrderedDict()
"""Functions by key, the last ones that were made or read."""


class KnownCode:
    """The shared functions that one compilation finds."""

    def __init__(self) -> None:
        self.codes: dict[str, bytes] = {}
        """Object files by symbol."""
        self._scratch: dict[str, tuple[Buffer, ...]] = {}

    def symbol_of(self, key: str) -> str | None:
        """
        The symbol of a function whose code there is, with that of the functions that it calls; all of it is among
        `codes` then.
        """
        known = _symbols.get(key) or _stored(key)
        codes = None if known is None else _code_with_callees(known.symbol)
        if known is None or codes is None:
            return None
        self.codes |= codes
        self._scratch[key] = known.scratch
        return known.symbol

    def scratch_of(self, key: str) -> Sequence[Buffer]:
        """The types of the buffers that a kernel whose symbol was found takes after its arguments."""
        return self._scratch[key]


def _code_with_callees(symbol: str) -> dict[str, bytes] | None:
    """The object files of a function and of all that it calls, by symbol; None if one is not kept."""
    found: dict[str, bytes] = {}
    waiting = [symbol]
    while waiting:
        each = waiting.pop()
        code = shared_code(each)
        if code is None:
            return None
        found[each] = code
        # An object file has the symbols that it refers to in its table.
        named = {match.decode() for match in _IN_CODE.findall(code)}
        waiting += named - found.keys()
    return found


def note_symbols(symbols: Mapping[str, str], scratch: Mapping[str, Sequence[Buffer]]) -> None:
    """
    Keep the symbols of functions by key, those of kernels with their `scratch` buffers; their code is kept already.
    """
    for key, symbol in symbols.items():
        if key in _symbols and _symbols[key].symbol == symbol:
            continue  # those that were found are among them, with their buffers
        known = _Known(symbol, tuple(scratch.get(key, ())))
        words = [symbol, *map(buffer_text, known.scratch)]
        if None in words:
            continue
        _remember(key, known)
        path = _file(key)
        if path is not None:
            write(path, " ".join(filter(None, words)).encode())


def _remember(key: str, known: _Known) -> None:
    _symbols[key] = known
    while len(_symbols) > _KEPT:
        _symbols.popitem(last=False)


def _stored(key: str) -> _Known | None:
    path = _file(key)
    known = path and stored(path, _read)
    if known:
        _remember(key, known)
    return known or None


def _read(contents: bytes) -> _Known:
    symbol, *buffers = contents.decode("ascii", "replace").split(" ")
    if not _SYMBOL.fullmatch(symbol):
        raise ValueError("it names no function")
    return _Known(symbol, tuple(map(buffer_of_text, buffers)))


def _file(key: str) -> Path | None:
    """The file of a key. The key states what a body depends on, but for the compiler that makes it."""
    from ..cache.executables import compiler_fingerprint

    return place(("known", key, compiler_fingerprint(), plugins_fingerprint(), *made_by()), ".key", cache_folder)

"""
The functions that programs share, by keys that state what their code depends on (see `KnownFunctions`).

A key leads to the symbol of a function, and the symbol to its object file (`compile_units`); this process and the
cache folder keep both. So a program's products and transforms are mostly there before they are lowered.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path

from ...hlo_dialect.plugins import fingerprint as plugins_fingerprint
from ..cache.files import cache_folder, place, stored, write
from ..llvm_text.module import SHARED_SYMBOL
from .jit import made_by, shared_code

_KEPT = 1024
_SYMBOL = re.compile(SHARED_SYMBOL + r"[0-9a-f]{24}")
_IN_CODE = re.compile(_SYMBOL.pattern.encode())

_symbols: OrderedDict[str, str] = OrderedDict()
"""Symbols by key, the last ones that were made or read."""


class KnownCode:
    """The shared functions that one compilation finds."""

    def __init__(self) -> None:
        self.codes: dict[str, bytes] = {}
        """Object files by symbol."""

    def symbol_of(self, key: str) -> str | None:
        """
        The symbol of a function whose code there is, with that of the functions that it calls; all of it is among
        `codes` then.
        """
        symbol = _symbols.get(key) or _stored_symbol(key)
        codes = None if symbol is None else _code_with_callees(symbol)
        if codes is None:
            return None
        self.codes |= codes
        return symbol


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


def note_symbols(symbols: Mapping[str, str]) -> None:
    """Keep the symbols of functions by key; their code is kept already."""
    for key, symbol in symbols.items():
        if _symbols.get(key) == symbol:
            continue
        _remember(key, symbol)
        path = _file(key)
        if path is not None:
            write(path, symbol.encode())


def _remember(key: str, symbol: str) -> None:
    _symbols[key] = symbol
    while len(_symbols) > _KEPT:
        _symbols.popitem(last=False)


def _stored_symbol(key: str) -> str | None:
    path = _file(key)
    symbol = path and stored(path, _read)
    if symbol:
        _remember(key, symbol)
    return symbol or None


def _read(contents: bytes) -> str:
    symbol = contents.decode("ascii", "replace")
    if not _SYMBOL.fullmatch(symbol):
        raise ValueError("it names no function")
    return symbol


def _file(key: str) -> Path | None:
    """The file of a key. The key states what a body depends on, but for the compiler that makes it."""
    from ..cache.executables import compiler_fingerprint

    return place(("known", key, compiler_fingerprint(), plugins_fingerprint(), *made_by()), ".key", cache_folder)

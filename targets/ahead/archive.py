"""Archives (`libmodel.a`, `model.lib`) of object files: System V's for ELF, COFF and WebAssembly, BSD's for Mach-O."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

from .machine import Format

_MAGIC = b"!<arch>\n"


def archive(members: Mapping[str, bytes], symbols: Mapping[str, Sequence[str]], form: Format = Format.ELF) -> bytes:
    """
    An archive of files by name, at most 15 characters each, with the table of the symbols that each defines.

    Times, owners and permissions are constant: equal members give equal bytes. Source: ar(5) of System V and of BSD.
    """
    for name in members:
        if len(name) > 15:
            raise ValueError(f"the member's name '{name}' is longer than 15 characters")
    return (_bsd if form is Format.MACH_O else _system_v)(members, symbols)


def _system_v(members: Mapping[str, bytes], symbols: Mapping[str, Sequence[str]]) -> bytes:
    names = [(symbol, member) for member in members for symbol in symbols[member]]
    strings = b"".join(symbol.encode() + b"\0" for symbol, _ in names)
    table_size = 4 + 4 * len(names) + len(strings)
    at = len(_MAGIC) + 60 + table_size + table_size % 2
    places: dict[str, int] = {}
    for name, content in members.items():
        places[name] = at
        at += 60 + len(content) + len(content) % 2
    offsets = b"".join(struct.pack(">I", places[member]) for _, member in names)
    table = struct.pack(">I", len(names)) + offsets + strings
    return b"".join([_MAGIC, _member("/", table), *(_member(f"{name}/", content) for name, content in members.items())])


_NAME = 20
"""The bytes of a member's name, which come before its content: 8 bytes of head and name, content aligned to 8."""


def _bsd(members: Mapping[str, bytes], symbols: Mapping[str, Sequence[str]]) -> bytes:
    """The names of symbols begin with an underscore; members are aligned to 8 bytes."""
    names = [(f"_{symbol}", member) for member in members for symbol in symbols[member]]
    strings = b"".join(symbol.encode() + b"\0" for symbol, _ in names)
    strings = strings.ljust(-(-len(strings) // 8) * 8, b"\0")
    at = len(_MAGIC) + 60 + _NAME + 8 + 8 * len(names) + len(strings)
    places: dict[str, int] = {}
    contents = {name: content.ljust(-(-len(content) // 8) * 8, b"\0") for name, content in members.items()}
    for name, content in contents.items():
        places[name] = at
        at += 60 + _NAME + len(content)
    table, place = struct.pack("<I", 8 * len(names)), 0
    for symbol, member in names:
        table += struct.pack("<II", place, places[member])
        place += len(symbol) + 1
    table += struct.pack("<I", len(strings)) + strings
    return b"".join([_MAGIC, *(_long_member(name, each) for name, each in {"__.SYMDEF": table, **contents}.items())])


def _long_member(name: str, content: bytes) -> bytes:
    return _member(f"#1/{_NAME}", name.encode().ljust(_NAME, b"\0") + content)


def _member(name: str, content: bytes) -> bytes:
    header = f"{name:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(content):<10}`\n".encode()
    return header + content + b"\n" * (len(content) % 2)

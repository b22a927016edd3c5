"""Unix archives (`libmodel.a`) of object files: the common format of GNU's and BSD's linkers."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

_MAGIC = b"!<arch>\n"


def archive(members: Mapping[str, bytes], symbols: Mapping[str, Sequence[str]]) -> bytes:
    """
    An archive of files by name, at most 15 characters each, with the table of the symbols that each defines.

    Times, owners and permissions are constant: equal members give equal bytes. Source: System V's ar(5).
    """
    for name in members:
        if len(name) > 15:
            raise ValueError(f"the member's name '{name}' is longer than 15 characters")
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


def _member(name: str, content: bytes) -> bytes:
    header = f"{name:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(content):<10}`\n".encode()
    return header + content + b"\n" * (len(content) % 2)

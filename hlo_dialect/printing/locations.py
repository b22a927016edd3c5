"""
Locations as aliases: `loc(#loc7)` at each use and `#loc7 = loc("f.py":3:7)` once, after the module.

Traced programs carry chains of call sites that share most of their links. Written out at each operation, they would be
larger than the program.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from xdsl.dialects.builtin import (
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    LocationAttr,
    NameLoc,
    NoneAttr,
    StringAttr,
    UnknownLoc,
)
from xdsl.ir import Attribute


class LocationNames:
    """
    Gives every location a name at its first use; `definitions` are (name, text) in an order that reads back.

    A location is told from others by its text, in which its parts are names: locations share their parts so much that
    to hash or compare them whole takes exponential time.
    """

    def __init__(self, text_of: Callable[[Attribute], str]) -> None:
        """`text_of` is the text of attributes."""
        self.definitions: list[tuple[str, str]] = []
        self._text_of = text_of
        self._names: dict[int, tuple[str, Attribute]] = {}
        self._names_of_texts: dict[str, str] = {}
        self._literals: dict[str, str] = {}

    def name(self, location: LocationAttr) -> str:
        """`#loc7`, or `unknown`."""
        found = self._names.get(id(location))
        if found is not None:
            return found[0]
        waiting: list[LocationAttr] = [location]
        while waiting:
            inner = waiting[-1]
            unnamed = [part for part in parts_of(inner) if id(part) not in self._names]
            if unnamed:
                waiting += reversed(unnamed)
            else:
                waiting.pop()
                self._names[id(inner)] = (self._new_name(inner), inner)
        return self._names[id(location)][0]

    def _new_name(self, location: LocationAttr) -> str:
        """The name of a location whose parts have names."""
        if isinstance(location, UnknownLoc):
            return "unknown"
        text = self._text(location)
        name = self._names_of_texts.get(text)
        if name is None:
            name = self._names_of_texts[text] = f"#loc{len(self.definitions) + 1}"
            self.definitions.append((name, text))
        return name

    def _text(self, location: LocationAttr) -> str:
        names = [self._names[id(part)][0] for part in parts_of(location)]
        match location:
            case FileLineColLoc():
                return f"{self._literal(location.filename)}:{location.line.data}:{location.column.data}"
            case NameLoc():
                return f"{self._literal(location.desc)}{f'({names[0]})' if names else ''}"
            case CallSiteLoc():
                return f"callsite({names[0]} at {names[1]})"
            case FusedLoc():
                metadata = "" if isinstance(location.metadata, NoneAttr) else f"<{self._text_of(location.metadata)}>"
                return f"fused{metadata}[{', '.join(names)}]"
            case _:
                return "unknown"

    def _literal(self, string: StringAttr) -> str:
        """The text of a string; names of files repeat on almost every line."""
        text = self._literals.get(string.data)
        if text is None:
            text = self._literals[string.data] = self._text_of(string)
        return text


def parts_of(location: LocationAttr) -> list[LocationAttr]:
    """The locations that a location is made of."""
    match location:
        case NameLoc():
            parts = () if isinstance(location.location, NoneAttr) else (location.location,)
        case CallSiteLoc():
            parts = (location.callee, location.caller)
        case FusedLoc():
            parts = location.locations  # pyright: ignore
        case _:
            parts = ()
    return cast("list[LocationAttr]", list(parts))  # pyright: ignore

"""
Locations as aliases: `loc(#loc7)` at each use and `#loc7 = loc("f.py":3:7)` once, after the module.

Traced programs carry chains of call sites that share most of their links. Written out at each operation, they would be
larger than the program.
"""

from __future__ import annotations

from io import StringIO
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
from xdsl.printer import Printer


class LocationNames:
    """Gives every location a name at its first use; `definitions` are (name, text) in an order that reads back."""

    def __init__(self) -> None:
        self.definitions: list[tuple[str, str]] = []
        self._names: dict[Attribute, str] = {}

    def name(self, location: LocationAttr) -> str:
        """`#loc7`, or `unknown`."""
        if isinstance(location, UnknownLoc):
            return "unknown"
        found = self._names.get(location)
        if found is None:
            text = self._text(location)
            found = self._names[location] = f"#loc{len(self.definitions) + 1}"
            self.definitions.append((found, text))
        return found

    def _text(self, location: LocationAttr) -> str:
        match location:
            case FileLineColLoc():
                return f"{_quoted(location.filename)}:{location.line.data}:{location.column.data}"
            case NameLoc():
                child = location.location
                inner = "" if isinstance(child, NoneAttr) else f"({self.name(cast(LocationAttr, child))})"
                return f"{_quoted(location.desc)}{inner}"
            case CallSiteLoc():
                callee, caller = cast(LocationAttr, location.callee), cast(LocationAttr, location.caller)
                return f"callsite({self.name(callee)} at {self.name(caller)})"
            case FusedLoc():
                parts = cast("list[LocationAttr]", list(location.locations))  # pyright: ignore
                names = ", ".join([self.name(part) for part in parts])
                metadata = "" if isinstance(location.metadata, NoneAttr) else f"<{_printed(location.metadata)}>"
                return f"fused{metadata}[{names}]"
            case _:
                return "unknown"


def _quoted(text: StringAttr) -> str:
    return _printed(text)


def _printed(attribute: Attribute) -> str:
    stream = StringIO()
    Printer(stream).print_attribute(attribute)
    return stream.getvalue()

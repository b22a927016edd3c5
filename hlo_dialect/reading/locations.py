"""
Locations: positions in the text for operations without one of their own, and MLIR's `loc(...)` in all its forms.

Location aliases (`#loc3 = loc(...)`) usually come after their uses, at the end of the file. A scan over the text finds
them when the first one is needed; each is parsed after those that it refers to.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    IntAttr,
    LocationAttr,
    NameLoc,
    StringAttr,
)
from xdsl.ir import Attribute, BuiltinAttribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.printer import Printer

_ALIAS = re.compile(r"^(#[a-zA-Z$._-][\w$.-]*)[ \t]*=[ \t]*(?=loc\b)", re.MULTILINE | re.ASCII)
_NEXT_ALIAS = re.compile(r"[ \t\r]*\n#[a-zA-Z$._-][\w$.-]*[ \t]*=[ \t]*(?=loc\b)", re.ASCII)
_REFERENCE = re.compile(r"#[a-zA-Z$._-][\w$.-]*", re.ASCII)
_NEWLINE = re.compile("\n")
_PLAIN = re.compile(
    r"""loc\((?:
        "(?P<text>[^"\\\n\v\f]*)"
        (?: :(?P<line>\d{1,9}):(?P<column>\d{1,9}) (?:\ to\ (?:\d{1,9})?:\d{1,9})? | \((?P<place>\#[\w$-]+)\) )
        | callsite\((?P<callee>\#[\w$-]+)\ at\ (?P<caller>\#[\w$-]+)\)
    )\)[ \t\r]*$""",
    re.MULTILINE | re.ASCII | re.VERBOSE,
)


@irdl_attr_definition
class DistinctAttr(ParametrizedAttribute, BuiltinAttribute):
    """`distinct[3]<attribute>`: an attribute that is equal to no other; debug information in `fused<..>` uses it."""

    name = "builtin.distinct"
    identity: IntAttr
    attribute: Attribute

    def print_builtin(self, printer: Printer) -> None:
        printer.print_string(f"distinct[{self.identity.data}]<")
        printer.print_attribute(self.attribute)
        printer.print_string(">")


@lru_cache(maxsize=1 << 16)
def _int_attr(value: int) -> IntAttr:
    return IntAttr(value)


class SourcePositions:
    """Line and column of any offset in a text, and the location attributes for them."""

    def __init__(self, text: str, filename: str):
        self.filename = StringAttr(filename)
        self.starts = [0, *(match.end() for match in _NEWLINE.finditer(text))]

    def line_and_column(self, offset: int) -> tuple[int, int]:
        """Both counted from one."""
        line = bisect_right(self.starts, offset)
        return line, offset - self.starts[line - 1] + 1

    def location(self, offset: int) -> FileLineColLoc:
        line = bisect_right(self.starts, offset)
        return make_file_location(self.filename, line, offset - self.starts[line - 1] + 1)


def make_file_location(filename: StringAttr, line: int, column: int) -> FileLineColLoc:
    """`FileLineColLoc(..)` without its constructor's checks, which take longer than the rest of an operation."""
    location = FileLineColLoc.__new__(FileLineColLoc)
    facts: dict[str, Attribute] = vars(location)
    facts["filename"] = filename
    facts["line"] = _int_attr(line)
    facts["column"] = _int_attr(column)
    return location


def make_name_location(name: str, place: LocationAttr) -> NameLoc:
    """`NameLoc(..)` without its constructor's checks."""
    location = NameLoc.__new__(NameLoc)
    assign = object.__setattr__
    assign(location, "desc", StringAttr(name))
    assign(location, "location", place)
    return location


def location_alias_positions(text: str) -> dict[str, int]:
    """The position of the value of each location alias (`#loc3`), in the order of the text."""
    positions: dict[str, int] = {}
    for match in _ALIAS.finditer(text):
        positions.setdefault(match[1], match.end())
    return positions


def end_of_definitions(text: str, position: int, ends: Mapping[int, int]) -> int:
    """The end of the location alias's value at a position, or of the last one of those that follow it directly."""
    end = ends[position]
    while (match := _NEXT_ALIAS.match(text, end)) is not None and match.end() in ends:
        end = ends[match.end()]
    return end


def referred_aliases(text: str, position: int) -> list[str]:
    """The aliases that a definition names, from its position to the end of the line."""
    end = text.find("\n", position)
    return _REFERENCE.findall(text, position, len(text) if end < 0 else end)


def plain_location(
    text: str,
    position: int,
    aliases: Mapping[str, Attribute],
    shortened: Callable[[LocationAttr], LocationAttr],
) -> tuple[LocationAttr, int] | None:
    """
    The location that a definition's line states, if it is of an ordinary form and its aliases are known, and its end.

    Ordinary forms are `"file":3:5`, a name with an alias, and a call site of two aliases: all that JAX writes. The
    parser takes ten times as long, and a traced program has a location for each operation. `shortened`: makes a part
    that would be too deep less deep.
    """
    match = _PLAIN.match(text, position)
    if match is None:
        return None
    name, line, column, *parts = match.group("text", "line", "column", "place", "callee", "caller")
    if line is not None:
        return make_file_location(StringAttr(name), int(line), int(column)), match.end()
    known = [aliases.get(part) for part in parts if part is not None]
    places = [shortened(place) for place in known if isinstance(place, LocationAttr)]
    if len(places) < len(known):
        return None
    return (CallSiteLoc(*places) if name is None else NameLoc(StringAttr(name), *places)), match.end()


def parts_of(location: Attribute) -> Sequence[LocationAttr]:
    """The locations that a location is made of."""
    match location:
        case NameLoc():
            parts = (location.location,)
        case CallSiteLoc():
            parts = (location.callee, location.caller)
        case FusedLoc():
            parts = tuple(cast("ArrayAttr[Attribute]", location.locations))
        case _:
            parts = ()
    return cast("Sequence[LocationAttr]", parts)

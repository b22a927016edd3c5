"""
Locations: positions in the text for operations without one of their own, and MLIR's `loc(...)` in all its forms.

Location aliases (`#loc3 = loc(...)`) usually come after their uses, at the end of the file. A scan over the text finds
them when the first one is needed; each is parsed after those that it refers to.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import lru_cache

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, LocationAttr, NameLoc, StringAttr
from xdsl.ir import Attribute, BuiltinAttribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.printer import Printer

_ALIAS = re.compile(r"^(#[a-zA-Z$._-][\w$.-]*)[ \t]*=[ \t]*(?=loc\b)", re.MULTILINE | re.ASCII)
_REFERENCE = re.compile(r"#[a-zA-Z$._-][\w$.-]*", re.ASCII)
_NEWLINE = re.compile("\n")


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


def referred_aliases(text: str, position: int) -> list[str]:
    """The aliases that a definition names, from its position to the end of the line."""
    end = text.find("\n", position)
    return _REFERENCE.findall(text, position, len(text) if end < 0 else end)

"""The places that `metadata={..}` names: `source_file` and `source_line`, or a frame of the module's tables."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, cast

from xdsl.dialects.builtin import LocationAttr, StringAttr

from ...hlo_dialect.reading.locations import make_file_location, make_name_location
from .values import unquoted

if TYPE_CHECKING:
    from .program import Text

_FIELD = re.compile(r'([\w-]+)=("(?:[^"\\]|\\.)*+"|\{[^{}]*+\}|[^\s{}]++)')
_METADATA = re.compile(r'\{\s*(?:[\w-]+=(?:"(?:[^"\\]|\\.)*+"|\{[^{}]*+\}|[^\s{}]++),?\s*)*+\}')
_PLAIN = re.compile(
    r'\{(?:op_type="[^"\\]*+" )?+(?:op_name="([^"\\]*+)" )?+source_file="([^"\\]*+)" source_line=([0-9]{1,9})'
    r"(?: source_end_line=[0-9]++)?+(?: source_column=([0-9]{1,9}))?+(?: source_end_column=[0-9]++)?+\}",
    re.ASCII,
)
"""As XLA prints metadata that states a line."""
_TABLE = re.compile(r"(FileNames|FunctionNames|FileLocations|StackFrames)\b")
_ENTRY = re.compile(r'\s*([0-9]{1,9})\s+("(?:[^"\\]|\\.)*+"|\{[^{}]*+\})')
_SPACE = re.compile(r"\s*")


class Locations:
    """The locations of instructions, from their metadata; positions in the text for those without."""

    def __init__(self, text: Text, stated: bool = True):
        """`stated`: whether to read locations from metadata."""
        self.text = text
        self.stated = stated
        self.known: dict[str, LocationAttr | None] = {}
        self.files: dict[str, StringAttr] = {}
        self.tables: dict[str, dict[int, str]] = {}

    def location(self, metadata: str, offset: int) -> LocationAttr:
        """The location that `{op_name=".." source_file=".." source_line=3}` states, else that of the offset."""
        if metadata and self.stated:
            try:
                found = self.known[metadata]
            except KeyError:
                found = self.known[metadata] = self._stated(metadata, offset)
            if found is not None:
                return found
        return self.text.positions.location(offset)

    def _stated(self, metadata: str, offset: int) -> LocationAttr | None:
        plain = _PLAIN.fullmatch(metadata)
        if plain is not None:
            name, file, line, column = plain.groups()
            return self._place(file, int(line), max(1, int(column or "1")), name or "")
        if _METADATA.fullmatch(metadata) is None:
            raise self.text.error("metadata is no list of `name=value`", offset)
        fields = _fields(metadata)
        file, line = fields.get("source_file"), fields.get("source_line", "0")
        column = fields.get("source_column", "1")
        if "stack_frame_id" in fields and file is None:
            file, line, column = self._frame(fields["stack_frame_id"])
        if file is None or not _number(line):
            return None
        name = unquoted(fields.get("op_name", '""'))
        return self._place(unquoted(file), _number(line), max(1, _number(column)), name)

    def _place(self, file: str, line: int, column: int, name: str) -> LocationAttr:
        """A place in a file, and the name of the operation there if it has one."""
        known = self.files.get(file)
        if known is None:
            known = self.files[file] = StringAttr(file)
        place = make_file_location(known, line, column)
        return make_name_location(name, place) if name else place

    def _frame(self, number: str) -> tuple[str | None, str, str]:
        """File, line and column of a frame of the module's tables."""
        frame = _fields(self.tables.get("StackFrames", {}).get(_number(number), ""))
        place = _fields(self.tables.get("FileLocations", {}).get(_number(frame.get("file_location_id", "0")), ""))
        file = self.tables.get("FileNames", {}).get(_number(place.get("file_name_id", "0")))
        return file, place.get("line", "0"), place.get("column", "1")

    def read_tables(self, offset: int) -> int:
        """Read the tables after the module's header; their end."""
        content = self.text.content
        while (title := _TABLE.match(content, offset)) is not None:
            table = self.tables.setdefault(title[1], {})
            offset = title.end()
            while (entry := _ENTRY.match(content, offset)) is not None:
                table[int(entry[1])] = entry[2]
                offset = entry.end()
            offset = cast(Any, _SPACE.match(content, offset)).end()
        return offset


def _fields(text: str) -> dict[str, str]:
    return dict(_FIELD.findall(text))


def _number(text: str) -> int:
    """A number of at most nine digits; 0 for anything else."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0

"""The places that `metadata={..}` names: `source_file` and `source_line`, or a frame of the module's tables."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, cast

from xdsl.dialects.builtin import LocationAttr, StringAttr

from ...hlo_dialect.reading.locations import make_file_location, make_name_location
from ...hlo_dialect.regular_expressions import compile_pattern
from .values import unquoted

if TYPE_CHECKING:
    from .program import Text

_FIELD = compile_pattern(r'([\w-]+)=("(?:[^"\\]|\\.)*+"|\{[^{}]*+\}|[^\s{}]++)')
_METADATA = compile_pattern(r'\{\s*(?:[\w-]+=(?:"(?:[^"\\]|\\.)*+"|\{[^{}]*+\}|[^\s{}]++),?\s*)*+\}')
_PLAIN = compile_pattern(
    r'\{(?:op_type="[^"\\]*+" )?+(?:op_name="([^"\\]*+)" )?+source_file="([^"\\]*+)" source_line=([0-9]{1,9})'
    r"(?: source_end_line=[0-9]++)?+(?: source_column=([0-9]{1,9}))?+(?: source_end_column=[0-9]++)?+\}",
    re.ASCII,
)
"""As XLA prints metadata that states a line."""
_TABLE = re.compile(r"(FileNames|FunctionNames|FileLocations|StackFrames)\b")
_ENTRY = compile_pattern(r'\s*([0-9]{1,9})\s+("(?:[^"\\]|\\.)*+"|\{[^{}]*+\})')
_SPACE = re.compile(r"\s*")
_LIBRARY = re.compile(
    r"(?:^|[/\\])(?:site-packages|dist-packages|lib[/\\]python3\.[0-9]+)[/\\]|^(?:tensorflow|keras|jax)/|^<"
)
"""Files of installed packages; TensorFlow's are named from the folder of packages on."""


def is_library(file: str) -> bool:
    """Whether a file belongs to an installed package or to Python, and not to the user."""
    return _LIBRARY.search(file) is not None


class Locations:
    """The locations of instructions, from their metadata; positions in the text for those without."""

    def __init__(self, text: Text, reads_metadata: bool = True):
        self.text = text
        self.reads_metadata = reads_metadata
        self.known: dict[str, LocationAttr | None] = {}
        self.files: dict[str, StringAttr] = {}
        self.tables: dict[str, dict[int, str]] = {}
        self.frames: dict[int, dict[str, str]] | None = None
        self.added = 0
        """The offset of the numbers of parents in the table of frames."""

    def location(self, metadata: str, offset: int) -> LocationAttr:
        """The location that metadata state, else that of the offset."""
        return self.stated(metadata, offset) or self.text.positions.location(offset)

    def stated(self, metadata: str, offset: int) -> LocationAttr | None:
        """
        The location that `{op_name=".." source_file=".." source_line=3}` states. Raises DiagnosticError, at the offset.
        """
        if not metadata or not self.reads_metadata:
            return None
        if metadata not in self.known:
            self.known[metadata] = self._stated(metadata, offset)
        return self.known[metadata]

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
        """
        File, line and column of the user's frame in a stack of the module's tables: the innermost one outside of
        installed packages, or the innermost of all.
        """
        first: tuple[str | None, str, str] | None = None
        frames = self._frames()
        at, left = _number(number), len(frames)
        while at in frames and left:
            frame, left = frames[at], left - 1
            place = _fields(self.tables.get("FileLocations", {}).get(_number(frame.get("file_location_id", "0")), ""))
            file = self.tables.get("FileNames", {}).get(_number(place.get("file_name_id", "0")))
            found = file, place.get("line", "0"), place.get("column", "1")
            if file is not None and not is_library(unquoted(file)):
                return found
            first = first or found
            at = _number(frame.get("parent_frame_id", "0")) - self.added
        return first or (None, "0", "1")

    def _frames(self) -> dict[int, dict[str, str]]:
        """The table of frames. XLA prints the numbers of parents with one added; then that of the outermost is 1."""
        if self.frames is None:
            table = self.tables.get("StackFrames", {})
            self.frames = {number: _fields(text) for number, text in table.items()}
            parents = [_number(frame.get("parent_frame_id", "0")) for frame in self.frames.values()]
            self.added = 0 if 0 in parents else 1
        return self.frames

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

"""`render`: a diagnostic as text, with the line of the source that it is about and a caret under the place."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from xdsl.ir import Attribute

from .diagnostic import Diagnostic, file_location, shortened

_NEWLINE = re.compile("\n")
_MAX_NOTES = 10
"""The most notes that are shown under one message."""

_MAX_LINE = 200
"""
Characters of the longest source line that is shown whole; a longer one (constants can be megabytes) is cut around the
column.
"""


def render(diagnostic: Diagnostic, sources: Mapping[str, str]) -> str:
    """
    `file:line:col: error: message`, the source line, a caret; then the notes likewise.

    `sources` maps the names of files to their texts; a place in a file that is not there has no source line.
    """
    lines = [f"{_place(diagnostic.location)}{diagnostic.severity}: {shortened(diagnostic.message)}"]
    lines += _excerpt(diagnostic.location, sources)
    lines += [render(note, sources) for note in diagnostic.notes[:_MAX_NOTES]]
    if (left := len(diagnostic.notes) - _MAX_NOTES) > 0:
        lines.append(f"note: {left} more notes are left out")
    return "\n".join(lines)


def _place(location: Attribute) -> str:
    found = file_location(location)
    if found is None:
        return ""
    return f"{found.filename.data}:{found.line.data}:{found.column.data}: "


def _excerpt(location: Attribute, sources: Mapping[str, str]) -> list[str]:
    found = file_location(location)
    text = None if found is None else sources.get(found.filename.data)
    if found is None or text is None:
        return []
    line = _line(text, found.line.data)
    if line is None:
        return []
    column = min(max(found.column.data - 1, 0), len(line))
    begin = 0 if len(line) <= _MAX_LINE else max(0, column - _MAX_LINE // 2)
    shown = line[begin : begin + _MAX_LINE]
    # Tabs stay tabs, so that the caret is below its character.
    padding = "".join("\t" if character == "\t" else " " for character in line[begin:column])
    return [shown, f"{padding}^"]


def _line(text: str, number: int) -> str | None:
    """The line of that number, counted from one; None when the text is shorter."""
    starts = _line_starts(text)
    if not 0 < number <= len(starts):
        return None
    start = starts[number - 1]
    end = text.find("\n", start)
    return text[start:] if end < 0 else text[start:end].rstrip("\r")


@lru_cache(maxsize=2)
def _line_starts(text: str) -> list[int]:
    return [0, *(match.end() for match in _NEWLINE.finditer(text))]

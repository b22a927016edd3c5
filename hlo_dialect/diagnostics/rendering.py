"""`render`: a diagnostic as text, with the line of the source that it is about, underlined at the place."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import Attribute

from ..errors import Diagnostic, file_location, shortened
from .diagnostic import location_name
from .source_text import line_of, token_length
from .spelling import respelled

_MAX_NOTES = 10
"""The most notes that are shown under one message."""

_MAX_LINE = 200
"""
Characters of the longest source line that is shown whole; a longer one (constants can be megabytes) is cut around the
column.
"""


def render(diagnostic: Diagnostic, sources: Mapping[str, str]) -> str:
    """
    `file:line:col: error: message`, the source line, `^~~~` under what is meant; then the notes likewise.

    `sources` maps the names of files to their texts; a place in a file that is not there has no source line. Names of
    the hlo dialect are spelled as the sources spell them.
    """
    message = shortened(respelled(diagnostic.message, diagnostic.location, sources))
    lines = [f"{_place(diagnostic.location)}{diagnostic.severity}: {message}"]
    lines += _excerpt(diagnostic.location, sources)
    if (name := location_name(diagnostic.location)) is not None and diagnostic.severity == "error":
        lines.append(f'note: its location is loc("{shortened(name)}")')
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
    line = line_of(text, found.line.data)
    if line is None:
        return []
    column = min(max(found.column.data - 1, 0), len(line))
    begin = 0 if len(line) <= _MAX_LINE else max(0, column - _MAX_LINE // 2)
    shown = line[begin : begin + _MAX_LINE]
    # Tabs stay tabs, so that the caret is below its character.
    padding = "".join("\t" if character == "\t" else " " for character in line[begin:column])
    length = min(token_length(line, column), max(1, begin + len(shown) - column))
    return [shown, f"{padding}^{'~' * (length - 1)}"]

"""Lines and tokens of a source text, as messages show them."""

from __future__ import annotations

import re
from functools import lru_cache

_NEWLINE = re.compile("\n")
_TOKEN = re.compile(
    r'"(?:[^"\\\n]|\\.)*"'  # a string
    r"|[%^][\w$.-]+(?:[#:][0-9]+)?"
    r"|[@#!]?[a-zA-Z_$][\w$.]*"
    r"|0x[0-9a-fA-F]+|[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?"
    r"|->"
)
_BRACKETS = re.compile(r'"(?:[^"\\\n]|\\.)*"|->|[<>]')


@lru_cache(maxsize=2)
def _line_starts(text: str) -> list[int]:
    return [0, *(match.end() for match in _NEWLINE.finditer(text))]


def line_of(text: str, number: int) -> str | None:
    """The line of that number, counted from one; None when the text is shorter."""
    starts = _line_starts(text)
    if not 0 < number <= len(starts):
        return None
    start = starts[number - 1]
    end = text.find("\n", start)
    return text[start:] if end < 0 else text[start:end].rstrip("\r")


def token_length(line: str, column: int) -> int:
    """
    The number of characters of what begins at `column` (counted from zero): a name, a number, a string, or a type or
    attribute with its angle brackets. At least 1.
    """
    found = _TOKEN.match(line, column)
    if found is None:
        return 1
    end = found.end()
    if found[0][-1] not in '"' and line[end : end + 1] == "<":
        end = _closing(line, end) or end
    return end - column


def _closing(line: str, column: int) -> int | None:
    """The end of the angle bracket that opens at `column`; None if it does not close on the line."""
    depth = 0
    for match in _BRACKETS.finditer(line, column):
        depth += {"<": 1, ">": -1}.get(match[0], 0)
        if depth == 0:
            return match.end()
    return None

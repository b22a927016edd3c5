"""Brackets that do not close, for the notes of syntax errors."""

from __future__ import annotations

import re

from ..regular_expressions import compile_pattern

_PIECE = compile_pattern(r'"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+(?:"|$)|//[^\n]*+|->|[<>]=|[(\[{<)\]}>]', re.MULTILINE)
_FUNCTION = re.compile(r"^[ \t]*func\.func\b", re.MULTILINE)
_OPENS = {")": "(", "]": "[", "}": "{", ">": "<"}
_EXPECTED = re.compile(r"(?:expected .*)?['`][)\]}>]['`]")


def unclosed_bracket(text: str, message: str, offset: int) -> int | None:
    """
    The place of the innermost bracket that is open at `offset`, where an error says so: it expects a closing one, or is
    at another one or at the end of the text. None for other errors.
    """
    at_end = not text[offset:].strip() if len(text) - offset < 1000 else False
    if not (at_end or text[offset : offset + 1] in _OPENS or _EXPECTED.match(message)):
        return None
    start = 0
    if not at_end:
        for match in _FUNCTION.finditer(text, 0, offset):
            start = match.start()
    opened: list[int] = []
    for piece in _PIECE.finditer(text, start, offset):
        character = piece[0]
        if character in "([{<":
            opened.append(piece.start())
        elif (opening := _OPENS.get(character)) is not None:
            while opened and text[opened[-1]] != opening and character != ">":
                opened.pop()
            if opened and text[opened[-1]] == opening:
                opened.pop()
    return opened[-1] if opened else None

"""Parsing errors as located diagnostics."""

from __future__ import annotations

from xdsl.utils.exceptions import MultipleSpansParseError, ParseError

from ..diagnostics import Diagnostic
from .brackets import unclosed_bracket
from .locations import SourcePositions


def diagnostic_of(error: Exception, offset: int, positions: SourcePositions) -> Diagnostic:
    """
    The diagnostic for an error of the parser; `offset` is the parser's position, for errors without a location.

    A VerifyException comes from an attribute or type that is well-formed but breaks its own constraints.
    """
    match error:
        case ParseError():
            notes: list[Diagnostic] = []
            if isinstance(error, MultipleSpansParseError):
                for span, message in error.refs:
                    text = message or error.ref_text or "see here"
                    notes.append(Diagnostic("note", text, positions.location(span.start), optional=True))
            text, start = str(error.span.input.content), error.span.start
            message = _first_lower(error.msg) + _remedy(error.msg)
            opening = unclosed_bracket(text, message, start)
            if opening is not None:
                note = f"to match this '{text[opening]}'"
                notes.append(Diagnostic("note", note, positions.location(opening), optional=True))
            return Diagnostic("error", message, positions.location(start), tuple(notes))
        case RecursionError():
            return Diagnostic("error", "nested too deeply to be read", positions.location(offset))
        case _:
            return Diagnostic("error", str(error), positions.location(offset))


_REMEDIES = {
    "expect symbol name": ", which begins with @: @main",
    "expected argument or type": ": an argument is written with %, as in %x: tensor<4xf32>",
    "Expected 'x' in shape delimiter": ": sizes and the element type are separated by x, as in tensor<4x8xf32>",
}
"""Advice on what to write, by the beginnings of messages of xDSL that give none."""


def _remedy(message: str) -> str:
    return next((text for start, text in _REMEDIES.items() if message.lower().startswith(start.lower())), "")


def _first_lower(message: str) -> str:
    """Messages begin in lower case, as MLIR's do; names and quoted text stay."""
    if len(message) > 1 and message[0].isupper() and message[1].islower():
        return message[0].lower() + message[1:]
    return message

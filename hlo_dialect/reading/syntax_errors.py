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
            message = _first_lower(error.msg)
            opening = unclosed_bracket(text, message, start)
            if opening is not None:
                note = f"to match this '{text[opening]}'"
                notes.append(Diagnostic("note", note, positions.location(opening), optional=True))
            return Diagnostic("error", message, positions.location(start), tuple(notes))
        case RecursionError():
            return Diagnostic("error", "nested too deeply to be read", positions.location(offset))
        case _:
            return Diagnostic("error", str(error), positions.location(offset))


def _first_lower(message: str) -> str:
    """Messages begin in lower case, as MLIR's do; names and quoted text stay."""
    if len(message) > 1 and message[0].isupper() and message[1].islower():
        return message[0].lower() + message[1:]
    return message

"""Parsing errors as located diagnostics."""

from __future__ import annotations

from xdsl.utils.exceptions import MultipleSpansParseError, ParseError

from ..diagnostics import Diagnostic
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
                    notes.append(Diagnostic("note", text, positions.location(span.start)))
            return Diagnostic("error", _first_lower(error.msg), positions.location(error.span.start), tuple(notes))
        case RecursionError():
            return Diagnostic("error", "nested too deeply to be read", positions.location(offset))
        case _:
            return Diagnostic("error", str(error), positions.location(offset))


def _first_lower(message: str) -> str:
    """Messages begin in lower case, as MLIR's do; names and quoted text stay."""
    if len(message) > 1 and message[0].isupper() and message[1].islower():
        return message[0].lower() + message[1:]
    return message

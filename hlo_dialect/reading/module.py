"""`parse_module`: text to a verified module, or a DiagnosticError with every error at its place."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import MultipleSpansParseError, ParseError, VerifyException

from ..collection import paused_gc
from ..diagnostics import Diagnostic, DiagnosticError
from ..dialect import make_context
from ..verification import verify_module
from .locations import SourcePositions
from .parser import HloParser


def parse_module(
    text: str,
    filename: str = "<stdin>",
    ctx: Context | None = None,
    *,
    fast: bool = True,
    verify: bool = True,
) -> ModuleOp:
    """
    The module that `text` writes; operations outside any module get one.

    `fast=False` reads everything with the general parser; the result is the same. Operations without a `loc(..)` of
    their own carry the place where they stand. Raises DiagnosticError.
    """
    context = make_context() if ctx is None else ctx
    with paused_gc():
        module = _parse(text, filename, context, fast)
        if verify:
            verify_module(module)
    return module


def _parse(text: str, filename: str, ctx: Context, fast: bool) -> ModuleOp:
    positions = SourcePositions(text, filename)
    parser: HloParser | None = None
    try:
        parser = HloParser(ctx, text, filename, positions, fast=fast)
        return parser.parse_module()
    except ParseError as error:
        raise _located(error, positions) from None
    except VerifyException as error:
        # An attribute or type that the text writes well, but whose own constraints it breaks.
        raise DiagnosticError(Diagnostic("error", str(error), positions.location(_offset(parser)))) from None
    except RecursionError:
        message = "nested too deeply to be read"
        raise DiagnosticError(Diagnostic("error", message, positions.location(_offset(parser)))) from None


def _offset(parser: HloParser | None) -> int:
    return 0 if parser is None else parser.pos


def _located(error: ParseError, positions: SourcePositions) -> DiagnosticError:
    notes: list[Diagnostic] = []
    if isinstance(error, MultipleSpansParseError):
        for span, message in error.refs:
            notes.append(Diagnostic("note", message or error.ref_text or "see here", positions.location(span.start)))
    return DiagnosticError(
        Diagnostic("error", _first_lower(error.msg), positions.location(error.span.start), tuple(notes))
    )


def _first_lower(message: str) -> str:
    """Messages begin in lower case, as MLIR's do; names and quoted text stay."""
    if len(message) > 1 and message[0].isupper() and message[1].islower():
        return message[0].lower() + message[1:]
    return message

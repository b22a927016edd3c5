"""`parse_module`: from text to a verified module, or a DiagnosticError with every error at its location."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import ParseError, VerifyException

from ..diagnostics import DiagnosticError
from ..dialect import make_context
from ..formats import format_of
from ..garbage_collector import paused_gc
from ..verification import verify_module
from .fast_path import FastParser
from .locations import SourcePositions


def parse_module(
    text: str,
    filename: str = "<stdin>",
    ctx: Context | None = None,
    *,
    fast: bool = True,
    verify: bool = True,
) -> ModuleOp:
    """
    The module that `text` denotes, in MLIR's syntax or in another format (formats.py); operations outside any module
    get one.

    `fast=False` reads everything with the general parser; the result is the same. Operations without a `loc(..)` of
    their own get their position in the text. Raises DiagnosticError.
    """
    context = make_context() if ctx is None else ctx
    with paused_gc(kept=True):
        if (other := format_of(text)) is not None:
            return other.read(text, filename, context)
        module = _parse(text, filename, context, fast)
        if verify:
            verify_module(module)
    return module


def _parse(text: str, filename: str, ctx: Context, fast: bool) -> ModuleOp:
    positions = SourcePositions(text, filename)
    parser: FastParser | None = None
    try:
        parser = FastParser(ctx, text, filename, positions, fast=fast)
        return parser.parse_module()
    except (ParseError, VerifyException, RecursionError) as error:
        from .syntax_errors import diagnostic_of

        first = diagnostic_of(error, 0 if parser is None else parser.pos, positions)
    from .recovery import syntax_errors

    raise DiagnosticError(syntax_errors(ctx, text, positions, first, fast=fast))

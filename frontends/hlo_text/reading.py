"""From HLO text to a verified module."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ...hlo_dialect.diagnostics import DiagnosticError
from ...hlo_dialect.verification import verify_module
from .conversion import convert
from .parsing import parse_program


def read_module(text: str, filename: str, ctx: Context) -> ModuleOp:
    """
    The module that HLO text denotes. Its operations have the locations that their metadata state.

    Raises DiagnosticError for what is no HLO text, for opcodes that hlo has no counterpart of, and for instructions
    that break a constraint of their operation; the errors are at their places in the text.
    """
    module, verified = convert(parse_program(text, filename), ctx)
    try:
        verify_module(module, verified)
    except DiagnosticError:
        # Once more, with places in the text instead of those of the program that it was made from.
        verify_module(convert(parse_program(text, filename, metadata=False), ctx)[0])
        raise
    return module

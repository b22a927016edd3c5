"""HLO text among the formats that programs are given in: how it is recognized, read and written."""

from __future__ import annotations

import re

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ...hlo_dialect.formats import Format
from ...hlo_dialect.regular_expressions import compile_pattern
from .blanks import BLANK

_MODULE = compile_pattern(rf"{BLANK}(?:HloModule\b|ENTRY\b)")
_COMPUTATION = compile_pattern(rf"{BLANK}%?[A-Za-z_][\w.-]*+\s*+(?:\([^\n]*\)\s*->[^\n]*)?\{{")
_ENTRY = re.compile(r"^ENTRY\s", re.MULTILINE)


def recognizes(text: str) -> bool:
    """Whether a text begins as a module or a computation of HLO."""
    if _MODULE.match(text):
        return True
    return _COMPUTATION.match(text) is not None and _ENTRY.search(text) is not None


def read(text: str, filename: str, ctx: Context) -> ModuleOp:
    """The verified module. Raises DiagnosticError."""
    from .reading import read_module

    return read_module(text, filename, ctx)


def write(module: ModuleOp) -> str:
    """The module's text. Raises DiagnosticError for what HLO lacks."""
    from .writing.module import write_module

    return write_module(module)


FORMAT = Format("hlo-text", recognizes, read, write)

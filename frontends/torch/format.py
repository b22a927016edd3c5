"""Programs of torch.export among those that xhlo.compile takes: objects, of which there is no text."""

from __future__ import annotations

from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ...hlo_dialect.diagnostics import Diagnostic, DiagnosticError
from ...hlo_dialect.formats import Format


def recognizes(text: str) -> bool:
    """No text is a program of torch.export."""
    return False


def read(text: str, filename: str, ctx: Context) -> ModuleOp:
    """Raises DiagnosticError: there is nothing to read."""
    raise DiagnosticError(Diagnostic("error", f"{filename}: a program of torch.export is an object: xhlo.from_torch"))


def take(program: Any) -> ModuleOp | None:
    """The module of an ExportedProgram; None for another object. Raises DiagnosticError."""
    cls: Any = program.__class__
    # Told by its name: torch is not imported to look at an object of something else.
    if cls.__name__ != "ExportedProgram" or not cls.__module__.startswith("torch.export"):
        return None
    from .entry import from_torch

    return from_torch(program)


FORMAT = Format("torch-export", recognizes, read, take=take)

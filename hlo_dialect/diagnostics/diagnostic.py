"""
Diagnostics as MLIR prints them: `file:line:col: severity: message`, notes below.

A user's mistake travels as a `DiagnosticError`, which holds one or more `Diagnostic`s; tools render them with the
source line and a caret and exit with status 1. Remarks and warnings go to the `DiagnosticEngine` of the context.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NoReturn

from xdsl.context import Context
from xdsl.dialects.builtin import UNKNOWN_LOC, CallSiteLoc, FileLineColLoc, FusedLoc, LocationAttr, NameLoc
from xdsl.ir import Attribute, Operation

Severity = Literal["error", "warning", "remark", "note"]


@dataclass(frozen=True)
class Diagnostic:
    """One message at one location; `notes` are printed after it, each at its own location."""

    severity: Severity
    message: str
    location: LocationAttr = UNKNOWN_LOC
    notes: tuple[Diagnostic, ...] = ()


class DiagnosticError(Exception):
    """One or more errors that the user can act on. Never an internal bug."""

    def __init__(self, diagnostics: Sequence[Diagnostic] | Diagnostic):
        self.diagnostics = (diagnostics,) if isinstance(diagnostics, Diagnostic) else tuple(diagnostics)
        super().__init__("\n".join(one_line(d) for d in self.diagnostics))


def one_line(diagnostic: Diagnostic) -> str:
    """`file:line:col: error: message`, without an unknown location."""
    place = file_location(diagnostic.location)
    text = f"{diagnostic.severity}: {diagnostic.message}"
    return text if place is None else f"{place.filename.data}:{place.line.data}:{place.column.data}: {text}"


@dataclass
class DiagnosticEngine:
    """Collects what passes report without stopping; `handler`, where set, sees each diagnostic at once."""

    handler: Callable[[Diagnostic], None] | None = None
    emitted: list[Diagnostic] = field(default_factory=list[Diagnostic])

    def emit(self, diagnostic: Diagnostic) -> None:
        self.emitted.append(diagnostic)
        if self.handler is not None:
            self.handler(diagnostic)


class HloContext(Context):
    """An xDSL context that carries the diagnostics engine of the running tool."""

    def __init__(self, allow_unregistered: bool = False):
        super().__init__(allow_unregistered=allow_unregistered)
        self.diagnostics = DiagnosticEngine()


def engine_of(ctx: Context) -> DiagnosticEngine:
    """The context's engine; a silent one for a plain xDSL context."""
    return ctx.diagnostics if isinstance(ctx, HloContext) else DiagnosticEngine()


def op_message(op: Operation, message: str) -> str:
    """`'hlo.add' op message`, the form of every diagnostic about an operation."""
    return f"'{op.name}' op {message}"


def op_error(op: Operation, message: str, notes: Sequence[Diagnostic] = ()) -> DiagnosticError:
    """The error to raise about `op`: `raise op_error(op, "...")`."""
    return DiagnosticError(Diagnostic("error", op_message(op, message), op.location, tuple(notes)))


def fail(op: Operation, message: str, notes: Sequence[Diagnostic] = ()) -> NoReturn:
    raise op_error(op, message, notes)


def file_location(location: Attribute) -> FileLineColLoc | None:
    """The file position of a location: the callee's for a call site, the first for a fused one."""
    match location:
        case FileLineColLoc():
            return location
        case NameLoc():
            return file_location(location.location)
        case CallSiteLoc():
            return file_location(location.callee)
        case FusedLoc():
            found = (file_location(inner) for inner in location.locations.data)  # pyright: ignore
            return next((loc for loc in found if loc is not None), None)
        case _:
            return None

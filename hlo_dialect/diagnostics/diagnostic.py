"""
Diagnostics as MLIR prints them: `file:line:col: severity: message`, notes below.

A user's mistake travels as a `DiagnosticError`, which holds one or more `Diagnostic`s; tools render them with the
source line and a caret and exit with status 1. Remarks and warnings go to the `DiagnosticEngine` of the context.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from xdsl.context import Context
from xdsl.dialects.builtin import UNKNOWN_LOC, CallSiteLoc, FileLineColLoc, FusedLoc, LocationAttr, NameLoc, StringAttr
from xdsl.ir import Attribute, Operation

from ..errors import PLACE_IN_TEXT, Diagnostic, DiagnosticError, file_location


@dataclass
class DiagnosticEngine:
    """Collects what passes report without stopping; `handler`, where set, sees each diagnostic at once."""

    handler: Callable[[Diagnostic], None] | None = None
    emitted: list[Diagnostic] = field(default_factory=list[Diagnostic])

    remarks: bool = True
    """Whether remarks are read: where not, passes need not find out what only these say."""

    def emit(self, diagnostic: Diagnostic) -> None:
        self.emitted.append(diagnostic)
        if self.handler is not None:
            self.handler(diagnostic)


class HloContext(Context):
    """An xDSL context that carries the diagnostics engine of the running tool."""

    def __init__(self, allow_unregistered: bool = False):
        super().__init__(allow_unregistered=allow_unregistered)
        self.diagnostics = DiagnosticEngine()
        self.keep_fusions = False
        """Whether fusions in the text of another compiler are kept, instead of their operations."""
        self.applied: Counter[str] = Counter()
        """How often the running pass applied each of its rules, for `--pass-statistics`."""


def engine_of(ctx: Context) -> DiagnosticEngine:
    """The context's engine; a silent one for a plain xDSL context."""
    return ctx.diagnostics if isinstance(ctx, HloContext) else DiagnosticEngine()


def applied_in(ctx: Context) -> Counter[str]:
    """Where a pass counts the rules that it applies; nobody looks at that of a plain xDSL context."""
    return ctx.applied if isinstance(ctx, HloContext) else Counter()


def op_message(op: Operation, message: str) -> str:
    """`'hlo.add' op message`, the form of every diagnostic about an operation."""
    return f"'{op.name}' op {message}"


def location_near(op: Operation) -> LocationAttr:
    """The operation's location; if it has no place in a file, that of the nearest operation around it that has one."""
    around: Operation | None = op
    while around is not None:
        if file_location(around.location) is not None:
            return around.location
        around = around.parent_op()
    return op.location


def op_error(op: Operation, message: str, notes: Sequence[Diagnostic] = ()) -> DiagnosticError:
    """The error to raise about `op`: `raise op_error(op, "...")`."""
    location = location_near(op)
    notes = (*notes, *current_operation(op, location))
    return DiagnosticError(Diagnostic("error", op_message(op, message), location, notes))


def fail(op: Operation, message: str, notes: Sequence[Diagnostic] = ()) -> NoReturn:
    raise op_error(op, message, notes)


_MAX_PRINTED = 400
"""Characters of the longest operation that is shown in place of its location."""


def current_operation(op: Operation, location: LocationAttr) -> tuple[Diagnostic, ...]:
    """A note with the operation in generic form, for a location that is no place in a file; else none."""
    if file_location(location) is not None:
        return ()
    operands = ", ".join(f"%{value.name_hint or '_'}" for value in op.operands)
    results = ", ".join(f"%{value.name_hint or '_'}" for value in op.results)
    types = ", ".join(str(value.type) for value in op.operands)
    made = ", ".join(str(value.type) for value in op.results)
    names = f" <{{{', '.join(op.properties)}}}>" if op.properties else ""
    text = f'{results}{" = " if results else ""}"{op.name}"({operands}){names} : ({types}) -> ({made})'
    shown = text if len(text) <= _MAX_PRINTED else f"{text[:_MAX_PRINTED]} .."
    return (Diagnostic("note", f"see current operation: {shown}{_position(op)}", UNKNOWN_LOC, optional=True),)


def _position(op: Operation) -> str:
    """`, operation 3 of @main`"""
    around = op.parent_op()
    if around is None or op.parent is None:
        return ""
    name = around.properties.get("sym_name")
    owner = f"@{name.data}" if isinstance(name, StringAttr) else f"'{around.name}'"
    return f", operation {op.parent.get_operation_index(op) + 1} of {owner}"


def placed(location: LocationAttr, place: FileLineColLoc) -> LocationAttr:
    """
    The same location, equal and printed alike, that also knows where in the text its operation is.

    For locations without a place in a file, such as `loc("jit(f)/add")`: `file_location` falls back to it.
    """
    found = copy.copy(location)
    object.__setattr__(found, PLACE_IN_TEXT, place)
    return found


def location_name(location: Attribute) -> str | None:
    """The name of a location that has no place in a file of its own; None for others."""
    waiting, seen = [location], 0
    while waiting and seen < 1000 and getattr(location, PLACE_IN_TEXT, None) is not None:
        seen += 1
        match found := waiting.pop():
            case NameLoc():
                return found.desc.data
            case CallSiteLoc():
                waiting.append(found.callee)
            case FusedLoc():
                waiting += reversed(found.locations.data)  # pyright: ignore
            case _:
                continue
    return None

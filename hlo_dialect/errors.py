"""
Diagnostics and the exception that carries them, in a file that loads no IR: what runs a compiled program raises it too.

The folder diagnostics/ has everything else about them, and exports these names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from xdsl.dialects.builtin import FileLineColLoc, LocationAttr
    from xdsl.ir import Attribute

PLACE_IN_TEXT = "_place_in_text"
"""The field of a location where `placed` notes its place."""


def _unknown_location() -> LocationAttr:
    from xdsl.dialects.builtin import UNKNOWN_LOC

    return UNKNOWN_LOC


Severity = Literal["error", "warning", "remark", "note"]


@dataclass(frozen=True)
class Diagnostic:
    """One message at one location; `notes` are printed after it, each at its own location."""

    severity: Severity
    message: str
    location: LocationAttr = field(default_factory=_unknown_location)
    notes: tuple[Diagnostic, ...] = ()
    optional: bool = False
    """For a note: whether it only helps to read the error, so that `--verify-diagnostics` need not expect it."""


class DiagnosticError(Exception):
    """
    One or more errors that the user can act on. Never an internal bug.

    >>> import xhlo
    >>> try:
    ...     xhlo.compile('''func.func @main(%x: tensor<f32>) -> tensor<f32> {
    ...   %0 = hlo.negat %x : tensor<f32>
    ...   return %0 : tensor<f32>
    ... }''')
    ... except xhlo.DiagnosticError as error:
    ...     print(error)
    <text>:2:8: error: unknown operation 'hlo.negat'...
      %0 = hlo.negat %x : tensor<f32>
           ^~~~~~~~~
    """

    def __init__(self, diagnostics: Sequence[Diagnostic] | Diagnostic):
        self.diagnostics = (diagnostics,) if isinstance(diagnostics, Diagnostic) else tuple(diagnostics)
        super().__init__("\n".join(one_line(d) for d in self.diagnostics))


class MemoryLimitError(DiagnosticError, MemoryError):
    """A program that needs more memory than there is, or than `XHLO_MAX_MEMORY` allows."""


_MAX_MESSAGE = 4000
"""Characters of the longest message that is shown whole: types may be of any length."""


def shortened(message: str) -> str:
    """The message, without the middle of a very long one."""
    half = _MAX_MESSAGE // 2
    return message if len(message) <= _MAX_MESSAGE else f"{message[:half]} .. {message[-half:]}"


def one_line(diagnostic: Diagnostic) -> str:
    """`file:line:col: error: message`, without an unknown location."""
    place = file_location(diagnostic.location)
    text = f"{diagnostic.severity}: {shortened(diagnostic.message)}"
    return text if place is None else f"{place.filename.data}:{place.line.data}:{place.column.data}: {text}"


def file_location(location: Attribute) -> FileLineColLoc | None:
    """
    The file position of a location: the callee's for a call site, the first for a fused one; if there is none, the
    place in the text that `placed` noted.
    """
    from xdsl.dialects.builtin import CallSiteLoc, FileLineColLoc, FusedLoc, NameLoc

    waiting, seen = [location], set[int]()  # locations share their parts, and may be nested deeply
    while waiting:
        match found := waiting.pop():
            case FileLineColLoc():
                return found
            case _ if id(found) in seen:
                continue
            case NameLoc():
                waiting.append(found.location)
            case CallSiteLoc():
                waiting.append(found.callee)
            case FusedLoc():
                waiting += reversed(found.locations.data)  # pyright: ignore
            case _:
                continue
        seen.add(id(found))
    return getattr(location, PLACE_IN_TEXT, None)

"""Messages to users about operations that are not compiled."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from xdsl.dialects.builtin import UNKNOWN_LOC, FileLineColLoc, IntAttr, LocationAttr, StringAttr

from ...hlo_dialect.diagnostics import Diagnostic, DiagnosticError
from .lowering import Refusal, users_line


class FallbackWarning(UserWarning):
    """An operation runs in torch's eager mode because it is not compiled; the message names its line and the reason."""


_said: set[str] = set()


def tell(refusals: Sequence[Refusal]) -> None:
    """Warn once for each operation, line and reason."""
    for one in refusals:
        if one.text not in _said:
            _said.add(one.text)
            warnings.warn(f"{one.text}; torch runs it", FallbackWarning, stacklevel=2)


def refuse(refusals: Sequence[Refusal]) -> DiagnosticError:
    """The error of `options={"strict": True}`."""
    diagnostics: list[Diagnostic] = []
    for one in refusals:
        line = users_line(one.node)
        place: LocationAttr = UNKNOWN_LOC
        if line is not None:
            place = FileLineColLoc(StringAttr(line[0]), IntAttr(line[1]), IntAttr(1))
        diagnostics.append(Diagnostic("error", f"{one.node.target} is not compiled: {one.reason}", place))
    return DiagnosticError(diagnostics)

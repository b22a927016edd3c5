"""Whether guard mode is on, in a file that loads no package: the plugin for JAX asks when it starts."""

from __future__ import annotations

import os

VARIABLE = "XHLO_GUARD"


def guard_side(guard: bool | str | None) -> str:
    """
    The side of its pages on which each buffer lies, empty without guard mode: that of `guard`, or, if it is None, of
    XHLO_GUARD. It is "end" (also True, 1), "start" or "" (also False, 0); others raise ValueError, in XHLO_GUARD
    DiagnosticError.
    """
    given = os.environ.get(VARIABLE, "") if guard is None else str(guard)
    if given in ("", "0", "False"):
        return ""
    from ...dialects.support.guard_zones import END, SIDES

    chosen = END if given in ("1", "True") else given
    if chosen not in SIDES:
        if guard is None:
            from ...hlo_dialect.diagnostics import Diagnostic, DiagnosticError

            raise DiagnosticError(Diagnostic("error", f"{VARIABLE} is 0, 1, {' or '.join(SIDES)}, not '{given}'"))
        raise ValueError(f"no guard mode is named '{given}'; there are {', '.join(SIDES)}")
    return chosen

"""Errors of traced functions, at the user's line with a caret."""

from __future__ import annotations

import linecache

from xdsl.dialects.builtin import LocationAttr

from ...hlo_dialect.diagnostics import file_location
from ..builder.locations import callers_location


class TraceError(TypeError):
    """
    A function cannot be compiled as it is written.

    The message shows the file, the line and the place in it, why, and what to write instead.

    >>> import numpy as np
    >>> import xhlo
    >>> @xhlo.jit
    ... def f(x):
    ...     return x if x.sum() > 0 else -x
    >>> try:
    ...     f(np.ones(2))
    ... except xhlo.TraceError:
    ...     print("use np.where, xhlo.cond, or xhlo.jit(autograph=True)")
    use np.where, xhlo.cond, or xhlo.jit(autograph=True)
    """

    def __init__(self, reason: str, remedy: str = "", at: LocationAttr | None = None):
        """`at` is the place, by default the line that is running."""
        place = file_location(callers_location() if at is None else at)
        lines = [reason]
        if place is not None:
            name, line, column = place.filename.data, place.line.data, place.column.data
            lines = [f"{name}:{line}:{column}: error: {reason}"]
            source = linecache.getline(name, line).rstrip("\n")
            if source.strip():
                lines += [f"  {source}", "  " + " " * max(column - 1, 0) + "^"]
        if remedy:
            lines.append(f"  instead: {remedy}")
        super().__init__("\n".join(lines))
        self.reason, self.remedy = reason, remedy


class MissingAttribute(TraceError, AttributeError):
    """An attribute of NumPy's arrays that arrays of a program do not have."""

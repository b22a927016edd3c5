"""
Errors as Python shows them to the user: the line of the program with a caret, and a traceback of the user's own frames.

XHLO_TRACEBACK=full keeps all frames.
"""

from __future__ import annotations

import linecache
import os
from collections.abc import Iterator, Mapping
from types import TracebackType

from ...hlo_dialect.errors import DiagnosticError

VARIABLE = "XHLO_TRACEBACK"

_OWN = __name__.partition(".targets.")[0]
_INNER = (_OWN, "xdsl", "contextlib", "functools")
"""Packages whose frames tell a user nothing about a mistake of theirs."""

_CHECKS = frozenset(
    f"{_OWN}.{name}"
    for name in (
        "frontends.numpy.arguments",
        "frontends.numpy.jit",
        "passes.manager.pipelines",
        "passes.manager.places",
        "targets.compile",
        "targets.gpu.runtime.arrays",
        "targets.program.arguments",
        "targets.program.executable",
        "targets.program.guard",
        "targets.program.pipeline",
        "targets.program.signature",
        "targets.program.source",
        "targets.program.trees",
        "targets.program.unknown_sizes",
        "targets.registry",
    )
)
"""The modules that refuse wrong arguments with TypeError and ValueError."""


class _Sources(Mapping[str, str]):
    """The program's text by its name, and files by theirs: locations of programs built in Python name Python files."""

    def __init__(self, known: Mapping[str, str]):
        self._known = known

    def __getitem__(self, name: str) -> str:
        text = self._known.get(name)
        if text is None:
            text = "".join(linecache.getlines(name))
        if not text:
            raise KeyError(name)
        return text

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


def show_source(error: DiagnosticError, known: Mapping[str, str]) -> None:
    """Let the error's text show the source line and a caret below each message; `known` are texts by file name."""
    from ...hlo_dialect.diagnostics.rendering import render

    sources = _Sources(known)
    error.args = ("\n".join(render(diagnostic, sources) for diagnostic in error.diagnostics),)


def hide_our_frames(error: BaseException, is_mistake: bool = False) -> None:
    """
    Take our frames out of the traceback of a user's mistake. Causes keep theirs.

    An error that may be a bug keeps them too: one that is no DiagnosticError, nor otherwise sure to be about a mistake,
    and comes from other code than that which checks what the user gives.

    The function that the user called does so in an `except` clause that ends with a plain `raise`.
    """
    if os.environ.get(VARIABLE) == "full":
        return
    if is_mistake or isinstance(error, DiagnosticError) or _innermost(error.__traceback__) in _CHECKS:
        error.__traceback__ = _visible(error.__traceback__)


def _innermost(traceback: TracebackType | None) -> str:
    """The module of the function that raised."""
    name = ""
    while traceback is not None:
        name, traceback = traceback.tb_frame.f_globals.get("__name__", ""), traceback.tb_next
    return name


def _visible(traceback: TracebackType | None) -> TracebackType | None:
    kept: list[TracebackType] = []
    while traceback is not None:
        if traceback.tb_frame.f_globals.get("__name__", "").partition(".")[0] not in _INNER:
            kept.append(traceback)
        traceback = traceback.tb_next
    found: TracebackType | None = None
    for one in reversed(kept):
        found = TracebackType(found, one.tb_frame, one.tb_lasti, one.tb_lineno)
    return found

"""
Formats of programs besides MLIR's text: each recognizes its programs by their content, reads and writes them.

A frontend's `format.py` with `FORMAT = Format(..)` joins them, as do entry points of the group `xhlo.formats`. A text
that none recognizes is MLIR's.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from .plugins import GROUPS, leave_out, loaded

if TYPE_CHECKING:
    from xdsl.context import Context
    from xdsl.dialects.builtin import ModuleOp

ENTRY_POINT_GROUP = "xhlo.formats"
"""Entry points of other packages; each loads as a `Format`."""

_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a]")
"""Bytes that no text has: strings in it escape them."""

_ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Format:
    """A format of programs."""

    name: str
    recognizes: Callable[[str], bool]
    """Whether a text is in this format; called for every text that is read."""
    read: Callable[[str, str, Context], ModuleOp]
    """(text, file name for diagnostics, context) to the verified module; raises DiagnosticError."""
    write: Callable[[ModuleOp], str | bytes] | None = None
    """A module in this format; raises DiagnosticError for what the format lacks."""
    take: Callable[[Any], ModuleOp | None] | None = None
    """The module of a program that is an object of another system; None for other objects. Raises DiagnosticError."""
    magic: bytes = b""
    """The first bytes of a program in a binary format; one of the first four is beyond ASCII, unlike those of text."""
    decode: Callable[[bytes, str], str] | None = None
    """(bytes that begin with `magic`, file name for diagnostics) to the text of the program. Raises DiagnosticError."""


@cache
def formats() -> tuple[Format, ...]:
    """
    All formats: those of this package, in the order of their folders' names, then installed ones, of which those that
    cannot be loaded are left out with a warning.
    """
    package = (__package__ or "").rpartition(".")[0]
    own = [path.parent.name for path in sorted((_ROOT / "frontends").glob("*/format.py"))]
    found = [import_module(f"{package}.frontends.{name}.format").FORMAT for name in own]
    for plugin, format_ in loaded(ENTRY_POINT_GROUP):
        if isinstance(format_, Format):
            found.append(format_)
        else:
            leave_out(plugin, f"expected {GROUPS[ENTRY_POINT_GROUP]}, got {type(format_).__name__}")
    return tuple(cast("list[Format]", found))


def format_of(text: str) -> Format | None:
    """The format that recognizes a text; None for MLIR's."""
    return next((each for each in formats() if each.recognizes(text)), None)


def text_of_binary(data: bytes, filename: str) -> str | None:
    """The text of a program in a binary format; None if the bytes are in none. Raises DiagnosticError."""
    if data[:4].isascii():
        return None
    for each in formats():
        if each.decode is not None and each.magic and data.startswith(each.magic):
            return each.decode(data, filename)
    return None


def binary_problem(data: bytes) -> str:
    """The error in bytes that `text_of_binary` does not know: they hold control characters. Empty for text."""
    if _CONTROL.search(data) is None:
        return ""
    known = "MLIR's text and bytecode, StableHLO's portable artifacts and HLO's text"
    return f"is binary, in no format that is read: those are {known}"


def module_of(program: Any) -> ModuleOp | None:
    """The module of a program that one of the formats takes as an object; None if none does. Raises DiagnosticError."""
    for each in formats():
        found = None if each.take is None else each.take(program)
        if found is not None:
            return found
    return None


def format_named(name: str) -> Format | None:
    """The format of that name, or None."""
    return next((each for each in formats() if each.name == name), None)

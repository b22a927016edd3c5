"""Regular expressions with possessive quantifiers, for every version of Python."""

from __future__ import annotations

import re
import sys

GROUPS_ARE_RIGHT = sys.version_info >= (3, 11, 5)
"""Whether `(..)*+` matches what it should where its group has choices (CPython's issue 106052)."""


def compile_pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """
    The compiled pattern, whose groups may have possessive quantifiers. Early versions of Python 3.11 match them
    wrongly; there they are atomic groups.
    """
    return re.compile(text if GROUPS_ARE_RIGHT else with_atomic_groups(text), flags)


def with_atomic_groups(text: str) -> str:
    """The pattern with `(?>(..)*)` for `(..)*+`, which mean the same; single characters keep their quantifiers."""
    found: list[str] = []
    groups: list[int] = []
    """The places in `found` of the groups that are open."""
    for piece in _PIECE.finditer(text):
        part = piece[0]
        if part[0] == "(":
            groups.append(len(found))
        elif part[0] == ")":
            start = groups.pop()
            if len(part) > 1:
                found[start] = "(?>" + found[start]
                part = f"){part[1]})"
        found.append(part)
    return "".join(found)


_PIECE = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\)[*+?]\+|.", re.DOTALL)
"""A character, one of those in brackets, or the end of a group with its possessive quantifier."""

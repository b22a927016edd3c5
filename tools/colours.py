"""Colours of diagnostics on a terminal; none where NO_COLOR is set (no-color.org), or in files and pipes."""

from __future__ import annotations

import os
import re
from typing import TextIO

_RESET, _BOLD = "\033[0m", "\033[1m"
_SEVERITIES = {"error": "\033[1;31m", "warning": "\033[1;35m", "note": "\033[1;36m", "remark": "\033[1;34m"}
_HEAD = re.compile(
    rf"^(?P<place>(?:[^\n]*?: )?)(?P<severity>{'|'.join(_SEVERITIES)}): (?P<message>[^\n]*)$", re.MULTILINE
)
_CARET = re.compile(r"^([ \t]*)(~*\^~*)$", re.MULTILINE)


def has_colours(stream: TextIO) -> bool:
    """Whether a stream is a terminal that shows colours, and the user wants them."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def coloured(text: str) -> str:
    """Rendered diagnostics with colours: the places bold, severities by kind, carets green."""

    def head(match: re.Match[str]) -> str:
        severity = match["severity"]
        return f"{_BOLD}{match['place']}{_SEVERITIES[severity]}{severity}: {_RESET}{_BOLD}{match['message']}{_RESET}"

    return _CARET.sub(r"\1" + "\033[1;32m" + r"\2" + _RESET, _HEAD.sub(head, text))

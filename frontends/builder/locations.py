"""The lines of the user's Python that build a program."""

from __future__ import annotations

import sys
from itertools import islice
from pathlib import Path
from types import CodeType, FrameType

import numpy as np
from xdsl.dialects.builtin import UNKNOWN_LOC, FileLineColLoc, IntAttr, LocationAttr, StringAttr

_PACKAGE = str(Path(__file__).resolve().parent.parent.parent)
"""The folder of the packages, as installed or in a checkout: their frames are not the user's."""
FLOORS = ("frontends", "hlo_dialect", "dialects", "lowering", "passes", "targets", "tools")
_OURS = (*(f"{_PACKAGE}/{name}/" for name in FLOORS), f"{Path(np.__file__).resolve().parent}/")
"""NumPy's own Python calls methods of the arrays that it is given."""

_own: dict[CodeType, bool] = {}
_known: dict[tuple[CodeType, int], LocationAttr] = {}
"""Locations by code and instruction: loops of a user's program build many operations at one place."""


def _is_own(code: CodeType) -> bool:
    found = _own.get(code)
    if found is None:
        found = _own[code] = str(Path(code.co_filename).resolve()).startswith(_OURS)
    return found


def callers_location() -> LocationAttr:
    """The file, line and column of the innermost call that is not in this package."""
    frame: FrameType | None = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None and _is_own(frame.f_code):
        frame = frame.f_back
    if frame is None:
        return UNKNOWN_LOC
    key = frame.f_code, frame.f_lasti
    found = _known.get(key)
    if found is None:
        found = _known[key] = _location(frame)
    return found


def _location(frame: FrameType) -> LocationAttr:
    code = frame.f_code
    line, _, column, _ = next(islice(code.co_positions(), frame.f_lasti // 2, None))
    # Python counts columns from 0.
    place = (line or frame.f_lineno, 0 if column is None else column + 1)
    return FileLineColLoc(StringAttr(code.co_filename), *map(IntAttr, place))

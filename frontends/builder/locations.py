"""The lines of the user's Python that build a program."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
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

_own: dict[str, bool] = {}
"""Whether a file is one of this package's."""

_known: dict[int, tuple[CodeType, dict[int, LocationAttr]]] = {}
"""
Locations by code, which is kept so that its identity stays its own, and instruction: a loop of a user's program builds
many operations at one place.
"""


def _is_own(file: str) -> bool:
    found = _own[file] = str(Path(file).resolve()).startswith(_OURS)
    return found


_stated: ContextVar[LocationAttr | None] = ContextVar("location", default=None)


@contextmanager
def placed_at(location: LocationAttr) -> Generator[None]:
    """Operations are built for this place, not for the line that calls: for programs that are read, not run."""
    token = _stated.set(location)
    try:
        yield
    finally:
        _stated.reset(token)


def callers_location() -> LocationAttr:
    """The place that is stated, else the file, line and column of the innermost call that is not in this package."""
    stated = _stated.get()
    if stated is not None:
        return stated
    frame: FrameType | None = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    known = _own.get
    while frame is not None:
        file = frame.f_code.co_filename
        own = known(file)
        if own is None:
            own = _is_own(file)
        if not own:
            return _location_in(frame)
        frame = frame.f_back
    return UNKNOWN_LOC


def _location_in(frame: FrameType) -> LocationAttr:
    code = frame.f_code
    known = _known.get(id(code))
    if known is None:
        known = _known[id(code)] = code, {}
    locations = known[1]
    found = locations.get(frame.f_lasti)
    if found is None:
        found = locations[frame.f_lasti] = _location(frame)
    return found


def _location(frame: FrameType) -> LocationAttr:
    code = frame.f_code
    line, _, column, _ = next(islice(code.co_positions(), frame.f_lasti // 2, None))
    # Python counts columns from 0.
    place = (line or frame.f_lineno, 0 if column is None else column + 1)
    return FileLineColLoc(StringAttr(code.co_filename), *map(IntAttr, place))

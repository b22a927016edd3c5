"""Collects the pattern tables of a folder's files, so that a new family edits no list."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any


def tables(package: str, name: str, entry_point_group: str | None = None) -> Iterator[Any]:
    """
    Each table called `name` (PATTERNS, SCALARS, ..) in a package's files, in the order of their names; then those of
    installed packages.

    A table is a sequence of (operation class, pattern). A file is imported only if it has one.
    """
    folder = Path(str(import_module(package).__file__)).parent
    defines = re.compile(rf"^{name}\b[^=\n]*=", re.MULTILINE)
    for path in sorted(folder.glob("*.py")):
        if defines.search(path.read_text(encoding="utf-8")):
            yield getattr(import_module(f".{path.stem}", package), name)
    for plugin in entry_points(group=entry_point_group) if entry_point_group else ():
        yield plugin.load()

"""Collects the pattern tables of this folder's files, so that a new family edits no list."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any


def tables(name: str, entry_point_group: str) -> Iterator[Any]:
    """
    Each table called `name` (PATTERNS or SCALARS), in the order of the file names; then those of installed packages.

    A table is a sequence of (operation class, pattern). A file is imported only if it has one.
    """
    defines = re.compile(rf"^{name}\b[^=\n]*=", re.MULTILINE)
    for path in sorted(Path(__file__).parent.glob("*.py")):
        if defines.search(path.read_text(encoding="utf-8")):
            yield getattr(import_module(f".{path.stem}", __package__), name)
    for plugin in entry_points(group=entry_point_group):
        yield plugin.load()

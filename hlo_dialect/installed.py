"""
Installed packages, by the names of folders and the text of entry_points.txt; `importlib.metadata` where that is needed.

It imports a parser of mail, which would cost more than many a pass, to learn that there are no entry points.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

_GROUP = re.compile(r"^\s*\[([^\]]+)\]", re.MULTILINE)
_VERSIONED = re.compile(r"(.+?)-(\d[^-]*)(?:-[^-]+)?\.(?:dist|egg)-info")


class InstalledPoints:
    """The entry points of the packages on a path, without xDSL's own passes, which are found by their names."""

    def __init__(self, path: tuple[str, ...]):
        self._groups = _groups_on(path)
        """The groups of which there may be entry points; None if that is not known."""

    def select(self, *, group: str) -> Iterable[EntryPoint]:
        """The entry points of a group."""
        if self._groups is not None and group not in self._groups:
            return ()
        from importlib.metadata import entry_points

        return entry_points(group=group)


def version_of(package: str) -> str:
    """The version of an installed package, whose name has no `-`. Raises PackageNotFoundError."""
    if _is_plain(tuple(sys.path)):
        for name in _metadata_folders(tuple(sys.path)):
            found = _VERSIONED.fullmatch(os.path.basename(name))
            if found is not None and found[1] == package:
                return found[2]
    from importlib.metadata import version

    return version(package)


def _groups_on(path: tuple[str, ...]) -> frozenset[str] | None:
    if not _is_plain(path):
        return None
    groups: set[str] = set()
    for folder in _metadata_folders(path):
        if os.path.basename(folder).startswith("xdsl-"):
            continue
        try:
            with open(os.path.join(folder, "entry_points.txt"), encoding="utf-8") as file:
                groups.update(name.strip() for name in _GROUP.findall(file.read()))
        except OSError:
            continue  # most packages have none
    return frozenset(groups)


def _is_plain(path: tuple[str, ...]) -> bool:
    """Whether all packages are in folders: no finder brings some of its own, and nothing on the path is an archive."""
    if any(hasattr(finder, "find_distributions") for finder in sys.meta_path if finder is not PathFinder):
        return False
    return not any(os.path.isfile(entry) or entry.endswith(".egg") for entry in path)


def _metadata_folders(path: tuple[str, ...]) -> Iterator[str]:
    for folder in path:
        try:
            names = os.listdir(folder or ".")
        except OSError:
            continue  # a path may name folders that do not exist
        yield from (os.path.join(folder, name) for name in names if name.endswith((".dist-info", ".egg-info")))

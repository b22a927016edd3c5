"""
Extensions of installed packages, through entry points. One that breaks, breaks alone: it is left out, with a warning.

The warning names the package, the entry point and the error. Everything that does not need the package still works.
"""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .installed import InstalledPoints

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUPS = {
    "xhlo.ops": "a Dialect, or a sequence of operation classes",
    "xhlo.lowerings": "a sequence of (operation class, function), how convert-hlo-to-linalg lowers it",
    "xhlo.scalar_lowerings": "a sequence of (operation class, function), the same for elementwise operations",
    "xhlo.decompositions": "a sequence of (operation class, function), how decompose-hlo replaces it",
    "xhlo.fusion_rules": "a sequence of (operation class, function), which operations fuse-hlo keeps apart",
    "xhlo.costs": "a sequence of (operation class, operations), the cost of computing one element again",
    "xhlo.custom_calls": "a sequence of CustomCallTarget",
    "xhlo.formats": "a Format: programs in other syntax, or objects of other systems",
    "xhlo.pipeline": "a mapping from places, such as before:fuse-hlo, to passes",
    "xhlo.targets": "a Target",
    "xhlo.torch_rules": "a sequence of (names of PyTorch's operations, function), how they become hlo",
    "xdsl.universe": "a Universe of xDSL: passes by name",
}
"""The groups of entry points and what each entry point loads as."""


class PluginWarning(UserWarning):
    """
    A package that extends xhlo could not be used, or only in part; the message names it and the error.

    Everything that does not need the package works. To stop at it instead, make the warning an error:

    >>> import warnings
    >>> import xhlo
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", xhlo.PluginWarning)
    ...     executable = xhlo.compile("func.func @main(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> }")
    """


@dataclass(frozen=True)
class Plugin:
    """An entry point of an installed package, not loaded yet."""

    point: EntryPoint

    @property
    def name(self) -> str:
        return self.point.name

    @property
    def package(self) -> str:
        """The package's name as pip shows it; the entry point's value if there is none."""
        return self.point.dist.name if self.point.dist is not None else self.point.value

    def __str__(self) -> str:
        return f"the package {self.package} ({self.point.name} = {self.point.value} in {self.point.group})"

    def load(self) -> Any:
        """The object that the entry point names. Raises whatever its import raises."""
        return self.point.load()


def plugins(group: str) -> list[Plugin]:
    """The entry points of a group, in the order of their names and packages."""
    found = map(Plugin, _entry_points(tuple(sys.path)).select(group=group))
    return sorted(found, key=lambda plugin: (plugin.name, plugin.package, plugin.point.value))


@lru_cache(maxsize=4)
def _entry_points(path: tuple[str, ...]) -> InstalledPoints:
    """All entry points of the packages on sys.path. They are read once, because that takes milliseconds."""
    return InstalledPoints(path)


def loaded(group: str) -> Iterator[tuple[Plugin, Any]]:
    """The entry points of a group with what they name; those that fail to load are left out, with a warning."""
    for plugin in plugins(group):
        try:
            yield plugin, plugin.load()
        except (Exception, SystemExit) as error:
            leave_out(plugin, error)


_said: set[str] = set()
_tool = ""


def speak_as(tool: str) -> None:
    """Print warnings as those of a command-line tool from now on, instead of as Python's."""
    global _tool
    _tool = tool


_lock = threading.RLock()  # a handler of a signal may compile meanwhile


def leave_out(plugin: Plugin, problem: BaseException | str) -> None:
    """Warn, once in a process, that what the entry point adds is missing, and why."""
    text = problem if isinstance(problem, str) else describe_error(problem)
    message = f"{plugin} is left out: {text}"
    with _lock:
        if message in _said:
            return
        _said.add(message)
    if _tool:
        print(f"{_tool}: warning: {message}", file=sys.stderr)
    else:
        warnings.warn(message, PluginWarning, stacklevel=_users_level())


def describe_error(error: BaseException) -> str:
    """`ModuleNotFoundError: No module named 'x'`, on one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}".removesuffix(": ")


def _users_level() -> int:
    """The number of frames from `leave_out` to the first outside of this package."""
    frame, level = sys._getframe(1), 1  # pyright: ignore[reportPrivateUsage]
    own = __name__.partition(".hlo_dialect")[0] + "."
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(own):
        frame, level = frame.f_back, level + 1
    return level


@lru_cache(maxsize=1)
def fingerprint() -> tuple[str, ...]:
    """The installed packages that extend the compiler, with their versions and the dates of their files."""
    found: set[str] = set()
    for group in GROUPS:
        for plugin in plugins(group):
            if plugin.point.value.startswith("xdsl."):
                continue
            version = plugin.point.dist.version if plugin.point.dist is not None else ""
            files = sorted(_files_of(plugin.point.module.partition(".")[0]))
            found.add(f"{plugin} {version} {files}")
    return tuple(sorted(found))


def _files_of(module: str) -> Iterator[tuple[str, int, int]]:
    """Name, size and date of each Python file of a top-level module, which is not imported."""
    try:
        spec = find_spec(module)
    except (ImportError, ValueError):
        return
    if spec is None:
        return
    places = spec.submodule_search_locations
    paths = [Path(spec.origin)] if places is None and spec.origin else []
    for place in places or ():
        paths += Path(place).rglob("*.py")
    for path in paths:
        if path.is_file():
            status = path.stat()
            yield str(path), status.st_size, status.st_mtime_ns

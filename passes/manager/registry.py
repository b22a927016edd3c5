"""
The pass registry: every pass by name, found without importing it.

* Ours: a class whose name ends in `Pass`, with a `name = ".."`. The pass `x-y` is defined in `x_y.py`, or in a folder
  `x_y/`: in `transform.py` under `passes/`, in `conversion.py` under `lowering/`. The text is scanned; the module is
  imported when the pass is requested.
* xDSL's own, under their names (`canonicalize`, `cse`, ..).
* Passes of installed packages, through xDSL's entry points (group `xdsl.universe`).
* Passes of files that a command line names (`hlo-opt --load=my_pass.py`).

Names are unique: a second registration raises DuplicatePassError; for an installed package it is a warning.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ...hlo_dialect.file_scans import scanned

if TYPE_CHECKING:
    from types import ModuleType

    from xdsl.passes import ModulePass

    from ...hlo_dialect.plugins import Plugin

Origin = Literal["xhlo", "xdsl", "plugin"]

ENTRY_POINT_GROUP = "xdsl.universe"

_FOLDERS = ("passes", "lowering")
_FILES = ("transform.py", "conversion.py")
"""The files of a pass that is a folder."""
_CLASS = re.compile(
    r"""^class\ (?P<class>\w+Pass)\([^)]*\):\s*\n      # class FuseHloPass(HloPass):
        (?P<body>(?:[ \t]+[^\n]*\n|\n)*?)              # docstring and fields, not beyond the class
        \ {4}name(?:\s*:[^=\n]*)?\s*=\s*"(?P<name>[^"]+)"
    (?:\s*\n\ {4}only_for\ =\ \((?P<only_for>[^)]*)\))? """,
    re.MULTILINE | re.VERBOSE,
)
_DOCSTRING = re.compile(r'\s*r?"""(.*?)"""', re.DOTALL)
_XDSL_ENTRY = re.compile(r'^ {8}"([\w.-]+)": get_\w+,$', re.MULTILINE)


class DuplicatePassError(Exception):
    """Two passes have the same name."""


class PassFileError(ValueError):
    """A file of passes, or a pass of another package, that cannot be loaded."""


class UnknownPassError(LookupError):
    """No pass has the name; the message proposes similar ones."""


@dataclass(frozen=True)
class PassEntry:
    """The facts about a pass that are known before it is imported."""

    name: str
    origin: Origin
    summary: str
    """First line of the class's docstring; empty if unknown without an import."""
    home: str
    """Its origin, for messages: a module, or a package's entry point."""
    load: Callable[[], type[ModulePass]]
    only_for: tuple[str, ...] = ()
    """See `HloPass.only_for`; empty if unknown without an import."""


class PassRegistry:
    """Passes by name, in the order of registration."""

    def __init__(self) -> None:
        self._entries: dict[str, PassEntry] = {}

    def register(self, entry: PassEntry) -> None:
        """Add a pass. Raises DuplicatePassError if the name is taken."""
        taken = self._entries.get(entry.name)
        if taken is not None:
            raise DuplicatePassError(f"the pass name '{entry.name}' of {entry.home} is taken by {taken.home}")
        self._entries[entry.name] = entry

    def get(self, name: str) -> PassEntry | None:
        return self._entries.get(name)

    def __iter__(self) -> Iterator[PassEntry]:
        return iter(self._entries.values())


def scan_source(text: str, module: str) -> Iterator[PassEntry]:
    """The passes that the source text of `module` defines."""
    return _entries(_passes_in(text.encode()), module)


def _entries(found: Iterable[tuple[str, str, str, tuple[str, ...]]], module: str) -> Iterator[PassEntry]:
    for class_name, name, summary, only_for in found:
        yield PassEntry(name, "xhlo", summary, module, _loader(module, class_name), only_for)


def _passes_in(contents: bytes) -> tuple[tuple[str, str, str, tuple[str, ...]], ...]:
    """For each pass its class's name, its own, its summary, and what it is for."""
    if b"Pass(" not in contents:
        return ()
    found: list[tuple[str, str, str, tuple[str, ...]]] = []
    for match in _CLASS.finditer(contents.decode()):
        docstring = _DOCSTRING.match(match["body"])
        only_for = tuple(re.findall('"([^"]+)"', match["only_for"] or ""))
        found.append((match["class"], match["name"], _summary(docstring[1] if docstring else ""), only_for))
    return tuple(found)


def _summary(docstring: str) -> str:
    """The docstring's first sentence or line, on one line."""
    paragraph = textwrap.dedent(docstring).strip().split("\n\n")[0]
    line = " ".join(paragraph.split())
    sentence, dot, _ = line.partition(". ")
    return sentence + "." if dot else line


def _loader(module: str, class_name: str) -> Callable[[], type[ModulePass]]:
    return lambda: getattr(importlib.import_module(module), class_name)


def _own_passes() -> Iterator[PassEntry]:
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
    package = __name__.rpartition(".passes.")[0]
    for folder in _FOLDERS:
        for name in sorted(_files_of_passes(os.path.join(root, folder))):
            path = os.path.join(root, folder, name)
            found = scanned(path, os.stat(path), _passes_in)
            yield from _entries(found, ".".join((package, folder, *name[:-3].split(os.sep))))


def _files_of_passes(folder: str) -> Iterator[str]:
    """The files that may define passes, relative to the folder."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".py"):
                yield entry.name
            elif entry.is_dir():
                named = (os.path.join(entry.name, each) for each in _FILES)
                yield from (each for each in named if os.path.isfile(os.path.join(folder, each)))


def _xdsl_passes() -> Iterator[PassEntry]:
    """xDSL's own, by the names in the table of `xdsl.transforms`, read as text: importing it costs 0.1 s."""
    spec = find_spec("xdsl")
    assert spec is not None and spec.origin is not None, "xdsl is a dependency"
    table = os.path.join(os.path.dirname(spec.origin), "transforms", "__init__.py")
    for name in scanned(table, os.stat(table), _xdsl_names_in):
        yield PassEntry(name, "xdsl", "", "xDSL", _xdsl_loader(name))


def _xdsl_names_in(contents: bytes) -> tuple[str, ...]:
    return tuple(_XDSL_ENTRY.findall(contents.decode()))


def _xdsl_loader(name: str) -> Callable[[], type[ModulePass]]:
    def load() -> type[ModulePass]:
        from xdsl.transforms import get_all_passes

        return get_all_passes()[name]()

    return load


def _plugin_passes() -> Iterator[tuple[Plugin, PassEntry]]:
    """The passes of other packages' universes. Their entry points must be loaded to get the names."""
    from ...hlo_dialect.plugins import leave_out, plugins

    for plugin in plugins(ENTRY_POINT_GROUP):
        if plugin.point.value.startswith("xdsl."):
            continue  # xDSL's own universe is covered by _xdsl_passes
        try:
            passes = dict(plugin.load().all_passes)
        except (Exception, SystemExit) as error:
            leave_out(plugin, error)
            continue
        for name, load in passes.items():
            yield plugin, PassEntry(name, "plugin", "", f"{plugin.name} ({plugin.point.value})", load)


@cache
def builtin_registry() -> PassRegistry:
    """Our passes and xDSL's. Raises DuplicatePassError."""
    registry = PassRegistry()
    for entry in (*_own_passes(), *_xdsl_passes()):
        registry.register(entry)
    return registry


@cache
def full_registry() -> PassRegistry:
    """
    The builtin registry plus the passes of installed packages and of loaded files. A package that fails to load, or
    whose pass has a taken name, is left out with a warning.
    """
    from ...hlo_dialect.plugins import leave_out

    registry = PassRegistry()
    for entry in (*builtin_registry(), *_of_files):
        registry.register(entry)
    for plugin, entry in _plugin_passes():
        try:
            registry.register(entry)
        except DuplicatePassError as error:
            leave_out(plugin, str(error))
    return registry


_of_files: list[PassEntry] = []
"""The passes of the files that `register_file` read."""


def register_file(path: str) -> list[PassEntry]:
    """
    Import a Python file and register the passes that it defines: the classes derived from ModulePass with a `name`.

    Raises PassFileError for a file that cannot be read or imported or that defines no pass, DuplicatePassError for a
    name that is taken.
    """
    import inspect

    from xdsl.passes import ModulePass

    module = _import_file(path)
    found = [
        value
        for value in vars(module).values()
        if inspect.isclass(value) and issubclass(value, ModulePass) and value.__module__ == module.__name__
    ]
    found = [cls for cls in found if isinstance(getattr(cls, "name", None), str)]
    if not found:
        raise PassFileError(f"{path} defines no pass: no class derived from ModulePass or HloPass that has a name")
    registry = full_registry()
    entries = [
        PassEntry(cls.name, "plugin", _summary(inspect.getdoc(cls) or ""), path, partial(_itself, cls)) for cls in found
    ]
    for entry in entries:
        registry.register(entry)
        _of_files.append(entry)
    return entries


def _itself(cls: type[ModulePass]) -> type[ModulePass]:
    return cls


def _import_file(path: str) -> ModuleType:
    """The file as a module of its own name. Raises PassFileError."""
    from importlib.util import module_from_spec, spec_from_file_location

    from ...hlo_dialect.plugins import describe_error

    name = f"loaded_{re.sub(r'[^A-Za-z0-9]', '_', str(Path(path).resolve()))}"
    spec = spec_from_file_location(name, path) if path.endswith(".py") else None
    if spec is None or spec.loader is None:
        raise PassFileError(f"cannot load {path}: expected a Python file, my_pass.py")
    module = module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        if isinstance(error, OSError) and error.filename == path:
            raise PassFileError(f"cannot read {path}: {error.strerror}") from error
        raise PassFileError(f"cannot load {path}: {describe_error(error)}{_line_in(path, error)}") from error
    return module


def _line_in(path: str, error: BaseException) -> str:
    """The last line of the file that the exception passed, for a message."""
    from traceback import extract_tb

    lines = [frame.lineno for frame in extract_tb(error.__traceback__) if frame.filename == path]
    return f" ({path}:{lines[-1]})" if lines else ""


def find_pass(name: str) -> PassEntry | None:
    """The entry of a pass, or None; installed packages are searched last."""
    return builtin_registry().get(name) or full_registry().get(name)


def get_pass(name: str) -> type[ModulePass]:
    """
    The class of a pass, imported now. Raises UnknownPassError, PassFileError for a pass of another package whose import
    fails.
    """
    entry = find_pass(name)
    if entry is None:
        raise UnknownPassError(f"no pass is named '{name}'{_similar(name)}")
    try:
        return entry.load()
    except Exception as error:
        if entry.origin != "plugin":
            raise
        from ...hlo_dialect.plugins import describe_error

        raise PassFileError(f"the pass '{name}' of {entry.home} cannot be loaded: {describe_error(error)}") from error


def list_passes() -> tuple[PassEntry, ...]:
    """All passes: ours, xDSL's, plugins', each group sorted by name."""
    order = {"xhlo": 0, "xdsl": 1, "plugin": 2}
    return tuple(sorted(full_registry(), key=lambda entry: (order[entry.origin], entry.name)))


def _similar(name: str) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, [entry.name for entry in full_registry()], n=2)
    return f"; did you mean {' or '.join(repr(c) for c in close)}?" if close else ""

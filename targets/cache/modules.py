"""
The byte code of modules, many in one file.

For each module Python looks through folders, then opens, reads and checks a file. A first compilation imports 500 of
the compiler, xDSL and llvmlite, and that is a twelfth of its time. Here the source is asked for its size and time, as
Python does, and the rest is in memory. Modules are the same: their loader differs from Python's in where it has the
code from.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import MAGIC_NUMBER
from types import CodeType, ModuleType
from typing import Any

from .definitions import kept_definitions
from .kept import Kept

_PACKAGES = frozenset((__name__.partition(".")[0], "xdsl", "llvmlite", "ml_dtypes"))


class _KeptLoader(SourceFileLoader):
    """Python's loader of sources, with code that it has already."""

    def __init__(self, fullname: str, path: str, code: CodeType) -> None:
        super().__init__(fullname, path)
        self._code: CodeType | None = code

    def get_code(self, fullname: str) -> CodeType | None:
        code, self._code = self._code, None
        return super().get_code(fullname) if code is None else code


class _NotingLoader(SourceFileLoader):
    """Python's loader of sources, which keeps the code that it compiles until that is stored."""

    compiled: tuple[tuple[int, int], CodeType] | None = None
    """The version of the source, and its code."""

    def get_code(self, fullname: str) -> CodeType | None:
        self._version = _version(self.path)
        return super().get_code(fullname)

    def source_to_code(self, data: Any, path: Any, *, _optimize: int = -1) -> CodeType:  # pyright: ignore[reportIncompatibleMethodOverride]
        code: CodeType = super().source_to_code(data, path, _optimize=_optimize)  # pyright: ignore[reportCallIssue]
        if self._version is not None and self._version[1] == len(data):
            self.compiled = self._version, code
        return code


class KeptModules:
    """Finds modules of these packages whose code is kept; the last part of `sys.meta_path` finds others."""

    def __init__(self) -> None:
        self.kept = Kept("modules", self._add_found)
        self._others: list[str] = []
        """Modules of these packages whose code was not kept."""
        self._notes = False
        """Whether Python stores no byte code, so that what it compiles would be lost with the process."""
        self._hooks: tuple[object, ...] = ()
        self._usual = False
        """Whether Python loads sources itself, as far as these hooks say."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module, if it is a part of a package in a single folder, and its source as it was."""
        if path is None or len(path) != 1 or fullname.partition(".")[0] not in _PACKAGES:
            return None
        kept = self.kept.get((fullname, *path))
        if kept is not None and self._loads_as_python_does():
            source, version, cached, is_package, code = kept
            if version == _version(source):
                return _spec(fullname, source, cached, is_package, code)
        if not self._others:
            self.kept.ends_with_it()
            self._notes = not self.kept.is_beside_byte_code()
        self._others.append(fullname)
        if not self._notes or not self._loads_as_python_does():
            return None
        spec = PathFinder.find_spec(fullname, path)
        if spec is not None and type(spec.loader) is SourceFileLoader:
            spec.loader = _NotingLoader(fullname, spec.loader.path)
        return spec

    def _loads_as_python_does(self) -> bool:
        """Tools that check or count what modules do have loaders of their own, which hooks for folders may give."""
        hooks = tuple(sys.path_hooks)
        if hooks != self._hooks:
            spec = PathFinder.find_spec(__name__, [os.path.dirname(__file__)])
            self._usual = spec is not None and type(spec.loader) is SourceFileLoader
            self._hooks = hooks
        return self._usual

    def _add_found(self) -> None:
        """Keep the byte code of the modules that Python has found otherwise."""
        for fullname in self._others:
            spec: Any = getattr(sys.modules.get(fullname), "__spec__", None)
            if spec is None or type(spec.loader) not in (SourceFileLoader, _NotingLoader) or spec.cached is None:
                continue
            found = getattr(spec.loader, "compiled", None) or _stored(spec, fullname)
            if found is not None:
                version, code = found
                folder, is_package = os.path.dirname(spec.origin), spec.submodule_search_locations is not None
                key = (fullname, os.path.dirname(folder) if is_package else folder)
                self.kept.add(key, (spec.origin, version, spec.cached, is_package, code))
        self._others.clear()


def _stored(spec: Any, fullname: str) -> tuple[tuple[int, int], CodeType] | None:
    """The version of a module's source and its code, if Python has stored that."""
    version = _version(spec.origin)
    if version is None or not _has_byte_code(spec.cached, version):
        return None
    # The loader names the source in it where that is now: installations are moved and copied.
    return version, spec.loader.get_code(fullname)


def _version(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def _stated(version: tuple[int, int]) -> bytes:
    """Time and size as byte code states them."""
    time, size = version
    return b"".join((number & 0xFFFFFFFF).to_bytes(4, "little") for number in (time // 10**9, size))


def _has_byte_code(path: str, version: tuple[int, int]) -> bool:
    """
    Whether a file has the byte code of a source, for this version of Python.

    It states the source's size and time in whole seconds, so it must also not be older: an editor may have stored the
    source twice in a second.
    """
    try:
        with open(path, "rb") as file:
            written = os.fstat(file.fileno()).st_mtime_ns
            return file.read(16) == MAGIC_NUMBER + bytes(4) + _stated(version) and written >= version[0]
    except OSError:
        return False


def _spec(fullname: str, source: str, cached: str, is_package: bool, code: CodeType) -> ModuleSpec:
    spec = ModuleSpec(fullname, _KeptLoader(fullname, source, code), origin=source, is_package=is_package)
    spec.has_location = True
    spec.cached = cached
    if spec.submodule_search_locations is not None:
        spec.submodule_search_locations.append(os.path.dirname(source))
    return spec


MODULES = KeptModules()


@contextmanager
def kept_code() -> Generator[None]:
    """
    Use kept code for the methods of dataclasses that are defined inside, and from now on for the modules of these
    packages. Finders that others have put before Python's go first.
    """
    if MODULES not in sys.meta_path:
        # It stays: another thread that goes through the finders would miss one if this one were removed.
        at = sys.meta_path.index(PathFinder) if PathFinder in sys.meta_path else len(sys.meta_path)
        sys.meta_path.insert(at, MODULES)
    with kept_definitions():
        yield

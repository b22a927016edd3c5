"""
Executables in the cache folder.

The key is the program's text, the options, the versions of the machine and its software, the compiler's own files and
those of the packages that extend it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

from ...hlo_dialect.custom_calls.registry import ENTRY_POINT_GROUP, REGISTRY
from ...hlo_dialect.garbage_collector import paused_gc
from ...hlo_dialect.machine_memory import asked_memory
from ...hlo_dialect.plugins import fingerprint as plugins_fingerprint
from ...hlo_dialect.plugins import plugins
from ..program.container import FORMAT
from ..program.executable import Executable
from ..program.signing import is_required
from ..program.source import Source
from ..program.target import Target
from .files import fingerprint, kept

_PACKAGE = Path(__file__).resolve().parents[2]
_FOLDERS = ("dialects", "hlo_dialect", "lowering", "passes", "targets", "frontends/hlo_text", "frontends/jax")


def kept_executable(
    source: Source,
    target: Target,
    profile: bool,
    compile_: Callable[[], Executable],
    load: Callable[[bytes], Executable],
) -> Executable:
    """The program's executable: loaded from its file, or compiled and, if possible, stored there."""
    key = key_of(target, "custom_call" in source.text or "custom-call" in source.text)
    if key is None:
        return compile_()
    return kept([*key, source.text, source.filename, profile], ".xhlo", compile_, _bytes_of, load)


@paused_gc(kept=True)
def key_of(target: Target, has_custom_calls: bool) -> list[Any] | None:
    """The facts that, with the program, determine an executable; None if it is not to be kept."""
    environment = target.environment()
    # Another process may register a different function.
    registered = has_custom_calls and (REGISTRY.version or plugins(ENTRY_POINT_GROUP))
    places = target.places.text
    if environment is None or registered or places is None or is_required():
        return None
    limit = asked_memory()  # a program that needs more is refused when it is compiled
    compiler = [FORMAT, compiler_fingerprint(), plugins_fingerprint()]
    return [*compiler, environment, places, target.name, target.machine, target.opt_level, limit]


def _bytes_of(executable: Executable) -> bytes | None:
    """The executable's bytes; None if it has none: it calls Python functions, or takes arrays of unknown sizes."""
    try:
        return executable.serialize()
    except ValueError:
        return None


@lru_cache(maxsize=1)
def compiler_fingerprint() -> str:
    """A hash of the compiler's files."""
    return fingerprint(_PACKAGE, _FOLDERS)

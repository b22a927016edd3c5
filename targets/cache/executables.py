"""
Executables in the cache folder.

The key is the program's text, the options, the versions of the machine and its software, the compiler's own files and
those of the packages that extend it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from ...hlo_dialect.custom_calls.registry import ENTRY_POINT_GROUP, REGISTRY
from ...hlo_dialect.plugins import fingerprint as plugins_fingerprint
from ...hlo_dialect.plugins import plugins
from ..program.container import FORMAT
from ..program.executable import Executable
from ..program.source import Source
from ..program.target import Target
from .files import fingerprint, kept

_PACKAGE = Path(__file__).resolve().parents[2]
_FOLDERS = ("dialects", "hlo_dialect", "lowering", "passes", "targets", "frontends/hlo_text")


def kept_executable(
    source: Source,
    target: Target,
    profile: bool,
    compile_: Callable[[], Executable],
    load: Callable[[bytes], Executable],
) -> Executable:
    """The program's executable: loaded from its file, or compiled and, if possible, stored there."""
    environment = target.environment()
    # Another process may register a different function.
    calls = "custom_call" in source.text or "custom-call" in source.text
    registered = calls and (REGISTRY.version or plugins(ENTRY_POINT_GROUP))
    places = target.places.text
    if environment is None or registered or places is None:
        return compile_()
    key = [FORMAT, environment, compiler_fingerprint(), plugins_fingerprint(), places, source.text, source.filename]
    key += [target.name, profile]
    return kept(key, ".xhlo", compile_, lambda executable: executable.serialize(), load)


@lru_cache(maxsize=1)
def compiler_fingerprint() -> str:
    """A hash of the compiler's files."""
    return fingerprint(_PACKAGE, _FOLDERS)

"""The memory of the machine, and sizes as text, in a file that loads no IR: the plugin for JAX asks early."""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path

from .errors import Diagnostic, DiagnosticError

MAX_BYTES = (1 << 63) - 1
"""Offsets are signed 64-bit integers."""

_CGROUPS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")

_UNITS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}
_SIZE = re.compile(r"([0-9]{1,18})([KMGT]?)(?:i?B)?", re.IGNORECASE)


def parse_size(text: str) -> int:
    """Bytes of `4096`, `512M`, `8GiB`. Raises ValueError."""
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"'{text}' is no size in bytes such as 4096, 512M or 8G")
    return int(found[1]) << _UNITS[found[2].upper()]


_chosen: int | None = None


def set_max_memory(size: int | None) -> None:
    """Set the limit on memory for this process, in bytes; None: the environment's, or the machine's."""
    global _chosen
    _chosen = size


def asked_memory() -> int | str | None:
    """The limit on memory that this process, else the environment, asks for; text is not checked yet."""
    return _chosen if _chosen is not None else os.environ.get("XHLO_MAX_MEMORY")


def max_memory() -> int:
    """The bytes that a program may take. Raises DiagnosticError if XHLO_MAX_MEMORY is no size."""
    asked = asked_memory()
    if isinstance(asked, int):
        return asked
    if not asked:
        return machine_memory()
    try:
        return parse_size(asked)
    except ValueError as error:
        raise DiagnosticError(Diagnostic("error", f"XHLO_MAX_MEMORY: {error}")) from None


@cache
def machine_memory() -> int:
    """The bytes of memory that this process can have."""
    sizes = [_physical_memory(), *map(_cgroup_limit, _CGROUPS)]
    try:
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        sizes.append(MAX_BYTES if limit == resource.RLIM_INFINITY else limit)
    except ImportError:  # not a POSIX system
        pass
    return min(sizes)


def _physical_memory() -> int:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return MAX_BYTES


def _cgroup_limit(path: str) -> int:
    try:
        return int(Path(path).read_text(encoding="ascii"))
    except (OSError, ValueError):  # no such group, or "max"
        return MAX_BYTES

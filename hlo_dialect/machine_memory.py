"""The memory of the machine, in a file that loads no package: the plugin for JAX asks when it starts."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

MAX_BYTES = (1 << 63) - 1
"""Offsets are signed 64-bit integers."""

_CGROUPS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


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

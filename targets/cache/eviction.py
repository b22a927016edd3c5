"""Keeping the cache folder within its size: the files that were not used for longest go first."""

from __future__ import annotations

import contextlib
import math
import os
import re
import time

_KEPT = re.compile(r"[0-9a-f]{64}\.[a-z]+")
"""Names of kept files; a folder that the user chose may hold others, which are left alone."""
_TEMPORARY = re.compile(r"\.[0-9a-f]{64}\.[a-z]+\.\d+\.[0-9a-f]{16}")
"""Names of files that are being written, or that a process left that was killed."""

FRESH = 3600.0
"""Seconds for which a file counts as used, and a temporary one as being written."""


def _age(status: os.stat_result) -> float:
    """Seconds since a file was used. A time to come was noted by a clock that was wrong, who knows when: long ago."""
    passed = time.time() - status.st_mtime
    return passed if passed > -FRESH else math.inf


def mark_used(descriptor: int, status: os.stat_result) -> None:
    """Note in a file's time that it was read; not more often than counts, and not where nothing can be written."""
    if _age(status) > FRESH:
        with contextlib.suppress(OSError):
            os.utime(descriptor)


def make_room(folder: int, limit: int) -> None:
    """Remove files from an opened folder until the kept ones take nine tenths of `limit` bytes. Raises OSError."""
    kept: list[tuple[float, str, int]] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if not (_KEPT.fullmatch(entry.name) or _TEMPORARY.fullmatch(entry.name)):
                continue
            with contextlib.suppress(FileNotFoundError):  # another process makes room too
                status = entry.stat(follow_symlinks=False)
                if not entry.name.startswith("."):
                    kept.append((-_age(status), entry.name, status.st_size))
                elif _age(status) > FRESH:
                    os.unlink(entry.name, dir_fd=folder)
    total = sum(size for _, _, size in kept)
    if total <= limit:
        return
    for _, name, size in sorted(kept):
        if total <= limit * 9 // 10:
            break
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=folder)
        total -= size

"""How many threads a process may use: what its environment asks for, else the processors that it may run on."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from pathlib import Path

VARIABLE = "XHLO_NUM_THREADS"
OPENMP_VARIABLE = "OMP_NUM_THREADS"

_CGROUPS = Path("/sys/fs/cgroup")


def default_thread_count(environment: Mapping[str, str] = os.environ, cgroups: Path = _CGROUPS) -> int:
    """
    The number of threads of a parallel loop: XHLO_NUM_THREADS, else OMP_NUM_THREADS, else the processors.

    Raises DiagnosticError if XHLO_NUM_THREADS is no number above 0; OMP_NUM_THREADS, which is not ours, is then ignored
    with a warning.
    """
    text = environment.get(VARIABLE)
    if text:
        count = _positive(text)
        if count is None:
            from ...hlo_dialect.diagnostics import Diagnostic, DiagnosticError  # xDSL takes a while to load

            raise DiagnosticError(Diagnostic("error", f"{VARIABLE}: '{text}' is no number of threads such as 4"))
        return count
    text = environment.get(OPENMP_VARIABLE)
    if text:
        # A list is the numbers of nested loops, the outermost first.
        count = _positive(text.split(",")[0])
        if count is not None:
            return count
        warnings.warn(f"{OPENMP_VARIABLE}: '{text}' is no number of threads, and ignored", RuntimeWarning, stacklevel=2)
    return processors(cgroups)


def processors(cgroups: Path = _CGROUPS) -> int:
    """The processors that this process may run on, or the time of as many that its control group may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    count = len(affinity(0)) if affinity is not None else os.cpu_count() or 1
    return max(1, min(count, _cgroup_limit(cgroups) or count))


def _positive(text: str) -> int | None:
    text = text.strip()
    return int(text) if text.isdecimal() and int(text) > 0 else None


def _cgroup_limit(cgroups: Path) -> int | None:
    """The control group's processors, rounded up; None without a limit."""
    numbers = _numbers(cgroups / "cpu.max") or [
        *_numbers(cgroups / "cpu/cpu.cfs_quota_us"),
        *_numbers(cgroups / "cpu/cpu.cfs_period_us"),
    ]
    if len(numbers) != 2 or min(numbers) <= 0:
        return None
    quota, period = numbers
    return -(-quota // period)


def _numbers(path: Path) -> list[int]:
    """The numbers in a file; none if there is no such file, or a word such as `max`."""
    try:
        return [int(word) for word in path.read_text().split()]
    except (OSError, ValueError):
        return []

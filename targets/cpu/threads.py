"""The threads of parallel loops, as Python sees them."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from .runtime.pool import MAX_THREADS


def _function(name: str, result: Any, *arguments: Any) -> Callable[..., Any]:
    from .jit import engine  # llvmlite takes a while to load

    return engine().function(name, result, *arguments)


def thread_count() -> int:
    """The number of threads of the next parallel loop of this thread."""
    return int(_function("xhlo_thread_limit", ctypes.c_int64)())


def set_thread_count(count: int) -> None:
    """
    Run parallel loops started by this thread on `count` threads from now on, at most MAX_THREADS.

    Raises ValueError below 1.
    """
    if count < 1:
        raise ValueError(f"the number of threads must be at least 1, got {count}")
    _function("xhlo_limit_threads", None, ctypes.c_int64)(min(count, MAX_THREADS))

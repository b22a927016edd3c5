"""Python's garbage collector, switched off while IR is built."""

from __future__ import annotations

import atexit
import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def paused_gc() -> Generator[None]:
    """No garbage collection inside: nothing that is built is garbage, and collection takes up to half the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def stop_gc() -> None:
    """
    No garbage collection from here on, and none at exit: for processes that end with one command.

    It takes a third of a small program's compilation, because the loaded modules create many long-lived objects.
    """
    gc.disable()
    atexit.register(gc.freeze)

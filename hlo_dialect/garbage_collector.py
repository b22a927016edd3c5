"""Python's garbage collector, kept out of the way while IR is built."""

from __future__ import annotations

import atexit
import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def paused_gc() -> Generator[None]:
    """No garbage collection inside: what is built is not garbage, and looking for it takes up to half the time."""
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

    Of a small program's compilation it takes a third: the modules loaded make many objects that live to the end.
    """
    gc.disable()
    atexit.register(gc.freeze)

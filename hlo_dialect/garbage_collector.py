"""Python's garbage collector, switched off while IR is built."""

from __future__ import annotations

import atexit
import gc
import sys
from collections.abc import Generator
from contextlib import contextmanager

MANY_MODULES = 20
"""The number of modules imported during a pause from which all objects count as old afterwards."""


@contextmanager
def paused_gc() -> Generator[None]:
    """No garbage collection inside: nothing that is built is garbage, and collection takes up to half the time."""
    enabled = gc.isenabled()
    modules = len(sys.modules)
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            if len(sys.modules) - modules >= MANY_MODULES:
                _count_all_as_old()
            gc.enable()


def _count_all_as_old() -> None:
    """
    Put all objects into the oldest generation, unseen: those of modules live as long as the process.

    Otherwise the next collection of young objects, a moment later, visits everything that was made during the pause.
    """
    # A process that has frozen objects itself, as before a fork, keeps them frozen.
    if not gc.get_freeze_count():
        gc.freeze()
        gc.unfreeze()


def stop_gc() -> None:
    """
    No garbage collection from here on, and none at exit: for processes that end with one command.

    It takes a third of a small program's compilation, because the loaded modules create many long-lived objects.
    """
    gc.disable()
    atexit.register(gc.freeze)

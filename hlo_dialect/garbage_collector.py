"""Python's garbage collector, switched off while IR is built."""

from __future__ import annotations

import atexit
import gc
import sys
from collections.abc import Generator
from contextlib import contextmanager

FEW = 10_000
"""Objects that the collector may look through at once."""

MANY = 500_000
"""Objects that are built before those among them that have become garbage are looked for."""

IMPORTED = 250
"""Objects that stay of the import of a module, on average a few less."""

_modules = 0
"""The number of modules when the last pause began."""

_built = 0
"""Objects that were built since then."""

_pauses = 0
"""The pauses now, of all threads, at whose end the collector goes on."""

_frozen = 0
"""Objects that the program had frozen when they were last counted, less those that were built since."""


@contextmanager
def paused_gc(*, kept: bool = False) -> Generator[None]:
    """
    No garbage collection inside: nothing that is built is garbage, and collection takes up to half the time.

    Python begins with one of all that was built right afterwards. It finds nothing where what was built is `kept`, and
    is left out. A compilation leaves its IR behind, whose memory should be free at once: `collect_left_behind` frees it
    earlier, and no variable may hold it where the pause ends. That of a small program stays where much was imported: a
    collection would look through all of that.
    """
    global _pauses, _modules
    enabled = gc.isenabled()
    _pauses += enabled
    try:
        gc.disable()
        if enabled:
            _modules = len(sys.modules)
        yield
    finally:
        _pauses -= enabled
        if enabled:
            if kept or gc.get_count()[0] - FEW < _imported() > 0:
                _age()
            gc.enable()


def left_behind() -> int:
    """
    About the number of objects that were built in this pause and not freed, without those of imported modules; 0
    outside of one, or in a program that has switched the collector off.
    """
    return max(0, gc.get_count()[0] - _imported()) if _pauses else 0


def _imported() -> int:
    """About the number of objects that were built by the imports in this pause."""
    return IMPORTED * max(0, len(sys.modules) - _modules)


def collect_left_behind() -> None:
    """Free what was built in this pause, as far as nothing refers to it any more."""
    gc.collect(0)


def _age() -> None:
    """Make what was built old, as if it had been looked through; sometimes look through all, as Python does."""
    global _built
    built = gc.get_count()[0]
    if built < FEW or _is_frozen(built):
        return  # `unfreeze` would also move what the program has frozen
    gc.freeze()
    gc.unfreeze()
    _built += built
    if _built >= MANY:
        _built = 0
        gc.collect()


def _is_frozen(built: int) -> bool:
    """
    Whether the program has frozen objects.

    Python counts them one by one, so that they are counted again only after as many have been `built`. A program that
    unfreezes them has until then the collections that it would have without `_age`.
    """
    global _frozen
    _frozen = _frozen - built if _frozen > built else gc.get_freeze_count()
    return _frozen > 0


def stop_gc() -> None:
    """
    No garbage collection from here on, and none at exit: for processes that end with one command.

    It takes a third of a small program's compilation, because the loaded modules create many long-lived objects.
    """
    gc.disable()
    no_gc_at_exit()


def no_gc_at_exit() -> None:
    """No garbage collection when the process ends, which would look through all that is loaded."""
    atexit.register(gc.freeze)

"""The process's engine, made by another thread while the first program is lowered: LLVM does not hold Python's lock."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress

from ...hlo_dialect.threads import Background
from .jit import engine
from .thread_limits import processors

_begun = threading.Event()


@contextmanager
def engine_beside() -> Generator[None]:
    """Make the engine beside the code inside, once in a process that may use several processors."""
    beside = None if _begun.is_set() or processors() < 2 else _start()
    try:
        yield
    finally:
        # A fork while it holds locks would leave them locked in the child.
        if beside is not None:
            beside.join()


def _start() -> Background[None] | None:
    """The thread's work; None where the system has no room for a thread, or Python is ending."""
    _begun.set()
    try:
        return Background(_make_engine)
    except RuntimeError:
        return None


def _make_engine() -> None:
    # The program's own use of the engine raises the same error where it can be handled.
    with suppress(Exception):
        engine()

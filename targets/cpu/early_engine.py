"""The process's engine, made by another thread while the first program is lowered: LLVM does not hold Python's lock."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress

from ...hlo_dialect.threads import own_stacks
from .jit import engine
from .thread_limits import processors

_begun = threading.Event()


@contextmanager
def engine_beside() -> Generator[None]:
    """Make the engine beside the code inside, once in a process that may use several processors."""
    thread = None if _begun.is_set() or processors() < 2 else _start()
    try:
        yield
    finally:
        # A fork while it holds locks would leave them locked in the child.
        if thread is not None:
            thread.join()


def _start() -> threading.Thread | None:
    """The thread; None where the system has none left, or Python is ending."""
    _begun.set()
    thread = threading.Thread(target=_make_engine, name="xhlo-engine")
    try:
        with own_stacks():
            thread.start()
    except RuntimeError:
        return None
    return thread


def _make_engine() -> None:
    # The program's own use of the engine raises the same error where it can be handled.
    with suppress(Exception):
        engine()

"""The process's engine, made by another thread while the first program is lowered: LLVM does not hold Python's lock."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress

from .jit import engine
from .thread_limits import processors

_begun = threading.Event()


@contextmanager
def engine_beside() -> Generator[None]:
    """Make the engine beside the code inside, once in a process that may use several processors."""
    if _begun.is_set() or processors() < 2:
        yield
        return
    _begun.set()
    thread = threading.Thread(target=_make_engine, name="xhlo-engine")
    thread.start()
    try:
        yield
    finally:
        # A fork while it holds locks would leave them locked in the child.
        thread.join()


def _make_engine() -> None:
    # The program's own use of the engine raises the same error where it can be handled.
    with suppress(Exception):
        engine()

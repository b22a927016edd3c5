"""Threads of ours, beside those of the user's program."""

from __future__ import annotations

import os
import threading
from collections.abc import Generator
from contextlib import contextmanager

STACK = 8 << 20
"""Bytes of a stack, the usual size: LLVM takes megabytes for large functions."""

_lock = threading.RLock()  # a signal's handler may compile, or fork, while this thread has it
if hasattr(os, "register_at_fork"):
    # A child has the user's size, and no lock that a thread holds which it lacks.
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


@contextmanager
def own_stacks() -> Generator[None]:
    """Threads that are started inside have this stack at least, also where `threading.stack_size` asks for less."""
    with _lock:  # else another thread could take the size set here for the user's
        asked = threading.stack_size(STACK)  # without a size it would set the default
        try:
            if asked == 0 or asked > STACK:
                threading.stack_size(asked)
            yield
        finally:
            threading.stack_size(asked)

"""Threads of ours, beside those of the user's program."""

from __future__ import annotations

import _thread
import atexit
import os
import queue
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

T = TypeVar("T")

STACK = 8 << 20
"""Bytes of a stack, the usual size: LLVM takes megabytes for large functions."""

POLL = 0.05
"""Seconds after which a thread that waits looks for signals, at the latest."""

LONGEST_END = 2.0
"""The most seconds that the end of the process, or a fork, waits for other threads."""

_lock = threading.RLock()  # a signal's handler may compile, or fork, while this thread has it
if hasattr(os, "register_at_fork"):
    # A child has the user's size, and no lock that a thread holds which it lacks.
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


def _ask_for_ours() -> int:
    """Let threads begin with our stack at least; returns the size that the user asks for. Under the lock."""
    asked = threading.stack_size(STACK)  # without a size it would set the default
    if asked == 0 or asked > STACK:
        threading.stack_size(asked)
    return asked


@contextmanager
def own_stacks() -> Generator[None]:
    """Threads that are started inside have this stack at least, also where `threading.stack_size` asks for less."""
    with _lock:  # else another thread could take the size set here for the user's
        asked = _ask_for_ours()
        try:
            yield
        finally:
            threading.stack_size(asked)


def start_daemon(work: Callable[..., object], *arguments: Any) -> int:
    """
    Start a thread that calls `work`, with a stack of ours; returns its number. Raises RuntimeError if there is no room
    for it.

    `threading.Thread.start` waits for the thread by locks that a signal's handler may leave locked, or unlock twice,
    when it raises an exception.
    """
    # Not by `own_stacks`: an exception that comes when its generator has the lock leaves it with whoever frees that.
    with _lock:
        asked = _ask_for_ours()
        try:
            return _thread.start_new_thread(work, arguments)
        finally:
            threading.stack_size(asked)


def next_of(entries: queue.SimpleQueue[T]) -> T:
    """
    Wait for the next entry of a queue. Handlers of signals are called meanwhile, and may raise exceptions.

    A wait without limit could last forever: a signal that comes after Python has looked for one, and before the thread
    sleeps, does not wake it.
    """
    while True:
        try:
            return entries.get(timeout=POLL)
        except queue.Empty:
            pass


class Ending:
    """The end of work on another thread. Handlers of signals are called during the wait for it, and may raise."""

    def __init__(self) -> None:
        self.has_come = False
        self._entries: queue.SimpleQueue[None] = queue.SimpleQueue()

    def come(self) -> None:
        self.has_come = True
        self._entries.put(None)

    def wait(self) -> None:
        while not self.has_come:
            next_of(self._entries)


class Background(Generic[T]):
    """
    A function that another thread calls. The process does not end before the function has.

    Raises RuntimeError if there is no room for the thread.
    """

    def __init__(self, work: Callable[[], T]):
        self._work = work
        self._results: list[T] = []
        self._error: BaseException | None = None
        self._ending = Ending()
        start_daemon(self._run)
        _going.add(self)
        if self._ending.has_come:
            _going.discard(self)

    def _run(self) -> None:
        _going.add(self)  # too: a signal may keep the other thread from it
        try:
            self._results.append(self._work())
        except BaseException as error:
            self._error = error
        self._ending.come()
        _going.discard(self)

    def join(self) -> None:
        """Wait until the function has ended."""
        self._ending.wait()

    def result(self) -> T:
        """The function's result, once it has ended. Raises the error that it raised."""
        self.join()
        if self._error is not None:
            raise self._error
        return self._results[0]


_going: set[Background[Any]] = set()
"""Those at work."""


@atexit.register
def _finish() -> None:
    for each in list(_going):
        each.join()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_going.clear)

"""The garbage collector frees the IR of a program while LLVM, which does not hold Python's lock, compiles its text."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from ...hlo_dialect.garbage_collector import collect_left_behind, left_behind
from .thread_limits import default_thread_count

T = TypeVar("T")

WORTH_A_THREAD = 5_000
"""Objects that take several times as long to free as a thread to start."""


def while_collecting(work: Callable[[], T]) -> T:
    """
    The result of `work`. Where much was built that nothing refers to any more, another thread does the work while this
    one frees that: finalizers run where Python would run them too.
    """
    if left_behind() < WORTH_A_THREAD or default_thread_count() < 2:
        return work()
    beside = _Beside(work)
    try:
        beside.start()
    except RuntimeError:
        return work()  # the system has no thread left, or Python is ending
    try:
        collect_left_behind()
    finally:
        # A fork while it holds locks would leave them locked in the child.
        beside.join()
    return beside.result()


class _Beside(threading.Thread, Generic[T]):
    """A thread that keeps the result of its work."""

    def __init__(self, work: Callable[[], T]):
        super().__init__(name="xhlo-compile")
        self._work = work
        self._results: list[T] = []
        self._error: BaseException | None = None

    def run(self) -> None:
        try:
            self._results.append(self._work())
        except BaseException as error:
            self._error = error

    def result(self) -> T:
        """What the work returned, once it has ended. Raises what it raised."""
        if self._error is not None:
            raise self._error
        return self._results[0]

"""
Runs that Ctrl-C can leave: machine code does not see Python's signals, so long runs go on another thread, while the
main thread waits for them or for the interrupt.
"""

from __future__ import annotations

import atexit
import os
import queue
import threading
import time
import weakref
from collections.abc import Callable

from ...hlo_dialect.threads import LONGEST_END, Ending, start_daemon
from .memory import POOL, Block
from .stops import STOPS
from .threads import set_thread_count, thread_count

_LEFT = "xhlo_run"
"""The attribute of an interrupt: the run that it left. A class of its own would hide from Python that it was Ctrl-C."""


def run_left_by(error: BaseException) -> Run | None:
    """
    The run that this exception ended the wait for, if its machine code goes on to its next safepoint in the background;
    its memory must stay until it ends.
    """
    return getattr(error, _LEFT, None)


class Run:
    """
    A run that is given to a worker. Only locks of one instruction are used: an exception that a signal's handler raises
    on the main thread finds them free, or held by another thread.
    """

    def __init__(self, work: Callable[[], None], arena: Block | None, threads: int):
        self._work: Callable[[], None] | None = work
        self.arena = arena
        self.threads = threads
        self.ending = Ending()
        self.is_over = False
        """Whether what was to happen at its end has happened, too."""
        self.error: BaseException | None = None
        self._actions: list[Callable[[], None]] = []
        self._begun = threading.Lock()
        self._lock = threading.Lock()

    def execute(self) -> None:
        if not self._begun.acquire(blocking=False):  # cancelled, or queued again by an interrupt
            return
        work, self._work = self._work, None
        assert work is not None
        try:
            set_thread_count(self.threads)
            _run(work, self.arena)
        except BaseException as error:
            self.error = error
        del work  # and with it the memory of the run
        self._finish()

    def cancel(self) -> bool:
        """End the run if it has not begun. Returns whether it had not."""
        if not self._begun.acquire(blocking=False):
            return False
        self._work = None
        _end(self.arena)
        self._finish()
        return True

    def _finish(self) -> None:
        with self._lock:
            self.ending.come()
            actions, self._actions = self._actions, []
        for action in actions:
            action()
        self.is_over = True
        _left.discard(self)

    def when_done(self, action: Callable[[], None]) -> None:
        """Call `action` when the run has ended; at once if it has."""
        with self._lock:
            if not self.ending.has_come:
                self._actions.append(action)
                return
        action()


IDLE = 60.0
"""Seconds after which a worker's thread looks whether anyone has the worker."""


class _Worker:
    """
    A thread that runs what it is given. It ends when it is given None, or nobody has the worker any more: not by
    `__del__`, where Python ignores what a signal's handler raises.
    """

    def __init__(self) -> None:
        self.runs: queue.SimpleQueue[Run | None] = queue.SimpleQueue()
        start_daemon(_serve, self.runs, weakref.ref(self))


def _serve(runs: queue.SimpleQueue[Run | None], worker: weakref.ref[_Worker]) -> None:
    while True:
        try:
            run = runs.get(timeout=IDLE)
        except queue.Empty:
            if worker() is None:
                return
            continue
        if run is None:
            return
        run.execute()


_worker: _Worker | None = None
_left: set[Run] = set()
"""Runs that nobody waits for."""


def _forget_threads() -> None:
    global _worker
    _worker = None
    _left.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)


@atexit.register
def _rest() -> None:
    """
    Let threads release what runs have used while there is an interpreter; it would end them anywhere. The next
    safepoint of a run that was interrupted is usually close.
    """
    late = time.monotonic() + LONGEST_END
    while _left and time.monotonic() < late:
        time.sleep(0.001)


def _begin(arena: Block | None) -> None:
    if arena is not None:
        STOPS.begin(arena.address)


def _end(arena: Block | None) -> None:
    if arena is not None:
        STOPS.end(arena.address)
        POOL.give_back(arena)


def _run(work: Callable[[], None], arena: Block | None) -> None:
    try:
        work()
    finally:
        _end(arena)


def run_interruptibly(work: Callable[[], None], arena: Block | None) -> None:
    """
    Call `work`, a run on this arena, and give the arena back; an interrupt of the main thread ends the wait for it at
    once, and the run soon.

    Raises what `work` raises, and what handlers of signals do: `run_left_by` that gives a run that goes on. In other
    threads, which get no interrupts, it is a plain call. `work` holds what else its machine code uses.
    """
    global _worker
    if threading.get_ident() != threading.main_thread().ident:
        _begin(arena)
        _run(work, arena)
        return
    run, worker = Run(work, arena, thread_count()), None
    try:
        _begin(arena)
        # A signal's handler that runs a program meanwhile takes another worker.
        worker, _worker = _worker or _Worker(), None
        _wait_for(run, worker)
    except BaseException as error:
        if run.cancel() or not isinstance(error, KeyboardInterrupt):
            raise
        if arena is not None:
            STOPS.ask(arena.address)
        _left.add(run)
        if run.is_over:
            _left.discard(run)
        setattr(error, _LEFT, run)
        raise
    finally:
        if worker is not None:
            if _worker is None and run.ending.has_come:
                _worker = worker
            else:
                worker.runs.put(None)  # it ends after its run
    if run.error is not None:
        raise run.error


def _wait_for(run: Run, worker: _Worker) -> None:
    """
    Let the worker run, and wait until it has. Raises KeyboardInterrupt at once, and what else a handler of a signal
    raises after the run has ended: only those who catch KeyboardInterrupt keep the memory of a run that goes on.
    """
    try:
        worker.runs.put(run)
        run.ending.wait()
    except KeyboardInterrupt:
        raise
    except BaseException:
        if run.arena is not None:
            STOPS.ask(run.arena.address)
        _wait_for(run, worker)
        raise

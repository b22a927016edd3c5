"""
Runs that Ctrl-C can leave: machine code does not see Python's signals, so long runs go on another thread, while the
main thread waits for them or for the interrupt.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable

from ...hlo_dialect.threads import own_stacks
from .memory import POOL, Block
from .stops import STOPS
from .threads import set_thread_count, thread_count


class StillRunning(KeyboardInterrupt):
    """
    An interrupt of a run whose machine code goes on to its next safepoint in the background; its memory must stay until
    it ends.
    """

    def __init__(self, run: _Run):
        super().__init__()
        self._run = run

    def when_done(self, action: Callable[[], None]) -> None:
        """Call `action` when the run has ended; at once if it has."""
        self._run.when_done(action)


class _Run:
    def __init__(self, work: Callable[[], None], arena: Block | None, threads: int):
        self._work: Callable[[], None] | None = work
        self.arena = arena
        self.threads = threads
        self.done = threading.Event()
        self.error: BaseException | None = None
        self._actions: list[Callable[[], None]] = []
        self._lock = threading.Lock()

    def execute(self) -> None:
        work, self._work = self._work, None
        if work is None:  # queued again by an interrupt
            return
        try:
            set_thread_count(self.threads)
            _run(work, self.arena)
            del work  # and with it the memory of the run
        except BaseException as error:
            self.error = error
        with self._lock:
            self.done.set()
            actions, self._actions = self._actions, []
        for action in actions:
            action()

    def when_done(self, action: Callable[[], None]) -> None:
        with self._lock:
            if not self.done.is_set():
                self._actions.append(action)
                return
        action()


class _Worker:
    """A thread that runs what it is given; a busy one is left alone, and ends with its run."""

    def __init__(self) -> None:
        self.runs: queue.SimpleQueue[_Run | None] = queue.SimpleQueue()
        with own_stacks():
            threading.Thread(target=self._work, name="xhlo-run", daemon=True).start()

    def _work(self) -> None:
        while (run := self.runs.get()) is not None:
            run.execute()


_worker: _Worker | None = None


def _forget_worker() -> None:
    global _worker
    _worker = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_worker)


def _begin(arena: Block | None) -> None:
    if arena is not None:
        STOPS.begin(arena.address)


def _run(work: Callable[[], None], arena: Block | None) -> None:
    try:
        work()
    finally:
        if arena is not None:
            STOPS.end(arena.address)
            POOL.give_back(arena)


def run_interruptibly(work: Callable[[], None], arena: Block | None) -> None:
    """
    Call `work`, a run on this arena, and give the arena back; an interrupt of the main thread ends the wait for it at
    once, and the run soon.

    Raises what `work` raises, and StillRunning. In other threads, which get no interrupts, it is a plain call. `work`
    holds what else its machine code uses.
    """
    global _worker
    if threading.current_thread() is not threading.main_thread():
        _begin(arena)
        _run(work, arena)
        return
    # A signal's handler that runs a program meanwhile takes another worker.
    worker, _worker = _worker or _Worker(), None
    run = _Run(work, arena, thread_count())
    _begin(arena)
    try:
        _wait_for(run, worker)
    except KeyboardInterrupt:
        worker.runs.put(run)  # in case the interrupt came before
        if arena is not None:
            STOPS.ask(arena.address)
        raise StillRunning(run) from None
    finally:
        if _worker is None and run.done.is_set():
            _worker = worker
        else:
            worker.runs.put(None)
    if run.error is not None:
        raise run.error


def _wait_for(run: _Run, worker: _Worker) -> None:
    """
    Let the worker run, and wait until it has. Raises KeyboardInterrupt at once, and what else a handler of a signal
    raises after the run has ended: only those who catch StillRunning keep the memory of one that goes on.
    """
    try:
        worker.runs.put(run)
        run.done.wait()
    except KeyboardInterrupt:
        raise
    except BaseException:
        if run.arena is not None:
            STOPS.ask(run.arena.address)
        _wait_for(run, worker)
        raise

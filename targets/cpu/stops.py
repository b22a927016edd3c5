"""Runs that are asked to stop: their machine code leaves its loops at the next safepoint."""

from __future__ import annotations

import threading

import numpy as np

ROOM = 64
"""Runs that can be asked to stop at a time; further ones wait until one of these has ended."""

TABLE = "xhlo_stops"
"""The symbol of the table that the runtime reads: a count, and that many addresses of arenas."""

GOES_ON_IR = """
@xhlo_stops = external global [65 x i64]

define i64 @xhlo_goes_on(ptr %arena) nounwind {
  %count = load atomic i64, ptr @xhlo_stops monotonic, align 8
  %none = icmp eq i64 %count, 0
  br i1 %none, label %on, label %search
search:
  %number = phi i64 [ %count, %0 ], [ %rest, %next ]
  %place = getelementptr i64, ptr @xhlo_stops, i64 %number
  %asked = load atomic ptr, ptr %place monotonic, align 8
  %found = icmp eq ptr %asked, %arena
  br i1 %found, label %stop, label %next
next:
  %rest = sub i64 %number, 1
  %last = icmp eq i64 %rest, 0
  br i1 %last, label %on, label %search
on:
  ret i64 1
stop:
  ret i64 0
}
"""
"""LLVM IR of `i64 xhlo_goes_on(void *arena)`; see lowering/convert_to_llvm/cpu.py."""


class Stops:
    """The runs in progress that can be asked to stop, each named by the address of its arena. Thread-safe."""

    def __init__(self) -> None:
        self._table = np.zeros(1 + ROOM, np.int64)
        self._lock = threading.Lock()
        self._threads: dict[int, int] = {}
        """The thread that started each run."""
        self._asked: dict[int, None] = {}

    @property
    def symbols(self) -> dict[str, int]:
        """The address of the table, by the name that the runtime has for it."""
        return {TABLE: self._table.ctypes.data}

    def begin(self, arena: int) -> None:
        """A run on this arena begins, started by this thread."""
        with self._lock:
            self._threads[arena] = threading.get_ident()

    def end(self, arena: int) -> None:
        """The run has ended; from now on the arena may serve another."""
        with self._lock:
            del self._threads[arena]
            if arena in self._asked:
                del self._asked[arena]
                self._publish()

    def ask(self, arena: int) -> None:
        """Ask the run on this arena to stop, if it has not ended."""
        with self._lock:
            if arena in self._threads:
                self._asked[arena] = None
                self._publish()

    def ask_threads(self, threads: set[int]) -> None:
        """Ask the runs that these threads started to stop."""
        with self._lock:
            self._asked |= {arena: None for arena, thread in self._threads.items() if thread in threads}
            self._publish()

    def _publish(self) -> None:
        """A reader that sees half of a change finds the rest at its next safepoint."""
        shown = list(self._asked)[:ROOM]
        self._table[0] = 0
        self._table[1 : 1 + len(shown)] = shown
        self._table[0] = len(shown)


STOPS = Stops()
"""The process's runs."""

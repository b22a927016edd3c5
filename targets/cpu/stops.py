"""
Runs that are asked to stop: their machine code leaves its loops at the next safepoint.

Others ask a run on another thread. One on the main thread asks by itself: every few hundredths of a second a safepoint
lets Python call the handlers of the signals that have come, Ctrl-C's among them, and if one raises an exception, the
run stops and raises it.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Callable, Mapping

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
  %attended = call i1 @attend(ptr %arena)
  br i1 %attended, label %go, label %stop
go:
  ret i64 1
stop:
  ret i64 0
}
"""
"""LLVM IR of `i64 xhlo_goes_on(void *arena)` (lowering/convert_to_llvm/cpu.py); `attend` follows."""

ATTENDED = "xhlo_attended"
"""The symbol of the table that the runtime reads."""

_NEXT, _RAISED, _LAST, _LEFT, _WORDS = 1, 2, 5, 6, 7
"""
The table: the arena that names the run, _NONE if none is attended; when to ask next, in nanoseconds of the runtime's
clock, 0 at the beginning; what a handler has raised, as Python's C API has it: class, exception and traceback, of which
the table owns references, zeros until then; when the clock was read last; the safepoints that do not read it.
"""

_NONE = -1

PERIOD_NS = 30_000_000
"""Nanoseconds from one question to the next."""

SKIPPED, QUICK_NS = 7, 20_000
"""
Safepoints that do not read the clock, which takes as long as a short iteration, where as many have taken less than this
time: should iterations take long from then on, so many more are made before a question.
"""

_PYTHON = ("PyGILState_Ensure", "PyGILState_Release", "PyErr_CheckSignals", "PyErr_Fetch")

_ATTEND_IR = """
@xhlo_attended = external global [WORDS x i64]

declare i32 @PyGILState_Ensure()
declare void @PyGILState_Release(i32)
declare i32 @PyErr_CheckSignals()
declare void @PyErr_Fetch(ptr, ptr, ptr)

; Whether the run on an arena goes on: no handler of a signal has raised an exception.
define internal i1 @attend(ptr %arena) nounwind {
entry:
  %attended = load ptr, ptr @xhlo_attended
  %mine = icmp eq ptr %attended, %arena
  br i1 %mine, label %look, label %on
look:
  %class.at = getelementptr i64, ptr @xhlo_attended, i64 RAISED
  %class = load ptr, ptr %class.at
  %was.stopped = icmp ne ptr %class, null
  br i1 %was.stopped, label %stop, label %time
time:
  %left.at = getelementptr i64, ptr @xhlo_attended, i64 LEFT
  %left = load i64, ptr %left.at
  %skips = icmp ne i64 %left, 0
  br i1 %skips, label %skip, label %clock
skip:
  %fewer = sub i64 %left, 1
  store i64 %fewer, ptr %left.at
  br label %on
clock:
  %now = call i64 @xhlo_clock()
  %last.at = getelementptr i64, ptr @xhlo_attended, i64 LAST
  %last = load i64, ptr %last.at
  %passed = sub i64 %now, %last
  %quick = icmp ult i64 %passed, QUICK_NS
  %skipped = select i1 %quick, i64 SKIPPED, i64 0
  store i64 %now, ptr %last.at
  store i64 %skipped, ptr %left.at
  %next.at = getelementptr i64, ptr @xhlo_attended, i64 NEXT
  %next = load i64, ptr %next.at
  %later = add i64 %now, PERIOD_NS
  %first = icmp eq i64 %next, 0
  br i1 %first, label %begin, label %wait
begin:
  store i64 %later, ptr %next.at
  br label %on
wait:
  %is.time = icmp sge i64 %now, %next
  br i1 %is.time, label %ask, label %on
ask:
  store i64 %later, ptr %next.at
  %lock = call i32 @PyGILState_Ensure()
  %answer = call i32 @PyErr_CheckSignals()
  %raised = icmp slt i32 %answer, 0
  br i1 %raised, label %keep, label %asked
keep:
  %value.at = getelementptr ptr, ptr %class.at, i64 1
  %trace.at = getelementptr ptr, ptr %class.at, i64 2
  call void @PyErr_Fetch(ptr %class.at, ptr %value.at, ptr %trace.at)
  br label %asked
asked:
  call void @PyGILState_Release(i32 %lock)
  br i1 %raised, label %stop, label %on
on:
  ret i1 true
stop:
  ret i1 false
}
"""

_NO_ATTENTION_IR = """
define internal i1 @attend(ptr %arena) nounwind {
  ret i1 true
}
"""


def can_attend() -> bool:
    """Whether this Python has the functions that machine code calls."""
    return sys.implementation.name == "cpython" and os.name == "posix"


def attention_ir() -> str:
    """LLVM IR of `i1 attend(ptr arena)`, which safepoints ask."""
    if not can_attend():
        return _NO_ATTENTION_IR
    text = _ATTEND_IR
    places = {"NEXT": _NEXT, "RAISED": _RAISED, "LAST": _LAST, "LEFT": _LEFT, "WORDS": _WORDS}
    for name, number in {**places, "PERIOD_NS": PERIOD_NS, "QUICK_NS": QUICK_NS, "SKIPPED": SKIPPED}.items():
        text = text.replace(name, str(number))
    return text


class Stops:
    """The runs in progress that can be asked to stop, each named by the address of its arena. Thread-safe."""

    def __init__(self) -> None:
        self._table = np.zeros(1 + ROOM, np.int64)
        self._lock = threading.RLock()  # a handler of a signal may run a program meanwhile
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
        """The run has ended, or an interrupt came before it began; from now on the arena may serve another."""
        with self._lock:
            self._threads.pop(arena, None)
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


class Attention:
    """The run of the main thread that is attended. Only the main thread uses it."""

    def __init__(self) -> None:
        self._table = (ctypes.c_int64 * _WORDS)(_NONE)

    @property
    def symbols(self) -> Mapping[str, int]:
        """Addresses by symbol, for the runtime."""
        functions = {name: ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0 for name in _PYTHON}
        return {ATTENDED: ctypes.addressof(self._table), **functions}

    def run(self, work: Callable[[], None], arena: int) -> None:
        """
        Call `work`, a run on the arena at this address. In a thread other than the main one it is a plain call.

        Raises what a handler of a signal raises, after the run has left its loops.
        """
        if threading.get_ident() != threading.main_thread().ident:
            work()
            return
        before = self._table[:]  # of the run whose handler calls this one
        self._table[:] = (arena, *[0] * (_WORDS - 1))
        try:
            work()
        finally:
            raised = self._table[_RAISED:_LAST]
            self._table[:] = before
            if raised[0]:
                # A handler that raises now, before `work` has returned, must not hide that the run was stopped.
                _raise_again(*raised)


_raise_again: Callable[[int, int, int], None] = ctypes.PYFUNCTYPE(None, *[ctypes.c_void_p] * 3)(
    ("PyErr_Restore", ctypes.pythonapi)
)
"""Raises what the machine code has kept, and takes its references."""

STOPS = Stops()
"""The process's runs."""

ATTENTION = Attention()
"""The process's attended run."""

"""
Runs of programs that call Python functions back: threads of Python's take them from a queue, so that a call of such a
program returns, and an error of a function is raised where somebody waits for the results.

The runs begin one after the other, as they were called. One that has run for PATIENCE does not keep the others from
beginning, because it may wait for them; nor does one that has called the other itself.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import threading
import weakref
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from ...hlo_dialect.threads import own_stacks
from ...targets.cpu.executable import CpuExecutable
from .compiled import Compiled
from .entries import error_of
from .native_calls import loaded
from .native_execution import HOST, HOST_THREAD
from .native_tasks import MOST_HOST_THREADS
from .objects import OBJECTS

PATIENCE = 0.1
"""Seconds that a run waits for the one before it."""


class Program(Protocol):
    """A loaded program, as far as its runs are concerned."""

    compiled: Compiled
    input_specs: list[int]
    output_specs: list[int]

    @property
    def record(self) -> Any:
        """Its `LoadedExecutable`."""
        ...

    def run_task(self, pointers: Sequence[int]) -> None:
        """Run at the addresses of inputs and outputs. Raises the program's exceptions."""
        ...

    def stop_direct_runs(self) -> None:
        """Have the caller run it the next time."""
        ...


PROGRAMS: weakref.WeakValueDictionary[int, Program] = weakref.WeakValueDictionary()
"""The programs by their handles."""


def functions_of(executable: CpuExecutable) -> list[object]:
    """The Python functions of this process that a program calls back, which must live as long as it may run."""
    if not executable.facts.host_calls:
        return []
    from .jax_callbacks import CALLBACK_TARGET, functions_called  # loads the compiler

    calls = (call.resolve()[1] for call in executable.facts.host_calls if call.target == CALLBACK_TARGET)
    return functions_called(calls)


class _Threads:
    """The threads, of which one takes the next task, and the tasks in progress, in order."""

    def __init__(self) -> None:
        self.taking = threading.Lock()
        self.ended = threading.Condition()
        self.numbers = itertools.count()
        self.running: dict[int, int] = {}
        """By the numbers of tasks, the threads that run them."""
        self.free = 0
        self.count = 0

    def start(self) -> None:
        """Start another thread, if the system has one."""
        self.free, self.count = self.free + 1, self.count + 1
        try:
            with own_stacks():
                threading.Thread(target=self._serve, args=(self.count - 1,), name=HOST_THREAD, daemon=True).start()
        except RuntimeError:
            self.free, self.count = self.free - 1, self.count - 1

    def _serve(self, own: int) -> None:
        while True:
            with self.taking:
                address: int = loaded().host_task(own)
                number = next(self.numbers)
                with self.ended:
                    self.running[number] = threading.get_ident()
                    self.free -= 1
                    if not self.free and self.count < MOST_HOST_THREADS:
                        self.start()
            with self._turn(number, OBJECTS["Task"].from_address(address).caller):
                _run(address)

    @contextmanager
    def _turn(self, number: int, caller: int) -> Generator[None]:
        def is_next() -> bool:
            return next(iter(self.running)) == number or caller in self.running.values()

        with self.ended:
            self.ended.wait_for(is_next, PATIENCE)
        try:
            yield
        finally:
            with self.ended:
                del self.running[number]
                self.free += 1
                self.ended.notify_all()


_threads = _Threads()


def start() -> None:
    """Have a thread that waits for tasks."""
    with _threads.ended:
        if not _threads.count:
            _threads.start()


def forget() -> None:
    """In the child of a fork, which has only the thread that forked."""
    global _threads
    _threads = _Threads()
    for program in list(PROGRAMS.values()):
        if program.record.direct == HOST:
            program.stop_direct_runs()  # The next run starts a thread.


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=forget)


def _run(address: int) -> None:
    """Run a task, unless one of its inputs failed, and let its event happen."""
    task: Any = OBJECTS["Task"].from_address(address)
    if not task.error:
        try:
            program = PROGRAMS[task.program]
            inputs, outputs = len(program.input_specs), len(program.output_specs)
            words = (ctypes.c_int64 * (2 * (inputs + outputs) + 1 + 3 * task.copies)).from_address(
                address + ctypes.sizeof(task)
            )
            for number in range(task.copies):
                target, source, size = words[2 * (inputs + outputs) + 1 + 3 * number :][:3]
                ctypes.memmove(target, source, size)
            program.run_task(words[: inputs + outputs])
        except BaseException as error:  # It belongs to those who wait for the results.
            task.error = error_of(error)
    loaded().task_end(address)

"""Run a function in a child process with limits on its time and memory, so that a hang or crash is a result."""

from __future__ import annotations

import os
import resource
import select
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass

_STRAY_FACTOR = 12
"""The wall-clock limit as a multiple of the limit on processor time: only for a child that sleeps or waits."""


@dataclass(frozen=True)
class Limits:
    """The limits of a child: processor time in seconds, and bytes of memory beside its parent's."""

    seconds: float = 10
    nbytes: int = 2 << 30


@dataclass(frozen=True)
class Outcome:
    """How a child ended: by its exit status, or by a signal (None otherwise)."""

    status: int | None
    signal: int | None
    out_of_time: bool
    output: str
    """Its output to standard error, or the end of that."""
    seconds: float
    """Processor time."""


def isolated(function: Callable[[], int], limits: Limits) -> Outcome:
    """
    The outcome of `function`, whose result is the exit status, in a forked child.

    Its standard output is discarded. An exception that it lets through is exit status 255, with the traceback in the
    output.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    with tempfile.TemporaryFile() as errors:
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            os._exit(_run_child(function, limits, errors.fileno()))
        os.close(writer)
        try:
            # The child holds the other end until it ends; nothing is written to it.
            done, _, _ = select.select([reader], [], [], _STRAY_FACTOR * limits.seconds)
            if not done:
                os.kill(child, signal.SIGKILL)
        except BaseException:
            os.kill(child, signal.SIGKILL)
            raise
        finally:
            os.close(reader)
            _, status, usage = os.wait4(child, 0)
        size = os.fstat(errors.fileno()).st_size
        errors.seek(max(0, size - (1 << 16)))
        output = errors.read().decode(errors="replace")
    died = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
    return Outcome(
        status=None if died is not None else os.WEXITSTATUS(status),
        signal=died,
        out_of_time=not done or died == signal.SIGXCPU,
        output=output,
        seconds=usage.ru_utime + usage.ru_stime,
    )


def _run_child(function: Callable[[], int], limits: Limits, errors: int) -> int:
    signal.signal(signal.SIGXCPU, signal.SIG_DFL)
    used = time.process_time()
    seconds = int(used + limits.seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    size = _address_space() + limits.nbytes
    resource.setrlimit(resource.RLIMIT_AS, (size, size))
    os.dup2(errors, 2)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.stdout, sys.stderr = os.fdopen(1, "w", closefd=False), os.fdopen(2, "w", closefd=False)
    try:
        status = function()
    except BaseException:
        import traceback

        traceback.print_exc()
        status = 255
    sys.stdout.flush()
    sys.stderr.flush()
    return status


def _address_space() -> int:
    """Bytes of this process's address space."""
    with open("/proc/self/statm", encoding="ascii") as stream:
        return int(stream.read().split()[0]) * resource.getpagesize()

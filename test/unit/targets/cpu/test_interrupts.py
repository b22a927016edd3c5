"""Exceptions of signals' handlers that come at any time around a long run of the main thread."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import xhlo
from xhlo.targets.cpu.interrupts import run_left_by
from xhlo.targets.cpu.memory import POOL
from xhlo.targets.cpu.stops import STOPS

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")

ENDLESS = """func.func @main(%x: tensor<i64>) -> tensor<i64> {
  %t = stablehlo.constant dense<true> : tensor<i1>
  %r = stablehlo.while(%i = %x) : tensor<i64>
   cond { stablehlo.return %t : tensor<i1> }
   do {
    %n = stablehlo.add %i, %i : tensor<i64>
    stablehlo.return %n : tensor<i64>
   }
  return %r : tensor<i64>
}"""
"""It has no intermediate buffers."""

ARGUMENT = np.array(1)


class Stop(Exception):
    pass


@pytest.fixture
def after() -> Iterator[Callable[[float, BaseException], None]]:
    """Raise an exception in so many seconds, wherever the main thread is then."""
    before = signal.getsignal(signal.SIGALRM)

    def raise_after(seconds: float, error: BaseException) -> None:
        def handler(number: int, frame: object) -> None:
            raise error

        signal.signal(signal.SIGALRM, handler)
        # Python ignores what a handler raises inside of a `__del__`, such as one of another library: it comes again.
        signal.setitimer(signal.ITIMER_REAL, seconds, 10)

    yield raise_after
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def test_an_interrupt_ends_a_run_that_has_no_intermediate_buffers(
    after: Callable[[float, BaseException], None],
) -> None:
    program, ended = xhlo.compile(ENDLESS), threading.Event()
    with pytest.raises(KeyboardInterrupt) as raised:
        after(0.05, KeyboardInterrupt())
        program(ARGUMENT)
    run = run_left_by(raised.value)
    assert run is not None
    run.when_done(ended.set)
    assert ended.wait(60)


@pytest.mark.long(2)
@pytest.mark.parametrize("kind", [KeyboardInterrupt, Stop])
def test_exceptions_at_any_time_end_runs(
    kind: type[BaseException], after: Callable[[float, BaseException], None]
) -> None:
    """At the beginning locks are taken, a thread may be started, and the main thread is about to sleep."""
    program, times = xhlo.compile(ENDLESS), random.Random(0)
    for _ in range(300):
        ended = threading.Event()
        try:
            after(times.uniform(1e-6, 3e-4), kind())
            program(ARGUMENT)
        except kind as error:
            if run := run_left_by(error):
                run.when_done(ended.set)
            else:
                ended.set()
        assert ended.wait(60)
    assert not STOPS._threads and not STOPS._asked  # pyright: ignore[reportPrivateUsage]


def test_a_run_that_has_not_begun_gives_its_memory_back(monkeypatch: pytest.MonkeyPatch) -> None:
    from xhlo.targets.cpu import interrupts

    def interrupt() -> None:
        raise KeyboardInterrupt

    def never() -> None:
        raise AssertionError("the run was cancelled")

    monkeypatch.setattr(interrupts, "_worker", None)
    monkeypatch.setattr(interrupts, "_Worker", interrupt)
    arena = POOL.take(64)
    with pytest.raises(KeyboardInterrupt) as raised:
        interrupts.run_interruptibly(never, arena)
    assert run_left_by(raised.value) is None
    assert POOL.take(64) is arena
    POOL.give_back(arena)


def test_the_process_ends_after_what_an_interrupted_run_leaves_to_do() -> None:
    script = f"""
import signal, time, numpy as np, xhlo
from xhlo.targets.cpu.interrupts import run_left_by
signal.signal(signal.SIGALRM, signal.default_int_handler)
program = xhlo.compile({ENDLESS!r})
try:
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    program(np.array(1))
except KeyboardInterrupt as interrupt:
    run_left_by(interrupt).when_done(lambda: (time.sleep(0.3), print("ended", flush=True)))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ended\n", "")


def test_a_process_that_an_interrupt_ends_dies_of_it() -> None:
    """Shells end their loops then; Python knows an interrupt by its exact class."""
    script = f"""
import signal, numpy as np, xhlo
signal.signal(signal.SIGINT, signal.default_int_handler)
program = xhlo.compile({ENDLESS!r})
print("running", flush=True)
program(np.array(1))
"""
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == "running\n"
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == -signal.SIGINT

"""Long runs on the main thread see signals at their safepoints, whether the run was expected to be long or not."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import xhlo
from xhlo.targets.cpu.executable import CpuExecutable
from xhlo.targets.cpu.interrupts import run_left_by
from xhlo.targets.cpu.stops import STOPS

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")

ENDLESS = -1


def counting(size: int) -> str:
    """Adds one to an array until that has been done `limit` times."""
    t = f"tensor<{size}xi32>"
    return f"""func.func @main(%x: {t}, %limit: tensor<i32>) -> {t} {{
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %ones = stablehlo.constant dense<1> : {t}
      %out:2 = stablehlo.while(%each = %x, %i = %zero) : {t}, tensor<i32> cond {{
        %more = stablehlo.compare NE, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %more : tensor<i1>
      }} do {{
        %turned = stablehlo.reverse %each, dims = [0] : {t}
        %next = stablehlo.add %turned, %ones : {t}
        %after = stablehlo.add %i, %one : tensor<i32>
        stablehlo.return %next, %after : {t}, tensor<i32>
      }}
      return %out#0 : {t}
    }}"""


def counting_inside(size: int) -> str:
    """The same, with a loop inside that makes one iteration each time, or all of them if the limit is odd."""
    t, i = f"tensor<{size}xi32>", "tensor<i32>"
    return f"""func.func @main(%x: {t}, %limit: {i}) -> {t} {{
      %zero = stablehlo.constant dense<0> : {i}
      %one = stablehlo.constant dense<1> : {i}
      %ones = stablehlo.constant dense<1> : {t}
      %parity = stablehlo.and %limit, %one : {i}
      %odd = stablehlo.compare NE, %parity, %zero : ({i}, {i}) -> tensor<i1>
      %out:2 = stablehlo.while(%each = %x, %i = %zero) : {t}, {i} cond {{
        %more = stablehlo.compare NE, %i, %limit : ({i}, {i}) -> tensor<i1>
        stablehlo.return %more : tensor<i1>
      }} do {{
        %after = stablehlo.add %i, %one : {i}
        %end = stablehlo.select %odd, %limit, %after : tensor<i1>, {i}
        %in:2 = stablehlo.while(%inner = %each, %j = %i) : {t}, {i} cond {{
          %more = stablehlo.compare NE, %j, %end : ({i}, {i}) -> tensor<i1>
          stablehlo.return %more : tensor<i1>
        }} do {{
          %turned = stablehlo.reverse %inner, dims = [0] : {t}
          %next = stablehlo.add %turned, %ones : {t}
          %k = stablehlo.add %j, %one : {i}
          stablehlo.return %next, %k : {t}, {i}
        }}
        stablehlo.return %in#0, %in#1 : {t}, {i}
      }}
      return %out#0 : {t}
    }}"""


PROGRAMS = {
    "a loop in a kernel": (4, counting),
    "a loop around kernels": (20000, counting),
    "a loop around a loop in a kernel": (4, counting_inside),
}


@pytest.fixture(params=PROGRAMS.values(), ids=list(PROGRAMS))
def count(request: Any) -> Callable[[int], int]:
    """Counts to its argument; its first runs have ended soon."""
    size, text = request.param
    program, zeros = xhlo.compile(text(size)), np.zeros(size, np.int32)
    for limit in range(3):
        assert program(zeros, np.int32(limit)).tolist() == [limit] * size
    return lambda limit: int(program(zeros, np.int32(limit))[-1])


@pytest.fixture
def on_signal() -> Iterator[Callable[[Callable[[], None]], None]]:
    """Let a function handle a signal that comes soon."""
    before = signal.getsignal(signal.SIGUSR1)
    timers: list[threading.Timer] = []

    def handle(function: Callable[[], None]) -> None:
        def handler(number: int, frame: object) -> None:
            function()

        signal.signal(signal.SIGUSR1, handler)
        timers.append(threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGUSR1)))
        timers[-1].start()

    yield handle
    for timer in timers:
        timer.join()
    signal.signal(signal.SIGUSR1, before)


class Stop(Exception):
    pass


@pytest.mark.long(2)
def test_a_handler_ends_a_run(count: Callable[[int], int], on_signal: Callable[[Callable[[], None]], None]) -> None:
    def stop() -> None:
        raise Stop

    for _ in range(2):
        on_signal(stop)
        with pytest.raises(Stop):
            count(ENDLESS)
        assert count(5) == 5


def test_a_handler_may_run_the_program_itself(
    count: Callable[[int], int], on_signal: Callable[[Callable[[], None]], None]
) -> None:
    counted: list[int] = []

    def other() -> None:
        counted.append(count(7))
        if len(counted) < 2:
            on_signal(other)
        else:
            raise Stop

    on_signal(other)
    with pytest.raises(Stop):
        count(ENDLESS)
    assert counted == [7, 7]


def test_runs_of_other_threads_are_left_alone(
    count: Callable[[int], int], on_signal: Callable[[Callable[[], None]], None]
) -> None:
    def stop() -> None:
        raise Stop

    results: list[int] = []
    thread = threading.Thread(target=lambda: results.append(count(1000)))
    on_signal(stop)
    with pytest.raises(Stop):
        thread.start()
        count(ENDLESS)
    thread.join()
    assert results == [1000]


def after_machine_code(monkeypatch: pytest.MonkeyPatch, action: Callable[[], None]) -> None:
    """Let the next run do something between the end of its machine code and that of its call, as a handler may."""
    real = CpuExecutable._call  # pyright: ignore[reportPrivateUsage]

    def call(self: CpuExecutable, pointers: list[int], held: object) -> None:
        monkeypatch.setattr(CpuExecutable, "_call", real)
        real(self, pointers, held)
        action()

    monkeypatch.setattr(CpuExecutable, "_call", call)


def test_a_later_handler_may_stop_another_run(
    count: Callable[[int], int], on_signal: Callable[[Callable[[], None]], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that was stopped has no results, also where another was stopped before its exception was raised."""

    def other() -> None:
        raise OSError

    def later() -> None:
        on_signal(other)
        with pytest.raises(OSError):
            count(ENDLESS)

    def stop() -> None:
        raise Stop

    after_machine_code(monkeypatch, later)
    on_signal(stop)
    with pytest.raises(Stop):
        count(ENDLESS)


def test_exceptions_are_freed(
    count: Callable[[int], int], on_signal: Callable[[Callable[[], None]], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    raised: list[weakref.ref[Stop]] = []

    def stop() -> None:
        error = Stop()
        raised.append(weakref.ref(error))
        raise error

    def later() -> None:
        raise OSError

    for action in (lambda: None, later):
        after_machine_code(monkeypatch, action)
        on_signal(stop)
        with pytest.raises((Stop, OSError)):
            count(ENDLESS)
    assert count(5) == 5
    gc.collect()
    assert [each() for each in raised] == [None, None]


@pytest.fixture
def long() -> Iterator[Callable[[int], int]]:
    """Counts to its argument in runs that are expected to be long, for which the main thread waits."""
    size = 20000
    program, zeros = xhlo.compile(counting(size)), np.zeros(size, np.int32)
    assert isinstance(program, CpuExecutable)

    def count_to(limit: int) -> int:
        program.may_take_long = True
        return int(program(zeros, np.int32(limit))[-1])

    yield count_to


def test_a_handler_ends_a_long_run(long: Callable[[int], int], on_signal: Callable[[Callable[[], None]], None]) -> None:
    """Whatever it raises: nobody reads or writes the memory of the run any more."""
    ended: list[int] = []
    end = STOPS.end

    def noted_end(arena: int) -> None:
        end(arena)
        ended.append(arena)

    def stop() -> None:
        raise Stop

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(STOPS, "end", noted_end)
        for number in range(2):
            on_signal(stop)
            with pytest.raises(Stop):
                long(ENDLESS)
            assert len(ended) == number + 1
    assert long(5) == 5


def test_a_handler_may_run_a_long_program_during_another(
    long: Callable[[int], int], on_signal: Callable[[Callable[[], None]], None]
) -> None:
    counted: list[int] = []

    def other() -> None:
        counted.append(long(7))
        raise Stop

    on_signal(other)
    with pytest.raises(Stop):
        long(ENDLESS)
    assert counted == [7]


@pytest.mark.filterwarnings("ignore:.*fork")
def test_children_of_a_fork_run_long_programs(long: Callable[[int], int]) -> None:
    assert long(3) == 3
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(20)
        os._exit(0 if long(4) == 4 else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_the_owners_of_memory_live_until_an_interrupted_run_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    ended, may_end = threading.Event(), threading.Event()
    made = xhlo.compile(counting(20000))
    assert isinstance(made, CpuExecutable)
    program: CpuExecutable = made
    program.may_take_long = True

    class Owner:
        def __init__(self) -> None:
            self.arrays = np.zeros(20000, np.int32), np.array(ENDLESS, np.int32), np.zeros(20000, np.int32)

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    real = CpuExecutable._call  # pyright: ignore[reportPrivateUsage]

    def call(self: CpuExecutable, pointers: list[int], held: object) -> None:
        monkeypatch.setattr(CpuExecutable, "_call", real)
        threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGUSR1)).start()
        real(self, pointers, held)
        may_end.wait()

    def begin() -> weakref.ref[Owner]:
        owner = Owner()
        with pytest.raises(KeyboardInterrupt) as raised:
            program.run_at([each.ctypes.data for each in owner.arrays], owner)
        run = run_left_by(raised.value)
        assert run is not None
        run.when_done(ended.set)
        return weakref.ref(owner)

    monkeypatch.setattr(CpuExecutable, "_call", call)
    before = signal.signal(signal.SIGUSR1, interrupt)
    owner = begin()
    signal.signal(signal.SIGUSR1, before)
    gc.collect()
    assert owner() is not None
    may_end.set()
    assert ended.wait(60)
    gc.collect()
    assert owner() is None

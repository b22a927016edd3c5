"""Threads that work for the main one, whatever signals do to it."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest

from xhlo.hlo_dialect.threads import Background


class Stop(Exception):
    pass


@pytest.fixture
def stops() -> Iterator[random.Random]:
    """Times for signals whose handler raises Stop."""

    def stop(number: int, frame: object) -> None:
        raise Stop

    before = signal.signal(signal.SIGALRM, stop)
    yield random.Random(0)
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def test_results_and_errors() -> None:
    assert Background(lambda: 3).result() == 3
    failing = Background(lambda: 1 // 0)
    failing.join()
    with pytest.raises(ZeroDivisionError):
        failing.result()


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_signals_at_any_time_leave_the_work_alone(stops: random.Random) -> None:
    for _ in range(300):
        ended: list[int] = []
        beside: Background[None] | None = None
        with suppress(Stop):
            signal.setitimer(signal.ITIMER_REAL, stops.uniform(1e-6, 2e-4))
            beside = Background(lambda ended=ended: ended.append(1))
            beside.join()
            time.sleep(1)
        if beside is not None:
            beside.join()
            assert ended == [1]


def test_the_process_ends_after_the_work() -> None:
    script = (
        "import time; from xhlo.hlo_dialect.threads import Background\n"
        "Background(lambda: (time.sleep(0.3), print('ended', flush=True)))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ended\n", "")

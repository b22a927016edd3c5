"""
How the kernels of each class are divided among threads: `python benchmarks/threads.py [--only conv,softmax]`.

Every parallel loop of a program runs on one thread, task by task, and each task is timed by itself, so that other work
on the machine disturbs little: the least processor time of several runs counts. From these times follow the part of the
work that no parallel loop has, and the time of two threads that take tasks as the pool hands them out. A row is marked
if it has work enough for two threads and they would take more than `LIMIT` of the time of one, and `--write` puts the
marked rows into THREADS.md.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import statistics
import textwrap
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from program_lists.threads import cases

LIMIT = 0.58
"""The part of one thread's time from which a row is marked."""

LEAST = 100e-6
"""Seconds of a program from which two threads are expected to share it."""

CHUNKS = 4
"""The part of what is left of a share that is one chunk, as in targets/cpu/runtime/pool.py."""


class Recorder:
    """Takes the place of the pool: runs each task by itself, and keeps the seconds of each."""

    def __init__(self) -> None:
        task = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
        self.loops: list[list[float]] = []
        self.inside = 0.0
        self._depth = 0

        def parallel_for(body: int, context: int, count: int) -> None:
            run = task(body)
            if self._depth:
                run(context, 0, count)
                return
            start = time.process_time()
            self._depth = 1
            times: list[float] = []
            for number in range(count):
                begin = time.process_time()
                run(context, number, number + 1)
                times.append(time.process_time() - begin)
            self._depth = 0
            self.loops.append(times)
            self.inside += time.process_time() - start

        self.function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(parallel_for)

    def run(self, call: Callable[[], Any]) -> tuple[float, list[list[float]]]:
        """Seconds outside of parallel loops, and of each task of each loop."""
        self.loops, self.inside = [], 0.0
        start = time.process_time()
        call()
        return time.process_time() - start - self.inside, self.loops


def shared(times: list[float], threads: int = 2) -> float:
    """The seconds of threads that take the chunks of their own shares first, then those of the others."""
    count = len(times)
    threads = min(threads, count)
    shares = [list(range(t * count // threads, (t + 1) * count // threads)) for t in range(threads)]
    ends = [0.0] * threads
    while any(shares):
        thread = min(range(threads), key=lambda t: ends[t])
        order = [shares[(thread + k) % len(shares)] for k in range(len(shares))]
        share = next(each for each in order if each)
        chunk = max(1, len(share) // CHUNKS)
        ends[thread] += sum(times[number] for number in share[:chunk])
        del share[:chunk]
    return max(ends)


@dataclass(frozen=True)
class Row:
    """Seconds of one thread, the tasks of each loop, and parts of them: in no loop, and that two threads would take."""

    name: str
    one: float
    counts: tuple[int, ...]
    outside: float
    worst: float
    """The part of its loop that two threads would take for the least even of the loops."""
    two: float

    @property
    def is_marked(self) -> bool:
        return self.one >= LEAST and self.two > LIMIT

    def __str__(self) -> str:
        counts = " ".join(map(str, self.counts[:8])) + (" .." if len(self.counts) > 8 else "")
        two = f"**{self.two:.2f}**" if self.is_marked else f"{self.two:.2f}"
        return f"| {self.name} | {self.one * 1e6:.0f} | {counts} | {self.outside:.2f} | {self.worst:.2f} | {two} |"


def measure(name: str, function: Callable[..., Any], arguments: tuple[Any, ...], recorder: Recorder) -> Row:
    import jax

    import xhlo

    executable = xhlo.compile(jax.jit(function, keep_unused=True).lower(*arguments))
    runs = [recorder.run(lambda: executable(*arguments)) for _ in range(4)]
    while sum(outside + sum(map(sum, loops)) for outside, loops in runs) < 0.1 and len(runs) < 40:
        runs.append(recorder.run(lambda: executable(*arguments)))
    outside = min(run[0] for run in runs)
    loops = [[min(each) for each in zip(*tasks, strict=True)] for tasks in zip(*(run[1] for run in runs), strict=True)]
    one = outside + sum(map(sum, loops))
    two = outside + sum(map(shared, loops))
    worst = max((shared(times) / sum(times) for times in loops if len(times) > 1), default=1.0)
    return Row(name, one, tuple(map(len, loops)), outside / one, worst, two / one)


HEAD = """\
| class | us, one thread | tasks | in no loop | worst loop | two threads |
| --- | ---: | --- | ---: | ---: | ---: |"""


def page(rows: list[Row]) -> str:
    large = [row for row in rows if row.one >= LEAST]
    marked = [row for row in large if row.is_marked]
    median = statistics.median(row.two for row in large)
    text = f"""`python benchmarks/threads.py --write` times every task of {len(rows)} kernels of all classes by itself.
    Of the {len(large)} that take {LEAST * 1e6:.0f} us or more on one thread, two threads that take tasks as the pool
    hands them out would take {median:.2f} of that time in the median; the {len(marked)} that would take more than
    {LIMIT} are below.
    *In no loop* is the part of the time that is in no parallel loop, *worst loop* the part of its own time that two
    threads need for the least even of the loops."""
    lines = textwrap.wrap(" ".join(text.split()), 120)
    return "\n".join(["# How two threads share kernels", "", *lines, "", HEAD, *map(str, marked), ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="classes whose names contain one of these words, between commas")
    parser.add_argument("--write", action="store_true", help="put the marked rows into THREADS.md")
    options = parser.parse_args()
    os.environ.update(XHLO_NUM_THREADS="2", XHLO_CACHE_SIZE="0", JAX_PLATFORMS="cpu")
    from xhlo.targets.cpu.jit import engine

    recorder = Recorder()
    address = ctypes.cast(recorder.function, ctypes.c_void_p).value
    assert address is not None
    engine().imports["xhlo_parallel_for"] = address
    print(HEAD)
    rows: list[Row] = []
    for name, function, arguments in cases():
        if any(word in name for word in options.only.split(",")):
            rows.append(measure(name, function, arguments, recorder))
            print(rows[-1], flush=True)
    if options.write:
        Path(__file__).with_name("THREADS.md").write_text(page(rows))


if __name__ == "__main__":
    main()

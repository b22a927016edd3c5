"""
Compare xhlo with XLA:CPU over ordinary JAX programs: `python benchmarks/xla_programs.py --only fft,top_k`.

Each program of jax_programs/ is lowered by JAX once; xhlo and XLA compile that, get the same arrays, and their results
are compared before anything is timed. Then blocks of calls alternate between the two, after a pause in which the
other's threads come to rest. The ratio is that of the lower quartiles over all calls: other work only adds to a time.
With `--door jax` xhlo runs as JAX's plugin; otherwise `xhlo.compile` makes an executable that takes NumPy arrays.

`--hog N` keeps N processors busy meanwhile, a process on each. `--write` puts the table into PROGRAMS.md,
where each kind of machine has its own.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

os.environ["JAX_PLATFORMS"] = "cpu,xhlo"

import jax
import numpy as np

import xhlo
from jax_programs import JaxProgram, entries
from peers import machine

HEAD = """\
| program | xhlo ms | XLA ms | ratio | compile s | XLA | ratio |
| --- | ---: | ---: | ---: | ---: | ---: | ---: |"""


class WrongResult(Exception):
    """The two sides disagree; the message names the program."""


@dataclass(frozen=True)
class Row:
    """Lower quartiles of seconds of a call, and seconds of one compilation, on xhlo and on XLA."""

    name: str
    ours: float
    theirs: float
    compile_ours: float
    compile_theirs: float

    @property
    def ratio(self) -> float:
        return self.ours / self.theirs

    @property
    def compile_ratio(self) -> float:
        return self.compile_ours / self.compile_theirs

    def __str__(self) -> str:
        calls = f"{self.ours * 1e3:.3f} | {self.theirs * 1e3:.3f} | {self.ratio:.2f}"
        compiling = f"{self.compile_ours:.2f} | {self.compile_theirs:.2f} | {self.compile_ratio:.2f}"
        return f"| {self.name} | {calls} | {compiling} |"


def timed(make: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    return make(), time.perf_counter() - start


def sides_of(program: JaxProgram, door: str) -> tuple[list[Callable[[], Any]], list[float]]:
    """Calls that return when their results are there, on xhlo and on XLA, and the seconds that compiling them took."""

    def on(platform: str) -> tuple[Callable[[], Any], float]:
        device = jax.devices(platform)[0]
        arguments = jax.tree.map(lambda x: jax.device_put(np.asarray(x), device), program.arguments)
        lowered = jax.jit(program.function).lower(*arguments)
        if platform == "cpu" and door == "python":
            texts.append(lowered)
        compiled, seconds = timed(lowered.compile)
        return lambda: jax.block_until_ready(compiled(*arguments)), seconds

    texts: list[Any] = []
    theirs, their_seconds = on("cpu")
    if door == "jax":
        ours, seconds = on("xhlo")
    else:
        executable, seconds = timed(lambda: xhlo.compile(texts[0]))
        ours = partial(executable, *program.arguments)
    return [ours, theirs], [seconds, their_seconds]


def check(program: JaxProgram, ours: Any, theirs: Any) -> None:
    """Compare results; a difference counts relative to the element and to the array's root mean square."""
    for mine, peer in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        kind = np.complex128 if np.iscomplexobj(peer) else np.float64
        a, b = np.asarray(mine).astype(kind), np.asarray(peer).astype(kind)
        size = np.abs(b) + np.sqrt(np.mean(np.abs(b) ** 2)) + 1e-6
        # Elements where a rounding decides, as of a fractal's border, are few.
        wrong = np.mean(~((np.abs(a - b) <= program.tolerance * size) | (np.isnan(a) & np.isnan(b)) | (a == b)))
        if a.shape != b.shape or wrong > (0.002 if program.tolerance > 1e-3 else 0):
            raise WrongResult(f"{program.name}: {wrong:.2%} of a result differs from XLA's")


def time_blocks(sides: list[Callable[[], Any]], blocks: int, seconds: float) -> list[list[float]]:
    """Seconds of each call on each side; a block lasts as long as given, and has three calls at least."""
    times: list[list[float]] = [[] for _ in sides]
    for _ in range(blocks):
        for side, run in enumerate(sides):
            time.sleep(0.05)
            run()
            end = time.perf_counter() + seconds
            calls = 0
            while calls < 3 or time.perf_counter() < end:
                start = time.perf_counter()
                run()
                times[side].append(time.perf_counter() - start)
                calls += 1
    return times


def measure(program: JaxProgram, options: argparse.Namespace) -> Row:
    with jax.enable_x64(program.x64):
        sides, compiling = sides_of(program, options.door)
        check(program, *(run() for run in sides))
        times = time_blocks(sides, options.repeat, options.seconds)
    ours, theirs = (statistics.quantiles(each, n=4)[0] for each in times)
    return Row(program.name, ours, theirs, *compiling)


@contextlib.contextmanager
def hogs(count: int) -> Iterator[None]:
    """Keep as many processors busy as given, from the last one on."""
    busy = "import os, sys\nos.sched_setaffinity(0, [int(sys.argv[1])])\nwhile True: pass"
    last = sorted(os.sched_getaffinity(0))[-count:] if count else []
    running = [subprocess.Popen([sys.executable, "-c", busy, str(processor)]) for processor in last]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def summary(rows: list[Row]) -> str:
    mean = statistics.geometric_mean(row.ratio for row in rows)
    above = sum(row.ratio > 1.1 for row in rows)
    compiling = [row.compile_ratio for row in rows]
    return (
        f"{len(rows)} programs: geometric mean {mean:.2f}, {above} above 1.1; "
        f"compile time, median {statistics.median(compiling):.2f}, worst {max(compiling):.2f}"
    )


def record(vectors: str, hogs: int, lines: list[str]) -> None:
    """Put the lines of a run into its part of PROGRAMS.md, a new one at the end where there is none."""
    path = Path(__file__).with_name("PROGRAMS.md")
    text = path.read_text()
    mark = f"{vectors} {f'hog {hogs}' if hogs else 'quiet'}"
    first, last = f"<!-- {mark} -->", f"<!-- end of {mark} -->"
    if first not in text:
        busy = {0: "quiet", 1: "one processor busy"}.get(hogs, f"{hogs} processors busy")
        text = f"{text.rstrip()}\n\n## {vectors}, {busy}\n\n{first}\n{last}\n"
    before, _, rest = text.partition(first)
    after = rest.partition(last)[2]
    path.write_text("\n".join([before + first, *lines, last + after]))


def main() -> None:
    os.environ["XHLO_CACHE_SIZE"] = "0"  # each program is compiled
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="programs whose names contain one of these words, between commas")
    parser.add_argument("--repeat", type=int, default=5, help="blocks of each side")
    parser.add_argument("--seconds", type=float, default=0.1, help="what a block lasts")
    parser.add_argument("--door", choices=("python", "jax"), default="python")
    parser.add_argument("--hog", type=int, default=0, metavar="N", help="keep N processors busy")
    parser.add_argument("--list", action="store_true", help="only list the names")
    parser.add_argument("--write", action="store_true", help="put the table into PROGRAMS.md")
    options = parser.parse_args()
    chosen = entries(options.only)
    if options.list:
        print("\n".join(entry.name for entry in chosen))
        return
    if not chosen:
        parser.error(f"no program's name contains {options.only!r}; --list has them")
    jax.config.update("jax_platforms", "cpu,xhlo" if options.door == "jax" else "cpu")
    rows: list[Row] = []
    wrong: list[str] = []
    print(HEAD, flush=True)
    # The first compilation loads what all of them need.
    sides_of(JaxProgram("first", jax.numpy.sin, (np.ones(4, np.float32),)), options.door)
    with hogs(options.hog):
        for entry in chosen:
            try:
                rows.append(measure(entry.make(), options))
                print(rows[-1], flush=True)
            except WrongResult as error:
                wrong.append(str(error))
                print(f"| {error} |", flush=True)
    print(f"\n{summary(rows)}")
    print("worst: " + ", ".join(f"{row.name} {row.ratio:.2f}" for row in sorted(rows, key=lambda row: -row.ratio)[:10]))
    if options.write:
        record(machine.vectors(), options.hog, [summary(rows), "", HEAD, *map(str, rows)])


if __name__ == "__main__":
    main()

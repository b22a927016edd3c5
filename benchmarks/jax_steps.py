"""
Compare whole JAX programs on xhlo and on XLA:CPU, in one process through JAX itself: `python benchmarks/jax_steps.py`.

Compilation is `lowered.compile()`, the lesser of two times for each side; the sides alternate. Calls are timed in
blocks that alternate, with a pause before each in which the other side's threads stop spinning; the least time and the
median are reported. Ratios compare the least times, because other work on the machine can only add to them. Results
are compared before anything is timed.

`--cpu-time` measures processor time instead, on one core and with one thread on both sides; other work on the machine
hardly affects it. `--write` writes the table into benchmarks/JAX.md.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import sys
import time
from pathlib import Path
from typing import Any

os.environ["JAX_PLATFORMS"] = "xhlo,cpu"
CPU_TIME = "--cpu-time" in sys.argv
if CPU_TIME:
    os.environ |= {"OMP_NUM_THREADS": "1", "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false"}
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
clock = time.process_time if CPU_TIME else time.perf_counter

import jax  # noqa: E402
import numpy as np  # noqa: E402

from jax_programs.program import JaxProgram  # noqa: E402
from program_lists.networks import network_programs  # noqa: E402

PLATFORMS = ("xhlo", "cpu")
HEAD = """\
| program | compile s | XLA:CPU | ratio | call ms, least | median | XLA:CPU, least | median | ratio |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"""


def compiled(program: JaxProgram, rounds: int) -> tuple[dict[str, Any], dict[str, float], dict[str, Any]]:
    """For each platform: the executable, seconds of its compilation, arguments on the device."""
    executables: dict[str, Any] = {}
    arguments: dict[str, Any] = {}
    seconds = dict.fromkeys(PLATFORMS, float("inf"))
    for platform in PLATFORMS:
        device = jax.devices(platform)[0]
        arguments[platform] = jax.tree.map(lambda x, device=device: move(x, device), program.arguments)
    for _ in range(rounds):
        for platform in PLATFORMS:
            jax.clear_caches()
            lowered = jax.jit(program.function).lower(*arguments[platform])
            start = clock()
            executables[platform] = lowered.compile()
            seconds[platform] = min(seconds[platform], clock() - start)
    return executables, seconds, arguments


def move(value: Any, device: Any) -> Any:
    """Copy to a device through NumPy; keys stay keys."""
    if jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key):
        return jax.random.wrap_key_data(jax.device_put(np.asarray(jax.random.key_data(value)), device))
    return jax.device_put(np.asarray(value), device)


def time_blocks(calls: dict[str, Any], blocks: int, count: int) -> dict[str, list[float]]:
    """Seconds of each call on each platform."""
    seconds: dict[str, list[float]] = {platform: [] for platform in calls}
    for _ in range(blocks):
        for platform, call in calls.items():
            time.sleep(0.0 if CPU_TIME else 0.25)
            jax.block_until_ready(call())
            for _ in range(count):
                start = clock()
                jax.block_until_ready(call())
                seconds[platform].append(clock() - start)
    return seconds


def row_of(program: JaxProgram, blocks: int, count: int, rounds: int) -> str:
    executables, compiling, arguments = compiled(program, rounds)
    calls = {p: lambda p=p: executables[p](*arguments[p]) for p in PLATFORMS}
    results = [jax.tree.leaves(calls[platform]()) for platform in PLATFORMS]
    for a, b in zip(*results, strict=True):
        np.testing.assert_allclose(np.asarray(a, np.float64), np.asarray(b, np.float64), rtol=2e-2, atol=2e-3)
    seconds = time_blocks(calls, blocks, count)
    ours, theirs = (seconds[platform] for platform in PLATFORMS)
    columns = [f"{compiling['xhlo']:.2f}", f"{compiling['cpu']:.2f}", f"{compiling['xhlo'] / compiling['cpu']:.2f}"]
    for times in (ours, theirs):
        columns += [f"{min(times) * 1e3:.2f}", f"{statistics.median(times) * 1e3:.2f}"]
    return f"| {program.name} | {' | '.join(columns)} | {min(ours) / min(theirs):.2f} |"


def main() -> None:
    os.environ["XHLO_CACHE_SIZE"] = "0"  # each program is compiled
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--blocks", type=int, default=5)
    parser.add_argument("--calls", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=2, help="compilations of each program")
    parser.add_argument("--only", default="", help="programs whose name contains this")
    parser.add_argument("--cpu-time", action="store_true", help="processor time, on one thread")
    parser.add_argument("--write", action="store_true", help="put the table into JAX.md")
    options = parser.parse_args()
    lines = [HEAD]
    print(HEAD, flush=True)
    for program in network_programs():
        if options.only in program.name:
            lines.append(row_of(program, options.blocks, options.calls, options.rounds))
            print(lines[-1], flush=True)
    if options.write:
        path, mark = Path(__file__).with_name("JAX.md"), "cpu-time" if CPU_TIME else "wall"
        table = "\n".join([f"<!-- {mark} -->", *lines, f"<!-- end of {mark} -->"])
        path.write_text(re.sub(f"<!-- {mark} -->.*<!-- end of {mark} -->", table, path.read_text(), flags=re.DOTALL))


if __name__ == "__main__":
    main()

"""
Compare xhlo with XLA:CPU on programs of loops, in one process: `python benchmarks/loops.py [--only WORD]`.

Blocks of calls alternate between the two; the figure is the ratio of the least times. Results are compared first, and
each program's kernel calls in one run are counted.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

import xhlo
from program_lists.loops import LoopProgram, loop_programs


def least(sides: list[Callable[[], Any]], blocks: int, seconds: float) -> list[float]:
    """The least time of a call on each side, in seconds, over blocks that alternate."""
    best = [float("inf")] * len(sides)
    for _ in range(blocks):
        for side, run in enumerate(sides):
            run()
            end = time.perf_counter() + seconds
            while (start := time.perf_counter()) < end:
                run()
                best[side] = min(best[side], time.perf_counter() - start)
    return best


def compare(program: LoopProgram, blocks: int, seconds: float) -> tuple[float, float, float]:
    """Milliseconds of xhlo and of XLA, and the largest difference of a result relative to its largest value."""
    jitted = jax.jit(program.function)
    on_device = [jax.device_put(argument) for argument in program.arguments]
    executable = xhlo.compile(jitted.lower(*on_device))
    arguments = [np.asarray(each) for each in on_device]
    theirs = [np.asarray(each) for each in jax.tree.leaves(jitted(*on_device))]
    results = executable(*arguments)
    ours = [np.asarray(each) for each in (results if isinstance(results, tuple) else (results,))]
    error = max(float(np.max(np.abs(a - b)) / (np.max(np.abs(b)) + 1e-30)) for a, b in zip(ours, theirs, strict=True))
    mine, peer = least(
        [lambda: executable(*arguments), lambda: jax.block_until_ready(jitted(*on_device))], blocks, seconds
    )
    return mine * 1e3, peer * 1e3, error


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="programs whose name contains this")
    parser.add_argument("--blocks", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=0.15, help="time of a block")
    options = parser.parse_args()
    print(f"{'program':26}{'xhlo ms':>10}{'XLA ms':>10}{'ratio':>8}{'error':>10}")
    for program in loop_programs():
        if options.only in program.name:
            mine, peer, error = compare(program, options.blocks, options.seconds)
            print(f"{program.name:26}{mine:10.3f}{peer:10.3f}{mine / peer:8.2f}{error:10.1e}", flush=True)


if __name__ == "__main__":
    main()

"""
Sixty functions of ordinary NumPy, jitted and clustered, in comparison with NumPy in the same run.

    python benchmarks/numpy_functions/measure.py [--size N] [--repeat K] [--cpu] [NAME ..]

The shortest of K runs counts. Prints milliseconds and NumPy's time divided by them.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from functions import CASES

import xhlo
from cases import Case


def leaves(value: Any) -> list[Any]:
    return [one for item in value for one in leaves(item)] if isinstance(value, tuple | list) else [value]


def values(result: Any) -> list[Any]:
    """The results as NumPy's arrays: what is recorded is run."""
    return [np.asarray(one) for one in leaves(result)]


def compare(case: Case, got: Any, wanted: Any, how: str) -> None:
    """Raise AssertionError if results are not NumPy's, to 1e-9 of the largest element."""
    for have, want in zip(values(got), values(wanted), strict=True):
        assert (have.shape, have.dtype) == (want.shape, want.dtype), f"{case.name}, {how}: another shape or dtype"
        largest = float(np.max(np.abs(want), initial=1e-300))
        np.testing.assert_allclose(have, want, rtol=1e-9, atol=1e-9 * largest, err_msg=f"{case.name}, {how}")


def recording(arguments: Iterable[Any]) -> list[Any]:
    return [xhlo.asarray(one) if isinstance(one, np.ndarray) else one for one in arguments]


def measure(case: Case, size: int, repeat: int, clock: Callable[[], float]) -> tuple[float, float, float]:
    """Seconds by NumPy, jitted and clustered, each the shortest of several runs, taken in turn."""
    arguments = case.arguments(np.random.default_rng(0), size)
    recorded, jitted = recording(arguments), xhlo.jit(case.function)

    def clustered() -> list[Any]:
        with xhlo.autocluster():
            result = case.function(*recorded)
        return values(result)

    ways: list[Callable[[], Any]] = [lambda: case.function(*arguments), lambda: jitted(*arguments), clustered]
    wanted = ways[0]()
    for _ in range(4):
        compare(case, ways[2](), wanted, "clustered")
    compare(case, ways[1](), wanted, "jitted")
    del wanted
    best = [float("inf")] * 3
    for _ in range(repeat):
        for number, way in enumerate(ways):
            start = clock()
            way()
            best[number] = min(best[number], clock() - start)
    return best[0], best[1], best[2]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--size", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--cpu", action="store_true", help="processor time: with OMP_NUM_THREADS=1, on a busy machine")
    options = parser.parse_args()
    clock = time.process_time if options.cpu else time.perf_counter
    chosen = [case for case in CASES if not options.names or case.name in options.names]
    gains: list[tuple[float, float]] = []
    print(f"{'function':24} {'NumPy ms':>9} {'jit ms':>9} {'cluster':>9} {'jit x':>6} {'cluster x':>9}")
    for case in chosen:
        plain, jitted, clustered = measure(case, options.size, options.repeat, clock)
        gains.append((plain / jitted, plain / clustered))
        shown = [f"{1e3 * one:9.3f}" for one in (plain, jitted, clustered)]
        print(f"{case.name:24} {' '.join(shown)} {gains[-1][0]:6.2f} {gains[-1][1]:9.2f}", flush=True)
    means = [statistics.geometric_mean(column) for column in zip(*gains, strict=True)]
    worst = [min(column) for column in zip(*gains, strict=True)]
    print(f"geometric mean: jit {means[0]:.2f} x, clusters {means[1]:.2f} x; least {worst[0]:.2f} x, {worst[1]:.2f} x")


if __name__ == "__main__":
    main()

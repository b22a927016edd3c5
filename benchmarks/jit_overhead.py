"""
The cost of `xhlo.jit`: a call above the executable's, and the tracing of an operation.

Times are of the thread, the best of several, so that other programs disturb them little.

    python benchmarks/jit_overhead.py
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import xhlo

CALLS, ROUNDS, STEPS = 20000, 9, 100


def best(run: Callable[[], Any], count: int, rounds: int = ROUNDS) -> float:
    """Microseconds of one of the `count` things that `run` does."""
    times: list[float] = []
    for _ in range(rounds):
        start = time.thread_time()
        run()
        times.append(time.thread_time() - start)
    return min(times) / count * 1e6


def repeated(function: Callable[..., Any], *arguments: Any) -> Callable[[], None]:
    def run() -> None:
        for _ in range(CALLS):
            function(*arguments)

    return run


def chain(x: Any) -> Any:
    for _ in range(STEPS):
        x = np.sin(x) * x + x
    return x


def tracing() -> float:
    """A program is traced and verified, not compiled; each round has a shape of its own."""
    function = xhlo.jit(chain)
    sizes = iter(range(1, 100))
    return best(lambda: function.lower(np.ones(next(sizes))), 3 * STEPS, 20)


def main() -> None:
    warnings.simplefilter("ignore")
    x = np.ones(8)
    add = xhlo.jit(lambda x, y: x + y)
    add(x, x)
    keyword = xhlo.jit(lambda x, y=1.0: x + y)
    keyword(x, y=2.0)
    plain = best(repeated(add.executable(x, x), x, x), CALLS)
    print(f"executable          {plain:6.2f} us a call")
    print(f"jit, arrays         {best(repeated(add, x, x), CALLS) - plain:6.2f} us more")
    print(f"jit, keywords       {best(repeated(lambda x: keyword(x, y=2.0), x), CALLS) - plain:6.2f} us more")
    print(f"tracing             {tracing():6.2f} us an operation")


if __name__ == "__main__":
    main()

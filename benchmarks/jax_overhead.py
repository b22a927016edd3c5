"""
The overhead of JAX's platform xhlo compared with its platform cpu: calls, transfers, compilations, memory.

    python benchmarks/jax_overhead.py            # prints the table and writes benchmarks/JAX_OVERHEAD.md

Each platform runs in separate processes, which alternate; every figure is the least of its repetitions, because a busy
machine can only add to it.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PLATFORMS = ("xhlo", "cpu")


def least(function: Callable[[], object], repetitions: int, inner: int = 1) -> float:
    """Seconds of one call: the least of several rounds of `inner` calls."""
    best = float("inf")
    for _ in range(repetitions):
        start = time.perf_counter()
        for _ in range(inner):
            function()
        best = min(best, time.perf_counter() - start)
    return best / inner


def not_waited_for(function: Callable[[], Any]) -> float:
    """Seconds until a call returns, whose results are waited for afterwards: the least of several."""
    best = float("inf")
    for _ in range(9):
        start = time.perf_counter()
        result = function()
        best = min(best, time.perf_counter() - start)
        result.block_until_ready()
    return best


def resident() -> int:
    """Bytes of resident memory of the process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def measure(calls_only: bool) -> dict[str, float]:
    """The figures for the platform that JAX_PLATFORMS names, all or those of calls: us, ms, ratios."""
    import gc

    import jax
    import numpy as np

    host = np.arange(4, dtype=np.float32)
    device = jax.device_put(host)
    step = jax.jit(lambda x: x * 2 + 1)
    step(device), step(host)
    large = np.random.default_rng(0).random(1 << 20, dtype=np.float32)

    square = jax.device_put(large.reshape(1024, 1024))
    product = jax.jit(lambda x: x @ x)
    for _ in range(2):
        product(square).block_until_ready()

    def compile_one(factor: float) -> float:
        start = time.perf_counter()
        jax.jit(lambda x: x * factor + 1)(device)
        return time.perf_counter() - start

    compile_one(0.5)
    figures = {
        "jit call of x*2+1, n = 4, device array in (us)": 1e6 * least(lambda: step(device), 7, 1000),
        "jit call of x*2+1, n = 4, NumPy in (us)": 1e6 * least(lambda: step(host), 7, 1000),
        "jit call of a product of 1024, not waited for (us)": 1e6 * not_waited_for(lambda: product(square)),
        "device_put + asarray of 4 MB (us)": 1e6 * least(lambda: np.asarray(jax.device_put(large)), 40),
    }
    if calls_only:
        return figures
    figures |= {
        "trace + lower + compile of x*2+1 (ms)": 1e3 * min(compile_one(1.5 + i) for i in range(12)),
    }
    for count in range(100):
        compile_one(100.5 + count)
    jax.clear_caches()
    gc.collect()
    before = resident()
    for count in range(1000):
        compile_one(1000.5 + count)
        if count % 100 == 99:
            jax.clear_caches()
    gc.collect()
    figures["memory after 1,000 compilations (ratio to before)"] = resident() / before
    step(device)
    before = resident()
    for _ in range(10_000):
        step(device)
    figures["memory after 10,000 calls (ratio to before)"] = resident() / before
    figures["wrong results of 8 threads x 1,000 calls"] = float(wrong_in_threads())
    return figures


def wrong_in_threads() -> int:
    """The number of wrong results when eight threads call different programs at once."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    x = jax.device_put(np.linspace(0, 1, 300, dtype=np.float32))
    programs = [
        jax.jit(lambda x: x * 2 + 1),
        jax.jit(lambda x: jnp.sort(-x)),
        jax.jit(lambda x: jnp.cumsum(jnp.sin(x))),
        jax.jit(lambda x: (x[:, None] * x).sum(0)),
    ]
    expected = [np.asarray(program(x)) for program in programs]
    wrong = [0] * 8

    def work(number: int) -> None:
        for turn in range(1000):
            which = (number + turn) % len(programs)
            wrong[number] += not np.array_equal(np.asarray(programs[which](x)), expected[which])

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(wrong)


def run(platform_name: str, calls_only: bool) -> dict[str, float]:
    """The figures of one process."""
    result = subprocess.run(
        [sys.executable, __file__, "--measure", *["--calls"] * calls_only],
        env=os.environ | {"JAX_PLATFORMS": platform_name},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if result.returncode:
        sys.exit(f"{platform_name}: {result.stderr}")
    return json.loads(result.stdout.splitlines()[-1])


def main() -> None:
    os.environ["XHLO_CACHE_SIZE"] = "0"  # each program is compiled
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measure", action="store_true", help="measure this process's platform, print JSON")
    parser.add_argument("--rounds", type=int, default=2, help="processes for each platform (default 2)")
    parser.add_argument("--calls", action="store_true", help="only calls and transfers; print, write nothing")
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.calls)))
        return
    best: dict[str, dict[str, float]] = {name: {} for name in PLATFORMS}
    for _ in range(options.rounds):
        for name in PLATFORMS:
            for what, figure in run(name, options.calls).items():
                best[name][what] = min(figure, best[name].get(what, float("inf")))
    lines = ["| what | xhlo | XLA:CPU | ratio |", "| --- | ---: | ---: | ---: |"]
    for what, ours in best["xhlo"].items():
        theirs = best["cpu"][what]
        ratio = f"{ours / theirs:.2f}" if theirs else ""
        lines.append(f"| {what} | {ours:.4g} | {theirs:.4g} | {ratio} |")
    table = "\n".join(lines)
    print(table)
    if options.calls:
        return
    (HERE / "JAX_OVERHEAD.md").write_text(
        "# The overhead of the plugin\n\nWritten by `python benchmarks/jax_overhead.py`"
        f" ({platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}).\n\n{table}\n"
    )


if __name__ == "__main__":
    main()

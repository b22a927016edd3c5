"""
Compare xhlo with JAX on XLA:CPU, in one process on the same arrays: `python benchmarks/compare.py`.

Both run the program that JAX lowers. Blocks of calls alternate between the two, so that a drift of the machine affects
both; the figure is the ratio of the medians over all blocks. A pause before each block lets the other's worker threads
stop spinning.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np

import xhlo
from program_lists.arrays import Program, programs

HERE = Path(__file__).parent


def time_blocks(sides: list[Callable[[], Any]], blocks: int, calls: int) -> list[list[float]]:
    """Seconds of each call on each side; the sides alternate block by block."""
    seconds: list[list[float]] = [[] for _ in sides]
    for _ in range(blocks):
        for side, run in enumerate(sides):
            time.sleep(0.25)
            run()
            for _ in range(calls):
                start = time.perf_counter()
                run()
                seconds[side].append(time.perf_counter() - start)
    return seconds


def compare(program: Program, blocks: int, calls: int) -> dict[str, Any]:
    jitted = jax.jit(program.function)
    on_device = [jax.device_put(argument) for argument in program.arguments]
    executable = xhlo.compile(jitted.lower(*on_device))
    expected = np.asarray(jitted(*on_device))
    np.testing.assert_allclose(executable(*program.arguments), expected, rtol=1e-3, atol=1e-4)
    ours, theirs = time_blocks(
        [lambda: executable(*program.arguments), lambda: jitted(*on_device).block_until_ready()], blocks, calls
    )
    mine, peer = statistics.median(ours), statistics.median(theirs)
    return {
        "name": program.name,
        "xhlo_ms": mine * 1e3,
        "jax_ms": peer * 1e3,
        "ratio": mine / peer,
        "limit": program.limit,
        "gb_per_s": program.bytes / mine / 1e9,
        "gflop_per_s": program.flops / mine / 1e9,
        "kernels": len(executable.kernels),
    }


def call_overhead() -> float:
    """Microseconds of one call of x + y for 8 elements."""
    shape = jax.ShapeDtypeStruct((8,), np.float32)
    executable = xhlo.compile(jax.jit(lambda x, y: x + y).lower(shape, shape))
    x = np.ones(8, np.float32)
    best: list[float] = []
    for _ in range(7):
        start = time.perf_counter()
        for _ in range(2000):
            executable(x, x)
        best.append((time.perf_counter() - start) / 2000)
    return statistics.median(best) * 1e6


COLD = """
import json, sys, time
start = time.perf_counter()
import xhlo
imported = time.perf_counter()
executable = xhlo.compile(open(sys.argv[1]).read())
print(json.dumps({"import": imported - start, "compile": time.perf_counter() - imported, **executable.compile_stages}))
"""


def cold_compile(example: str) -> dict[str, float]:
    """Seconds in a new process: the import, the compilation, and its stages; the median of five by total."""
    path = HERE.parent / "examples" / f"{example}.mlir"
    runs = [
        json.loads(subprocess.run([sys.executable, "-c", COLD, path], capture_output=True, check=True).stdout)
        for _ in range(5)
    ]
    return sorted(runs, key=lambda run: run["compile"])[2]


def reading(ops: int = 2000) -> float:
    """Microseconds per operation of reading StableHLO text."""
    from xhlo.hlo_dialect.dialect import make_context
    from xhlo.hlo_dialect.reading import parse_module

    lines = ["func.func @main(%0: tensor<64x64xf32>) -> tensor<64x64xf32> {"]
    names = ("add", "multiply", "subtract", "maximum")
    lines += [f"  %{i + 1} = stablehlo.{names[i % 4]} %{i}, %{max(0, i - 3)} : tensor<64x64xf32>" for i in range(ops)]
    lines += [f"  return %{ops} : tensor<64x64xf32>", "}"]
    text = "\n".join(lines)
    best: list[float] = []
    for _ in range(5):
        context = make_context()
        start = time.perf_counter()
        parse_module(text, "bench.mlir", context)
        best.append(time.perf_counter() - start)
    return statistics.median(best) / ops * 1e6


def main() -> None:
    os.environ["XHLO_CACHE_SIZE"] = "0"  # each program is compiled
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--blocks", type=int, default=6)
    parser.add_argument("--calls", type=int, default=8)
    parser.add_argument("--only", default="", help="programs whose name contains this")
    arguments = parser.parse_args()
    print(f"{os.cpu_count()} CPUs, jax {jax.__version__}\n")
    print("| program | xhlo ms | JAX ms | ratio | bound | GB/s | GFLOP/s | kernels |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for program in programs():
        if arguments.only not in program.name:
            continue
        row = compare(program, arguments.blocks, arguments.calls)
        print(
            f"| {row['name']} | {row['xhlo_ms']:.2f} | {row['jax_ms']:.2f} | {row['ratio']:.2f} | {row['limit']} "
            f"| {row['gb_per_s']:.1f} | {row['gflop_per_s']:.1f} | {row['kernels']} |",
            flush=True,
        )
    if arguments.only:
        return
    print(f"\ncall of x + y, n = 8: {call_overhead():.1f} us")
    print(f"reading StableHLO text, 2,000 ops: {reading():.1f} us an op")
    for example in ("running_example", "mlp_training_step"):
        stages = cold_compile(example)
        parts = ", ".join(f"{name} {seconds * 1e3:.0f}" for name, seconds in stages.items())
        print(f"cold compile of {example} (ms): {parts}")


if __name__ == "__main__":
    main()

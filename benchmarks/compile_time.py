"""
Compare the compile times of xhlo and XLA:CPU, in one process on the same text: `python benchmarks/compile_time.py`.

Each program is compiled by both in turn, several times, without a cache of programs (the functions that programs share
are kept, among them whole kernels with products: only the first compilation of a program makes its own); the figure is
the ratio of the medians. The process is warm: both have compiled other programs before. `--write` puts the table into
COMPILE.md.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import jax
import numpy as np
from jax._src import compiler

from program_lists.compiled import compile_programs
from xhlo.targets.compile import compile_source
from xhlo.targets.cpu.target import CPU
from xhlo.targets.program.executable import Executable
from xhlo.targets.program.source import Source

HERE = Path(__file__).parent


def compile_here(text: str) -> Executable:
    """Compile without a cache."""
    return compile_source(Source(text, "<bench>"), CPU)


def compile_there(text: str) -> None:
    """Compile the same program with XLA:CPU."""
    backend = jax.devices("cpu")[0].client
    options = compiler.get_compile_options(num_replicas=1, num_partitions=1)
    devices = compiler.xc.DeviceList(tuple(jax.devices("cpu")[:1]))
    backend.compile_and_load(text, devices, options)


def measure(text: str, repeats: int, clock: Callable[[], float]) -> tuple[float, float, dict[str, float]]:
    """Milliseconds of xhlo and of XLA, and of each of xhlo's stages; all are medians."""
    here: list[float] = []
    there: list[float] = []
    stages: list[dict[str, float]] = []
    for _ in range(repeats):
        start = clock()
        executable = compile_here(text)
        middle = clock()
        compile_there(text)
        there.append(clock() - middle)
        here.append(middle - start)
        stages.append(executable.compile_stages)
    middles = {name: statistics.median(each.get(name, 0.0) for each in stages) * 1e3 for name in stages[0]}
    return statistics.median(here) * 1e3, statistics.median(there) * 1e3, middles


COLD = """
import json, time
import jax, jax.numpy as jnp, numpy as np
import xhlo
lowered = jax.jit(lambda x: x * 2 + 1).lower(np.ones(4, np.float32)).as_text()
start = time.CLOCK()
xhlo.compile(lowered)
print(json.dumps((time.CLOCK() - start) * 1e3))
"""


def first_compile(clock: Callable[[], float]) -> float:
    """Milliseconds of the first compilation in a process that has JAX imported; the median of five."""
    runs = [
        json.loads(
            subprocess.run(
                [sys.executable, "-c", COLD.replace("CLOCK", clock.__name__)], capture_output=True, check=True
            ).stdout
        )
        for _ in range(5)
    ]
    return statistics.median(runs)


NOTHING_KEPT = """
import json, sys, time
import xhlo
xhlo.compile("func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }")
text = sys.stdin.read()
start = time.CLOCK()
xhlo.compile(text)
print(json.dumps((time.CLOCK() - start) * 1e3))
"""


def with_nothing_kept(text: str, clock: Callable[[], float]) -> float:
    """Milliseconds to compile a program where no function that programs share is kept; the median of five."""
    runs: list[float] = []
    for _ in range(5):
        with TemporaryDirectory() as folder:
            found = subprocess.run(
                [sys.executable, "-c", NOTHING_KEPT.replace("CLOCK", clock.__name__)],
                input=text,
                env={**os.environ, "XHLO_CACHE_DIR": folder},
                capture_output=True,
                text=True,
                check=True,
            )
        runs.append(json.loads(found.stdout))
    return statistics.median(runs)


def first_hlo_opt(*words: str) -> float:
    """Elapsed milliseconds of hlo-opt in a process of its own, start and imports included; the median of five."""
    times: list[float] = []
    for _ in range(5):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-m", "xhlo.tools.hlo_opt", *words], stdout=subprocess.DEVNULL, check=True)
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e3


def trace_lower_compile(clock: Callable[[], float]) -> float:
    """Milliseconds to trace, lower and compile x * a + 1 for an a that is new each time; the median of nine."""
    times: list[float] = []
    for number in range(9):
        scale = 2.0 + number
        x = np.ones(4, np.float32)
        start = clock()
        compile_here(jax.jit(lambda x, scale=scale: x * scale + 1).lower(x).as_text())
        times.append(clock() - start)
    return statistics.median(times) * 1e3


def table(only: str, repeats: int, clock: Callable[[], float]) -> Iterator[str]:
    yield "| program | xhlo ms | XLA ms | ratio | LLVM's share | largest other stages |"
    yield "| --- | ---: | ---: | ---: | ---: | --- |"
    ratios: dict[str, float] = {}
    for name, text in compile_programs():
        if only not in name:
            continue
        try:
            here, there, stages = measure(text, repeats, clock)
        except Exception as error:
            yield f"| {name} | - | - | - | - | {type(error).__name__} |"
            continue
        ratios[name] = here / there
        whole = sum(stages.values())
        llvm = sum(milliseconds for stage, milliseconds in stages.items() if stage.startswith("LLVM"))
        others = sorted((-ms, stage) for stage, ms in stages.items() if not stage.startswith("LLVM"))[:3]
        parts = ", ".join(f"{stage} {-milliseconds / whole:.0%}" for milliseconds, stage in others)
        yield f"| {name} | {here:.1f} | {there:.1f} | {here / there:.2f} | {llvm / whole:.0%} | {parts} |"
    yield ""
    worst = max(ratios, key=lambda name: ratios[name])
    over = [name for name, ratio in ratios.items() if ratio > 2.5]
    yield (
        f"{len(ratios)} programs: median ratio {statistics.median(ratios.values()):.2f}, largest {ratios[worst]:.2f} "
        f"({worst}); {len(over)} above 2.5."
    )


def main() -> None:
    os.environ["XHLO_CACHE_SIZE"] = "0"  # each program is compiled
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="programs whose name contains this")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--cpu-time", action="store_true", help="processor time of all threads: for a busy machine")
    parser.add_argument("--write", action="store_true", help="write COMPILE.md")
    arguments = parser.parse_args()
    x = jax.ShapeDtypeStruct((8,), np.float32)
    for _ in range(2):
        warm = jax.jit(lambda x: x + x).lower(x).as_text()
        compile_here(warm), compile_there(warm)
    clock = time.process_time if arguments.cpu_time else time.perf_counter
    lines: list[str] = []
    for line in table(arguments.only, arguments.repeats, clock):
        print(line, flush=True)
        lines.append(line)
    if arguments.only:
        return
    lines += ["", "| what | ms |", "| --- | ---: |"]
    lines.append(f"| trace, lower and compile x * 2 + 1, process warm | {trace_lower_compile(clock):.1f} |")
    lines.append(f"| first compilation in a process, imports of the compiler included | {first_compile(clock):.0f} |")
    texts = dict(compile_programs())
    for name in ("dot 8x8", "dot 512x512", "conv 3x3", "top_k"):
        cold = with_nothing_kept(texts[name], clock)
        lines.append(f"| {name}, first of its kind: no shared function and no import of its operations | {cold:.0f} |")
    ptx = first_hlo_opt("--fuse", "--lower", "--target=nvptx", "--emit=ptx", str(HERE.parent / "examples/softmax.mlir"))
    lines.append(f"| hlo-opt --help, elapsed | {first_hlo_opt('--help'):.0f} |")
    lines.append(f"| hlo-opt from examples/softmax.mlir to PTX, elapsed | {ptx:.0f} |")
    print(*lines[-10:], sep="\n")
    if arguments.write:
        clock_name = "processor time of all threads" if arguments.cpu_time else "elapsed time"
        head = (
            f"# Compile time\n\n`python benchmarks/compile_time.py --write{' --cpu-time' * arguments.cpu_time}` on "
            f"{os.cpu_count()} CPUs, jax {jax.__version__}: {clock_name}, medians of {arguments.repeats}.\n"
            "Both compile the same StableHLO in turn, in one warm process, without a cache of programs. The functions\n"
            "that programs share are kept, among them whole kernels with a product or a convolution, which the first\n"
            "repetition makes; the second table has programs without them.\n\n"
        )
        (HERE / "COMPILE.md").write_text(head + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()

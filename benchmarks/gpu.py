"""
Compare xhlo on an NVIDIA GPU with the GPU's copy bandwidth, and with JAX and torch if they are installed.

    python benchmarks/gpu.py                    measures all, writes benchmarks/GPU.md
    python benchmarks/gpu.py --only softmax     one program; writes nothing
    python benchmarks/gpu.py --dry-run          compiles all to machine code; needs no GPU

Times are medians over back-to-back calls, measured with CUDA events; JAX, which exposes no events, is timed by the
clock over blocks of calls. Inputs are much larger than the L2 cache. Every result is checked before anything is timed.
"""

from __future__ import annotations

import argparse
import itertools
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from program_lists.gpu import GpuProgram, launches, programs
from xhlo.hlo_dialect.diagnostics import DiagnosticError
from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.reading import parse_module
from xhlo.lowering.device.chips import DEFAULT_CHIP, get_chip
from xhlo.targets.gpu.image import GpuImage
from xhlo.targets.gpu.runtime.device import Device
from xhlo.targets.gpu.runtime.driver import CopyOnDevice
from xhlo.targets.nvptx.assembler import assemble
from xhlo.targets.nvptx.build import build_image
from xhlo.targets.nvptx.executable import CudaExecutable
from xhlo.targets.nvptx.runtime.cublaslt import find_library
from xhlo.targets.nvptx.runtime.device import open_device, present_chip
from xhlo.targets.nvptx.target import nvptx
from xhlo.targets.program.lowering import Lowering

HERE = Path(__file__).parent

KERNELS = 30
"""Kernels in the graph whose replay is measured."""

REPLAYS = 200

MAX_SETS = 16
"""The most sets of inputs that calls use in turn."""

BANDWIDTH_BOUND, GRAPH_BOUND = 0.85, 3.0
"""The least share of the copy bandwidth; the most microseconds per kernel of a graph."""


def compile_image(text: str, chip: str, *, fuse: bool = True, libraries: str = "never") -> GpuImage:
    """The program compiled for a chip; without `fuse`, each operation a kernel."""
    ctx, machine = make_context(), get_chip(chip)
    module = parse_module(text, "<benchmark>", ctx)
    target = nvptx(chip, libraries=libraries)
    return build_image(Lowering(ctx, module, target, fuse=fuse), machine, machine.ptx)


# Without a GPU ---------------------------------------------------------------------------------------------------


def dry_run(chosen: Sequence[GpuProgram], chip: str) -> None:
    """Compile everything to machine code; print the resources that the kernels use."""
    print(f"{'program, ' + chip:<32}{'s':>7}{'launches':>10}{'registers':>11}{'shared':>9}{'spilled':>9}{'cubin':>9}")
    texts = [(program.name, program.text, True) for program in chosen]
    for name, text, fuse in [*texts, (f"graph of {KERNELS} kernels", launches(KERNELS, 4096), False)]:
        start = time.perf_counter()
        image = compile_image(text, chip, fuse=fuse)
        seconds = time.perf_counter() - start
        kernels = assemble(image.ptx, get_chip(chip)).kernels
        print(
            f"{name:<32}{seconds:>7.2f}{len(image.host.steps):>10}{max(k.registers for k in kernels):>11}"
            f"{max(k.shared for k in kernels):>9}{sum(k.spill_stores for k in kernels):>9}{len(image.cubin):>9}"
        )


# Timing ----------------------------------------------------------------------------------------------------------


def time_calls(device: Device, call: Callable[[int], Any], calls: int) -> list[float]:
    """Seconds of each of `calls` back-to-back calls in the device's stream, measured by events."""
    driver, stream = device.driver, device.stream.handle
    for number in range(3):
        call(number)
    device.synchronize()
    with driver.entered():
        events = [driver.new_event(timed=True) for _ in range(calls + 1)]
        driver.record(events[0], stream)
        for number in range(calls):
            call(number)
            driver.record(events[number + 1], stream)
        driver.synchronize(stream)
        times = [driver.elapsed_ns(*pair) * 1e-9 for pair in itertools.pairwise(events)]
        for event in events:
            driver.free_event(event)
    return times


def copy_bandwidth(device: Device, nbytes: int = 1 << 30) -> float:
    """Bytes read and written per second by the driver's copy within device memory."""
    source, target = (device.allocate(nbytes, device.stream) for _ in range(2))
    with device.driver.entered():
        copy = CopyOnDevice(target.address, source.address, nbytes)
        times = time_calls(device, lambda _: device.driver.enqueue(copy, device.stream.handle), 30)
    return 2 * nbytes / statistics.median(times)


def sets_of(program: GpuProgram, l2_bytes: int) -> int:
    """How many sets of inputs the calls use in turn, so that none is in the cache when it is read."""
    size = sum(int(np.prod(shape)) * np.dtype(dtype).itemsize for shape, dtype in program.inputs)
    return min(MAX_SETS, max(1, -(-4 * l2_bytes // size)))


@dataclass
class Row:
    """The measurements of one program: seconds of one call, None for a library that is not installed."""

    program: GpuProgram
    launches: int
    xhlo: float
    jax: float | None = None
    torch: float | None = None
    library: float | None = None
    """Computed by a call of cuBLASLt."""


def measure(program: GpuProgram, device: Device, calls: int, libraries: Sequence[str]) -> Row:
    """Compile, check and time a program; then time it in JAX and torch."""
    arrays = [program.arguments(seed) for seed in range(sets_of(program, device.info.l2_bytes))]
    executable = CudaExecutable(compile_image(program.text, present_chip()), str, device)
    row = Row(program, len(executable.image.host.steps), time_xhlo(executable, program, arrays, calls))
    if program.flops and find_library() is not None:
        image = compile_image(program.text, present_chip(), libraries="always")
        row.library = time_xhlo(CudaExecutable(image, str, device), program, arrays, calls)
    for name in libraries:
        setattr(row, name, RIVALS[name](program, arrays, calls))
    return row


def time_xhlo(
    executable: CudaExecutable, program: GpuProgram, arrays: Sequence[Sequence[np.ndarray]], calls: int
) -> float:
    """Seconds of a call; the first result is checked."""
    placed = [executable.place(each) for each in arrays]
    device = executable.load().device
    program.check(arrays[0], executable(*placed[0]).numpy())
    seconds = statistics.median(time_calls(device, lambda number: executable(*placed[number % len(placed)]), calls))
    placed.clear()
    device.pool.clear()
    return seconds


# The others ------------------------------------------------------------------------------------------------------


def in_jax(program: GpuProgram, arrays: Sequence[Sequence[np.ndarray]], calls: int) -> float:
    """Seconds of a call of JAX, timed by the clock over blocks of back-to-back calls."""
    import jax
    import jax.numpy as jnp

    function = jax.jit(lambda *values: program.in_jax(jax, jnp, *values))
    placed = [[jax.device_put(array) for array in each] for each in arrays]
    program.check(arrays[0], np.asarray(function(*placed[0])))
    blocks: list[float] = []
    for _ in range(5):
        function(*placed[0]).block_until_ready()
        start = time.perf_counter()
        for number in range(calls):
            result = function(*placed[number % len(placed)])
        result.block_until_ready()
        blocks.append((time.perf_counter() - start) / calls)
    return statistics.median(blocks)


def in_torch(program: GpuProgram, arrays: Sequence[Sequence[np.ndarray]], calls: int) -> float:
    """Seconds of a call of torch.compile's function, or of the eager one if that is faster, measured by events."""
    import torch

    def tensor(array: np.ndarray) -> Any:
        if array.dtype.name == "bfloat16":
            return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16).cuda()
        return torch.from_numpy(array).cuda()

    placed = [[tensor(array) for array in each] for each in arrays]
    plain = lambda *values: program.in_torch(torch, *values)  # noqa: E731
    times = [_torch_time(torch, plain, placed, calls)]
    try:
        times.append(_torch_time(torch, torch.compile(plain, dynamic=False), placed, calls))
    except Exception as error:
        print(f"  torch.compile: {type(error).__name__}", file=sys.stderr)
    del placed
    torch.cuda.empty_cache()
    return min(times)


def _torch_time(torch: Any, function: Any, placed: Sequence[Sequence[Any]], calls: int) -> float:
    for number in range(3):
        function(*placed[number % len(placed)])
    events = [torch.cuda.Event(enable_timing=True) for _ in range(calls + 1)]
    events[0].record()
    for number in range(calls):
        function(*placed[number % len(placed)])
        events[number + 1].record()
    torch.cuda.synchronize()
    return statistics.median(a.elapsed_time(b) * 1e-3 for a, b in itertools.pairwise(events))


RIVALS: dict[str, Callable[[GpuProgram, Sequence[Sequence[np.ndarray]], int], float]] = {
    "jax": in_jax,
    "torch": in_torch,
}


def installed() -> list[str]:
    """Those of JAX and torch that are installed and see the GPU."""
    found: list[str] = []
    # Otherwise JAX allocates three quarters of the memory.
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    try:
        import jax

        if jax.default_backend() == "gpu":
            found.append("jax")
    except Exception as error:
        print(f"JAX is left out: {type(error).__name__}", file=sys.stderr)
    try:
        import torch

        if torch.cuda.is_available():
            found.append("torch")
    except Exception as error:
        print(f"torch is left out: {type(error).__name__}", file=sys.stderr)
    return found


# Launches --------------------------------------------------------------------------------------------------------


@dataclass
class Replay:
    """Microseconds per kernel in a graph of `KERNELS`."""

    gpu: float
    """GPU time of back-to-back calls."""
    thread: float
    """Time of the calling thread."""
    alone: float
    """Time of calls that are each waited for."""


def measure_replay(device: Device) -> Replay:
    executable = CudaExecutable(compile_image(launches(KERNELS, 4096), present_chip(), fuse=False), str, device)
    if len(executable.image.host.steps) != KERNELS:
        raise AssertionError(f"{len(executable.image.host.steps)} launches instead of {KERNELS}")
    x, y = np.ones(4096, np.float32), np.full(4096, 2, np.float32)
    placed = executable.place([x, y])
    np.testing.assert_array_equal(executable(*placed).numpy(), x + KERNELS * y)
    gpu = statistics.median(time_calls(device, lambda _: executable(*placed), REPLAYS))
    start = time.perf_counter()
    for _ in range(REPLAYS):
        executable(*placed)
    thread = (time.perf_counter() - start) / REPLAYS
    device.synchronize()
    alone: list[float] = []
    for _ in range(REPLAYS):
        start = time.perf_counter()
        executable(*placed)
        device.synchronize()
        alone.append(time.perf_counter() - start)
    return Replay(*(1e6 * each / KERNELS for each in (gpu, thread, statistics.median(alone))))


# The report ------------------------------------------------------------------------------------------------------


def line_of(row: Row, bandwidth: float) -> str:
    program = row.program
    rate = program.flops / row.xhlo if program.flops else program.bytes / row.xhlo
    speed = f"{rate / 1e12:.1f} TFLOP/s" if program.flops else f"{rate / 1e9:.0f} GB/s"
    share = "-" if program.flops else f"{100 * rate / bandwidth:.0f} %"
    others = [
        "-" if other is None else f"{1e3 * other:.3f} ({row.xhlo / other:.2f})"
        for other in (row.library, row.jax, row.torch)
    ]
    return f"| {program.name} | {row.launches} | {1e3 * row.xhlo:.3f} | {speed} | {share} | {' | '.join(others)} |"


def report(device: Device, bandwidth: float, rows: Sequence[Row], replay: Replay, others: Sequence[str]) -> str:
    versions = ", ".join(f"{name} {sys.modules[name].__version__}" for name in others) or "neither JAX nor torch"
    lines = [
        "# On a GPU",
        "",
        f"{device.info.name}, {device.info.multiprocessors} multiprocessors, {device.info.l2_bytes >> 20} MB of L2; "
        f"Python {platform.python_version()}, {versions}. Written by `python benchmarks/gpu.py`, whose head says how.",
        "",
        f"A copy from device memory to device memory moves {bandwidth / 1e9:.0f} GB/s, bytes read and written. "
        "In brackets: xhlo's time over the other's.",
        "",
        "| program | launches | xhlo ms | speed | of the copy | cuBLASLt ms | JAX ms | torch ms |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        *(line_of(row, bandwidth) for row in rows),
        "",
        f"Replay of a graph of {KERNELS} kernels: {replay.gpu:.2f} us a kernel where calls follow each other, "
        f"{replay.alone:.2f} where each is waited for; the thread that calls is busy for {replay.thread:.2f}.",
        "",
    ]
    return "\n".join(lines)


def shortfalls(bandwidth: float, rows: Sequence[Row], replay: Replay) -> list[str]:
    """The measurements that miss their bound."""
    found = [
        f"{row.program.name}: {row.program.bytes / row.xhlo / bandwidth:.0%} of the copy bandwidth"
        for row in rows
        if not row.program.flops and row.program.bytes / row.xhlo < BANDWIDTH_BOUND * bandwidth
    ]
    found += [
        f"{row.program.name}: {row.xhlo / row.jax:.2f} of JAX's time"
        for row in rows
        if row.jax is not None and not row.program.flops and row.xhlo > row.jax
    ]
    if replay.gpu > GRAPH_BOUND:
        found.append(f"replay: {replay.gpu:.2f} us a kernel")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="TEXT", help="the programs whose names hold it")
    parser.add_argument("--calls", type=int, default=50, metavar="N", help="timed calls of each program (50)")
    parser.add_argument("--dry-run", action="store_true", help="compile to machine code, run nothing")
    parser.add_argument("--chip", default=DEFAULT_CHIP, help=f"of --dry-run ({DEFAULT_CHIP})")
    parser.add_argument("--alone", action="store_true", help="without JAX and torch")
    given = parser.parse_args()
    chosen = [program for program in programs() if given.only is None or given.only in program.name]
    try:
        if given.dry_run:
            dry_run(chosen, given.chip)
            return 0
        device = open_device()
    except (DiagnosticError, LookupError) as error:
        print(f"{error}", file=sys.stderr)
        return 1
    others = [] if given.alone else installed()
    bandwidth = copy_bandwidth(device)
    device.pool.clear()
    rows: list[Row] = []
    for program in chosen:
        rows.append(measure(program, device, given.calls, others))
        print(line_of(rows[-1], bandwidth), flush=True)
    replay = measure_replay(device)
    text = report(device, bandwidth, rows, replay, others)
    print(text)
    for each in shortfalls(bandwidth, rows, replay):
        print(f"below its bound: {each}")
    if given.only is None:
        (HERE / "GPU.md").write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())

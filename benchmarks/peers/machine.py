"""The machine's limits: how fast it copies, and how fast it multiplies; the floor of a row follows from both."""

from __future__ import annotations

import functools
import os
import platform
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from .rows import Row

PROCESSORS = len(os.sched_getaffinity(0))


def least(run: Callable[[], object], count: int = 7) -> float:
    """The shortest of some runs, in seconds."""
    times: list[float] = []
    for _ in range(count):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


@functools.cache
def bandwidth(bytes_moved: int) -> float:
    """Bytes a second, read or written, of a copy on all processors that moves so many; at least 64 KB."""
    n = max(bytes_moved, 1 << 16) // 8
    source, target = np.ones(n, np.float32), np.zeros(n, np.float32)
    parts = [slice(n * i // PROCESSORS, n * (i + 1) // PROCESSORS) for i in range(PROCESSORS)]
    if n < 1 << 18:
        return 8 * n / least(lambda: np.copyto(target, source), 50)
    with ThreadPoolExecutor(PROCESSORS) as pool:
        return 8 * n / least(lambda: list(pool.map(lambda part: np.copyto(target[part], source[part]), parts)))


@functools.cache
def flags() -> frozenset[str]:
    """The processor's features as Linux names them."""
    text = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    return frozenset(next((line for line in text.splitlines() if line.startswith(("flags", "Features"))), "").split())


@functools.cache
def f32_peak() -> float:
    """Operations a second in f32: the best that NumPy's BLAS reaches on square products."""
    best = 0.0
    for n in (768, 1024, 2048):
        a = np.ones((n, n), np.float32)
        best = max(best, 2 * n**3 / least(lambda a=a: a @ a))
    return best


def peak(type_: str) -> float:
    """Operations a second in products of this type: f32's times what the processor's instructions do more."""
    factors = {
        "f32": (),
        "bf16": (("amx_bf16", 16), ("avx512_bf16", 2)),
        "i8": (("amx_int8", 32), ("avx512_vnni", 4)),
    }
    return f32_peak() * next((factor for flag, factor in factors[type_] if flag in flags()), 1)


def floor(row: Row) -> float:
    """Seconds that the row takes at the machine's limit."""
    return max(row.moved / bandwidth(row.moved), row.flops / peak(row.type_) if row.flops else 0.0)


def vectors() -> str:
    """The widest vector instructions, for which kernels are made: one kind of machine in the tables."""
    known = {"avx512f": "AVX-512", "avx2": "AVX2", "sve": "SVE", "asimd": "NEON"}
    return next((name for flag, name in known.items() if flag in flags()), platform.machine())


def processors() -> str:
    """Their number, name and vector instructions."""
    name = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        name = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), name)
    known = ("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "amx_bf16", "amx_int8", "asimd", "sve")
    has = ", ".join(flag for flag in known if flag in flags())
    return f"{PROCESSORS} processors of {name} ({has})"


def description() -> str:
    """The processors, what they reach, and the Python."""
    return (
        f"{processors()}; {bandwidth(1 << 28) / 1e9:.0f} GB/s copied beyond the caches, "
        f"{f32_peak() / 1e9:.0f} GFLOP/s in f32; Python {platform.python_version()}"
    )

"""
Compile, run, check and explain a real program: `make demo`.

Takes the training step of a two-layer MLP that JAX exported (forward, cross-entropy, backward, SGD), compiles it for
the CPU, prints its kernels, runs it, checks it against the reference semantics, and times it against NumPy.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import xhlo
from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.reading import parse_module
from xhlo.hlo_dialect.reference import evaluate
from xhlo.hlo_dialect.types import Array

PROGRAM = Path(__file__).with_name("mlp_training_step.mlir")


def count_ops(text: str) -> Counter[str]:
    """Count the operations of a module by name, without functions and terminators."""
    module = parse_module(text, PROGRAM.name, make_context())
    skipped = ("builtin.module", "func.func", "func.return", "hlo.return")
    return Counter(op.name for op in module.walk() if op.name not in skipped)


def inputs(seed: int = 0) -> list[Array]:
    rng = np.random.default_rng(seed)

    def normal(*shape: int, scale: float = 1.0) -> Array:
        return (scale * rng.standard_normal(shape)).astype(np.float32)

    weights = [normal(784, 512, scale=0.05), normal(512), normal(512, 10, scale=0.05), normal(10)]
    return [*weights, normal(128, 784), rng.integers(0, 10, 128).astype(np.int32)]


def numpy_step(w1: Array, b1: Array, w2: Array, b2: Array, images: Array, labels: Array) -> tuple[Array, ...]:
    """The same training step, written in NumPy."""
    hidden = images @ w1 + b1
    active = np.maximum(hidden, 0)
    logits = active @ w2 + b2
    shifted = logits - logits.max(1, keepdims=True)
    exponentials = np.exp(shifted)
    sums = exponentials.sum(1, keepdims=True)
    rows = np.arange(len(labels))
    loss = -(shifted - np.log(sums))[rows, labels].mean()
    d_logits = exponentials / sums
    d_logits[rows, labels] -= 1
    d_logits /= np.float32(len(labels))
    d_hidden = (d_logits @ w2.T) * (hidden > 0)
    rate = np.float32(0.1)
    return (
        loss,
        w1 - rate * (images.T @ d_hidden),
        b1 - rate * d_hidden.sum(0),
        w2 - rate * (active.T @ d_logits),
        b2 - rate * d_logits.sum(0),
    )


def milliseconds(run: Callable[[], Any], repeat: int = 50) -> float:
    """The median time of a call, after a pause in which the other library's threads stop spinning."""
    time.sleep(0.5)
    run()
    times: list[float] = []
    for _ in range(repeat):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e3


def main() -> int:
    text = PROGRAM.read_text()
    print(f"{PROGRAM.name}: {len(text.splitlines())} lines of StableHLO that JAX exported\n")
    executable = xhlo.compile(text)

    before, after = count_ops(text), count_ops(executable.as_text("fused"))
    common = ", ".join(f"{count} {name.split('.')[1]}" for name, count in before.most_common(6))
    print(f"before: {before.total()} operations ({common}, ..)")
    print(f"after:  {after['hlo.fusion']} fusions, {len(executable.kernels)} distinct kernels\n")

    print(f"{'kernel':<22}{'ops':>5}{'calls':>7}{'KiB moved':>12}{'MFLOP':>9}")
    for kernel in executable.kernels:
        print(
            f"{kernel.name:<22}{kernel.ops:>5}{kernel.sites:>7}{kernel.bytes / 1024:>12.1f}{kernel.flops / 1e6:>9.2f}"
        )
    stages = executable.compile_stages
    print(f"\ncompiled in {sum(stages.values()) * 1e3:.0f} ms:")
    print("  " + ", ".join(f"{name} {seconds * 1e3:.0f}" for name, seconds in stages.items()) + "\n")

    arguments = inputs()
    results = executable(*arguments)
    expected = evaluate(parse_module(text, PROGRAM.name, make_context()), arguments)
    worst = 0.0
    for index, (actual, wanted) in enumerate(zip(results, expected, strict=True)):
        scale = np.sqrt(np.mean(np.square(wanted, dtype=np.float64)))
        error = float(np.max(np.abs(np.float64(actual) - np.float64(wanted))) / scale)
        worst = max(worst, error)
        print(f"output {index}: {actual.shape!s:<12} worst error {error:.1e} of its RMS against the reference")
    print(f"loss {float(results[0]):.4f}\n")

    ours = milliseconds(lambda: executable(*arguments))
    numpys = milliseconds(lambda: numpy_step(*arguments))
    print(f"one step: xhlo {ours:.2f} ms, NumPy {numpys:.2f} ms: {numpys / ours:.1f} times as fast")
    if worst > 1e-4:
        print("FAILED: the outputs differ from the reference", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

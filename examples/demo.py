"""
Compile, run, check and explain a real program: `make demo`.

Takes the training step of a two-layer MLP that JAX exported (forward, cross-entropy, backward, SGD), compiles it for
the CPU, prints its kernels, runs it, checks it against the reference semantics, and times it against NumPy. The step is
mostly matrix products, for which NumPy calls a library; three smaller programs show what fusion alone is worth.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
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


def softmax(x: Array) -> Array:
    exponentials = np.exp(x - x.max(1, keepdims=True))
    return exponentials / exponentials.sum(1, keepdims=True)


def layernorm(x: Array, scale: Array, offset: Array) -> Array:
    centred = x - x.mean(1, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(1, keepdims=True) + np.float32(1e-5)) * scale + offset


def mean_of_polynomial(x: Array, y: Array) -> Array:
    return np.asarray(np.mean(3 * x * x + y))


FUSED: dict[str, tuple[Callable[..., Any], list[tuple[int, ...]]]] = {
    "softmax": (softmax, [(512, 1024)]),
    "layernorm": (layernorm, [(512, 768), (768,), (768,)]),
    "running_example": (mean_of_polynomial, [(1 << 20,), (1 << 20,)]),
}
"""Programs of this folder that become one kernel each, the same in NumPy, and the shapes of their arguments."""


def compare(name: str, ours: Callable[[], Any], numpys: Callable[[], Any]) -> None:
    """Print the time of a call of both."""
    times = milliseconds(ours), milliseconds(numpys)
    print(f"{name:<22}{times[0]:>8.2f}{times[1]:>8.2f}{times[1] / times[0]:>16.1f}")


def milliseconds(run: Callable[[], Any], repeat: int = 50) -> float:
    """The least time of a call, after a pause in which the other library's threads stop spinning."""
    time.sleep(0.5)
    run()
    times: list[float] = []
    for _ in range(repeat):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times) * 1e3


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

    print(f"{'milliseconds':<22}{'xhlo':>8}{'NumPy':>8}{'times as fast':>16}")
    compare("training step", lambda: executable(*arguments), lambda: numpy_step(*arguments))
    for name, (in_numpy, shapes) in FUSED.items():
        small = xhlo.compile(PROGRAM.with_name(f"{name}.mlir"))
        values = [np.random.default_rng(1).standard_normal(shape).astype(np.float32) for shape in shapes]
        compare(name, partial(small, *values), partial(in_numpy, *values))
        worst = max(worst, float(np.max(np.abs(small(*values) - in_numpy(*values)))))
    if worst > 1e-4:
        print("FAILED: the outputs differ from the reference", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

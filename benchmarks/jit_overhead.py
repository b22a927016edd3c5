"""
The cost of `xhlo.jit` and `xhlo.Builder`: of a call above the executable's, and of each operation of a program.

Times are of the thread, the best of many repetitions, so that other programs disturb them little. Operations are
counted in the program that is made; each repetition has shapes of its own, so that no type is known beforehand.

    python benchmarks/jit_overhead.py
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Operation

import xhlo

CALLS, ROUNDS, TRACES, STEPS = 5000, 25, 40, 20


def best(run: Callable[[], Any], rounds: int) -> float:
    """Microseconds of the fastest repetition."""
    times: list[float] = []
    for _ in range(rounds):
        start = time.thread_time()
        run()
        times.append(time.thread_time() - start)
    return min(times) * 1e6


# Calls -------------------------------------------------------------------------------------------------------------


def a_call(function: Callable[..., Any], *args: Any, **kwargs: Any) -> float:
    """Microseconds of a call."""

    def run() -> None:
        for _ in range(CALLS):
            function(*args, **kwargs)

    return best(run, ROUNDS) / CALLS


def beyond(function: Any, *args: Any, **kwargs: Any) -> float:
    """Microseconds of a call of a compiled function, less those of its executable on the same arrays."""
    function(*args, **kwargs)
    leaves = [np.asarray(leaf) for leaf in leaves_of((args, kwargs))]
    return a_call(function, *args, **kwargs) - a_call(function.executable(*args, **kwargs), *leaves)


def leaves_of(tree: Any) -> Iterator[Any]:
    for part in tree.values() if isinstance(tree, dict) else tree:
        if isinstance(part, tuple | list | dict):
            yield from leaves_of(part)
        else:
            yield part


def calls() -> Iterator[tuple[str, float]]:
    x = np.ones(8)
    yield "two arrays", beyond(xhlo.jit(lambda x, y: x + y), x, x)
    yield "an array and a number", beyond(xhlo.jit(lambda x, y: x + y), x, 2.0)
    yield "two arrays by keyword", beyond(xhlo.jit(lambda x, y: x + y), x=x, y=x)
    yield "an array, and a number by keyword", beyond(xhlo.jit(lambda x, y=1.0: x + y), x, y=2.0)
    yield "a tuple of arrays", beyond(xhlo.jit(lambda pair: pair[0] + pair[1]), (x, x))
    yield "a dict of arrays", beyond(xhlo.jit(lambda p: p["w"] + p["b"]), {"w": x, "b": x})
    nested = {"layers": [(x, x), (x, x)], "rate": 0.1}
    yield (
        "a nested tree of four arrays and a number",
        beyond(xhlo.jit(lambda p, x: x * p["layers"][0][0] + p["layers"][1][1] * p["rate"]), nested, x),
    )


# Tracing -----------------------------------------------------------------------------------------------------------


def chain(x: Any) -> Any:
    for _ in range(5 * STEPS):
        x = np.sin(x) * x + x
    return x


def promotion(x: Any, y: Any, n: Any) -> Any:
    """f32, f64 and integers, numbers, and arrays that are broadcast."""
    for _ in range(STEPS):
        x = (x * 2 + y[:, None]) / 3.0 - n % 7 + np.where(x > y, x, 1.0)
    return x


def statistics(x: Any) -> Any:
    for _ in range(STEPS):
        x = x - x.mean(axis=0)
        x = x / np.sqrt(np.sum(x * x, axis=1, keepdims=True) + 1e-5)
        x = x * np.max(x)
    return x


def softmax(x: Any) -> Any:
    for _ in range(STEPS):
        e = np.exp(x - x.max(axis=-1, keepdims=True))
        x = e / e.sum(axis=-1, keepdims=True)
    return x


def stencil(u: Any) -> Any:
    for _ in range(STEPS):
        inner = u[1:-1, 1:-1]
        around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        u = np.pad(inner + 0.1 * (around - 4.0 * inner), 1)
    return u


def network(x: Any, w: Any, b: Any) -> Any:
    for _ in range(STEPS):
        x = np.maximum(x @ w + b, 0.0)
        x = x + np.tanh(x @ w.T)
    return x


def movement(x: Any) -> Any:
    for _ in range(STEPS):
        parts = np.stack([x, x[::-1], np.roll(x, 1, axis=1)])
        x = np.concatenate([parts[0].reshape(-1), parts[1].ravel()]).reshape(2, *x.shape).transpose(0, 2, 1)[0].T
    return x


TRACED: dict[str, tuple[Callable[..., Any], Callable[[int], tuple[Any, ...]]]] = {
    "elementwise": (chain, lambda n: (np.ones(n),)),
    "mixed types and shapes": (
        promotion,
        lambda n: (np.ones((n, n), np.float32), np.ones(n), np.arange(n, dtype=np.int32)),
    ),
    "mean, norm, maximum": (statistics, lambda n: (np.ones((n, 8)),)),
    "softmax": (softmax, lambda n: (np.ones((n, 16)),)),
    "stencil": (stencil, lambda n: (np.ones((n + 8, n + 9)),)),
    "layers of a network": (network, lambda n: (np.ones((n, 12)), np.ones((12, 12)), np.ones(12))),
    "stack, roll, reshape": (movement, lambda n: (np.ones((n + 1, 6)),)),
}


def operations(module: Any) -> int:
    """The hlo operations of a program."""
    return sum(op.name.startswith("hlo.") and not isinstance(op, ReturnOp) for op in module.walk())


def tracing(function: Callable[..., Any], arguments: Callable[[int], tuple[Any, ...]]) -> tuple[int, float]:
    """The operations of a program, and the microseconds of tracing and verifying each."""
    jitted = xhlo.jit(function)
    # Repetitions within each pass over the sizes would find their types known.
    given = iter([arguments(size) for size in range(3, 3 + TRACES)])
    count = operations(jitted.lower(*arguments(2)).module)
    return count, best(lambda: jitted.lower(*next(given)), TRACES) / count


# Building ----------------------------------------------------------------------------------------------------------


def built_chain(n: int) -> Operation:
    b = xhlo.Builder()
    x = b.parameter("f32", (n,))
    for _ in range(5 * STEPS):
        x = b.add(b.multiply(b.sine(x), x), x)
    return b.build(x)


def built_notation(n: int) -> Operation:
    b = xhlo.Builder()
    x = b.parameter("f32", (n,))
    for _ in range(5 * STEPS):
        x = (x * 2.0 + x) / x
    return b.build(x)


def built_mixture(n: int) -> Operation:
    b = xhlo.Builder()
    x, w = b.parameter("f32", (n, 8)), b.parameter("f32", (8, 8))
    for _ in range(STEPS):
        y = b.dot_general(x, w, lhs_contracting_dimensions=[1], rhs_contracting_dimensions=[0])
        total = b.reduce(y, 0.0, dimensions=[1], body=b.add)
        y = y / b.broadcast_in_dim(total, broadcast_dimensions=[0], result_type=(n, 8))
        x = b.select(
            b.compare(y, x, comparison_direction="LT"),
            y,
            b.transpose(b.transpose(x, permutation=[1, 0]), permutation=[1, 0]),
        )
    return b.build(x)


BUILT = {
    "methods, elementwise": built_chain,
    "operators of values": built_notation,
    "products, sums, movement": built_mixture,
}


def building(program: Callable[[int], Any]) -> tuple[int, float]:
    """The operations of a program, and the microseconds of building and verifying each."""
    sizes = iter(range(3, 3 + TRACES))
    count = operations(program(2))
    return count, best(lambda: program(next(sizes)), TRACES) / count


def main() -> None:
    os.environ["XHLO_CACHE_SIZE"] = "0"  # each program is compiled
    warnings.simplefilter("ignore")
    x = np.ones(8)
    add = xhlo.jit(lambda x, y: x + y)
    print(f"an executable's own call on two arrays      {a_call(add.executable(x, x), x, x):6.2f} us")
    print("\na call of a compiled function, beyond its executable's")
    for name, microseconds in calls():
        print(f"  {name:42}{microseconds:6.2f} us")
    print("\ntracing and verification")
    for name, (function, arguments) in TRACED.items():
        count, microseconds = tracing(function, arguments)
        print(f"  {name:42}{microseconds:6.2f} us an operation, {count} operations")
    print("\nxhlo.Builder, with verification")
    for name, program in BUILT.items():
        count, microseconds = building(program)
        print(f"  {name:42}{microseconds:6.2f} us an operation, {count} operations")


if __name__ == "__main__":
    main()

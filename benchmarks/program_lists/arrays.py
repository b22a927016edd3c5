"""The programs that the benchmarks time: written in JAX, so that both compilers get the same program."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


@dataclass(frozen=True)
class Program:
    """A function, its arguments, its memory traffic and arithmetic, and its bound relative to JAX."""

    name: str
    function: Callable[..., Any]
    arguments: tuple[np.ndarray, ...]
    bytes: int
    """Bytes of inputs and outputs."""
    flops: int
    limit: float
    """The project's bound on xhlo's time divided by JAX's."""


def chain(x: jax.Array) -> jax.Array:
    """12 elementwise operations: exp, tanh and log among them."""
    a = jnp.tanh(x)
    b = jnp.exp(a) + x
    c = jnp.log(b * b + 1.0)
    d = jnp.tanh(c * 0.5)
    return jnp.exp(-d) * c + a


def _normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


def programs() -> list[Program]:
    n16, n4 = 1 << 24, 1 << 22
    rows, columns, size = 4096, 1024, 1024
    x, y, z = (_normal(n16, seed=seed) for seed in range(3))
    return [
        Program("mean(3x^2+y), n=16M", lambda x, y: jnp.mean(3 * x * x + y), (x, y), 8 * n16, 4 * n16, 1.0),
        Program("sum(x+y*z), n=16M", lambda x, y, z: jnp.sum(x + y * z), (x, y, z), 12 * n16, 3 * n16, 1.0),
        Program("exp/tanh/log chain of 12, n=4M", chain, (x[:n4],), 8 * n4, 12 * n4, 1.0),
        Program(
            "softmax 4096x1024", lambda x: jax.nn.softmax(x, -1), (_normal(rows, columns),), 8 * rows * columns, 0, 1.5
        ),
        Program(
            "matmul 1024 f32",
            lambda a, b: a @ b,
            (_normal(size, size), _normal(size, size, seed=1)),
            12 * size * size,
            2 * size**3,
            1.5,
        ),
    ]

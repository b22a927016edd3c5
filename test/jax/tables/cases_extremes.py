"""Maxima, minima and their gradients at NaN, at ties, at infinities and at zeros of both signs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from cases import Case, case

NAN, INF = np.nan, np.inf

ROWS = np.array(
    [
        [1, 3, 3, 2, 3], [NAN, 1, 2, 2, 0], [1, NAN, 3, NAN, 3], [INF, 1, INF, -INF, 0], [-INF, -INF, -INF, -INF, -INF],
        [0.0, -0.0, 0.0, -0.0, 0.0], [-0.0, 0.0, -1, -0.0, 0], [NAN, NAN, NAN, NAN, NAN], [2, 2, 2, 2, 2],
        [1, 2, 3, 4, NAN], [-1, -INF, -1, -2, NAN],
    ]
)  # fmt: skip
"""Ties, NaN first, last and between ties, infinities, zeros of both signs."""

PAIRS = np.array([1.0, 2.0, NAN, INF, -INF, 0.0, -0.0])


def cotangent(y: jax.Array) -> jax.Array:
    """A different weight for each result."""
    return (jnp.arange(y.size, dtype=jnp.float32).reshape(y.shape) + 1).astype(y.dtype)


def with_gradient(function: Callable[..., Any]) -> Callable[..., Any]:
    """The results, their gradients in reverse mode and, of the first operand, in forward mode."""

    def both(*arguments: jax.Array) -> Any:
        y, pull = jax.vjp(function, *arguments)
        _, push = jax.jvp(lambda x: function(x, *arguments[1:]), arguments[:1], (cotangent(arguments[0]),))
        return y, pull(jax.tree.map(cotangent, y)), push

    return both


def max_pool(x: jax.Array, padding: Any = "VALID", size: int = 2, stride: int = 1) -> jax.Array:
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, size), (1, stride), padding)


OF_ROWS: dict[str, Callable[[Any], Any]] = {
    "max": lambda x: jnp.max(x, 1),
    "min": lambda x: jnp.min(x, 1),
    "max_of_all": jnp.max,
    "nanmax": lambda x: jnp.nanmax(x, 1),
    "ptp": lambda x: jnp.ptp(x, 1),
    "max_pool": max_pool,
    "min_pool": lambda x: lax.reduce_window(x, jnp.inf, lax.min, (1, 3), (1, 2), "VALID"),
    "cummax": lambda x: lax.cummax(x, 1),
    "cummin": lambda x: lax.cummin(x, 1),
    "relu": jax.nn.relu,
    "relu6": jax.nn.relu6,
    "leaky_relu": jax.nn.leaky_relu,
    "clip": lambda x: jnp.clip(x, -1, 2),
    "abs": jnp.abs,
    "sign": jnp.sign,
    "sort": lambda x: jnp.sort(x, 1),
    "top_k": lambda x: lax.top_k(x, 3)[0],
    "median": lambda x: jnp.median(x, 1),
    "logsumexp": lambda x: jax.nn.logsumexp(x, 1),
    "softmax": lambda x: jax.nn.softmax(x, 1),
    "log_softmax": lambda x: jax.nn.log_softmax(x, 1),
    "segment_max": lambda x: jax.ops.segment_max(x.T, np.array([0, 2, 0, 2, 2]), 4),
    "scatter_max": lambda x: jnp.zeros((11, 3), x.dtype).at[:, np.array([0, 1, 1, 2, 0])].max(x),
    "scatter_min": lambda x: jnp.ones((11, 3), x.dtype).at[:, np.array([0, 1, 1, 2, 0])].min(x),
    "norm": lambda x: jnp.linalg.norm(x, axis=1),
    "max_pool_padded": lambda x: max_pool(jnp.where(jnp.isnan(x), 1, x), "SAME", 3, 2),
    "max_norm": lambda x: jnp.linalg.norm(x, jnp.inf, 1),
}
WITHOUT_GRADIENT: dict[str, Callable[[Any], Any]] = {
    "argmax": lambda x: (jnp.argmax(x, 1), jnp.argmin(x, 1), jnp.argmax(x), jnp.argmin(x)),
    "argsort": lambda x: (jnp.argsort(x, 1), jnp.argsort(x, 1, descending=True)),
    "top_k_indices": lambda x: lax.top_k(x, 4)[1],
    "nanargmax": lambda x: jnp.nanargmax(jnp.where(jnp.all(jnp.isnan(x), 1, keepdims=True), 0, x), 1),
    "unique": lambda x: jnp.unique(x, size=9, fill_value=0),
    "searchsorted": lambda x: jnp.searchsorted(jnp.sort(x[0]), x),
}
OF_PAIRS: dict[str, Callable[[Any, Any], Any]] = {
    "maximum": jnp.maximum,
    "minimum": jnp.minimum,
    "clamp": lambda x, y: lax.clamp(x.dtype.type(-1), x, y),
    "logaddexp": jnp.logaddexp,
    "hypot": jnp.hypot,
    "fmax": jnp.fmax,
    "fmin": jnp.fmin,
    "heaviside": jnp.heaviside,
}


SHORT_TOO = {"max", "max_pool", "cummax", "clip", "sort", "maximum", "minimum"}
"""Cases that run in bf16 and f16 too: the others differ only in rounding."""


def _cases() -> list[Case]:
    first, second = np.repeat(PAIRS, PAIRS.size), np.tile(PAIRS, PAIRS.size)
    found: list[Case] = []
    for dtype in ("float32", "bfloat16", "float16"):
        kind = jnp.dtype(dtype)
        rows, pair = ROWS.astype(kind), (first.astype(kind), second.astype(kind))
        one = {name: (with_gradient(function), rows) for name, function in OF_ROWS.items()}
        one |= {name: (function, rows) for name, function in WITHOUT_GRADIENT.items()}
        one |= {name: (with_gradient(function), *pair) for name, function in OF_PAIRS.items()}
        short = dtype != "float32"
        found += [case(f"{name}_{dtype}", *program) for name, program in one.items() if not short or name in SHORT_TOO]
    return found


CASES = _cases()

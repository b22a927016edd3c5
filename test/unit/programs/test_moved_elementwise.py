"""Elementwise work that passes move past reshapes, pads and gathers, in odd sizes: compiled code against JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import xhlo

Array = np.ndarray[Any, Any]

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(6, 10, 21)).astype(np.float32), RNG.normal(size=(6, 10, 21)).astype(np.float32)
ROWS = np.array([5, 0, -1, 3, 3, 5], np.int32)
FEW = np.array([2, -4, 0], np.int32)


def _repeated(x: Any, y: Any) -> Any:
    return jnp.repeat(x[:, :2], 5, 1) * y - jnp.tile(x[:3], (2, 1, 1))


def _normalized_groups(x: Any, y: Any) -> Any:
    groups = x.reshape(6, 2, 5, 21)
    groups = groups - groups.mean((2, 3), keepdims=True)
    return groups.reshape(x.shape) * y[0, :, :1] + y[0, :, 1:2]


def _windows_of_joined(x: Any, y: Any) -> Any:
    joined = (x[:, :, None] - y[:, None]).reshape(6, 100, 21) ** 2
    moved = jnp.pad(joined[1:5:2, :, 3:], ((1, 0), (0, 0), (0, 2)), constant_values=2)
    return jnp.flip(jnp.transpose(moved, (2, 0, 1)), (0, 2)).max(1) + joined.sum((0, 2))[:20, None]


def _joined_and_spread(x: Any, y: Any) -> Any:
    flat = (x[:, :, None] * y[:, :, :1, None]).reshape(6, 210)
    return jax.nn.softmax(flat[:, None] + jnp.ones((6, 3, 210), x.dtype), -1)


@pytest.mark.parametrize(
    "function",
    [
        _repeated,
        _normalized_groups,
        _windows_of_joined,
        _joined_and_spread,
        lambda x, y: jnp.exp(jnp.tile(x, (1, 2, 3))) / jnp.tile(2 + y * y, (1, 2, 3)),
        lambda x, y: jnp.pad(x * y + 1, ((0, 0), (1, 2), (0, 0)), constant_values=3),
        lambda x, y: jnp.pad(jnp.exp(x) - y, ((2, 0), (0, 0), (1, 1))).sum((0, 1)),
        lambda x, y: jnp.pad(jnp.flip(x, 2), ((0, 0), (0, 0), (0, 5))).max(1) - y[:, 0, :1],
        lambda x, y: (x * y)[ROWS] - jnp.abs(x)[FEW][:1],
        lambda x, y: ((x + y)[ROWS] * y[:, :1])[FEW],
        lambda x, y: jnp.take(jnp.take(x, np.array([9, 1, 4]), axis=1), np.array([1, 1]), axis=1) + y[0, 0],
        jax.grad(lambda x, y: ((x[:, 1:] - x[:, :-1]) ** 2 * y[:, 1:]).sum()),
    ],
)
def test_same_values(function: Callable[[Any, Any], Any]) -> None:
    lowered = jax.jit(function).lower(X, Y)
    ours = xhlo.compile(lowered)(X, Y)
    np.testing.assert_allclose(ours, lowered.compile()(X, Y), rtol=2e-5, atol=2e-5)

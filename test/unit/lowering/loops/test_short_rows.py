"""Rows of few elements, as of points: vectors run across rows, also where results replace operands."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cpu_programs import on_threads
from hlo_programs import Program

jax = pytest.importorskip("jax")
jnp, lax = jax.numpy, jax.lax


def unit(x: Any) -> Any:
    return x / jnp.sqrt((x * x).sum(-1, keepdims=True) + 1)


def softmax(x: Any) -> Any:
    return jax.nn.softmax(x, -1) + 0.1 * x


def integers(x: Any) -> Any:
    k = (8 * x).astype(jnp.int32)
    return (k - k.max(-1, keepdims=True) % 5).astype(jnp.float32) / 16


def forces(x: Any) -> Any:
    """Between all points: rows of (i, j) read the points i and j."""
    apart = x[..., :, None, :] - x[..., None, :, :]
    square = (apart * apart).sum(-1, keepdims=True) + 1
    return (apart / square).sum(-2)


@pytest.mark.long(6)
@pytest.mark.parametrize("shape", [(5, 3), (70, 3), (3, 21, 2), (300, 2)])
def test_pairs(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(1).standard_normal(shape, np.float32)
    text = jax.jit(forces).lower(x).as_text()
    np.testing.assert_allclose(on_threads(text, x)[0], Program(text).results(x)[0], rtol=1e-4, atol=1e-4)


@pytest.mark.long(16)
@pytest.mark.parametrize("step", [unit, softmax, integers])
@pytest.mark.parametrize("shape", [(5, 3), (700, 3), (3, 211, 2), (1000, 16), (300, 17)])
def test_steps_of_a_loop(step: Any, shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(1).standard_normal(shape, np.float32)
    text = jax.jit(lambda x: lax.fori_loop(0, 3, lambda _, x: step(x), x)).lower(x).as_text()
    np.testing.assert_allclose(on_threads(text, x)[0], Program(text).results(x)[0], rtol=1e-5, atol=1e-6)

"""Stencils over padded arrays, whose borders and inside are loops of their own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cpu_programs import on_threads
from hlo_programs import Program

jax = pytest.importorskip("jax")
jnp = jax.numpy


def laplacian(x: Any) -> Any:
    p = jnp.pad(x, 1)
    return p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] - 4 * x


def wide(x: Any) -> Any:
    p = jnp.pad(x, ((0, 0), (7, 5)), constant_values=2)
    return p[:, :-12] * p[:, 12:] + x


def gradient(x: Any) -> Any:
    return jax.grad(lambda x: jnp.sum(jnp.diff(x, axis=1) ** 2) + jnp.sum(jnp.diff(x, axis=0)[:, 3:] ** 3))(x)


def interior(x: Any) -> Any:
    """Holes between the elements, which no border explains."""
    return jax.lax.pad(x[:, :60], jnp.float32(1), [(0, 0, 0), (2, 1, 1)]) + x[:, :1]


@pytest.mark.long(5)
@pytest.mark.parametrize("stencil", [laplacian, wide, gradient, interior])
@pytest.mark.parametrize("shape", [(3, 64), (5, 200), (1, 5000), (130, 131)])
def test_stencil(stencil: Any, shape: tuple[int, int]) -> None:
    x = np.random.default_rng(2).standard_normal(shape, np.float32)
    text = jax.jit(stencil).lower(x).as_text()
    np.testing.assert_allclose(on_threads(text, x)[0], Program(text).results(x)[0], rtol=1e-5, atol=1e-6)

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


@pytest.mark.parametrize("element", ["i8", "i32"])
@pytest.mark.parametrize("below", [20, 100, 298])
def test_chosen_by_number(element: str, below: int) -> None:
    """A padded neighbour where the element's number, which may begin again after 127, is below another."""
    x = np.random.default_rng(8).standard_normal(300, dtype=np.float32)
    limit = np.array(below).astype("i1" if element == "i8" else "i4")
    text = f"""func.func @main(%x: tensor<300xf32>) -> tensor<300xf32> {{
      %zero = hlo.constant dense<0.0> : tensor<f32>
      %padded = hlo.pad %x, %zero, low = [-1], high = [1], interior = [0] : (tensor<300xf32>, tensor<f32>) -> tensor<300xf32>
      %number = hlo.iota dim = 0 : tensor<300x{element}>
      %limit = hlo.constant dense<{limit}> : tensor<300x{element}>
      %chosen = hlo.compare LT, %number, %limit : (tensor<300x{element}>, tensor<300x{element}>) -> tensor<300xi1>
      %result = hlo.select %chosen, %padded, %x : tensor<300xi1>, tensor<300xf32>
      func.return %result : tensor<300xf32>
    }}"""
    (got,) = on_threads(text, x)
    following = np.append(x[1:], np.float32(0))
    assert got.tobytes() == np.where(np.arange(300).astype(limit.dtype) < limit, following, x).tobytes()

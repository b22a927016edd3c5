"""The places of the greatest of few elements that take much work, which vectors across rows compute."""

from __future__ import annotations

import numpy as np
import pytest

from cpu_programs import on_threads
from hlo_programs import Program

jax = pytest.importorskip("jax")
jnp = jax.numpy


@pytest.mark.long(8)
@pytest.mark.parametrize("shape", [(70, 3), (70, 8), (5, 30, 16), (300, 32), (40, 33)])
def test_categorical(shape: tuple[int, ...]) -> None:
    key, x = np.array([3, 5], np.uint32), np.random.default_rng(1).standard_normal(shape, np.float32)
    text = jax.jit(jax.random.categorical).lower(key, x).as_text()
    np.testing.assert_array_equal(on_threads(text, key, x)[0], Program(text).results(key, x)[0])


def test_equal_and_missing_numbers() -> None:
    """The first of equal elements is chosen, and NaN before all others."""
    x = np.tile(np.array([0, 2, 2, 1] * 4, np.float32), (64, 1))
    x[5, 7] = x[5, 9] = np.nan
    text = jax.jit(lambda x: jnp.argmax(jnp.sin(jnp.cos(x)) * jnp.exp(jnp.tanh(x)), 1)).lower(x).as_text()
    np.testing.assert_array_equal(on_threads(text, x)[0], Program(text).results(x)[0])
    assert on_threads(text, x)[0][5] == 7

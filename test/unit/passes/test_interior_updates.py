"""Updates of the inside of an array, combined with what is there, in place where nothing reads the old values later."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xhlo
from cpu_programs import on_threads
from hlo_programs import Program

jax = pytest.importorskip("jax")
jnp, lax = jax.numpy, jax.lax


def inside(x: Any) -> Any:
    """Reads the inside where it is written."""
    return x.at[1:-1, 1:-1].add(0.5 * x[1:-1, 1:-1])


def neighbours(x: Any) -> Any:
    """Reads what another part of the result is written over."""
    return x.at[1:-1, 1:-1].add(x[2:, 1:-1] - x[:-2, 1:-1])


def column(x: Any) -> Any:
    return x.at[:, :-1].multiply(x[:, 1:])


def old_and_new(x: Any) -> Any:
    y = x.at[1:].max(x[:-1])
    return y - x


def set_to_itself(x: Any) -> Any:
    return x.at[1:-1].set(2 * x[1:-1]).at[3, 4].add(1)


@pytest.mark.long(7)
@pytest.mark.parametrize("step", [inside, neighbours, column, old_and_new, set_to_itself])
@pytest.mark.parametrize("shape", [(7, 9), (130, 257)])
def test_steps_of_a_loop(step: Callable[[Any], Any], shape: tuple[int, int]) -> None:
    x = np.random.default_rng(3).standard_normal(shape, np.float32)
    text = jax.jit(lambda x: lax.fori_loop(0, 3, lambda _, x: 0.5 * step(x), x)).lower(x).as_text()
    np.testing.assert_allclose(on_threads(text, x)[0], Program(text).results(x)[0], rtol=1e-5, atol=1e-6)


def test_a_loop_updates_its_state_in_place() -> None:
    """The arena of a loop over a field has no second field."""
    x = np.zeros((64, 64), np.float32)
    text = jax.jit(lambda x: lax.fori_loop(0, 9, lambda _, x: inside(x), x)).lower(x).as_text()
    assert xhlo.compile(text).facts.arena_bytes < x.nbytes

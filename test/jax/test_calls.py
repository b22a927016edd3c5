"""A call of a jitted function costs what it must: machine code answers all that jaxlib asks about it."""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

pytest.importorskip("jax", reason="JAX is not installed")

import jax
import jax.numpy as jnp
import numpy as np

from xhlo.frontends.jax import entries
from xhlo.frontends.jax.native_calls import loaded

XHLO = jax.devices("xhlo")[0]


@contextmanager
def counted() -> Iterator[collections.Counter[str]]:
    """The functions of the plugin's table that Python serves meanwhile."""
    counts: collections.Counter[str] = collections.Counter()

    def dispatch(number: int, address: int) -> int:
        counts[entries.FUNCTIONS[number]] += 1
        return entries.dispatch(number, address)

    loaded().variable("dispatcher").value = id(dispatch)
    try:
        yield counts
    finally:
        loaded().variable("dispatcher").value = id(entries.dispatch)


HOST = np.arange(4, dtype=np.float32)
X = jax.device_put(HOST, XHLO)
STEP = jax.jit(lambda x: x * 2 + 1)
TWO = jax.jit(lambda x, y: {"sum": x + y, "both": (x, y * 2)})
DONATED = jax.jit(lambda x: x + 1, donate_argnums=0)

CALLS: dict[str, Callable[[], Any]] = {
    "device array": lambda: STEP(X),
    "NumPy": lambda: STEP(HOST),
    "several results": lambda: TWO(X, X),
    "donated": lambda: DONATED(DONATED(X + 0)),
    "block": lambda: STEP(X).block_until_ready(),
    "to NumPy": lambda: np.asarray(STEP(X)),
    "from NumPy": lambda: jax.device_put(HOST, XHLO),
    "eager": lambda: jnp.sin(X) + X[0],
}


@pytest.mark.parametrize("name", CALLS)
def test_calls_do_not_enter_python(name: str) -> None:
    with jax.default_device(XHLO):
        CALLS[name]()
        CALLS[name]()
        with counted() as counts:
            CALLS[name]()
    assert not counts

"""JAX on XLA:CPU, with arguments that are on the device before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from . import functions
from .rows import Arguments, Row

SYSTEMS = ("JAX",)
VERSIONS = {"JAX": jax.__version__}


def prepare(row: Row, system: str, arguments: Arguments) -> Callable[[], Any] | None:
    there = jax.device_put(arguments)
    jitted = jax.jit(getattr(functions, row.name))
    return lambda: jax.block_until_ready(jitted(*there))


def expected(row: Row) -> list[np.ndarray]:
    """The results in float64: floats and complex numbers widened before anything is computed."""

    def widened(x: Any) -> Any:
        x = np.asarray(x)
        if x.dtype.kind == "c":
            return x.astype(np.complex128)
        return x if x.dtype.kind in "iu" else x.astype(np.float64)

    with jax.enable_x64(True):
        results = jax.jit(getattr(functions, row.name))(*jax.tree.map(widened, row.arguments()))
        return [np.asarray(leaf) for leaf in jax.tree.leaves(results)]

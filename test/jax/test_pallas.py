"""Pallas kernels: interpreted they are programs like others; other kinds are refused in words."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas as pl


def sums_of_products(x, y, out):
    """out[i, j] = sum over k of x[i, k] y[k, j], a block of k for each step of the grid's last dimension."""

    @pl.when(pl.program_id(2) == 0)
    def _():
        out[...] = jnp.zeros_like(out)

    out[...] += x[...] @ y[...]


def product(x, y, **options):
    m, k, n = 8, 4, 8
    return pl.pallas_call(
        sums_of_products,
        out_shape=jax.ShapeDtypeStruct((x.shape[0], y.shape[1]), x.dtype),
        grid=(x.shape[0] // m, y.shape[1] // n, x.shape[1] // k),
        in_specs=[pl.BlockSpec((m, k), lambda i, j, l: (i, l)), pl.BlockSpec((k, n), lambda i, j, l: (l, j))],
        out_specs=pl.BlockSpec((m, n), lambda i, j, l: (i, j)),
        **options,
    )(x, y)


def test_interpreted() -> None:
    rng = np.random.default_rng(0)
    x, y = (rng.integers(-4, 5, shape).astype(np.float32) for shape in ((16, 12), (12, 24)))
    found = jax.jit(lambda x, y: product(x, y, interpret=True))(jnp.asarray(x), jnp.asarray(y))
    assert next(iter(found.devices())).platform == "xhlo"
    np.testing.assert_array_equal(found, x @ y)


def test_machine_code_is_refused() -> None:
    x = jnp.ones((8, 8))
    with pytest.raises(NotImplementedError, match="pass interpret=True to pallas_call"):
        jax.jit(product)(x, x)


def test_programs_exported_for_cpu() -> None:
    from jax import export

    import xhlo

    shape = jax.ShapeDtypeStruct((2, 3), jnp.float32)
    unchecked = export.DisabledSafetyCheck.platform()
    exported = export.export(jax.jit(jnp.tanh), platforms=["cpu"], disabled_checks=[unchecked])(shape)
    expected = np.tanh(np.ones((2, 3), np.float32))
    np.testing.assert_allclose(exported.call(jnp.ones((2, 3))), expected, rtol=1e-6)
    np.testing.assert_allclose(xhlo.compile(exported.mlir_module())(np.ones((2, 3), np.float32)), expected, rtol=1e-6)

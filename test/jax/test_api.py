"""jit's arguments, ahead-of-time compilation, donation, arrays and errors, as programs encounter them."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

pytest.importorskip("jax", reason="JAX is not installed")

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import sparse
from jax.experimental.ode import odeint
from jax.experimental.sparse import linalg as sparse_linalg

XHLO, CPU = jax.devices("xhlo")[0], jax.devices("cpu")[0]


def put(*values: Any) -> Any:
    placed = [jax.device_put(value, XHLO) for value in values]
    return placed if len(placed) != 1 else placed[0]


def test_the_default_device_is_ours() -> None:
    assert jax.devices()[0].platform == jax.default_backend() == "xhlo"
    assert len(jax.devices("xhlo")) == len(jax.devices("cpu")) == 8
    assert jnp.ones(3).devices() == {XHLO}


def test_ahead_of_time() -> None:
    function = jax.jit(lambda x, n: jnp.tile(x, n) * 2, static_argnums=1)
    traced = function.trace(jax.ShapeDtypeStruct((3,), jnp.float32), 2)
    lowered = traced.lower()
    compiled = lowered.compile()
    np.testing.assert_array_equal(compiled(put(np.ones(3, np.float32))), np.full(6, 2, np.float32))
    assert "stablehlo.multiply" in lowered.as_text()
    assert compiled.as_text() and compiled.cost_analysis() is not None and compiled.memory_analysis() is not None
    assert compiled.in_tree.num_leaves == 1 and compiled.out_info.shape == (6,)
    with pytest.raises(TypeError):
        compiled(put(np.ones(4, np.float32)))


def test_static_and_keyword_arguments() -> None:
    @partial(jax.jit, static_argnames=("mode", "times"))
    def function(x: Any, *, scale: Any, mode: str = "add", times: int = 1) -> Any:
        for _ in range(times):
            x = x + scale if mode == "add" else x * scale
        return x

    x = put(np.arange(3.0, dtype=np.float32))
    np.testing.assert_array_equal(function(x, scale=2.0), [2, 3, 4])
    np.testing.assert_array_equal(function(x, scale=2.0, mode="multiply", times=3), [0, 8, 16])


def test_donation() -> None:
    function = jax.jit(lambda x, y: (x + 1, y * 2), donate_argnums=0)
    x, y = put(np.ones(64, np.float32), np.ones(64, np.float32))
    first, second = function(x, y)
    assert x.is_deleted() and not y.is_deleted()
    np.testing.assert_array_equal(first, np.full(64, 2))
    np.testing.assert_array_equal(second, np.full(64, 2))
    with pytest.raises(RuntimeError, match="deleted"):
        np.asarray(x)


def test_donation_in_a_training_loop() -> None:
    @partial(jax.jit, donate_argnums=(0, 1))
    def step(params: Any, momentum: Any, x: Any) -> Any:
        g = jax.grad(lambda p: jnp.mean((x @ p) ** 2))(params)
        momentum = jax.tree.map(lambda m, g: 0.9 * m + g, momentum, g)
        return params - 0.1 * momentum, momentum

    x = np.random.default_rng(0).standard_normal((8, 4)).astype(np.float32)
    ends = []
    for device in (XHLO, CPU):
        state = [jax.device_put(np.ones(4, np.float32), device), jax.device_put(np.zeros(4, np.float32), device)]
        for _ in range(20):
            state = step(*state, jax.device_put(x, device))
        ends.append(np.asarray(state[0]))
    np.testing.assert_allclose(*ends, rtol=1e-5, atol=1e-6)


def test_the_same_array_donated_and_read() -> None:
    """XLA refuses that; xhlo makes a copy."""
    x = put(np.ones(8, np.float32))
    both = jax.jit(lambda a, b: (a + b, a * b * 3), donate_argnums=0)(x, x)
    np.testing.assert_array_equal(both, [[2] * 8, [3] * 8])


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint32", "float16", "bfloat16", "float32", "complex64", "int4", "uint4", "float8_e5m2"]
)
def test_arrays_there_and_back(dtype: str) -> None:
    value = np.arange(12).reshape(3, 4).astype(jnp.dtype(dtype))
    array = put(value)
    np.testing.assert_array_equal(np.asarray(array), value)
    np.testing.assert_array_equal(np.asarray(jax.device_put(array, CPU)), value)
    np.testing.assert_array_equal(np.asarray(jax.device_put(jax.device_put(value, CPU), XHLO)), value)
    np.testing.assert_array_equal(np.asarray(jax.device_put(array, jax.devices("xhlo")[3])), value)


def test_array_methods() -> None:
    x = jnp.arange(12.0).reshape(3, 4)
    assert float(x[1, 2]) == 6 and int(x.sum()) == 66 and bool((x >= 0).all()) and x.tolist()[0] == [0, 1, 2, 3]
    assert len(x) == 3 and [float(r[0]) for r in x] == [0, 4, 8] and x.item(5) == 5
    assert "[[ 0." in repr(x) and f"{x[0, 1]:.1f}" == "1.0" and x.nbytes == 48
    assert range(10)[jnp.int32(3)] == 3 and complex(jnp.complex64(1j)) == 1j
    y = x.copy()
    x.delete()
    assert x.is_deleted() and float(y.sum()) == 66


def test_an_argument_changed_after_the_call() -> None:
    """The program must see the value at the time of the call."""
    value = np.ones(1000, np.float32)
    array = jnp.array(value)
    result = jax.jit(lambda x: x * 2)(value)
    value[:] = 7
    assert float(array.sum()) == 1000 and float(result.sum()) == 2000


def test_weak_types_and_scalars() -> None:
    function = jax.jit(lambda x, y: x * y)
    for x, y, dtype in (
        (2, 3, "int32"),
        (2.0, 3, "float32"),
        (np.int8(2), 3, "int8"),
        (True, 2.5, "float32"),
        (1j, 2, "complex64"),
    ):
        assert function(x, y).dtype == dtype and function(x, y) == x * y


def test_x64_inside_and_outside() -> None:
    with jax.enable_x64(True):
        assert jax.jit(lambda x: x / 3)(1.0).dtype == np.float64 and float(jnp.float64(1) / 3) == 1 / 3
        assert jnp.arange(3).dtype == np.int64 and int(jnp.int64(2) ** 40) == 2**40
    assert jax.jit(lambda x: x / 3)(1.0).dtype == np.float32


def test_results_are_used_before_they_are_ready() -> None:
    x = jnp.ones((64, 64))
    for _ in range(30):
        x = jnp.tanh(x @ x / 64)
    assert np.isfinite(np.asarray(x)).all()


@pytest.mark.long
def test_sparse_matrices() -> None:
    dense = np.array([[0, 2, 0, 1], [3, 0, 0, 0], [0, 0, 4, 0]], np.float32)
    right = np.arange(8, dtype=np.float32).reshape(4, 2)

    def function(dense: Any, right: Any) -> Any:
        matrix = sparse.BCOO.fromdense(dense, nse=5)
        return (
            matrix @ right,
            matrix.todense(),
            matrix.T.todense(),
            matrix.sum(1).todense(),
            sparse.sparsify(jnp.sin)(matrix).todense(),
        )

    ours, theirs = (jax.jit(function)(jax.device_put(dense, d), jax.device_put(right, d)) for d in (XHLO, CPU))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6), ours, theirs)


@pytest.mark.long
def test_sparse_systems() -> None:
    """A product with compressed rows is a custom call; a system is solved by a callback of SciPy."""
    dense = np.eye(5, dtype=np.float32) * 3 + np.diag(np.ones(4, np.float32), 1)
    right = np.arange(5, dtype=np.float32)
    matrix = sparse.BCSR.fromdense(put(dense))
    np.testing.assert_allclose(jax.jit(lambda m, x: m @ x)(matrix, put(right)), dense @ right)
    solved = jax.jit(sparse_linalg.spsolve)(matrix.data, matrix.indices, matrix.indptr, put(right))
    np.testing.assert_allclose(solved, np.linalg.solve(dense, right), rtol=1e-5)


@pytest.mark.long
def test_ordinary_differential_equation() -> None:
    def function(y: Any) -> Any:
        return jax.value_and_grad(
            lambda y: odeint(lambda y, t: jnp.stack([y[1], -y[0]]), y, jnp.linspace(0, 2.0, 5))[-1].sum()
        )(y)

    y = np.array([1, 0.5], np.float32)
    ours, theirs = (jax.jit(function)(jax.device_put(y, d)) for d in (XHLO, CPU))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5), ours, theirs)


def test_a_program_that_cannot_be_compiled_is_an_error_that_says_where() -> None:
    def unknown(x: Any) -> Any:
        return jax.ffi.ffi_call("nobody_knows_this", jax.ShapeDtypeStruct(x.shape, x.dtype))(x)

    with pytest.raises(jax.errors.JaxRuntimeError, match="nobody_knows_this") as caught:
        jax.jit(unknown)(put(np.ones(3, np.float32)))
    assert "test_api.py:" in str(caught.value) and "error:" in str(caught.value)
    np.testing.assert_array_equal(jax.jit(lambda x: x + 1)(put(np.ones(3, np.float32))), [2, 2, 2])


def test_exported_programs() -> None:
    x = np.arange(4, dtype=np.float32)
    exported = jax.export.export(jax.jit(lambda x: jnp.sin(x) + 1), platforms=["xhlo"])(x)
    np.testing.assert_allclose(exported.call(put(x)), np.sin(x) + 1, rtol=1e-6)


def test_many_devices_one_program_each() -> None:
    function = jax.jit(lambda x: x * 2 + 1)
    for i, device in enumerate(jax.devices("xhlo")):
        result = function(jax.device_put(np.full(3, i, np.float32), device))
        assert result.devices() == {device}
        np.testing.assert_array_equal(result, np.full(3, 2 * i + 1))


def test_profiler_and_logging_do_not_fail(tmp_path: Any) -> None:
    with jax.profiler.trace(str(tmp_path)), jax.profiler.TraceAnnotation("here"):
        jax.jit(lambda x: jnp.cos(x).sum())(put(np.ones(5, np.float32))).block_until_ready()


def test_live_arrays_and_memory() -> None:
    x = put(np.ones(100, np.float32))
    assert any(a is x for a in jax.live_arrays("xhlo"))
    assert XHLO.memory_stats() is None or isinstance(XHLO.memory_stats(), dict)
    assert XHLO.default_memory().kind == x.sharding.memory_kind


def test_scan_over_many_steps() -> None:
    ours = jax.jit(lambda x: lax.scan(lambda c, _: (c * 0.999 + 0.001, c.sum()), x, None, length=5000))(
        put(np.ones(4, np.float32))
    )
    assert ours[1].shape == (5000,) and np.allclose(ours[0], 1)

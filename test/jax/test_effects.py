"""Callbacks, debug prints, checkify and the order of effects: the same on xhlo as on cpu."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

pytest.importorskip("jax", reason="JAX is not installed")

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import checkify, io_callback

from platforms import only_on

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def on_both(function: Callable[..., Any], *arguments: Any) -> list[Any]:
    """The results of the jitted function on each platform."""
    results: list[Any] = []
    for platform in ("xhlo", "cpu"):
        with only_on(platform):
            given = [jax.device_put(argument, jax.devices(platform)[0]) for argument in arguments]
            results.append(jax.block_until_ready(jax.jit(function)(*given)))
            jax.effects_barrier()
    return results


def same(function: Callable[..., Any], *arguments: Any) -> Any:
    ours, theirs = on_both(function, *arguments)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6), ours, theirs)
    return ours


def host_sine(x: Any) -> Any:
    return np.sin(np.asarray(x))


def like(x: Any) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(x.shape, x.dtype)


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint16", "int32", "float16", "bfloat16", "float32", "complex64", "float8_e4m3fn"]
)
def test_pure_callback_of_each_type(dtype: str) -> None:
    x = np.arange(6).reshape(2, 3).astype(jnp.dtype(dtype))
    ours, theirs = on_both(lambda x: jax.pure_callback(lambda x: np.asarray(x)[::-1], like(x), x), x)
    np.testing.assert_array_equal(np.asarray(ours), np.asarray(theirs))
    assert ours.dtype == theirs.dtype


def test_pure_callback_of_several_arrays() -> None:
    def function(x: Any) -> Any:
        shapes = {"sum": jax.ShapeDtypeStruct((), x.dtype), "parts": [like(x), jax.ShapeDtypeStruct((4,), jnp.int32)]}
        return jax.pure_callback(
            lambda x, s: {
                "sum": np.sum(np.asarray(x)) * np.asarray(s),
                "parts": [np.asarray(x) * 2, np.arange(4, dtype=np.int32)],
            },
            shapes,
            x,
            3.0,
        )

    same(function, X)


@pytest.mark.parametrize("method", ["sequential", "expand_dims", "broadcast_all"])
def test_pure_callback_vmapped(method: str) -> None:
    same(jax.vmap(lambda x: jax.pure_callback(host_sine, like(x), x, vmap_method=method) * 2), X)


def test_pure_callback_in_control_flow() -> None:
    def function(x: Any) -> Any:
        def body(carry: Any, row: Any) -> Any:
            row = lax.cond(row.sum() > 4, lambda r: jax.pure_callback(host_sine, like(r), r), lambda r: -r, row)
            return carry + row, row

        return lax.scan(body, jnp.zeros(3), x)

    same(function, X)


def test_pure_callback_with_derivative() -> None:
    @jax.custom_jvp
    def sine(x: Any) -> Any:
        return jax.pure_callback(host_sine, like(x), x)

    sine.defjvp(lambda p, t: (sine(*p), jax.pure_callback(lambda x: np.cos(np.asarray(x)), like(p[0]), *p) * t[0]))
    same(jax.grad(lambda x: sine(x).sum()), X)


def test_pure_callback_of_nothing() -> None:
    same(lambda: jax.pure_callback(lambda: np.float32(7), jax.ShapeDtypeStruct((), jnp.float32)) + 1)


@pytest.mark.parametrize("ordered", [False, True])
def test_io_callback(ordered: bool) -> None:
    seen: list[float] = []

    def note(x: Any) -> Any:
        seen.append(float(x))
        return np.float32(len(seen))

    def function(x: Any) -> Any:
        first = io_callback(note, jax.ShapeDtypeStruct((), jnp.float32), x[0, 0], ordered=ordered)
        second = io_callback(note, jax.ShapeDtypeStruct((), jnp.float32), x[1, 2] + first * 0, ordered=ordered)
        return first, second

    ours, theirs = on_both(function, X)
    assert [float(v) for v in ours] == [1, 2] and [float(v) for v in theirs] == [3, 4]
    assert seen == [0, 5, 0, 5]


def test_ordered_callbacks_in_a_loop() -> None:
    seen: list[int] = []
    on_both(
        lambda n: lax.fori_loop(
            0, n, lambda i, c: (io_callback(lambda i: seen.append(int(i)), None, i, ordered=True), c)[1], 0
        ),
        np.int32(5),
    )
    assert seen == [0, 1, 2, 3, 4] * 2


def test_debug_print(capfd: pytest.CaptureFixture[str]) -> None:
    def function(x: Any) -> Any:
        jax.debug.print("first {} and {y}", x[0], y=x[1, 2], ordered=True)
        jax.debug.print("second {x:.2f}", x=x[0, 1], ordered=True)
        return x * 2

    capfd.readouterr()
    ours, theirs = on_both(function, X)
    np.testing.assert_array_equal(ours, theirs)
    lines = capfd.readouterr().out.splitlines()
    assert lines == ["first [0. 1. 2.] and 5.0", "second 1.00"] * 2


def test_debug_print_vmapped_and_differentiated(capfd: pytest.CaptureFixture[str]) -> None:
    def function(x: Any) -> Any:
        jax.debug.print("x = {}", x)
        return jnp.sin(x)

    capfd.readouterr()
    on_both(jax.vmap(jax.grad(function)), X[0])
    assert sorted(capfd.readouterr().out.splitlines()) == sorted(["x = 0.0", "x = 1.0", "x = 2.0"] * 2)


def test_debug_callback() -> None:
    seen: list[tuple[Any, ...]] = []
    on_both(lambda x: (jax.debug.callback(lambda *a, **k: seen.append((a, k)), x[0, 1], n=x.sum()), x)[1], X)
    assert [(float(a[0]), float(k["n"])) for a, k in seen] == [(1.0, 15.0)] * 2


def test_an_error_in_a_callback_is_raised_and_the_platform_goes_on() -> None:
    def broken(x: Any) -> Any:
        raise ValueError("no sine today")

    with jax.default_device(jax.devices("xhlo")[0]):
        with pytest.raises(jax.errors.JaxRuntimeError, match="no sine today"):
            jax.block_until_ready(jax.jit(lambda x: jax.pure_callback(broken, like(x), x))(jnp.ones(3)))
        np.testing.assert_array_equal(jax.jit(lambda x: x + 1)(jnp.ones(3)), 2)


def test_a_callback_of_the_wrong_shape_is_an_error() -> None:
    with jax.default_device(jax.devices("xhlo")[0]), pytest.raises(jax.errors.JaxRuntimeError, match="shape"):
        jax.block_until_ready(
            jax.jit(lambda x: jax.pure_callback(lambda x: np.ones(7, np.float32), like(x), x))(jnp.ones(3))
        )


def test_a_callback_that_computes_with_jax() -> None:
    """
    The callback computes on the same platform while the calling program runs. (JAX's default in callbacks is cpu.)
    """

    def host(x: Any) -> Any:
        with jax.default_device(jax.devices("xhlo")[0]):
            return np.asarray(jax.jit(lambda x: jnp.cumsum(x, 1))(np.asarray(x)))

    with jax.default_device(jax.devices("xhlo")[0]):
        result = jax.jit(lambda x: jax.pure_callback(host, like(x), x) + 1)(X)
    np.testing.assert_array_equal(result, np.cumsum(X, 1) + 1)


@pytest.mark.parametrize("count", [1, 2])
def test_a_callback_that_computes_with_jax_under_a_mesh(count: int) -> None:
    """Its arguments are on the platform cpu, which the mesh does not contain."""
    mesh = jax.sharding.Mesh(np.array(jax.devices("xhlo")[:count]), ("x",))
    for call in (jax.pure_callback, io_callback, partial(io_callback, ordered=True)):
        with jax.set_mesh(mesh):
            result = jax.jit(lambda x, call=call: call(lambda v: jnp.sin(v) * 2, like(x), x))(X)
            np.testing.assert_allclose(np.asarray(result), np.sin(X) * 2, rtol=1e-6)
            assert jax.sharding.get_abstract_mesh().axis_names == ("x",)


def test_checkify_user_checks() -> None:
    def function(x: Any) -> Any:
        checkify.check(jnp.all(x < 5), "too large: {}", x.max())
        return x * 2

    for limit in (1.0, 0.5):
        ours, theirs = on_both(checkify.checkify(function), X * limit)
        assert ours[0].get() == theirs[0].get()
        np.testing.assert_array_equal(ours[1], theirs[1])


def test_checkify_automatic_checks() -> None:
    errors = checkify.float_checks | checkify.index_checks | checkify.div_checks
    function = checkify.checkify(lambda x, i: jnp.log(x)[i] / x[0, 0], errors=errors)
    for i in (0, 7):
        ours, theirs = on_both(function, X - 1, np.int32(i))
        assert (
            ours[0].get() is not None and (ours[0].get() or "").split("(")[0] == (theirs[0].get() or "").split("(")[0]
        )


def test_checkify_in_a_loop() -> None:
    def function(x: Any) -> Any:
        def body(c: Any, r: Any) -> Any:
            checkify.check(r.sum() < 10, "row sums to {}", r.sum())
            return c + r, c

        return lax.scan(body, jnp.zeros(3), x)

    ours, theirs = on_both(checkify.checkify(function), X)
    assert ours[0].get() == theirs[0].get() and "row sums to 12.0" in ours[0].get()
    np.testing.assert_array_equal(ours[1][0], theirs[1][0])


def test_nan_checks_of_the_configuration() -> None:
    with jax.default_device(jax.devices("xhlo")[0]), jax.debug_nans(True), pytest.raises(FloatingPointError):
        jax.block_until_ready(jax.jit(lambda x: jnp.log(x))(-jnp.ones(3)))

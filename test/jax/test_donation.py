"""Donated arguments are updated in place: results are in their memory, and every value is right."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("jax", reason="JAX is not installed")

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from xhlo.frontends.jax.native_calls import loaded

XHLO, CPU = jax.devices("xhlo")[0], jax.devices("cpu")[0]

N, M = 96, 16


def normal(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


X, Y, V = normal(N, M), normal(N, M, seed=1), normal(M, seed=2)
ROWS = np.array([3, 7, 3, 40, 0], np.int32)
AT = np.int32(5)


def adam(p: Any, m: Any, v: Any, g: Any) -> Any:
    m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
    return p - 0.1 * m / (jnp.sqrt(v) + 1e-8), m, v


def decode(cache: Any, x: Any) -> Any:
    """Steps that write a row of a cache and attend to what it holds."""

    def step(i: Any, carry: Any) -> Any:
        cache, x = carry
        cache = lax.dynamic_update_slice(cache, x[None] * 0.5, (i, 0))
        weights = jax.nn.softmax(jnp.where(jnp.arange(N) <= i, cache @ x, -1e9))
        return cache, jnp.tanh(weights @ cache + x)

    return lax.fori_loop(0, 6, step, (cache, x))


def replay(buffer: Any, count: Any, rows: Any) -> Any:
    def add(carry: Any, row: Any) -> Any:
        buffer, count = carry
        return (buffer.at[count % N].set(row), count + 1), buffer[(count * 7) % N].sum()

    return lax.scan(add, (buffer, count), rows)


def nested(x: Any, y: Any) -> Any:
    def outer(i: Any, carry: Any) -> Any:
        x, y = carry
        x = lax.fori_loop(0, 3, lambda j, x: x.at[i * 3 + j].add(y[j]), x)
        return x, y.at[i].set(x[i] - y[i])

    return lax.fori_loop(0, 4, outer, (x, y))


def maybe(x: Any, i: Any) -> Any:
    return lax.cond(i > 3, lambda x: x.at[i].set(1.0), lambda x: x, x)


def maybe_in_a_loop(x: Any, y: Any) -> Any:
    def step(i: Any, x: Any) -> Any:
        return lax.cond(x[i, 0] > 0, lambda x: x.at[i].set(y[i]), lambda x: x.at[:, 1].add(1.0), x)

    return lax.fori_loop(0, 20, step, x)


def switched(x: Any, i: Any) -> Any:
    choices = [lambda x: x.at[0].set(0.0), lambda x: x * 2, lambda x: x.at[1].add(x[2]), lambda x: jnp.flip(x, 0)]
    return lax.switch(i % 4, choices, x), i


def sweep(x: Any) -> Any:
    """Two buffers that take turns, as in a stencil."""

    def step(_: Any, carry: Any) -> Any:
        a, b = carry
        b = b.at[1:-1].set(0.5 * a[1:-1] + 0.25 * (a[:-2] + a[2:]))
        return b, a

    return lax.fori_loop(0, 5, step, (x, jnp.zeros_like(x)))[0]


def fibonacci(a: Any, b: Any) -> Any:
    return lax.fori_loop(0, 7, lambda _, c: (c[1], c[0] + c[1]), (a, b))


Case = tuple[str, Callable[..., Any], tuple[Any, ...], tuple[int, ...], int]

CASES: list[Case] = [
    # name, function, arguments, donated ones, how many results are in their memory
    ("element", lambda x, i: x.at[i, 2].set(3.0), (X, AT), (0,), 1),
    ("row", lambda x, i, r: x.at[i].set(r), (X, AT, V), (0,), 1),
    ("column", lambda x, r: x.at[:, 3].multiply(r), (X, Y[:, 0]), (0,), 1),
    ("slice", lambda x, y: x.at[4:9].set(y[4:9] * 2), (X, Y), (0,), 1),
    ("dynamic_slice", lambda x, y, i: lax.dynamic_update_slice(x, y[:4], (i, 0)), (X, Y, AT), (0,), 1),
    ("scatter_add", lambda x, rows, y: x.at[rows].add(y[:5]), (X, ROWS, Y), (0,), 1),
    ("two_updates", lambda x, i: x.at[i].set(1.0).at[i + 1].add(2.0), (X, AT), (0,), 1),
    ("update_and_read_old", lambda x, i: (x.at[i].set(1.0), x.sum()), (X, AT), (0,), 1),
    ("update_and_read_new", lambda x, i: (lambda y: (y, y[i] + y[0]))(x.at[i].set(1.0)), (X, AT), (0,), 1),
    ("both_old_and_new", lambda x, y, i: (x.at[i].set(1.0), x + y), (X, Y, AT), (0,), 1),
    ("branching_updates", lambda x, i: (x.at[i].set(1.0), x.at[i + 1].set(2.0)), (X, AT), (0,), 1),
    ("reshaped", lambda x, i: x.reshape(-1).at[i].set(1.0).reshape(N, M), (X, AT), (0,), 1),
    ("elementwise", lambda x, y: x * 2 + y, (X, Y), (0,), 1),
    ("elementwise_both", lambda x, y: (x + y, x - y), (X, Y), (0, 1), 2),
    ("adam", adam, (X, Y, np.abs(Y), X + 1), (0, 1, 2), 3),
    ("softmax", lambda x: jax.nn.softmax(x), (X,), (0,), 1),
    ("softmax_of_columns", lambda x: jax.nn.softmax(x, axis=0), (X,), (0,), 1),
    ("layer_norm", lambda x: (x - x.mean(1, keepdims=True)) / (x.std(1, keepdims=True) + 1e-3), (X,), (0,), 1),
    ("transposed", lambda x: x[:M].T * 2 + x[:M], (X[:M],), (0,), 0),
    ("reversed", lambda x: x[::-1] + 1, (X,), (0,), 0),
    ("shifted", lambda x: jnp.roll(x, 1, 0) + x, (X,), (0,), 0),
    ("own_sum", lambda x: x / x.sum(), (X,), (0,), 1),
    ("product", lambda x: x[:M] @ x[:M], (X[:M],), (0,), 0),
    ("cumulative", lambda x: jnp.cumsum(x, 0), (X,), (0,), 0),
    ("sorted", lambda x: jnp.sort(x, 0), (X,), (0,), 1),
    ("swap", lambda x, y: (y, x), (X, Y), (0, 1), 2),
    ("unchanged", lambda x, y: (x, y + 1), (X, Y), (0, 1), 2),
    ("twice", lambda x: (x, x), (X,), (0,), 1),
    ("not_donated", lambda x, i: x.at[i].set(3.0), (X, AT), (), 0),
    ("decode", decode, (X, V), (0,), 1),
    ("replay", replay, (X, np.int32(2), Y[:9]), (0, 1), 2),
    ("nested", nested, (X, Y), (0, 1), 2),
    ("maybe", maybe, (X, AT), (0,), 1),
    ("maybe_not", maybe, (X, np.int32(1)), (0,), 1),
    ("maybe_in_a_loop", maybe_in_a_loop, (X, Y), (0,), 1),
    *((f"switched_{i}", switched, (X, np.int32(i)), (0,), 1) for i in range(4)),
    ("sweep", sweep, (X,), (0,), 1),
    ("fibonacci", fibonacci, (X, Y), (0, 1), 2),
    ("vmap", jax.vmap(lambda x, i: x.at[i].set(3.0), (0, None)), (X, AT), (0,), 1),
    ("scan_of_updates", lambda x, r: lax.scan(lambda x, i: (x.at[i].add(x[0]), x[i, 0]), x, r), (X, ROWS), (0,), 1),
    ("complex", lambda x: x * (1 + 2j), (X + 1j * Y,), (0,), 0),
    ("while", lambda x: lax.while_loop(lambda x: x.sum() < 9e3, lambda x: x * 2 + 1, x), (np.abs(X),), (0,), 1),
    ("gradient", lambda x, y: x - 0.1 * jax.grad(lambda x: jnp.sum((x @ y.T) ** 2))(x), (X, Y), (0,), 1),
]


def leaves(tree: Any) -> list[Any]:
    return jax.tree.leaves(tree)


@pytest.mark.long(4)
@pytest.mark.parametrize(("name", "function", "arguments", "donated", "kept"), CASES, ids=[case[0] for case in CASES])
def test_donated(
    name: str, function: Callable[..., Any], arguments: tuple[Any, ...], donated: tuple[int, ...], kept: int
) -> None:
    """Right, also while others hold the memory, and without new memory otherwise."""
    wanted = leaves(jax.jit(function)(*(jax.device_put(np.array(each), CPU) for each in arguments)))
    step = jax.jit(function, donate_argnums=donated)
    for held in (False, True):
        given = [jax.device_put(np.array(each), XHLO) + 0 for each in arguments]
        views = [np.asarray(each) for each in given] if held else []
        before = {given[number].unsafe_buffer_pointer() for number in donated}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            results = leaves(step(*given))
        for result, right in zip(results, wanted, strict=True):
            np.testing.assert_allclose(result, right, rtol=2e-5, atol=2e-5, err_msg=name)
        for view, original in zip(views, arguments, strict=False):
            np.testing.assert_array_equal(view, original, err_msg=f"{name}: a view of an argument")
        for number, each in enumerate(given):
            assert each.is_deleted() is (number in donated)
        reused = sum(result.unsafe_buffer_pointer() in before for result in results)
        assert reused >= kept if not held else reused == 0
    gc.collect()


def test_loops_take_no_other_memory() -> None:
    """A large buffer in loops and branches: the program asks for less than a second one."""
    x = jnp.zeros((1 << 18, 8), jnp.float32)

    def step(x: Any, i: Any) -> Any:
        x = lax.fori_loop(0, 3, lambda j, x: lax.cond(j > i, lambda x: x.at[j].set(1.0), lambda x: x, x), x)
        return lax.scan(lambda x, j: (x.at[j].add(x[j + 1]), None), x, jnp.arange(4))[0]

    compiled = jax.jit(step, donate_argnums=0).lower(x, 1).compile()
    x = compiled(x, 1)
    place, allocated = x.unsafe_buffer_pointer(), loaded().variable("allocations").value
    peak = loaded().variable("in_use_peak").value
    for _ in range(3):
        x = compiled(x, 1)
    assert x.unsafe_buffer_pointer() == place
    assert loaded().variable("in_use_peak").value - peak < x.nbytes // 8
    assert loaded().variable("allocations").value - allocated < 20
    assert compiled.memory_analysis().temp_size_in_bytes < x.nbytes // 8


def test_memory_of_others_is_copied() -> None:
    """NumPy's memory, and arrays passed twice."""
    function = jax.jit(lambda x, i: x.at[i].set(3.0), donate_argnums=0)
    raw = np.zeros(5000 + 16, np.float32)
    mine = raw[(-raw.ctypes.data % 64) // 4 :][:5000]
    given = jax.device_put(mine, XHLO, may_alias=True)
    assert function(given, 1)[1] == 3 and not mine.any()
    both = jax.jit(lambda x, y: (x.at[1].set(y[0]), y.sum()), donate_argnums=0)
    x = jax.device_put(np.ones(8, np.float32), XHLO)
    first, second = both(x, x)
    assert second == 8 and first.sum() == 8


def test_not_usable() -> None:
    """JAX warns of donated arguments that no result has the memory of."""
    function = jax.jit(lambda x: x.sum(0), donate_argnums=0)
    with pytest.warns(UserWarning, match="donated buffers were not usable"):
        assert function(jax.device_put(X, XHLO)).shape == (M,)

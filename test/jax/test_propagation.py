"""How the results of operations are split when only their operands have shardings: as XLA:CPU, where Shardy decides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("jax", reason="JAX is not installed")

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from cases import Draw, integers, normal
from sharded import Sharded, check, mapped, plain

ROWS, COLUMNS, BOTH = P("a"), P(None, "a"), P("a", "b")


def one(function: Callable[..., Any], spec: P = ROWS, draw: Draw | None = None, tolerance: float = 2e-5) -> Sharded:
    """A function of one array of 8 x 16, on a mesh of 4 x 2."""
    return Sharded(plain(function), (4, 2), (spec,), (draw or normal(8, 16),), tolerance)


def two(function: Callable[..., Any], first: P, second: P, *draws: Draw) -> Sharded:
    return Sharded(plain(function), (4, 2), (first, second), draws or (normal(8, 16), normal(8, 16)))


def constrained(function: Callable[[Callable[..., Any], Any], Any], spec: P) -> Sharded:
    """A function of a constraint (by its axes) and an array."""

    def with_mesh(mesh: Mesh, x: Any) -> Any:
        return function(lambda y, *axes: lax.with_sharding_constraint(y, NamedSharding(mesh, P(*axes))), x)

    return Sharded(with_mesh, (4, 2), (spec,), (normal(8, 16),))


def matrices(function: Callable[..., Any]) -> Sharded:
    """A function of eight positive definite matrices."""
    return one(lambda x: function(x @ x.mT + 3 * jnp.eye(4)), ROWS, normal(8, 4, 4), 2e-3)


def keys(function: Callable[..., Any]) -> Sharded:
    """A function of a key, mapped over eight keys."""
    return one(jax.vmap(lambda seed: function(jax.random.key(seed))), ROWS, integers(8))


UNCONSTRAINED = P.UNCONSTRAINED
CASES = {
    # Along the split dimension
    "add": one(lambda x: x + 1, BOTH),
    "reverse": one(lambda x: x[::-1]),
    "roll": one(lambda x: jnp.roll(x, 3, 0)),
    "concatenate": one(lambda x: jnp.concatenate([x, x], 0)),
    "concatenate_others": one(lambda x: jnp.concatenate([x, x], 1)),
    "cumsum": one(lambda x: jnp.cumsum(x, 0)),
    "cumprod": one(lambda x: jnp.cumprod(x, 1), BOTH),
    "cumlogsumexp": one(lambda x: lax.cumlogsumexp(x, 0), BOTH),
    "pad": one(lambda x: jnp.pad(x, ((4, 4), (0, 0)))),
    "pad_others": one(lambda x: jnp.pad(x, ((0, 0), (1, 1)))),
    "sort": one(lambda x: jnp.sort(x, 0)),
    "sort_both": one(lambda x: jnp.sort(x, 1), BOTH),
    "sort_vector": one(jnp.sort, ROWS, normal(16)),
    "top_k": one(lambda x: lax.top_k(x, 4), BOTH),
    "top_k_of_split": one(lambda x: lax.top_k(x, 4), COLUMNS),
    "argsort": one(lambda x: jnp.argsort(x, 0)),
    "take_along_axis": one(lambda x: jnp.take_along_axis(x, jnp.argsort(x, 0), 0)),
    "slice": one(lambda x: x[2:6]),
    "slice_uneven": one(lambda x: (x[:7], x[1:], x[:, :5]), BOTH),
    "slice_strided": one(lambda x: x[::2]),
    "dynamic_slice": one(lambda x: lax.dynamic_slice(x, (1, 2), (4, 8))),
    "dynamic_slice_anywhere": Sharded(
        plain(lambda x, i: lax.dynamic_slice(x, (i[0], 0), (2, 16))), (4, 2), (BOTH, P()), (normal(8, 16), integers(1, low=0, high=6))
    ),
    "dynamic_update_slice": one(lambda x: lax.dynamic_update_slice(x, jnp.ones((2, 16)), (3, 0))),
    "split": one(lambda x: (jnp.split(x, 2, 0), jnp.split(x, 2, 1)), BOTH),
    "associative_scan": one(lambda x: lax.associative_scan(jnp.add, x)),
    "fft": one(lambda x: jnp.fft.fft(x, axis=1), COLUMNS, tolerance=2e-4),
    "fft_of_columns": one(lambda x: jnp.fft.fft(x, axis=0), BOTH, tolerance=2e-4),
    "rfft": one(lambda x: jnp.fft.rfft(x, axis=1), COLUMNS, tolerance=2e-4),
    "pool": one(lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (2, 1), (2, 1), "VALID")),
    "pool_gradient": one(
        jax.grad(lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 2), (1, 2), "VALID").sum())
    ),
    "no_elements": one(lambda x: (x[:0], x[:, :0].sum(1)), BOTH),
    # Shapes
    "transpose": one(lambda x: x.T, BOTH),
    "merge": one(lambda x: x.reshape(-1), BOTH),
    "merge_both_axes": one(lambda x: x.reshape(-1), P(("a", "b"))),
    "divide": one(lambda x: x.reshape(4, 2, 4, 4), BOTH),
    "divide_too_small": one(lambda x: x.reshape(2, 4, 16), BOTH),
    "regroup": one(lambda x: x.reshape(16, 8), BOTH),
    "tile": one(lambda x: jnp.tile(x, (2, 1))),
    "repeat": one(lambda x: jnp.repeat(x, 2, 0)),
    "stack": one(lambda x: jnp.stack([x, x]), BOTH),
    "linspace": one(lambda x: jnp.linspace(x, x + 1, 4), BOTH),
    "bits_of_half_the_width": one(lambda x: lax.bitcast_convert_type(x, jnp.uint16)),
    "bits_of_twice_the_width": one(
        lambda x: lax.bitcast_convert_type(x.reshape(8, 8, 2).astype(jnp.uint16), jnp.uint32)
    ),
    # Indices
    "set": one(lambda x: x.at[2].set(0.0)),
    "set_columns": one(lambda x: x.at[:, 2].set(5.0)),
    "add_at": one(lambda x: x.at[jnp.array([1, 3])].add(1.0)),
    "gather": one(lambda x: x[jnp.array([1, 2, 3, 0])]),
    "gather_by_split_indices": two(lambda x, i: x[i], P(None, "b"), ROWS, normal(8, 16), integers(8, low=0, high=8)),
    "one_hot": one(lambda i: jax.nn.one_hot(i, 16), ROWS, integers(8, low=0, high=16)),
    # Products
    "products": two(lambda x, w: x @ w, ROWS, P(None, "b"), normal(8, 16), normal(16, 8)),
    "product_of_conflicting": two(lambda x, w: x @ w, P("b", "a"), BOTH, normal(8, 16), normal(16, 8)),
    "layers": two(lambda x, w: jax.nn.relu(x @ w) @ w.T, ROWS, P(None, "b"), normal(8, 16), normal(16, 8)),
    "outer": one(lambda x: jnp.outer(x[:, 0], x[0]), BOTH),
    "gradient": one(jax.grad(lambda x: jnp.tanh(x @ x.T).sum()), BOTH),
    "convolution": two(
        lambda x, w: lax.conv(x, w, (1, 1), "SAME"), P(None, None, None, "a"), P("b"), normal(2, 4, 8, 8), normal(4, 4, 3, 3)
    ),
    "convolution_of_groups": two(
        lambda x, w: lax.conv_general_dilated(x, w, (1, 1), "SAME", feature_group_count=4),
        BOTH, P(), normal(8, 4, 8, 8), normal(4, 1, 3, 3),
    ),
    # Linear algebra, whose custom calls state what corresponds
    "cholesky": matrices(jnp.linalg.cholesky),
    "solve": matrices(lambda x: jnp.linalg.solve(x, x)),
    "inverse": matrices(jnp.linalg.inv),
    "qr": matrices(lambda x: jnp.abs(jnp.linalg.qr(x)[1])),
    "eigenvalues": matrices(jnp.linalg.eigvalsh),
    "determinant": matrices(jnp.linalg.det),
    # Random numbers
    "keys": keys(jax.random.key_data),
    "keys_split": keys(lambda key: jax.random.key_data(jax.random.split(key))),
    "normals": keys(lambda key: jax.random.normal(key, (3,))),
    # Control flow
    "scan": one(lambda x: lax.scan(lambda c, r: (c + r, c * r), jnp.zeros(16), x), COLUMNS),
    "scan_over_split": one(lambda x: lax.scan(lambda c, r: (c + r, c.sum()), jnp.zeros(16), x)),
    "while": one(
        lambda x: lax.while_loop(lambda s: s[1] < 3, lambda s: (s[0] * 2, s[1] + 1, s[0].sum(1)), (x, 0, jnp.zeros(8))), BOTH
    ),
    "cond": one(lambda x: lax.cond(x.sum() > 0, lambda x: (x.T, x[1]), lambda x: (x.T + 1, x[0]), x), BOTH),
    # Several operands
    "first_dimension_wins": two(lambda x, y: x + y, ROWS, COLUMNS),
    "axes_that_conflict": two(lambda x, y: x + y, ROWS, P("b")),
    "axes_that_combine": two(lambda x, y: x + y, ROWS, P(None, "b")),
    "constants_are_apart": one(lambda x: (x + jnp.ones((8, 16)), jnp.ones((8, 16)).T * 2), BOTH),
    # Constraints
    "constraint": constrained(lambda at, x: jnp.sin(at(jnp.cos(x), None, "b")) * 2, ROWS),
    "constraint_of_a_constant": constrained(lambda at, x: at(jnp.ones((8, 16)), "a", "b") @ x.T + 1, P()),
    "unconstrained": constrained(lambda at, x: at(x * 2, UNCONSTRAINED, "b"), ROWS),
    "all_unconstrained": constrained(lambda at, x: at(x.T * 2, UNCONSTRAINED, UNCONSTRAINED), BOTH),
    "partly_manual": Sharded(
        mapped(lambda x: jnp.sin(x) * lax.psum(x.sum(), "a"), P("a"), P("a"), axis_names={"a"}), (4, 2), (BOTH,), (normal(8, 16),)
    ),
    "axis_of_size_1": Sharded(plain(lambda x: x[None] + 1), (1, 8), (P("a", "b"),), (normal(8, 16),)),
    "axes_of_size_1": Sharded(plain(lambda x: (x @ x.T, x.sum(0))), (1, 8), (P(("a", "b")),), (normal(8, 16),)),
}  # fmt: skip


@pytest.mark.long(20)
@pytest.mark.sample(2)
@pytest.mark.parametrize("name", CASES)
def test_results_are_split_as_by_xla(name: str) -> None:
    check(CASES[name])


def test_arguments_without_a_sharding_are_split_too() -> None:
    """The rows of w correspond to the columns of x, which are split."""
    mesh = Mesh(np.array(jax.devices("xhlo")).reshape(4, 2), ("a", "b"))
    x = jax.device_put(np.ones((8, 16), np.float32), NamedSharding(mesh, P(None, "a")))
    compiled = jax.jit(lambda x, w: (x @ w, w + 1)).lower(x, np.ones((16, 4), np.float32)).compile()
    assert compiled.input_shardings[0][1].is_equivalent_to(NamedSharding(mesh, P("a")), 2)
    assert compiled.output_shardings[1].is_equivalent_to(NamedSharding(mesh, P("a")), 2)

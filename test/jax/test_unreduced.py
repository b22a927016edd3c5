"""Unreduced arrays, of which each device holds a summand: the same summands and sums as XLA:CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("jax", reason="JAX is not installed")

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, reshard, shard_map
from jax.sharding import AxisType, Mesh
from jax.sharding import PartitionSpec as P

A = np.arange(16, dtype=np.float32).reshape(4, 4) / 8
B = np.arange(8, dtype=np.float32).reshape(4, 2) / 4
OVER_X = P(None, None, unreduced={"x"})
OVER_BOTH = P(None, None, unreduced={"x", "y"})
REDUCED = P(None, None, reduced={"x"})
COLUMNS, ROWS = P(None, "x"), P("x", None)


def product(a: Any, b: Any, spec: P = OVER_X) -> Any:
    return jnp.einsum("ij,jk->ik", a, b, out_sharding=spec)


def of_product(function: Callable[[Any], Any]) -> tuple[Callable[..., Any], Any, Any]:
    """A function of an unreduced product."""
    return lambda a, b: function(product(a, b)), (A, COLUMNS), (B, ROWS)


def of_both(function: Callable[[Any], Any]) -> tuple[Callable[..., Any], Any, Any]:
    """A function of a product that is unreduced along both axes."""
    return lambda a, b: function(product(a, b, OVER_BOTH)), (A, P(None, ("x", "y"))), (B, P(("x", "y"), None))


def accumulated(b: Any, a: Any) -> Any:
    """The sum of the gradients of several batches, reduced once."""

    def step(total: Any, batch: Any) -> Any:
        return total + jax.grad(lambda b: jnp.mean((batch @ b) ** 2))(b), None

    return lax.scan(step, reshard(jnp.zeros((4, 2)), OVER_X), a)[0]


def mapped(function: Callable[..., Any], spec: P, out: P) -> Callable[..., Any]:
    return lambda x: shard_map(function, in_specs=spec, out_specs=out)(x)


CASES: dict[str, tuple[Any, ...]] = {
    "product": of_product(lambda y: y),
    "sum": of_product(lambda y: y + y),
    "batch": (lambda a, b: jnp.einsum("bij,bjk->bik", a, b, out_sharding=P("y", None, None, unreduced={"x"})),
        (np.stack([A, A]), P("y", None, "x")), (np.stack([B, B + 1]), P("y", "x", None))),
    "integers": (product, (A.astype(np.int32), COLUMNS), (B.astype(np.int32), ROWS)),
    "rows_of_y": (lambda a, b: product(a, b, P("y", None, unreduced={"x"})), (A, P("y", "x")), (B, ROWS)),
    "reduced": of_product(lambda y: reshard(y, P())),
    "scattered_rows": of_product(lambda y: reshard(y, ROWS)),
    "scattered_columns": of_product(lambda y: reshard(y, COLUMNS)),
    "both": of_both(lambda y: y),
    "both_reduced": of_both(lambda y: reshard(y, P("x", "y"))),
    "both_reduced_along_one": of_both(lambda y: reshard(y, OVER_X)),
    "both_scattered_along_one": of_both(lambda y: reshard(y, P("x", None, unreduced={"y"}))),
    "transposed": of_product(lambda y: y.T),
    "concatenated": of_product(lambda y: jnp.concatenate([y, y])),
    "sliced": of_product(lambda y: y[1:3]),
    "updated": of_product(lambda y: lax.dynamic_update_slice(y, y[:1], (2, 0))),
    "converted": of_product(lambda y: reshard(y.astype(jnp.bfloat16), P())),
    "chosen": of_product(lambda y: lax.cond(True, lambda y: y + y, lambda y: y, y)),
    "scaled": (lambda a, b, s: product(a, b) * s, (A, COLUMNS), (B, ROWS), (B, REDUCED)),
    "reshaped": (lambda a, b: lax.reshape(product(a, b, P("y", None, unreduced={"x"})), (8,), out_sharding=P("y", unreduced={"x"})),
        (A, P("y", "x")), (B, ROWS)),
    "reduction": (lambda a: lax.reduce_sum(a, (0,), out_sharding=P("y", unreduced={"x"})), (A, P("x", "y"))),
    "reduction_of_all": (lambda a: lax.reduce_sum(a, (0, 1), out_sharding=P(unreduced={"x"})), (A, P("x", "y"))),
    "scatter": (lambda u, i: jnp.zeros((5, 4)).at[i].add(u, out_sharding=OVER_X), (A, ROWS), (np.array([0, 3, 1, 1]), P("x"))),
    "made_unreduced": (lambda a: reshard(a, P("y", None, unreduced={"x"})), (A, P("y", None))),
    "gradient": (lambda b, a: jax.grad(lambda b: jnp.sum(jnp.tanh(a @ b)))(b), (B, REDUCED), (A, ROWS)),
    "gradient_of_columns": (lambda b, a: jax.grad(lambda b: jnp.sum((a @ b) ** 2))(b), (B, P(None, "y", reduced={"x"})), (A, ROWS)),
    "gradient_of_split_weights": (lambda b, a: jax.grad(lambda b: jnp.mean((a @ reshard(b, REDUCED)) ** 2))(b), (B, ROWS), (A, ROWS)),
    "gradient_of_two_uses": (lambda b, a: jax.grad(lambda b: jnp.sum(a @ b) + jnp.sum((a * 2) @ b))(b), (B, REDUCED), (A, ROWS)),
    "accumulated_gradients": (accumulated, (B, REDUCED), (np.stack([A, A + 1, A * 2]), P(None, "x", None))),
    "into_the_map": (mapped(lambda x: x * 2, P("x", "y"), P("x", "y")), (A, P("x", "y"))),
    "out_of_the_map": (mapped(lambda x: lax.pcast(x, "x", to="unreduced"), P("x", "y"), P(None, "y", unreduced={"x"})), (A, P("x", "y"))),
}  # fmt: skip


def run(name: str, platform: str) -> list[Any]:
    """For each result its specification, the part on each device, and the whole."""
    function, *arguments = CASES[name]
    devices = jax.devices(platform)
    mesh = Mesh(np.array(devices[:4]).reshape(2, 2), ("x", "y"), axis_types=(AxisType.Explicit,) * 2)
    with jax.default_device(devices[0]), jax.set_mesh(mesh):
        results = jax.jit(function)(*(jax.device_put(value, spec) for value, spec in arguments))
        return [
            (str(each.sharding.spec), [np.asarray(part.data) for part in each.addressable_shards], _whole(each))
            for each in jax.tree.leaves(results)
        ]


def _whole(array: Any) -> Any:
    return np.asarray(reshard(array, P()) if array.sharding.spec.unreduced else array)


@pytest.mark.long(12)
@pytest.mark.parametrize("name", CASES)
def test_as_on_cpu(name: str) -> None:
    for (spec, parts, whole), (wanted, others, other) in zip(run(name, "xhlo"), run(name, "cpu"), strict=True):
        assert spec == wanted
        np.testing.assert_allclose(whole, other, 1e-5, 1e-5)
        for part, there in zip(parts, others, strict=True):
            np.testing.assert_allclose(part, there, 1e-5, 1e-5)


def test_an_axis_of_size_1() -> None:
    mesh = Mesh(
        np.array(jax.devices("xhlo")[:4]).reshape(2, 2, 1), ("x", "y", "z"), axis_types=(AxisType.Explicit,) * 3
    )
    spec = P("x", None, unreduced={"z"})
    with jax.default_device(jax.devices("xhlo")[0]), jax.set_mesh(mesh):
        a, b = jax.device_put(A, P("x", "z")), jax.device_put(B, P("z", None))
        y = jax.jit(lambda a, b: product(a, b, spec) + product(a, b, spec))(a, b)
        assert y.sharding.spec == spec
        np.testing.assert_allclose(np.asarray(reshard(y, P("x"))), 2 * A @ B, rtol=1e-6)

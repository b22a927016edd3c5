"""Programs for eight devices: their results and the shardings of these, against eight devices of XLA:CPU."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("jax", reason="JAX is not installed")

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import serialize_executable
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from cases import integers, normal
from sharded import Sharded, check, mapped, plain


def constrained(mesh: Mesh, x: Any, w: Any) -> Any:
    hidden = lax.with_sharding_constraint(jnp.tanh(x @ w), NamedSharding(mesh, P("a", "b")))
    return lax.with_sharding_constraint(hidden @ w.T, NamedSharding(mesh, P("a", None)))


def training_step(mesh: Mesh, w: Any, v: Any, x: Any) -> Any:
    """Data and tensor parallelism."""

    def loss(w: Any, v: Any) -> Any:
        return jnp.mean((jax.nn.relu(x @ w) @ v) ** 2)

    value, (dw, dv) = jax.value_and_grad(loss, (0, 1))(w, v)
    return value, w - 0.1 * dw, v - 0.1 * dv


def ring(x: Any) -> Any:
    """A product by a ring: each device passes its part on."""

    def step(i: Any, state: Any) -> Any:
        total, part = state
        return total + part.sum() * (i + 1), lax.ppermute(part, "a", [(j, (j + 1) % 8) for j in range(8)])

    return lax.fori_loop(0, 8, step, (lax.pcast(jnp.float32(0), "a", to="varying"), x))[0][None]


CASES = {
    "elementwise": Sharded(plain(lambda x: jnp.sin(x) * 2 + 1), (8,), (P("a"),), (normal(16, 3),)),
    "two_axes": Sharded(plain(lambda x: x * x.T[0, 0]), (4, 2), (P("a", "b"),), (normal(8, 4),)),
    "replicated": Sharded(plain(lambda x: jnp.cumsum(x)), (8,), (P(),), (normal(5),)),
    "reduction": Sharded(plain(lambda x: (x.sum(), x.max(0), x.mean(1))), (8,), (P("a"),), (normal(16, 3),)),
    "reduction_of_two_axes": Sharded(plain(lambda x: (x.sum(), x.sum(0), x.sum(1))), (2, 4), (P("a", "b"),), (normal(4, 8),)),
    "product_of_rows": Sharded(plain(jnp.matmul), (8,), (P("a"), P()), (normal(16, 5), normal(5, 3))),
    "product_over_parts": Sharded(plain(jnp.matmul), (8,), (P(None, "a"), P("a")), (normal(3, 16), normal(16, 4))),
    "product_two_axes": Sharded(plain(jnp.matmul), (4, 2), (P("a"), P(None, "b")), (normal(8, 5), normal(5, 6))),
    "transpose": Sharded(plain(lambda x: x.T + 1), (8,), (P("a"),), (normal(16, 8),)),
    "softmax": Sharded(plain(jax.nn.softmax), (4, 2), (P("a", "b"),), (normal(8, 6),)),
    "gather": Sharded(plain(lambda x, i: x[i]), (8,), (P("a"), P()), (normal(16, 3), integers(5, low=0, high=16))),
    "scatter": Sharded(plain(lambda x, i: x.at[i].add(1.0)), (8,), (P("a"), P()), (normal(16, 3), integers(5, low=0, high=16))),
    "sort": Sharded(plain(jnp.sort), (8,), (P("a"),), (normal(16, 5),)),
    "sort_across_parts": Sharded(plain(lambda x: jnp.sort(x, 0)), (8,), (P("a"),), (normal(16, 5),)),
    "slice_and_concatenate": Sharded(plain(lambda x: jnp.concatenate([x[3:], x[:3]]) + x), (8,), (P("a"),), (normal(16, 3),)),
    "convolution": Sharded(plain(lambda x, w: lax.conv(x, w, (1, 1), "SAME")), (8,), (P("a"), P()), (normal(8, 2, 5, 5), normal(3, 2, 3, 3))),
    "scan": Sharded(plain(lambda x: lax.scan(lambda c, r: (c + r, c.sum()), jnp.zeros(8), x)), (8,), (P(None, "a"),), (normal(5, 8),)),
    "while": Sharded(plain(lambda x: lax.while_loop(lambda x: x.max() < 50, lambda x: x * 2, x)), (8,), (P("a"),), (normal(16),)),
    "cond": Sharded(plain(lambda x: lax.cond(x.sum() > 0, jnp.sin, jnp.cos, x)), (8,), (P("a"),), (normal(16),)),
    "random": Sharded(plain(lambda x: x + jax.random.normal(jax.random.key(0), x.shape)), (8,), (P("a"),), (normal(16, 2),)),
    "gradient": Sharded(plain(jax.grad(lambda w, x: jnp.mean(jnp.tanh(x @ w)))), (8,), (P(), P("a")), (normal(4, 3), normal(16, 4))),
    "einsum": Sharded(plain(lambda x, y: jnp.einsum("bij,bjk->ik", x, y)), (8,), (P("a"), P("a")), (normal(8, 3, 4), normal(8, 4, 2))),
    "linear_algebra": Sharded(plain(lambda x: jnp.linalg.inv(x @ x.mT + jnp.eye(3))), (8,), (P("a"),), (normal(8, 3, 3),), 2e-3),
    "fft": Sharded(plain(jnp.fft.fft), (8,), (P("a"),), (normal(8, 6),)),
    "constraints": Sharded(constrained, (4, 2), (P("a"), P(None, "b")), (normal(8, 4), normal(4, 4))),
    "training_step": Sharded(training_step, (4, 2), (P(None, "b"), P("b"), P("a")), (normal(4, 6), normal(6, 2), normal(8, 4))),
    "uneven_result": Sharded(plain(lambda x: x[:, :3].sum(0)), (8,), (P("a"),), (normal(8, 5),)),
    "bfloat16": Sharded(plain(lambda x: (x * 2).sum(1)), (8,), (P("a"),), (normal(8, 4, dtype="bfloat16"),)),
    "integers": Sharded(plain(lambda x: (x.sum(), x.max(), (x > 0).any())), (8,), (P("a"),), (integers(16, 3),)),
    "map_identity": Sharded(mapped(lambda x: x * 2, (P("a"),), P("a")), (8,), (P("a"),), (normal(16, 3),)),
    "map_psum": Sharded(mapped(lambda x: lax.psum(x, "a"), (P("a"),), P()), (8,), (P("a"),), (normal(8, 3),)),
    "map_pmax_pmin_pmean": Sharded(mapped(lambda x: (lax.pmax(x, "a"), lax.pmin(x, "a"), lax.pmean(x, "a")), (P("a"),), P()), (8,), (P("a"),), (normal(8, 3),)),
    "map_psum_of_one_axis": Sharded(mapped(lambda x: lax.psum(x, "b"), (P("a", "b"),), P("a")), (4, 2), (P("a", "b"),), (normal(4, 2),)),
    "map_axis_index": Sharded(mapped(lambda x: x + lax.axis_index("a"), (P("a"),), P("a")), (8,), (P("a"),), (normal(8),)),
    "map_all_gather": Sharded(mapped(lambda x: lax.all_gather(x, "a", tiled=True) * (1 + lax.axis_index("a")), (P("a"),), P("a")), (8,), (P("a"),), (normal(8, 3),)),
    "map_all_to_all": Sharded(mapped(lambda x: lax.all_to_all(x, "a", 1, 0, tiled=True), (P("a"),), P(None, "a")), (8,), (P("a"),), (normal(8, 16),)),
    "map_psum_scatter": Sharded(mapped(lambda x: lax.psum_scatter(x, "a", scatter_dimension=1, tiled=True), (P("a"),), P("a")), (8,), (P("a"),), (normal(8, 16),)),
    "map_ppermute": Sharded(mapped(lambda x: lax.ppermute(x, "a", [(i, (i + 3) % 8) for i in range(8)]), (P("a"),), P("a")), (8,), (P("a"),), (normal(8, 3),)),
    "map_ppermute_partial": Sharded(mapped(lambda x: lax.ppermute(x, "a", [(0, 5), (2, 1)]), (P("a"),), P("a")), (8,), (P("a"),), (normal(8, 3),)),
    "map_ring": Sharded(mapped(ring, (P("a"),), P("a")), (8,), (P("a"),), (normal(8, 3),)),
    "map_gradient": Sharded(lambda mesh, w, x: jax.grad(lambda w: mapped(lambda w, x: lax.pmean(jnp.mean((x @ w) ** 2), "a"), (P(), P("a")), P())(mesh, w, x))(w), (8,), (P(), P("a")), (normal(4), normal(16, 4))),
    "map_in_scan": Sharded(lambda mesh, x: lax.scan(lambda c, _: (mapped(lambda y: y - lax.pmean(y, "a") * 0.5, (P("a"),), P("a"))(mesh, c), c.sum()), x, None, length=4), (8,), (P("a"),), (normal(8),)),
    "map_callback": Sharded(mapped(lambda x: jax.pure_callback(lambda x: np.asarray(x) * 2, jax.ShapeDtypeStruct(x.shape, x.dtype), x), (P("a"),), P("a")), (8,), (P("a"),), (normal(8, 3),)),
}  # fmt: skip


@pytest.mark.long(12)
@pytest.mark.parametrize("name", CASES)
def test_eight_devices(name: str) -> None:
    check(CASES[name])


@pytest.mark.parametrize("spec", [P("a"), P(None, "a"), P(("a", "b")), P("b", "a"), P()])
def test_arrays_move_between_shardings(spec: P) -> None:
    mesh = Mesh(np.array(jax.devices("xhlo")).reshape(4, 2), ("a", "b"))
    value = np.arange(64, dtype=np.float32).reshape(8, 8)
    array = jax.device_put(jax.device_put(value, NamedSharding(mesh, P("a", "b"))), NamedSharding(mesh, spec))
    np.testing.assert_array_equal(np.asarray(array), value)
    for shard in array.addressable_shards:
        np.testing.assert_array_equal(np.asarray(shard.data), value[shard.index])


@pytest.mark.parametrize("out", [P("a"), P(None, "a"), P("a", "b"), P()])
def test_results_lie_as_asked(out: P) -> None:
    mesh = Mesh(np.array(jax.devices("xhlo")).reshape(4, 2), ("a", "b"))
    sharding = NamedSharding(mesh, out)
    value = np.arange(64, dtype=np.float32).reshape(8, 8)
    result = jax.jit(lambda x: x * 2, out_shardings=sharding)(jax.device_put(value, NamedSharding(mesh, P("b"))))
    assert result.sharding.is_equivalent_to(sharding, 2)
    np.testing.assert_array_equal(np.asarray(result), value * 2)


@pytest.mark.parametrize("again", [False, True], ids=["compiled", "loaded"])
def test_compiled_programs_say_how_arrays_are_split(again: bool) -> None:
    mesh = Mesh(np.array(jax.devices("xhlo")).reshape(4, 2), ("a", "b"))
    value = np.arange(64, dtype=np.float32).reshape(8, 8)
    x = jax.device_put(value, NamedSharding(mesh, P("a")))
    compiled = jax.jit(lambda x: (x + 1, x.sum(), x.T)).lower(x).compile()
    if again:
        saved = serialize_executable.serialize(compiled)
        compiled = serialize_executable.deserialize_and_load(*saved, execution_devices=jax.devices("xhlo"))
    runtime: Any = compiled.runtime_executable()
    (taken,) = runtime.get_parameter_shardings()
    assert (taken.type.name, list(taken.tile_assignment_dimensions)) == ("OTHER", [4, 1, 2])
    assert taken.replicate_on_last_tile_dim
    assert [each.type.name for each in runtime.get_output_shardings()] == ["OTHER", "REPLICATED", "OTHER"]
    np.testing.assert_array_equal(compiled(x)[2], value.T)


def test_pmap() -> None:
    x = np.arange(16, dtype=np.float32).reshape(8, 2)
    ours = jax.pmap(lambda x: x / lax.psum(x, "i"), axis_name="i", devices=jax.devices("xhlo"))(x)
    np.testing.assert_allclose(np.asarray(ours), x / x.sum(0), rtol=1e-6)


def test_donation_of_shards() -> None:
    mesh = Mesh(np.array(jax.devices("xhlo")), ("a",))
    x = jax.device_put(np.ones(16, np.float32), NamedSharding(mesh, P("a")))
    step = jax.jit(lambda x: x + 1, donate_argnums=0)
    for _ in range(5):
        before, x = x, step(x)
        assert before.is_deleted()
    np.testing.assert_array_equal(np.asarray(x), np.full(16, 6))


def test_make_array_from_callback() -> None:
    mesh = Mesh(np.array(jax.devices("xhlo")), ("a",))
    value = np.arange(32.0, dtype=np.float32).reshape(8, 4)
    array = jax.make_array_from_callback((8, 4), NamedSharding(mesh, P("a")), lambda index: value[index])
    assert float(jax.jit(jnp.sum)(array)) == value.sum()

"""JAX on 8 devices of xhlo."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("jax", reason="JAX is not installed")

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import io_callback
from jax.experimental.serialize_executable import deserialize_and_load, serialize

from xhlo.frontends.jax import executables
from xhlo.targets.cpu import replicated

DEVICES = 8
A = np.random.default_rng(0).normal(size=(8, 16)).astype(np.float32)


def mesh() -> Any:
    return jax.sharding.Mesh(np.array(jax.devices()).reshape(2, 4), ("x", "y"))


def put(value: Any, *spec: Any, on: Any = None) -> Any:
    sharding = jax.sharding.NamedSharding(on or mesh(), jax.sharding.PartitionSpec(*spec))
    return jax.device_put(value, sharding)


def mapped(function: Any, ins: tuple[Any, ...], outs: tuple[Any, ...], **options: Any) -> Any:
    spec = jax.sharding.PartitionSpec
    return jax.jit(jax.shard_map(function, mesh=mesh(), in_specs=spec(*ins), out_specs=spec(*outs), **options))


def test_callbacks_outside_of_shard_map_happen_once() -> None:
    seen: list[Any] = []

    def function(a: Any) -> Any:
        jax.debug.callback(lambda v: seen.append(float(v)), a.sum())
        wanted = jax.ShapeDtypeStruct((), np.float32)
        return io_callback(lambda v: seen.append(v.shape) or v.sum(), wanted, a) + 1

    np.testing.assert_allclose(jax.jit(function)(put(A, "x", "y")), A.sum() + 1, rtol=1e-4)
    jax.effects_barrier()
    assert len(seen) == 2, seen
    assert (8, 16) in seen


def test_callbacks_in_shard_map_happen_on_every_device() -> None:
    seen: list[Any] = []

    def function(v: Any) -> Any:
        jax.debug.callback(lambda v: seen.append(v.shape), v)
        return v

    mapped(function, ("x", "y"), ("x", "y"))(put(A, "x", "y")).block_until_ready()
    jax.effects_barrier()
    assert seen == [(4, 4)] * DEVICES, seen


def test_pure_callbacks_see_whole_arrays() -> None:
    wanted = jax.ShapeDtypeStruct(A.shape, A.dtype)
    function = jax.jit(lambda a: jax.pure_callback(lambda v: np.asarray(v) * 2, wanted, a) + 1)
    np.testing.assert_allclose(function(put(A, "x", "y")), A * 2 + 1, rtol=1e-6)


def test_arguments_are_donated_on_all_devices() -> None:
    given = put(A, "x", "y")
    result = jax.jit(lambda a: a + 1, donate_argnums=0)(given)
    assert given.is_deleted()
    np.testing.assert_allclose(result, A + 1)


def test_arrays_are_resharded() -> None:
    spec = jax.sharding.PartitionSpec
    array = put(A, "x", "y")
    for each in (("y", "x"), (None, ("x", "y")), (), (("y", "x"),), ("x", "y")):
        array = jax.device_put(array, jax.sharding.NamedSharding(mesh(), spec(*each)))
        np.testing.assert_array_equal(np.asarray(array), A)
        split = jax.sharding.NamedSharding(mesh(), spec("y"))
        array = jax.jit(lambda a: a + 0, out_shardings=split)(array)
        np.testing.assert_array_equal(np.asarray(array), A)


def test_results_stay_split() -> None:
    array = put(A, "x", "y")
    spec = jax.sharding.PartitionSpec
    assert jax.jit(lambda a: a * 2 + 1)(array).sharding.spec == spec("x", "y")
    assert jax.jit(lambda a: a.sum(0))(array).sharding.spec == spec("y")
    assert jax.jit(lambda a: a.T)(array).sharding.spec == spec("y", "x")
    compiled = jax.jit(lambda a: a @ a.T).lower(array).compile()
    assert compiled.output_shardings.spec == spec("x"), compiled.output_shardings


def test_some_devices_in_another_order() -> None:
    devices = np.array(jax.devices())[[5, 2, 7, 1]].reshape(2, 2)
    array = put(A, "q", "p", on=jax.sharding.Mesh(devices, ("p", "q")))
    product, total = jax.jit(lambda a: (a @ a.T, a.sum(0)))(array)
    np.testing.assert_allclose(product, A @ A.T, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(total, A.sum(0), rtol=1e-4, atol=1e-4)
    single = jax.jit(lambda a: a * 2)(jax.device_put(A, jax.devices()[3]))
    assert single.devices() == {jax.devices()[3]}


def test_explicit_shardings() -> None:
    explicit = jax.make_mesh((2, 4), ("x", "y"), axis_types=(jax.sharding.AxisType.Explicit,) * 2)
    spec = jax.sharding.PartitionSpec

    def function(b: Any) -> Any:
        c = jnp.sin(b) * 2
        assert jax.typeof(c).sharding.spec == spec("x", "y")
        return c.sum(1), jax.sharding.reshard(c, spec("y", "x"))

    with jax.set_mesh(explicit):
        total, moved = jax.jit(function)(jax.device_put(A, spec("x", "y")))
        np.testing.assert_allclose(total, (np.sin(A) * 2).sum(1), rtol=1e-4, atol=1e-4)
        assert moved.sharding.spec == spec("y", "x")


def test_all_collectives_of_pmap() -> None:
    v = np.random.default_rng(1).normal(size=(8, 8, 3)).astype(np.float32)
    results = jax.pmap(
        lambda v: (
            lax.psum(v, "i"),
            lax.pmax(v, "i"),
            lax.all_gather(v, "i"),
            lax.all_to_all(v, "i", 0, 0),
            lax.ppermute(v, "i", [(0, 1), (3, 2)]),
            lax.psum_scatter(v, "i"),
            lax.psum(v, "i", axis_index_groups=[[0, 1, 2, 3], [4, 5, 6, 7]]),
        ),
        axis_name="i",
    )(v)
    total = v.sum(0)
    np.testing.assert_allclose(results[0][3], total, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(results[1][2], v.max(0))
    np.testing.assert_allclose(results[2][5], v)
    np.testing.assert_allclose(results[3], v.transpose(1, 0, 2))
    np.testing.assert_allclose(results[4][1], v[0])
    np.testing.assert_allclose(results[4][5], np.zeros((8, 3)))
    np.testing.assert_allclose(results[5], total, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(results[6][5], v[4:].sum(0), rtol=1e-4, atol=1e-5)


def test_programs_run_from_several_threads() -> None:
    array = put(A, "x", "y")
    functions = [mapped(lambda v, k=k: lax.psum(v * k, "x"), ("x", "y"), (None, "y")) for k in range(4)]
    errors: list[Exception] = []

    def run(k: int) -> None:
        try:
            for _ in range(10):
                np.testing.assert_allclose(functions[k](array), (A[:4] + A[4:]) * k, rtol=1e-4, atol=1e-4)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors, errors


def test_an_error_on_one_device_is_raised() -> None:
    def refuse(v: Any) -> Any:
        if v[0, 0] == A[4, 8]:
            raise ValueError("this device does not work")
        return v

    def function(v: Any) -> Any:
        return lax.psum(jax.pure_callback(refuse, jax.ShapeDtypeStruct(v.shape, v.dtype), v), "x")

    with pytest.raises(jax.errors.JaxRuntimeError, match="this device does not work"):
        mapped(function, ("x", "y"), (None, "y"), check_vma=False)(put(A, "x", "y")).block_until_ready()


def test_executables_of_several_devices_are_serialized() -> None:
    compiled = jax.jit(lambda a: (a * 2).sum(0)).lower(put(A, "x", "y")).compile()
    again = deserialize_and_load(*serialize(compiled))
    np.testing.assert_allclose(again(put(A, "x", "y")), (A * 2).sum(0), rtol=1e-4, atol=1e-5)


def test_devices_that_begin_after_the_end_of_their_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """As after Ctrl-C: one device has run, one ends later, and the others find that nobody waits for them."""
    went: list[Callable[[int], list[int]]] = []
    go, late = threading.Event(), list[list[int]]()

    def leave(run: Callable[[int], list[int]], *_: Any, **__: Any) -> None:
        went.append(run)
        run(0)
        thread.start()
        begun.wait(60)
        raise RuntimeError("left")

    def when_told(self: Any, device: int, addresses: Any) -> None:
        if threading.current_thread() is thread:
            begun.set()
            go.wait(60)

    begun = threading.Event()
    thread = threading.Thread(target=lambda: late.append(went[0](1)))
    function = jax.jit(lambda v: v + 1)
    x = put(A, "x", "y")
    jax.block_until_ready(function(x))
    monkeypatch.setattr(replicated, "run_on_devices", leave)
    monkeypatch.setattr(executables.LoadedProgram, "_run_at", when_told)
    before = jax.devices()[0].memory_stats()["bytes_in_use"]
    with pytest.raises((ValueError, jax.errors.JaxRuntimeError), match="left"):
        function(x)
    x.delete()
    go.set()
    thread.join()
    assert len(late[0]) == 1 and [went[0](number) for number in range(2, DEVICES)] == [[]] * 6
    assert jax.devices()[0].memory_stats()["bytes_in_use"] == before - A.nbytes

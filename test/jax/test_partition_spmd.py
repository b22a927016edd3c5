"""Sharded JAX programs on 8 devices: XLA's results are those of partition-spmd on 8 threads, and of JAX on xhlo."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytest.importorskip("jax", reason="JAX is not installed")

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from xhlo import register_custom_call
from xhlo.targets.cpu.replicated import compile_replicated

DEVICES = 8

Function = Callable[..., Any]

NAMES = """
elementwise matmul out_shardings constraint reductions softmax reshapes permuted_mesh uneven sub_axes
psum psum_all all_gather ppermute all_to_all psum_scatter axis_index partial_manual nested_manual pmean_permuted
pmap pmap_gradient data_parallel tensor_parallel convolution scan loop_of_shard_map cond
sort cumsum take pooling random slices concatenate integers complex effects no_arguments
embedding take_along_axis stacked_scan nested_loops batched_matrices switch
""".split()


def programs(platform: str) -> Iterator[tuple[str, Function, tuple[Any, ...]]]:
    """(name, function, arguments) on the devices of a platform."""
    devices = np.array(jax.devices(platform))
    mesh, line = Mesh(devices.reshape(2, 4), ("x", "y")), Mesh(devices, ("i",))
    cube = Mesh(devices[[3, 1, 2, 0, 7, 6, 5, 4]].reshape(2, 2, 2), ("a", "b", "c"))
    numbers = np.random.default_rng(0)

    def array(*shape: int, dtype: Any = np.float32) -> Any:
        return numbers.normal(size=shape).astype(dtype)

    def put(value: Any, *spec: Any, on: Any = mesh) -> Any:
        return jax.device_put(value, NamedSharding(on, P(*spec)))

    def mapped(function: Any, ins: Any, outs: Any, on: Any = mesh, **options: Any) -> Any:
        return jax.shard_map(function, mesh=on, in_specs=ins, out_specs=outs, **options)

    xy, around = P("x", "y"), [(i, (i + 1) % 4) for i in range(4)]
    a, b = put(array(8, 16), "x", "y"), put(array(16, 24), "y", None)
    yield "elementwise", lambda a: jnp.tanh(a) * 2 + 1, (a,)
    yield "matmul", lambda a, b: (a @ b, b.T @ a.T, a @ a.T), (a, b)
    yield "out_shardings", jax.jit(lambda a: a * 2, out_shardings=NamedSharding(mesh, P(("y", "x")))), (a,)
    yield "constraint", lambda a, b: lax.with_sharding_constraint(a @ b, NamedSharding(mesh, P(None, "y"))) + 1, (a, b)
    yield "reductions", lambda a: (a.sum(0), a.max(1), a.prod(), a.mean(), a.argmax(1), (a > 0).any(0)), (a,)
    yield "softmax", lambda a: jax.nn.softmax(a, -1), (a,)
    yield "reshapes", lambda a: (a.T.reshape(4, 4, 8), a.reshape(-1), a.reshape(2, 4, 2, 8), a[:, None]), (a,)
    permuted = put(array(8, 16), ("c", "a"), "b", on=cube)
    yield "permuted_mesh", lambda a: jnp.tanh(a) @ a.T, (permuted,)
    yield "uneven", lambda a: lax.with_sharding_constraint(a[:7], NamedSharding(mesh, P("y"))).sum(0) * 2, (a,)
    wide = NamedSharding(Mesh(devices.reshape(8), ("z",)), P("z"))
    yield (
        "sub_axes",
        lambda v: lax.with_sharding_constraint(v.reshape(2, 4, 2), wide.update(spec=P(None))),
        (jax.device_put(array(16), wide),),
    )
    yield "psum", mapped(lambda v: lax.psum(v, "x"), xy, P(None, "y")), (a,)
    yield "psum_all", mapped(lambda v: lax.psum(v.sum(), ("x", "y")), xy, P()), (a,)
    gather = mapped(lambda v: lax.all_gather(v, "y", axis=1, tiled=True), xy, P("x", None), check_vma=False)
    yield "all_gather", gather, (a,)
    yield "ppermute", mapped(lambda v: lax.ppermute(v, "y", around), xy, xy), (a,)
    yield "all_to_all", mapped(lambda v: lax.all_to_all(v, "y", 0, 1, tiled=True), xy, P(("x", "y"))), (a,)
    yield "psum_scatter", mapped(lambda v: lax.psum_scatter(v, "x", tiled=True), xy, xy), (a,)
    yield "axis_index", mapped(lambda v: v + lax.axis_index("x") * 10 + lax.axis_index("y"), xy, xy), (a,)
    partial = mapped(lambda v: jnp.tanh(lax.psum(v * 2, "x")), P("x", None), P(), axis_names={"x"})
    yield "partial_manual", jax.jit(partial), (a,)

    def nested(v: Any) -> Any:
        inner = jax.shard_map(
            lambda w: lax.psum(w, "y") + w, in_specs=P(None, "y"), out_specs=P(None, "y"), axis_names={"y"}
        )
        return inner(lax.ppermute(v, "x", [(0, 1), (1, 0)]) * 2)

    yield "nested_manual", jax.jit(mapped(nested, P("x"), P("x"), axis_names={"x"})), (a,)
    mean = mapped(lambda v: lax.pmean(v, ("a", "b")), P(("c", "a"), "b"), P("c", None), on=cube)
    yield "pmean_permuted", mean, (permuted,)
    every = list(devices)
    numbered = jax.pmap(lambda v: lax.psum(v, "i") + lax.axis_index("i"), axis_name="i", devices=every)
    yield "pmap", numbered, (array(8, 3),)

    def gradient(w: Any, x: Any) -> Any:
        return lax.pmean(jax.grad(lambda w: jnp.sum((x @ w) ** 2))(w), "i")

    mapped_gradient = jax.pmap(gradient, axis_name="i", in_axes=(None, 0), devices=every)
    yield "pmap_gradient", mapped_gradient, (array(16, 4), array(8, 5, 16))

    def step(weights: Any, x: Any, y: Any) -> Any:
        def loss(weights: Any) -> Any:
            hidden = jax.nn.relu(x @ weights[0])
            return jnp.mean((hidden @ weights[1] - y) ** 2)

        value, gradients = jax.value_and_grad(loss)(weights)
        return jax.tree.map(lambda w, g: w - 0.1 * g, weights, gradients), value

    first, second, x, y = array(16, 32), array(32, 4), array(64, 16), array(64, 4)
    yield "data_parallel", step, ([first, second], put(x, "i", on=line), put(y, "i", on=line))
    split = [put(first, None, "y"), put(second, "y", None)]
    yield "tensor_parallel", step, (split, put(x, "x"), put(y, "x"))

    def convolved(k: Any, x: Any) -> Any:
        return jax.grad(lambda k: jnp.sum(lax.conv(x, k, (1, 1), "SAME") ** 2))(k)

    yield "convolution", convolved, (array(4, 3, 3, 3), put(array(8, 3, 6, 6), "i", on=line))
    yield "scan", lambda a: lax.scan(lambda c, _: (jnp.tanh(c * 1.1) + a, c.sum()), a, None, length=3), (a,)
    shift = mapped(lambda v: lax.ppermute(v, "y", around) + 1, xy, xy)
    yield "loop_of_shard_map", lambda a: lax.fori_loop(0, 3, lambda _, c: shift(c), a), (a,)
    yield "cond", lambda a: lax.cond(a.sum() > 0, lambda a: a * 2, lambda a: a - 1, a), (a,)
    yield "sort", lambda a: (jnp.sort(a, axis=0), jnp.sort(a, axis=1)), (a,)
    yield "cumsum", lambda a: jnp.cumsum(a, axis=1), (a,)
    yield "take", lambda a, i: (a[i], a.at[i].add(1.0)), (a, put(np.array([3, 1, 2, 5]), "x"))

    def pool(v: Any) -> Any:
        best = lax.reduce_window(v, -jnp.inf, lax.max, (1, 2, 2), (1, 2, 2), "VALID")
        return jnp.sum(best**2)

    yield "pooling", jax.grad(pool), (put(array(8, 4, 4), "i", on=line),)
    yield "random", lambda k, a: a + jax.random.normal(k, a.shape), (jax.random.PRNGKey(0), a)
    yield (
        "slices",
        lambda a, i: (a[:, 3:9], a[::2], lax.dynamic_slice(a, (i, 0), (2, 16)), jnp.pad(a, 1), a[::-1]),
        (a, np.int32(3)),
    )
    yield "concatenate", lambda a: (jnp.concatenate([a, a * 2], 0), jnp.stack([a, a])), (a,)
    yield "integers", lambda a: (a.astype(jnp.int32) // 2).sum(1), (put(array(8, 16) * 20, "x", "y"),)
    yield "complex", lambda a: jnp.abs(jnp.fft.fft(a + 1j * a, axis=0)), (a,)

    def effects(a: Any) -> Any:
        jax.debug.callback(lambda v: None, a.sum())
        return a + 1

    yield "effects", effects, (a,)

    def embedding(table: Any, tokens: Any) -> Any:
        return jax.value_and_grad(lambda table: jnp.sum(jnp.tanh(table[tokens]) ** 2))(table)

    tokens = numbers.integers(0, 12, (8, 5)).astype(np.int32)
    yield "embedding", embedding, (array(12, 16), put(tokens, "i", on=line))

    def picked(v: Any, i: Any) -> Any:
        return jax.value_and_grad(lambda v: jnp.sum(jnp.take_along_axis(v, i, axis=-1) ** 2))(v)

    yield "take_along_axis", picked, (put(array(8, 5, 12), "i", on=line), put(tokens[..., None], "i", on=line))

    def stacked(a: Any) -> Any:
        return jax.grad(lambda a: lax.scan(lambda c, _: (jnp.sin(c), c * 2), a, None, length=4)[1].sum())(a)

    yield "stacked_scan", stacked, (a,)

    def nested_loops(a: Any) -> Any:
        def outer(i: Any, c: Any) -> Any:
            return lax.fori_loop(0, 2, lambda j, d: (d[0] + a, d[1] + d[0].sum(0)), c)

        return lax.fori_loop(0, 2, outer, (jnp.zeros((8, 16)), jnp.zeros(16)))

    yield "nested_loops", nested_loops, (a,)

    def matrices(v: Any) -> Any:
        symmetric = v @ jnp.swapaxes(v, 1, 2) + 4 * jnp.eye(4)
        return jnp.linalg.cholesky(symmetric), jnp.fft.rfft(v, axis=2).real, jnp.linalg.inv(symmetric)

    yield "batched_matrices", matrices, (put(array(8, 4, 4), "i", on=line),)
    yield (
        "switch",
        lambda i, a: lax.switch(i, [jnp.sin, lambda a: a.T.reshape(8, 16), jnp.zeros_like], a),
        (np.int32(1), a),
    )
    yield "no_arguments", jax.jit(lambda: jnp.arange(16.0) ** 2, out_shardings=NamedSharding(line, P("i"))), ()


def parts(value: Any, tiling: Any) -> list[Any]:
    """The part of an array that each device holds."""
    array = np.asarray(value)
    shape = tiling.part_shape(array.shape)
    places = [tiling.coordinates(dim) for dim in range(array.ndim)]
    cut = [
        tuple(slice(at[device] * size, (at[device] + 1) * size) for at, size in zip(places, shape, strict=True))
        for device in range(DEVICES)
    ]
    return [np.array(array[box], order="C") for box in cut]


def jitted(function: Any) -> Any:
    return function if hasattr(function, "lower") else jax.jit(function)


def partitioned(function: Function, arguments: tuple[Any, ...]) -> list[Any]:
    """XLA's results, which the parts on all devices agree with, or an error that says where they do not."""
    lowered = jitted(function).lower(*arguments)
    compiled = lowered.compile()
    expected = jax.tree.leaves(compiled(*arguments))
    program = compile_replicated(lowered.as_text(), 1, DEVICES)
    leaves = jax.tree.leaves(arguments)
    kept = compiled._executable._kept_var_idx  # arguments that the function does not use are dropped
    given = [
        parts(leaf, tiling)
        for leaf, tiling in zip([leaves[index] for index in sorted(kept)], program.shardings.parameters, strict=True)
    ]
    results = program([[argument[device] for argument in given] for device in range(DEVICES)])
    for index, (value, tiling) in enumerate(zip(expected, program.shardings.outputs, strict=True)):
        for device, wanted in enumerate(parts(value, tiling)):
            np.testing.assert_allclose(results[device][index], wanted, rtol=1e-4, atol=1e-4)
    return expected


@pytest.fixture(scope="module")
def placed() -> dict[str, dict[str, tuple[Function, tuple[Any, ...]]]]:
    """The programs by platform and name."""
    register_custom_call("xla_ffi_python_cpu_callback", lambda call, *operands: None)
    return {each: {name: rest for name, *rest in programs(each)} for each in ("cpu", "xhlo")}


def test_all_programs_are_named(placed: dict[str, Any]) -> None:
    assert sorted(placed["cpu"]) == sorted(placed["xhlo"]) == sorted(NAMES)


@pytest.mark.long(28)
@pytest.mark.parametrize("name", NAMES)
def test_program(placed: dict[str, Any], name: str) -> None:
    with jax.default_device(jax.devices("cpu")[0]):
        expected = partitioned(*placed["cpu"][name])
    function, arguments = placed["xhlo"][name]
    for got, wanted in zip(jax.tree.leaves(jitted(function)(*arguments)), expected, strict=True):
        np.testing.assert_allclose(np.asarray(got), np.asarray(wanted), rtol=1e-4, atol=1e-4)

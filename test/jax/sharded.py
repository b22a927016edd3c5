"""Programs for eight devices, and their comparison with eight devices of XLA:CPU: results and how these are split."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import shard_map
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from platforms import COMPILED_ON


@dataclass(frozen=True)
class Sharded:
    """`function(mesh, *arrays)`; the arrays are sharded by `specs` over a mesh of `shape` with axes a, b, .."""

    function: Callable[..., Any]
    shape: tuple[int, ...]
    specs: tuple[P, ...]
    arrays: tuple[Any, ...]
    tolerance: float = 2e-5


def plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function without shardings of its own: the compiler partitions it."""
    return lambda mesh, *arrays: function(*arrays)


def mapped(function: Callable[..., Any], specs: Any, out: Any, **options: Any) -> Callable[..., Any]:
    """A function on the part of one device."""
    return lambda mesh, *arrays: shard_map(function, mesh=mesh, in_specs=specs, out_specs=out, **options)(*arrays)


def run(case: Sharded, platform: str) -> Any:
    names = "abc"[: len(case.shape)]
    mesh = Mesh(np.array(jax.devices(platform)).reshape(case.shape), tuple(names))
    generator = np.random.default_rng(5)
    arrays = [
        jax.device_put(draw.make(generator), NamedSharding(mesh, spec))
        for draw, spec in zip(case.arrays, case.specs, strict=True)
    ]
    before = len(COMPILED_ON)
    with jax.default_device(jax.devices(platform)[0]):
        results = jax.block_until_ready(jax.jit(partial(case.function, mesh))(*arrays))
    assert set(COMPILED_ON[before:]) == {platform}
    return results


def placement(array: jax.Array) -> dict[int, Any]:
    """The part of the array on each device, by the device's number."""
    return {device.id: index for device, index in array.sharding.devices_indices_map(array.shape).items()}


def check(case: Sharded) -> None:
    """Assert that both platforms agree on the results and on how they are split."""
    ours, theirs = run(case, "xhlo"), run(case, "cpu")
    for got, want in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        assert got.dtype == want.dtype and got.shape == want.shape
        assert {shard.device.platform for shard in got.addressable_shards} == {"xhlo"}
        assert placement(got) == placement(want), (got.sharding, want.sharding)
        if got.dtype == jnp.bfloat16:
            np.testing.assert_array_equal(np.asarray(got), np.asarray(want))
        else:
            np.testing.assert_allclose(np.asarray(got), np.asarray(want), case.tolerance, case.tolerance)

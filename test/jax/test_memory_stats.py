"""`memory_stats()` of a device."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np


def test_memory_in_use() -> None:
    device = jax.devices("xhlo")[0]
    before = device.memory_stats()
    host = np.ones((512, 1024), np.float32)
    held = jax.jit(jnp.sin)(jax.device_put(host, device)).block_until_ready()
    during = device.memory_stats()
    grown = during["bytes_in_use"] - before["bytes_in_use"]
    assert held.nbytes <= grown <= 1.25 * 2 * held.nbytes + 4096
    assert during["num_allocs"] > before["num_allocs"]
    assert during["peak_bytes_in_use"] >= during["bytes_in_use"]
    assert during["largest_alloc_size"] >= held.nbytes
    assert during["bytes_limit"] > during["peak_bytes_in_use"]
    # Fields that are not stated are JAX's -1 rather than whatever was in memory.
    assert {during[name] for name in ("bytes_reserved", "peak_bytes_reserved", "largest_free_block_bytes")} == {-1}
    del held
    after = device.memory_stats()
    assert after["bytes_in_use"] <= during["bytes_in_use"] - host.nbytes
    assert after["peak_bytes_in_use"] >= during["peak_bytes_in_use"]

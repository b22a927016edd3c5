"""XLA never runs a program of xhlo: the check of the other tests works, and XLA's platforms are not needed."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytest.importorskip("jax", reason="JAX is not installed")

import jax
import jax.numpy as jnp
import numpy as np

from platforms import COMPILED_ON, only_on

ALONE = """
import sys
import jax, jax.numpy as jnp
from jax import random
try:
    jax.devices("cpu")
except RuntimeError:
    pass
else:
    sys.exit("there is a platform cpu")
assert {d.platform for d in jax.devices()} == {"xhlo"} and jax.default_backend() == "xhlo"
x = random.normal(random.key(0), (8, 8))
loss, grads = jax.jit(jax.value_and_grad(lambda w: jnp.mean(jnp.tanh(x @ w) ** 2)))(x)
jax.tree.map(lambda a: a.block_until_ready(), (loss, grads))
values, vectors = jnp.linalg.eigh(x @ x.T)
assert abs(values.sum() - jnp.trace(x @ x.T)) < 1e-3
total = jax.lax.scan(lambda c, r: (c + jnp.sort(r)[0], jnp.fft.rfft(r)), 0.0, x)[0]
assert jnp.isfinite(total) and (jnp.arange(5) + 1).sum() == 15
assert float(jax.vmap(jax.grad(jnp.sin))(x[0])[0]) == float(jnp.cos(x)[0, 0])
jax.debug.print("{}", x[0, 0])
jax.effects_barrier()
print("done")
"""


def test_the_watch_sees_what_is_compiled() -> None:
    for platform in ("xhlo", "cpu"):
        before = len(COMPILED_ON)
        with only_on(platform):
            jax.jit(lambda x: x * 3 + 1)(jax.device_put(np.ones(5), jax.devices(platform)[0])).block_until_ready()
        assert COMPILED_ON[before:] and set(COMPILED_ON[before:]) == {platform}


def test_the_watch_fails_for_another_platform() -> None:
    with pytest.raises(AssertionError, match="compiled for"), only_on("xhlo"):
        jax.jit(lambda x: x * 5)(jax.device_put(np.ones(5), jax.devices("cpu")[0])).block_until_ready()


def test_executables_belong_to_the_platform() -> None:
    x = jax.device_put(np.ones(5, np.float32), jax.devices("xhlo")[0])
    compiled = jax.jit(lambda x: jnp.sin(x).sum()).lower(x).compile()
    executable = compiled.runtime_executable()
    assert executable.client.platform == "xhlo"
    assert compiled(x).devices() == {jax.devices("xhlo")[0]}


@pytest.mark.long
def test_without_xla_s_platform() -> None:
    """In a process without any other platform."""
    environment = {**os.environ, "JAX_PLATFORMS": "xhlo", "XHLO_NUM_DEVICES": "1"}
    done = subprocess.run([sys.executable, "-c", ALONE], env=environment, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "done"

"""Networks with a state, one step after the other."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array, lax

from .program import Programs

PROGRAMS = Programs("recurrent")
program = PROGRAMS.add


@program(lambda d: (d.normal(100, 16, 64), d.dense(64, 384), d.dense(128, 384), d.normal(384)))
def gru(inputs: Array, w: Array, u: Array, bias: Array) -> Array:
    """100 steps of 128 units, 16 sequences."""
    before = inputs @ w + bias

    def step(h: Array, x: Array) -> tuple[Array, Array]:
        a, b, c = jnp.split(x, 3, -1)
        d, e, f = jnp.split(h @ u, 3, -1)
        update, reset = jax.nn.sigmoid(a + d), jax.nn.sigmoid(b + e)
        h = (1 - update) * jnp.tanh(c + reset * f) + update * h
        return h, h

    return lax.scan(step, jnp.zeros((16, 128)), before)[1]


@program(lambda d: (d.normal(50, 1, 40), d.dense(40, 400), d.dense(100, 400), d.normal(400)))
def lstm(inputs: Array, w: Array, u: Array, bias: Array) -> tuple[Array, Array]:
    """50 steps of 100 units, one sequence."""

    def step(state: tuple[Array, Array], x: Array) -> tuple[tuple[Array, Array], Array]:
        h, c = state
        i, f, g, o = jnp.split(x @ w + h @ u + bias, 4, -1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    (h, _), outputs = lax.scan(step, (jnp.zeros((1, 100)), jnp.zeros((1, 100))), inputs)
    return h, outputs


@program(lambda d: (d.normal(256, 8, 32), d.dense(32, 64), d.dense(64, 64)))
def simple_rnn(inputs: Array, w: Array, u: Array) -> Array:
    def step(h: Array, x: Array) -> tuple[Array, None]:
        return jnp.tanh(x @ w + h @ u), None

    return lax.scan(step, jnp.zeros((8, 64)), inputs)[0]


@program(lambda d: (d.normal(512, 128), d.uniform(0.5, 0.99, 128, 16), d.normal(128, 16), d.normal(128, 16)))
def state_space(inputs: Array, decay: Array, b: Array, c: Array) -> Array:
    """A diagonal state-space layer by an associative scan."""

    def combine(left: tuple[Array, Array], right: tuple[Array, Array]) -> tuple[Array, Array]:
        return left[0] * right[0], left[1] * right[0] + right[1]

    decays = jnp.broadcast_to(decay, (inputs.shape[0], *decay.shape))
    states = lax.associative_scan(combine, (decays, inputs[..., None] * b))[1]
    return jnp.einsum("tdn,dn->td", states, c)


@program(lambda d: (d.normal(10000),))
def compressor(samples: Array) -> Array:
    """The loudness of a sound follows its peaks; what is above the threshold counts by its root."""

    def step(level: Array, sample: Array) -> tuple[Array, Array]:
        size = jnp.abs(sample)
        level = jnp.where(size > level, 0.9 * level + 0.1 * size, 0.999 * level + 0.001 * size)
        return level, sample * jnp.where(level > 0.5, (0.5 / level) ** 0.5, 1.0)

    return lax.scan(step, jnp.zeros(()), samples)[1]

"""Training steps: loss, gradients and update."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax, random

from .convolutions import conv
from .models import attention_of, layernorm_of
from .program import Draw, Programs

PROGRAMS = Programs("training")
program = PROGRAMS.add

Params = dict[str, Any]


def adam(params: Params, moments: tuple[Params, Params], gradients: Params) -> tuple[Params, tuple[Params, Params]]:
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, moments[0], gradients)
    second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, moments[1], gradients)
    params = jax.tree.map(lambda p, m, v: p - 1e-3 * m / (jnp.sqrt(v) + 1e-6), params, first, second)
    return params, (first, second)


def cross_entropy(logits: Array, labels: Array) -> Array:
    return -jnp.mean(jnp.sum(jax.nn.log_softmax(logits) * jax.nn.one_hot(labels, logits.shape[-1]), -1))


def _mlp_params(d: Draw) -> Params:
    return {"w1": d.dense(256, 512), "b1": d.normal(512), "w2": d.dense(512, 10), "b2": d.normal(10)}


@program(lambda d: (_mlp_params(d), d.normal(128, 256), d.integers(0, 10, 128)))
def mlp_step(params: Params, x: Array, labels: Array) -> tuple[Params, Array]:
    def loss_of(p: Params) -> Array:
        return cross_entropy(jax.nn.relu(x @ p["w1"] + p["b1"]) @ p["w2"] + p["b2"], labels)

    loss, gradients = jax.value_and_grad(loss_of)(params)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradients), loss


def _convnet_params(d: Draw) -> Params:
    return {"k1": d.kernel(3, 3, 1, 16), "k2": d.kernel(3, 3, 16, 32), "head": d.dense(1568, 10), "bias": d.normal(10)}


@program(lambda d: (_convnet_params(d), d.normal(32, 28, 28, 1), d.integers(0, 10, 32)))
def convnet_step(params: Params, x: Array, labels: Array) -> tuple[Params, Array]:
    def loss_of(p: Params) -> Array:
        h = x
        for name in ("k1", "k2"):
            h = jax.nn.relu(conv(h, p[name]))
            h = lax.reduce_window(h, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        return cross_entropy(h.reshape(h.shape[0], -1) @ p["head"] + p["bias"], labels)

    loss, gradients = jax.value_and_grad(loss_of)(params)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradients), loss


def _gpt_params(d: Draw) -> Params:
    def block() -> Params:
        weights = {
            "qkv": d.dense(128, 384),
            "out": d.dense(128, 128),
            "up": d.dense(128, 512),
            "down": d.dense(512, 128),
        }
        return weights | {"gain": d.normal(128), "bias": d.normal(128)}

    return {"table": d.normal(512, 128, scale=0.1), "places": d.normal(64, 128), "blocks": [block() for _ in range(2)]}


def _gpt_loss(params: Params, tokens: Array) -> Array:
    x = params["table"][tokens] + params["places"]
    batch, length, width = x.shape
    mask = jnp.tril(jnp.ones((length, length), bool))
    for p in params["blocks"]:
        heads = (layernorm_of(x, p["gain"], p["bias"]) @ p["qkv"]).reshape(batch, length, 3, 4, width // 4)
        mixed = attention_of(*heads.transpose(2, 0, 3, 1, 4), mask)
        x = x + mixed.transpose(0, 2, 1, 3).reshape(x.shape) @ p["out"]
        x = x + jax.nn.gelu(layernorm_of(x, p["gain"], p["bias"]) @ p["up"]) @ p["down"]
    logits = (x @ params["table"].T)[:, :-1]
    right = jnp.take_along_axis(logits, tokens[:, 1:, None], -1)[..., 0]
    return jnp.mean(jax.nn.logsumexp(logits, -1) - right)


def _gpt_arguments(d: Draw) -> tuple[Any, ...]:
    params = _gpt_params(d)
    return (
        params,
        jax.tree.map(lambda p: 0 * p, params),
        jax.tree.map(lambda p: 0 * p + 1, params),
        d.integers(0, 512, 8, 64),
    )


@program(_gpt_arguments)
def gpt_adam_step(params: Params, first: Params, second: Params, tokens: Array) -> tuple[Any, ...]:
    """Two layers of width 128, 8 sequences of 64 tokens."""
    loss, gradients = jax.value_and_grad(_gpt_loss)(params, tokens)
    params, moments = adam(params, (first, second), gradients)
    return params, moments, loss


def _autoencoder_params(d: Draw) -> Params:
    return {"in": d.dense(784, 256), "code": d.dense(256, 64), "out": d.dense(32, 256), "picture": d.dense(256, 784)}


@program(lambda d: (_autoencoder_params(d), d.uniform(0, 1, 64, 784), d.key()))
def variational_autoencoder_step(params: Params, x: Array, key: Array) -> tuple[Params, Array]:
    def loss_of(p: Params) -> Array:
        mean, spread = jnp.split(jax.nn.relu(x @ p["in"]) @ p["code"], 2, -1)
        code = mean + jnp.exp(0.5 * spread) * random.normal(key, mean.shape)
        logits = jax.nn.relu(code @ p["out"]) @ p["picture"]
        likelihood = jnp.sum(jax.nn.softplus(logits) - x * logits, -1)
        return jnp.mean(likelihood + 0.5 * jnp.sum(mean**2 + jnp.exp(spread) - spread - 1, -1))

    loss, gradients = jax.value_and_grad(loss_of)(params)
    return jax.tree.map(lambda p, g: p - 1e-3 * g, params, gradients), loss


@program(
    lambda d: (
        {"w": d.dense(16, 64), "u": d.dense(64, 64), "out": d.dense(64, 8)},
        d.normal(64, 32, 16),
        d.normal(32, 8),
    )
)
def rnn_step(params: Params, inputs: Array, targets: Array) -> tuple[Params, Array]:
    """Backpropagation through 64 steps."""

    def loss_of(p: Params) -> Array:
        def step(h: Array, x: Array) -> tuple[Array, None]:
            return jnp.tanh(x @ p["w"] + h @ p["u"]), None

        return jnp.mean((lax.scan(step, jnp.zeros((32, 64)), inputs)[0] @ p["out"] - targets) ** 2)

    loss, gradients = jax.value_and_grad(loss_of)(params)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradients), loss


@program(lambda d: ([d.normal(512, 512) for _ in range(4)], [d.normal(512, 512) for _ in range(4)]))
def clipped_momentum(params: list[Array], gradients: list[Array]) -> list[Array]:
    """An optimizer alone: gradients clipped by their global norm."""
    norm = jnp.sqrt(sum(jnp.sum(g * g) for g in gradients))
    scale = jnp.minimum(1.0, 1.0 / norm)
    return [p * (1 - 1e-4) - 0.1 * g * scale for p, g in zip(params, gradients, strict=True)]


@program(lambda d: (d.normal(4, 4096, 2, scale=0.1), d.dense(8, 32), d.dense(32, 4), d.uniform(0, 1, 2048, 3)))
def hash_grid_step(tables: Array, w1: Array, w2: Array, points: Array) -> tuple[tuple[Array, ...], Array]:
    """Features of points in space, interpolated between the corners of cells in a table for each of 4 resolutions."""
    primes = jnp.array([1, 2654435761, 805459861], jnp.uint32)

    def features(table: Array, resolution: float) -> Array:
        scaled = points * resolution
        cell = jnp.floor(scaled)
        part = scaled - cell
        total = jnp.zeros((points.shape[0], table.shape[1]))
        for corner in range(8):
            side = jnp.array([corner >> 2, corner >> 1 & 1, corner & 1], jnp.uint32)
            x, y, z = jnp.moveaxis((cell.astype(jnp.uint32) + side) * primes, 1, 0)
            weight = jnp.prod(jnp.where(side == 1, part, 1 - part), -1)
            total += table[(x ^ y ^ z) % table.shape[0]] * weight[:, None]
        return total

    def loss_of(p: tuple[Array, ...]) -> Array:
        tables, w1, w2 = p
        found = [features(tables[level], 16 * 1.5**level) for level in range(tables.shape[0])]
        return jnp.mean((jax.nn.relu(jnp.concatenate(found, -1) @ w1) @ w2) ** 2)

    params = (tables, w1, w2)
    loss, gradients = jax.value_and_grad(loss_of)(params)
    return tuple(p - 0.1 * g for p, g in zip(params, gradients, strict=True)), loss


def deep_layers(draw: Draw) -> Params:
    return {
        f"layer{k}": {
            "weights": draw.dense(37, 37),
            "bias": draw.normal(37, scale=0.1),
            "scale": draw.uniform(0.9, 1.1, 37),
        }
        for k in range(20)
    }


@program(lambda d: (deep_layers(d), d.normal(29, 37), d.normal(29)))
def many_small_parameters(params: Params, x: Array, y: Array) -> Any:
    """A first step of Adam with clipped gradients: 60 arrays of 37 elements a row."""

    def loss_of(params: Params) -> Array:
        h = x
        for layer in params.values():
            scaled = h * lax.rsqrt(jnp.mean(h * h, -1, keepdims=True) + 1e-6) * layer["scale"]
            h = h + 0.3 * jax.nn.silu(scaled @ layer["weights"] + layer["bias"])
        return jnp.mean((jnp.mean(h, -1) - y) ** 2)

    loss, gradients = jax.value_and_grad(loss_of)(params)
    norm = jnp.sqrt(sum(jnp.sum(g * g) for g in jax.tree.leaves(gradients)))
    gradients = jax.tree.map(lambda g: g * jnp.minimum(1.0, 1.0 / norm), gradients)
    zeros = jax.tree.map(jnp.zeros_like, params)
    return loss, adam(params, (zeros, zeros), gradients)


@program(
    lambda d: (
        {"w1": d.dense(1, 40), "b1": d.normal(40), "w2": d.dense(40, 40), "b2": d.normal(40), "w3": d.dense(40, 15)},
        d.uniform(-1, 1, 257, 1),
        d.normal(257, 1),
    )
)
def mixture_density_epoch(params: Params, x: Array, y: Array) -> tuple[Params, Array]:
    """20 steps of a network for mixtures of five normal distributions."""

    def loss_of(params: Params) -> Array:
        h = jnp.tanh(jnp.tanh(x @ params["w1"] + params["b1"]) @ params["w2"] + params["b2"]) @ params["w3"]
        weights, means, logs = jnp.split(h, 3, -1)
        parts = jax.nn.log_softmax(weights) + jax.scipy.stats.norm.logpdf(y, means, jnp.exp(logs))
        return -jnp.mean(jax.scipy.special.logsumexp(parts, axis=-1))

    def step(state: tuple[Params, tuple[Params, Params]], _: None) -> tuple[Any, Array]:
        params, moments = state
        loss, gradients = jax.value_and_grad(loss_of)(params)
        return adam(params, moments, gradients), loss

    zeros = jax.tree.map(jnp.zeros_like, params)
    (params, _), losses = lax.scan(step, (params, (zeros, zeros)), None, length=20)
    return params, losses


@program(
    lambda d: (d.normal(20, 32, 6), d.normal(21, 32), d.normal(20, 32, 6), d.integers(0, 6, 20, 32), d.normal(20, 32))
)
def policy_gradient(logits: Array, values: Array, behaviour: Array, actions: Array, rewards: Array) -> Any:
    """The loss of an actor and its critic by V-trace, and its gradient: 32 episodes of 20 steps, six actions."""

    def chosen(logits: Array) -> Array:
        return jnp.take_along_axis(jax.nn.log_softmax(logits), actions[..., None], -1)[..., 0]

    def loss_of(parts: tuple[Array, Array]) -> Array:
        logits, values = parts
        known = lax.stop_gradient(values)
        ratio = jnp.minimum(1.0, jnp.exp(lax.stop_gradient(chosen(logits)) - chosen(behaviour)))
        errors = ratio * (rewards + 0.99 * known[1:] - known[:-1])

        def step(later: Array, at: tuple[Array, Array]) -> tuple[Array, Array]:
            error, ratio = at
            total = error + 0.99 * ratio * later
            return total, total

        sums = lax.scan(step, jnp.zeros(32), (errors, ratio), reverse=True)[1]
        targets = sums + known[:-1]
        following = jnp.concatenate([targets[1:], known[-1:]])
        advantages = ratio * (rewards + 0.99 * following - known[:-1])
        policy = jax.nn.softmax(logits)
        entropy = -jnp.sum(policy * jnp.log(policy), -1)
        errors = (targets - values[:-1]) ** 2
        return jnp.mean(-chosen(logits) * advantages + 0.5 * errors - 0.01 * entropy)

    return jax.value_and_grad(loss_of)((logits, values))

"""Training steps of memory.py that no other benchmark has: a U-Net, a GAN, a mixture of experts, and translation."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jax_programs.program import JaxProgram

Params = Any


class Draw:
    """Random arrays in the order in which they are asked for."""

    def __init__(self) -> None:
        self.numbers = np.random.default_rng(0)

    def __call__(self, *shape: int, scale: float = 0.05) -> np.ndarray:
        return (scale * self.numbers.standard_normal(shape)).astype(np.float32)

    def labels(self, most: int, *shape: int) -> np.ndarray:
        return self.numbers.integers(0, most, shape).astype(np.int32)


def descend(loss_of: Callable[..., Array], params: Params, *arguments: Array) -> tuple[Params, Array]:
    loss, gradients = jax.value_and_grad(loss_of)(params, *arguments)
    return jax.tree.map(lambda p, g: p - 1e-2 * g, params, gradients), loss


def conv(x: Array, kernel: Array, stride: int = 1) -> Array:
    return lax.conv_general_dilated(x, kernel, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def unet() -> JaxProgram:
    draw = Draw()
    widths = (16, 32, 64)
    down = [draw(3, 3, a, b) for a, b in zip((3, *widths), widths, strict=False)]
    up = [draw(3, 3, b + a, a) for a, b in itertools.pairwise(widths)]

    def loss_of(p: Params, images: Array, masks: Array) -> Array:
        x, kept = images, []
        for number, kernel in enumerate(p["down"]):
            x = jax.nn.relu(conv(x, kernel, 2 if number else 1))
            kept.append(x)
        for skip, kernel in zip(kept[-2::-1], p["up"][::-1], strict=True):
            x = jnp.repeat(jnp.repeat(x, 2, 1), 2, 2)
            x = jax.nn.relu(conv(jnp.concatenate([x, skip], -1), kernel))
        return jnp.mean(sigmoid_loss(conv(x, p["head"])[..., 0], masks))

    params = {"down": down, "up": up, "head": draw(1, 1, 16, 1)}
    arguments = (params, draw(8, 64, 64, 3, scale=1), draw.labels(2, 8, 64, 64).astype(np.float32))
    return JaxProgram("U-Net, a step", lambda *given: descend(loss_of, *given), arguments)


def sigmoid_loss(logits: Array, labels: Array) -> Array:
    """The cross entropy of sigmoid(logits)."""
    return jax.nn.softplus(logits) - labels * logits


def gan() -> JaxProgram:
    draw = Draw()

    def layers(*widths: int) -> list[np.ndarray]:
        return [draw(a, b) for a, b in itertools.pairwise(widths)]

    def run(weights: list[Array], x: Array) -> Array:
        for w in weights[:-1]:
            x = jax.nn.leaky_relu(x @ w)
        return x @ weights[-1]

    def step(generator: Params, critic: Params, noise: Array, images: Array) -> Any:
        def loss_of_critic(c: Params) -> Array:
            made = jnp.tanh(run(generator, noise))
            return jnp.mean(sigmoid_loss(run(c, images), 1.0) + sigmoid_loss(run(c, made), 0.0))

        def loss_of_generator(g: Params) -> Array:
            return jnp.mean(sigmoid_loss(run(critic, jnp.tanh(run(g, noise))), 1.0))

        return descend(loss_of_generator, generator), descend(loss_of_critic, critic)

    arguments = (layers(64, 256, 512, 784), layers(784, 512, 256, 1), draw(128, 64, scale=1), draw(128, 784, scale=1))
    return JaxProgram("GAN, a step of both", step, arguments)


def mixture() -> JaxProgram:
    draw = Draw()

    def loss_of(p: Params, x: Array, targets: Array) -> Array:
        weights, chosen = lax.top_k(jax.nn.softmax(x @ p["gate"]), 2)
        share = jnp.sum(jax.nn.one_hot(chosen, 8) * weights[..., None], -2)
        hidden = jax.nn.gelu(jnp.einsum("td,edh->eth", x, p["up"]))
        y = jnp.einsum("eth,ehd,te->td", hidden, p["down"], share)
        return jnp.mean((y - targets) ** 2)

    params = {"gate": draw(64, 8), "up": draw(8, 64, 256), "down": draw(8, 256, 64)}
    arguments = (params, draw(512, 64, scale=1), draw(512, 64, scale=1))
    return JaxProgram("mixture of experts, a step", lambda *given: descend(loss_of, *given), arguments)


def translation() -> JaxProgram:
    draw = Draw()
    width = 96

    def cell(p: Params, h: Array, x: Array) -> Array:
        a, b, c = jnp.split(x @ p["w"], 3, -1)
        d, e, f = jnp.split(h @ p["u"], 3, -1)
        update = jax.nn.sigmoid(a + d)
        return (1 - update) * jnp.tanh(c + jax.nn.sigmoid(b + e) * f) + update * h

    def loss_of(p: Params, source: Array, target: Array) -> Array:
        def encode(h: Array, x: Array) -> tuple[Array, Array]:
            h = cell(p["encoder"], h, x)
            return h, h

        def decode(h: Array, x: Array) -> tuple[Array, Array]:
            weights = jax.nn.softmax(jnp.einsum("bd,lbd->bl", h, states))
            h = cell(p["decoder"], h, jnp.concatenate([x, jnp.einsum("bl,lbd->bd", weights, states)], -1))
            return h, h

        last, states = lax.scan(encode, jnp.zeros((source.shape[1], width)), p["table"][source])
        _, out = lax.scan(decode, last, p["table"][target[:-1]])
        logits = out @ p["head"]
        right = jnp.take_along_axis(logits, target[1:, :, None], -1)[..., 0]
        return jnp.mean(jax.nn.logsumexp(logits, -1) - right)

    params = {
        "table": draw(500, width),
        "encoder": {"w": draw(width, 3 * width), "u": draw(width, 3 * width)},
        "decoder": {"w": draw(2 * width, 3 * width), "u": draw(width, 3 * width)},
        "head": draw(width, 500),
    }
    arguments = (params, draw.labels(500, 24, 32), draw.labels(500, 25, 32))
    return JaxProgram("translation by GRUs with attention, a step", lambda *given: descend(loss_of, *given), arguments)


STEPS: tuple[Callable[[], JaxProgram], ...] = (unet, gan, mixture, translation)
"""The functions that make the training steps."""

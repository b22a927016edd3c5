"""Train a denoiser on 8x8 pictures of blobs, then draw new ones with DDPM's and DDIM's samplers."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import optimizers
import record
from jax import Array, lax, random

SIDE, CHANNELS, TIMES = 8, 32, 100
OPTIMIZER = optimizers.chain(
    optimizers.clip_by_global_norm(1.0), optimizers.adam(optimizers.warmup_cosine(5e-4, 20, 1000), eps=1e-3)
)


def noise_schedule() -> Array:
    """The share of the picture that is left after each step of adding noise: products of 1 - beta."""
    return jnp.cumprod(1.0 - jnp.linspace(1e-4, 0.06, TIMES))


def init_params(key: Array) -> dict[str, Any]:
    keys = iter(random.split(key, 16))

    def conv(inputs: int, outputs: int, gain: float = 1.0) -> dict[str, Array]:
        scale = gain * (1.0 / (9 * inputs)) ** 0.5
        return {"w": scale * random.normal(next(keys), (3, 3, inputs, outputs)), "b": jnp.zeros(outputs)}

    def dense(inputs: int, outputs: int) -> dict[str, Array]:
        return {"w": inputs**-0.5 * random.normal(next(keys), (inputs, outputs)), "b": jnp.zeros(outputs)}

    def residual(channels: int) -> dict[str, Any]:
        return {
            "norm": {"scale": jnp.ones(channels), "bias": jnp.zeros(channels)},
            "conv1": conv(channels, channels),
            "time": dense(CHANNELS, 2 * channels),
            "conv2": conv(channels, channels, gain=0.1),
        }

    return {
        "time": dense(CHANNELS, CHANNELS),
        "in": conv(1, CHANNELS),
        "fine": residual(CHANNELS),
        "down": conv(CHANNELS, 2 * CHANNELS),
        "coarse": residual(2 * CHANNELS),
        "up": conv(2 * CHANNELS, CHANNELS),
        "last": residual(CHANNELS),
        "out": conv(CHANNELS, 1, gain=0.1),
    }


def apply_conv(p: dict[str, Array], x: Array, stride: int = 1) -> Array:
    dims = ("NHWC", "HWIO", "NHWC")
    return lax.conv_general_dilated(x, p["w"], (stride, stride), "SAME", dimension_numbers=dims) + p["b"]


def group_norm(p: dict[str, Array], x: Array, groups: int = 8) -> Array:
    grouped = x.reshape(*x.shape[:-1], groups, -1)
    mean = jnp.mean(grouped, axis=(1, 2, 4), keepdims=True)
    variance = jnp.var(grouped, axis=(1, 2, 4), keepdims=True)
    return ((grouped - mean) * lax.rsqrt(variance + 1e-5)).reshape(x.shape) * p["scale"] + p["bias"]


def apply_residual(p: dict[str, Any], x: Array, time: Array) -> Array:
    """Two convolutions; the embedded time scales and shifts the features between them."""
    y = apply_conv(p["conv1"], jax.nn.silu(group_norm(p["norm"], x)))
    scale, shift = jnp.split(time @ p["time"]["w"] + p["time"]["b"], 2, axis=-1)
    y = y * (1 + scale[:, None, None]) + shift[:, None, None]
    return x + apply_conv(p["conv2"], jax.nn.silu(y))


def embed_time(time: Array) -> Array:
    """Sines and cosines of the time at several frequencies."""
    angles = time[:, None] * jnp.exp(-jnp.log(1000.0) * jnp.arange(CHANNELS // 2) / (CHANNELS // 2))
    return jnp.concatenate([jnp.sin(angles), jnp.cos(angles)], axis=-1)


def predict_noise(params: dict[str, Any], x: Array, time: Array) -> Array:
    """A U-Net of two levels."""
    embedded = embed_time(time.astype(jnp.float32))
    embedded = jax.nn.silu(embedded @ params["time"]["w"] + params["time"]["b"])
    fine = apply_residual(params["fine"], apply_conv(params["in"], x), embedded)
    coarse = apply_residual(params["coarse"], apply_conv(params["down"], fine, stride=2), embedded)
    wide = jax.image.resize(coarse, (*fine.shape[:3], coarse.shape[3]), "nearest")
    joined = apply_residual(params["last"], fine + apply_conv(params["up"], wide), embedded)
    return apply_conv(params["out"], jax.nn.silu(joined))


def loss_of(params: dict[str, Any], images: Array, key: Array) -> Array:
    when, what = random.split(key)
    time = random.randint(when, (images.shape[0],), 0, TIMES)
    noise = random.normal(what, images.shape)
    kept = noise_schedule()[time][:, None, None, None]
    noisy = jnp.sqrt(kept) * images + jnp.sqrt(1 - kept) * noise
    return jnp.mean((predict_noise(params, noisy, time) - noise) ** 2)


@functools.partial(jax.jit, donate_argnums=0)
def train_step(state: dict[str, Any], images: Array, key: Array) -> tuple[dict[str, Any], Array]:
    """One step of Adam; `average` follows the parameters slowly."""
    loss, grads = jax.value_and_grad(loss_of)(state["params"], images, key)
    updates, optimizer = OPTIMIZER.update(grads, state["optimizer"], state["params"])
    params = optimizers.apply_updates(state["params"], updates)
    average = jax.tree.map(lambda a, p: 0.95 * a + 0.05 * p, state["average"], params)
    return {"params": params, "optimizer": optimizer, "average": average}, loss


@functools.partial(jax.jit, static_argnames="count")
def ddpm(params: dict[str, Any], key: Array, count: int) -> Array:
    """Remove noise in as many steps as it was added, with fresh noise in each."""
    kept = noise_schedule()
    before = jnp.concatenate([jnp.ones(1), kept[:-1]])

    def body(i: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        x, key = carry
        time = TIMES - 1 - i
        key, sub = random.split(key)
        alpha = kept[time] / before[time]
        predicted = predict_noise(params, x, jnp.full(count, time))
        mean = (x - (1 - alpha) / jnp.sqrt(1 - kept[time]) * predicted) / jnp.sqrt(alpha)
        spread = jnp.sqrt((1 - alpha) * (1 - before[time]) / (1 - kept[time]))
        return mean + spread * random.normal(sub, x.shape), key

    key, start = random.split(key)
    return lax.fori_loop(0, TIMES, body, (random.normal(start, (count, SIDE, SIDE, 1)), key))[0]


@functools.partial(jax.jit, static_argnames=("count", "steps"))
def ddim(params: dict[str, Any], key: Array, count: int, steps: int = 20) -> Array:
    """A few large steps without fresh noise."""
    times = jnp.linspace(TIMES - 1, 0, steps).astype(jnp.int32)
    kept = noise_schedule()[times]

    def body(x: Array, step: tuple[Array, Array, Array]) -> tuple[Array, None]:
        time, now, after = step
        predicted = predict_noise(params, x, jnp.full(count, time))
        image = (x - jnp.sqrt(1 - now) * predicted) / jnp.sqrt(now)
        return jnp.sqrt(after) * image + jnp.sqrt(1 - after) * predicted, None

    steps_down = (times, kept, jnp.concatenate([kept[1:], jnp.ones(1)]))
    return lax.scan(body, random.normal(key, (count, SIDE, SIDE, 1)), steps_down)[0]


@functools.partial(jax.jit, static_argnames="count")
def draw(key: Array, count: int) -> Array:
    """Pictures: a round blob somewhere, -1 around it and 1 in its middle."""
    where, how = random.split(key)
    center = random.uniform(where, (count, 2, 1, 1), minval=2.0, maxval=5.0)
    size = random.uniform(how, (count, 1, 1), minval=1.0, maxval=2.0)
    rows, columns = jnp.mgrid[:SIDE, :SIDE]
    distance = (rows - center[:, 0]) ** 2 + (columns - center[:, 1]) ** 2
    return (2 * jnp.exp(-distance / (2 * size**2)) - 1)[..., None]


def init_state(seed: int) -> dict[str, Any]:
    params = jax.jit(init_params)(random.key(seed))
    return {"params": params, "optimizer": OPTIMIZER.init(params), "average": jax.tree.map(jnp.copy, params)}


def main() -> None:
    flags = record.parser(__doc__, steps=200)
    flags.add_argument("--batch", type=int, default=64)
    flags.add_argument("--samples", type=int, default=16)
    options = flags.parse_args()
    root = random.key(options.seed + 1)
    state, log = init_state(options.seed), record.Record()
    for step in range(options.steps):
        data, noise = random.split(random.fold_in(root, step + 1))
        state = log.step(train_step, state, draw(data, options.batch), noise)
    final: dict[str, Any] = {}
    for name, sampler in (("ddpm", ddpm), ("ddim", ddim)):
        samples = sampler(state["average"], random.fold_in(root, 0), options.samples)
        final[f"{name}_mean"], final[f"{name}_std"] = jnp.mean(samples), jnp.std(samples)
    log.finish(options.json, **final)


if __name__ == "__main__":
    main()

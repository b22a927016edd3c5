"""The programs of least_bytes.py: attention, training steps of large networks, an LSTM, Adam and decoding."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, ShapeDtypeStruct, lax

Params = Any
f32, bf16 = jnp.float32, jnp.bfloat16


@dataclass(frozen=True)
class Program:
    """A function with the types of its arguments."""

    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    donated: tuple[int, ...] = ()


def array(*shape: int, dtype: Any = f32) -> ShapeDtypeStruct:
    return ShapeDtypeStruct(shape, dtype)


# Attention


def attention(q: Array, k: Array, v: Array, causal: bool = True) -> Array:
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) * (1 / math.sqrt(q.shape[-1]))
    if causal:
        scores = jnp.where(jnp.tril(jnp.ones(scores.shape[-2:], bool)), scores, -1e30)
    return jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores, -1), v)


def plain_attention(q: Array, k: Array, v: Array) -> Array:
    return attention(q, k, v, False)


def attention_gradient(q: Array, k: Array, v: Array, above: Array) -> tuple[Array, ...]:
    """The result, and the gradients for the gradient `above` of the result."""
    out, backward = jax.vjp(attention, q, k, v)
    return (out, *backward(above))


# Adam


def adam(p: Params, m: Params, v: Params, gradients: Params) -> tuple[Params, Params, Params]:
    m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, gradients)
    v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, v, gradients)
    return jax.tree.map(lambda p, m, v: p - 1e-3 * m / (jnp.sqrt(v) + 1e-8), p, m, v), m, v


# LSTM


def lstm(w: Array, u: Array, bias: Array, inputs: Array, h: Array, c: Array) -> Any:
    def step(state: tuple[Array, Array], x: Array) -> tuple[tuple[Array, Array], Array]:
        h, c = state
        i, f, g, o = jnp.split(x @ w + h @ u + bias, 4, -1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    return lax.scan(step, (h, c), inputs)


def lstm_program(steps: int, batch: int, inputs: int, units: int) -> Program:
    state = array(batch, units)
    arguments = (array(inputs, 4 * units), array(units, 4 * units), array(4 * units), array(steps, batch, inputs))
    return Program(f"LSTM, {steps} steps, {batch} x {units}", lstm, (*arguments, state, state))


# Decoding with a KV cache


def decode(params: Params, keys: list[Array], values: list[Array], x: Array, place: Array) -> Any:
    """One token; the caches are 1 x length x heads x size."""
    new: list[tuple[Array, Array]] = []
    for p, kept_keys, kept_values in zip(params, keys, values, strict=True):
        length, heads, size = kept_keys.shape[1:]
        y = x * lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-5) * p["gain"]
        q, k, v = ((y @ p[name]).reshape(1, heads, size) for name in "qkv")
        all_keys = lax.dynamic_update_slice(kept_keys, k[None], (0, place, 0, 0))
        all_values = lax.dynamic_update_slice(kept_values, v[None], (0, place, 0, 0))
        scores = jnp.einsum("bhd,bthd->bht", q, all_keys) / math.sqrt(size)
        scores = jnp.where(jnp.arange(length) <= place, scores, -1e30)
        mixed = jnp.einsum("bht,bthd->bhd", jax.nn.softmax(scores, -1), all_values)
        x = x + mixed.reshape(x.shape) @ p["out"]
        y = x * lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-5) * p["gain2"]
        x = x + (jax.nn.silu(y @ p["gate"]) * (y @ p["up"])) @ p["down"]
        new.append((all_keys, all_values))
    return x, new


def decode_program() -> Program:
    width, heads, layers, length = 1024, 16, 8, 2048
    square, wide, gain = array(width, width), array(width, 4 * width), array(width)
    block = {"gain": gain, "gain2": gain, "q": square, "k": square, "v": square, "out": square}
    block |= {"gate": wide, "up": wide, "down": array(4 * width, width)}
    caches = [array(1, length, heads, width // heads)] * layers
    arguments = ([block] * layers, caches, caches, array(1, width), array(dtype=jnp.int32))
    return Program("decode with a KV cache of 2048", decode, arguments, (1, 2))


# GPT-2 small


def layernorm(x: Array, gain: Array, bias: Array) -> Array:
    mean, variance = jnp.mean(x, -1, keepdims=True), jnp.var(x, -1, keepdims=True)
    return (x - mean) * lax.rsqrt(variance + 1e-5) * gain + bias


def gpt_params(layers: int, width: int, length: int, vocabulary: int) -> Params:
    gain = array(width)
    block = {"gain": gain, "bias": gain, "gain2": gain, "bias2": gain}
    block |= {
        "qkv": array(width, 3 * width),
        "qkv_bias": array(3 * width),
        "out": array(width, width),
        "out_bias": gain,
    }
    block |= {"up": array(width, 4 * width), "up_bias": array(4 * width), "down": array(4 * width, width)}
    blocks = [block | {"down_bias": gain}] * layers
    table, places = array(vocabulary, width), array(length, width)
    return {"table": table, "places": places, "gain": gain, "bias": gain, "blocks": blocks}


def gpt_loss(params: Params, tokens: Array, compute: Any) -> Array:
    low = jax.tree.map(lambda p: p.astype(compute), params)
    x = low["table"][tokens[:, :-1]] + low["places"]
    batch, length, width = x.shape
    for p in low["blocks"]:
        y = layernorm(x, p["gain"], p["bias"]) @ p["qkv"] + p["qkv_bias"]
        q, k, v = (each.reshape(batch, length, width // 64, 64).swapaxes(1, 2) for each in jnp.split(y, 3, -1))
        x = x + attention(q, k, v).swapaxes(1, 2).reshape(x.shape) @ p["out"] + p["out_bias"]
        y = jax.nn.gelu(layernorm(x, p["gain2"], p["bias2"]) @ p["up"] + p["up_bias"])
        x = x + y @ p["down"] + p["down_bias"]
    logits = (layernorm(x, low["gain"], low["bias"]) @ low["table"].T).astype(f32)
    right = jnp.take_along_axis(logits, tokens[:, 1:, None], -1)[..., 0]
    return jnp.mean(jax.nn.logsumexp(logits, -1) - right)


def gpt_program(batch: int, compute: Any = f32, layers: int = 12) -> Program:
    """A step of Adam, 1024 tokens a sequence."""

    def step(p: Params, m: Params, v: Params, tokens: Array) -> Any:
        loss, gradients = jax.value_and_grad(gpt_loss)(p, tokens, compute)
        return *adam(p, m, v, gradients), loss

    params = gpt_params(layers, 768, 1024, 50257)
    arguments = (params, params, params, array(batch, 1025, dtype=jnp.int32))
    return Program(f"GPT-2 small, a step, {batch} x 1024, {jnp.dtype(compute).name}", step, arguments, (0, 1, 2))


# ResNet-50


def conv(x: Array, kernel: Array, stride: int = 1) -> Array:
    return lax.conv_general_dilated(x, kernel, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def norm(x: Array, p: Params) -> Array:
    """Batch normalization by the batch's own mean and variance."""
    mean, variance = jnp.mean(x, (0, 1, 2)), jnp.var(x, (0, 1, 2))
    return (x - mean) * lax.rsqrt(variance + 1e-5) * p["scale"] + p["bias"]


def resnet50_params() -> Params:
    def unit(side: int, inputs: int, outputs: int) -> Params:
        return {"kernel": array(side, side, inputs, outputs), "scale": array(outputs), "bias": array(outputs)}

    stages: list[list[Params]] = []
    inputs = 64
    for width, blocks in ((64, 3), (128, 4), (256, 6), (512, 3)):
        stage: list[Params] = []
        for number in range(blocks):
            block = {"a": unit(1, inputs, width), "b": unit(3, width, width), "c": unit(1, width, 4 * width)}
            stage.append(block if number else block | {"skip": unit(1, inputs, 4 * width)})
            inputs = 4 * width
        stages.append(stage)
    return {"stem": unit(7, 3, 64), "stages": stages, "head": array(2048, 1000), "head_bias": array(1000)}


def resnet50(params: Params, images: Array) -> Array:
    x = jax.nn.relu(norm(conv(images, params["stem"]["kernel"], 2), params["stem"]))
    x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")
    for number, stage in enumerate(params["stages"]):
        for block in stage:
            stride = 2 if "skip" in block and number else 1
            y = jax.nn.relu(norm(conv(x, block["a"]["kernel"]), block["a"]))
            y = jax.nn.relu(norm(conv(y, block["b"]["kernel"], stride), block["b"]))
            y = norm(conv(y, block["c"]["kernel"]), block["c"])
            skip = norm(conv(x, block["skip"]["kernel"], stride), block["skip"]) if "skip" in block else x
            x = jax.nn.relu(y + skip)
    return jnp.mean(x, (1, 2)) @ params["head"] + params["head_bias"]


def resnet50_program(batch: int) -> Program:
    """A step of gradient descent with momentum, images of 224 x 224."""

    def step(params: Params, momentum: Params, images: Array, labels: Array) -> Any:
        def loss_of(p: Params) -> Array:
            return -jnp.mean(jax.nn.log_softmax(resnet50(p, images)) * jax.nn.one_hot(labels, 1000))

        loss, gradients = jax.value_and_grad(loss_of)(params)
        momentum = jax.tree.map(lambda m, g: 0.9 * m + g, momentum, gradients)
        return jax.tree.map(lambda p, m: p - 0.1 * m, params, momentum), momentum, loss

    params = resnet50_params()
    arguments = (params, params, array(batch, 224, 224, 3), array(batch, dtype=jnp.int32))
    return Program(f"ResNet-50, a step, {batch} images", step, arguments, (0, 1))


def programs() -> Iterator[Program]:
    heads = [array(4, 32, 4096, 128, dtype=bf16)] * 4
    yield Program("attention, bf16", plain_attention, tuple(heads[:3]))
    yield Program("attention, causal, bf16", attention, tuple(heads[:3]))
    yield Program("attention and gradient, causal, bf16", attention_gradient, tuple(heads))
    yield Program("attention and gradient, causal, f32", attention_gradient, (array(4, 32, 4096, 128),) * 4)
    weights = [array(1024, 1024)] * 8
    yield Program("Adam, 8M", adam, (weights, weights, weights, weights), (0, 1, 2))
    yield lstm_program(50, 1, 40, 100)
    yield lstm_program(50, 32, 128, 128)
    yield decode_program()
    yield gpt_program(1)
    yield gpt_program(1, bf16)
    yield gpt_program(8)
    yield resnet50_program(1)
    yield resnet50_program(8)

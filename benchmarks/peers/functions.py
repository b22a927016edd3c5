"""The rows as JAX functions: what JAX, xhlo and IREE compile, and in float64 the expected results."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax

Tuple = tuple[Array, ...]


def mean(x: Array, y: Array) -> Array:
    return jnp.mean(3 * x * x + y)


def sum_of_product(x: Array, y: Array, z: Array) -> Array:
    return jnp.sum(x + y * z)


def chain(x: Array) -> Array:
    a = jnp.tanh(x)
    b = jnp.exp(a) + x
    c = jnp.log(b * b + 1.0)
    d = jnp.tanh(c * 0.5)
    return jnp.exp(-d) * c + a


def black_scholes(price: Array, strike: Array, years: Array) -> Tuple:
    root = 0.3 * jnp.sqrt(years)
    d1 = (jnp.log(price / strike) + 0.065 * years) / root
    late = strike * jnp.exp(-0.02 * years)
    call = price * normal_cdf(d1) - late * normal_cdf(d1 - root)
    return call, call - price + late


def normal_cdf(x: Array) -> Array:
    return 0.5 * (1 + lax.erf(x * 0.7071067811865476))


def softmax(x: Array) -> Array:
    return jax.nn.softmax(x, -1)


def layernorm(x: Array, gain: Array, bias: Array) -> Array:
    mean = jnp.mean(x, -1, keepdims=True)
    variance = jnp.mean((x - mean) ** 2, -1, keepdims=True)
    return (x - mean) * lax.rsqrt(variance + 1e-5) * gain + bias


def matmul_1024(a: Array, b: Array) -> Array:
    return a @ b


matmul_2048 = matmul_bf16 = matmul_1024


def matmul_int8(a: Array, b: Array) -> Array:
    return lax.dot_general(a, b, (((1,), (0,)), ((), ())), preferred_element_type=jnp.int32)


def mlp(x: Array, w1: Array, b1: Array, w2: Array, b2: Array) -> Array:
    return jax.nn.gelu(x @ w1 + b1) @ w2 + b2


def cross_entropy(logits: Array, labels: Array) -> Array:
    right = jnp.take_along_axis(logits, labels[..., None], -1)[..., 0]
    return jnp.mean(jax.nn.logsumexp(logits, -1) - right)


def descended(loss_of: Any, params: Tuple) -> tuple[Tuple, Array]:
    """One step of gradient descent, and the loss before it."""
    loss, gradients = jax.value_and_grad(loss_of)(params)
    return tuple(p - 0.1 * g for p, g in zip(params, gradients, strict=True)), loss


def mlp_step(w1: Array, b1: Array, w2: Array, b2: Array, x: Array, labels: Array) -> tuple[Tuple, Array]:
    def loss_of(p: Tuple) -> Array:
        return cross_entropy(jax.nn.relu(x @ p[0] + p[1]) @ p[2] + p[3], labels)

    return descended(loss_of, (w1, b1, w2, b2))


def attention(q: Array, k: Array, v: Array) -> Array:
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) * q.shape[-1] ** -0.5
    return jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores, -1), v)


def conv2d(x: Array, kernel: Array) -> Array:
    return lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def residual_block(x: Array, k1: Array, k2: Array, b1: Array, b2: Array) -> Array:
    return jax.nn.relu(conv2d(jax.nn.relu(conv2d(x, k1) + b1), k2) + b2 + x)


def max_pool(x: Array) -> Array:
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def convnet_step(k1: Array, k2: Array, w1: Array, w2: Array, x: Array, labels: Array) -> tuple[Tuple, Array]:
    def loss_of(p: Tuple) -> Array:
        h = max_pool(jax.nn.relu(conv2d(x, p[0])))
        h = max_pool(jax.nn.relu(conv2d(h, p[1]))).reshape(x.shape[0], -1)
        return cross_entropy(jax.nn.relu(h @ p[2]) @ p[3], labels)

    return descended(loss_of, (k1, k2, w1, w2))


def lstm(inputs: Array, w: Array, u: Array, bias: Array) -> Array:
    def step(state: tuple[Array, Array], x: Array) -> tuple[tuple[Array, Array], Array]:
        h, c = state
        i, f, g, o = jnp.split(x @ w + h @ u + bias, 4, -1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    zero = jnp.zeros_like(inputs[0])
    return lax.scan(step, (zero, zero), inputs)[1]


def block(x: Array, heads: int, weights: Tuple) -> Array:
    """A causal transformer block with normalization first; weights as rows.py draws them."""
    g1, b1, g2, b2, qkv, out, up, down = weights
    batch, length, width = x.shape
    parts = (layernorm(x, g1, b1) @ qkv).reshape(batch, length, 3, heads, width // heads).transpose(2, 0, 3, 1, 4)
    scores = jnp.einsum("bhqd,bhkd->bhqk", parts[0], parts[1]) * (width // heads) ** -0.5
    scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -1e9)
    mixed = jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores, -1), parts[2])
    x = x + mixed.transpose(0, 2, 1, 3).reshape(x.shape) @ out
    return x + jax.nn.gelu(layernorm(x, g2, b2) @ up) @ down


def transformer_block(x: Array, *weights: Array) -> Array:
    return block(x, 8, weights)


def transformer_step(params: Tuple, first: Tuple, second: Tuple, tokens: Array) -> tuple[Tuple, Tuple, Tuple, Array]:
    def loss_of(p: Tuple) -> Array:
        x = p[0][tokens] + p[1]
        for start in range(2, len(p), 8):
            x = block(x, 4, p[start : start + 8])
        return cross_entropy((x @ p[0].T)[:, :-1], tokens[:, 1:])

    loss, gradients = jax.value_and_grad(loss_of)(params)
    first = tuple(0.9 * m + 0.1 * g for m, g in zip(first, gradients, strict=True))
    second = tuple(0.999 * v + 0.001 * g * g for v, g in zip(second, gradients, strict=True))
    params = tuple(p - 1e-3 * m / (jnp.sqrt(v) + 1e-8) for p, m, v in zip(params, first, second, strict=True))
    return params, first, second, loss


def sort(x: Array) -> Array:
    return jnp.sort(x)


def cumsum(x: Array) -> Array:
    return jnp.cumsum(x)


def top_k(x: Array) -> Tuple:
    return tuple(lax.top_k(x, 100))


def gather(table: Array, rows: Array) -> Array:
    return table[rows]


def scatter_add(table: Array, rows: Array, updates: Array) -> Array:
    return table.at[rows].add(updates)


def transpose(x: Array) -> Array:
    return x.T


def reduce_0(x: Array) -> Array:
    return jnp.sum(x, 0)


def reduce_1(x: Array) -> Array:
    return jnp.sum(x, 1)


def mandelbrot(x: Array, y: Array) -> Array:
    """For each point of the plane, the steps before it leaves."""
    x, y = jnp.meshgrid(x, y)

    def going(state: Tuple) -> Array:
        i, a, b, _ = state
        return (i < 100) & jnp.any(a * a + b * b < 4)

    def step(state: Tuple) -> Tuple:
        i, a, b, count = state
        inside = a * a + b * b < 4
        next_a, next_b = a * a - b * b + x, 2 * a * b + y
        return i + 1, jnp.where(inside, next_a, a), jnp.where(inside, next_b, b), count + inside

    start = (jnp.int32(0), jnp.zeros_like(x), jnp.zeros_like(x), jnp.zeros(x.shape, jnp.int32))
    return lax.while_loop(going, step, start)[3]


def fft(x: Array) -> Array:
    return jnp.fft.fft(x)


def cholesky(a: Array) -> Array:
    return jnp.linalg.cholesky(a)


def small_add(x: Array, y: Array) -> Array:
    return x + y

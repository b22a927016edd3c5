"""NumPy, as one would write each row with it; its BLAS and FFT have their own threads."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .rows import Arguments, Row

SYSTEMS = ("NumPy",)
VERSIONS = {"NumPy": np.__version__}
Array = np.ndarray


def chain(x: Array) -> Array:
    a = np.tanh(x)
    b = np.exp(a) + x
    c = np.log(b * b + np.float32(1))
    return np.exp(-np.tanh(c * np.float32(0.5))) * c + a


def softmax(x: Array) -> Array:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def layernorm(x: Array, gain: Array, bias: Array) -> Array:
    x = x - x.mean(-1, keepdims=True)
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + np.float32(1e-5)) * gain + bias


def gelu(x: Array) -> Array:
    root = np.float32(math.sqrt(2 / math.pi))
    return np.float32(0.5) * x * (1 + np.tanh(root * (x + np.float32(0.044715) * x * x * x)))


def mlp(x: Array, w1: Array, b1: Array, w2: Array, b2: Array) -> Array:
    return gelu(x @ w1 + b1) @ w2 + b2


def mlp_step(w1: Array, b1: Array, w2: Array, b2: Array, x: Array, labels: Array) -> list[Array]:
    n = len(labels)
    h = np.maximum(x @ w1 + b1, 0)
    logits = h @ w2 + b2
    e = np.exp(logits - logits.max(-1, keepdims=True))
    total = e.sum(-1, keepdims=True)
    log_p = logits - logits.max(-1, keepdims=True) - np.log(total)
    loss = -log_p[np.arange(n), labels].mean()
    d = e / total
    d[np.arange(n), labels] -= 1
    d /= n
    dh = (d @ w2.T) * (h > 0)
    rate = np.float32(0.1)
    return [w1 - rate * (x.T @ dh), b1 - rate * dh.sum(0), w2 - rate * (h.T @ d), b2 - rate * d.sum(0), loss]


def attention(q: Array, k: Array, v: Array) -> Array:
    return softmax(q @ k.swapaxes(-1, -2) * np.float32(q.shape[-1] ** -0.5)) @ v


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def lstm(inputs: Array, w: Array, u: Array, bias: Array) -> Array:
    before = inputs @ w + bias
    h = c = np.zeros_like(inputs[0])
    out: list[Array] = []
    for x in before:
        i, f, g, o = np.split(x + h @ u, 4, -1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        out.append(h)
    return np.stack(out)


def block(x: Array, heads: int, g1: Array, b1: Array, g2: Array, b2: Array, *matrices: Array) -> Array:
    qkv, out, up, down = matrices
    batch, length, width = x.shape
    q, k, v = (layernorm(x, g1, b1) @ qkv).reshape(batch, length, 3, heads, width // heads).transpose(2, 0, 3, 1, 4)
    scores = q @ k.swapaxes(-1, -2) * np.float32((width // heads) ** -0.5)
    mixed = softmax(np.where(np.tri(length, dtype=bool), scores, np.float32(-1e9))) @ v
    x = x + mixed.transpose(0, 2, 1, 3).reshape(x.shape) @ out
    return x + gelu(layernorm(x, g2, b2) @ up) @ down


def top_k(x: Array) -> tuple[Array, Array]:
    places = np.argpartition(-x, 100)[:100]
    places = places[np.argsort(-x[places])]
    return x[places], places


def scatter_add(table: Array, rows: Array, updates: Array) -> Array:
    table = table.copy()
    np.add.at(table, rows, updates)
    return table


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "mean": lambda x, y: np.mean(3 * x * x + y),
    "sum_of_product": lambda x, y, z: np.sum(x + y * z),
    "chain": chain,
    "softmax": softmax,
    "layernorm": layernorm,
    "matmul_1024": np.matmul,
    "matmul_2048": np.matmul,
    "mlp": mlp,
    "mlp_step": mlp_step,
    "attention": attention,
    "lstm": lstm,
    "transformer_block": lambda x, *weights: block(x, 8, *weights),
    "sort": np.sort,
    "cumsum": np.cumsum,
    "top_k": top_k,
    "gather": lambda table, rows: table[rows],
    "scatter_add": scatter_add,
    "transpose": lambda x: np.ascontiguousarray(x.T),
    "reduce_0": lambda x: x.sum(0),
    "reduce_1": lambda x: x.sum(1),
    "fft": np.fft.fft,
    "cholesky": np.linalg.cholesky,
    "small_add": np.add,
}
"""Rows that take a call or a few; NumPy has no convolution and no erf."""


def prepare(row: Row, system: str, arguments: Arguments) -> Callable[[], Any] | None:
    function = FUNCTIONS.get(row.name)
    return None if function is None else lambda: function(*arguments)

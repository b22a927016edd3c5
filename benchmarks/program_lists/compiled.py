"""The programs whose compile time is measured: what JAX compiles when it runs eagerly, and small whole programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

CONFORMANCE = Path(__file__).resolve().parents[3] / "shared" / "conformance" / "jax"
"""Programs outside the repository; if they are missing, only the others are measured."""


def _f32(*shape: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, np.float32)


def _i32(*shape: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, np.int32)


def _layernorm(x: Any, scale: Any, offset: Any) -> Any:
    mean = jnp.mean(x, -1, keepdims=True)
    variance = jnp.mean((x - mean) ** 2, -1, keepdims=True)
    return (x - mean) * lax.rsqrt(variance + 1e-5) * scale + offset


def _conv(x: Any, kernel: Any) -> Any:
    return lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def _scan(carry: Any, xs: Any) -> Any:
    return lax.scan(lambda c, x: (c * 0.9 + x, jnp.tanh(c)), carry, xs)


def _while(x: Any) -> Any:
    return lax.while_loop(lambda s: s[0] < 10, lambda s: (s[0] + 1, s[1] * 1.5 + 1), (0, x))


def _mlp_loss(params: Any, x: Any, y: Any) -> Any:
    (w1, b1), (w2, b2) = params
    hidden = jnp.tanh(x @ w1 + b1)
    logits = jax.nn.log_softmax(hidden @ w2 + b2)
    return -jnp.mean(jnp.sum(logits * y, -1))


def _mlp_step(params: Any, x: Any, y: Any) -> Any:
    gradients = jax.grad(_mlp_loss)(params, x, y)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradients)


def _adam_step(p: Any, m: Any, v: Any, g: Any, step: Any) -> Any:
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
    mhat, vhat = m / (1 - 0.9**step), v / (1 - 0.999**step)
    return p - 1e-3 * mhat / (jnp.sqrt(vhat) + 1e-8), m, v


def _attention(q: Any, k: Any, v: Any) -> Any:
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / 4.0
    mask = jnp.tril(jnp.ones(scores.shape[-2:], bool))
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(jnp.where(mask, scores, -1e9)), v)


_MLP = ((_f32(16, 32), _f32(32)), (_f32(32, 10), _f32(10)))
_KEY = jax.ShapeDtypeStruct((2,), np.uint32)

FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "x*2+1, n=4": (lambda x: x * 2 + 1, (_f32(4),)),
    "convert i32 to f32": (lambda x: x.astype(np.float32), (_i32(8),)),
    "iota": (lambda: jnp.arange(16), ()),
    "broadcast": (lambda x: jnp.broadcast_to(x, (4, 8)), (_f32(8),)),
    "add": (lambda x, y: x + y, (_f32(8, 8), _f32(8, 8))),
    "where": (lambda c, x, y: jnp.where(c > 0, x, y), (_f32(8), _f32(8), _f32(8))),
    "reshape": (lambda x: x.reshape(4, 16), (_f32(8, 8),)),
    "transpose": (lambda x: x.T, (_f32(8, 16),)),
    "concatenate": (lambda x, y: jnp.concatenate([x, y]), (_f32(8), _f32(8))),
    "slice": (lambda x: x[2:6], (_f32(8),)),
    "dynamic index": (lambda x, i: x[i], (_f32(8, 4), _i32())),
    "at[].set": (lambda x, y: x.at[2].set(y), (_f32(8), _f32())),
    "sum": (lambda x: jnp.sum(x), (_f32(64),)),
    "mean of an axis": (lambda x: jnp.mean(x, 0), (_f32(32, 16),)),
    "argmax": (lambda x: jnp.argmax(x, -1), (_f32(8, 16),)),
    "cumsum": (lambda x: jnp.cumsum(x), (_f32(64),)),
    "sort": (lambda x: jnp.sort(x), (_f32(4),)),
    "argsort": (lambda x: jnp.argsort(x), (_f32(32),)),
    "top_k": (lambda x: lax.top_k(x, 4), (_f32(32),)),
    "gather": (lambda x, i: jnp.take(x, i, axis=0), (_f32(32, 8), _i32(5))),
    "scatter add": (lambda x, i, y: x.at[i].add(y), (_f32(32, 8), _i32(5), _f32(5, 8))),
    "dot 64x64": (lambda x, y: x @ y, (_f32(64, 64), _f32(64, 64))),
    "dot 8x8": (lambda x, y: x @ y, (_f32(8, 8), _f32(8, 8))),
    "matrix by vector": (lambda x, y: x @ y, (_f32(128, 64), _f32(64))),
    "dot 512x512": (lambda x, y: x @ y, (_f32(512, 512), _f32(512, 512))),
    "batched dot": (lambda x, y: jnp.einsum("bij,bjk->bik", x, y), (_f32(4, 16, 16), _f32(4, 16, 16))),
    "conv 3x3": (_conv, (_f32(2, 8, 8, 4), _f32(3, 3, 4, 8))),
    "softmax": (jax.nn.softmax, (_f32(8, 128),)),
    "layernorm": (_layernorm, (_f32(8, 128), _f32(128), _f32(128))),
    "gelu": (jax.nn.gelu, (_f32(8, 128),)),
    "exp, log, sin": (lambda x: jnp.exp(x) + jnp.log(x) + jnp.sin(x), (_f32(128),)),
    "random bits": (lambda k: jax.random.bits(k, (16,)), (_KEY,)),
    "random normal": (lambda k: jax.random.normal(k, (16,)), (_KEY,)),
    "random split": (lambda k: jax.random.split(k), (_KEY,)),
    "scan": (_scan, (_f32(8), _f32(16, 8))),
    "while": (_while, (_f32(8),)),
    "cond": (lambda p, x: lax.cond(p > 0, jnp.sin, jnp.cos, x), (_i32(), _f32(8))),
    "attention": (_attention, (_f32(2, 16, 2, 8), _f32(2, 16, 2, 8), _f32(2, 16, 2, 8))),
    "MLP loss": (_mlp_loss, (_MLP, _f32(8, 16), _f32(8, 10))),
    "MLP training step": (_mlp_step, (_MLP, _f32(8, 16), _f32(8, 10))),
    "Adam step": (_adam_step, (_f32(32, 32), _f32(32, 32), _f32(32, 32), _f32(32, 32), _f32())),
}


def compile_programs() -> Iterator[tuple[str, str]]:
    """Names and StableHLO texts."""
    for name, (function, arguments) in FUNCTIONS.items():
        yield name, jax.jit(function).lower(*arguments).as_text()
    for path in sorted(CONFORMANCE.glob("*.mlir")):
        yield path.stem, path.read_text()

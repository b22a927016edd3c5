"""Parts of models, as they run in inference."""

from __future__ import annotations

import functools
import operator

import jax
import jax.numpy as jnp
from jax import Array, lax

from .program import Programs

PROGRAMS = Programs("models")
program = PROGRAMS.add


@program(lambda d: (d.normal(64, 784), d.dense(784, 512), d.normal(512), d.dense(512, 512), d.dense(512, 10)))
def mlp(x: Array, w1: Array, bias: Array, w2: Array, w3: Array) -> Array:
    return jax.nn.softmax(jax.nn.relu(jax.nn.relu(x @ w1 + bias) @ w2) @ w3)


@program(lambda d: (d.normal(256, 512), d.dense(512, 1376), d.dense(512, 1376), d.dense(1376, 512), d.normal(512)))
def gated_mlp(x: Array, gate: Array, up: Array, down: Array, gain: Array) -> Array:
    """The feed-forward part of a Llama block, after RMS normalization."""
    h = x * lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * gain
    return x + (jax.nn.silu(h @ gate) * (h @ up)) @ down


def layernorm_of(x: Array, gain: Array, bias: Array) -> Array:
    mean = jnp.mean(x, -1, keepdims=True)
    return (x - mean) * lax.rsqrt(jnp.var(x, -1, keepdims=True) + 1e-5) * gain + bias


def attention_of(q: Array, k: Array, v: Array, mask: Array | None = None) -> Array:
    """Attention over the third dimension of four; the mask is broadcast to the scores."""
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) * q.shape[-1] ** -0.5
    if mask is not None:
        scores = jnp.where(mask, scores, -1e9)
    return jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores, -1), v)


@program(
    lambda d: (
        d.normal(4, 128, 256),
        d.dense(256, 768),
        d.dense(256, 256),
        d.dense(256, 1024),
        d.dense(1024, 256),
        d.normal(256),
        d.normal(256),
    )
)
def transformer_block(x: Array, qkv: Array, out: Array, up: Array, down: Array, gain: Array, bias: Array) -> Array:
    """One block with normalization first, causal, 4 heads."""
    batch, length, width = x.shape
    heads = (layernorm_of(x, gain, bias) @ qkv).reshape(batch, length, 3, 4, width // 4).transpose(2, 0, 3, 1, 4)
    mixed = attention_of(heads[0], heads[1], heads[2], jnp.tril(jnp.ones((length, length), bool)))
    x = x + mixed.transpose(0, 2, 1, 3).reshape(batch, length, width) @ out
    return x + jax.nn.gelu(layernorm_of(x, gain, bias) @ up) @ down


@program(lambda d: tuple(d.normal(2, 8, 256, 64) for _ in range(3)))
def attention(q: Array, k: Array, v: Array) -> Array:
    return attention_of(q, k, v)


@program(lambda d: (*(d.normal(4, 256, 4, 32) for _ in range(3)), d.integers(64, 257, 4)))
def masked_attention(q: Array, k: Array, v: Array, lengths: Array) -> Array:
    """Causal, over sequences of different lengths."""
    q, k, v = (a.transpose(0, 2, 1, 3) for a in (q, k, v))
    place = jnp.arange(q.shape[2])
    mask = (place[:, None] >= place) & (place < lengths[:, None, None, None])
    return attention_of(q, k, v, mask)


@program(lambda d: (d.normal(2, 128, 8, 64), d.normal(2, 128, 2, 64), d.normal(2, 128, 2, 64)))
def grouped_query_attention(q: Array, k: Array, v: Array) -> Array:
    """Eight heads of queries share two of keys and values, after rotary embedding."""
    q, k = rotated(q), rotated(k)
    batch, length, heads, size = q.shape
    groups = k.shape[2]
    q = q.reshape(batch, length, groups, heads // groups, size)
    scores = jnp.einsum("bqghd,bkgd->bghqk", q, k) * size**-0.5
    scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -jnp.inf)
    mixed = jnp.einsum("bghqk,bkgd->bqghd", jax.nn.softmax(scores, -1), v)
    return mixed.reshape(batch, length, heads * size)


def rotated(x: Array) -> Array:
    """Rotary embedding of [batch, length, heads, size]."""
    half = x.shape[-1] // 2
    angles = jnp.arange(x.shape[1])[:, None] * (1e4 ** (-jnp.arange(half) / half))
    sine, cosine = jnp.sin(angles)[:, None], jnp.cos(angles)[:, None]
    a, b = x[..., :half], x[..., half:]
    return jnp.concatenate([a * cosine - b * sine, a * sine + b * cosine], -1)


def decode_of(
    x: Array, keys: Array, values: Array, weights: tuple[Array, ...], place: Array
) -> tuple[Array, Array, Array]:
    """One token through layers of attention over a cache, and of an MLP. Weights and caches are by layer."""

    def layer(x: Array, one: tuple[Array, ...]) -> tuple[Array, tuple[Array, Array]]:
        keys, values, qkv, out, up, down = one
        q, k, v = jnp.split(x @ qkv, 3, -1)
        heads, size = keys.shape[1:]
        keys = lax.dynamic_update_slice(keys, k.reshape(1, heads, size), (place, 0, 0))
        values = lax.dynamic_update_slice(values, v.reshape(1, heads, size), (place, 0, 0))
        scores = jnp.einsum("hd,lhd->hl", q.reshape(heads, size), keys) * size**-0.5
        scores = jnp.where(jnp.arange(keys.shape[0]) <= place, scores, -1e9)
        mixed = jnp.einsum("hl,lhd->hd", jax.nn.softmax(scores, -1), values)
        x = x + mixed.reshape(1, -1) @ out
        return x + jax.nn.gelu(x @ up) @ down, (keys, values)

    x, (keys, values) = lax.scan(layer, x, (keys, values, *weights))
    return x, keys, values


@program(
    lambda d: (
        d.normal(1, 512),
        d.normal(4, 512, 8, 64),
        d.normal(4, 512, 8, 64),
        tuple(d.normal(4, n, m, scale=n**-0.5) for n, m in ((512, 1536), (512, 512), (512, 2048), (2048, 512))),
        d.integers(300, 301)[()],
    )
)
def decode_f32(
    x: Array, keys: Array, values: Array, weights: tuple[Array, ...], place: Array
) -> tuple[Array, Array, Array]:
    """One token of a 4-layer transformer with a cache of 512 places."""
    return decode_of(x, keys, values, weights, place)


@program(
    lambda d: (
        d.bf16(1, 512),
        d.bf16(4, 512, 8, 64),
        d.bf16(4, 512, 8, 64),
        tuple(d.bf16(4, n, m, scale=n**-0.5) for n, m in ((512, 1536), (512, 512), (512, 2048), (2048, 512))),
        d.integers(300, 301)[()],
    ),
    tolerance=0.1,
)
def decode_bf16(
    x: Array, keys: Array, values: Array, weights: tuple[Array, ...], place: Array
) -> tuple[Array, Array, Array]:
    return decode_of(x, keys, values, weights, place)


@program(lambda d: (d.normal(2048, 768), d.normal(768), d.normal(768)))
def layernorm(x: Array, gain: Array, bias: Array) -> Array:
    return layernorm_of(x, gain, bias)


@program(lambda d: (d.normal(2048, 1024),))
def softmax(x: Array) -> Array:
    return jax.nn.softmax(x, -1)


@program(lambda d: (d.normal(8, 64, 512), d.normal(512), d.normal(512)))
def batch_norm_gelu(x: Array, gain: Array, bias: Array) -> Array:
    mean, variance = jnp.mean(x, (0, 1)), jnp.var(x, (0, 1))
    return jax.nn.gelu((x - mean) * lax.rsqrt(variance + 1e-5) * gain + bias, approximate=False)


@program(
    lambda d: (
        d.normal(256, 256),
        d.dense(256, 8),
        d.normal(8, 256, 512, scale=1 / 16),
        d.normal(8, 512, 256, scale=1 / 22),
    )
)
def mixture_of_experts(x: Array, router: Array, up: Array, down: Array) -> Array:
    """Each token goes through two of eight experts; all are computed, and weighted."""
    gates, chosen = lax.top_k(x @ router, 2)
    weights = (jax.nn.softmax(gates, -1)[..., None] * jax.nn.one_hot(chosen, router.shape[1])).sum(1)
    hidden = jax.nn.silu(jnp.einsum("td,edh->teh", x, up))
    return jnp.einsum("teh,ehd,te->td", hidden, down, weights)


@program(lambda d: (d.integers(0, 8000, 8, 128), d.normal(8000, 256), d.normal(128, 256)))
def embedding(tokens: Array, table: Array, places: Array) -> Array:
    x = table[tokens] * 16.0 + places
    return x * lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6)


@program(lambda d: (d.integers(0, 1000, 512), d.normal(1000, 128)))
def one_hot_embedding(tokens: Array, table: Array) -> Array:
    return jax.nn.one_hot(tokens, table.shape[0]) @ table


@program(lambda d: (d.normal(128, 256), d.dense(256, 16000), d.integers(0, 16000, 128)))
def vocabulary_loss(x: Array, table: Array, labels: Array) -> Array:
    logits = x @ table
    right = jnp.take_along_axis(logits, labels[:, None], 1)[:, 0]
    return jnp.mean(jax.nn.logsumexp(logits, -1) - right)


@program(lambda d: (d.normal(64, 128), [d.dense(128, 128) for _ in range(6)], d.normal(128)))
def residual_mlp(x: Array, weights: list[Array], gain: Array) -> Array:
    """Six small layers, each added to what it was given."""
    return functools.reduce(lambda h, w: h + jnp.tanh(operator.matmul(h * gain, w)), weights, x)


@program(
    lambda d: (
        d.normal(32, 256),
        d.integers(-127, 128, 256, 512, dtype="int8"),
        d.uniform(0.001, 0.01, 512),
        d.integers(-127, 128, 512, 256, dtype="int8"),
        d.uniform(0.001, 0.01, 256),
    )
)
def quantized_mlp(x: Array, up: Array, up_scale: Array, down: Array, down_scale: Array) -> Array:
    """Weights in int8; each row of what goes in is rounded to int8, too."""

    def times(x: Array, weights: Array, scale: Array) -> Array:
        own = jnp.max(jnp.abs(x), -1, keepdims=True) / 127
        rounded = jnp.clip(jnp.round(x / own), -127, 127).astype(jnp.int8)
        sums = lax.dot(rounded, weights, preferred_element_type=jnp.int32)
        return sums.astype(jnp.float32) * own * scale

    return times(jax.nn.relu(times(x, up, up_scale)), down, down_scale)


@program(lambda d: (d.normal(4, 64), d.normal(1000, 64, scale=0.3), d.dense(64, 64), d.dense(64, 1000)))
def beam_search(start: Array, table: Array, weights: Array, head: Array) -> tuple[Array, Array]:
    """Twelve tokens of a recurrent model, the four likeliest texts of each row at a time."""
    width, vocabulary, length = 4, 1000, 12

    def step(state: tuple[Array, ...], at: Array) -> tuple[tuple[Array, ...], None]:
        hidden, scores, tokens, last = state
        hidden = jnp.tanh(hidden @ weights + table[last])
        total = scores[..., None] + jax.nn.log_softmax(hidden @ head, -1)
        scores, best = lax.top_k(total.reshape(len(total), -1), width)
        beam, last = best // vocabulary, best % vocabulary
        hidden, tokens = (jnp.take_along_axis(each, beam[..., None], 1) for each in (hidden, tokens))
        return (hidden, scores, tokens.at[:, :, at].set(last), last), None

    batch = len(start)
    hidden = jnp.broadcast_to(start[:, None], (batch, width, start.shape[1]))
    scores = jnp.zeros((batch, 1)) + jnp.where(jnp.arange(width) == 0, 0.0, -1e9)
    nothing = jnp.zeros((batch, width, length), jnp.int32)
    state, _ = lax.scan(step, (hidden, scores, nothing, nothing[:, :, 0]), jnp.arange(length))
    return state[1], state[2]

"""jax.nn, jax.image, attention, losses, layers and optimizers as programs write them."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, nn

from cases import booleans, case, integers, normal, uniform

ROUNDING = "sums of many products in another order"
ACTIVATIONS = ["relu", "relu6", "sigmoid", "softplus", "sparse_plus", "sparse_sigmoid", "soft_sign", "silu", "swish", "mish", "log_sigmoid", "leaky_relu",
               "hard_sigmoid", "hard_silu", "hard_tanh", "elu", "celu", "selu", "gelu", "squareplus", "tanh", "softmax", "log_softmax",
               "logsumexp", "standardize", "logmeanexp"]  # fmt: skip


def with_gradient(f):
    return lambda x: (f(x), jax.grad(lambda x: jnp.sum(f(x) * jnp.cos(x)))(x))


def attention(q, k, v, **options):
    return nn.dot_product_attention(q, k, v, **options)


def layer_norm(x, scale, bias):
    mean = x.mean(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * scale + bias


def batch_norm(x, scale, bias):
    mean, var = x.mean((0, 1, 2)), x.var((0, 1, 2))
    return (x - mean) / jnp.sqrt(var + 1e-5) * scale + bias


def cross_entropy(logits, labels):
    return -jnp.mean(jnp.take_along_axis(nn.log_softmax(logits), labels[:, None], 1))


def lstm(params, xs):
    """A cell over a sequence."""

    def step(state, x):
        h, c = state
        gates = jnp.concatenate([x, h]) @ params["w"] + params["b"]
        i, f, g, o = jnp.split(gates, 4)
        c = nn.sigmoid(f) * c + nn.sigmoid(i) * jnp.tanh(g)
        h = nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    return lax.scan(step, (jnp.zeros(5), jnp.zeros(5)), xs)


def convnet(params, x):
    x = nn.relu(lax.conv_general_dilated(x, params["c"], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")))
    x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    return x.reshape(x.shape[0], -1) @ params["d"]


def transformer_block(params, x):
    """Attention and a feed-forward network, each after a norm."""
    h = layer_norm(x, params["s"], params["s"] * 0)
    q, k, v = (h @ params[name] for name in "qkv")
    split = [a.reshape(*a.shape[:2], 2, 4) for a in (q, k, v)]
    x = x + attention(*split, is_causal=True).reshape(x.shape) @ params["o"]
    return x + nn.gelu(layer_norm(x, params["s"], params["s"]) @ params["up"]) @ params["down"]


def sgd(params, x, y):
    """Three steps with momentum."""

    def loss(p):
        return jnp.mean((x @ p - y) ** 2)

    def step(state, _):
        p, m = state
        value, g = jax.value_and_grad(loss)(p)
        m = 0.9 * m + g
        return (p - 0.1 * m, m), value

    return lax.scan(step, (params, jnp.zeros_like(params)), None, length=3)


def adam(params, x, y):
    """Five steps over a tree."""

    def loss(p):
        return jnp.mean((jnp.tanh(x @ p["w"] + p["b"]) - y) ** 2)

    def step(i, state):
        p, m, v = state
        g = jax.grad(loss)(p)
        m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
        v = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, v, g)
        c1, c2 = 1 - 0.9 ** (i + 1), 1 - 0.99 ** (i + 1)
        return jax.tree.map(lambda p, m, v: p - 0.01 * (m / c1) / (jnp.sqrt(v / c2) + 1e-8), p, m, v), m, v

    zeros = jax.tree.map(jnp.zeros_like, params)
    return lax.fori_loop(0, 5, step, (params, zeros, zeros))


BLOCK = {
    "s": uniform(8, low=0.5, high=1.5),
    **{n: normal(8, 8, scale=0.3) for n in "qkvo"},
    "up": normal(8, 16, scale=0.3),
    "down": normal(16, 8, scale=0.3),
}
QKV = (normal(2, 6, 4, 8), normal(2, 7, 4, 8), normal(2, 7, 4, 8))
SELF = (normal(2, 6, 4, 8), normal(2, 6, 4, 8), normal(2, 6, 4, 8))
RESIZES = ["nearest", "linear", "bilinear", "cubic", "bicubic", "lanczos3", "lanczos5"]


def close(name, function, *arguments, **options):
    """A case with sums that are computed in another order."""
    return case(name, function, *arguments, tolerance=(2e-5, 1e-5), because=ROUNDING, **options)


CASES = [
    *(
        close(
            f"activation_{name}",
            with_gradient(getattr(nn, name)),
            normal(4, 7, scale=2),
            eager=name in ("relu", "gelu", "softmax"),
        )
        for name in ACTIVATIONS
        if hasattr(nn, name)
    ),
    *(
        case(f"activation_bfloat16_{name}", getattr(nn, name), normal(4, 7, dtype="bfloat16"))
        for name in ("relu", "sigmoid", "gelu", "softmax", "silu")
    ),
    case("gelu_exact", lambda x: nn.gelu(x, approximate=False), normal(9)),
    case("glu", nn.glu, normal(3, 8)),
    case(
        "one_hot", lambda i: (nn.one_hot(i, 5), nn.one_hot(i, 5, dtype=jnp.int8, axis=0)), integers(7, low=-1, high=6)
    ),
    case("softmax_where", lambda x, m: nn.softmax(x, where=m, axis=-1), normal(3, 5), np.array([1, 1, 0, 1, 0], bool)),
    case("softmax_of_infinities", nn.softmax, np.array([[1, -np.inf, 2], [-np.inf, -np.inf, 0]], np.float32)),
    case("logsumexp_signed", lambda x, b: nn.logsumexp(x, b=b, return_sign=True), normal(7), normal(7)),
    close("attention", attention, *QKV),
    close("attention_causal", lambda q, k, v: attention(q, k, v, is_causal=True), *SELF),
    close(
        "attention_bias_mask",
        lambda q, k, v, b, m: attention(q, k, v, bias=b, mask=m),
        *QKV,
        normal(2, 4, 6, 7),
        booleans(2, 1, 6, 7),
    ),
    close("attention_grouped", attention, normal(2, 6, 4, 8), normal(2, 7, 2, 8), normal(2, 7, 2, 8)),
    close(
        "attention_lengths",
        lambda q, k, v, l: attention(q, k, v, query_seq_lengths=l, key_value_seq_lengths=l),
        *SELF,
        np.array([3, 6], np.int32),
    ),
    close("attention_window", lambda q, k, v: attention(q, k, v, local_window_size=2), *SELF),
    close("attention_gradient", jax.grad(lambda q, k, v: attention(q, k, v, is_causal=True).sum(), (0, 1, 2)), *SELF),
    case(
        "attention_bfloat16",
        attention,
        *(normal(2, 6, 4, 8, dtype="bfloat16") for _ in range(3)),
        tolerance=(3e-2, 1e-2),
        because="sums rounded to 8 bits",
    ),
    close("layer_norm", layer_norm, normal(4, 9), normal(9), normal(9)),
    close(
        "layer_norm_gradient",
        jax.grad(lambda *a: (layer_norm(*a) ** 2).sum(), (0, 1, 2)),
        normal(4, 9),
        normal(9),
        normal(9),
    ),
    close("batch_norm", batch_norm, normal(2, 4, 4, 3), normal(3), normal(3)),
    close(
        "batch_norm_gradient",
        jax.grad(lambda *a: (batch_norm(*a) ** 3).sum(), (0, 1, 2)),
        normal(2, 4, 4, 3),
        normal(3),
        normal(3),
    ),
    close("cross_entropy", jax.value_and_grad(cross_entropy), normal(5, 9), integers(5, low=0, high=9)),
    close(
        "binary_cross_entropy",
        jax.value_and_grad(lambda x, y: jnp.mean(jnp.maximum(x, 0) - x * y + jnp.log1p(jnp.exp(-jnp.abs(x))))),
        normal(9),
        uniform(9),
    ),
    close(
        "huber",
        jax.value_and_grad(lambda x: jnp.mean(jnp.where(jnp.abs(x) < 1, 0.5 * x**2, jnp.abs(x) - 0.5))),
        normal(20),
    ),
    close(
        "cosine_similarity",
        lambda x, y: jnp.sum(x * y, -1) / (jnp.linalg.norm(x, axis=-1) * jnp.linalg.norm(y, axis=-1)),
        normal(4, 9),
        normal(4, 9),
    ),
    close(
        "kl_divergence",
        lambda x, y: jnp.sum(nn.softmax(x) * (nn.log_softmax(x) - nn.log_softmax(y)), -1),
        normal(4, 9),
        normal(4, 9),
    ),
    close(
        "ctc_like_scan",
        lambda x: lax.scan(lambda a, l: (jnp.logaddexp(a, jnp.roll(a, 1)) + l, a), x[0], x),
        normal(6, 5),
    ),
    close("embedding_gradient", jax.grad(lambda e, i: (e[i] ** 2).sum()), normal(9, 4), integers(3, 5, low=0, high=9)),
    close("lstm", lstm, {"w": normal(8, 20, scale=0.5), "b": normal(20)}, normal(6, 3)),
    close(
        "lstm_gradient",
        jax.grad(lambda p, x: lstm(p, x)[1].sum()),
        {"w": normal(8, 20, scale=0.5), "b": normal(20)},
        normal(6, 3),
    ),
    close(
        "convnet",
        jax.value_and_grad(lambda p, x: (convnet(p, x) ** 2).mean()),
        {"c": normal(3, 3, 2, 4, scale=0.3), "d": normal(64, 3, scale=0.3)},
        normal(2, 8, 8, 2),
    ),
    close("transformer_block", transformer_block, BLOCK, normal(2, 6, 8)),
    close("transformer_gradient", jax.grad(lambda p, x: (transformer_block(p, x) ** 2).mean()), BLOCK, normal(2, 6, 8)),
    close("sgd", sgd, normal(4, 2), normal(8, 4), normal(8, 2)),
    case(
        "adam",
        adam,
        {"w": normal(4, 2), "b": normal(2)},
        normal(8, 4),
        normal(8, 2),
        tolerance=(1e-4, 2e-5),
        because="quotients of small second moments",
    ),
    close(
        "scaled_matmul_quantized",
        lambda x, w: lax.dot((x / 0.1).round().astype(jnp.int8), w, preferred_element_type=jnp.int32) * 0.1,
        normal(4, 8),
        integers(8, 5, low=-127, high=127, dtype="int8"),
    ),
    close(
        "mixture_of_experts",
        lambda x, g, w: jnp.einsum("te,teo->to", nn.softmax(x @ g), jnp.einsum("ti,eio->teo", x, w)),
        normal(5, 4),
        normal(4, 3),
        normal(3, 4, 2),
    ),
    close(
        "rotary_embedding",
        lambda x: jnp.concatenate(
            [
                x[..., :4] * jnp.cos(jnp.arange(6.0)[:, None]) - x[..., 4:] * jnp.sin(jnp.arange(6.0)[:, None]),
                x[..., 4:] * jnp.cos(jnp.arange(6.0)[:, None]) + x[..., :4] * jnp.sin(jnp.arange(6.0)[:, None]),
            ],
            -1,
        ),
        normal(2, 6, 8),
    ),
    close(
        "average_pool",
        lambda x: lax.reduce_window(x, 0.0, lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "SAME") / 4,
        normal(2, 5, 5, 3),
    ),
    # Images.
    *(
        close(
            f"resize_{m}",
            lambda x, m=m: (jax.image.resize(x, (7, 9, 2), m), jax.image.resize(x, (3, 4, 2), m)),
            normal(5, 6, 2),
        )
        for m in RESIZES
    ),
    close("resize_without_antialias", lambda x: jax.image.resize(x, (3, 4), "cubic", antialias=False), normal(7, 9)),
    close("resize_gradient", jax.grad(lambda x: (jax.image.resize(x, (7, 9), "linear") ** 2).sum()), normal(5, 6)),
    close(
        "scale_and_translate",
        lambda x, s, t: jax.image.scale_and_translate(x, (6, 7), (0, 1), s, t, "linear"),
        normal(5, 6),
        np.array([1.2, 0.9], np.float32),
        np.array([0.5, -0.3], np.float32),
    ),
    *(
        close(
            f"map_coordinates_{o}_{m}",
            lambda x, c, o=o, m=m: jax.scipy.ndimage.map_coordinates(x, [c[0], c[1]], o, mode=m),
            normal(5, 6),
            uniform(2, 9, low=-2, high=7),
        )
        for o in (0, 1)
        for m in ("constant", "nearest", "wrap", "mirror")
    ),
]

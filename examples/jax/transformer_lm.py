"""Train a small decoder-only language model on text in a language that the program makes up."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optimizers
import record
from jax import Array, lax, random


@dataclass(frozen=True)
class Config:
    """Sizes; hashable, so that it can be a static argument."""

    vocabulary: int = 256
    length: int = 128
    width: int = 128
    heads: int = 4
    layers: int = 4
    steps: int = 100
    bfloat16: bool = False

    @property
    def compute(self) -> Any:
        return jnp.bfloat16 if self.bfloat16 else jnp.float32


def init_params(config: Config, key: Array) -> dict[str, Any]:
    """Parameters by name; those of the layers are stacked along their first dimension."""
    width, layers = config.width, config.layers
    keys = iter(random.split(key, 6))

    def normal(*shape: int, scale: float) -> Array:
        return scale * random.normal(next(keys), shape)

    return {
        "tokens": normal(config.vocabulary, width, scale=0.02),
        "positions": normal(config.length, width, scale=0.02),
        "layers": {
            "norm1": jnp.ones((layers, width)),
            "qkv": normal(layers, width, 3, width, scale=width**-0.5),
            "out": normal(layers, width, width, scale=(2 * layers * width) ** -0.5),
            "norm2": jnp.ones((layers, width)),
            "up": normal(layers, width, 4 * width, scale=width**-0.5),
            "up_bias": jnp.zeros((layers, 4 * width)),
            "down": normal(layers, 4 * width, width, scale=(8 * layers * width) ** -0.5),
            "down_bias": jnp.zeros((layers, width)),
        },
        "norm_scale": jnp.ones(width),
        "norm_bias": jnp.zeros(width),
    }


def rms_norm(x: Array, scale: Array) -> Array:
    x32 = x.astype(jnp.float32)
    return (x32 * lax.rsqrt(jnp.mean(x32 * x32, axis=-1, keepdims=True) + 1e-6) * scale).astype(x.dtype)


def layer_norm(x: Array, scale: Array, bias: Array) -> Array:
    x32 = x.astype(jnp.float32)
    mean = jnp.mean(x32, axis=-1, keepdims=True)
    variance = jnp.var(x32, axis=-1, keepdims=True)
    return ((x32 - mean) * lax.rsqrt(variance + 1e-6) * scale + bias).astype(x.dtype)


def attention(config: Config, layer: dict[str, Array], x: Array) -> Array:
    """Causal self-attention with all heads at once."""
    batch, length, width = x.shape
    qkv = jnp.einsum("btd,dce->cbte", x, layer["qkv"].astype(x.dtype))
    query, key, value = qkv.reshape(3, batch, length, config.heads, width // config.heads)
    scores = jnp.einsum("bqhd,bkhd->bhqk", query, key).astype(jnp.float32) * (width // config.heads) ** -0.5
    causal = jnp.tril(jnp.ones((length, length), bool))
    weights = jax.nn.softmax(jnp.where(causal, scores, -1e30), axis=-1).astype(x.dtype)
    mixed = jnp.einsum("bhqk,bkhd->bqhd", weights, value).reshape(batch, length, width)
    return mixed @ layer["out"].astype(x.dtype)


def block(config: Config, x: Array, layer: dict[str, Array]) -> tuple[Array, None]:
    x = x + attention(config, layer, rms_norm(x, layer["norm1"]))
    hidden = rms_norm(x, layer["norm2"]) @ layer["up"].astype(x.dtype) + layer["up_bias"].astype(x.dtype)
    return x + jax.nn.gelu(hidden) @ layer["down"].astype(x.dtype) + layer["down_bias"].astype(x.dtype), None


def logits_of(config: Config, params: dict[str, Any], tokens: Array) -> Array:
    """Layers in a scan, each recomputed in the backward pass; the head is the embedding's transpose."""
    x = (params["tokens"][tokens] + params["positions"][: tokens.shape[1]]).astype(config.compute)
    x, _ = lax.scan(jax.checkpoint(functools.partial(block, config)), x, params["layers"])
    x = layer_norm(x, params["norm_scale"], params["norm_bias"])
    return (x @ params["tokens"].T.astype(x.dtype)).astype(jnp.float32)


def loss_of(params: dict[str, Any], config: Config, text: Array) -> Array:
    """Mean cross-entropy of each next token."""
    log_probabilities = jax.nn.log_softmax(logits_of(config, params, text[:, :-1]))
    return -jnp.mean(jnp.take_along_axis(log_probabilities, text[:, 1:, None], axis=-1))


def optimizer_of(config: Config) -> optimizers.Optimizer:
    rate = optimizers.warmup_cosine(peak=1e-3, warmup=20, steps=max(config.steps, 40), floor=1e-4)
    return optimizers.chain(optimizers.clip_by_global_norm(1.0), optimizers.adam(rate, b2=0.99, decay=0.01))


@functools.partial(jax.jit, static_argnames="config", donate_argnames="state")
def train_step(config: Config, state: tuple[Any, Any], text: Array) -> tuple[Any, Array]:
    params, optimizer = state
    loss, grads = jax.value_and_grad(loss_of)(params, config, text)
    updates, optimizer = optimizer_of(config).update(grads, optimizer, params)
    return (optimizers.apply_updates(params, updates), optimizer), loss


def init_state(config: Config, seed: int) -> tuple[Any, Any]:
    params = jax.jit(init_params, static_argnums=0)(config, random.key(seed))
    return params, optimizer_of(config).init(params)


def make_corpus(config: Config, seed: int, words: int = 20_000) -> np.ndarray:
    """Words of random syllables; which word follows depends on the one before."""
    rng = np.random.default_rng(seed)
    lexicon = [rng.integers(1, config.vocabulary, rng.integers(2, 7)) for _ in range(200)]
    followers = rng.integers(0, len(lexicon), (len(lexicon), 4))
    word, text = 0, []
    for choice in rng.integers(0, 4, words):
        text.extend([*lexicon[word], 0])
        word = followers[word, choice]
    return np.asarray(text, np.int32)


def sample_batch(corpus: np.ndarray, rng: np.random.Generator, config: Config, batch: int) -> np.ndarray:
    starts = rng.integers(0, len(corpus) - config.length - 1, batch)
    return np.stack([corpus[start : start + config.length + 1] for start in starts])


def main() -> None:
    flags = record.parser(__doc__, steps=100)
    flags.add_argument("--batch", type=int, default=8)
    flags.add_argument("--width", type=int, default=128)
    flags.add_argument("--layers", type=int, default=4)
    flags.add_argument("--length", type=int, default=128)
    flags.add_argument("--bfloat16", action="store_true", help="compute in bfloat16, parameters stay float32")
    options = flags.parse_args()
    config = Config(
        width=options.width,
        layers=options.layers,
        length=options.length,
        steps=options.steps,
        bfloat16=options.bfloat16,
    )
    corpus, rng = make_corpus(config, options.seed), np.random.default_rng(options.seed + 1)
    state, log = init_state(config, options.seed), record.Record()
    for _ in range(options.steps):
        text = sample_batch(corpus, rng, config, options.batch)
        state = log.step(train_step, config, state, text)
    held_out = sample_batch(corpus, np.random.default_rng(options.seed + 2), config, options.batch)
    log.finish(options.json, held_out=jax.jit(loss_of, static_argnums=1)(state[0], config, held_out))


if __name__ == "__main__":
    main()

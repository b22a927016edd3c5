"""Write the .mlir files of this folder: `python examples/export_from_jax.py` (needs jax; CI does not run it)."""

from __future__ import annotations

from pathlib import Path

import jax
import jax.numpy as jnp
from jax import Array, nn

F32 = jnp.float32


def running_example(x: Array, y: Array) -> Array:
    """mean(3 x^2 + y)"""
    return jnp.mean(3 * x * x + y)


def softmax(x: Array) -> Array:
    return nn.softmax(x, axis=-1)


def layernorm(x: Array, scale: Array, bias: Array) -> Array:
    mean = x.mean(-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * scale + bias


def gelu_mlp(x: Array, w1: Array, b1: Array, w2: Array, b2: Array) -> Array:
    return nn.gelu(x @ w1 + b1, approximate=False) @ w2 + b2


def mlp_loss(params: list[tuple[Array, Array]], images: Array, labels: Array) -> Array:
    """Mean cross-entropy of a two-layer MLP against one-hot labels."""
    (w1, b1), (w2, b2) = params
    logits = nn.relu(images @ w1 + b1) @ w2 + b2
    one_hot = nn.one_hot(labels, logits.shape[-1])
    return -jnp.mean(jnp.sum(nn.log_softmax(logits) * one_hot, axis=-1))


def mlp_training_step(
    params: list[tuple[Array, Array]], images: Array, labels: Array
) -> tuple[Array, list[tuple[Array, Array]]]:
    """One step of SGD, learning rate 0.1."""
    loss, gradients = jax.value_and_grad(mlp_loss)(params, images, labels)
    return loss, jax.tree.map(lambda p, g: p - 0.1 * g, params, gradients)


def shape(*dims: int, dtype: jnp.dtype = F32) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(dims, dtype)


def main() -> None:
    mlp = [(shape(784, 512), shape(512)), (shape(512, 10), shape(10))]
    programs = {
        "running_example": (running_example, (shape(1 << 20), shape(1 << 20))),
        "softmax": (softmax, (shape(512, 1024),)),
        "layernorm": (layernorm, (shape(512, 768), shape(768), shape(768))),
        "gelu_mlp": (gelu_mlp, (shape(64, 256), shape(256, 1024), shape(1024), shape(1024, 256), shape(256))),
        "mlp_training_step": (mlp_training_step, (mlp, shape(128, 784), shape(128, dtype=jnp.int32))),
    }
    for name, (function, arguments) in programs.items():
        text = jax.jit(function).lower(*arguments).as_text()
        Path(__file__).with_name(f"{name}.mlir").write_text(text)


if __name__ == "__main__":
    main()

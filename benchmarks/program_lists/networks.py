"""The programs of jax_steps.py: the training steps of examples/jax, and the forward passes of two networks."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax, random

from jax_programs.program import JaxProgram

sys.path.append(str(Path(__file__).parents[2] / "examples" / "jax"))

import diffusion
import mnist_convnet
import transformer_lm


def convnet_step() -> JaxProgram:
    images, labels = mnist_convnet.draw(random.key(1), mnist_convnet.make_prototypes(random.key(2)), 128)
    arguments = (mnist_convnet.init_state(0), images, labels, random.key(3))
    return JaxProgram("mnist_convnet, a step", mnist_convnet.train_step.__wrapped__, arguments)


def lm_step(name: str, **sizes: Any) -> JaxProgram:
    config = transformer_lm.Config(**sizes)
    corpus = transformer_lm.make_corpus(config, 0)
    text = transformer_lm.sample_batch(corpus, np.random.default_rng(1), config, 8)
    step = functools.partial(transformer_lm.train_step.__wrapped__, config)
    return JaxProgram(name, step, (transformer_lm.init_state(config, 0), text))


def diffusion_step() -> JaxProgram:
    arguments = (diffusion.init_state(0), diffusion.draw(random.key(1), 64), random.key(2))
    return JaxProgram("diffusion, a step", diffusion.train_step.__wrapped__, arguments)


def diffusion_sampler() -> JaxProgram:
    sampler = functools.partial(diffusion.ddim.__wrapped__, count=16)
    return JaxProgram("diffusion, 20 steps of DDIM", sampler, (diffusion.init_state(0)["params"], random.key(2)))


def conv(x: Array, kernel: Array, stride: int = 1) -> Array:
    return lax.conv_general_dilated(x, kernel, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def norm(x: Array, p: dict[str, Array]) -> Array:
    """Batch normalization by the batch's own mean and variance."""
    mean, variance = jnp.mean(x, (0, 1, 2)), jnp.var(x, (0, 1, 2))
    return (x - mean) * lax.rsqrt(variance + 1e-5) * p["scale"] + p["bias"]


def resnet_params(key: Array, widths: tuple[int, ...] = (32, 64, 128), blocks: int = 2) -> dict[str, Any]:
    keys = iter(random.split(key, 64))

    def unit(side: int, inputs: int, outputs: int) -> dict[str, Array]:
        kernel = (2 / (side * side * inputs)) ** 0.5 * random.normal(next(keys), (side, side, inputs, outputs))
        return {"kernel": kernel, "scale": jnp.ones(outputs), "bias": jnp.zeros(outputs)}

    stages: list[list[dict[str, Any]]] = []
    inputs = widths[0]
    for width in widths:
        stage: list[dict[str, Any]] = []
        for _ in range(blocks):
            stage.append({"a": unit(3, inputs, width), "b": unit(3, width, width)})
            if inputs != width:
                stage[-1]["skip"] = unit(1, inputs, width)
            inputs = width
        stages.append(stage)
    return {"stem": unit(3, 3, widths[0]), "stages": stages, "head": 0.1 * random.normal(next(keys), (inputs, 10))}


def resnet(params: dict[str, Any], images: Array) -> Array:
    """Logits of a residual network on pictures of 32x32."""
    x = jax.nn.relu(norm(conv(images, params["stem"]["kernel"]), params["stem"]))
    for stage in params["stages"]:
        for block in stage:
            stride = 2 if "skip" in block else 1
            y = jax.nn.relu(norm(conv(x, block["a"]["kernel"], stride), block["a"]))
            y = norm(conv(y, block["b"]["kernel"]), block["b"])
            skip = norm(conv(x, block["skip"]["kernel"], stride), block["skip"]) if "skip" in block else x
            x = jax.nn.relu(y + skip)
    return jnp.mean(x, (1, 2)) @ params["head"]


def resnet_step(params: dict[str, Any], images: Array, labels: Array) -> tuple[dict[str, Any], Array]:
    """One step of gradient descent."""

    def loss_of(params: dict[str, Any]) -> Array:
        return -jnp.mean(jax.nn.log_softmax(resnet(params, images)) * jax.nn.one_hot(labels, 10))

    loss, grads = jax.value_and_grad(loss_of)(params)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), loss


def resnet_arguments() -> tuple[dict[str, Any], Array, np.ndarray]:
    key = random.key(4)
    return resnet_params(key), random.normal(key, (32, 32, 32, 3)), (np.arange(32) % 10).astype(np.int32)


def resnet_forward() -> JaxProgram:
    return JaxProgram("ResNet of 13 convolutions, 32x32x32, forward", resnet, resnet_arguments()[:2])


def resnet_training() -> JaxProgram:
    return JaxProgram("the same ResNet, a step", resnet_step, resnet_arguments())


def transformer_forward() -> JaxProgram:
    config = transformer_lm.Config(width=512, heads=8, layers=2, length=256)
    forward = functools.partial(transformer_lm.logits_of, config)
    tokens = np.random.default_rng(0).integers(0, 256, (4, 256), dtype=np.int32)
    params, _ = transformer_lm.init_state(config, 0)
    return JaxProgram("transformer of width 512, 2 layers, 4x256 tokens, forward", forward, (params, tokens))


TRAINING: tuple[Callable[[], JaxProgram], ...] = (
    convnet_step,
    functools.partial(lm_step, "transformer_lm, a step"),
    functools.partial(lm_step, "transformer_lm, width 256, a step", width=256),
    functools.partial(lm_step, "transformer_lm in bfloat16, a step", bfloat16=True),
    diffusion_step,
    resnet_training,
)
"""The functions that make the training steps."""


def network_programs() -> list[JaxProgram]:
    steps = [make() for make in TRAINING]
    return [*steps[:-1], diffusion_sampler(), resnet_forward(), steps[-1], transformer_forward()]

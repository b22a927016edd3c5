"""Convolutions of all forms, forward."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax

from .program import Programs

PROGRAMS = Programs("convolutions")
program = PROGRAMS.add


def conv(x: Array, kernel: Array, stride: int = 1, padding: Any = "SAME", groups: int = 1, dilation: int = 1) -> Array:
    """A convolution with channels last, of one or two dimensions."""
    numbers = ("NHWC", "HWIO", "NHWC") if x.ndim == 4 else ("NWC", "WIO", "NWC")
    return lax.conv_general_dilated(
        x,
        kernel,
        (stride,) * (x.ndim - 2),
        padding,
        rhs_dilation=(dilation,) * (x.ndim - 2),
        dimension_numbers=numbers,
        feature_group_count=groups,
    )


def scaled(x: Array, gain: Array) -> Array:
    """Batch normalization by the batch's own mean and variance."""
    axes = tuple(range(x.ndim - 1))
    return (x - jnp.mean(x, axes)) * lax.rsqrt(jnp.var(x, axes) + 1e-5) * gain


@program(lambda d: (d.normal(4, 1024, 16), d.kernel(3, 16, 32), [d.kernel(3, 32, 32) for _ in range(4)]))
def causal_convolutions_1d(x: Array, first: Array, kernels: list[Array]) -> Array:
    """A WaveNet-like stack: dilations 1, 2, 4, 8."""
    x = conv(x, first, padding=[(2, 0)])
    for power, kernel in enumerate(kernels):
        dilation = 1 << power
        x = x + jnp.tanh(conv(x, kernel, padding=[(2 * dilation, 0)], dilation=dilation))
    return x


@program(
    lambda d: (
        d.normal(16, 32, 32, 3),
        d.kernel(3, 3, 3, 32),
        d.kernel(3, 3, 32, 64),
        d.normal(32),
        d.normal(64),
        d.dense(4096, 10),
    )
)
def convnet(x: Array, k1: Array, k2: Array, b1: Array, b2: Array, head: Array) -> Array:
    """Two convolutions with pooling, and a layer of logits."""
    for kernel, bias in ((k1, b1), (k2, b2)):
        x = jax.nn.relu(conv(x, kernel) + bias)
        x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    return x.reshape(x.shape[0], -1) @ head


@program(lambda d: (d.normal(2, 56, 56, 64), d.kernel(3, 3, 1, 64), d.kernel(1, 1, 64, 128), d.normal(64)))
def depthwise_separable(x: Array, depthwise: Array, pointwise: Array, gain: Array) -> Array:
    return jax.nn.relu6(conv(jax.nn.relu6(scaled(conv(x, depthwise, groups=64), gain)), pointwise))


@program(lambda d: (d.normal(8, 512, 128), d.kernel(31, 1, 128)))
def depthwise_1d(x: Array, kernel: Array) -> Array:
    """The long depthwise kernel of a Conformer."""
    return jax.nn.silu(conv(x, kernel, groups=128))


@program(
    lambda d: (
        d.normal(4, 28, 28, 64),
        d.kernel(3, 3, 64, 128),
        d.kernel(3, 3, 128, 128),
        d.kernel(1, 1, 64, 128),
        d.normal(128),
        d.normal(128),
    )
)
def resnet_block(x: Array, k1: Array, k2: Array, skip: Array, g1: Array, g2: Array) -> Array:
    y = scaled(conv(jax.nn.relu(scaled(conv(x, k1, 2), g1)), k2), g2)
    return jax.nn.relu(y + conv(x, skip, 2))


@program(
    lambda d: (
        d.normal(2, 64, 64, 16),
        d.kernel(3, 3, 16, 32),
        d.kernel(3, 3, 32, 32),
        d.kernel(2, 2, 32, 16),
        d.kernel(3, 3, 32, 16),
    )
)
def unet_block(x: Array, down: Array, middle: Array, up: Array, merge: Array) -> Array:
    """Down by a stride, up by a transposed convolution, and merged with what was there before."""
    y = jax.nn.relu(conv(jax.nn.relu(conv(x, down, 2)), middle))
    y = lax.conv_transpose(y, up, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return jax.nn.relu(conv(jnp.concatenate([x, y], -1), merge))


@program(lambda d: (d.normal(2, 112, 112, 3), d.kernel(7, 7, 3, 64)))
def first_layer(x: Array, kernel: Array) -> Array:
    """Seven by seven with a stride over three channels, and pooling."""
    x = jax.nn.relu(conv(x, kernel, 2))
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")


@program(lambda d: (d.normal(2, 64, 28, 28), d.normal(128, 16, 3, 3, scale=1 / 12)))
def grouped_channels_first(x: Array, kernel: Array) -> Array:
    """Four groups, in the layout of PyTorch."""
    return lax.conv_general_dilated(x, kernel, (1, 1), ((1, 1), (1, 1)), feature_group_count=4)


@program(lambda d: (d.normal(2, 16, 24, 24, 8), d.kernel(3, 3, 3, 8, 16)))
def volume(x: Array, kernel: Array) -> Array:
    """Three dimensions."""
    numbers = ("NDHWC", "DHWIO", "NDHWC")
    return jax.nn.relu(lax.conv_general_dilated(x, kernel, (1, 1, 1), "SAME", dimension_numbers=numbers))


@program(lambda d: (d.normal(8, 64, 64, 32),))
def average_pool(x: Array) -> Array:
    return lax.reduce_window(x, 0.0, lax.add, (1, 3, 3, 1), (1, 2, 2, 1), "SAME") / 9


@program(lambda d: (d.normal(16, 24, 24, 8), d.normal(16, 3, 3, 8, 8, scale=0.1)))
def kernels_of_examples(x: Array, kernels: Array) -> tuple[Array, Array]:
    """Each example has a kernel of its own, as in a hypernetwork; the gradients of both."""

    def loss_of(x: Array, kernel: Array) -> Array:
        return jnp.sum(conv(x[None], kernel) ** 2)

    return jax.vmap(jax.grad(loss_of, (0, 1)))(x, kernels)

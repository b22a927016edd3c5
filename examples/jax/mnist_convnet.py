"""Train a small convolutional network on pictures of ten kinds that the program draws itself."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import optimizers
import record
from jax import Array, lax, random

SIDE, CLASSES = 28, 10
OPTIMIZER = optimizers.sgd(rate=0.0005, momentum=0.9)

module = jax.tree_util.register_dataclass


@module
@dataclass(frozen=True)
class Conv:
    """A 3x3 convolution, same size."""

    kernel: Array
    bias: Array

    @staticmethod
    def init(key: Array, inputs: int, outputs: int) -> Conv:
        scale = (2.0 / (9 * inputs)) ** 0.5
        return Conv(scale * random.normal(key, (3, 3, inputs, outputs)), jnp.zeros(outputs))

    def __call__(self, x: Array) -> Array:
        dims = ("NHWC", "HWIO", "NHWC")
        return lax.conv_general_dilated(x, self.kernel, (1, 1), "SAME", dimension_numbers=dims) + self.bias


@module
@dataclass(frozen=True)
class Linear:
    weight: Array
    bias: Array

    @staticmethod
    def init(key: Array, inputs: int, outputs: int, gain: float = 1.0) -> Linear:
        return Linear(gain * (2.0 / inputs) ** 0.5 * random.normal(key, (inputs, outputs)), jnp.zeros(outputs))

    def __call__(self, x: Array) -> Array:
        return x @ self.weight + self.bias


@module
@dataclass(frozen=True)
class Network:
    """Two convolutions with pooling, two dense layers with dropout between them."""

    conv1: Conv
    conv2: Conv
    hidden: Linear
    output: Linear

    @staticmethod
    def init(key: Array) -> Network:
        k1, k2, k3, k4 = random.split(key, 4)
        features = (SIDE // 4) ** 2 * 64
        return Network(
            Conv.init(k1, 1, 32),
            Conv.init(k2, 32, 64),
            Linear.init(k3, features, 128),
            Linear.init(k4, 128, CLASSES, gain=0.1),
        )

    def __call__(self, images: Array, dropout: Array | None) -> Array:
        """Logits; with a key, hidden features are dropped."""
        x = max_pool(jax.nn.relu(self.conv1(images)))
        x = max_pool(jax.nn.relu(self.conv2(x)))
        x = jax.nn.relu(self.hidden(x.reshape(x.shape[0], -1)))
        if dropout is not None:
            kept = random.bernoulli(dropout, 0.75, x.shape)
            x = jnp.where(kept, x / 0.75, 0.0)
        return self.output(x)


def max_pool(x: Array) -> Array:
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


@functools.partial(jax.jit, static_argnames="count")
def draw(key: Array, prototypes: Array, count: int) -> tuple[Array, Array]:
    """Pictures: the prototype of a random kind, moved by up to two pixels, of random brightness, with noise."""
    which, where, how, noise = random.split(key, 4)
    labels = random.randint(which, (count,), 0, CLASSES)
    shifts = random.randint(where, (count, 2), -2, 3)
    moved = jax.vmap(lambda image, shift: jnp.roll(image, shift, axis=(0, 1)))(prototypes[labels], shifts)
    brightness = random.uniform(how, (count, 1, 1), minval=0.5, maxval=1.5)
    images = moved * brightness + random.normal(noise, moved.shape)
    return images[..., None], labels


def make_prototypes(key: Array) -> Array:
    """A smooth random picture for each kind; they have much in common."""
    shared, own = random.split(key)
    coarse = random.normal(shared, (5, 5)) + 0.5 * random.normal(own, (CLASSES, 5, 5))
    return jax.image.resize(coarse, (CLASSES, SIDE, SIDE), "cubic")


def loss_of(network: Network, images: Array, labels: Array, dropout: Array) -> Array:
    log_probabilities = jax.nn.log_softmax(network(images, dropout))
    return -jnp.mean(jnp.take_along_axis(log_probabilities, labels[:, None], axis=1))


@functools.partial(jax.jit, donate_argnums=0)
def train_step(state: tuple[Network, Any], images: Array, labels: Array, key: Array) -> tuple[Any, Array]:
    network, optimizer = state
    loss, grads = jax.value_and_grad(loss_of)(network, images, labels, key)
    updates, optimizer = OPTIMIZER.update(grads, optimizer, network)
    return (optimizers.apply_updates(network, updates), optimizer), loss


@jax.jit
def accuracy_of(network: Network, images: Array, labels: Array) -> Array:
    return jnp.mean(jnp.argmax(network(images, None), axis=-1) == labels)


def init_state(seed: int) -> tuple[Network, Any]:
    network = Network.init(random.key(seed))
    return network, OPTIMIZER.init(network)


def main() -> None:
    flags = record.parser(__doc__, steps=200)
    flags.add_argument("--batch", type=int, default=128)
    options = flags.parse_args()
    root = random.key(options.seed + 1)
    prototypes = make_prototypes(random.fold_in(root, 0))
    state, log = init_state(options.seed), record.Record()
    for step in range(options.steps):
        data, dropout = random.split(random.fold_in(root, step + 2))
        images, labels = draw(data, prototypes, options.batch)
        state = log.step(train_step, state, images, labels, dropout)
    images, labels = draw(random.fold_in(root, 1), prototypes, 512)
    log.finish(options.json, accuracy=accuracy_of(state[0], images, labels))


if __name__ == "__main__":
    main()

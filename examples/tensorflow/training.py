"""A training step of a Keras model, compiled by xhlo and by XLA: the same losses, and the time of a step."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf

import xhlo

COMPILERS: dict[str, Callable[[Callable[..., Any]], Any]] = {
    "XLA": lambda step: tf.function(step, jit_compile=True),
    "xhlo": lambda step: xhlo.tensorflow.jit(step),
}


def training_step(model: Any, optimizer: Any, loss_of: Any) -> Callable[[Any, Any], Any]:
    """One step of the optimizer, as TensorFlow's users write it. The optimizer's variables exist before."""
    optimizer.build(model.trainable_variables)

    def step(inputs: Any, labels: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = loss_of(labels, model(inputs, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    return step


def compare(
    make: Callable[[], tuple[Any, Any, Any]], batches: list[tuple[Any, Any]], dtype: str
) -> dict[str, list[float]]:
    """
    The losses of each compiler over the batches, from the same start; prints what a step takes.

    In "float64" the compilers' losses agree to the last digits. In "float32" training multiplies each step's errors of
    rounding, so that losses of two compilers, both right, drift apart.
    """
    keras.config.set_dtype_policy(dtype)
    losses: dict[str, list[float]] = {}
    for name, compiled in COMPILERS.items():
        keras.utils.set_random_seed(0)
        step = compiled(training_step(*make()))
        losses[name], seconds = [], []
        for inputs, labels in batches:
            inputs = tf.cast(inputs, dtype)
            start = time.perf_counter()
            losses[name].append(float(step(inputs, labels)))
            seconds.append(time.perf_counter() - start)
        print(f"{name:>5}, {dtype}: first step {seconds[0]:.2f} s, then {1e3 * statistics.median(seconds[1:]):.2f} ms")
    apart = max(abs(a - b) / abs(a) for a, b in zip(*losses.values(), strict=True))
    first, *_, last = losses["xhlo"]
    print(f"loss {first:.3f} to {last:.3f}; the compilers' losses differ by {apart:.1e} at most")
    keras.config.set_dtype_policy("float32")
    return losses


def draws(steps: int, inputs: Callable[[np.random.Generator], Any], classes: int) -> list[tuple[Any, Any]]:
    """Batches of inputs with labels."""
    rng = np.random.default_rng(0)
    found: list[tuple[Any, Any]] = []
    for _ in range(steps):
        x = inputs(rng)
        labels = (np.abs(x.reshape(len(x), -1)).sum(1) * 100).astype(np.int64) % classes
        found.append((tf.constant(x), tf.constant(labels)))
    return found

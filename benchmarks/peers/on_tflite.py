"""TensorFlow Lite with XNNPACK, on models converted from TensorFlow: inference that ahead.py compares."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from .rows import Row


def gelu(x: Any) -> Any:
    return tf.nn.gelu(x, approximate=True)


def layernorm(x: Any, gain: Any, bias: Any) -> Any:
    mean = tf.reduce_mean(x, -1, keepdims=True)
    variance = tf.reduce_mean(tf.math.squared_difference(x, mean), -1, keepdims=True)
    return (x - mean) * tf.math.rsqrt(variance + 1e-5) * gain + bias


def dense(x: Any, w: Any) -> Any:
    """The product of the last dimension, as fully connected layers compute it."""
    return tf.reshape(tf.matmul(tf.reshape(x, (-1, x.shape[-1])), w), (*x.shape[:-1], w.shape[-1]))


def mlp(x: Any, w1: Any, b1: Any, w2: Any, b2: Any) -> Any:
    return tf.matmul(gelu(tf.matmul(x, w1) + b1), w2) + b2


def residual_block(x: Any, k1: Any, k2: Any, b1: Any, b2: Any) -> Any:
    y = tf.nn.relu(tf.nn.conv2d(x, k1, 1, "SAME") + b1)
    return tf.nn.relu(tf.nn.conv2d(y, k2, 1, "SAME") + b2 + x)


def attention(q: Any, k: Any, v: Any) -> Any:
    return tf.matmul(tf.nn.softmax(tf.matmul(q, k, transpose_b=True) * 0.125), v)


def transformer_block(x: Any, g1: Any, b1: Any, g2: Any, b2: Any, qkv: Any, out: Any, up: Any, down: Any) -> Any:
    parts = tf.reshape(dense(layernorm(x, g1, b1), qkv), (4, 256, 3, 8, 64))
    q, k, v = tf.unstack(tf.transpose(parts, (2, 0, 3, 1, 4)))
    scores = tf.where(np.tri(256, dtype=bool), tf.matmul(q, k, transpose_b=True) * 0.125, -1e9)
    mixed = tf.transpose(tf.matmul(tf.nn.softmax(scores), v), (0, 2, 1, 3))
    x = x + dense(tf.reshape(mixed, (4, 256, 512)), out)
    return x + dense(gelu(dense(layernorm(x, g2, b2), up)), down)


def call_of(row: Row, given: Sequence[np.ndarray], constants: Sequence[np.ndarray]) -> Callable[[], Any]:
    """A model with these constants, on one thread; a call runs it on what it was given."""
    function = globals()[row.name]
    signature = [tf.TensorSpec(array.shape, tf.float32, name=f"x{i}") for i, array in enumerate(given)]
    concrete = tf.function(lambda *x: function(*x, *constants), input_signature=signature).get_concrete_function()
    model = tf.lite.TFLiteConverter.from_concrete_functions([concrete]).convert()
    interpreter = tf.lite.Interpreter(model_content=model, num_threads=1)
    interpreter.allocate_tensors()
    for place in interpreter.get_input_details():
        number = int(place["name"].rpartition("x")[2].partition(":")[0])
        interpreter.set_tensor(place["index"], given[number])
    return interpreter.invoke

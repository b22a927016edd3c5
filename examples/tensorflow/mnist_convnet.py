"""A convolutional network for images of MNIST's size: python examples/tensorflow/mnist_convnet.py"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import keras

sys.path.append(str(Path(__file__).parent))

from training import compare, draws


def make() -> tuple[Any, Any, Any]:
    """The model, its optimizer, and the loss."""
    model = keras.Sequential(
        [
            keras.layers.Input((28, 28, 1)),
            keras.layers.Conv2D(16, 3, activation="relu"),
            keras.layers.BatchNormalization(),
            keras.layers.MaxPooling2D(),
            keras.layers.Conv2D(32, 3, activation="relu"),
            keras.layers.MaxPooling2D(),
            keras.layers.Flatten(),
            keras.layers.Dropout(0.3),
            keras.layers.Dense(10),
        ]
    )
    return model, keras.optimizers.Adam(1e-3), keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def train(steps: int = 30, dtype: str = "float32") -> dict[str, list[float]]:
    """The losses by compiler."""
    return compare(make, draws(steps, lambda rng: rng.normal(size=(64, 28, 28, 1)).astype("float32"), 10), dtype)


if __name__ == "__main__":
    train()
    train(dtype="float64")

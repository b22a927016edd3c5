"""An LSTM that classifies sequences: python examples/tensorflow/lstm.py"""

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
        [keras.layers.Input((50, 16)), keras.layers.LSTM(100), keras.layers.Dense(5)],
    )
    return model, keras.optimizers.Adam(1e-3), keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def train(steps: int = 30, dtype: str = "float32") -> dict[str, list[float]]:
    """The losses by compiler."""
    return compare(make, draws(steps, lambda rng: rng.normal(size=(32, 50, 16)).astype("float32"), 5), dtype)


if __name__ == "__main__":
    train()
    train(dtype="float64")

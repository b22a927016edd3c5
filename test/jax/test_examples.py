"""The programs of examples/jax on xhlo and on XLA:CPU, a few steps each."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

pytest.importorskip("jax")

FOLDER = Path(__file__).parents[2] / "examples" / "jax"


def load_compare():
    spec = importlib.util.spec_from_file_location("examples_jax_compare", FOLDER / "compare.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.long
@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("example", "flags"),
    [
        ("mnist_convnet", ["--batch", "8"]),
        ("diffusion", ["--batch", "4", "--samples", "4"]),
        ("transformer_lm", ["--width", "64", "--length", "32", "--layers", "1", "--bfloat16"]),
        ("transformer_lm", ["--width", "64", "--length", "32"]),
    ],
    ids=["mnist_convnet", "diffusion", "transformer_lm bfloat16", "transformer_lm"],
)
def test_losses_are_those_of_xla(example, flags):
    row = load_compare().compare(example, ["--steps", "6", *flags])
    narrow = "--bfloat16" in flags
    assert row["losses"] < (2e-3 if narrow else 2e-6)
    assert row["final"] < (2e-3 if narrow else 1e-3)

"""Convolutions with the features before the places, whose kernels write blocks of the result transposed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cpu_programs import run
from test_convolution import Conv, inputs_of, plain

FEATURES_FIRST = {"lhs_order": (0, 3, 1, 2), "rhs_order": (3, 0, 1, 2), "out_order": (0, 3, 1, 2)}

CONVOLUTIONS = {
    "three features": plain((40, 44), (3, 3), 3, 32, stride=(2, 2), pad=((2, 2), (2, 2)), **FEATURES_FIRST),
    "a part of a block": plain((33, 33), (3, 3), 16, 40, batch=1, pad=((1, 1), (1, 1)), **FEATURES_FIRST),
    "rows that panels do not divide": plain((17, 23), (3, 3), 16, 32, pad=((1, 1), (1, 1)), **FEATURES_FIRST),
    "several passes": plain((14, 14), (3, 3), 160, 64, batch=4, pad=((1, 1), (1, 1)), **FEATURES_FIRST),
    "filters by places": plain((28, 28), (5, 5), 8, 64, lhs_order=(0, 3, 1, 2), out_order=(0, 3, 1, 2)),
    "one dimension": plain(
        (2001,), (10,), 1, 48, stride=(5,), lhs_order=(0, 2, 1), rhs_order=(2, 0, 1), out_order=(0, 2, 1)
    ),
}


def with_epilogue(conv: Conv) -> str:
    """A convolution with a bias for each feature, and the positive part of that."""
    _, _, shape = conv.shapes()
    out = f"tensor<{'x'.join(map(str, shape))}xf32>"
    bias = f"tensor<{shape[1]}xf32>"
    head, _, _ = conv.text().partition("return %0")
    head = head.replace(") -> tensor", f", %bias: {bias}) -> tensor", 1)
    return f"""{head}
          %1 = hlo.broadcast_in_dim %bias, dims = [1] : ({bias}) -> {out}
          %2 = hlo.add %0, %1 : {out}
          %zero = hlo.constant dense<0.0> : {out}
          %3 = hlo.maximum %2, %zero : {out}
          return %3 : {out}
        }}"""


@pytest.mark.long(3)
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_features_first(name: str) -> None:
    conv = CONVOLUTIONS[name]
    inputs = inputs_of(conv)
    want, found = (run(conv.text(), inputs, target)[0] for target in ("reference", "cpu"))
    np.testing.assert_array_equal(found, want)
    bias = np.arange(conv.outputs, dtype=np.float32) - 20
    want, found = (run(with_epilogue(conv), (*inputs, bias), target)[0] for target in ("reference", "cpu"))
    np.testing.assert_array_equal(found, want)
    assert (found == 0).any() and (found > 0).any()


def test_short_rows() -> None:
    conv = replace(CONVOLUTIONS["several passes"], size=(7, 7))
    inputs = inputs_of(conv)
    want, found = (run(conv.text(), inputs, target)[0] for target in ("reference", "cpu"))
    np.testing.assert_array_equal(found, want)

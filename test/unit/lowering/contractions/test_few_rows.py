"""Products of few rows by a matrix that is larger than the caches nearby: it is read once, in place."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import xhlo

WIDE = """
func.func @main(%x: tensor<{m}x{k}x{a}>, %y: tensor<{other}x{b}>) -> tensor<{m}x{n}xf32> {{
  %0 = stablehlo.convert %x : (tensor<{m}x{k}x{a}>) -> tensor<{m}x{k}xf32>
  %1 = stablehlo.convert %y : (tensor<{other}x{b}>) -> tensor<{other}xf32>
  %2 = stablehlo.dot_general %0, %1, contracting_dims = [1] x [{dim}]
    : (tensor<{m}x{k}xf32>, tensor<{other}xf32>) -> tensor<{m}x{n}xf32>
  return %2 : tensor<{m}x{n}xf32>
}}"""

DTYPES: dict[str, Any] = {"f32": np.float32, "bf16": ml_dtypes.bfloat16, "f16": np.float16}


@pytest.mark.spread(2)
@pytest.mark.parametrize("is_transposed", [False, True])
@pytest.mark.parametrize(
    ("m", "a", "b"),
    [
        (2, "f32", "f32"),
        (3, "f32", "f32"),
        (9, "f32", "f32"),
        (17, "f32", "f32"),
        (50, "f32", "f32"),
        (5, "f32", "bf16"),
        (2, "f16", "f16"),
    ],
)
def test_few_rows(m: int, a: str, b: str, is_transposed: bool) -> None:
    """Sizes that no panel divides, of more than 2 MB whatever the type."""
    k, n = 1030, 1100
    rng = np.random.default_rng(m)
    x = rng.standard_normal((m, k)).astype(DTYPES[a])
    y = rng.standard_normal((n, k) if is_transposed else (k, n)).astype(DTYPES[b])
    other = "x".join(map(str, y.shape))
    run = xhlo.compile(WIDE.format(m=m, k=k, n=n, a=a, b=b, other=other, dim=int(is_transposed)))
    matrix = (y.T if is_transposed else y).astype(np.float64)
    wanted = x.astype(np.float64) @ matrix
    assert np.abs(np.asarray(run(x, y)) - wanted).max() < 1e-4 * np.sqrt(k)

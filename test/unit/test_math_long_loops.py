"""Loops that find a maximum: the short form for usual elements has the exact results' bits."""

from __future__ import annotations

import math

import numpy as np
import pytest

import xhlo


def bits(array: np.ndarray) -> np.ndarray:
    """The bits, of which those of NaN are one pattern."""
    return np.where(np.isnan(array), np.nan, array).astype(array.dtype).view(f"u{array.itemsize}")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("op", "start"), [("maximum", "-inf"), ("minimum", "inf"), ("maximum", "-0.0"), ("minimum", "nan")]
)
def test_extremes_of_rows(op: str, start: str, dtype: type) -> None:
    """Rows whose extreme is NaN, a zero of either sign or both, infinite, or a number."""
    element = "f32" if dtype is np.float32 else "f64"
    literal = f"0x{np.array(float(start), dtype).byteswap().tobytes().hex()}"
    run = xhlo.compile(f"""
func.func @main(%x: tensor<12x70x{element}>) -> tensor<12x{element}> {{
  %0 = stablehlo.constant dense<{literal}> : tensor<{element}>
  %1 = stablehlo.reduce(%x init: %0) applies stablehlo.{op} across dimensions = [1]
    : (tensor<12x70x{element}>, tensor<{element}>) -> tensor<12x{element}>
  return %1 : tensor<12x{element}>
}}""")
    sign = -1 if op == "maximum" else 1
    x = (sign * np.random.default_rng(0).uniform(1, 2, (12, 70))).astype(dtype)
    x[0, 69], x[1, 3] = np.nan, -np.nan
    x[2, [5, 60]] = 0.0, -0.0
    x[3], x[4], x[5, 40] = 0.0, -0.0, -0.0
    x[6], x[7, 1], x[8, 1] = sign * np.inf, -sign * np.inf, sign * np.inf
    x[9, 66:] = -sign * 3.0
    x[10, 0], x[10, 69] = np.nan, np.inf
    wanted = [_extreme([float(start), *row.tolist()], op) for row in x]
    np.testing.assert_array_equal(bits(np.asarray(run(x))), bits(np.array(wanted, dtype)))


def _extreme(values: list[float], op: str) -> float:
    """IEEE 754-2019's maximum or minimum: NaN if there is one, and -0 is less than 0."""
    if any(map(math.isnan, values)):
        return math.nan
    return (max if op == "maximum" else min)(values, key=lambda value: (value, math.copysign(1.0, value)))


def test_a_loop_is_quick() -> None:
    text = xhlo.compile("""
func.func @main(%x: tensor<8x512xf32>) -> tensor<8xf32> {
  %0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %1 = stablehlo.reduce(%x init: %0) applies stablehlo.maximum across dimensions = [1]
    : (tensor<8x512xf32>, tensor<f32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}""").as_text("llvm")
    if "maxnum" not in text:
        pytest.skip("this machine has the maximum as an instruction")
    assert text.index("maxnum") < text.index("llvm.maximum")

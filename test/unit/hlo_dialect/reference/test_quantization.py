"""Quantized tensors in the reference: stored values, the values they represent, and operations on them."""

from __future__ import annotations

import numpy as np

from hlo_programs import Program


def run(text: str, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    return Program(text).results(*arrays)


def quantized(type_: str, x: np.ndarray) -> np.ndarray:
    """`x` after conversion to a quantized type and back."""
    shape = "x".join(map(str, x.shape))
    text = f"""
    func.func @main(%x: tensor<{shape}xf32>) -> tensor<{shape}xf32> {{
      %0 = hlo.uniform_quantize %x : (tensor<{shape}xf32>) -> tensor<{shape}x!quant.uniform<{type_}>>
      %1 = hlo.uniform_dequantize %0 : (tensor<{shape}x!quant.uniform<{type_}>>) -> tensor<{shape}xf32>
      return %1 : tensor<{shape}xf32>
    }}"""
    return run(text, x)[0]


def test_halves_go_to_even_and_the_rest_is_clamped() -> None:
    x = np.float32([0.25, 0.75, -0.25, 1.0, 1000, -1000, np.inf, -np.inf])
    np.testing.assert_array_equal(quantized("i8:f32, 0.5", x), [0, 1, 0, 1, 63.5, -64, 63.5, -64])
    np.testing.assert_array_equal(quantized("u8<1:200>:f32, 0.5:100", x), [0, 1, 0, 1, 50, -49.5, 50, -49.5])


def test_nan_is_stored_as_zero() -> None:
    np.testing.assert_array_equal(quantized("i8:f32, 0.5:10", np.float32([np.nan])), [-5])


def test_a_scale_for_each_index_of_a_dimension() -> None:
    x = np.float32([[1.3, 1.3, 1.3], [-2.6, -2.6, -2.6]])
    want = [[1, 1.5, 1.25], [-3, -2.5, -2.5]]
    np.testing.assert_array_equal(quantized("i8:f32:1, {1.0, 0.5:3, 0.25}", x), want)


QUANTIZED = "tensor<2x!quant.uniform<i8:f32, 0.5>>"


def test_arithmetic_is_that_of_what_is_stood_for() -> None:
    text = f"""
    func.func @main(%x: tensor<2xf32>, %y: tensor<2xf32>) -> (tensor<2xf32>, tensor<f32>) {{
      %0 = hlo.uniform_quantize %x : (tensor<2xf32>) -> {QUANTIZED}
      %1 = hlo.uniform_quantize %y : (tensor<2xf32>) -> {QUANTIZED}
      %2 = hlo.add %0, %1 : {QUANTIZED}
      %3 = hlo.reverse %2, dims = [0] : {QUANTIZED}
      %4 = hlo.dot_general %3, %1, contracting_dims = [0] x [0] : ({QUANTIZED}, {QUANTIZED}) -> tensor<!quant.uniform<i32:f32, 0.25>>
      %5 = hlo.uniform_dequantize %3 : ({QUANTIZED}) -> tensor<2xf32>
      %6 = hlo.uniform_dequantize %4 : (tensor<!quant.uniform<i32:f32, 0.25>>) -> tensor<f32>
      return %5, %6 : tensor<2xf32>, tensor<f32>
    }}"""
    sums, product = run(text, np.float32([1.2, -3.3]), np.float32([2, 60]))
    np.testing.assert_array_equal(sums, [56.5, 3])
    assert product == 56.5 * 2 + 3 * 60

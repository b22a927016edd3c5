"""Operations whose result's shape is an operand: the reference runs them, the CPU where constants give the shapes."""

from __future__ import annotations

import numpy as np
import pytest

import xhlo
from hlo_programs import Program
from xhlo.hlo_dialect.diagnostics import DiagnosticError


def run(text: str, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    return Program(text).results(*arrays)


X = np.arange(6, dtype=np.float32).reshape(2, 3)


def test_the_reference_takes_shapes_at_run_time() -> None:
    text = """
    func.func @main(%x: tensor<?x3xf32>, %s: tensor<2xi64>, %t: tensor<3xi32>) -> (tensor<?x?xf32>, tensor<?x?x?xf32>, tensor<?x?xi32>, tensor<i32>) {
      %0 = hlo.dynamic_reshape %x, %s : (tensor<?x3xf32>, tensor<2xi64>) -> tensor<?x?xf32>
      %1 = hlo.dynamic_broadcast_in_dim %x, %t, dims = [2, 0] : (tensor<?x3xf32>, tensor<3xi32>) -> tensor<?x?x?xf32>
      %2 = hlo.dynamic_iota %s, dim = 1 : (tensor<2xi64>) -> tensor<?x?xi32>
      %3 = hlo.get_dimension_size %x, dim = 0 : (tensor<?x3xf32>) -> tensor<i32>
      return %0, %1, %2, %3 : tensor<?x?xf32>, tensor<?x?x?xf32>, tensor<?x?xi32>, tensor<i32>
    }"""
    reshaped, broadcast, iota, size = run(text, X, np.int64([3, 2]), np.int32([3, 4, 2]))
    np.testing.assert_array_equal(reshaped, X.reshape(3, 2))
    np.testing.assert_array_equal(broadcast, np.broadcast_to(X.T[:, None, :], (3, 4, 2)))
    np.testing.assert_array_equal(iota, [[0, 1]] * 3)
    assert (size, size.dtype) == (2, np.int32)


def test_pads_and_slices_at_run_time() -> None:
    text = """
    func.func @main(%x: tensor<2x3xf32>, %z: tensor<f32>, %a: tensor<2xi64>, %b: tensor<2xi64>, %c: tensor<2xi64>, %n: tensor<i32>) -> (tensor<?x?xf32>, tensor<?x?xf32>, tensor<2x?xf32>) {
      %0 = hlo.dynamic_pad %x, %z, %a, %b, %c : (tensor<2x3xf32>, tensor<f32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>
      %1 = hlo.real_dynamic_slice %x, %a, %b, %c : (tensor<2x3xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>
      %2 = hlo.set_dimension_size %x, %n, dim = 1 : (tensor<2x3xf32>, tensor<i32>) -> tensor<2x?xf32>
      return %0, %1, %2 : tensor<?x?xf32>, tensor<?x?xf32>, tensor<2x?xf32>
    }"""
    numbers = np.int64([0, 1]), np.int64([2, 3]), np.int64([1, 1])
    padded, sliced, cut = run(text, X, np.float32(9), *numbers, np.int32(2))
    want = np.full((5, 9), 9, np.float32)
    want[0:3:2, 1:6:2] = X
    np.testing.assert_array_equal(padded, want)
    np.testing.assert_array_equal(sliced, X[:, 1:3])
    np.testing.assert_array_equal(cut, X[:, :2])


def test_a_static_operation_of_unknown_shape_is_refused_by_name() -> None:
    text = """
    func.func @main(%x: tensor<?xf32>) -> tensor<?x2xf32, #hlo.bounds<4, ?>> {
      %0 = hlo.broadcast_in_dim %x, dims = [0] : (tensor<?xf32>) -> tensor<?x2xf32, #hlo.bounds<4, ?>>
      return %0 : tensor<?x2xf32, #hlo.bounds<4, ?>>
    }"""
    with pytest.raises(DiagnosticError, match=r"'hlo.broadcast_in_dim' op .* do not give the shape"):
        run(text, np.float32([1]))


SOFTMAX = """
func.func @main(%x: tensor<5x7xf32>) -> tensor<?x?xf32> {
  %0 = func.call @softmax(%x) : (tensor<5x7xf32>) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}
func.func private @softmax(%x: tensor<5x7xf32>) -> tensor<?x?xf32> {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %n = hlo.get_dimension_size %x, dim = 0 : (tensor<5x7xf32>) -> tensor<i32>
  %m = hlo.get_dimension_size %x, dim = 1 : (tensor<5x7xf32>) -> tensor<i32>
  %n1 = hlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
  %m1 = hlo.reshape %m : (tensor<i32>) -> tensor<1xi32>
  %shape = hlo.concatenate %n1, %m1, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %e = hlo.exponential %x : tensor<5x7xf32>
  %s = hlo.reduce(%e init: %zero) applies hlo.add across dimensions = [1] : (tensor<5x7xf32>, tensor<f32>) -> tensor<5xf32>
  %b = hlo.dynamic_broadcast_in_dim %s, %shape, dims = [0] : (tensor<5xf32>, tensor<2xi32>) -> tensor<?x?xf32>
  %y = hlo.divide %e, %b : (tensor<5x7xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}
"""


def test_the_cpu_compiles_what_constants_make_static() -> None:
    x = np.linspace(-1, 1, 35, dtype=np.float32).reshape(5, 7)
    executable = xhlo.compile(SOFTMAX)
    assert executable.output_types[0].shape == (5, 7)
    np.testing.assert_allclose(executable(x), np.exp(x) / np.exp(x).sum(1, keepdims=True), rtol=1e-6)
    np.testing.assert_allclose(run(SOFTMAX, x)[0], executable(x), rtol=1e-6)


def test_the_cpu_refuses_shapes_that_depend_on_values() -> None:
    text = """
    func.func @main(%s: tensor<1xi64>) -> tensor<?xi32> {
      %0 = hlo.dynamic_iota %s, dim = 0 : (tensor<1xi64>) -> tensor<?xi32>
      return %0 : tensor<?xi32>
    }"""
    with pytest.raises(DiagnosticError, match="static shapes"):
        xhlo.compile(text)

"""Programs that the tests of the GPU runtime share: a chain of kernels, a loop, branches, checks and host calls."""

from __future__ import annotations

import numpy as np

CHAIN = """
func.func @main(%x: tensor<5x33xf32>, %y: tensor<33xf32>) -> (tensor<5x33xf32>, tensor<33xf32>) {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.broadcast_in_dim %y, dims = [1] : (tensor<33xf32>) -> tensor<5x33xf32>
  %1 = hlo.add %x, %0 : tensor<5x33xf32>
  %2 = hlo.reduce(%1 init: %zero) applies hlo.add across dimensions = [0]
      : (tensor<5x33xf32>, tensor<f32>) -> tensor<33xf32>
  %3 = hlo.broadcast_in_dim %2, dims = [1] : (tensor<33xf32>) -> tensor<5x33xf32>
  %4 = hlo.multiply %1, %3 : tensor<5x33xf32>
  func.return %4, %2 : tensor<5x33xf32>, tensor<33xf32>
}
"""


COUNT = """
func.func @main(%n: tensor<i32>, %x: tensor<7xf32>) -> tensor<7xf32> {
  %zero = hlo.constant dense<0> : tensor<i32>
  %one = hlo.constant dense<1> : tensor<i32>
  %half = hlo.constant dense<0.5> : tensor<7xf32>
  %r:2 = hlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<7xf32>
    cond {
      %c = hlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      hlo.return %c : tensor<i1>
    } do {
      %j = hlo.add %i, %one : tensor<i32>
      %back = hlo.reverse %v, dims = [0] : tensor<7xf32>
      %scaled = hlo.multiply %back, %half : tensor<7xf32>
      // Without the barrier the two cancel, and the loop is one kernel.
      %kept = hlo.optimization_barrier %scaled : tensor<7xf32>
      %w = hlo.reverse %kept, dims = [0] : tensor<7xf32>
      hlo.return %j, %w : tensor<i32>, tensor<7xf32>
    }
  func.return %r#1 : tensor<7xf32>
}
"""

CASES = """
func.func @main(%k: tensor<i32>, %x: tensor<7xf32>) -> tensor<7xf32> {
  %r = "hlo.case"(%k) ({
    %0 = hlo.negate %x : tensor<7xf32>
    hlo.return %0 : tensor<7xf32>
  }, {
    hlo.return %x : tensor<7xf32>
  }, {
    %0 = hlo.add %x, %x : tensor<7xf32>
    hlo.return %0 : tensor<7xf32>
  }) : (tensor<i32>) -> tensor<7xf32>
  func.return %r : tensor<7xf32>
}
"""

CHECKED = """
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = hlo.add %x, %x : tensor<3xf32>
  %1 = hlo.constant dense<2.0> : tensor<3xf32>
  check.expect_eq %0, %1 : tensor<3xf32>
  func.return %0 : tensor<3xf32>
}
"""

CALLING = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = hlo.negate %x : tensor<4xf32>
  %1 = hlo.custom_call @gpu_test.rank(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = hlo.add %1, %x : tensor<4xf32>
  func.return %2 : tensor<4xf32>
}
"""


def chain(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    total = (x + y).sum(0)
    return (x + y) * total, total


def chain_inputs(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.random((5, 33), np.float32), rng.random(33, np.float32)

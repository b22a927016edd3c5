"""Short loops on machines without cheap masks: divided into whole vectors and what is left, with the same results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cpu_programs import run
from xhlo.lowering.loop_nests.short_loops import parts_of
from xhlo.targets.cpu import host

STEPS = """
func.func @main(%a: tensor<20xTxNxf32>, %b: tensor<NxNxf32>) -> (tensor<TxNxf32>, tensor<TxNxi32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %many = stablehlo.constant dense<20> : tensor<i32>
  %none = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %x = stablehlo.constant dense<0.5> : tensor<TxNxf32>
  %p = stablehlo.constant dense<0> : tensor<TxNxi32>
  %0:3 = stablehlo.while(%i = %zero, %d = %x, %q = %p) : tensor<i32>, tensor<TxNxf32>, tensor<TxNxi32>
  cond {
    %c = stablehlo.compare LT, %i, %many : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %s = stablehlo.dynamic_slice %a, %i, %zero, %zero, sizes = [1, T, N]
      : (tensor<20xTxNxf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1xTxNxf32>
    %e = stablehlo.reshape %s : (tensor<1xTxNxf32>) -> tensor<TxNxf32>
    %f = stablehlo.broadcast_in_dim %d, dims = [0, 1] : (tensor<TxNxf32>) -> tensor<TxNxNxf32>
    %g = stablehlo.broadcast_in_dim %b, dims = [1, 2] : (tensor<NxNxf32>) -> tensor<TxNxNxf32>
    %h = stablehlo.add %f, %g : tensor<TxNxNxf32>
    %n = stablehlo.iota dim = 1 : tensor<TxNxNxi32>
    %r:2 = stablehlo.reduce(%h init: %none), (%n init: %zero) across dimensions = [1]
      : (tensor<TxNxNxf32>, tensor<TxNxNxi32>, tensor<f32>, tensor<i32>) -> (tensor<TxNxf32>, tensor<TxNxi32>)
      reducer(%u: tensor<f32>, %v: tensor<f32>) (%k: tensor<i32>, %l: tensor<i32>) {
        %gt = stablehlo.compare GT, %u, %v : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %eq = stablehlo.compare EQ, %u, %v : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %lt = stablehlo.compare LT, %k, %l : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %tie = stablehlo.and %eq, %lt : tensor<i1>
        %take = stablehlo.or %gt, %tie : tensor<i1>
        %most = stablehlo.select %gt, %u, %v : tensor<i1>, tensor<f32>
        %where = stablehlo.select %take, %k, %l : tensor<i1>, tensor<i32>
        stablehlo.return %most, %where : tensor<f32>, tensor<i32>
      }
    %t = stablehlo.tanh %e : tensor<TxNxf32>
    %w = stablehlo.add %r#0, %t : tensor<TxNxf32>
    %next = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %next, %w, %r#1 : tensor<i32>, tensor<TxNxf32>, tensor<TxNxi32>
  }
  return %0#1, %0#2 : tensor<TxNxf32>, tensor<TxNxi32>
}
"""


def test_parts() -> None:
    """Whole vectors, half a vector, and at most three pieces in all beside them; few or many iterations stay a loop."""
    assert parts_of(9, 8) == (8, 1)
    assert parts_of(12, 8) == (8, 4)
    assert parts_of(14, 8) == (8, 4, 2)
    assert parts_of(14, 8, 2) == (14,)
    assert parts_of(15, 8) == (15,)
    assert parts_of(15, 4) == (12, 2, 1)
    assert parts_of(5, 4) == (4, 1)
    for count, lanes in ((8, 8), (7, 8), (16, 8), (17, 8), (9, 0), (9, 1)):
        assert parts_of(count, lanes) == (count,)


@pytest.mark.long(10)
@pytest.mark.parametrize("vector_bits", [256, 128])
@pytest.mark.parametrize("n", [9, 11, 14])
def test_steps(n: int, vector_bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Best paths by steps of n states, beside NumPy."""
    monkeypatch.setattr(host, "host_vector_bits", lambda: vector_bits)
    rng = np.random.default_rng(n)
    a, b = (rng.standard_normal(shape).astype(np.float32) for shape in ((20, 6, n), (n, n)))
    text = STEPS.replace("Tx", "6x").replace("T, N]", f"6, {n}]").replace("Nx", f"{n}x")
    d: Any = np.full((6, n), np.float32(0.5))
    best: Any = None
    for e in a:
        scores = d[:, :, None] + b
        best = scores.argmax(1)
        d = scores.max(1) + np.tanh(e)
    values, places = run(text, [a, b])
    assert np.abs(values - d).max() < 1e-4
    assert np.array_equal(places, best)

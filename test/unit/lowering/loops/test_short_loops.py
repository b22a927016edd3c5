"""Short loops on machines without cheap masks: divided into whole vectors and what is left, with the same results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cpu_programs import DTYPES, on_threads, run
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


GATHERED = """
func.func @main(%t: tensor<64xNxE>, %m: tensor<9xNxE>, %p: tensor<70xi32>) -> tensor<70x9xE> {
  %init = stablehlo.constant dense<INIT> : tensor<E>
  %zero = stablehlo.constant dense<0> : tensor<70x9xi32>
  %more = stablehlo.constant dense<64> : tensor<70x9xi32>
  %0 = stablehlo.broadcast_in_dim %p, dims = [0] : (tensor<70xi32>) -> tensor<70x9xi32>
  %1 = stablehlo.iota dim = 1 : tensor<70x9xi32>
  %2 = stablehlo.xor %0, %1 : tensor<70x9xi32>
  %3 = stablehlo.compare LT, %2, %zero : (tensor<70x9xi32>, tensor<70x9xi32>) -> tensor<70x9xi1>
  %4 = stablehlo.add %2, %more : tensor<70x9xi32>
  %5 = stablehlo.select %3, %4, %2 : tensor<70x9xi1>, tensor<70x9xi32>
  %6 = stablehlo.reshape %5 : (tensor<70x9xi32>) -> tensor<70x9x1xi32>
  %7 = "stablehlo.gather"(%t, %6) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0],
      index_vector_dim = 2>,
    slice_sizes = array<i64: 1, N>, indices_are_sorted = false
  }> : (tensor<64xNxE>, tensor<70x9x1xi32>) -> tensor<70x9xNxE>
  %8 = stablehlo.broadcast_in_dim %m, dims = [1, 2] : (tensor<9xNxE>) -> tensor<70x9xNxE>
  %9 = stablehlo.add %7, %8 : tensor<70x9xNxE>
  %10 = stablehlo.reduce(%9 init: %init) applies stablehlo.OP across dimensions = [2]
    : (tensor<70x9xNxE>, tensor<E>) -> tensor<70x9xE>
  return %10 : tensor<70x9xE>
}
"""


def extreme_of_rows(x: Any, maximum: bool) -> Any:
    """NaN if an element is; 0 is above -0, unlike in NumPy."""
    found = x.max(-1) if maximum else x.min(-1)
    if x.dtype.kind != "f":
        return found
    zeros = np.signbit(np.where(x == 0, x, -1.0 if maximum else 1.0))
    negative = zeros.all(-1) if maximum else zeros.any(-1)
    return np.where(found == 0, np.where(negative, -0.0, 0.0), found).astype(x.dtype)


@pytest.mark.long(10)
@pytest.mark.parametrize("vector_bits", [512, 256, 128])
@pytest.mark.parametrize("element", ["f32", "f64", "i32"])
@pytest.mark.parametrize("n", [5, 12, 14, 28])
def test_rows_at_computed_places(n: int, element: str, vector_bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of a table and of a matrix, added up and reduced, beside NumPy: with NaN and both zeros."""
    monkeypatch.setattr(host, "host_vector_bits", lambda: vector_bits)
    rng = np.random.default_rng(n)
    table, more = (np.asarray(rng.integers(-3, 60, shape), DTYPES[element]) for shape in ((64, n), (9, n)))
    places: Any = rng.integers(-64, 64, 70, np.int32)
    if element != "i32":
        # The sums of most rows have a zero that is the extreme, and those of a few a NaN.
        table[::2], more[::2] = -np.abs(table[::2]), -0.0
        table[rng.random(table.shape) < 0.1] = -0.0
        table[3, n - 1] = table[40, 0] = np.nan
    at = places[:, None] ^ np.arange(9, dtype=np.int32)
    rows = table[np.clip(np.where(at < 0, at + 64, at), 0, 63)] + more
    inits = {"maximum": "0xFF800000", "minimum": "0x7F800000", "add": "0.0"}
    if element != "f32":
        inits = {"maximum": "-1000" if element == "i32" else "-1.0e300", "minimum": "1000", "add": "0"}
    for op, init in inits.items():
        text = GATHERED.replace("xNx", f"x{n}x").replace("1, N>", f"1, {n}>").replace("xE>", f"x{element}>")
        text = text.replace("<E>", f"<{element}>").replace("OP", op)
        text = text.replace("INIT", f"{init}.0" if element == "f64" and init.lstrip("-").isdigit() else init)
        (found,) = on_threads(text, table, more, places)
        if op == "add":
            np.testing.assert_allclose(found, rows.sum(-1), rtol=1e-4, atol=1e-4)
        else:
            wanted = extreme_of_rows(rows, op == "maximum")
            np.testing.assert_array_equal(found, wanted)
            np.testing.assert_array_equal(np.signbit(found) & (found == 0), np.signbit(wanted) & (wanted == 0))

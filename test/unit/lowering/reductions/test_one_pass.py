"""Reductions of a few elements in columns, in one pass."""

from __future__ import annotations

import numpy as np
import pytest

from cpu_programs import on_threads, run, type_of


def _reduced(x: np.ndarray, dims: list[int], function: str, init: str) -> str:
    left = "x".join(str(size) for dim, size in enumerate(x.shape) if dim not in dims)
    return f"""func.func @main(%x: {type_of(x)}) -> tensor<{left}xf32> {{
      %init = stablehlo.constant dense<{init}> : tensor<f32>
      %m = stablehlo.reduce(%x init: %init) applies stablehlo.{function} across dimensions = {dims} :
          ({type_of(x)}, tensor<f32>) -> tensor<{left}xf32>
      return %m : tensor<{left}xf32>
    }}"""


@pytest.mark.parametrize("shape", [(2, 9), (5, 33), (8, 3000), (9, 40), (3, 50_000)], ids=str)
def test_sums(shape: tuple[int, ...]) -> None:
    """Sums from the first row to the last, which begin with a number of their own; the same bits on all threads."""
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    (found,) = on_threads(_reduced(x, [0], "add", "0.5"), x)
    want = np.full(shape[1], 0.5, np.float32)
    for row in x:
        want = want + row
    np.testing.assert_array_equal(found, want) if shape[0] <= 8 else np.testing.assert_allclose(found, want, 1e-5)


@pytest.mark.parametrize(
    ("shape", "dims"), [((60, 7, 20), [1]), ((2, 3, 50), [0, 1]), ((7, 2, 4, 33), [1, 2])], ids=str
)
def test_maxima(shape: tuple[int, ...], dims: list[int]) -> None:
    """One dimension in the middle, and several, with NaN."""
    random = np.random.default_rng(1)
    x = random.standard_normal(shape).astype(np.float32)
    x[random.random(shape) < 0.02] = np.nan
    (found,) = run(_reduced(x, dims, "maximum", "0xFF800000"), [x])
    np.testing.assert_array_equal(found, x.max(tuple(dims)))


LEAST = """func.func @main(%x: tensor<SHAPExf32>) -> (tensor<LEFTxf32>, tensor<LEFTxi32>) {
  %n = stablehlo.iota dim = DIM : tensor<SHAPExi32>
  %high = stablehlo.constant dense<0x7F800000> : tensor<f32>
  %none = stablehlo.constant dense<0> : tensor<i32>
  %m:2 = stablehlo.reduce(%x init: %high), (%n init: %none) across dimensions = [DIM] :
      (tensor<SHAPExf32>, tensor<SHAPExi32>, tensor<f32>, tensor<i32>) -> (tensor<LEFTxf32>, tensor<LEFTxi32>)
    reducer(%a: tensor<f32>, %b: tensor<f32>) (%i: tensor<i32>, %j: tensor<i32>) {
      %less = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %nan = stablehlo.compare NE, %a, %a : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %below = stablehlo.or %less, %nan : tensor<i1>
      %equal = stablehlo.compare EQ, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %before = stablehlo.compare LT, %i, %j : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %tie = stablehlo.and %equal, %before : tensor<i1>
      %take = stablehlo.or %below, %tie : tensor<i1>
      %v = stablehlo.select %below, %a, %b : tensor<i1>, tensor<f32>
      %k = stablehlo.select %take, %i, %j : tensor<i1>, tensor<i32>
      stablehlo.return %v, %k : tensor<f32>, tensor<i32>
    }
  return %m#0, %m#1 : tensor<LEFTxf32>, tensor<LEFTxi32>
}"""


@pytest.mark.parametrize(("shape", "dim"), [((50, 7, 20), 1), ((5, 5000), 0), ((8, 33), 0), ((12, 33), 0)], ids=str)
def test_least_and_its_place(shape: tuple[int, ...], dim: int) -> None:
    """The first of equal elements, and of NaN."""
    random = np.random.default_rng(2)
    x = random.integers(-3, 3, shape).astype(np.float32)
    x[random.random(shape) < 0.02] = np.nan
    left = "x".join(str(size) for at, size in enumerate(shape) if at != dim)
    text = LEAST.replace("SHAPE", "x".join(map(str, shape))).replace("LEFT", left).replace("DIM", str(dim))
    values, places = on_threads(text, x)
    np.testing.assert_array_equal(places, x.argmin(dim))
    np.testing.assert_array_equal(values, x.min(dim))

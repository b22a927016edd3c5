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


INTEGERS = """
func.func @main(%x: tensor<{batch}x{m}x{k}x{a}>, %y: tensor<{batch}x{k}x{n}x{b}>, %z: tensor<{n}xi32>) -> (
    tensor<{batch}x{m}x{n}xi32>, tensor<{batch}x{m}x{n}xf32>) {{
  %u = stablehlo.convert %x : (tensor<{batch}x{m}x{k}x{a}>) -> tensor<{batch}x{m}x{k}xi32>
  %v = stablehlo.convert %y : (tensor<{batch}x{k}x{n}x{b}>) -> tensor<{batch}x{k}x{n}xi32>
  %0 = stablehlo.dot_general %u, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1]
    : (tensor<{batch}x{m}x{k}xi32>, tensor<{batch}x{k}x{n}xi32>) -> tensor<{batch}x{m}x{n}xi32>
  %1 = stablehlo.broadcast_in_dim %z, dims = [2] : (tensor<{n}xi32>) -> tensor<{batch}x{m}x{n}xi32>
  %2 = stablehlo.add %0, %1 : tensor<{batch}x{m}x{n}xi32>
  %3 = stablehlo.convert %2 : (tensor<{batch}x{m}x{n}xi32>) -> tensor<{batch}x{m}x{n}xf32>
  return %0, %3 : tensor<{batch}x{m}x{n}xi32>, tensor<{batch}x{m}x{n}xf32>
}}"""


@pytest.mark.parametrize("types", [("i8", "i8"), ("i16", "i16"), ("i8", "i16"), ("i16", "i8")])
@pytest.mark.parametrize(
    ("batch", "m", "k", "n"),
    [
        (1, 1, 1030, 1100),
        (1, 5, 1030, 1100),
        (1, 8, 64, 4096),  # rows in one set of the L1 cache
        (1, 3, 257, 300),  # pairs do not divide it
        (3, 1, 130, 150),
        (3, 9, 130, 150),
    ],
)
def test_few_rows_of_integers(batch: int, m: int, k: int, n: int, types: tuple[str, str]) -> None:
    """Sums of the extremes of both types, which wrap, with an epilogue and without."""
    rng = np.random.default_rng(m)
    bits = [int(type_[1:]) for type_ in types]
    x, y = (
        rng.integers(-(2 ** (width - 1)), 2 ** (width - 1), shape).astype(f"int{width}")
        for width, shape in zip(bits, [(batch, m, k), (batch, k, n)], strict=True)
    )
    x[..., :40], y[:, :40] = -(2 ** (bits[0] - 1)), -(2 ** (bits[1] - 1))
    z = rng.integers(-99, 99, n).astype(np.int32)
    run = xhlo.compile(INTEGERS.format(batch=batch, m=m, k=k, n=n, a=types[0], b=types[1]))
    wanted = (x.astype(np.int64) @ y.astype(np.int64)).astype(np.int32)
    sums, shifted = map(np.asarray, run(x, y, z))
    np.testing.assert_array_equal(sums, wanted)
    np.testing.assert_array_equal(shifted, (wanted + z).astype(np.float32))


ALONG = """
func.func @main(%x: tensor<{batch}x{m}x{k}xi{a}>, %y: tensor<{batch}x{n}x{k}xi{b}>) -> tensor<{batch}x{m}x{n}xi32> {{
  %u = stablehlo.convert %x : (tensor<{batch}x{m}x{k}xi{a}>) -> tensor<{batch}x{m}x{k}xi32>
  %v = stablehlo.convert %y : (tensor<{batch}x{n}x{k}xi{b}>) -> tensor<{batch}x{n}x{k}xi32>
  %0 = stablehlo.dot_general %u, %v, batching_dims = [0] x [0], contracting_dims = [2] x [2]
    : (tensor<{batch}x{m}x{k}xi32>, tensor<{batch}x{n}x{k}xi32>) -> tensor<{batch}x{m}x{n}xi32>
  return %0 : tensor<{batch}x{m}x{n}xi32>
}}"""


@pytest.mark.parametrize("bits", [(8, 8), (16, 16), (8, 16)])
@pytest.mark.parametrize(
    ("batch", "m", "k", "n"),
    [(1, 2, 1030, 1100), (1, 8, 128, 65), (1, 300, 257, 3), (3, 5, 143, 70), (2, 90, 129, 2), (1, 17, 257, 130)],
)
def test_few_rows_of_integers_along(batch: int, m: int, k: int, n: int, bits: tuple[int, int]) -> None:
    """Both factors lie along k, of which vectors of pairs leave a rest; groups of rows leave one, too."""
    rng = np.random.default_rng(m)
    x, y = (
        rng.integers(-(2 ** (width - 1)), 2 ** (width - 1), shape).astype(f"int{width}")
        for width, shape in zip(bits, [(batch, m, k), (batch, n, k)], strict=True)
    )
    x[..., -40:], y[..., -40:] = -(2 ** (bits[0] - 1)), -(2 ** (bits[1] - 1))
    run = xhlo.compile(ALONG.format(batch=batch, m=m, k=k, n=n, a=bits[0], b=bits[1]))
    wanted = (x.astype(np.int64) @ y.astype(np.int64).swapaxes(1, 2)).astype(np.int32)
    np.testing.assert_array_equal(np.asarray(run(x, y)), wanted)

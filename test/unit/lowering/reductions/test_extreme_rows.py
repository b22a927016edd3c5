"""Maxima and minima of short rows, in vectors that overlap."""

from __future__ import annotations

import numpy as np
import pytest

from cpu_programs import on_threads, run, type_of

LENGTHS = [5, 6, 7, 9, 11, 13, 16, 20, 24, 31, 36, 47, 63]

INIT = {
    ("maximum", "f32"): "0xFF800000",
    ("minimum", "f32"): "0x7F800000",
    ("maximum", "i32"): "-2147483648",
    ("minimum", "i32"): "2147483647",
    ("maximum", "ui32"): "0",
    ("minimum", "ui32"): "4294967295",
}


def _program(kind: str, x: np.ndarray, init: str | None = None) -> str:
    given = type_of(x)
    element = given.rsplit("x", 1)[1][:-1]
    rows = "x".join(map(str, x.shape[:-1]))
    return f"""func.func @main(%x: {given}) -> tensor<{rows}x{element}> {{
      %init = stablehlo.constant dense<{init or INIT[kind, element]}> : tensor<{element}>
      %m = stablehlo.reduce(%x init: %init) applies stablehlo.{kind} across dimensions = [{x.ndim - 1}] :
          ({given}, tensor<{element}>) -> tensor<{rows}x{element}>
      return %m : tensor<{rows}x{element}>
    }}"""


def _expected(kind: str, x: np.ndarray) -> np.ndarray:
    """The extremes of rows, where 0 is above -0."""
    found = x.max(-1) if kind == "maximum" else x.min(-1)
    zeros = np.where(x == 0, np.signbit(x), kind == "maximum")
    negative = zeros.all(-1) if kind == "maximum" else zeros.any(-1)
    return np.where(found == 0, np.where(negative, -0.0, 0.0), found).astype(x.dtype)


@pytest.mark.long(11)
@pytest.mark.parametrize("kind", ["maximum", "minimum"])
@pytest.mark.parametrize("columns", LENGTHS)
def test_floats(columns: int, kind: str) -> None:
    """NaN anywhere in a row, zeros of both signs and of one, infinities."""
    random = np.random.default_rng(columns)
    x = random.standard_normal((400, columns)).astype(np.float32)
    side = -np.abs(x) if kind == "maximum" else np.abs(x)
    x[:200] = side[:200]
    x[:200][random.random((200, columns)) < 0.1] = -0.0
    x[:200][random.random((200, columns)) < 0.05] = 0.0
    x[200 : 200 + columns][np.eye(columns, dtype=bool)] = np.nan
    x[300], x[301], x[302], x[303], x[304] = -np.inf, np.inf, -0.0, 0.0, np.nan
    x[305] = -np.nan
    (found,) = run(_program(kind, x), [x])
    want = _expected(kind, x)
    np.testing.assert_array_equal(found, want)
    numbers = ~np.isnan(want)
    np.testing.assert_array_equal(np.signbit(found)[numbers], np.signbit(want)[numbers])


@pytest.mark.long(17)
@pytest.mark.parametrize("kind", ["maximum", "minimum"])
@pytest.mark.parametrize("type_", [np.int32, np.uint32], ids=["i32", "ui32"])
@pytest.mark.parametrize("columns", LENGTHS)
def test_integers(columns: int, type_: type[np.generic], kind: str) -> None:
    bounds = np.iinfo(type_)
    x = np.random.default_rng(columns).integers(bounds.min, bounds.max, (301, columns), type_, endpoint=True)
    (found,) = run(_program(kind, x), [x])
    np.testing.assert_array_equal(found, x.max(1) if kind == "maximum" else x.min(1))


def test_rows_of_two_dimensions_on_threads() -> None:
    """The same bits for any number of threads, with NaN among the elements."""
    random = np.random.default_rng(1)
    x = random.standard_normal((300, 70, 20)).astype(np.float32)
    x[random.random(x.shape) < 0.01] = np.nan
    (found,) = on_threads(_program("maximum", x), x)
    np.testing.assert_array_equal(found, x.max(-1))


def test_initial_value() -> None:
    """A maximum that begins with a number of its own."""
    x = np.random.default_rng(2).standard_normal((200, 20)).astype(np.float32)
    (found,) = run(_program("maximum", x, "1.5"), [x])
    np.testing.assert_array_equal(found, np.maximum(x.max(1), np.float32(1.5)))

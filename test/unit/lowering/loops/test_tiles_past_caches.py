"""Elementwise nests and copies whose results are written past the caches."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest

import xhlo
from cpu_programs import DTYPES, on_threads, type_of

BYTES = 12 << 20
"""The size of a result that leaves the caches."""


def whole_numbers(count: int, element: str) -> np.ndarray:
    return np.random.default_rng(0).integers(-10, 10, count).astype(DTYPES[element])


def sum_and_product(x: np.ndarray) -> str:
    type_ = type_of(x)
    return f"""func.func @main(%x: {type_}, %y: {type_}) -> ({type_}, {type_}) {{
      %0 = stablehlo.add %x, %y : {type_}
      %1 = stablehlo.multiply %x, %y : {type_}
      return %0, %1 : {type_}, {type_} }}"""


def columns(x: np.ndarray, first: int, end: int) -> str:
    wide, thin = type_of(x), type_of(x[:, first:end])
    return f"""func.func @main(%x: {wide}) -> {thin} {{
      %0 = stablehlo.slice %x [0:{len(x)}, {first}:{end}] : ({wide}) -> {thin}
      return %0 : {thin} }}"""


def within_a_line(count: int, element: str, at: int) -> tuple[np.ndarray, np.ndarray]:
    """Memory that begins `at` elements after a line, and all that is around it."""
    around = np.full(count + 256, 7, DTYPES[element])
    first = -around.ctypes.data % 64 // around.itemsize + at
    return around[first : first + count], around


@pytest.mark.long(12)
@pytest.mark.parametrize("rest", [0, 1, 257])
@pytest.mark.parametrize("element", ["f32", "f64", "i8"])
def test_sizes_that_are_no_tiles(element: str, rest: int) -> None:
    x = whole_numbers(BYTES // np.dtype(DTYPES[element]).itemsize + rest, element)
    y = x[::-1].copy()
    added, multiplied = on_threads(sum_and_product(x), x, y)
    np.testing.assert_array_equal(added, x + y)
    np.testing.assert_array_equal(multiplied, x * y)


@pytest.mark.long(2)
@pytest.mark.parametrize("at", [1, 16])
def test_one_of_two_results_begins_within_a_line(at: int) -> None:
    x = whole_numbers(BYTES // 4 + 5, "f32")
    (out, around), other = within_a_line(x.size, "f32", at), np.empty_like(x)
    xhlo.compile(sum_and_product(x))(x, x, out=(out, other))
    np.testing.assert_array_equal(out, x + x)
    np.testing.assert_array_equal(other, x * x)
    assert np.count_nonzero(around == 7) == around.size - x.size + np.count_nonzero(out == 7)


def test_over_an_argument() -> None:
    x = whole_numbers(BYTES // 4, "f32")
    y = x[::-1].copy()
    wanted, other = x + y, np.empty_like(x)
    product = x * y
    xhlo.compile(sum_and_product(x))(x, y, out=(x, other))
    np.testing.assert_array_equal(x, wanted)
    np.testing.assert_array_equal(other, product)


@pytest.mark.long(10)
@pytest.mark.parametrize("first, end", [(0, 1024), (7, 1007), (1, 300)])
@pytest.mark.parametrize("element", ["f32", "i8"])
def test_copied_rows(element: str, first: int, end: int) -> None:
    size = np.dtype(DTYPES[element]).itemsize
    x = whole_numbers((BYTES // size // (end - first) + 3) * 1030, element).reshape(-1, 1030)
    (found,) = on_threads(columns(x, first, end), x)
    np.testing.assert_array_equal(found, x[:, first:end])


@pytest.mark.long(3)
@pytest.mark.parametrize("at", [0, 1, 15])
def test_rows_are_copied_to_memory_within_a_line(at: int) -> None:
    x = whole_numbers(4000 * 1024, "f32").reshape(4000, 1024)
    out, around = within_a_line(4000 * 1000, "f32", at)
    xhlo.compile(columns(x, 3, 1003))(x, out=(out.reshape(4000, 1000),))
    np.testing.assert_array_equal(out.reshape(4000, 1000), x[:, 3:1003])
    assert np.count_nonzero(around == 7) == around.size - out.size + np.count_nonzero(out == 7)


@pytest.mark.long(2)
@pytest.mark.parametrize("side", ["end", "start"])
def test_nothing_else_is_touched(side: Literal["end", "start"]) -> None:
    x = whole_numbers(BYTES // 4 + 77, "f32")
    added, _ = xhlo.compile(sum_and_product(x), guard=side)(x, x)
    np.testing.assert_array_equal(added, x + x)
    rows = x[: 3400 * 925].reshape(3400, 925)
    wide = np.concatenate([rows, rows[:200]])
    np.testing.assert_array_equal(xhlo.compile(columns(wide, 1, 890), guard=side)(wide), wide[:, 1:890])

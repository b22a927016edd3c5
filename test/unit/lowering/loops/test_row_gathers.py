"""Gathers of long rows, by a function that copies one and asks for another."""

from __future__ import annotations

import numpy as np
import pytest

from cpu_programs import DTYPES, on_threads, type_of


def gather(table: np.ndarray, rows: np.ndarray) -> str:
    width = table.shape[1]
    made = type_of(np.empty((*rows.shape[:-1], width), table.dtype))
    dim = rows.ndim - 1
    return f"""func.func @main(%t: {type_of(table)}, %i: {type_of(rows)}) -> {made} {{
      %0 = "stablehlo.gather"(%t, %i) <{{
        dimension_numbers = #stablehlo.gather<offset_dims = [{dim}], collapsed_slice_dims = [0], start_index_map = [0],
          index_vector_dim = {dim}>,
        slice_sizes = array<i64: 1, {width}>, indices_are_sorted = false
      }}> : ({type_of(table)}, {type_of(rows)}) -> {made}
      return %0 : {made} }}"""


@pytest.mark.long(5)
@pytest.mark.parametrize("element", ["i8", "f32", "f64"])
@pytest.mark.parametrize("shape", [(4200,), (3, 1400)])
@pytest.mark.parametrize("width", [512, 531])
def test_results_in_and_beyond_the_caches(element: str, shape: tuple[int, ...], width: int) -> None:
    """f64's are written past the caches where rows begin at lines; indices beyond the table are clamped."""
    random = np.random.default_rng(0)
    table = random.integers(-100, 100, (300, width)).astype(DTYPES[element])
    rows = random.integers(-5, 306, (*shape, 1), np.int32)
    (found,) = on_threads(gather(table, rows), table, rows)
    np.testing.assert_array_equal(found, table[np.clip(rows[..., 0], 0, 299)])


@pytest.mark.parametrize("width", [32, 37])
def test_rows_of_a_few_lines_from_a_table_beyond_the_caches(width: int) -> None:
    random = np.random.default_rng(width)
    table = np.arange(140000 * width, dtype=np.float32).reshape(-1, width)
    rows = random.integers(-5, 140006, (9001, 1), np.int32)
    (found,) = on_threads(gather(table, rows), table, rows)
    np.testing.assert_array_equal(found, table[np.clip(rows[:, 0], 0, 139999)])


@pytest.mark.parametrize("width", [3, 4, 8, 19])
def test_weighted_sums_of_short_rows(width: int) -> None:
    """The loop along rows is innermost where they are worth a vector; indices beyond the table are clamped."""
    random = np.random.default_rng(width)
    table = random.standard_normal((50, width)).astype(np.float32)
    rows = random.integers(-5, 56, (301, 1), np.int32)
    first, second = random.standard_normal((2, 301)).astype(np.float32)
    made, line = type_of(np.empty((301, width), np.float32)), type_of(first)
    program = f"""func.func @main(%t: {type_of(table)}, %i: {type_of(rows)}, %a: {line}, %b: {line}) -> {made} {{
      %0 = "stablehlo.gather"(%t, %i) <{{
        dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0],
          index_vector_dim = 1>,
        slice_sizes = array<i64: 1, {width}>, indices_are_sorted = false
      }}> : ({type_of(table)}, {type_of(rows)}) -> {made}
      %1 = stablehlo.multiply %a, %b : {line}
      %2 = stablehlo.broadcast_in_dim %1, dims = [0] : ({line}) -> {made}
      %3 = stablehlo.broadcast_in_dim %b, dims = [0] : ({line}) -> {made}
      %4 = stablehlo.multiply %2, %0 : {made}
      %5 = stablehlo.add %3, %4 : {made}
      return %5 : {made} }}"""
    (found,) = on_threads(program, table, rows, first, second)
    wanted = second[:, None] + (first * second)[:, None] * table[np.clip(rows[:, 0], 0, 49)]
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_colors_at_a_place_that_an_argument_tells() -> None:
    """The loop along pixels is innermost, and the three colors of each are interleaved."""
    random = np.random.default_rng(3)
    table = random.standard_normal((50, 3)).astype(np.float32)
    pixels, place = random.standard_normal(301).astype(np.float32), np.array(7, np.int32)
    program = """func.func @main(%t: tensor<50x3xf32>, %i: tensor<i32>, %p: tensor<301xf32>) -> tensor<301x3xf32> {
      %c = stablehlo.constant dense<0> : tensor<i32>
      %0 = stablehlo.dynamic_slice %t, %i, %c, sizes = [1, 3]
        : (tensor<50x3xf32>, tensor<i32>, tensor<i32>) -> tensor<1x3xf32>
      %1 = stablehlo.reshape %0 : (tensor<1x3xf32>) -> tensor<3xf32>
      %2 = stablehlo.broadcast_in_dim %1, dims = [1] : (tensor<3xf32>) -> tensor<301x3xf32>
      %3 = stablehlo.broadcast_in_dim %p, dims = [0] : (tensor<301xf32>) -> tensor<301x3xf32>
      %4 = stablehlo.multiply %2, %3 : tensor<301x3xf32>
      return %4 : tensor<301x3xf32> }"""
    (found,) = on_threads(program, table, place, pixels)
    np.testing.assert_array_equal(found, pixels[:, None] * table[7])


@pytest.mark.long(5)
@pytest.mark.parametrize("element", ["f32", "f64", "i16", "i32"])
@pytest.mark.parametrize("count", [1, 255, 1300, 40001])
@pytest.mark.parametrize("width", [2, 3, 8])
@pytest.mark.spread(3)
def test_short_rows_at_computed_places(element: str, count: int, width: int) -> None:
    """Places and weights are computed before for tiles of 256 rows, of which the last may be part of one."""
    random = np.random.default_rng(count + width)
    table = random.integers(-50, 50, (50, width)).astype(DTYPES[element])
    x, y = random.integers(-9, 60, (2, count)).astype(np.int32)
    w = random.integers(-5, 5, count).astype(DTYPES[element])
    made, line, places, weights = (type_of(np.empty((count, width), table.dtype)), *map(type_of, (x, x[:, None], w)))
    rows = f"""dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0],
        index_vector_dim = 1>, slice_sizes = array<i64: 1, {width}>, indices_are_sorted = false
      }}> : ({type_of(table)}, {places}) -> {made}"""
    program = f"""func.func @main(%t: {type_of(table)}, %x: {line}, %y: {line}, %w: {weights}) -> {made} {{
      %three = stablehlo.constant dense<3> : {line}
      %0 = stablehlo.multiply %x, %three : {line}
      %1 = stablehlo.add %0, %y : {line}
      %2 = stablehlo.subtract %y, %three : {line}
      %3 = stablehlo.maximum %1, %2 : {line}
      %4 = stablehlo.reshape %3 : ({line}) -> {places}
      %5 = stablehlo.xor %2, %1 : {line}
      %6 = stablehlo.reshape %5 : ({line}) -> {places}
      %7 = "stablehlo.gather"(%t, %4) <{{ {rows}
      %8 = "stablehlo.gather"(%t, %6) <{{ {rows}
      %9 = stablehlo.multiply %w, %w : {weights}
      %10 = stablehlo.broadcast_in_dim %9, dims = [0] : ({weights}) -> {made}
      %11 = stablehlo.multiply %7, %10 : {made}
      %12 = stablehlo.subtract %11, %8 : {made}
      return %12 : {made} }}"""
    (found,) = on_threads(program, table, x, y, w)
    one, other = (table[np.clip(index, 0, 49)] for index in (np.maximum(3 * x + y, y - 3), (y - 3) ^ (3 * x + y)))
    np.testing.assert_array_equal(found, one * (w * w)[:, None] - other)


@pytest.mark.parametrize("width", [8, 24])
def test_extremes_of_sums_with_short_rows(width: int) -> None:
    """Rows are read along, at places that each reduced element computes; NaN counts, and so do the signs of zeros."""
    random = np.random.default_rng(width)
    table = random.integers(-3, 4, (40, width)).astype(np.float32)
    table[7, 3], table[9, 1], table[11] = np.nan, -np.inf, -0.0
    others = random.integers(-3, 4, (6, 60)).astype(np.float32)
    others[2] = -0.0
    places = np.array([11] * 30 + [11] * 30, np.int32) if width == 24 else random.integers(-5, 46, 60, np.int32)
    made, cube = f"tensor<6x{width}xf32>", f"tensor<6x60x{width}xf32>"
    program = f"""func.func @main(%t: {type_of(table)}, %p: {type_of(places)}, %a: {type_of(others)}) -> {made} {{
      %one = stablehlo.constant dense<1> : tensor<60xi32>
      %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %next = stablehlo.subtract %p, %one : tensor<60xi32>
      %last = stablehlo.add %next, %one : tensor<60xi32>
      %rows = stablehlo.reshape %last : (tensor<60xi32>) -> tensor<60x1xi32>
      %0 = "stablehlo.gather"(%t, %rows) <{{
        dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0],
          index_vector_dim = 1>,
        slice_sizes = array<i64: 1, {width}>, indices_are_sorted = false
      }}> : ({type_of(table)}, tensor<60x1xi32>) -> tensor<60x{width}xf32>
      %1 = stablehlo.broadcast_in_dim %0, dims = [1, 2] : (tensor<60x{width}xf32>) -> {cube}
      %2 = stablehlo.broadcast_in_dim %a, dims = [0, 1] : ({type_of(others)}) -> {cube}
      %3 = stablehlo.add %1, %2 : {cube}
      %4 = stablehlo.reduce(%3 init: %low) applies stablehlo.maximum across dimensions = [1] :
          ({cube}, tensor<f32>) -> {made}
      return %4 : {made} }}"""
    program = program.replace("dense<0xFF800000>", "dense<0xFF800000>")
    (found,) = on_threads(program, table, places, others)
    sums = table[np.clip(places, 0, 39)][None] + others[:, :, None]
    expected = sums.max(1)
    np.testing.assert_array_equal(found, expected)
    if width == 24:
        np.testing.assert_array_equal(np.signbit(found[2]), True)

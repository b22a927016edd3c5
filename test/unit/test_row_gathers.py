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


@pytest.mark.parametrize("element", ["i8", "f32", "f64"])
@pytest.mark.parametrize("shape", [(2100,), (3, 700)])
@pytest.mark.parametrize("width", [512, 531])
def test_results_in_and_beyond_the_caches(element: str, shape: tuple[int, ...], width: int) -> None:
    """f64's are written past the caches where rows begin at lines; indices beyond the table are clamped."""
    random = np.random.default_rng(0)
    table = random.integers(-100, 100, (300, width)).astype(DTYPES[element])
    rows = random.integers(-5, 306, (*shape, 1), np.int32)
    (found,) = on_threads(gather(table, rows), table, rows)
    np.testing.assert_array_equal(found, table[np.clip(rows[..., 0], 0, 299)])

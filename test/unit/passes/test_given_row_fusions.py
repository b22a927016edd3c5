"""Row fusions that a program states, whose rows read what is computed of other rows."""

from __future__ import annotations

import numpy as np
import pytest

import xhlo
from cpu_programs import on_threads
from hlo_programs import Program

ROWS, ROW = "tensor<8x8xf32>", "tensor<8x8x16xf32>"

OTHER_ROWS = {
    "transposed": f"%t = hlo.transpose %m, dims = [1, 0] : ({ROWS}) -> {ROWS}",
    "reversed": f"%t = hlo.reverse %m, dims = [1] : {ROWS}",
    "joined and cut": f"""%n = hlo.sine %m : {ROWS}
    %c = hlo.concatenate %m, %n, dim = 1 : ({ROWS}, {ROWS}) -> tensor<8x16xf32>
    %t = hlo.slice %c [0:8, 5:13] : (tensor<8x16xf32>) -> {ROWS}""",
    "gathered": f"""%last = hlo.constant dense<7> : tensor<8x1xi32>
    %row = hlo.iota dim = 0 : tensor<8x1xi32>
    %i = hlo.subtract %last, %row : tensor<8x1xi32>
    %t = "hlo.gather"(%m, %i) <{{dimension_numbers = #hlo.gather<offset_dims = [0], collapsed_slice_dims = [1],
      start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 8, 1>}}>
      : ({ROWS}, tensor<8x1xi32>) -> {ROWS}""",
}


@pytest.mark.parametrize("case", OTHER_ROWS)
def test_rows_that_read_others(case: str) -> None:
    source = f"""func.func @main(%x: {ROW}) -> ({ROW}, {ROWS}) {{
  %r:2 = hlo.fusion row<2> (%a = %x : {ROW}) -> ({ROW}, {ROWS}) {{
    %zero = hlo.constant dense<0.0> : tensor<f32>
    %e = hlo.exponential %a : {ROW}
    %m = hlo.reduce(%e init: %zero) applies hlo.add across dimensions = [2] : ({ROW}, tensor<f32>) -> {ROWS}
    {OTHER_ROWS[case]}
    %b = hlo.broadcast_in_dim %t, dims = [0, 1] : ({ROWS}) -> {ROW}
    %d = hlo.divide %e, %b : {ROW}
    hlo.return %d, %m : {ROW}, {ROWS}
  }}
  func.return %r#0, %r#1 : {ROW}, {ROWS}
}}"""
    x = np.random.default_rng(0).standard_normal((8, 8, 16)).astype(np.float32)
    for got, want in zip(on_threads(source, x), Program(source).results(x), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4)


def test_product_of_a_slice_in_reverse() -> None:
    """The product reads the slice, a whole matrix, backward."""
    k, q, s = "tensor<4x90x16xf32>", "tensor<4x40x16xf32>", "tensor<4x40x40xf32>"
    source = f"""func.func @main(%q: {q}, %k: {k}) -> tensor<4x40xf32> {{
  %r = hlo.fusion row<2> (%a = %q : {q}, %b = %k : {k}) -> tensor<4x40xf32> {{
    %0 = hlo.slice %b [0:4, 3:82:2, 0:16] : ({k}) -> {q}
    %1 = hlo.reverse %0, dims = [1] : {q}
    %2 = hlo.dot_general %a, %1, batching_dims = [0] x [0], contracting_dims = [2] x [2] : ({q}, {q}) -> {s}
    %least = hlo.constant dense<0xFF800000> : tensor<f32>
    %3 = hlo.reduce(%2 init: %least) applies hlo.maximum across dimensions = [2] : ({s}, tensor<f32>) -> tensor<4x40xf32>
    hlo.return %3 : tensor<4x40xf32>
  }}
  func.return %r : tensor<4x40xf32>
}}"""
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(shape).astype(np.float32) for shape in ((4, 40, 16), (4, 90, 16))]
    (got,) = xhlo.compile(source, guard=True).compute(arrays, None)
    np.testing.assert_allclose(got, Program(source).results(*arrays)[0], rtol=1e-4, atol=1e-5)

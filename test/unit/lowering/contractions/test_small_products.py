"""Small products call one function for matrices of all sizes (convert_contractions_to_vector/small.py)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import xhlo
from xhlo.hlo_dialect.dialect import make_context
from xhlo.targets.cpu.target import CPU
from xhlo.targets.llvm_text.module import Units, emit_units
from xhlo.targets.program.lowering import Lowering
from xhlo.targets.program.pipeline import parse_source
from xhlo.targets.program.source import Source


def product(m: int, k: int, n: int, type_: str = "f32", batch: str = "", a: str = "", b: str = "") -> str:
    """A product of `m x k` by `k x n`; `a` and `b` are the types of transposed factors."""
    left, right = a or f"tensor<{batch}{m}x{k}x{type_}>", b or f"tensor<{batch}{k}x{n}x{type_}>"
    dims = ", batching_dims = [0] x [0]" if batch else ""
    contracting = (int(bool(batch)) + (0 if a else 1), int(bool(batch)) + (1 if b else 0))
    return f"""func.func @main(%a: {left}, %b: {right}) -> tensor<{batch}{m}x{n}x{type_}> {{
  %0 = hlo.dot_general %a, %b{dims}, contracting_dims = [{contracting[0]}] x [{contracting[1]}]
    : ({left}, {right}) -> tensor<{batch}{m}x{n}x{type_}>
  return %0 : tensor<{batch}{m}x{n}x{type_}>
}}"""


def units_of(text: str) -> Units:
    ctx = make_context()
    lowering = Lowering(ctx, parse_source(Source(text, "<test>"), ctx), CPU)
    lowering.to_the_end()
    return emit_units(lowering.module)


def numbers(*shape: int, dtype: str = "float32") -> NDArray[Any]:
    return np.random.default_rng(3).integers(-9, 9, shape).astype(dtype)


def test_products_of_all_sizes_share_a_function() -> None:
    every = [units_of(product(*sizes)) for sizes in ((8, 8, 8), (5, 3, 9), (13, 7, 15))]
    assert all(units.starting == (True,) for units in every)
    # One for each width of vectors.
    assert every[1].shared == every[0].shared == every[2].shared and len(every[0].shared) == 1


@pytest.mark.parametrize("sizes", [(5, 1, 4), (8, 8, 8), (13, 5, 7), (6, 9, 17), (21, 10, 33)], ids=str)
def test_results_are_exact(sizes: tuple[int, int, int]) -> None:
    m, k, n = sizes
    for type_, dtype in (("f32", "float32"), ("f64", "float64"), ("i32", "int32")):
        executable = xhlo.compile(product(m, k, n, type_))
        a, b = numbers(m, k, dtype=dtype), numbers(k, n, dtype=dtype)
        np.testing.assert_array_equal(executable(a, b), a @ b)


def test_batches_and_transposed_factors() -> None:
    a, b = numbers(2, 6, 5), numbers(2, 5, 12)
    np.testing.assert_array_equal(xhlo.compile(product(6, 5, 12, batch="2x"))(a, b), a @ b)
    left = product(6, 5, 12, a="tensor<5x6xf32>")
    np.testing.assert_array_equal(xhlo.compile(left)(a[0].T.copy(), b[0]), a[0] @ b[0])
    right = product(6, 5, 12, b="tensor<12x5xf32>")
    np.testing.assert_array_equal(xhlo.compile(right)(a[0], b[0].T.copy()), a[0] @ b[0])


def test_nothing_is_written_around_the_result() -> None:
    """The last vector of columns ends with the matrix, and the last rows are single ones."""
    text = product(13, 5, 7)
    whole = np.full((15, 7), np.nan, np.float32)
    a, b = numbers(13, 5), numbers(5, 7)
    executable = xhlo.compile(text)
    whole[1:14] = np.asarray(executable(a, b))
    assert np.isnan(whole[[0, 14]]).all() and not np.isnan(whole[1:14]).any()
    with_guard = xhlo.compile(text, guard="end")
    np.testing.assert_array_equal(with_guard(a, b), a @ b)


def test_products_of_few_rows_or_columns_do_not_call_it() -> None:
    for sizes in ((4, 8, 8), (8, 8, 3)):
        assert not units_of(product(*sizes)).shared


CONVOLUTION = """func.func @main(%x: tensor<2x9x8x3xTYPE>, %k: tensor<3x2x3x8xTYPE>) -> tensor<2x5x9x8xTYPE> {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
    window = {stride = [2, 1], pad = [[1, 1], [0, 2]], rhs_dilate = [1, 1]}
    {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
    : (tensor<2x9x8x3xTYPE>, tensor<3x2x3x8xTYPE>) -> tensor<2x5x9x8xTYPE>
  return %0 : tensor<2x5x9x8xTYPE>
}"""


@pytest.mark.parametrize(("type_", "dtype"), [("f32", "float32"), ("f64", "float64")])
def test_small_convolutions(type_: str, dtype: str) -> None:
    text = CONVOLUTION.replace("TYPE", type_)
    x, kernel = numbers(2, 9, 8, 3, dtype=dtype), numbers(3, 2, 3, 8, dtype=dtype)
    padded = np.pad(x, [(0, 0), (1, 1), (0, 2), (0, 0)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 2), axis=(1, 2))[:, ::2]
    wanted = np.einsum("bijchw,hwco->bijo", windows, kernel)
    units = units_of(text)
    assert units.starting == (True,) and not units.data
    np.testing.assert_array_equal(xhlo.compile(text)(x, kernel), wanted)


@pytest.mark.parametrize("sizes", [(40, 50, 10), (9, 1000, 8), (300, 11, 15)], ids=str)
def test_narrow_products(sizes: tuple[int, int, int]) -> None:
    m, k, n = sizes
    a, b = numbers(m, k), numbers(k, n)
    np.testing.assert_array_equal(xhlo.compile(product(m, k, n))(a, b), a @ b)

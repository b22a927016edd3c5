"""
Indices at the edges of every type, in guard mode: nothing is accessed outside of a buffer, and results are those of the
reference.
"""

from __future__ import annotations

import itertools
from typing import Any, cast

import ml_dtypes
import numpy as np
import pytest

import xhlo
from hlo_programs import Program

TYPES = {
    **{f"{sign}i{width}": np.dtype(f"{sign}int{width}") for sign in ("", "u") for width in (8, 16, 32, 64)},
    **{f"{sign}i{width}": np.dtype(getattr(ml_dtypes, f"{sign}int{width}")) for sign in ("", "u") for width in (2, 4)},
}


def edges(dtype: np.dtype) -> np.ndarray:
    """The bounds of the type and of arrays of 5 and 7 elements, with their neighbours."""
    info = ml_dtypes.iinfo(dtype)
    least, most = int(info.min), int(info.max)
    near = {0, 1, 2, 3, 4, 5, 6, 7, 8, -1, -2, -5, 2**31 - 1, 2**31, -(2**31), 2**32 - 1, 2**32, 2**61, 2**62 + 1}
    found = {least, least + 1, most // 2, most - 1, most} | {n for n in near if least <= n <= most}
    return np.array(sorted(found), object).astype(dtype)


def check(text: str, *inputs: np.ndarray, target: str = "cpu") -> None:
    found: Any = xhlo.compile(text, target, guard=True)(*inputs)
    results = cast("tuple[np.ndarray, ...]", found if isinstance(found, tuple) else (found,))
    for got, want in zip(results, Program(text).results(*inputs), strict=True):
        np.testing.assert_array_equal(got, want, strict=True)


# %x: 5x7, %i: indices, %p: pairs of them, %u: an update for each pair.
GATHERS = """
func.func @main(%x: tensor<5x7xf32>, %i: tensor<{n}x{t}>, %p: tensor<{m}x2x{t}>, %u: tensor<{m}x2x3xf32>, %r: tensor<{n}x7xf32>)
    -> (tensor<{n}x7xf32>, tensor<{m}x2x3xf32>, tensor<{m}x1x1xf32>, tensor<5x7xf32>, tensor<5x7xf32>, tensor<5x7xf32>, tensor<{n}x5xf32>) {{
  %rows = "stablehlo.gather"(%x, %i) {{
    dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
    slice_sizes = array<i64: 1, 7>}} : (tensor<5x7xf32>, tensor<{n}x{t}>) -> tensor<{n}x7xf32>
  %windows = "stablehlo.gather"(%x, %p) {{
    dimension_numbers = #stablehlo.gather<offset_dims = [1, 2], start_index_map = [1, 0], index_vector_dim = 1>,
    slice_sizes = array<i64: 2, 3>}} : (tensor<5x7xf32>, tensor<{m}x2x{t}>) -> tensor<{m}x2x3xf32>
  %elements = "stablehlo.gather"(%x, %p) {{
    dimension_numbers = #stablehlo.gather<offset_dims = [1, 2], start_index_map = [0, 1], index_vector_dim = 1>,
    slice_sizes = array<i64: 1, 1>}} : (tensor<5x7xf32>, tensor<{m}x2x{t}>) -> tensor<{m}x1x1xf32>
  %set = "stablehlo.scatter"(%x, %i, %r) ({{
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      stablehlo.return %b : tensor<f32>
  }}) {{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0],
       scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}}
    : (tensor<5x7xf32>, tensor<{n}x{t}>, tensor<{n}x7xf32>) -> tensor<5x7xf32>
  %added = "stablehlo.scatter"(%x, %p, %u) ({{
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
  }}) {{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1, 2],
       scatter_dims_to_operand_dims = [1, 0], index_vector_dim = 1>}}
    : (tensor<5x7xf32>, tensor<{m}x2x{t}>, tensor<{m}x2x3xf32>) -> tensor<5x7xf32>
  %points = stablehlo.slice %u [0:{m}, 0:1, 0:1] : (tensor<{m}x2x3xf32>) -> tensor<{m}x1x1xf32>
  %flat = stablehlo.reshape %points : (tensor<{m}x1x1xf32>) -> tensor<{m}xf32>
  %least = "stablehlo.scatter"(%x, %p, %flat) ({{
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.minimum %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
  }}) {{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1],
       scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>}}
    : (tensor<5x7xf32>, tensor<{m}x2x{t}>, tensor<{m}xf32>) -> tensor<5x7xf32>
  %columns = "stablehlo.gather"(%x, %i) {{
    dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1>,
    slice_sizes = array<i64: 5, 1>}} : (tensor<5x7xf32>, tensor<{n}x{t}>) -> tensor<{n}x5xf32>
  return %rows, %windows, %elements, %set, %added, %least, %columns
    : tensor<{n}x7xf32>, tensor<{m}x2x3xf32>, tensor<{m}x1x1xf32>, tensor<5x7xf32>, tensor<5x7xf32>, tensor<5x7xf32>, tensor<{n}x5xf32>
}}
"""


def gather_inputs(type_: str) -> tuple[str, list[np.ndarray]]:
    values = edges(TYPES[type_])
    pairs = np.array(list(itertools.product(values, values)), TYPES[type_])
    n, m = len(values), len(pairs)
    x = np.arange(35, dtype=np.float32).reshape(5, 7)
    updates = (np.arange(m * 6) % 13 - 6).astype(np.float32).reshape(m, 2, 3)
    rows = np.arange(n * 7, dtype=np.float32).reshape(n, 7)
    return GATHERS.format(n=n, m=m, t=type_), [x, values, pairs, updates, rows]


@pytest.mark.long(5)
@pytest.mark.parametrize("type_", TYPES)
def test_gather_and_scatter(type_: str) -> None:
    text, inputs = gather_inputs(type_)
    check(text, *inputs)


SLICES = """
func.func @main(%x: tensor<5x7xf32>, %u: tensor<2x3xf32>, %i: tensor<{t}>, %j: tensor<{t}>)
    -> (tensor<2x3xf32>, tensor<1x7xf32>, tensor<5x7xf32>, tensor<5x7xf32>) {{
  %0 = stablehlo.dynamic_slice %x, %i, %j, sizes = [2, 3] : (tensor<5x7xf32>, tensor<{t}>, tensor<{t}>) -> tensor<2x3xf32>
  %1 = stablehlo.dynamic_slice %x, %i, %j, sizes = [1, 7] : (tensor<5x7xf32>, tensor<{t}>, tensor<{t}>) -> tensor<1x7xf32>
  %2 = stablehlo.dynamic_update_slice %x, %u, %i, %j
    : (tensor<5x7xf32>, tensor<2x3xf32>, tensor<{t}>, tensor<{t}>) -> tensor<5x7xf32>
  %y = stablehlo.negate %x : tensor<5x7xf32>
  %w = stablehlo.exponential %0 : tensor<2x3xf32>
  %3 = stablehlo.dynamic_update_slice %y, %w, %j, %i
    : (tensor<5x7xf32>, tensor<2x3xf32>, tensor<{t}>, tensor<{t}>) -> tensor<5x7xf32>
  return %0, %1, %2, %3 : tensor<2x3xf32>, tensor<1x7xf32>, tensor<5x7xf32>, tensor<5x7xf32>
}}
"""


@pytest.mark.long(5)
@pytest.mark.parametrize("type_", TYPES)
def test_dynamic_slices(type_: str) -> None:
    values = edges(TYPES[type_])
    x, update = np.linspace(-3, 1, 35, dtype=np.float32).reshape(5, 7), np.full((2, 3), 9, np.float32)
    text = SLICES.format(t=type_)
    run, reference = xhlo.compile(text, guard=True), Program(text)
    for i, j in zip(values, np.roll(values, 3), strict=True):
        arguments = x, update, np.array(i), np.array(j)
        got, want = run(*arguments), reference.results(*arguments)
        for place in range(3):
            np.testing.assert_array_equal(got[place], want[place], strict=True)
        np.testing.assert_allclose(got[3], want[3], rtol=1e-6)


@pytest.mark.parametrize("type_", ["i8", "i16", "i32", "i64"])
def test_elements_that_negative_indices_count_from_the_end(type_: str) -> None:
    text = f"""func.func @main(%x: tensor<7xf32>, %i: tensor<{type_}>, %y: tensor<1xf32>) -> (tensor<1xf32>, tensor<7xf32>) {{
      %zero = hlo.constant dense<0> : tensor<{type_}>
      %size = hlo.constant dense<7> : tensor<{type_}>
      %negative = hlo.compare LT, %i, %zero, SIGNED : (tensor<{type_}>, tensor<{type_}>) -> tensor<i1>
      %total = hlo.add %i, %size : tensor<{type_}>
      %place = hlo.select %negative, %total, %i : tensor<i1>, tensor<{type_}>
      %0 = hlo.dynamic_slice %x, %place, sizes = [1] : (tensor<7xf32>, tensor<{type_}>) -> tensor<1xf32>
      %1 = hlo.dynamic_update_slice %x, %y, %place : (tensor<7xf32>, tensor<1xf32>, tensor<{type_}>) -> tensor<7xf32>
      func.return %0, %1 : tensor<1xf32>, tensor<7xf32>
    }}"""
    x = np.arange(1, 8, dtype=np.float32)
    for index in edges(TYPES[type_]):
        check(text, x, np.array(index), np.array([9], np.float32))


@pytest.mark.long(5)
@pytest.mark.parametrize("type_", ["i4", "i8", "i32", "i64", "ui8", "ui64"])
def test_gather_and_scatter_on_simt(type_: str) -> None:
    text, inputs = gather_inputs(type_)
    check(text, *inputs, target="simt")


SORT = """
func.func @main(%k: tensor<{n}x{t}>, %v: tensor<{n}xi32>) -> (tensor<{n}x{t}>, tensor<{n}xi32>) {{
  %0:2 = "stablehlo.sort"(%k, %v) ({{
    ^bb0(%a: tensor<{t}>, %b: tensor<{t}>, %c: tensor<i32>, %d: tensor<i32>):
      %less = stablehlo.compare {how} : (tensor<{t}>, tensor<{t}>) -> tensor<i1>
      stablehlo.return %less : tensor<i1>
  }}) {{dimension = 0 : i64, is_stable = true}} : (tensor<{n}x{t}>, tensor<{n}xi32>) -> (tensor<{n}x{t}>, tensor<{n}xi32>)
  return %0#0, %0#1 : tensor<{n}x{t}>, tensor<{n}xi32>
}}
"""


@pytest.mark.sample(5)
@pytest.mark.parametrize("size", [1, 2, 31, 33, 300, 5000])
@pytest.mark.parametrize("type_", ["i8", "i64", "ui64", "f32"])
def test_sort_keys(type_: str, size: int) -> None:
    if type_ == "f32":
        values = np.array([np.nan, -np.inf, np.inf, -0.0, 0.0, 1.0, -1.0, np.finfo(np.float32).max], np.float32)
    else:
        values = edges(TYPES[type_])
    keys = np.random.default_rng(size).choice(values, size)
    check(SORT.format(n=size, t=type_, how="LT, %a, %b"), keys, np.arange(size, dtype=np.int32))


@pytest.mark.long(3)
@pytest.mark.sample(3)
@pytest.mark.parametrize("how", ["EQ, %a, %a", "NE, %a, %b", "LE, %a, %b", "NE, %a, %a"])
@pytest.mark.parametrize("size", [2, 33, 300, 5000])
def test_comparators_that_are_no_order(how: str, size: int) -> None:
    """Any order of the pairs is a result, but no pair is lost."""
    keys = np.random.default_rng(size).integers(-3, 3, size, np.int8)
    sort = xhlo.compile(SORT.format(n=size, t="i8", how=how), guard=True)
    got, numbers = sort(keys, np.arange(size, dtype=np.int32))
    np.testing.assert_array_equal(np.sort(numbers), np.arange(size))
    np.testing.assert_array_equal(got, keys[numbers])


def test_branch_numbers() -> None:
    text = """
    func.func @main(%i: tensor<i32>, %x: tensor<3xf32>) -> tensor<3xf32> {
      %0 = "stablehlo.case"(%i) ({
        %a = stablehlo.negate %x : tensor<3xf32>
        stablehlo.return %a : tensor<3xf32>
      }, {
        stablehlo.return %x : tensor<3xf32>
      }, {
        %c = stablehlo.add %x, %x : tensor<3xf32>
        stablehlo.return %c : tensor<3xf32>
      }) : (tensor<i32>) -> tensor<3xf32>
      return %0 : tensor<3xf32>
    }"""
    x = np.arange(3, dtype=np.float32)
    for number in edges(TYPES["i32"]):
        check(text, np.array(number), x)


@pytest.mark.long(5)
@pytest.mark.parametrize("type_", TYPES)
def test_iota_wraps(type_: str) -> None:
    check(
        f"""
        func.func @main() -> (tensor<3x300x{type_}>, tensor<70000x{type_}>) {{
          %0 = stablehlo.iota dim = 1 : tensor<3x300x{type_}>
          %1 = stablehlo.iota dim = 0 : tensor<70000x{type_}>
          return %0, %1 : tensor<3x300x{type_}>, tensor<70000x{type_}>
        }}"""
    )


# Windows that lie outside of the operand in part or whole, with dilation of both, from either side.
PADDINGS = [(0, 0), (3, 0), (0, 3), (9, 9), (-2, 5), (5, -2), (-3, -2), (40, -30), (-30, 40)]


@pytest.mark.sample(5)
@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("dilation", [1, 3])
def test_windows(padding: tuple[int, int], dilation: int) -> None:
    low, high = padding
    size = (20 - 1) * dilation + 1 + low + high
    out = (size - ((3 - 1) * 2 + 1)) // 2 + 1
    check(
        f"""
        func.func @main(%x: tensor<2x20xf32>, %z: tensor<f32>) -> tensor<2x{out}xf32> {{
          %0 = "stablehlo.reduce_window"(%x, %z) ({{
            ^bb0(%a: tensor<f32>, %b: tensor<f32>):
              %m = stablehlo.maximum %a, %b : tensor<f32>
              stablehlo.return %m : tensor<f32>
          }}) {{window_dimensions = array<i64: 1, 3>, window_strides = array<i64: 1, 2>,
               base_dilations = array<i64: 1, {dilation}>, window_dilations = array<i64: 1, 2>,
               padding = dense<[[0, 0], [{low}, {high}]]> : tensor<2x2xi64>}}
            : (tensor<2x20xf32>, tensor<f32>) -> tensor<2x{out}xf32>
          return %0 : tensor<2x{out}xf32>
        }}""",
        np.arange(40, dtype=np.float32).reshape(2, 20),
        np.array(-5, np.float32),
    )


@pytest.mark.sample(5)
@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("dilation", [1, 3])
def test_convolution_padding(padding: tuple[int, int], dilation: int) -> None:
    low, high = padding
    size = (20 - 1) * dilation + 1 + low + high
    out = (size - ((3 - 1) * 2 + 1)) // 2 + 1
    check(
        f"""
        func.func @main(%x: tensor<2x20x3xf32>, %k: tensor<3x3x4xf32>) -> tensor<2x{out}x4xf32> {{
          %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f],
            window = {{stride = [2], pad = [[{low}, {high}]], lhs_dilate = [{dilation}], rhs_dilate = [2]}}
            {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}}
            : (tensor<2x20x3xf32>, tensor<3x3x4xf32>) -> tensor<2x{out}x4xf32>
          return %0 : tensor<2x{out}x4xf32>
        }}""",
        (np.arange(120) % 7 - 3).astype(np.float32).reshape(2, 20, 3),
        (np.arange(36) % 5 - 2).astype(np.float32).reshape(3, 3, 4),
    )


@pytest.mark.spread(2)
@pytest.mark.parametrize("padding", [(0, 0), (2, 0), (1, 2), (0, 2)])
@pytest.mark.parametrize("values", ["equal", "nan", "least"])
def test_select_and_scatter(padding: tuple[int, int], values: str) -> None:
    """Padding must not be selected, even if it is greater than all elements."""
    low, high = padding
    out = (20 + low + high - 3) // 2 + 1
    x = np.full((2, 20), {"equal": 1.0, "nan": np.nan, "least": -np.inf}[values], np.float32)
    check(
        f"""
        func.func @main(%x: tensor<2x20xf32>, %s: tensor<2x{out}xf32>, %z: tensor<f32>) -> tensor<2x20xf32> {{
          %0 = "stablehlo.select_and_scatter"(%x, %s, %z) ({{
            ^bb0(%a: tensor<f32>, %b: tensor<f32>):
              %m = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
              stablehlo.return %m : tensor<i1>
          }}, {{
            ^bb0(%a: tensor<f32>, %b: tensor<f32>):
              %m = stablehlo.add %a, %b : tensor<f32>
              stablehlo.return %m : tensor<f32>
          }}) {{window_dimensions = array<i64: 1, 3>, window_strides = array<i64: 1, 2>,
               padding = dense<[[0, 0], [{low}, {high}]]> : tensor<2x2xi64>}}
            : (tensor<2x20xf32>, tensor<2x{out}xf32>, tensor<f32>) -> tensor<2x20xf32>
          return %0 : tensor<2x20xf32>
        }}""",
        x,
        np.arange(2 * out, dtype=np.float32).reshape(2, out),
        np.array(0, np.float32),
    )


def test_rows_of_windows_that_are_padding(capfd: pytest.CaptureFixture[str]) -> None:
    """LLVM prints no warning about loops in which a row of the window may be padding."""
    text = """
        func.func @main(%x: tensor<16x7xf64>, %s: tensor<20x4xf64>, %z: tensor<f64>) -> tensor<16x7xf64> {
          %0 = "stablehlo.select_and_scatter"(%x, %s, %z) ({
            ^bb0(%a: tensor<f64>, %b: tensor<f64>):
              %m = stablehlo.compare LE, %a, %b : (tensor<f64>, tensor<f64>) -> tensor<i1>
              stablehlo.return %m : tensor<i1>
          }, {
            ^bb0(%a: tensor<f64>, %b: tensor<f64>):
              %m = stablehlo.add %a, %b : tensor<f64>
              stablehlo.return %m : tensor<f64>
          }) {window_dimensions = array<i64: 2, 4>, window_strides = array<i64: 1, 1>,
              padding = dense<[[2, 3], [0, 0]]> : tensor<2x2xi64>}
            : (tensor<16x7xf64>, tensor<20x4xf64>, tensor<f64>) -> tensor<16x7xf64>
          return %0 : tensor<16x7xf64>
        }"""
    x = np.random.default_rng(0).standard_normal((16, 7))
    inputs = (x, np.arange(80, dtype=np.float64).reshape(20, 4), np.array(0.0))
    (want,) = Program(text).results(*inputs)
    np.testing.assert_array_equal(xhlo.compile(text, guard=False)(*inputs), want)
    assert capfd.readouterr().err == ""

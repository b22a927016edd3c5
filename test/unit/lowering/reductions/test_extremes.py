"""Maxima and minima of long rows: zeros of both signs, infinities and NaN, which the quick loop does not all order."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import xhlo

Float = type[np.float32] | type[np.float64]

ROWS, COLUMNS = 24, 300


def program(type_: str) -> str:
    """The maxima and minima of rows, and of all elements."""
    text = f"""func.func @main(%x: tensor<{ROWS}x{COLUMNS}x{type_}>) -> (
        tensor<{ROWS}x{type_}>, tensor<{ROWS}x{type_}>, tensor<{type_}>, tensor<{type_}>) {{"""
    bits = {"f32": ("0xFF800000", "0x7F800000"), "f64": ("0xFFF0000000000000", "0x7FF0000000000000")}[type_]
    for name, init in zip(("maximum", "minimum"), bits, strict=True):
        text += f"%{name} = stablehlo.constant dense<{init}> : tensor<{type_}>\n"
        for dims, shape in (("1", f"{ROWS}x"), ("0, 1", "")):
            text += f"""%{name}{len(dims)} = stablehlo.reduce(%x init: %{name}) applies stablehlo.{name} across
                dimensions = [{dims}] : (tensor<{ROWS}x{COLUMNS}x{type_}>, tensor<{type_}>) -> tensor<{shape}{type_}>\n"""
    types = f"tensor<{ROWS}x{type_}>, tensor<{ROWS}x{type_}>, tensor<{type_}>, tensor<{type_}>"
    return f"{text} return %maximum1, %minimum1, %maximum4, %minimum4 : {types} }}"


def inputs(dtype: Float) -> Iterator[np.ndarray]:
    """Rows of zeros of either sign, of other numbers on one side of them, and with infinities and NaN of either sign."""
    random = np.random.default_rng(0)
    zeros = random.choice(np.array([0.0, -0.0], dtype), (ROWS, COLUMNS))
    zeros[:4] = np.array([[0.0], [-0.0], [-0.0], [0.0]])
    zeros[2, 299], zeros[3, 0] = 0.0, -0.0
    yield zeros
    below = np.where(random.random((ROWS, COLUMNS)) < 0.3, zeros, -random.random((ROWS, COLUMNS)).astype(dtype))
    yield below
    yield -below
    odd = random.standard_normal((ROWS, COLUMNS)).astype(dtype)
    odd[1, 7], odd[2, 8], odd[3, 255] = np.inf, -np.inf, np.nan
    odd[4, 299], odd[5] = -np.nan, np.nan
    yield odd
    yield odd[6:7].repeat(ROWS, 0)


def expected(x: np.ndarray, largest: bool) -> np.ndarray:
    """The extremes of rows, where 0 is above -0 and NaN is above and below all."""
    order = x.copy()
    # Between the zeros and all other numbers.
    order[(x == 0) & np.signbit(x)] = -np.finfo(x.dtype).smallest_subnormal
    found = order.max(1) if largest else order.min(1)
    found[found == -np.finfo(x.dtype).smallest_subnormal] = -0.0
    return found


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_zeros_and_nan(dtype: Float) -> None:
    compiled = xhlo.compile(program("f32" if dtype is np.float32 else "f64"))
    for x in inputs(dtype):
        maxima, minima, highest, lowest = (np.asarray(one) for one in compiled(x))
        rows = ((maxima, expected(x, True)), (minima, expected(x, False)))
        whole = x.reshape(1, -1)
        for got, want in (*rows, (highest[None], expected(whole, True)), (lowest[None], expected(whole, False))):
            numbers = ~np.isnan(want)
            assert np.array_equal(np.isnan(got), ~numbers)
            assert got[numbers].tobytes() == want[numbers].tobytes()


SPECIAL = (0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan)
COMBINED = len(SPECIAL) ** 4
CHAINS = f"""func.func @main(%x: tensor<4x{COMBINED}xTYPE>, %a: tensor<{COMBINED}xTYPE>, %b: tensor<{COMBINED}xTYPE>,
    %c: tensor<{COMBINED}xTYPE>) -> (tensor<{COMBINED}xTYPE>, tensor<{COMBINED}xTYPE>) {{
  %init = stablehlo.constant dense<INIT> : tensor<TYPE>
  %0 = stablehlo.reduce(%x init: %init) applies stablehlo.EXTREME across dimensions = [0] :
    (tensor<4x{COMBINED}xTYPE>, tensor<TYPE>) -> tensor<{COMBINED}xTYPE>
  %1 = stablehlo.EXTREME %a, %b : tensor<{COMBINED}xTYPE>
  %2 = stablehlo.EXTREME %c, %1 : tensor<{COMBINED}xTYPE>
  return %0, %2 : tensor<{COMBINED}xTYPE>, tensor<{COMBINED}xTYPE>
}}"""
"""The extremes of columns, and of three arrays, which are chains of operations."""


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("extreme", "sign"), [("maximum", -1), ("minimum", 1)])
def test_chains_of_zeros_and_nan(extreme: str, sign: int, dtype: Float) -> None:
    type_ = "f32" if dtype is np.float32 else "f64"
    init = np.array(sign * np.inf, dtype).tobytes()[::-1].hex()
    text = CHAINS.replace("TYPE", type_).replace("INIT", f"0x{init}").replace("EXTREME", extreme)
    x = np.array(np.meshgrid(*[np.array(SPECIAL, dtype)] * 4)).reshape(4, COMBINED)
    columns, three = (np.asarray(result) for result in xhlo.compile(text)(x, x[0], x[1], x[2]))
    for got, values in ((columns, x), (three, x[:3])):
        want = expected(values.T, extreme == "maximum")
        numbers = ~np.isnan(want)
        assert np.array_equal(np.isnan(got), ~numbers)
        assert got[numbers].tobytes() == want[numbers].tobytes()


MASKED = """func.func @main(%x: tensor<24x300xTYPE>) -> (tensor<24xTYPE>, tensor<24xTYPE>, tensor<24xi1>) {
  %low = stablehlo.constant dense<LOW> : tensor<TYPE>
  %high = stablehlo.constant dense<HIGH> : tensor<TYPE>
  %true = stablehlo.constant dense<true> : tensor<i1>
  %is_nan = stablehlo.compare NE, %x, %x : (tensor<24x300xTYPE>, tensor<24x300xTYPE>) -> tensor<24x300xi1>
  %lows = stablehlo.broadcast_in_dim %low, dims = [] : (tensor<TYPE>) -> tensor<24x300xTYPE>
  %highs = stablehlo.broadcast_in_dim %high, dims = [] : (tensor<TYPE>) -> tensor<24x300xTYPE>
  %some = stablehlo.select %is_nan, %lows, %x : tensor<24x300xi1>, tensor<24x300xTYPE>
  %others = stablehlo.select %is_nan, %highs, %x : tensor<24x300xi1>, tensor<24x300xTYPE>
  %most = stablehlo.reduce(%some init: %low) applies stablehlo.maximum across dimensions = [1]
    : (tensor<24x300xTYPE>, tensor<TYPE>) -> tensor<24xTYPE>
  %least = stablehlo.reduce(%others init: %high) applies stablehlo.minimum across dimensions = [1]
    : (tensor<24x300xTYPE>, tensor<TYPE>) -> tensor<24xTYPE>
  %all = stablehlo.reduce(%is_nan init: %true) applies stablehlo.and across dimensions = [1]
    : (tensor<24x300xi1>, tensor<i1>) -> tensor<24xi1>
  return %most, %least, %all : tensor<24xTYPE>, tensor<24xTYPE>, tensor<24xi1>
}"""


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_extremes_without_nan(dtype: Float) -> None:
    """nanmax and nanmin: rows of NaN, with infinities, and with the finite numbers that stand for what is left out."""
    type_ = "f32" if dtype is np.float32 else "f64"
    low, high = {"f32": ("0xFF800000", "0x7F800000"), "f64": ("0xFFF0000000000000", "0x7FF0000000000000")}[type_]
    x = np.random.default_rng(1).standard_normal((ROWS, COLUMNS)).astype(dtype)
    x[:12, ::3] = np.nan
    x[1], x[2], x[3, 1:], x[4, 1:] = np.nan, -np.inf, np.nan, np.nan
    x[3, 0], x[4, 0], x[5, 0], x[6, 7] = np.finfo(dtype).min, np.finfo(dtype).max, -np.inf, np.inf
    x[7, 1:], x[7, 0], x[8, :], x[8, 4] = np.nan, -np.inf, np.nan, np.inf
    executable = xhlo.compile(MASKED.replace("TYPE", type_).replace("LOW", low).replace("HIGH", high))
    most, least, every = (np.asarray(one) for one in executable(x))
    np.testing.assert_array_equal(most, np.where(np.isnan(x), -np.inf, x).max(1))
    np.testing.assert_array_equal(least, np.where(np.isnan(x), np.inf, x).min(1))
    np.testing.assert_array_equal(every, np.isnan(x).all(1))


def test_kept_by_loops() -> None:
    """A running minimum whose last result is the first operand, and one of elements that count if a condition holds."""
    text = """func.func @main(%x: tensor<80xf32>, %at: tensor<80xi32>) -> (tensor<f32>, tensor<80xf32>, tensor<f32>) {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %end = stablehlo.constant dense<80> : tensor<i32>
      %inf = stablehlo.constant dense<0x7F800000> : tensor<f32>
      %tenth = stablehlo.constant dense<0.5> : tensor<f32>
      %0:4 = stablehlo.while(%i = %zero, %m = %inf, %ms = %x, %all = %x)
          : tensor<i32>, tensor<f32>, tensor<80xf32>, tensor<80xf32>
        cond {
          %1 = stablehlo.compare LT, %i, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %1 : tensor<i1>
        } do {
          %1 = stablehlo.dynamic_slice %all, %i, sizes = [1] : (tensor<80xf32>, tensor<i32>) -> tensor<1xf32>
          %2 = stablehlo.reshape %1 : (tensor<1xf32>) -> tensor<f32>
          %3 = stablehlo.minimum %m, %2 : tensor<f32>
          %4 = stablehlo.reshape %3 : (tensor<f32>) -> tensor<1xf32>
          %5 = stablehlo.dynamic_update_slice %ms, %4, %i : (tensor<80xf32>, tensor<1xf32>, tensor<i32>) -> tensor<80xf32>
          %6 = stablehlo.add %3, %tenth : tensor<f32>
          %7 = stablehlo.add %i, %one : tensor<i32>
          stablehlo.return %7, %6, %5, %all : tensor<i32>, tensor<f32>, tensor<80xf32>, tensor<80xf32>
        }
      %rows = stablehlo.reshape %at : (tensor<80xi32>) -> tensor<80x1xi32>
      %8 = "stablehlo.gather"(%x, %rows) <{
        dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
        slice_sizes = array<i64: 1>, indices_are_sorted = false
      }> : (tensor<80xf32>, tensor<80x1xi32>) -> tensor<80xf32>
      %9 = stablehlo.add %8, %x : tensor<80xf32>
      %few = stablehlo.constant dense<40> : tensor<80xi32>
      %10 = stablehlo.compare LT, %at, %few : (tensor<80xi32>, tensor<80xi32>) -> tensor<80xi1>
      %none = stablehlo.constant dense<0x7F800000> : tensor<80xf32>
      %11 = stablehlo.select %10, %9, %none : tensor<80xi1>, tensor<80xf32>
      %12 = stablehlo.reduce(%11 init: %inf) applies stablehlo.minimum across dimensions = [0] :
          (tensor<80xf32>, tensor<f32>) -> tensor<f32>
      return %0#1, %0#2, %12 : tensor<f32>, tensor<80xf32>, tensor<f32> }"""
    compiled = xhlo.compile(text)
    random = np.random.default_rng(1)
    plain = random.standard_normal(80).astype(np.float32)
    zeros, odd = np.where(plain < 0, -0.0, 0.0).astype(np.float32), plain.copy()
    odd[50] = np.nan
    at = random.integers(0, 80, 80).astype(np.int32)
    for x, places in ((plain, at), (zeros, at), (odd, at), (plain, np.full(80, 60, np.int32)), (-abs(plain), at)):
        last, lasts = np.float32(np.inf), np.empty_like(x)
        for i, element in enumerate(x):
            lasts[i] = np.minimum(last, element) if last != 0 or element != 0 else -0.0 if np.signbit(element) else last
            last = lasts[i] + np.float32(0.5)
        results = compiled(x, places)
        np.testing.assert_array_equal(results[0], last)
        np.testing.assert_array_equal(results[1], lasts)
        # NaN has either sign.
        signs = np.isnan(lasts) | (np.signbit(results[1]) == np.signbit(lasts))
        assert signs.all()
        sums = np.where(places < 40, x[places] + x, np.float32(np.inf))
        np.testing.assert_array_equal(results[2], sums.min())


@pytest.mark.long(3)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("count", [1, 7, 64, 77])
def test_pairs(dtype: Float, count: int) -> None:
    """The greater and lesser of two, and of what an iteration replaces in a row, for each pair of kinds of numbers."""
    type_ = "f32" if dtype is np.float32 else "f64"
    array = f"tensor<{count}x{type_}>"
    compiled = xhlo.compile(f"""func.func @main(%x: {array}, %y: {array}) -> ({array}, {array}, {array}) {{
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %end = stablehlo.constant dense<3> : tensor<i32>
      %0 = stablehlo.maximum %x, %y : {array}
      %1 = stablehlo.minimum %x, %y : {array}
      %2:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, {array}
        cond {{
          %3 = stablehlo.compare LT, %i, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %3 : tensor<i1>
        }} do {{
          %3 = stablehlo.minimum %v, %y : {array}
          %4 = stablehlo.negate %3 : {array}
          %5 = stablehlo.add %i, %one : tensor<i32>
          stablehlo.return %5, %4 : tensor<i32>, {array}
        }}
      return %0, %1, %2#1 : {array}, {array}, {array} }}""")
    kinds = np.array([0.0, -0.0, 1.5, -1.5, np.inf, -np.inf, np.nan, -np.nan, 1e-40, -1e-40], dtype)
    pairs = np.array([(x, y) for x in kinds for y in kinds])
    for start in range(0, len(pairs), count):
        x, y = np.resize(pairs[start:], (count, 2)).T.copy()
        last = x
        for _ in range(3):
            last = -_of_two(last, y, False)
        for found, wanted in zip(compiled(x, y), (_of_two(x, y, True), _of_two(x, y, False), last), strict=True):
            np.testing.assert_array_equal(found, wanted)
            assert (np.isnan(wanted) | (np.signbit(found) == np.signbit(wanted))).all()


def _of_two(x: np.ndarray, y: np.ndarray, largest: bool) -> np.ndarray:
    """NumPy's greater or lesser, where 0 is above -0."""
    found = np.maximum(x, y) if largest else np.minimum(x, y)
    negative = (np.signbit(x) & np.signbit(y)) if largest else (np.signbit(x) | np.signbit(y))
    zeros = (x == 0) & (y == 0)
    return np.where(zeros, np.where(negative, x.dtype.type(-0.0), x.dtype.type(0.0)), found)

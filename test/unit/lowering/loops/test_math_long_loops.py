"""Loops that divide by one number, or find a maximum: the short forms for usual elements have the exact results' bits."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

import xhlo
from xhlo.targets.cpu.jit import optimize

SPECIAL = np.array([0.0, -0.0, 1.0, np.inf, -np.inf, np.nan, 1e-45, 3e38, 1e-38, 2.0**-60, 2.0**60], np.float32)
ROWS, COLUMNS = 300, 515

DIVIDE = f"""
func.func @main(%x: tensor<{ROWS}x{COLUMNS}xf32>, %y: tensor<{ROWS}xf32>) -> tensor<{ROWS}x{COLUMNS}xf32> {{
  %0 = stablehlo.broadcast_in_dim %y, dims = [0] : (tensor<{ROWS}xf32>) -> tensor<{ROWS}x{COLUMNS}xf32>
  %1 = stablehlo.divide %x, %0 : tensor<{ROWS}x{COLUMNS}xf32>
  return %1 : tensor<{ROWS}x{COLUMNS}xf32>
}}
"""


@cache
def division() -> xhlo.Executable:
    """The program whose loop over a row is marked as one over a row in the cache, as those of row kernels are."""
    loops = xhlo.compile(DIVIDE).as_text("loops")
    assert loops.count("{xhlo.parallel}") == 1
    return xhlo.compile(loops.replace("{xhlo.parallel}", "{xhlo.parallel, xhlo.cached}"))


def bits(array: np.ndarray) -> np.ndarray:
    """The bits, of which those of NaN are one pattern."""
    return np.where(np.isnan(array), np.nan, array).astype(array.dtype).view(f"u{array.itemsize}")


def near_middles(divisor: int) -> list[int]:
    """
    Integers A of 24 bits for which A / divisor is nearly the middle between two floats.

    `A 2^e - M divisor = k` for an odd M of 25 bits and a small k: e is 25 where A is less than the divisor, else 24.
    """
    zeros = (divisor & -divisor).bit_length() - 1
    found: list[int] = []
    for e in (24, 25):
        modulus = 1 << (e - zeros)
        inverse = pow(divisor >> zeros, -1, modulus)
        for k in range(-6, 7):
            if k and k % (1 << zeros) == 0:
                first = -(k >> zeros) * inverse % modulus
                middles = (m for m in range(first, 1 << 25, modulus) if m >= 1 << 24 and m % 2)
                found += [(m * divisor + k) >> e for m in middles]
    return [a for a in found if 1 << 23 <= a < 1 << 24]


def test_quotients_are_rounded_once() -> None:
    """The quotients that a formula would round to the wrong side are those next to the middle between two floats."""
    rng = np.random.default_rng(0)
    divisors = rng.integers(1 << 23, 1 << 24, ROWS)
    x = rng.integers(1 << 23, 1 << 24, (ROWS, COLUMNS)).astype(np.float32)
    count = 0
    for row, divisor in zip(x, divisors.tolist(), strict=True):
        hard = near_middles(divisor)[:COLUMNS]
        row[: len(hard)] = hard
        count += len(hard)
    assert count > 2 * ROWS
    run = division()
    y = divisors.astype(np.float32)
    for scale in (1.0, -(2.0**-30), 2.0**20):
        scaled = x * np.float32(scale)
        np.testing.assert_array_equal(bits(np.asarray(run(scaled, y))), bits(scaled / y[:, None]))


def test_quotients_of_all_kinds_of_floats() -> None:
    run, rng = division(), np.random.default_rng(1)
    for exponents in (None, 40):
        x, y = (rng.integers(0, 1 << 32, n, dtype=np.uint32) for n in ((ROWS, COLUMNS), ROWS))
        if exponents is not None:
            x = x & 0x807FFFFF | (rng.integers(127 - exponents, 127 + exponents, x.shape, dtype=np.uint32) << 23)
            y = y & 0x807FFFFF | (rng.integers(127 - exponents, 127 + exponents, y.shape, dtype=np.uint32) << 23)
        x, y = x.view(np.float32), y.view(np.float32)
        x[:, : SPECIAL.size] = SPECIAL
        y[: SPECIAL.size] = SPECIAL
        with np.errstate(all="ignore"):
            wanted = x / y[:, None]
        np.testing.assert_array_equal(bits(np.asarray(run(x, y))), bits(wanted))


def test_rows_of_usual_floats_and_others() -> None:
    """Rows that are divided without a check of each vector, up to their bounds, and rows that one element excludes."""
    run, rng = division(), np.random.default_rng(2)
    odd = [-0.0, 1e-45, 2.0**-90, np.nextafter(np.float32(2.0**-90), 0), np.nextafter(np.float32(2.0**90), 0), 2.0**90]
    odd += [np.inf, -np.inf, np.nan, 3e38]
    divisors = [2.0**-30, np.nextafter(np.float32(2.0**30), 0), 2.0**30, -1.0, -0.0, 1e-45, np.inf, np.nan]
    for count in (0, 1):
        exponents = rng.integers(127 - 90, 127 + 90, (ROWS, COLUMNS), dtype=np.uint32)
        signs = rng.integers(0, 2, (ROWS, COLUMNS), dtype=np.uint32) << 31
        x = (rng.integers(0, 1 << 23, (ROWS, COLUMNS), dtype=np.uint32) | exponents << 23 | signs).view(np.float32)
        x[rng.random(x.shape) < 0.1] *= 0.0
        for row in x:
            row[rng.integers(0, COLUMNS, count)] = rng.choice(np.array(odd, np.float32), count)
        y = np.exp2(rng.uniform(-30, 30, ROWS)).astype(np.float32)
        y[: len(divisors)] = divisors
        with np.errstate(all="ignore"):
            wanted = x / y[:, None]
        np.testing.assert_array_equal(bits(np.asarray(run(x, y))), bits(wanted))


SOFTMAX = f"""
func.func @main(%x: tensor<{ROWS}x{COLUMNS}xf32>) -> (tensor<{ROWS}x{COLUMNS}xf32>, tensor<{ROWS}xf32>) {{
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.exponential %x : tensor<{ROWS}x{COLUMNS}xf32>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<{ROWS}x{COLUMNS}xf32>, tensor<f32>) -> tensor<{ROWS}xf32>
  %2 = stablehlo.broadcast_in_dim %1, dims = [0] : (tensor<{ROWS}xf32>) -> tensor<{ROWS}x{COLUMNS}xf32>
  %3 = stablehlo.divide %0, %2 : tensor<{ROWS}x{COLUMNS}xf32>
  return %3, %1 : tensor<{ROWS}x{COLUMNS}xf32>, tensor<{ROWS}xf32>
}}
"""


def test_exponentials_are_divided_by_their_sum() -> None:
    """Rows with results, or sums, of all sizes; only some of them can be divided by the short form."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(ROWS, COLUMNS)).astype(np.float32)
    x[:200] += rng.uniform(-60, 60, (200, 1)).astype(np.float32)
    x[100:, 3] = np.linspace(-110, 100, 200)
    for row, value in enumerate(SPECIAL):
        x[10 + row, 17] = value
    x[30], x[31, ::2], x[32] = -np.inf, -np.inf, -103.9
    found, sums = xhlo.compile(SOFTMAX)(x)
    terms = xhlo.jit(np.exp)(x)
    with np.errstate(all="ignore"):
        wanted = np.asarray(terms) / np.asarray(sums)[:, None]
    np.testing.assert_array_equal(bits(np.asarray(found)), bits(wanted))


def test_the_divider_is_left_alone() -> None:
    assert "xhlo_math_divf" not in xhlo.compile(DIVIDE).as_text("llvm"), "it waits for memory"
    text = division().as_text("llvm")
    if "xhlo_math_divf" not in text:
        pytest.skip("the vectors of this machine are as fast at dividing")
    assert "fma.v16f32" in optimize(text)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("op", "start"), [("maximum", "-inf"), ("minimum", "inf"), ("maximum", "-0.0"), ("minimum", "nan")]
)
def test_extremes_of_rows(op: str, start: str, dtype: type) -> None:
    """Rows whose extreme is NaN, a zero of either sign or both, infinite, or a number."""
    element = "f32" if dtype is np.float32 else "f64"
    literal = f"0x{np.array(float(start), dtype).byteswap().tobytes().hex()}"
    run = xhlo.compile(f"""
func.func @main(%x: tensor<12x70x{element}>) -> tensor<12x{element}> {{
  %0 = stablehlo.constant dense<{literal}> : tensor<{element}>
  %1 = stablehlo.reduce(%x init: %0) applies stablehlo.{op} across dimensions = [1]
    : (tensor<12x70x{element}>, tensor<{element}>) -> tensor<12x{element}>
  return %1 : tensor<12x{element}>
}}""")
    sign = -1 if op == "maximum" else 1
    x = (sign * np.random.default_rng(0).uniform(1, 2, (12, 70))).astype(dtype)
    x[0, 69], x[1, 3] = np.nan, -np.nan
    x[2, [5, 60]] = 0.0, -0.0
    x[3], x[4], x[5, 40] = 0.0, -0.0, -0.0
    x[6], x[7, 1], x[8, 1] = sign * np.inf, -sign * np.inf, sign * np.inf
    x[9, 66:] = -sign * 3.0
    x[10, 0], x[10, 69] = np.nan, np.inf
    wanted = [_extreme([float(start), *row.tolist()], op) for row in x]
    np.testing.assert_array_equal(bits(np.asarray(run(x))), bits(np.array(wanted, dtype)))


def _extreme(values: list[float], op: str) -> float:
    """IEEE 754-2019's maximum or minimum: NaN if there is one, and -0 is less than 0."""
    if any(map(math.isnan, values)):
        return math.nan
    return (max if op == "maximum" else min)(values, key=lambda value: (value, math.copysign(1.0, value)))


COMPUTED = {
    "square": ("%v = stablehlo.multiply %x, %x : {type}", lambda x, y: x * x),
    "product": ("%v = stablehlo.multiply %x, %y : {type}", lambda x, y: x * y),
    "size": ("%v = stablehlo.abs %x : {type}", lambda x, y: abs(x)),
    "negative size": ("%u = stablehlo.abs %x : {type}\n%v = stablehlo.negate %u : {type}", lambda x, y: -abs(x)),
    "sum with a square": (
        "%u = stablehlo.multiply %y, %y : {type}\n%v = stablehlo.add %x, %u : {type}",
        lambda x, y: x + y * y,
    ),
    "sum": ("%v = stablehlo.add %x, %y : {type}", lambda x, y: x + y),
    "from a square": (
        "%u = stablehlo.multiply %y, %y : {type}\n%v = stablehlo.subtract %u, %x : {type}",
        lambda x, y: y * y - x,
    ),
    "difference": ("%v = stablehlo.subtract %x, %y : {type}", lambda x, y: x - y),
    "positive part": (
        "%u = stablehlo.constant dense<0.0> : {type}\n%v = stablehlo.maximum %x, %u : {type}",
        lambda x, y: np.where(x > 0, x, np.where(np.isnan(x), x, np.zeros_like(x))),
    ),
    "at least -1": (
        "%u = stablehlo.constant dense<-1.0> : {type}\n%v = stablehlo.maximum %x, %u : {type}",
        lambda x, y: np.where(x < -1, -np.ones_like(x), x),
    ),
}
"""How elements are computed of which some can be -0 and others cannot, with the same in NumPy."""


def small_numbers() -> tuple[np.ndarray, np.ndarray]:
    """Rows of small numbers, of zeros of one sign or both, and with NaN."""
    rng = np.random.default_rng(0)
    x, y = (rng.integers(-2, 3, (24, 70)).astype(np.float32) for _ in range(2))
    x[rng.random(x.shape) < 0.2] *= np.float32(-0.0)
    for row, (first, second) in enumerate(
        [(0.0, 0.0), (-0.0, 0.0), (0.0, -0.0), (-0.0, -0.0), (1.0, -0.0), (-1.0, 0.0)]
    ):
        x[row], y[row] = first, second
        x[6 + row], y[6 + row] = first, second
        x[6 + row, 33], y[6 + row, 33] = -first, -second
    x[12, 4], x[13, 69], x[14, 0] = np.nan, np.nan, -np.inf
    return x, y


@pytest.mark.parametrize("op", ["maximum", "minimum"])
@pytest.mark.parametrize("name", COMPUTED)
def test_extremes_of_computed_elements(name: str, op: str) -> None:
    """Elements are computed where they are compared."""
    code, computed = COMPUTED[name]
    type_ = "tensor<24x70xf32>"
    start = "-inf" if op == "maximum" else "inf"
    run = xhlo.compile(f"""
func.func @main(%x: {type_}, %y: {type_}) -> tensor<24xf32> {{
  %0 = stablehlo.constant dense<0x{np.array(float(start), np.float32).byteswap().tobytes().hex()}> : tensor<f32>
  {code.format(type=type_)}
  %1 = stablehlo.reduce(%v init: %0) applies stablehlo.{op} across dimensions = [1]
    : ({type_}, tensor<f32>) -> tensor<24xf32>
  return %1 : tensor<24xf32>
}}""")
    x, y = small_numbers()
    wanted = [_extreme(row.tolist(), op) for row in computed(x, y)]
    np.testing.assert_array_equal(bits(np.asarray(run(x, y))), bits(np.array(wanted, np.float32)))


@pytest.mark.parametrize("second", ["x", "y"])
def test_extremes_beside_each_other(second: str) -> None:
    """A maximum and a minimum of the same elements or of others, in one loop or in two."""
    type_, result = "tensor<24x70xf32>", "tensor<24xf32>"
    run = xhlo.compile(f"""
func.func @main(%x: {type_}, %y: {type_}) -> ({result}, {result}) {{
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %high = stablehlo.constant dense<0x7F800000> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [1]
    : ({type_}, tensor<f32>) -> {result}
  %1 = stablehlo.reduce(%{second} init: %high) applies stablehlo.minimum across dimensions = [1]
    : ({type_}, tensor<f32>) -> {result}
  return %0, %1 : {result}, {result}
}}""")
    x, y = small_numbers()
    for first, other, sign in ((x, y, 1), (np.abs(x), y, 1), (x, -np.abs(x) if second == "x" else np.abs(y), -1)):
        found = run(sign * first, other)
        pairs = ((sign * first, "maximum"), (sign * first if second == "x" else other, "minimum"))
        for array, (elements, op) in zip(found, pairs, strict=True):
            wanted = [_extreme(row.tolist(), op) for row in elements]
            np.testing.assert_array_equal(bits(np.asarray(array)), bits(np.array(wanted, np.float32)))


def test_a_loop_is_quick() -> None:
    text = xhlo.compile("""
func.func @main(%x: tensor<8x512xf32>) -> tensor<8xf32> {
  %0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %1 = stablehlo.reduce(%x init: %0) applies stablehlo.maximum across dimensions = [1]
    : (tensor<8x512xf32>, tensor<f32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}""").as_text("llvm")
    if "maxnum" not in text:
        pytest.skip("this machine has the maximum as an instruction")
    assert "llvm.maximum" not in text

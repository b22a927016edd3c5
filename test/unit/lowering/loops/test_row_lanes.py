"""Short rows with elementary functions, whose vectors run across rows."""

from __future__ import annotations

import numpy as np
import pytest
from ml_dtypes import bfloat16

from cpu_programs import on_threads, run, type_of


def _reduced(name: str, given: str, result: str, dim: int, function: str, of: str) -> str:
    init = "%low" if function == "maximum" else "%zero"
    element = given.rsplit("x", 1)[1][:-1]
    return (
        f"%{name} = stablehlo.reduce(%{of} init: {init}) applies stablehlo.{function} across dimensions = [{dim}] : "
        f"({given}, tensor<{element}>) -> {result}\n"
    )


def _softmax(shape: tuple[int, ...], element: str) -> str:
    """The logarithm of softmax along the last dimension of x + b, its exponential, and the logarithm of the sums."""
    given, dim = f"tensor<{'x'.join(map(str, shape))}x{element}>", len(shape) - 1
    sums = f"tensor<{'x'.join(map(str, (*shape[:-1], element)))}>"
    biases = f"tensor<{shape[0]}x{shape[-1]}x{element}>"
    rows = ", ".join(map(str, range(dim)))
    low = {"f32": "0xFF800000", "f64": "0xFFF0000000000000", "bf16": "0xFF80"}[element]
    return f"""func.func @main(%x: {given}, %b: {biases}) -> ({given}, {given}, {sums}) {{
      %zero = stablehlo.constant dense<0.0> : tensor<{element}>
      %low = stablehlo.constant dense<{low}> : tensor<{element}>
      %bias = stablehlo.broadcast_in_dim %b, dims = [0, {dim}] : ({biases}) -> {given}
      %y = stablehlo.add %x, %bias : {given}
      {_reduced("m", given, sums, dim, "maximum", "y")}
      %mb = stablehlo.broadcast_in_dim %m, dims = [{rows}] : ({sums}) -> {given}
      %d = stablehlo.subtract %y, %mb : {given}
      %e = stablehlo.exponential %d : {given}
      {_reduced("s", given, sums, dim, "add", "e")}
      %l = stablehlo.log %s : {sums}
      %lb = stablehlo.broadcast_in_dim %l, dims = [{rows}] : ({sums}) -> {given}
      %logs = stablehlo.subtract %d, %lb : {given}
      %p = stablehlo.exponential %logs : {given}
      return %logs, %p, %l : {given}, {given}, {sums}
    }}"""


def _expected(x: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, ...]:
    y = x.astype(np.float64) + b.astype(np.float64).reshape(b.shape[0], *(1 for _ in x.shape[1:-1]), b.shape[1])
    d = y - y.max(-1, keepdims=True)
    total = np.log(np.exp(d).sum(-1))
    return d - total[..., None], np.exp(d - total[..., None]), total


@pytest.mark.long(30)
@pytest.mark.parametrize("element", ["f32", "f64"])
@pytest.mark.parametrize(
    "shape",
    [
        (5, 6),
        (8, 5),
        (16, 9),
        (33, 10),
        (70, 7),
        (200, 16),
        (65, 31),
        (3, 40, 7),
        (5, 3, 6),
        (700, 11),
        (530, 24),
        (150, 48),
    ],
    ids=str,
)
def test_softmax(shape: tuple[int, ...], element: str) -> None:
    """Rows of one dimension or two, of which some lie beyond the last whole tile."""
    random = np.random.default_rng(0)
    type_ = np.float32 if element == "f32" else np.float64
    x, b = (3 * random.standard_normal(size).astype(type_) for size in (shape, (shape[0], shape[-1])))
    found = run(_softmax(shape, element), [x, b])
    for got, want in zip(found, _expected(x, b), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5 if element == "f32" else 1e-13, atol=2e-6)


@pytest.mark.long
def test_bits_of_threads() -> None:
    """The same bits for any number of threads."""
    random = np.random.default_rng(1)
    x, b = (random.standard_normal(size).astype(np.float32) for size in ((20_000, 6), (20_000, 6)))
    for got, want in zip(on_threads(_softmax((20_000, 6), "f32"), x, b), _expected(x, b), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=2e-6)


def test_part_of_a_row() -> None:
    """A kernel that writes the middle of each row leaves the rest of what is there."""
    x = np.random.default_rng(2).standard_normal((50, 9)).astype(np.float32)
    given, part, sums = type_of(x), "tensor<50x5xf32>", "tensor<50xf32>"
    text = f"""func.func @main(%x: {given}) -> {given} {{
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %s = stablehlo.slice %x [0:50, 2:7] : ({given}) -> {part}
      %e = stablehlo.exponential %s : {part}
      {_reduced("t", part, sums, 1, "add", "e")}
      %tb = stablehlo.broadcast_in_dim %t, dims = [0] : ({sums}) -> {part}
      %p = stablehlo.divide %e, %tb : {part}
      %i0 = stablehlo.constant dense<0> : tensor<i32>
      %i2 = stablehlo.constant dense<2> : tensor<i32>
      %r = stablehlo.dynamic_update_slice %x, %p, %i0, %i2 : ({given}, {part}, tensor<i32>, tensor<i32>) -> {given}
      return %r : {given}
    }}"""
    (found,) = run(text, [x])
    want, e = x.copy(), np.exp(x[:, 2:7].astype(np.float64))
    want[:, 2:7] = e / e.sum(1, keepdims=True)
    np.testing.assert_allclose(found, want, rtol=1e-5)


def test_greatest_and_its_place() -> None:
    """A reduction that chooses, in lanes, with rows of equal greatest elements."""
    x = np.random.default_rng(3).integers(-3, 3, (77, 7)).astype(np.float32)
    text = """func.func @main(%x: tensor<77x7xf32>) -> (tensor<77xi32>, tensor<77x7xf32>) {
      %n = stablehlo.iota dim = 1 : tensor<77x7xi32>
      %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %none = stablehlo.constant dense<0> : tensor<i32>
      %m:2 = stablehlo.reduce(%x init: %low), (%n init: %none) across dimensions = [1] :
          (tensor<77x7xf32>, tensor<77x7xi32>, tensor<f32>, tensor<i32>) -> (tensor<77xf32>, tensor<77xi32>)
        reducer(%a: tensor<f32>, %b: tensor<f32>) (%i: tensor<i32>, %j: tensor<i32>) {
          %greater = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
          %equal = stablehlo.compare EQ, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
          %before = stablehlo.compare LT, %i, %j : (tensor<i32>, tensor<i32>) -> tensor<i1>
          %tie = stablehlo.and %equal, %before : tensor<i1>
          %take = stablehlo.or %greater, %tie : tensor<i1>
          %v = stablehlo.select %greater, %a, %b : tensor<i1>, tensor<f32>
          %k = stablehlo.select %take, %i, %j : tensor<i1>, tensor<i32>
          stablehlo.return %v, %k : tensor<f32>, tensor<i32>
        }
      %mb = stablehlo.broadcast_in_dim %m#0, dims = [0] : (tensor<77xf32>) -> tensor<77x7xf32>
      %d = stablehlo.subtract %x, %mb : tensor<77x7xf32>
      %e = stablehlo.exponential %d : tensor<77x7xf32>
      return %m#1, %e : tensor<77xi32>, tensor<77x7xf32>
    }"""
    places, powers = run(text, [x])
    np.testing.assert_array_equal(places, x.argmax(1))
    np.testing.assert_allclose(powers, np.exp(x.astype(np.float64) - x.max(1, keepdims=True)), rtol=1e-6)


@pytest.mark.long(7)
@pytest.mark.parametrize("columns", [2, 3, 5, 11, 16, 64, 100])
def test_bfloat16(columns: int) -> None:
    """Rows whose greatest elements and sums are rounded, in lanes of their own or one after the other."""
    x = (3 * np.random.default_rng(4).standard_normal((150, columns))).astype(bfloat16)
    given, sums = f"tensor<150x{columns}xbf16>", "tensor<150xbf16>"
    text = f"""func.func @main(%x: {given}) -> {given} {{
      %zero = stablehlo.constant dense<0.0> : tensor<bf16>
      %low = stablehlo.constant dense<0xFF80> : tensor<bf16>
      {_reduced("m", given, sums, 1, "maximum", "x")}
      %mb = stablehlo.broadcast_in_dim %m, dims = [0] : ({sums}) -> {given}
      %d = stablehlo.subtract %x, %mb : {given}
      %e = stablehlo.exponential %d : {given}
      {_reduced("s", given, sums, 1, "add", "e")}
      %sb = stablehlo.broadcast_in_dim %s, dims = [0] : ({sums}) -> {given}
      %p = stablehlo.divide %e, %sb : {given}
      return %p : {given}
    }}"""
    (found,) = on_threads(text, x)
    powers = np.exp(x.astype(np.float64) - x.astype(np.float64).max(1, keepdims=True))
    np.testing.assert_allclose(found.astype(np.float64), powers / powers.sum(1, keepdims=True), rtol=0.04, atol=1e-4)


FIRST_GREATEST = """func.func @main(%x: tensor<RxCxf32>) -> tensor<Rxi32> {
  %n = stablehlo.iota dim = 1 : tensor<RxCxi32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %none = stablehlo.constant dense<0> : tensor<i32>
  %m:2 = stablehlo.reduce(%x init: %low), (%n init: %none) across dimensions = [1] :
      (tensor<RxCxf32>, tensor<RxCxi32>, tensor<f32>, tensor<i32>) -> (tensor<Rxf32>, tensor<Rxi32>)
    reducer(%a: tensor<f32>, %b: tensor<f32>) (%i: tensor<i32>, %j: tensor<i32>) {
      %greater = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %nan = stablehlo.compare NE, %a, %a : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %above = stablehlo.or %greater, %nan : tensor<i1>
      %equal = stablehlo.compare EQ, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %before = stablehlo.compare LT, %i, %j : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %tie = stablehlo.and %equal, %before : tensor<i1>
      %take = stablehlo.or %above, %tie : tensor<i1>
      %v = stablehlo.select %above, %a, %b : tensor<i1>, tensor<f32>
      %k = stablehlo.select %take, %i, %j : tensor<i1>, tensor<i32>
      stablehlo.return %v, %k : tensor<f32>, tensor<i32>
    }
  return %m#1 : tensor<Rxi32>
}"""


@pytest.mark.long(20)
@pytest.mark.parametrize("columns", [9, 11, 16, 24, 31])
@pytest.mark.parametrize("rows", [127, 128, 130, 20_001])
def test_first_greatest(rows: int, columns: int) -> None:
    """A reduction by itself that chooses, with equal greatest elements, NaN and rows of nothing but infinities."""
    random = np.random.default_rng(5)
    x = random.integers(-4, 4, (rows, columns)).astype(np.float32)
    x[random.random(x.shape) < 0.02] = np.nan
    x[7], x[9] = -np.inf, np.nan
    text = FIRST_GREATEST.replace("RxC", f"{rows}x{columns}").replace("<Rx", f"<{rows}x")
    (places,) = on_threads(text, x)
    np.testing.assert_array_equal(places, x.argmax(1))


@pytest.mark.long(4)
@pytest.mark.parametrize(("columns", "element"), [(16, "f32"), (11, "bf16"), (16, "bf16"), (31, "bf16")])
def test_greatest(columns: int, element: str) -> None:
    """Maxima by themselves, with NaN and zeros of both signs."""
    random = np.random.default_rng(6)
    x = random.integers(-9, 2, (333, columns)).astype(np.float32 if element == "f32" else bfloat16)
    x[random.random(x.shape) < 0.02] = np.nan
    x[random.random(x.shape) < 0.1] = -0.0
    x[5] = -0.0
    given, sums, low = f"tensor<333x{columns}x{element}>", f"tensor<333x{element}>", "0xFF80"
    text = f"""func.func @main(%x: {given}) -> {sums} {{
      %low = stablehlo.constant dense<{low if element == "bf16" else "0xFF800000"}> : tensor<{element}>
      {_reduced("m", given, sums, 1, "maximum", "x")}
      return %m : {sums}
    }}"""
    (found,) = run(text, [x])
    want = x.astype(np.float64).max(1)
    np.testing.assert_array_equal(found.astype(np.float64), want)
    only = ~(np.isnan(want) | (x == 0).any(1) & ~np.signbit(x).all(1))
    np.testing.assert_array_equal(np.signbit(found)[only], np.signbit(want)[only])


@pytest.mark.long(3)
@pytest.mark.parametrize("columns", [9, 16, 31])
def test_any(columns: int) -> None:
    """Whether a row has a true element, by itself."""
    x = np.random.default_rng(7).random((300, columns)) < 0.04
    given = f"tensor<300x{columns}xi1>"
    text = f"""func.func @main(%x: {given}) -> tensor<300xi1> {{
      %zero = stablehlo.constant dense<false> : tensor<i1>
      {_reduced("m", given, "tensor<300xi1>", 1, "or", "x")}
      return %m : tensor<300xi1>
    }}"""
    (found,) = run(text, [x])
    np.testing.assert_array_equal(found, x.any(1))

"""Gradients of poolings, by windows that tile their operand and others: the loops agree with the reference."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from cpu_programs import DTYPES, run
from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.ops.window_geometry import Window
from xhlo.hlo_dialect.reading import parse_module
from xhlo.hlo_dialect.reference import evaluate

SCATTER = """\
  %{name} = "hlo.select_and_scatter"({x}, {g}, {init}) <{{window_dimensions = array<i64: 1, 2, {width}, 1>,
      window_strides = array<i64: 1, 2, {width}, 1>}}> ({{
  ^bb0(%a: tensor<{type}>, %c: tensor<{type}>):
    %p = hlo.compare {direction}, %a, %c : (tensor<{type}>, tensor<{type}>) -> tensor<i1>
    hlo.return %p : tensor<i1>
  }}, {{
  ^bb0(%a: tensor<{type}>, %c: tensor<{type}>):
    %s = hlo.{scatter} %a, %c : tensor<{type}>
    hlo.return %s : tensor<{type}>
  }}) : (tensor<{whole}x{type}>, tensor<{parts}x{type}>, tensor<{type}>) -> tensor<{whole}x{type}>
"""


def program(type_: str, columns: int, width: int) -> str:
    """Four gradients: followed by a relu's, by two results, by what reads another index, and by nothing."""
    whole, parts = f"2x4x{2 * width}x{columns}", f"2x2x2x{columns}"
    tensor = f"tensor<{whole}x{type_}>"
    given = {"x": "%x", "g": "%g", "type": type_, "whole": whole, "parts": parts, "width": width}
    first = SCATTER.format(name="0", init="%zero", direction="GE", scatter="add", **given)
    second = SCATTER.format(name="1", init="%one", direction="LT", scatter="multiply", **given)
    third = SCATTER.format(name="2", init="%zero", direction="GT", scatter="add", **given)
    fourth = SCATTER.format(name="3", init="%one", direction="GE", scatter="subtract", **given)
    return f"""
func.func @main(%x: {tensor}, %g: tensor<{parts}x{type_}>, %b: tensor<{columns}x{type_}>)
    -> ({tensor}, {tensor}, tensor<{whole}xi1>, {tensor}, {tensor}) {{
  %zero = hlo.constant dense<0> : tensor<{type_}>
  %one = hlo.constant dense<1> : tensor<{type_}>
  %zeros = hlo.constant dense<0> : {tensor}
{first}  %4 = hlo.compare GT, %x, %zeros : ({tensor}, {tensor}) -> tensor<{whole}xi1>
  %5 = hlo.select %4, %0, %zeros : tensor<{whole}xi1>, {tensor}
{second}  %6 = hlo.broadcast_in_dim %b, dims = [3] : (tensor<{columns}x{type_}>) -> {tensor}
  %7 = hlo.add %1, %6 : {tensor}
  %8 = hlo.compare LT, %7, %x : ({tensor}, {tensor}) -> tensor<{whole}xi1>
{third}  %9 = hlo.reverse %2, dims = [1] : {tensor}
  %10 = hlo.add %9, %x : {tensor}
{fourth}  func.return %5, %7, %8, %10, %3 : {tensor}, {tensor}, tensor<{whole}xi1>, {tensor}, {tensor}
}}
""".replace("dense<0>", "dense<0.0>" if type_ == "f32" else "dense<0>").replace(
        "dense<1>", "dense<1.0>" if type_ == "f32" else "dense<1>"
    )


@pytest.mark.long(3)
@pytest.mark.parametrize(("type_", "columns", "width"), [("f32", 8, 2), ("f32", 5, 1), ("i32", 17, 3)])
def test_gradients_of_poolings(type_: str, columns: int, width: int) -> None:
    random = np.random.default_rng(columns)
    dtype = np.dtype(np.float32 if type_ == "f32" else np.int32)
    # Few values, so that windows hold equal ones.
    x = random.integers(-2, 3, (2, 4, 2 * width, columns)).astype(dtype)
    if type_ == "f32":
        x[0, 0, 0, :3] = np.nan, -0.0, np.inf
    inputs = [x, random.integers(-9, 9, (2, 2, 2, columns)).astype(dtype), np.arange(columns, dtype=dtype)]
    text = program(type_, columns, width)
    wanted = evaluate(parse_module(text, "pooling.mlir", make_context()), inputs)
    for got, want in zip(run(text, inputs), wanted, strict=True):
        assert got.tobytes() == want.tobytes()


def test_relu_of_special_values() -> None:
    """The comparison of a clamped value gives what that of the value gave: for NaN, zeros of both signs, infinities."""
    text = """
func.func @main(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xi1>, tensor<8xf32>, tensor<8xi1>) {
  %zero = hlo.constant dense<0.0> : tensor<8xf32>
  %nan = hlo.constant dense<0x7FC00000> : tensor<8xf32>
  %a = hlo.negate %x : tensor<8xf32>
  %p = hlo.compare GT, %a, %zero : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1>
  %h = hlo.maximum %a, %zero : tensor<8xf32>
  %b = hlo.sine %x : tensor<8xf32>
  %q = hlo.compare LT, %b, %nan : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1>
  %l = hlo.minimum %nan, %b : tensor<8xf32>
  func.return %h, %p, %l, %q : tensor<8xf32>, tensor<8xi1>, tensor<8xf32>, tensor<8xi1>
}
"""
    x = np.array([np.nan, -0.0, 0.0, 1e-45, -1e-45, np.inf, -np.inf, 1.5], np.float32)
    h, p, low, q = run(text, [x])
    np.testing.assert_array_equal(h, np.maximum(-x, np.float32(0)))
    np.testing.assert_array_equal(p, -x > 0)
    assert np.isnan(low).all() and not q.any()


def test_gradient_beside_its_pooling() -> None:
    """The number of the selected element, computed with the pooling, gives the gradient the same bits."""
    parts = {"x": "%h", "g": "%g", "type": "f32", "whole": "2x4x4x8", "parts": "2x2x2x8", "width": 2}
    pooling = """\
  %{name} = "hlo.reduce_window"(%h, {init}) <{{window_dimensions = array<i64: 1, 2, 2, 1>,
      window_strides = array<i64: 1, 2, 2, 1>}}> ({{
  ^bb0(%a: tensor<f32>, %c: tensor<f32>):
    %s = hlo.{combiner} %a, %c : tensor<f32>
    hlo.return %s : tensor<f32>
  }}) : (tensor<2x4x4x8xf32>, tensor<f32>) -> tensor<2x2x2x8xf32>
"""
    text = f"""
func.func @main(%x: tensor<2x4x4x8xf32>, %g: tensor<2x2x2x8xf32>)
    -> (tensor<2x2x2x8xf32>, tensor<2x2x2x8xf32>, tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>) {{
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %low = hlo.constant dense<0xFF800000> : tensor<f32>
  %zeros = hlo.constant dense<0.0> : tensor<2x4x4x8xf32>
  %h = hlo.maximum %x, %zeros : tensor<2x4x4x8xf32>
{pooling.format(name="m", init="%low", combiner="maximum")}{pooling.format(name="n", init="%low", combiner="minimum")}
{SCATTER.format(name="0", init="%zero", direction="GE", scatter="add", **parts)}
{SCATTER.format(name="1", init="%zero", direction="GE", scatter="add", **parts)}
  %2 = hlo.compare GT, %x, %zeros : (tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>) -> tensor<2x4x4x8xi1>
  %3 = hlo.select %2, %0, %zeros : tensor<2x4x4x8xi1>, tensor<2x4x4x8xf32>
  %4 = hlo.negate %1 : tensor<2x4x4x8xf32>
  func.return %m, %n, %3, %4 : tensor<2x2x2x8xf32>, tensor<2x2x2x8xf32>, tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>
}}
"""
    random = np.random.default_rng(1)
    x = random.choice(np.array([-1, -0.0, 0, 1, 2, np.nan, np.inf, -np.inf], np.float32), (2, 4, 4, 8))
    g = random.choice(np.array([-0.0, 0, 1, 2, np.nan], np.float32), (2, 2, 2, 8))
    wanted = evaluate(parse_module(text, "pooling.mlir", make_context()), [x, g])
    for got, want in zip(run(text, [x, g]), wanted, strict=True):
        assert np.array_equal(np.isnan(got), np.isnan(want))
        assert np.array_equal(got[~np.isnan(got)].view(np.int32), want[~np.isnan(want)].view(np.int32))


def _windows(shape: tuple[int, ...], sizes: tuple[int, ...], strides: tuple[int, ...], low: tuple[int, ...]) -> Window:
    """Windows from `low` before the operand, as many as begin in it."""
    counts = [-(-(n + before) // step) for n, step, before in zip(shape, strides, low, strict=True)]
    high = [
        (count - 1) * step + size - n - before
        for count, step, size, n, before in zip(counts, strides, sizes, shape, low, strict=True)
    ]
    ones = (1,) * len(shape)
    return Window(sizes, strides, ones, ones, low, tuple(high))


def _gradient(shape: tuple[int, ...], window: Window, type_: str, direction: str) -> str:
    """One gradient by windows that overlap, have gaps, or extend beyond the operand."""

    def tensor(sizes: Sequence[int]) -> str:
        return f"tensor<{'x'.join(map(str, sizes))}x{type_}>"

    zero = "0" if type_.startswith("i") else "0.0"
    padding = list(map(list, zip(window.low, window.high, strict=True)))
    whole, parts = tensor(shape), tensor(window.counts(shape))
    return f"""
func.func @main(%x: {whole}, %g: {parts}) -> {whole} {{
  %zero = hlo.constant dense<{zero}> : tensor<{type_}>
  %0 = "hlo.select_and_scatter"(%x, %g, %zero) <{{
      window_dimensions = array<i64: {", ".join(map(str, window.dimensions))}>,
      window_strides = array<i64: {", ".join(map(str, window.strides))}>,
      padding = dense<{padding}> : tensor<{len(shape)}x2xi64>}}> ({{
  ^bb0(%a: tensor<{type_}>, %c: tensor<{type_}>):
    %p = hlo.compare {direction}, %a, %c : (tensor<{type_}>, tensor<{type_}>) -> tensor<i1>
    hlo.return %p : tensor<i1>
  }}, {{
  ^bb0(%a: tensor<{type_}>, %c: tensor<{type_}>):
    %s = hlo.add %a, %c : tensor<{type_}>
    hlo.return %s : tensor<{type_}>
  }}) : ({whole}, {parts}, tensor<{type_}>) -> {whole}
  func.return %0 : {whole}
}}
"""


@pytest.mark.long(6)
@pytest.mark.parametrize("direction", ["GE", "GT", "LT", "NE"])
@pytest.mark.parametrize(
    ("type_", "shape", "sizes", "strides", "low"),
    [
        ("f32", (2, 7, 21), (1, 3, 3), (1, 2, 2), (0, 1, 1)),
        ("f64", (2, 6, 19), (1, 3, 3), (1, 1, 1), (0, 1, 2)),
        ("bf16", (9, 20, 2), (3, 5, 1), (2, 3, 1), (2, 1, 0)),
        ("f32", (7, 8, 9), (3, 3, 1), (2, 1, 1), (1, 2, 0)),
        ("i32", (4, 2, 11), (2, 3, 2), (3, 1, 4), (1, 1, -1)),
        ("i8", (9, 26), (4, 4), (2, 3), (3, 0)),
        ("f32", (12, 12), (6, 6), (2, 3), (1, 2)),
        ("f32", (3, 2), (3, 3), (1, 1), (2, 2)),
        ("f32", (4, 9), (2, 3), (2, 2), (3, 1)),
        ("f32", (2105,), (3,), (2,), (1,)),
    ],
)
def test_overlapping_windows(
    type_: str,
    shape: tuple[int, ...],
    sizes: tuple[int, ...],
    strides: tuple[int, ...],
    low: tuple[int, ...],
    direction: str,
) -> None:
    """Ties, NaN, windows that extend beyond the operand or do not meet it: the reference's bits."""
    window = _windows(shape, sizes, strides, low)
    text = _gradient(shape, window, type_, direction)
    random = np.random.default_rng(len(text))
    dtype = DTYPES[type_]
    x = random.integers(-2, 3, shape).astype(dtype)
    if not type_.startswith("i"):
        x[random.random(shape) < 0.15] = np.nan
    # Sums of these depend on their order, if they are floats.
    g = (random.standard_normal(window.counts(shape)) * 9).astype(dtype)
    (want,) = evaluate(parse_module(text, "pooling.mlir", make_context()), [x, g])
    (got,) = run(text, [x, g])
    assert got.tobytes() == want.tobytes()


@pytest.mark.parametrize(("low", "high"), [((1, 2), (1, 2)), ((0, 1), (3, 2)), ((2, 2), (0, 4))])
def test_gradients_of_sums_of_tiles(low: tuple[int, int], high: tuple[int, int]) -> None:
    """Updates that zeros interleave, summed by windows of the same size, with rows cut off and left over."""
    rows, columns = 4 + low[0] + high[0], 19 + low[1] + high[1]
    padded, result = f"tensor<{rows + 1}x{columns}xf32>", f"tensor<{rows}x{columns - 2}xf32>"
    text = f"""
func.func @main(%g: tensor<3x7xf32>) -> {result} {{
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.pad %g, %zero, low = {list(low)}, high = {list(high)}, interior = [1, 2]
      : (tensor<3x7xf32>, tensor<f32>) -> {padded}
  %1 = "hlo.reduce_window"(%0, %zero) <{{window_dimensions = array<i64: 2, 3>}}> ({{
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = hlo.add %a, %b : tensor<f32>
    hlo.return %m : tensor<f32>
  }}) : ({padded}, tensor<f32>) -> {result}
  func.return %1 : {result}
}}
"""
    g = np.random.default_rng(5).choice(np.array([-0.0, 0, 1, -2.5, np.inf], np.float32), (3, 7))
    (want,) = evaluate(parse_module(text, "sums.mlir", make_context()), [g])
    (got,) = run(text, [g])
    assert got.tobytes() == want.tobytes()

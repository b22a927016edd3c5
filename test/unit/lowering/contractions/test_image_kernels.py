"""Convolutions in one kernel with what makes their operands and what follows, image by image: they agree with the parts."""

from __future__ import annotations

import re

import numpy as np
import pytest

from cpu_programs import run
from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.reading import parse_module
from xhlo.hlo_dialect.reference import evaluate
from xhlo.targets.compile import compile as compile_


def conv(
    name: str, lhs: tuple[str, str], rhs: tuple[str, str], out: str, form: str, pad: int, stride: int, dilate: int
) -> str:
    return f"""\
  %{name} = hlo.convolution({lhs[0]}, {rhs[0]}) dim_numbers = {form},
      window = {{stride = [{stride}, {stride}], pad = [[{pad}, {pad}], [{pad}, {pad}]], rhs_dilate = [{dilate}, {dilate}]}}
      {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}} : ({lhs[1]}, {rhs[1]}) -> {out}
"""


FORWARD, FILTERS = "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "[f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f]"


def program(images: int, size: int, inner: int, outer: int, taps: int, stride: int) -> str:
    """A convolution, bias, relu and a pooling, its gradient by the input, and that of the filters."""
    pad = taps // 2
    out = (size + 2 * pad - taps) // stride + 1
    pooled = out // 2
    x, w, b = (
        f"tensor<{images}x{size}x{size}x{inner}xf32>",
        f"tensor<{taps}x{taps}x{inner}x{outer}xf32>",
        f"{outer}xf32",
    )
    y, p = f"tensor<{images}x{out}x{out}x{outer}xf32>", f"tensor<{images}x{pooled}x{pooled}x{outer}xf32>"
    window = "window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>"
    # The gradient by the filters takes steps of the stride along the input.
    steps = conv("dw", ("%x", x), ("%d", y), w, FILTERS, pad, 1, stride)
    back = conv("dx", ("%d", y), ("%flipped", w), x, "[b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f]", pad, 1, 1)
    return f"""
func.func @main(%x: {x}, %w: {w}, %b: tensor<{b}>, %g: {p}) -> ({p}, {w}{f", {x}" if stride == 1 else ""}) {{
  %low = hlo.constant dense<0xFF800000> : tensor<f32>
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %zeros = hlo.constant dense<0.0> : {y}
{conv("0", ("%x", x), ("%w", w), y, FORWARD, pad, stride, 1)}
  %1 = hlo.broadcast_in_dim %b, dims = [3] : (tensor<{b}>) -> {y}
  %2 = hlo.add %0, %1 : {y}
  %h = hlo.maximum %2, %zeros : {y}
  %p = "hlo.reduce_window"(%h, %low) <{{{window}}}> ({{
  ^bb0(%a: tensor<f32>, %c: tensor<f32>):
    %s = hlo.maximum %a, %c : tensor<f32>
    hlo.return %s : tensor<f32>
  }}) : ({y}, tensor<f32>) -> {p}
  %3 = "hlo.select_and_scatter"(%h, %g, %zero) <{{{window}}}> ({{
  ^bb0(%a: tensor<f32>, %c: tensor<f32>):
    %q = hlo.compare GE, %a, %c : (tensor<f32>, tensor<f32>) -> tensor<i1>
    hlo.return %q : tensor<i1>
  }}, {{
  ^bb0(%a: tensor<f32>, %c: tensor<f32>):
    %s = hlo.add %a, %c : tensor<f32>
    hlo.return %s : tensor<f32>
  }}) : ({y}, {p}, tensor<f32>) -> {y}
  %4 = hlo.compare GT, %2, %zeros : ({y}, {y}) -> tensor<{y[7:-4]}i1>
  %d = hlo.select %4, %3, %zeros : tensor<{y[7:-4]}i1>, {y}
{steps}{"  %flipped = hlo.reverse %w, dims = [0, 1] : " + w if stride == 1 else ""}
{back if stride == 1 else ""}
  func.return %p, %dw{", %dx" if stride == 1 else ""} : {p}, {w}{", " + x if stride == 1 else ""}
}}
"""


CASES = [
    (4, 8, 1, 8, 3, 1),  # one input channel
    (9, 12, 3, 16, 3, 1),  # tasks of several images
    (2, 8, 8, 24, 1, 1),  # without padding
    (8, 8, 8, 40, 5, 1),  # blocks, and columns that are no whole vectors
    (3, 15, 4, 8, 3, 2),  # steps of two
]


@pytest.mark.long(3)
@pytest.mark.parametrize("case", CASES)
def test_images(case: tuple[int, ...]) -> None:
    images, size, inner, outer, taps, stride = case
    text = program(images, size, inner, outer, taps, stride)
    random = np.random.default_rng(outer)
    pooled = ((size + 2 * (taps // 2) - taps) // stride + 1) // 2
    # Small integers: sums are exact in any order, and windows hold equal elements.
    shapes = ((images, size, size, inner), (taps, taps, inner, outer), (outer,), (images, pooled, pooled, outer))
    inputs = [random.integers(-2, 3, shape).astype(np.float32) for shape in shapes]
    wanted = evaluate(parse_module(text, "images.mlir", make_context()), inputs)
    for got, want in zip(run(text, inputs), wanted, strict=True):
        assert np.array_equal(got, want)


def test_one_operand_is_computed() -> None:
    """Each operand of a gradient, computed beside a parameter; and filters of as many rows as there are images."""
    x, g, w, flat = "tensor<3x6x4x4xf32>", "tensor<3x6x4x8xf32>", "tensor<3x3x4x8xf32>", "tensor<4x8xf32>"
    spread = f"hlo.broadcast_in_dim %f, dims = [2, 3] : ({flat}) -> "
    text = f"""
func.func @main(%x: {x}, %g: {g}, %w: {w}, %f: {flat}) -> ({w}, {w}, {g}) {{
  %0 = {spread.replace("4x8", "4x4").replace("%f", "%s")}{x}
  %1 = hlo.multiply %x, %0 : {x}
{conv("2", ("%1", x), ("%g", g), w, FILTERS, 1, 1, 1)}
  %3 = {spread}{g}
  %4 = hlo.multiply %g, %3 : {g}
{conv("5", ("%x", x), ("%4", g), w, FILTERS, 1, 1, 1)}
  %6 = {spread}{w}
  %7 = hlo.multiply %w, %6 : {w}
{conv("8", ("%x", x), ("%7", w), g, FORWARD, 1, 1, 1)}
  func.return %2, %5, %8 : {w}, {w}, {g}
}}
""".replace(f"%f: {flat}", f"%f: {flat}, %s: tensor<4x4xf32>")
    random = np.random.default_rng(3)
    shapes = ((3, 6, 4, 4), (3, 6, 4, 8), (3, 3, 4, 8), (4, 8), (4, 4))
    inputs = [random.integers(-2, 3, shape).astype(np.float32) for shape in shapes]
    wanted = evaluate(parse_module(text, "images.mlir", make_context()), inputs)
    for got, want in zip(run(text, inputs), wanted, strict=True):
        assert np.array_equal(got, want)


def test_what_is_in_memory() -> None:
    """Neither the convolution nor the gradient of its result is: kernels read and write what is smaller."""
    executable = compile_(program(4, 8, 1, 8, 3, 1))
    moved = sum(kernel.bytes for kernel in executable.kernels)
    large = 4 * 8 * 8 * 8 * 4
    assert moved < 2 * large
    assert not re.search("custom", " ".join(kernel.kind for kernel in executable.kernels))


@pytest.mark.parametrize("images", [31, 32])
def test_sums_of_as_many_channels_as_images(images: int) -> None:
    """Batch normalization's sums over all images wait for them, also where there is one channel for each image."""
    x, w, b = f"tensor<{images}x8x8x32xf32>", "tensor<3x3x32x32xf32>", "tensor<32xf32>"
    text = f"""
func.func @main(%x: {x}, %w: {w}, %b: {b}) -> ({x}, {b}) {{
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %zeros = hlo.constant dense<0.0> : {x}
  %half = hlo.constant dense<0.5> : {b}
  %0 = hlo.broadcast_in_dim %b, dims = [3] : ({b}) -> {x}
  %1 = hlo.add %x, %0 : {x}
  %2 = hlo.maximum %1, %zeros : {x}
{conv("3", ("%2", x), ("%w", w), x, FORWARD, 1, 1, 1)}
  %4 = hlo.reduce(%3 init: %zero) applies hlo.add across dimensions = [0, 1, 2] : ({x}, tensor<f32>) -> {b}
  %5 = hlo.multiply %4, %half : {b}
  func.return %3, %5 : {x}, {b}
}}
"""
    random = np.random.default_rng(8)
    inputs = [random.integers(-2, 3, shape).astype(np.float32) for shape in ((images, 8, 8, 32), (3, 3, 32, 32), (32,))]
    wanted = evaluate(parse_module(text, "images.mlir", make_context()), inputs)
    for got, want in zip(run(text, inputs), wanted, strict=True):
        assert np.array_equal(got, want)

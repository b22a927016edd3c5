"""Convolutions that compute what they pad, as the activation of a normalization, against the reference."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from xdsl.dialects import memref
from xdsl.dialects.builtin import f32

import xhlo
from cpu_programs import on_threads, run
from test_convolution import Conv, inputs_of, plain
from xhlo.dialects.support.buffers import memref_type
from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.reading import parse_module
from xhlo.targets.cpu.target import CPU
from xhlo.targets.program.pipeline import run_passes

# Several small images are taken through all steps one by one; these are larger, but for the first.
CASES = {
    "images": plain((22, 22), (3, 3), 16, 32, pad=((1, 1), (1, 1))),
    "square": plain((40, 40), (3, 3), 16, 32, pad=((1, 1), (1, 1))),
    "odd sizes": plain((57, 55), (3, 3), 8, 33, pad=((2, 0), (1, 3))),
    "strides": plain((41, 45), (3, 3), 16, 64, stride=(2, 2), pad=((0, 1), (2, 1))),
    "dilation": plain((43, 41), (3, 3), 16, 32, rhs_dilate=(3, 2), pad=((3, 3), (2, 2))),
    "dilated input": plain((31, 32), (3, 3), 16, 32, lhs_dilate=(2, 2), pad=((1, 1), (1, 1))),
    "deep": plain((14, 15), (3, 3), 128, 64, pad=((1, 1), (1, 1)), rhs_order=(1, 2, 0, 3)),
    "one dimension": plain((401,), (5,), 64, 32, pad=((2, 2),)),
    "columns alone": plain((40, 42), (3, 3), 16, 32, pad=((1, 1), (0, 0))),
    "doubles": plain((20, 22), (3, 3), 16, 32, pad=((1, 1), (1, 1)), element="f64"),
    "bf16": plain((20, 22), (3, 3), 16, 32, pad=((1, 1), (1, 1)), element="bf16", result="f32"),
    "f16": plain((20, 22), (3, 3), 16, 32, pad=((1, 1), (1, 1)), element="f16", result="f32"),
    "many windows": plain((57, 56), (7, 7), 8, 64, pad=((3, 3), (3, 3))),
    "three dimensions": plain((9, 10, 11), (3, 3, 3), 8, 32, pad=((1, 1), (1, 1), (1, 1))),
    "groups": plain((20, 20), (3, 3), 32, 64, feature_groups=2, pad=((1, 1), (1, 1))),
    "groups of larger images": plain((40, 41), (3, 3), 64, 64, feature_groups=2, stride=(2, 1), pad=((1, 1), (1, 1))),
    "features first": plain((20, 20), (3, 3), 32, 64, pad=((1, 1), (1, 1)), lhs_order=(0, 3, 1, 2)),
    "gradient of filters": plain((22, 22), (20, 20), 9, 64, pad=((1, 1), (0, 1)), lhs_order=(3, 1, 2, 0), batch=33),
    "gradient in chunks": plain((28, 28), (28, 28), 8, 64, pad=((1, 1), (1, 1)), lhs_order=(3, 1, 2, 0), batch=16),
}
"""The last two sum over the images, which are their input features."""


def activated(conv: Conv) -> str:
    """A convolution of `max(x - mean, 0)`, where a mean is negative, so that a zero of the padding stays one."""
    (*shape,) = conv.shapes()[0]
    x, dim = f"tensor<{'x'.join(map(str, shape))}x{conv.element}>", len(shape) - 1
    mean = f"tensor<{shape[-1]}x{conv.element}>"
    start = f"""
      %means = hlo.broadcast_in_dim %g, dims = [{dim}] : ({mean}) -> {x}
      %away = hlo.subtract %s, %means : {x}
      %zero = hlo.constant dense<0.0> : {x}
      %x = hlo.maximum %away, %zero : {x}
      %0 ="""
    return conv.text().replace(f"%x: {x}", f"%s: {x}, %g: {mean}").replace("%0 =", start, 1)


def arrays(conv: Conv) -> list[np.ndarray[Any, Any]]:
    x, w = inputs_of(conv)
    return [x, np.asarray(np.arange(conv.shapes()[0][-1]) % 5 - 3, dtype=x.dtype), w]


@pytest.mark.long(15)
@pytest.mark.parametrize("name", CASES)
def test_against_the_reference(name: str) -> None:
    conv = CASES[name]
    inputs = arrays(conv)
    want, found = (run(activated(conv), inputs, target)[0] for target in ("reference", "cpu"))
    np.testing.assert_array_equal(found, want)


@pytest.mark.long(3)
@pytest.mark.parametrize("name", ["square", "strides", "deep", "many windows", "gradient of filters"])
def test_infinities_and_nan(name: str) -> None:
    """They reach the windows that have them, and zeros of the padding stay zeros."""
    conv = CASES[name]
    x, mean, w = arrays(conv)
    x[0, 0, 0, 0], x[-1, -1, -1, -1], x[0, 3, 2, 1] = np.inf, -np.inf, np.nan
    want, found = (run(activated(conv), [x, mean, w], target)[0] for target in ("reference", "cpu"))
    assert np.isnan(want).any() and not np.isnan(want).all()
    np.testing.assert_array_equal(found, want)


@pytest.mark.long(3)
@pytest.mark.parametrize("name", ["odd sizes", "many windows", "gradient in chunks"])
def test_threads_and_guard(name: str) -> None:
    inputs, text = arrays(CASES[name]), activated(CASES[name])
    (found,) = on_threads(text, *inputs)
    (guarded,) = xhlo.compile(text, guard=True).compute(inputs, None)
    np.testing.assert_array_equal(found, guarded)


def buffers(text: str) -> list[memref.AllocOp]:
    """The buffers that kernels have for themselves."""
    context = make_context()
    module = parse_module(text, "activated.mlir", context)
    specs = CPU.passes_to("loops")
    last = next(i for i, spec in enumerate(specs) if spec.startswith("convert-contractions-to-vector"))
    run_passes(context, module, specs[: last + 1])
    return [op for op in module.walk() if isinstance(op, memref.AllocOp)]


@pytest.mark.parametrize("name", ["odd sizes", "strides", "many windows", "gradient in chunks"])
def test_nothing_is_written_twice(name: str) -> None:
    """The activation is not in memory, but between the zeros around it, if tasks do not pad what they read."""
    conv = CASES[name]
    text, inputs = activated(conv), arrays(conv)
    kernels = xhlo.compile(text).kernels
    assert [kernel.kind for kernel in kernels] == ["dot"]
    assert kernels[0].bytes == 4 * (sum(array.size for array in inputs) + math.prod(conv.shapes()[2]))
    assert memref_type(inputs[0].shape, f32) not in [op.memref.type for op in buffers(text)]


def block(images: int, side: int, features: int) -> str:
    """An activation, the product that reads it, its gradient after the mask, and that of the product's weights."""
    x, flat = f"tensor<{images}x{side}x{side}x{features}x", f"tensor<{images * side * side}x{features}xf32>"
    of, w = f"{x}f32>", f"tensor<{features}x{features}xf32>"
    mean = f"tensor<{features}xf32>"
    return f"""func.func @main(%s: {of}, %g: {mean}, %w: {w}, %d: {of}) -> ({of}, {w}, {of}, {mean}) {{
  %means = hlo.broadcast_in_dim %g, dims = [3] : ({mean}) -> {of}
  %away = hlo.subtract %s, %means : {of}
  %zero = hlo.constant dense<0.0> : {of}
  %x = hlo.maximum %away, %zero : {of}
  %0 = hlo.dot_general %x, %w, contracting_dims = [3] x [0] : ({of}, {w}) -> {of}
  %rows = hlo.reshape %x : ({of}) -> {flat}
  %of_rows = hlo.reshape %d : ({of}) -> {flat}
  %dw = hlo.dot_general %rows, %of_rows, contracting_dims = [0] x [0] : ({flat}, {flat}) -> {w}
  %back = hlo.dot_general %d, %w, contracting_dims = [3] x [1] : ({of}, {w}) -> {of}
  %is = hlo.compare GT, %x, %zero : ({of}, {of}) -> {x}i1>
  %dx = hlo.select %is, %back, %zero : {x}i1>, {of}
  %scaled = hlo.multiply %dx, %away : {of}
  %start = hlo.constant dense<0.0> : tensor<f32>
  %sum = hlo.reduce(%scaled init: %start) applies hlo.add across dimensions = [0, 1, 2] : ({of}, tensor<f32>) -> {mean}
  func.return %0, %dw, %dx, %sum : {of}, {w}, {of}, {mean}
}}"""


@pytest.mark.long(3)
@pytest.mark.parametrize("sizes", [(2, 20, 64), (3, 13, 137), (8, 28, 64)])
def test_activation_and_its_gradients(sizes: tuple[int, int, int]) -> None:
    """No kernel writes or reads the activation: it follows from what it was applied to, and so does its mask."""
    images, side, features = sizes
    rng, shape, text = np.random.default_rng(2), (images, side, side, features), block(*sizes)
    inputs = [rng.integers(-3, 4, each).astype(np.float32) for each in (shape, (features,), (features,) * 2, shape)]
    inputs[0][0, 1, 2, 3], inputs[0][1, 2, 1, 5] = np.nan, np.inf
    want, found = run(text, inputs, "reference"), on_threads(text, *inputs)
    for each, other in zip(found, want, strict=True):
        np.testing.assert_array_equal(each, other)
    x, vector, w, d = (array.nbytes for array in inputs)
    kernels = (x + vector + w + x, x + vector + d + w, d + w + x + vector + x + vector)
    assert sum(kernel.bytes for kernel in xhlo.compile(text).kernels) == sum(kernels)

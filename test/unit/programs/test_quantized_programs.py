"""
Quantized programs: the reference against the specification's formulas in exact arithmetic, and the reference, the CPU
and the SIMT interpreter against each other, to the bit.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from conformance import difference
from cpu_programs import run
from quantized_programs import (
    EXACT,
    QuantizedProgram,
    element_type,
    elementwise,
    program,
    quant,
    random_convolution,
    random_dot,
    structural,
    tensor,
)
from simt_programs import run_on_simt
from xhlo.hlo_dialect.ops.quantized.types import UniformQuantizedType

TYPES = (
    "i8:f32, 0.5:3",
    "u8:f32, 0.1:101",
    "i8<-100:100>:f32, 3.0e-2",
    "i4:f32, 0.25:-2",
    "u4:f16, 0.5:7",
    "i16:f32, 1.0e-3:-77",
    "i32:f32, 1.0e-4:5",
    "i8:bf16, 0.5:9",
    "i8:f64, 0.3:1",
    "i2:f32, 1.0",
    "u2:f32, 1.0:1",
    "i16:f16, 0.1:1001",
    "u16:f32, 0.1:1000",
)


def check(given: QuantizedProgram, seed: int, *targets: str) -> None:
    """The targets' results are the reference's; floats, of hybrid operations, may be rounded in other orders."""
    inputs = given.inputs(np.random.default_rng(seed))
    want = run(given.text, inputs, "reference")
    for target in targets:
        got = run(given.text, inputs) if target == "cpu" else run_on_simt(given.text, inputs)
        for index, (actual, expected) in enumerate(zip(got, want, strict=True)):
            assert actual.dtype == expected.dtype
            if actual.dtype.kind in "iub" or actual.dtype.name.startswith(("int", "uint")):
                np.testing.assert_array_equal(actual, expected, err_msg=f"{target}: result {index}")
            else:
                assert not difference(actual, expected, None, False), (target, given.text)


@pytest.mark.long
@pytest.mark.sample(4)
@pytest.mark.parametrize("parameters", TYPES)
def test_structural_operations(parameters: str):
    check(structural(parameters), 1, "cpu", *(["simt"] if parameters in TYPES[:5:4] else []))


@pytest.mark.long
@pytest.mark.sample(4)
@pytest.mark.parametrize("parameters", TYPES)
def test_elementwise_operations(parameters: str):
    """Equal scales, which give integer arithmetic, and others; elementary functions on some types."""
    if parameters in TYPES[:2]:
        check(elementwise(parameters, "0.11:-5" if parameters[0] == "i" else "0.11:5"), 2, "cpu", "simt")
    check(elementwise(parameters, parameters.partition(", ")[2], EXACT), 3, "cpu")
    check(elementwise(parameters, "0.11", EXACT), 4, "cpu")


@pytest.mark.long(3)
@pytest.mark.sample(4)
@pytest.mark.parametrize("seed", range(16))
def test_random_products(seed: int):
    rng = np.random.default_rng(seed)
    for given in (random_dot(rng), random_convolution(rng)):
        check(given, seed, "cpu", *(["simt"] if seed % 4 == 0 else []))


LARGE = {
    "dot": (
        (50, 70),
        (70, 90),
        (50, 90),
        "dot_general %x, %y, contracting_dims = [1] x [0]",
    ),
    "columns": (
        (3, 40, 64),
        (3, 33, 64),
        (3, 40, 33),
        "dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [2] x [2]",
    ),
    "convolution": (
        (1, 12, 12, 16),
        (3, 3, 16, 24),
        (1, 12, 12, 24),
        "convolution(%x, %y) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} "
        "{batch_group_count = 1 : i64, feature_group_count = 1 : i64}",
    ),
}


@pytest.mark.long(4)
@pytest.mark.sample(2)
@pytest.mark.parametrize("storage", ["i8", "u8", "i16"])
@pytest.mark.parametrize("name", LARGE)
def test_products_in_registers(name: str, storage: str):
    """Large enough for packed panels and a micro-kernel; sums of i16 do not fit i32 and are computed in f64."""
    *shapes, line = LARGE[name]
    types = (f"{storage}:f32, 0.1:{101 if storage == 'u8' else -7}", f"{storage}:f32, 0.2", "i32:f32, 0.5:3")
    x, y, r = (tensor(shape, quant(one)) for shape, one in zip(shapes, types, strict=True))
    check(program(f"%x: {x}, %y: {y}", [r], [f"stablehlo.{line} : ({x}, {y}) -> {r}"]), 7, "cpu")


# -- the formulas, in exact arithmetic ---------------------------------------------------------------


def step(element: UniformQuantizedType, index: int) -> tuple[Fraction, int]:
    """Scale and zero point at an index of the quantization dimension."""
    place = index if element.per_axis else 0
    return Fraction(float(np.float32(element.scales.data[place].data))), element.zero_points.data[place].data


def number(stored: int, element: UniformQuantizedType, index: int = 0) -> Fraction:
    scale, zero = step(element, index)
    return (int(stored) - zero) * scale


def nearest(value: Fraction, element: UniformQuantizedType, index: int = 0) -> int:
    scale, zero = step(element, index)
    return min(max(round(value / scale + zero), element.limits[0]), element.limits[1])  # halves to even


@pytest.mark.parametrize(
    "lhs, rhs, result",
    [
        ("i8:f32, 0.5:3", "i8:f32, 0.25", "i8:f32, 32.0:5"),
        ("u8:f32, 0.1:101", "u8:f32:1, {0.1,0.2,0.37}", "i8:f32:1, {3.0:1,5.0:2,7.0:3}"),
        ("i4:f32, 0.1:2", "i4:f32, 0.3", "i32:f32, 0.03"),
        ("i16:f32, 1.0e-3:7", "i16:f32, 2.0e-3", "i32:f32, 2.0e-6:11"),
        ("i8:f32, 1.0:-128", "i8:f32, 1.0", "i32:f32, 1.0"),
    ],
)
def test_products_are_sums_of_integers(lhs: str, rhs: str, result: str):
    x, y, r = tensor((4, 9), quant(lhs)), tensor((9, 3), quant(rhs)), tensor((4, 3), quant(result))
    line = f"stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : ({x}, {y}) -> {r}"
    dot = program(f"%x: {x}, %y: {y}", [r], [line])
    rows, columns = dot.inputs(np.random.default_rng(5))
    left, right, out = (element_type(one) for one in (lhs, rhs, result))
    want = np.empty((4, 3), np.int64)
    for i, j in np.ndindex(4, 3):
        total = Fraction(0)
        for a, b in zip(rows[i], columns[:, j], strict=True):
            total += number(a, left) * number(b, right, j)
        want[i, j] = nearest(total, out, j)
    for target in ("reference", "cpu"):
        np.testing.assert_array_equal(run(dot.text, [rows, columns], target)[0], want)


def test_sums_of_equal_scales_are_exact():
    """Integer arithmetic and the formulas in floats agree with exact arithmetic; so does every pair of numbers."""
    types = ("i8:f32, 0.1:3", "i8:f32, 0.1:-100", "i8:f32, 0.1:7")
    x, y, r = (tensor((256, 256), quant(one)) for one in types)
    ops = ("add", "subtract")
    text = program(f"%x: {x}, %y: {y}", [r, r], [f"stablehlo.{op} %x, %y : ({x}, {y}) -> {r}" for op in ops]).text
    stored = np.arange(-128, 128)
    inputs = [np.broadcast_to(part.astype(np.int8), (256, 256)) for part in (stored[:, None], stored)]
    want = [np.clip(stored[:, None] - 3 + sign * (stored + 100) + 7, -128, 127) for sign in (1, -1)]
    for target in ("reference", "cpu"):
        for got, expected in zip(run(text, inputs, target), want, strict=True):
            np.testing.assert_array_equal(got, expected)


def test_zero_points_are_added_before_rounding():
    """0.5 + 1 rounds to 2, not 0 + 1."""
    text = """func.func @main(%x: tensor<4xf32>) -> tensor<4x!quant.uniform<i8:f32, 1.0:1>> {
      %0 = stablehlo.uniform_quantize %x : (tensor<4xf32>) -> tensor<4x!quant.uniform<i8:f32, 1.0:1>>
      return %0 : tensor<4x!quant.uniform<i8:f32, 1.0:1>>
    }"""
    for target in ("reference", "cpu"):
        np.testing.assert_array_equal(
            run(text, [np.array([0.5, 1.5, -0.5, -1.5], np.float32)], target)[0], [2, 2, 0, 0]
        )

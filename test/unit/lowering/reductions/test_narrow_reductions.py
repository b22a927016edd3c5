"""
Reductions over the rows of matrices of few columns, which take some rows side by side, and over short runs of
neighbours and elements far from them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import xhlo
from cpu_programs import DTYPES, FLOATS, TARGETS, on_threads, run, type_of


def reduction(x: np.ndarray, axes: tuple[int, ...], operation: str, init: str) -> str:
    element = type_of(x.reshape(-1)[0])
    kept = type_of(x.sum(axes, dtype=x.dtype))
    return f"""func.func @main(%x: {type_of(x)}) -> {kept} {{
      %c = stablehlo.constant dense<{init}> : {element}
      %0 = stablehlo.reduce(%x init: %c) applies stablehlo.{operation} across dimensions = {list(axes)}
        : ({type_of(x)}, {element}) -> {kept}
      return %0 : {kept} }}"""


@pytest.mark.long(35)
@pytest.mark.parametrize("element", ["i8", "i32", "f32", "f64"])
@pytest.mark.parametrize(
    "shape, axes",
    [
        *(
            ((5003, 3), (0,)),
            ((70000, 2), (0,)),
            ((3, 2049, 7), (1,)),
            ((3, 30, 20, 5), (1, 2)),
            ((4, 999, 63), (0, 1)),
        ),
        *(((30, 100, 8), (1,)), ((60, 41, 5), (1,)), ((50, 60, 4), (1,))),
        *(((12, 30, 14, 16, 10), (0, 1, 4)), ((5, 300, 31), (0, 2)), ((16, 8, 10, 20, 6), (0, 2, 4))),
        *(((3, 40, 50, 7), (1, 3)), ((80, 3, 2), (0, 2))),
    ],
)
def test_few_columns(element: str, shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
    """Small integers, whose sums are exact in every order; the initial value counts once."""
    x = np.random.default_rng(0).integers(-20, 20, shape).astype(DTYPES[element])
    (total,) = on_threads(reduction(x, axes, "add", "5" if element[0] == "i" else "5.0"), x)
    np.testing.assert_array_equal(total, x.sum(axes, dtype=x.dtype) + x.dtype.type(5))
    (least,) = on_threads(reduction(x, axes, "minimum", "-3" if element[0] == "i" else "-3.0"), x)
    np.testing.assert_array_equal(least, np.minimum(x.min(axes), -3))


def test_runs_into_transposed_columns() -> None:
    """The outputs lie in another order than the runs that are added to them."""
    x = np.random.default_rng(0).integers(-20, 20, (64, 8, 100, 6)).astype(np.float32)
    text = """func.func @main(%x: tensor<64x8x100x6xf32>) -> tensor<100x8xf32> {
      %c = stablehlo.constant dense<0.0> : tensor<f32>
      %0 = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [0, 3]
        : (tensor<64x8x100x6xf32>, tensor<f32>) -> tensor<8x100xf32>
      %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<8x100xf32>) -> tensor<100x8xf32>
      return %1 : tensor<100x8xf32> }"""
    (found,) = on_threads(text, x)
    np.testing.assert_array_equal(found, x.sum((0, 3)).T)


@pytest.mark.parametrize(
    "shape, axes", [((5003, 3), (0,)), ((30, 100, 8), (1,)), ((700, 64), (1,)), ((3, 2049, 7), (1,))]
)
def test_truth_values(shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).random(shape) < 0.03
    kept = type_of(x.any(axes))
    text = f"""func.func @main(%x: {type_of(x)}) -> {kept} {{
      %c = stablehlo.constant dense<false> : tensor<i1>
      %0 = stablehlo.reduce(%x init: %c) applies stablehlo.or across dimensions = {list(axes)}
        : ({type_of(x)}, tensor<i1>) -> {kept}
      return %0 : {kept} }}"""
    (found,) = on_threads(text, x)
    np.testing.assert_array_equal(found, x.any(axes))


@pytest.mark.parametrize("element", ["i32", "f32", "f64"])
@pytest.mark.parametrize("step", [2, 3, 5])
def test_elements_with_gaps(element: str, step: int) -> None:
    x = np.random.default_rng(0).integers(-20, 20, (70, 301)).astype(DTYPES[element])
    part, kept, scalar = x[:, 1::step], type_of(x[:, 0]), type_of(x[0, 0])
    zero = "0" if element[0] == "i" else "0.0"
    text = f"""func.func @main(%x: {type_of(x)}) -> {kept} {{
      %c = stablehlo.constant dense<{zero}> : {scalar}
      %0 = stablehlo.slice %x [0:70, 1:301:{step}] : ({type_of(x)}) -> {type_of(part)}
      %1 = stablehlo.reduce(%0 init: %c) applies stablehlo.add across dimensions = [1]
        : ({type_of(part)}, {scalar}) -> {kept}
      return %1 : {kept} }}"""
    (found,) = on_threads(text, x)
    np.testing.assert_array_equal(found, part.sum(1, dtype=x.dtype))


@pytest.mark.parametrize("shape, axes", [((70001,), (0,)), ((3, 1000), (1,)), ((40, 9, 99), (1, 2))])
def test_operations_of_several_steps(shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
    """`a + b + a b` is `(a + 1) (b + 1) - 1`: a product of numbers that are one greater."""
    x = np.random.default_rng(0).uniform(-0.01, 0.011, shape)
    kept = type_of(x.sum(axes))
    text = f"""func.func @main(%x: {type_of(x)}) -> {kept} {{
      %c = stablehlo.constant dense<0.0> : tensor<f64>
      %0 = stablehlo.reduce(%x init: %c) across dimensions = {list(axes)} : ({type_of(x)}, tensor<f64>) -> {kept}
        reducer(%a: tensor<f64>, %b: tensor<f64>) {{
          %s = stablehlo.add %a, %b : tensor<f64>
          %p = stablehlo.multiply %b, %a : tensor<f64>
          %r = stablehlo.add %s, %p : tensor<f64>
          stablehlo.return %r : tensor<f64>
        }}
      return %0 : {kept} }}"""
    (found,) = on_threads(text, x)
    np.testing.assert_allclose(found, (1 + x).prod(axes) - 1, rtol=1e-11)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("element", FLOATS)
@pytest.mark.parametrize("init", ["0.0", "-0.0"])
def test_sums_of_negative_zeros(element: str, init: str, target: str) -> None:
    x = np.full((4, 33), -0.0, DTYPES[element])
    (total,) = run(reduction(x, (1,), "add", init), (x,), target)
    assert not total.any() and (np.signbit(total) == (init == "-0.0")).all()


@pytest.mark.parametrize("level", [0, 3])
@pytest.mark.parametrize("operation, element", [("add", "bf16"), ("add", "f16"), ("multiply", "bf16")])
def test_stacks_of_short_floats(operation: str, element: str, level: Any) -> None:
    """They are carried in f32 and rounded once, whether the stack is read in place or not."""
    x = np.random.default_rng(0).uniform(0.9, 1.2, (16, 33)).astype(DTYPES[element])
    row, one, stack = f"tensor<33x{element}>", f"tensor<1x33x{element}>", type_of(x)
    lines = [f"%r{i} = stablehlo.reshape %x{i} : ({row}) -> {one}" for i in range(16)]
    newline = "\n      "
    text = f"""func.func @main({", ".join(f"%x{i}: {row}" for i in range(16))}) -> {row} {{
      {newline.join(lines)}
      %s = stablehlo.concatenate {", ".join(f"%r{i}" for i in range(16))}, dim = 0 : ({", ".join([one] * 16)}) -> {stack}
      %c = stablehlo.constant dense<{"0.0" if operation == "add" else "1.0"}> : tensor<{element}>
      %0 = stablehlo.reduce(%s init: %c) applies stablehlo.{operation} across dimensions = [0]
        : ({stack}, tensor<{element}>) -> {row}
      return %0 : {row} }}"""
    found = xhlo.compile(text, opt_level=level)(*x)
    exact = x.astype(np.float64).sum(0) if operation == "add" else x.astype(np.float64).prod(0)
    # Half a unit in the last place, of 8 or 11 bits.
    half = 2.0 ** -(8 if element == "bf16" else 11)
    assert np.abs(found.astype(np.float64) / exact - 1).max() <= half * 1.001

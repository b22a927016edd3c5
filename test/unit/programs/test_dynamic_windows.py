"""Windows, slices and conversions whose sizes become known at the call, as jax.export writes them."""

from __future__ import annotations

import numpy as np
import pytest

import xhlo
from xhlo.hlo_dialect.diagnostics import DiagnosticError
from xhlo.hlo_dialect.reading import parse_module
from xhlo.hlo_dialect.reference import evaluate

CUMSUM = """
func.func private @add(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.add %a, %b : tensor<f32>
  return %0 : tensor<f32>
}
func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %one = stablehlo.constant dense<1> : tensor<1xi32>
  %none = stablehlo.constant dense<0> : tensor<1x1xi32>
  %size = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>
  %n = stablehlo.reshape %size : (tensor<i32>) -> tensor<1xi32>
  %less = stablehlo.subtract %n, %one : tensor<1xi32>
  %low = stablehlo.reshape %less : (tensor<1xi32>) -> tensor<1x1xi32>
  %pad = stablehlo.concatenate %low, %none, dim = 1 : (tensor<1x1xi32>, tensor<1x1xi32>) -> tensor<1x2xi32>
  %0 = stablehlo.custom_call @stablehlo.dynamic_reduce_window(%x, %zero, %n, %one, %one, %one, %pad) {called_computations = [@add]}
    : (tensor<?xf32>, tensor<f32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1x2xi32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
"""

HALF = """
func.func @main(%x: tensor<?xi32>, %i: tensor<1xi32>) -> tensor<?xf32> {
  %two = stablehlo.constant dense<2> : tensor<1xi32>
  %size = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xi32>) -> tensor<i32>
  %n = stablehlo.reshape %size : (tensor<i32>) -> tensor<1xi32>
  %half = stablehlo.divide %n, %two : tensor<1xi32>
  %end = stablehlo.add %i, %half : tensor<1xi32>
  %0 = stablehlo.real_dynamic_slice %x, %i, %end, %two : (tensor<?xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xi32>
  %1 = stablehlo.convert %0 : (tensor<?xi32>) -> tensor<?xf32>
  return %1 : tensor<?xf32>
}
"""


def test_windows_of_the_size_of_an_argument() -> None:
    executable = xhlo.compile(CUMSUM)
    for size in (1, 4, 9):
        x = np.arange(size, dtype=np.float32) + 1
        np.testing.assert_array_equal(executable(x), np.cumsum(x))
        np.testing.assert_array_equal(evaluate(parse_module(CUMSUM), [x])[0], np.cumsum(x))
    static = CUMSUM.replace("tensor<?xf32>", "tensor<4xf32>")
    np.testing.assert_array_equal(xhlo.compile(static)(np.ones(4, np.float32)), [1, 2, 3, 4])


def test_slices_of_known_size_at_places_that_are_not() -> None:
    executable = xhlo.compile(HALF)
    for size, start in ((2, 1), (8, 0), (9, 5)):
        x, i = np.arange(size, dtype=np.int32), np.array([start], np.int32)
        np.testing.assert_array_equal(executable(x, i), x[start : start + size // 2 : 2].astype(np.float32))
        np.testing.assert_array_equal(evaluate(parse_module(HALF), [x, i])[0], executable(x, i))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[@add]", "[@main]", "does not combine two of each input"),
        (" {called_computations = [@add]}", "", "needs one called computation to combine"),
        ("-> tensor<?xf32>\n  return %0", "-> tensor<?x?xf32>\n  return %x", "tensor<\\?x\\?xf32>"),
    ],
)
def test_windows_that_do_not_fit(old: str, new: str, message: str) -> None:
    assert old in CUMSUM
    with pytest.raises(DiagnosticError, match=message):
        xhlo.compile(CUMSUM.replace(old, new))(np.ones(4, np.float32))


def test_windows_that_only_a_run_knows_are_refused() -> None:
    text = CUMSUM.replace("%x: tensor<?xf32>)", "%x: tensor<4xf32>, %m: tensor<1xi32>)").replace("?xf32", "4xf32")
    with pytest.raises(DiagnosticError, match="a window that is not known at compile time"):
        xhlo.compile(text.replace("%zero, %n,", "%zero, %m,"))

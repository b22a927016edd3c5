"""Sums of the columns of a product's right factor, added up while its panels are packed."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import xhlo
from cpu_programs import exact_product, on_threads, type_of
from hlo_programs import Program

CASES = {
    # rows of the result, contracted elements, columns
    "whole panels": (176, 256, 192),
    "odd sizes": (301, 523, 131),
    "packed beforehand in long runs, in parts": (397, 1101, 301),
    "packed by tasks": (130, 333, 1000),
    "packed by tasks of other rows again": (900, 701, 1024),
}


BOUNDS = {"float16": 2e-3, "bfloat16": 1.6e-2, "float32": 2e-5, "float64": 5e-14}


def text(arrays: tuple[np.ndarray, ...], updates: bool = False) -> str:
    """Gradients of a layer's weights and bias; the weights are updated by them, and a bias of ones if `updates`."""
    x, d, w = map(type_of, arrays)
    n, e = arrays[1].shape[-1], x.split("x")[-1][:-1]
    batch = arrays[0].ndim == 3
    dims = "[0, 1]" if batch else "[0]"
    return f"""func.func @main(%x: {x}, %d: {d}, %w: {w}) -> ({w}, tensor<{n}x{e}>) {{
  %zero = hlo.constant dense<0.0> : tensor<{e}>
  %zeros = hlo.constant dense<0.0> : tensor<{n}x{e}>
  %g = hlo.dot_general %x, %d, contracting_dims = {dims} x {dims} : ({x}, {d}) -> {w}
  %0 = hlo.reduce(%d init: %zero) applies hlo.add across dimensions = {dims} : ({d}, tensor<{e}>) -> tensor<{n}x{e}>
  %b = hlo.add %zeros, %0 : tensor<{n}x{e}>
  %1 = hlo.subtract %w, %g : {w}
  %ones = hlo.constant dense<1.0> : tensor<{n}x{e}>
  %2 = hlo.subtract %ones, %b : tensor<{n}x{e}>
  func.return %1, {"%2" if updates else "%b"} : {w}, tensor<{n}x{e}>
}}"""


def inputs(case: str, dtype: Any = np.float32, batch: int = 0) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(0)
    m, k, n = CASES[case]
    lead = (batch,) if batch else ()
    shapes = ((*lead, k, m), (*lead, k, n), (m, n))
    return tuple(rng.standard_normal(shape).astype(dtype) for shape in shapes)


def check(arrays: tuple[np.ndarray, ...], level: Any = 2, updates: bool = False) -> xhlo.Executable:
    executable = xhlo.compile(text(arrays, updates), opt_level=level)
    x, d, w = (array.astype(np.longdouble) for array in arrays)
    x, d = (array.reshape(-1, array.shape[-1]) for array in (x, d))
    bound = BOUNDS[arrays[0].dtype.name]
    for got, want in zip(
        executable.compute(arrays, None),
        (w - exact_product(x.T, d), 1 - d.sum(0) if updates else d.sum(0)),
        strict=True,
    ):
        assert np.abs(got.astype(np.longdouble) - want).max() < bound * np.abs(want).max()
    return executable


@pytest.mark.long(5)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, ml_dtypes.bfloat16])
def test_one_kernel(case: str, dtype: Any) -> None:
    assert [kernel.kind for kernel in check(inputs(case, dtype)).kernels] == ["dot"]


def test_update_of_the_bias() -> None:
    assert [kernel.kind for kernel in check(inputs("odd sizes"), updates=True).kernels] == ["dot"]


def test_sum_that_the_product_needs() -> None:
    """A sum that stands before the product, whose epilogue adds it, is computed before it."""
    x, d, w = inputs("whole panels")
    types = tuple(map(type_of, (x, d, w)))
    source = f"""func.func @main(%x: {types[0]}, %d: {types[1]}) -> {types[2]} {{
  %0 = hlo.fusion dot (%a = %x : {types[0]}, %b = %d : {types[1]}) -> {types[2]} {{
    %zero = hlo.constant dense<0.0> : tensor<f32>
    %s = hlo.reduce(%b init: %zero) applies hlo.add across dimensions = [0] : ({types[1]}, tensor<f32>) -> tensor<192xf32>
    %g = hlo.dot_general %a, %b, contracting_dims = [0] x [0] : ({types[0]}, {types[1]}) -> {types[2]}
    %t = hlo.broadcast_in_dim %s, dims = [1] : (tensor<192xf32>) -> {types[2]}
    %r = hlo.add %g, %t : {types[2]}
    hlo.return %r : {types[2]}
  }}
  func.return %0 : {types[2]}
}}"""
    (got,) = xhlo.compile(source).compute((x, d), None)
    np.testing.assert_allclose(got, x.T @ d + d.sum(0), rtol=1e-4, atol=1e-3)


def test_batch() -> None:
    assert [kernel.kind for kernel in check(inputs("whole panels", batch=3)).kernels] == ["dot"]


@pytest.mark.parametrize("level", [0, 1, 3])
def test_every_level(level: Any) -> None:
    check(inputs("odd sizes"), level)


@pytest.mark.parametrize("case", CASES)
def test_any_number_of_threads(case: str) -> None:
    arrays = inputs(case)
    on_threads(text(arrays), *arrays)


def test_guarded() -> None:
    arrays = inputs("odd sizes")
    xhlo.compile(text(arrays), guard=True).compute(arrays, None)


def test_signs_of_zeros_and_extremes() -> None:
    x, d, w = inputs("odd sizes")
    d[:, 0], d[3, 1], d[4, 1], d[5, 2] = -0.0, np.inf, -np.inf, np.nan
    got = xhlo.compile(text((x, d, w))).compute((x, d, w), None)[1]
    assert not np.signbit(got[0])
    assert np.isnan(got[1:3]).all()
    assert np.isfinite(got[3:]).all()


def test_zero_plus_a_sum_is_the_sum() -> None:
    arrays = inputs("whole panels")
    arrays[1][:, 0] = -0.0
    program = Program(text(arrays)).after("simplify-hlo").same_bits(*arrays)
    assert program.count()["hlo.add"] == 1  # the reducer's

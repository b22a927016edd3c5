"""Factors of products that are computed while they are packed."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import xhlo
from cpu_programs import exact_product, on_threads, type_of

CASES = {
    # rows and columns of the factor, columns of the result: contracted along the factor's columns, or rows
    "whole panels": (256, 256, 192, False),
    "odd sizes": (301, 523, 131, False),
    "odd sizes, by columns": (523, 301, 131, True),
    "in long runs, in parts, by columns": (1101, 397, 301, True),
    "few results, by tasks": (130, 333, 1000, False),
}

BOUNDS = {"float16": 5e-3, "bfloat16": 3e-2, "float32": 1e-5, "float64": 1e-13}


def text(arrays: tuple[np.ndarray, ...], by_columns: bool, both: bool = False) -> str:
    """A product whose left factor follows from rows, their shifts, gains of columns, and indices; perhaps both do."""
    x, w, gain, shift = map(type_of, arrays)
    (rows, columns), n, e = arrays[0].shape, arrays[1].shape[1], x.split("x")[-1][:-1]
    whole = f"tensor<{rows}x{columns}x"
    result = f"tensor<{columns if by_columns else rows}x{n}x{e}>"
    return f"""func.func @main(%x: {x}, %w: {w}, %g: {gain}, %r: {shift}) -> {result} {{
  %0 = hlo.broadcast_in_dim %g, dims = [1] : ({gain}) -> {x}
  %1 = hlo.broadcast_in_dim %r, dims = [0] : ({shift}) -> {x}
  %2 = hlo.multiply %x, %0 : {x}
  %3 = hlo.subtract %2, %1 : {x}
  %4 = hlo.tanh %3 : {x}
  %i = hlo.iota dim = 1 : {whole}i32>
  %j = hlo.iota dim = 0 : {whole}i32>
  %5 = hlo.compare GE, %i, %j : ({whole}i32>, {whole}i32>) -> {whole}i1>
  %half = hlo.constant dense<0.5> : {x}
  %6 = hlo.select %5, %4, %half : {whole}i1>, {x}
  %7 = hlo.negate %w : {w}
  %8 = hlo.dot_general %6, {"%7" if both else "%w"}, contracting_dims = [{int(not by_columns)}] x [0] : ({x}, {w}) -> {result}
  %9 = hlo.negate %8 : {result}
  func.return %9 : {result}
}}"""


def inputs(case: str, dtype: Any = np.float32) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(0)
    rows, columns, n, by_columns = CASES[case]
    shapes = ((rows, columns), (rows if by_columns else columns, n), (columns,), (rows,))
    return tuple(rng.standard_normal(shape).astype(dtype) for shape in shapes)


def check(case: str, dtype: Any = np.float32, both: bool = False, **options: Any) -> list[str]:
    """Compare the product with NumPy's; returns the kinds of the kernels."""
    arrays, by_columns = inputs(case, dtype), CASES[case][3]
    executable = xhlo.compile(text(arrays, by_columns, both), **options)
    x, w, gain, shift = (array.astype(np.longdouble) for array in arrays)
    is_below = np.tri(x.shape[1], x.shape[0], dtype=bool).T
    factor = np.where(is_below, np.tanh(x * gain - shift[:, None]), 0.5)
    want = exact_product(factor.T if by_columns else factor, w if both else -w)
    (got,) = executable.compute(arrays, None)
    assert np.abs(got.astype(np.longdouble) - want).max() < BOUNDS[np.dtype(dtype).name] * np.abs(want).max()
    return [kernel.kind for kernel in executable.kernels]


@pytest.mark.long(7)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, ml_dtypes.bfloat16])
@pytest.mark.spread(2)
def test_one_kernel(case: str, dtype: Any) -> None:
    assert check(case, dtype) == ["dot"]


@pytest.mark.parametrize("case", ["odd sizes", "odd sizes, by columns"])
def test_both_factors(case: str) -> None:
    assert check(case, both=True) == ["dot"]


@pytest.mark.long(3)
@pytest.mark.parametrize("level", [0, 1, 3])
def test_every_level(level: Any) -> None:
    check("odd sizes", opt_level=level)


@pytest.mark.parametrize("case", CASES)
def test_any_number_of_threads(case: str) -> None:
    arrays = inputs(case)
    on_threads(text(arrays, CASES[case][3]), *arrays)


def test_guarded() -> None:
    check("odd sizes", guard=True)


def test_layer_and_its_gradients() -> None:
    """An activation between two products is never in memory, nor are normalized rows, which gradients read too."""
    rng = np.random.default_rng(1)
    x, u, w, d = (
        rng.standard_normal(shape).astype(np.float32) / 16
        for shape in [(256, 512), (512, 1152), (1152, 512), (256, 512)]
    )
    types = tuple(map(type_of, (x, u, w, d)))
    hidden, rows = "tensor<256x1152xf32>", "tensor<256xf32>"
    source = f"""func.func @main(%x: {types[0]}, %u: {types[1]}, %w: {types[2]}, %d: {types[3]}) -> ({types[0]}, {types[2]}, {types[1]}) {{
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %s = hlo.multiply %x, %x : {types[0]}
  %0 = hlo.reduce(%s init: %zero) applies hlo.add across dimensions = [1] : ({types[0]}, tensor<f32>) -> {rows}
  %1 = hlo.rsqrt %0 : {rows}
  %2 = hlo.broadcast_in_dim %1, dims = [0] : ({rows}) -> {types[0]}
  %y = hlo.multiply %x, %2 : {types[0]}
  %h = hlo.dot_general %y, %u, contracting_dims = [1] x [0] : ({types[0]}, {types[1]}) -> {hidden}
  %a = hlo.tanh %h : {hidden}
  %o = hlo.dot_general %a, %w, contracting_dims = [1] x [0] : ({hidden}, {types[2]}) -> {types[0]}
  %out = hlo.subtract %o, %d : {types[0]}
  %dw = hlo.dot_general %a, %out, contracting_dims = [0] x [0] : ({hidden}, {types[3]}) -> {types[2]}
  %da = hlo.dot_general %out, %w, contracting_dims = [1] x [1] : ({types[3]}, {types[2]}) -> {hidden}
  %dh = hlo.multiply %da, %h : {hidden}
  %du = hlo.dot_general %y, %dh, contracting_dims = [0] x [0] : ({types[0]}, {hidden}) -> {types[1]}
  func.return %out, %dw, %du : {types[0]}, {types[2]}, {types[1]}
}}"""
    executable = xhlo.compile(source)
    y = x / np.sqrt((x.astype(np.float64) ** 2).sum(1, keepdims=True))
    h = y @ u
    out = np.tanh(h) @ w - d
    wanted = out, np.tanh(h).T @ out, y.T @ ((out @ w.T) * h)
    for got, want in zip(executable.compute((x, u, w, d), None), wanted, strict=True):
        assert np.abs(got - want).max() < 1e-5 * np.abs(want).max()
    h, y = h.size, x.size + 256  # normalized rows are computed from rows and what divides them
    kernels = (y, y + u.size + h, h + w.size + 2 * x.size, h + x.size + w.size, x.size + w.size + 2 * h, y + h + u.size)
    moved = 4 * sum(kernels)
    assert sum(kernel.bytes for kernel in executable.kernels) == moved
    on_threads(source, x, u, w, d)


def test_rows_of_a_converted_table() -> None:
    """The products convert the table while they pack it, and the rows that are picked of it are converted alone."""
    rng = np.random.default_rng(2)
    size, width, rows = 4099, 192, 201
    table, d = (rng.standard_normal(shape).astype(np.float32) for shape in ((size, width), (rows, size)))
    index = rng.integers(-3, size + 3, (rows, 1), np.int32)  # Those outside are clamped.
    low, picked, right = f"tensor<{size}x{width}xbf16>", f"tensor<{rows}x{width}xbf16>", f"tensor<{rows}x{size}xbf16>"
    source = f"""func.func @main(%t: {type_of(table)}, %i: {type_of(index)}, %d: {right}) -> ({picked}, {right}, {picked}) {{
  %0 = hlo.convert %t : ({type_of(table)}) -> {low}
  %1 = "hlo.gather"(%0, %i) <{{dimension_numbers = #hlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, {width}>}}> : ({low}, {type_of(index)}) -> {picked}
  %2 = hlo.dot_general %1, %0, contracting_dims = [1] x [1] : ({picked}, {low}) -> {right}
  %3 = hlo.dot_general %d, %0, contracting_dims = [1] x [0] : ({right}, {low}) -> {picked}
  func.return %1, %2, %3 : {picked}, {right}, {picked}
}}"""
    arrays = table, index, d.astype(ml_dtypes.bfloat16)
    assert [kernel.kind for kernel in xhlo.compile(source).kernels] == ["loop", "dot", "dot"]
    got = on_threads(source, *arrays)
    exact = table.astype(ml_dtypes.bfloat16).astype(np.float64)
    chosen = exact[index[:, 0].clip(0, size - 1)]
    assert got[0].astype(np.float64).tobytes() == chosen.tobytes()
    for result, want in zip(got[1:], (chosen @ exact.T, arrays[2].astype(np.float64) @ exact), strict=True):
        assert np.abs(result.astype(np.float64) - want).max() < 1e-2 * np.abs(want).max()

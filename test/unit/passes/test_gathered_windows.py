"""Gathers from a part of an argument, and windows that fill dimensions, read as NumPy reads them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from cpu_programs import run, type_of

INDICES = np.random.default_rng(0)


@pytest.mark.parametrize("dtype", [np.int32, np.int8, np.uint8, np.int64])
@pytest.mark.parametrize("low, high", [(0, 20), (30, 70), (99, 100), (100, 120)])
def test_rows_of_a_slice(dtype: type, low: int, high: int) -> None:
    """Indices outside of the slice take its nearest row, not what is next to it."""
    x = np.arange(120 * 6, dtype=np.float32).reshape(120, 6)
    limits = np.iinfo(dtype)
    index = INDICES.integers(max(limits.min, -200), min(limits.max, 200), 50).astype(dtype)
    expected = x[low:high][np.clip(index.astype(int), 0, high - low - 1)]
    element = f"{'u' if limits.min == 0 else ''}i{limits.bits}"
    text = f"""func.func @main(%x: {type_of(x)}, %i: tensor<50x{element}>) -> {type_of(expected)} {{
      %0 = stablehlo.slice %x [{low}:{high}, 0:6] : ({type_of(x)}) -> tensor<{high - low}x6xf32>
      %1 = "stablehlo.gather"(%0, %i) <{{dimension_numbers = #stablehlo.gather<offset_dims = [1],
        collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 6>}}>
        : (tensor<{high - low}x6xf32>, tensor<50x{element}>) -> {type_of(expected)}
      return %1 : {type_of(expected)} }}"""
    np.testing.assert_array_equal(run(text, [x, index])[0], expected)


@pytest.mark.parametrize("begin", [(2, 1), (0, 4), (3, 0)])
def test_rows_of_one_table(begin: tuple[int, int]) -> None:
    """The tables that a slice takes are rows of all of them."""
    x = np.arange(4 * 5 * 30 * 3, dtype=np.float32).reshape(4, 5, 30, 3)
    index = INDICES.integers(-10, 50, 40).astype(np.int32)
    a, b = begin
    expected = x[a, b][np.clip(index, 0, 29)]
    text = f"""func.func @main(%x: {type_of(x)}, %i: tensor<40xi32>) -> {type_of(expected)} {{
      %0 = stablehlo.slice %x [{a}:{a + 1}, {b}:{b + 1}, 0:30, 0:3] : ({type_of(x)}) -> tensor<1x1x30x3xf32>
      %1 = stablehlo.reshape %0 : (tensor<1x1x30x3xf32>) -> tensor<30x3xf32>
      %2 = "stablehlo.gather"(%1, %i) <{{dimension_numbers = #stablehlo.gather<offset_dims = [1],
        collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>}}>
        : (tensor<30x3xf32>, tensor<40xi32>) -> {type_of(expected)}
      return %2 : {type_of(expected)} }}"""
    np.testing.assert_array_equal(run(text, [x, index])[0], expected)


@pytest.mark.parametrize("joined", [True, False])
@pytest.mark.parametrize("offsets", [(1, 2, 3), (0, 1, 2), (0, 2, 3), (0, 1, 3)])
@pytest.mark.parametrize("sizes", [(5, 6, 3), (5, 20, 3), (24, 6, 3), (5, 6, 2)])
def test_crops(sizes: tuple[int, int, int], offsets: tuple[int, int, int], joined: bool) -> None:
    """Windows of an image with all its channels or some, at places that may be outside, of a part of the images."""
    x = np.arange(30 * 20 * 3, dtype=np.float32).reshape(30, 20, 3)
    index = INDICES.integers(-10, 40, (7, 3)).astype(np.int32)
    part = x[4:28]
    windows = list[np.ndarray]()
    for places in index:
        first = np.clip(places, 0, np.array(part.shape) - sizes)
        windows.append(part[tuple(slice(at, at + size) for at, size in zip(first, sizes, strict=True))])
    (batch,) = {0, 1, 2, 3}.difference(offsets)
    expected = np.stack(windows, batch)
    columns = "".join(
        f"%c{k} = stablehlo.slice %i [0:7, {k}:{k + 1}] : (tensor<7x3xi32>) -> tensor<7x1xi32>\n" for k in range(3)
    )
    parts = "(tensor<7x1xi32>, tensor<7x1xi32>, tensor<7x1xi32>) -> tensor<7x3xi32>"
    put_together = f"{columns} %j = stablehlo.concatenate %c0, %c1, %c2, dim = 1 : {parts}"
    text = f"""func.func @main(%x: {type_of(x)}, %i: tensor<7x3xi32>) -> {type_of(expected)} {{
      %0 = stablehlo.slice %x [4:28, 0:20, 0:3] : ({type_of(x)}) -> tensor<24x20x3xf32>
      {put_together if joined else ""}
      %1 = "stablehlo.gather"(%0, {"%j" if joined else "%i"}) <{{dimension_numbers = #stablehlo.gather<
        offset_dims = {list(offsets)}, start_index_map = [0, 1, 2], index_vector_dim = 1>,
        slice_sizes = array<i64: {", ".join(map(str, sizes))}>}}>
        : (tensor<24x20x3xf32>, tensor<7x3xi32>) -> {type_of(expected)}
      return %1 : {type_of(expected)} }}"""
    assert math.prod(expected.shape) == 7 * math.prod(sizes)
    np.testing.assert_array_equal(run(text, [x, index])[0], expected)


@pytest.mark.parametrize("dtype, element", [(np.float32, "f32"), (np.int16, "i16"), (np.complex64, "complex<f32>")])
@pytest.mark.parametrize("axes", [(0, 3), (3, 0), (0, 1), (1, 3), (2, 0)])
def test_diagonals(axes: tuple[int, int], dtype: type, element: str) -> None:
    """Diagonals over any two dimensions, which are moved to the end first, as `jnp.diagonal` states them."""
    x = np.arange(9 * 10 * 11 * 12).reshape(9, 10, 11, 12).astype(dtype)
    if dtype is np.complex64:
        x = x - 2j * x
    expected = np.diagonal(x, 0, *axes)
    order = [*(dim for dim in range(4) if dim not in axes), *axes]
    moved, count = x.transpose(order), expected.shape[-1]
    before, after, result = (
        f"tensor<{'x'.join(map(str, shape))}x{element}>" for shape in (x.shape, moved.shape, expected.shape)
    )
    index = np.stack([np.arange(count, dtype=np.int32)] * 2, 1)
    a, b = moved.shape[:2]
    text = f"""func.func @main(%x: {before}, %i: tensor<{count}x2xi32>) -> {result} {{
      %0 = stablehlo.transpose %x, dims = {order} : ({before}) -> {after}
      %1 = "stablehlo.gather"(%0, %i) <{{dimension_numbers = #stablehlo.gather<offset_dims = [0, 1],
        collapsed_slice_dims = [2, 3], start_index_map = [2, 3], index_vector_dim = 1>,
        slice_sizes = array<i64: {a}, {b}, 1, 1>}}> : ({after}, tensor<{count}x2xi32>) -> {result}
      return %1 : {result} }}"""
    np.testing.assert_array_equal(run(text, [x, index])[0], expected)


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 1, 0, 2), (2, 3, 1, 0), (1, 0, 3, 2)])
def test_windows_of_a_transposed_batch(order: tuple[int, ...]) -> None:
    """Batching dimensions, windows and indices of each dimension wherever they were before."""
    moved = np.arange(6 * 5 * 30 * 7, dtype=np.float32).reshape(6, 5, 30, 7)
    x = np.ascontiguousarray(moved.transpose(np.argsort(order)))
    index = INDICES.integers(-10, 40, (5, 4, 6, 2)).astype(np.int32)
    expected = np.empty((5, 3, 4, 2, 6), np.float32)
    for a, b, c in np.ndindex(5, 4, 6):
        first, last = np.clip(index[a, b, c], 0, (27, 5))
        expected[a, :, b, :, c] = moved[c, a, first : first + 3, last : last + 2]
    text = f"""func.func @main(%x: {type_of(x)}, %i: tensor<5x4x6x2xi32>) -> {type_of(expected)} {{
      %0 = stablehlo.transpose %x, dims = {list(order)} : ({type_of(x)}) -> {type_of(moved)}
      %1 = "stablehlo.gather"(%0, %i) <{{dimension_numbers = #stablehlo.gather<offset_dims = [1, 3],
        operand_batching_dims = [0, 1], start_indices_batching_dims = [2, 0], start_index_map = [2, 3],
        index_vector_dim = 3>, slice_sizes = array<i64: 1, 1, 3, 2>}}>
        : ({type_of(moved)}, tensor<5x4x6x2xi32>) -> {type_of(expected)}
      return %1 : {type_of(expected)} }}"""
    np.testing.assert_array_equal(run(text, [x, index])[0], expected)

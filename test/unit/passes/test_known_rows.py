"""Gathers of rows at places that are known when a program is compiled."""

from __future__ import annotations

import numpy as np
import pytest

from cpu_programs import run, type_of
from xhlo.passes.simplify_hlo.known_rows import digits_of, runs_of

PLACES = [
    [0, 0, 1, 1, 2, 2],
    [0, 1, 2, 0, 1, 2],
    [2, 2, 0, 0, 2, 2, 0, 0],
    [5, 3, 1],
    [4, 4, 4],
    [3],
    [-2, 0, 1, 9],
    [0, 1, 1, 2],
    [0, 1, 3, 5],
    [1, 3, 6, 8],
    [0, 2, 3, 5],
    [2, 3, 5, 6],
]

RUNS = [
    [3, 4, 5, 0, 1, 2, 3, 4],
    [2, 1, 0, 0, 0, 0, 1, 2, 3, 4, 5, 5],
    [0, 2, 4, 5, 3, 1, 4, 4, 4, 4, 4, 0],
]


@pytest.mark.parametrize("places", PLACES, ids=str)
def test_digits(places: list[int]) -> None:
    """The order of places is that of their digits; places without digits have no order."""
    digits = digits_of(places)
    found = np.array(places[:1])
    for size, step in digits:
        found = (found[:, None] + step * np.arange(size)).reshape(-1)
    assert not digits or found.tolist() == places
    assert bool(digits) == (places not in ([-2, 0, 1, 9], [0, 1, 3, 5]))


@pytest.mark.parametrize("places", [*PLACES, *RUNS], ids=str)
def test_runs(places: list[int]) -> None:
    """Runs are the places in order; there are none of few places each."""
    runs = runs_of(places)
    found = [first + step * number for first, step, count in runs for number in range(count)]
    assert found in (places, []) and (bool(runs) or places not in RUNS)


@pytest.mark.long(7)
@pytest.mark.parametrize("places", [*PLACES, *RUNS], ids=str)
@pytest.mark.parametrize("along", [0, 1, 2])
def test_rows(places: list[int], along: int) -> None:
    x = np.arange(6 * 7 * 6, dtype=np.float32).reshape(6, 7, 6)
    taken = np.take(x, np.clip(places, 0, x.shape[along] - 1), along)
    for index in (np.array(places), np.array(places).reshape(-1, 1, len(places))):
        # The rows first, wherever they were.
        moved = np.moveaxis(taken, along, 0)
        expected = moved.reshape(*index.shape, *moved.shape[1:])
        sizes = [1 if dim == along else size for dim, size in enumerate(x.shape)]
        offsets = list(range(index.ndim, index.ndim + 2))
        given, made = type_of(x), type_of(expected)
        indices = f"tensor<{'x'.join(map(str, index.shape))}xi32>"
        text = f"""func.func @main(%x: {given}) -> {made} {{
          %i = stablehlo.constant dense<{index.tolist()}> : {indices}
          %0 = "stablehlo.gather"(%x, %i) <{{dimension_numbers = #stablehlo.gather<offset_dims = {offsets},
            collapsed_slice_dims = [{along}], start_index_map = [{along}], index_vector_dim = {index.ndim}>,
            slice_sizes = array<i64: {", ".join(map(str, sizes))}>}}> : ({given}, {indices}) -> {made}
          return %0 : {made} }}"""
        (found,) = run(text, [x])
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("shape", [(9, 4, 3), (9, 2, 5, 1), (9, 3, 16), (9, 2)])
def test_images(shape: tuple[int, ...]) -> None:
    """Rows of several dimensions, and of few elements, at places that an argument tells; others are computed with."""
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    index = np.array([8, 0, 3, -2, 30, 3], np.int32)
    expected = x[np.clip(index, 0, 8)]
    offsets = list(range(1, x.ndim))
    sizes = ", ".join(map(str, (1, *shape[1:])))
    text = f"""func.func @main(%x: {type_of(x)}, %i: {type_of(index)}) -> ({type_of(expected)}, {type_of(expected)}) {{
      %0 = "stablehlo.gather"(%x, %i) <{{dimension_numbers = #stablehlo.gather<offset_dims = {offsets},
        collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
        slice_sizes = array<i64: {sizes}>}}> : ({type_of(x)}, {type_of(index)}) -> {type_of(expected)}
      %1 = stablehlo.add %0, %0 : {type_of(expected)}
      return %0, %1 : {type_of(expected)}, {type_of(expected)} }}"""
    found, twice = run(text, [x, index])
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(twice, 2 * expected)

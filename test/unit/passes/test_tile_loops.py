"""Loops over tiles of rows: the results of the loop over all rows, for any number of rows, steps and threads."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest

import xhlo
from cpu_programs import on_threads
from hlo_programs import Program
from xhlo.passes.manager.pipelines import FRONT
from xhlo.passes.tile_loops import sizes
from xhlo.passes.tile_loops import transform as tile_loops

RECURRENCE = """
func.func @main(%w: tensor<12x12xf32>, %v: tensor<6x12xf32>, %xs: tensor<9x{rows}x6xf32>, %h0: tensor<{rows}x12xf32>, %n: tensor<i32>)
    -> ({results}) {{
  %zero = hlo.constant dense<0> : tensor<i32>
  %one = hlo.constant dense<1> : tensor<i32>
  %last = hlo.constant dense<8> : tensor<i32>
  %none = hlo.constant dense<0.5> : tensor<9x{rows}x12xf32>
  %all = hlo.dot_general %xs, %v, contracting_dims = [2] x [0] : (tensor<9x{rows}x6xf32>, tensor<6x12xf32>) -> tensor<9x{rows}x12xf32>
  %0:3 = hlo.while(%i = %zero, %h = %h0, %ys = %none) : tensor<i32>, tensor<{rows}x12xf32>, tensor<9x{rows}x12xf32>
    cond {{
      %bound = hlo.constant dense<9> : tensor<i32>
      %1 = hlo.compare LT, %i, {bound}, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      hlo.return %1 : tensor<i1>
    }} do {{
      %at = hlo.subtract %last, %i : tensor<i32>
      %1 = hlo.dynamic_slice %all, %at, %zero, %zero, sizes = [1, {rows}, 12] : (tensor<9x{rows}x12xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x{rows}x12xf32>
      %2 = hlo.reshape %1 : (tensor<1x{rows}x12xf32>) -> tensor<{rows}x12xf32>
      %3 = hlo.dot_general %h, %w, contracting_dims = [1] x [0] : (tensor<{rows}x12xf32>, tensor<12x12xf32>) -> tensor<{rows}x12xf32>
      %4 = hlo.add %2, %3 : tensor<{rows}x12xf32>
      %5 = hlo.iota dim = 0 : tensor<{rows}x12xi32>
      %6 = hlo.convert %5 : (tensor<{rows}x12xi32>) -> tensor<{rows}x12xf32>
      %scale = hlo.constant dense<0.0625> : tensor<{rows}x12xf32>
      %share = hlo.multiply %6, %scale : tensor<{rows}x12xf32>
      %7 = hlo.multiply %4, %share : tensor<{rows}x12xf32>
      %8 = hlo.tanh %7 : tensor<{rows}x12xf32>
      {update}
      %12 = hlo.add %i, %one : tensor<i32>
      hlo.return %12, %8, %11 : tensor<i32>, tensor<{rows}x12xf32>, tensor<9x{rows}x12xf32>
    }}
  return {returned} : {results}
}}
"""

STACK = """%10 = hlo.reshape %8 : (tensor<{rows}x12xf32>) -> tensor<1x{rows}x12xf32>
      %11 = hlo.dynamic_update_slice %ys, %10, %at, %zero, %zero : (tensor<9x{rows}x12xf32>, tensor<1x{rows}x12xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<9x{rows}x12xf32>"""

HISTORY = """%9 = hlo.dynamic_slice %ys, %one, %zero, %zero, sizes = [1, {rows}, 12] : (tensor<9x{rows}x12xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x{rows}x12xf32>
      %13 = hlo.reshape %8 : (tensor<{rows}x12xf32>) -> tensor<1x{rows}x12xf32>
      %10 = hlo.add %9, %13 : tensor<1x{rows}x12xf32>
      %11 = hlo.dynamic_update_slice %ys, %10, %one, %zero, %zero : (tensor<9x{rows}x12xf32>, tensor<1x{rows}x12xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<9x{rows}x12xf32>"""


def recurrence(rows: int, update: str = STACK, bound: str = "%bound", counted: bool = False) -> str:
    """A recurrence over so many rows that stacks its states, or adds them to one slice; `counted`: returns its counter."""
    results = [f"tensor<{rows}x12xf32>", f"tensor<9x{rows}x12xf32>", *["tensor<i32>"] * counted]
    returned = ["%0#1", "%0#2", *["%0#0"] * counted]
    return RECURRENCE.format(
        rows=rows,
        bound=bound,
        update=update.format(rows=rows),
        results=", ".join(results),
        returned=", ".join(returned),
    )


def arrays(rows: int, steps: int = 9) -> list[np.ndarray]:
    numbers = np.random.default_rng(rows)
    shapes = [(12, 12), (6, 12), (9, rows, 6), (rows, 12)]
    return [*(numbers.standard_normal(shape).astype(np.float32) / 4 for shape in shapes), np.asarray(steps, np.int32)]


@pytest.fixture(autouse=True)
def _small_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes, "LEAST_WORK", 0)
    monkeypatch.setattr(sizes, "ROWS_OF_A_PRODUCT", 4)
    monkeypatch.setattr(sizes, "STEP", 1)


def check(text: str, *inputs: np.ndarray, remark: str) -> None:
    program = Program(text).after(*FRONT, "tile-loops")
    assert any(remark in message for message in program.messages)
    program.same_results(*inputs, rtol=1e-5)
    results = xhlo.compile(text)(*inputs)
    for actual, expected in zip(results, Program(text).results(*inputs), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.long(5)
@pytest.mark.parametrize(
    ("rows", "remark"),
    [
        (12, "3 tiles of 4 rows"),
        (9, "3 tiles of 3 rows"),
        (13, "3 tiles of 5 rows"),
        (11, "3 tiles of 4 rows"),
        (7, "its 7 rows do not make tiles of 4"),
        (1, "not tiled: "),
    ],
)
def test_rows(rows: int, remark: str) -> None:
    check(recurrence(rows), *arrays(rows), remark=remark)


@pytest.mark.long(3)
@pytest.mark.parametrize("steps", [0, 1, 4, 9])
def test_steps_that_are_not_known(steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tile's kernel makes that many iterations at a time, and none are left for its last run."""
    monkeypatch.setattr(tile_loops, "MOST_AT_A_TIME", 4)
    remark = "3 tiles of 4 rows run the loop each by itself, 4 iterations at a time"
    check(recurrence(12, bound="%n", counted=True), *arrays(12, steps), remark=remark)


@pytest.mark.parametrize(("rows", "remark"), [(12, "3 tiles of 4 rows"), (11, "its 11 rows do not make tiles of 4")])
def test_a_slice_that_all_steps_change(rows: int, remark: str) -> None:
    """Tiles that overlap would add some rows twice."""
    check(recurrence(rows, HISTORY), *arrays(rows), remark=remark)


def test_products_move_into_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tile_loops, "LEAVES_CACHE", 0)
    check(
        recurrence(12), *arrays(12), remark="3 tiles of 4 rows run the loop each by itself, with 1 product from before"
    )


@pytest.mark.long(3)
@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_each_level_of_optimization(level: Literal[0, 1, 2, 3]) -> None:
    text, inputs = recurrence(13), arrays(13)
    results = xhlo.compile(text, opt_level=level)(*inputs)
    for actual, expected in zip(results, Program(text).results(*inputs), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-6)


STATES = """
func.func @main(%w: tensor<4x4xf32>, %g: tensor<12x4xf32>, %flat: tensor<5x48xf32>, %at: tensor<2xi32>)
    -> (tensor<12x4xf32>, tensor<12x4xf32>) {{
  %zero = hlo.constant dense<0> : tensor<i32>
  %one = hlo.constant dense<1> : tensor<i32>
  %0:3 = hlo.while(%i = %zero, %h = %g, %before = %g) : tensor<i32>, tensor<12x4xf32>, tensor<12x4xf32>
    cond {{
      %bound = hlo.constant dense<5> : tensor<i32>
      %1 = hlo.compare LT, %i, %bound, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      hlo.return %1 : tensor<i1>
    }} do {{
      %1 = hlo.dot_general %h, %w, contracting_dims = [1] x [0] : (tensor<12x4xf32>, tensor<4x4xf32>) -> tensor<12x4xf32>
      %2 = hlo.add %1, %before : tensor<12x4xf32>
      {more}
      %4 = hlo.add %2, %3 : tensor<12x4xf32>
      %next = hlo.tanh %4 : tensor<12x4xf32>
      %5 = hlo.add %i, %one : tensor<i32>
      hlo.return %5, %next, {returned} : tensor<i32>, tensor<12x4xf32>, tensor<12x4xf32>
    }}
  return %0#1, %0#2 : tensor<12x4xf32>, tensor<12x4xf32>
}}
"""


def states(more: str, returned: str, remark: str) -> None:
    numbers = np.random.default_rng(0)
    inputs = [numbers.standard_normal(shape).astype(np.float32) / 4 for shape in ((4, 4), (12, 4), (5, 48))]
    check(STATES.format(more=more, returned=returned), *inputs, np.asarray([1, 7], np.int32), remark=remark)


@pytest.mark.parametrize("dim", [0, 1])
def test_the_next_state_numbers_rows_or_columns(dim: int) -> None:
    states(f"%3 = hlo.iota dim = {dim} : tensor<12x4xf32>", "%3", "3 tiles of 4 rows")


def test_rows_that_are_part_of_a_dimension() -> None:
    read = "%6 = hlo.dynamic_slice %flat, %i, %zero, sizes = [1, 48] : (tensor<5x48xf32>, tensor<i32>, tensor<i32>) -> tensor<1x48xf32>"
    split = "%3 = hlo.reshape %6 : (tensor<1x48xf32>) -> tensor<12x4xf32>"
    states(f"{read}\n{split}", "%h", "hlo.reshape mixes rows with other dimensions")


def test_rows_that_are_part_of_gathered_slices() -> None:
    numbers = "offset_dims = [0], collapsed_slice_dims = [0], start_index_map = [0, 1], index_vector_dim = 1"
    slices = f"{{dimension_numbers = #stablehlo.gather<{numbers}>, slice_sizes = array<i64: 1, 12>}}"
    moving = """%6 = hlo.broadcast_in_dim %i, dims = [] : (tensor<i32>) -> tensor<4x2xi32>
    %7 = hlo.broadcast_in_dim %at, dims = [1] : (tensor<2xi32>) -> tensor<4x2xi32>
    %8 = hlo.xor %6, %7 : tensor<4x2xi32>"""
    gather = f'%3 = "stablehlo.gather"(%flat, %8) {slices} : (tensor<5x48xf32>, tensor<4x2xi32>) -> tensor<12x4xf32>'
    states(f"{moving}\n{gather}", "%h", "not tiled: ")


def test_indices_that_number_fewer_places_than_rows() -> None:
    text = recurrence(300).replace("i32>", "i8>").replace("300x12xi8>", "300x12xi32>").replace("0.0625", "0.0009765625")
    *inputs, steps = arrays(300)
    check(text, *inputs, steps.astype(np.int8), remark="tiles of")


def test_a_batched_product_beside_one_that_moves_into_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tile_loops, "LEAVES_CACHE", 0)
    steps = "%steps = hlo.dot_general %xs, %vs, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<9x12x6xf32>, tensor<9x6x12xf32>) -> tensor<9x12x12xf32>"
    both = "%both = hlo.add %all, %steps : tensor<9x12x12xf32>"
    text = recurrence(12).replace("%n: tensor<i32>", "%n: tensor<i32>, %vs: tensor<9x6x12xf32>")
    text = text.replace("  %0:3", f"  {steps}\n  {both}\n  %0:3").replace("dynamic_slice %all", "dynamic_slice %both")
    weights = np.random.default_rng(0).standard_normal((9, 6, 12)).astype(np.float32)
    check(text, *arrays(12), weights, remark="with 1 product from before it")


@pytest.mark.parametrize("rows", [12, 13])
def test_bits_do_not_depend_on_the_threads(rows: int) -> None:
    assert len(on_threads(recurrence(rows), *arrays(rows))) == 2


def test_a_state_that_becomes_a_constant() -> None:
    """The state of the next step is no result of the body, and the one after it comes from outside."""
    stated = STACK + "\n      %sevens = hlo.constant dense<7.0> : tensor<{rows}x12xf32>"
    for value in ("%sevens", "%h0"):
        text = recurrence(12, stated).replace("hlo.return %12, %8, %11", f"hlo.return %12, {value}, %11")
        check(text, *arrays(12), remark="rows run the loop each by itself")


NORMALIZED = """
func.func @main(%x: tensor<{rows}x{size}xf32>) -> tensor<{rows}x{size}xf32> {{
  %zero = hlo.constant dense<0> : tensor<i32>
  %one = hlo.constant dense<1> : tensor<i32>
  %none = hlo.constant dense<0.0> : tensor<f32>
  %0:2 = hlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<{rows}x{size}xf32>
    cond {{
      %n = hlo.constant dense<40> : tensor<i32>
      %1 = hlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      hlo.return %1 : tensor<i1>
    }} do {{
      %squares = hlo.multiply %v, %v : tensor<{rows}x{size}xf32>
      %1 = hlo.reduce(%squares init: %none) applies hlo.add across dimensions = [1] : (tensor<{rows}x{size}xf32>, tensor<f32>) -> tensor<{rows}xf32>
      %2 = hlo.sqrt %1 : tensor<{rows}xf32>
      %3 = hlo.broadcast_in_dim %2, dims = [0] : (tensor<{rows}xf32>) -> tensor<{rows}x{size}xf32>
      %4 = hlo.divide %v, %3 : tensor<{rows}x{size}xf32>
      %5 = hlo.{function} %4 : tensor<{rows}x{size}xf32>
      %6 = hlo.add %i, %one : tensor<i32>
      hlo.return %6, %5 : tensor<i32>, tensor<{rows}x{size}xf32>
    }}
  return %0#1 : tensor<{rows}x{size}xf32>
}}
"""


@pytest.mark.long(3)
@pytest.mark.parametrize("size", [5, 11, 20])
@pytest.mark.parametrize(("rows", "function", "tile"), [(32, "tanh", 16), (50, "tanh", 25), (64, "negate", 16)])
def test_short_rows_in_lanes(rows: int, function: str, tile: int, size: int) -> None:
    """Tiles of full lanes, or nearly full ones with an elementary function, give the same for any number of threads."""
    text = NORMALIZED.format(rows=rows, size=size, function=function)
    tiled = Program(text).after(*FRONT, "tile-loops{vector-bits=256}")
    assert any(f"tiles of {tile} rows" in message for message in tiled.messages)
    x = np.random.default_rng(6).standard_normal((rows, size), dtype=np.float32)
    (got,) = on_threads(text, x)
    want = x.astype(np.float64)
    for _ in range(40):
        want = want / np.sqrt((want * want).sum(1, keepdims=True))
        want = np.tanh(want) if function == "tanh" else -want
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)

"""
Sorts, scans, scatters and related operations on the SIMT interpreter: tiles and merges, chunks, ordered conflicts.
"""

from __future__ import annotations

import numpy as np
import pytest

from simt_programs import check_on_simt, run_on_simt
from test_gpu_elementwise import array, tensor
from xhlo.lowering.plan_gpu_kernels import indexing

# Sorts.


def sort_program(shape: tuple[int, ...], dim: int, compare: str) -> str:
    """A sort of keys with values; `compare` computes %s from %a and %b."""
    t = tensor(shape, "i32")
    return f"""
    func.func @main(%x: {t}, %y: {t}) -> ({t}, {t}) {{
      %r:2 = "stablehlo.sort"(%x, %y) <{{dimension = {dim} : i64, is_stable = true}}> ({{
      ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<i32>, %d: tensor<i32>):
        {compare}
        stablehlo.return %s : tensor<i1>
      }}) : ({t}, {t}) -> ({t}, {t})
      return %r#0, %r#1 : {t}, {t}
    }}"""


BY_KEY = "%s = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>"
BY_THIRDS = """%n = stablehlo.constant dense<3> : tensor<i32>
        %p = stablehlo.divide %a, %n : tensor<i32>
        %q = stablehlo.divide %b, %n : tensor<i32>
        %s = stablehlo.compare GT, %p, %q : (tensor<i32>, tensor<i32>) -> tensor<i1>"""
NEVER = "%s = stablehlo.constant dense<false> : tensor<i1>"

SORTS = [
    ((0,), 0), ((1,), 0), ((2,), 0), ((31,), 0), ((33,), 0), ((255,), 0), ((257,), 0), ((1000, 2), 1), ((5, 33), 1),
    ((33, 5), 0), ((2, 3, 5), 1), ((2049,), 0), ((3, 2500), 1), ((4100, 2), 0), ((9001,), 0),
]  # fmt: skip


@pytest.mark.long(3)
@pytest.mark.sample(4)
@pytest.mark.parametrize(("shape", "dim"), SORTS, ids=str)
@pytest.mark.parametrize("compare", [BY_KEY, BY_THIRDS], ids=["key", "comparator"])
def test_sorts_are_stable(shape: tuple[int, ...], dim: int, compare: str) -> None:
    keys = np.random.default_rng(0).integers(-9, 9, shape).astype(np.int32)
    check_on_simt(sort_program(shape, dim, compare), [keys, np.arange(keys.size, dtype=np.int32).reshape(shape)])


@pytest.mark.long
def test_merges_of_short_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "MOST_SORT_THREADS", 16)
    for length in (33, 64, 127, 257, 521):
        keys = np.random.default_rng(length).integers(0, 50, length).astype(np.int32)
        for compare in (BY_KEY, BY_THIRDS, NEVER):
            check_on_simt(sort_program((length,), 0, compare), [keys, np.arange(length, dtype=np.int32)])


def test_comparators_that_contradict_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    """The searches of neighbouring tiles disagree: no merge takes an element twice, or more than a tile holds."""
    monkeypatch.setattr(indexing, "MOST_SORT_THREADS", 16)
    compare = """%n = stablehlo.constant dense<7> : tensor<i32>
        %p = stablehlo.multiply %a, %b : tensor<i32>
        %q = stablehlo.remainder %p, %n : tensor<i32>
        %t = stablehlo.add %q, %a : tensor<i32>
        %u = stablehlo.remainder %t, %n : tensor<i32>
        %s = stablehlo.compare GT, %u, %q : (tensor<i32>, tensor<i32>) -> tensor<i1>"""
    keys = np.random.default_rng(0).integers(0, 50, 257).astype(np.int32)
    found, places = run_on_simt(sort_program((257,), 0, compare), [keys, np.arange(257, dtype=np.int32)])
    np.testing.assert_array_equal(np.sort(places), np.arange(257))
    np.testing.assert_array_equal(found, keys[places])


def test_comparators_without_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """NaN is neither before nor after anything: the result still has every element once."""
    monkeypatch.setattr(indexing, "MOST_SORT_THREADS", 16)
    values = np.random.default_rng(0).standard_normal(1000).astype(np.float32)
    values[::7] = np.nan
    t = tensor((1000,))
    text = f"""
    func.func @main(%x: {t}) -> {t} {{
      %r = "stablehlo.sort"(%x) <{{dimension = 0 : i64, is_stable = true}}> ({{
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %s = stablehlo.compare LT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %s : tensor<i1>
      }}) : ({t}) -> {t}
      return %r : {t}
    }}"""
    (result,) = run_on_simt(text, [values])
    np.testing.assert_array_equal(np.sort(result), np.sort(values))


@pytest.mark.parametrize("type_", ["f64", "f32", "bf16", "f16", "i64", "i8", "ui8", "i1"])
def test_sorts_of_types(type_: str) -> None:
    t, e = tensor((3, 70), type_), f"tensor<{type_}>"
    order = ", TOTALORDER" if "f" in type_ else ""
    text = f"""
    func.func @main(%x: {t}) -> {t} {{
      %r = "stablehlo.sort"(%x) <{{dimension = 1 : i64, is_stable = true}}> ({{
      ^bb0(%a: {e}, %b: {e}):
        %s = stablehlo.compare LT, %a, %b{order} : ({e}, {e}) -> tensor<i1>
        stablehlo.return %s : tensor<i1>
      }}) : ({t}) -> {t}
      return %r : {t}
    }}"""
    check_on_simt(text, [array((3, 70), type_)])


# Scans.


def scan_program(shape: tuple[int, ...], dim: int, reverse: bool, type_: str, body: str, init: str) -> str:
    window, zeros, pads = [1] * len(shape), [0] * len(shape), [0] * len(shape)
    window[dim], pads[dim] = max(1, shape[dim]), max(0, shape[dim] - 1)
    low, high = (zeros, pads) if reverse else (pads, zeros)
    padding = ", ".join(f"[{a}, {b}]" for a, b in zip(low, high, strict=True))
    t, e = tensor(shape, type_), f"tensor<{type_}>"
    return f"""
    func.func @main(%x: {t}) -> {t} {{
      %i = stablehlo.constant dense<{init}> : {e}
      %r = "stablehlo.reduce_window"(%x, %i) <{{window_dimensions = array<i64: {", ".join(map(str, window))}>,
          padding = dense<[{padding}]> : tensor<{len(shape)}x2xi64>}}> ({{
      ^bb0(%a: {e}, %b: {e}):
        {body}
        stablehlo.return %m : {e}
      }}) : ({t}, {e}) -> {t}
      return %r : {t}
    }}"""


ADD = "%m = stablehlo.add %a, %b : tensor<i32>"
SCANS = [
    ((1,), 0), ((2,), 0), ((33,), 0), ((257,), 0), ((4000,), 0), ((9001,), 0), ((8, 9), 0), ((8, 9), 1), ((40, 33), 0),
    ((3, 700), 1), ((3, 100, 7), 1), ((2, 3841), 1), ((300, 3), 0), ((0, 3), 1), ((700, 33), 1), ((512, 16), 1),
    ((5, 60, 48), 2), ((33, 49), 1),
]  # fmt: skip


@pytest.mark.sample(5)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(("shape", "dim"), SCANS, ids=str)
def test_scans(shape: tuple[int, ...], dim: int, reverse: bool) -> None:
    x = np.random.default_rng(1).integers(-1000, 1000, shape).astype(np.int32)
    flip = slice(None, None, -1 if reverse else 1)
    moved = np.moveaxis(x, dim, 0)
    want = np.moveaxis(np.cumsum(moved[flip], axis=0, dtype=np.int32)[flip], 0, dim)
    (got,) = run_on_simt(scan_program(shape, dim, reverse, "i32", ADD, "0"), [x])
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("reverse", [False, True])
def test_chunks_of_short_lines(monkeypatch: pytest.MonkeyPatch, reverse: bool) -> None:
    """Three launches, for rows and for columns alike."""
    for name, value in (("SCAN_THREADS", 32), ("ELEMENTS", 3), ("SHORT_ROW", 4), ("SHORTEST_CHUNK", 2)):
        monkeypatch.setattr(indexing, name, value)
    flip = slice(None, None, -1 if reverse else 1)
    for shape, dim in (((1000,), 0), ((2, 601), 1), ((2, 100, 3), 1), ((101, 2), 0)):
        x = np.random.default_rng(2).integers(-1000, 1000, shape).astype(np.int32)
        moved = np.moveaxis(x, dim, 0)
        want = np.moveaxis(np.cumsum(moved[flip], axis=0, dtype=np.int32)[flip], 0, dim)
        (got,) = run_on_simt(scan_program(shape, dim, reverse, "i32", ADD, "0"), [x])
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("length", [70, 5000])
def test_scan_of_another_function(length: int) -> None:
    """logaddexp."""
    body = """%h = stablehlo.maximum %a, %b : tensor<f64>
        %l = stablehlo.minimum %a, %b : tensor<f64>
        %d = stablehlo.subtract %l, %h : tensor<f64>
        %e = stablehlo.exponential %d : tensor<f64>
        %f = stablehlo.log_plus_one %e : tensor<f64>
        %m = stablehlo.add %h, %f : tensor<f64>"""
    x = np.random.default_rng(2).standard_normal(length)
    (got,) = run_on_simt(scan_program((length,), 0, False, "f64", body, "-1.0e300"), [x])
    np.testing.assert_allclose(got, np.logaddexp.accumulate(x), rtol=1e-12)


# Scatters.


def scatter_program(
    operand: str, indices: str, updates: str, numbers: str, type_: str = "f32", body: str = "add", unique: bool = False
) -> str:
    e = f"tensor<{type_}>"
    return f"""
    func.func @main(%x: tensor<{operand}>, %i: tensor<{indices}>, %u: tensor<{updates}>) -> tensor<{operand}> {{
      %r = "stablehlo.scatter"(%x, %i, %u) <{{scatter_dimension_numbers = #stablehlo.scatter<{numbers}>,
          unique_indices = {str(unique).lower()}}}> ({{
      ^bb0(%a: {e}, %b: {e}):
        %m = stablehlo.{body} %a, %b : {e}
        stablehlo.return %m : {e}
      }}) : (tensor<{operand}>, tensor<{indices}>, tensor<{updates}>) -> tensor<{operand}>
      return %r : tensor<{operand}>
    }}"""


ROWS = "update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1"
SCATTERS = {
    "rows": ("50x33xf32", "70x1xi32", "70x33xf32", ROWS),
    "few_rows": ("3x257xf32", "31x1xi32", "31x257xf32", ROWS),
    "elements": (
        "9x11xf32",
        "300x2xi64",
        "300xf32",
        "inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1",
    ),
    "bins": (
        "7xf32",
        "2500x1xi32",
        "2500xf32",
        "inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1",
    ),
    "overlapping_windows": (
        "40x8xf32",
        "60x1xi32",
        "60x5x8xf32",
        "update_window_dims = [1, 2], scatter_dims_to_operand_dims = [0], index_vector_dim = 1",
    ),
    "one_window": (
        "40x8xf32",
        "2xi32",
        "5x3xf32",
        "update_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 0",
    ),
    "batches": (
        "4x20x6xf32",
        "4x9x1xi32",
        "4x9x6xf32",
        "update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], "
        "scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2",
    ),
    "one_in_a_batch": (
        "40x20x6xf32",
        "40x1xi32",
        "40x6xf32",
        "update_window_dims = [1], inserted_window_dims = [1], input_batching_dims = [0], "
        "scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 1",
    ),
    "nothing": ("5x4xf32", "0x1xi32", "0x4xf32", ROWS),
}


def indices_of(spelled: str, limit: int) -> np.ndarray:
    *dims, type_ = spelled.split("x")
    values = np.random.default_rng(5).integers(-2, limit, tuple(map(int, dims)))
    return values.astype(np.int64 if type_ == "i64" else np.int32)


def values_of(spelled: str, seed: int = 0) -> np.ndarray:
    *dims, type_ = spelled.split("x")
    return array(tuple(map(int, dims)), type_, seed)


@pytest.mark.sample(4)
@pytest.mark.parametrize("body", ["add", "subtract"])
@pytest.mark.parametrize("name", SCATTERS)
def test_scatters(name: str, body: str) -> None:
    """Updates of the same element happen in order: the bits of a serial loop."""
    operand, indices, updates, numbers = SCATTERS[name]
    limit = max(int(n) for n in operand.split("x")[:-1]) + 2
    if name in ("bins", "elements", "few_rows"):
        limit = min(limit, 9)
    inputs = [values_of(operand), indices_of(indices, limit), values_of(updates, 1)]
    check_on_simt(scatter_program(operand, indices, updates, numbers, body=body), inputs, rtol=0.0)


def test_unique_scatter() -> None:
    x, u = array((64, 40), "bf16"), array((64, 40), "bf16", 1)
    order = np.random.default_rng(0).permutation(64).astype(np.int32).reshape(64, 1)
    text = scatter_program("64x40xbf16", "64x1xi32", "64x40xbf16", ROWS, "bf16", "maximum", unique=True)
    check_on_simt(text, [x, order, u])


WINDOWS = [
    ((8, 12), (2, 3), (2, 3), (0, 0)),
    ((8, 12), (3, 3), (2, 2), (1, 1)),
    ((7, 9), (3, 2), (1, 1), (1, 0)),
    ((9, 11), (2, 2), (3, 3), (0, 0)),
    ((33,), (5,), (2,), (2,)),
    ((2, 9, 9, 3), (1, 3, 3, 1), (1, 2, 2, 1), (0, 1, 1, 0)),
]


@pytest.mark.parametrize(("shape", "window", "strides", "padding"), WINDOWS, ids=str)
def test_select_and_scatter(
    shape: tuple[int, ...], window: tuple[int, ...], strides: tuple[int, ...], padding: tuple[int, ...]
) -> None:
    """
    The gradient of max pooling with disjoint and overlapping windows; few different values, so that there are ties.
    """
    counts = tuple((n + 2 * p - w) // s + 1 for n, w, s, p in zip(shape, window, strides, padding, strict=True))
    t, c, e = tensor(shape), tensor(counts), "tensor<f32>"
    pads = ", ".join(f"[{p}, {p}]" for p in padding)
    text = f"""
    func.func @main(%x: {t}, %s: {c}) -> {t} {{
      %i = stablehlo.constant dense<0.5> : {e}
      %r = "stablehlo.select_and_scatter"(%x, %s, %i) <{{
          window_dimensions = array<i64: {", ".join(map(str, window))}>,
          window_strides = array<i64: {", ".join(map(str, strides))}>,
          padding = dense<[{pads}]> : tensor<{len(shape)}x2xi64>}}> ({{
      ^bb0(%a: {e}, %b: {e}):
        %p = stablehlo.compare GE, %a, %b : ({e}, {e}) -> tensor<i1>
        stablehlo.return %p : tensor<i1>
      }}, {{
      ^bb0(%a: {e}, %b: {e}):
        %m = stablehlo.add %a, %b : {e}
        stablehlo.return %m : {e}
      }}) : ({t}, {c}, {e}) -> {t}
      return %r : {t}
    }}"""
    check_on_simt(text, [np.round(array(shape) / 50), array(counts)])

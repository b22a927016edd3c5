"""reduce_window and select_and_scatter: the reference against plain loops, the CPU against the reference."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest

import xhlo
from cpu_programs import DTYPES, TYPES, edges, on_threads, run, type_of, wrong
from xhlo.hlo_dialect.ops.window_geometry import Window

I = tuple[int, ...]


def padding_text(low: I, high: I) -> str:
    pairs = ", ".join(f"[{a}, {b}]" for a, b in zip(low, high, strict=True))
    return f"dense<{f'[{pairs}]' if pairs else ''}> : tensor<{len(low)}x2xi64>"


def array_text(numbers: Sequence[int]) -> str:
    return f"array<i64: {', '.join(map(str, numbers))}>" if numbers else "array<i64>"


def tensor(shape: Sequence[int], element: str) -> str:
    return f"tensor<{''.join(f'{d}x' for d in shape)}{element}>"


def window_program(shape: I, window: Window, element: str, body: str, init: str) -> str:
    """@main(x) with one reduce_window; `body` computes %m from %a and %b."""
    result = tensor(window.counts(shape), element)
    source = tensor(shape, element)
    return f"""
    func.func @main(%x: {source}) -> {result} {{
      %i = hlo.constant dense<{init}> : tensor<{element}>
      %0 = "hlo.reduce_window"(%x, %i) <{{window_dimensions = {array_text(window.dimensions)},
        window_strides = {array_text(window.strides)}, base_dilations = {array_text(window.base_dilations)},
        window_dilations = {array_text(window.dilations)}, padding = {padding_text(window.low, window.high)}}}> ({{
      ^bb0(%a: tensor<{element}>, %b: tensor<{element}>):
        {body}
        hlo.return %m : tensor<{element}>
      }}) : ({source}, tensor<{element}>) -> {result}
      return %0 : {result}
    }}"""


def plain(x: np.ndarray[Any, Any], window: Window, fold: Any, init: Any) -> np.ndarray[Any, Any]:
    """Each window, element by element, as the formula of the spec says."""
    counts = window.counts(x.shape)
    result = np.full(counts, init, x.dtype)
    for index in np.ndindex(counts):
        total = init
        for offset in product(*map(range, window.dimensions)):
            value, inside = init, True
            place: list[int] = []
            for d, (i, o) in enumerate(zip(index, offset, strict=True)):
                at = i * window.strides[d] + o * window.dilations[d] - window.low[d]
                inside &= at % window.base_dilations[d] == 0 and 0 <= at // window.base_dilations[d] < x.shape[d]
                place.append(at // window.base_dilations[d])
            if inside:
                value = x[tuple(place)]
            total = fold(total, value)
        result[index] = total
    return result


CASES = [
    ((4, 6), Window((2, 3), (1, 1), (1, 1), (1, 1), (0, 0), (0, 0))),
    ((4, 6), Window((2, 3), (2, 3), (1, 1), (1, 1), (0, 0), (0, 0))),
    ((5, 7), Window((3, 3), (2, 2), (1, 1), (1, 1), (1, 0), (1, 2))),
    ((5, 7), Window((2, 2), (1, 2), (2, 3), (1, 1), (0, 0), (0, 0))),
    ((5, 7), Window((2, 2), (1, 2), (2, 3), (3, 2), (3, -2), (-1, 4))),
    ((5, 7), Window((2, 2), (1, 1), (1, 1), (1, 1), (-1, -3), (-2, 0))),
    ((3, 4, 4, 5), Window((1, 2, 2, 1), (1, 2, 2, 1), (1,) * 4, (1,) * 4, (0,) * 4, (0,) * 4)),
    ((3, 4, 4, 5), Window((1, 1, 3, 3), (1, 1, 1, 2), (1,) * 4, (1, 1, 1, 2), (0, 0, 1, 2), (0, 0, 1, 2))),
    ((2, 5, 7, 32), Window((1, 3, 2, 1), (1, 2, 1, 1), (1, 1, 2, 1), (1,) * 4, (0, 1, 0, 0), (0, 2, 3, 0))),
    ((3, 2, 90), Window((1, 2, 3), (1, 1, 2), (1,) * 3, (1,) * 3, (0, 1, 1), (0, 0, 1))),
    ((4, 41), Window((2, 2), (1, 2), (1, 1), (2, 3), (0, 0), (0, 0))),
    ((100,), Window((7,), (3,), (2,), (1,), (2,), (0,))),
    ((7,), Window((7,), (1,), (1,), (1,), (3,), (3,))),
    ((7,), Window((8,), (1,), (1,), (1,), (0,), (0,))),
    ((0, 3), Window((1, 1), (1, 1), (1, 1), (1, 1), (0, 0), (0, 0))),
    ((0, 3), Window((2, 1), (1, 1), (1, 1), (1, 1), (1, 0), (2, 0))),
    ((3,), Window((2,), (1,), (1,), (1,), (-9,), (0,))),
    ((), Window((), (), (), (), (), ())),
]


@pytest.mark.long(5)
@pytest.mark.sample(3)
@pytest.mark.parametrize("shape, window", CASES)
@pytest.mark.parametrize("init", [0, 3])
def test_windows_against_loops(shape: I, window: Window, init: int) -> None:
    """Sums of integers: the padding consists of initial values, neutral or not."""
    x = np.arange(np.prod(shape, dtype=int), dtype=np.int32).reshape(shape) - 7
    text = window_program(shape, window, "i32", "%m = hlo.add %a, %b : tensor<i32>", str(init))
    want = plain(x, window, lambda a, b: a + b, np.int32(init))
    for target in ("reference", "cpu"):
        np.testing.assert_array_equal(run(text, [x], target)[0], want, err_msg=target)


@pytest.mark.long(3)
@pytest.mark.sample(2)
@pytest.mark.parametrize("element", TYPES)
@pytest.mark.parametrize("columns", [9, 32])
def test_every_type(element: str, columns: int) -> None:
    """Few columns are padded first; the windows of many are pooled while the padding is computed."""
    x = np.resize(edges(element), (6, columns))
    window = Window((3, 2), (1, 2), (1, 1), (1, 1), (1, 0), (1, 1))
    if columns > 9:
        window = Window((3, 1), (1, 1), (1, 1), (1, 1), (1, 0), (1, 0))
    low = {"i1": "false", "f32": "0xFF800000"}.get(element)
    if low is None:
        low = "0.0" if x.dtype.kind not in "iu" else str(np.iinfo(x.dtype).min)
    text = window_program((6, columns), window, element, f"%m = hlo.maximum %a, %b : tensor<{element}>", low)
    got, want = (run(text, [x], target)[0] for target in ("cpu", "reference"))
    assert not wrong(got, want).any()


@pytest.mark.parametrize("element", ["bf16", "f16"])
def test_sums_of_narrow_floats_are_rounded_once(element: str) -> None:
    """Also where windows move in steps along rows, whose wider elements are sums of slices."""
    x = (7 * np.random.default_rng(0).standard_normal((3, 90))).astype(DTYPES[element])
    window = Window((1, 5), (1, 2), (1, 1), (1, 1), (0, 0), (0, 0))
    text = window_program((3, 90), window, element, f"%m = hlo.add %a, %b : tensor<{element}>", "0.0")
    wide = np.lib.stride_tricks.sliding_window_view(x.astype(np.float64), 5, 1)[:, ::2].sum(-1)
    np.testing.assert_array_equal(run(text, [x])[0], wide.astype(np.float32).astype(x.dtype))


def test_any_function() -> None:
    """A body of several operations in which the order of arguments matters: the last element larger than 2."""
    body = """%two = hlo.constant dense<2.0> : tensor<f32>
        %p = hlo.compare GT, %b, %two : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %m = hlo.select %p, %b, %a : tensor<i1>, tensor<f32>"""
    x = np.random.default_rng(0).integers(0, 5, (6, 40)).astype(np.float32)
    window = Window((2, 3), (1, 1), (1, 1), (1, 1), (0, 0), (0, 0))
    text = window_program((6, 40), window, "f32", body, "0.0")
    want = plain(x, window, lambda a, b: b if b > 2 else a, np.float32(0))
    for target in ("reference", "cpu"):
        np.testing.assert_array_equal(run(text, [x], target)[0], want, err_msg=target)


def test_values_with_their_places() -> None:
    """Pooling with the index of the largest element, and sums of i8 in i32."""
    text = """
    func.func @main(%x: tensor<6x8xf32>, %k: tensor<6x8xi32>, %s: tensor<9xi8>)
        -> (tensor<3x4xf32>, tensor<3x4xi32>, tensor<7xi32>) {
      %i = hlo.constant dense<0xFF800000> : tensor<f32>
      %j = hlo.constant dense<-1> : tensor<i32>
      %0:2 = "hlo.reduce_window"(%x, %k, %i, %j) <{window_dimensions = array<i64: 2, 2>,
          window_strides = array<i64: 2, 2>}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<i32>, %c: tensor<f32>, %d: tensor<i32>):
        %p = hlo.compare GE, %a, %c : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %m = hlo.select %p, %a, %c : tensor<i1>, tensor<f32>
        %n = hlo.select %p, %b, %d : tensor<i1>, tensor<i32>
        hlo.return %m, %n : tensor<f32>, tensor<i32>
      }) : (tensor<6x8xf32>, tensor<6x8xi32>, tensor<f32>, tensor<i32>) -> (tensor<3x4xf32>, tensor<3x4xi32>)
      %z = hlo.constant dense<0> : tensor<i8>
      %1 = "hlo.reduce_window"(%s, %z) <{window_dimensions = array<i64: 3>}> ({
      ^bb0(%a: tensor<i32>, %b: tensor<i32>):
        %m = hlo.add %a, %b : tensor<i32>
        hlo.return %m : tensor<i32>
      }) : (tensor<9xi8>, tensor<i8>) -> tensor<7xi32>
      return %0#0, %0#1, %1 : tensor<3x4xf32>, tensor<3x4xi32>, tensor<7xi32>
    }"""
    x = np.random.default_rng(0).standard_normal((6, 8)).astype(np.float32)
    places = np.arange(48, dtype=np.int32).reshape(6, 8)
    s = np.array([100, 120, -128, -100, 127, 127, 127, 0, 1], np.int8)
    blocks = x.reshape(3, 2, 4, 2).transpose(0, 2, 1, 3).reshape(3, 4, 4)
    where = places.reshape(3, 2, 4, 2).transpose(0, 2, 1, 3).reshape(3, 4, 4)
    best = blocks.argmax(-1)[..., None]
    for target in ("reference", "cpu"):
        m, n, sums = run(text, [x, places, s], target)
        np.testing.assert_array_equal(m, blocks.max(-1))
        np.testing.assert_array_equal(n, np.take_along_axis(where, best, -1)[..., 0])
        np.testing.assert_array_equal(sums, np.convolve(s.astype(np.int32), np.ones(3, np.int32), "valid"))


def scan_window(shape: I, dim: int, reverse: bool) -> Window:
    ones, zeros = (1,) * len(shape), [0] * len(shape)
    dimensions, pads = list(ones), list(zeros)
    dimensions[dim], pads[dim] = shape[dim], shape[dim] - 1
    low, high = (zeros, pads) if reverse else (pads, zeros)
    return Window(tuple(dimensions), ones, ones, ones, tuple(low), tuple(high))


SCANS = [
    ((1,), 0), ((2,), 0), ((9,), 0), ((1000,), 0), ((70_001,), 0), ((200_000,), 0), ((8, 9), 0), ((8, 9), 1),
    ((3, 100, 70), 1), ((40, 33), 0), ((300, 517), 1), ((4, 50, 5000), 1), ((0, 3), 1), ((3, 0), 0),
    ((3000, 3), 0), ((2, 2100, 5), 1), ((70, 11, 2), 1), ((3, 60_001), 1),
]  # fmt: skip


@pytest.mark.long(5)
@pytest.mark.sample(3)
@pytest.mark.parametrize("shape, dim", SCANS)
@pytest.mark.parametrize("reverse", [False, True])
def test_scans(shape: I, dim: int, reverse: bool) -> None:
    """Cumulative sums of integers, which are exact."""
    x = np.random.default_rng(1).integers(-1000, 1000, shape).astype(np.int32)
    window = scan_window(shape, dim, reverse)
    text = window_program(shape, window, "i32", "%m = hlo.add %a, %b : tensor<i32>", "0")
    flip = slice(None, None, -1 if reverse else 1)
    moved = np.moveaxis(x, dim, 0)
    want = np.moveaxis(np.cumsum(moved[flip], axis=0, dtype=np.int32)[flip], 0, dim)
    for target in ("reference", "cpu"):
        np.testing.assert_array_equal(run(text, [x], target)[0], want, err_msg=target)


def test_sums_of_few_lines_do_not_fall() -> None:
    """Lines that are cut: each sum of numbers that are not negative is at least the one before, also where cuts are."""
    x = np.random.default_rng(3).random((3, 60_001), dtype=np.float32)
    text = window_program(
        x.shape, scan_window(x.shape, 1, False), "f32", "%m = hlo.add %a, %b : tensor<f32>", "0.000000e+00"
    )
    (found,) = on_threads(text, x)
    assert (np.diff(found) >= 0).all()
    np.testing.assert_allclose(found, np.cumsum(x.astype(np.float64), 1), rtol=2e-6)


@pytest.mark.long(15)
@pytest.mark.parametrize("shape", [(1024,), (2003,), (3, 1100), (33, 8), (130, 70), (64, 129), (3, 17_001)])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("type_", ["f32", "f64"])
def test_greatest_so_far(shape: I, reverse: bool, type_: str) -> None:
    """Pieces of lines in lanes, of lines that are cut and of whole ones: NaN stays, and so do the signs of zeros."""
    rng = np.random.default_rng(2)
    x = rng.integers(-3, 1, shape).astype(np.float32 if type_ == "f32" else np.float64)
    x = np.where(rng.random(shape) < 0.5, x, -x).astype(x.dtype)
    x[rng.random(shape) < 0.5 / shape[-1]] = np.nan
    window = scan_window(shape, len(shape) - 1, reverse)
    text = window_program(
        shape,
        window,
        type_,
        f"%m = hlo.maximum %a, %b : tensor<{type_}>",
        "0xFF800000" if type_ == "f32" else "0xFFF0000000000000",
    )
    found, want = run(text, [x], "cpu")[0], run(text, [x], "reference")[0]
    np.testing.assert_array_equal(found, want)
    numbers = ~np.isnan(want)
    np.testing.assert_array_equal(np.signbit(found[numbers]), np.signbit(want[numbers]))


@pytest.mark.parametrize("element", ["f16", "bf16"])
@pytest.mark.parametrize("function, init", [("add", "0.0"), ("multiply", "1.0")])
def test_scans_of_narrow_floats(element: str, function: str, init: str) -> None:
    """Each result is rounded once: the sums themselves are carried in f32."""
    rng = np.random.default_rng(6)
    x = (rng.standard_normal((3, 500)) if function == "add" else rng.uniform(0.9, 1.1, (3, 500))).astype(
        DTYPES[element]
    )
    body = f"%m = hlo.{function} %a, %b : tensor<{element}>"
    (found,) = run(window_program((3, 500), scan_window((3, 500), 1, False), element, body, init), [x])
    accumulated = (np.cumsum if function == "add" else np.cumprod)(x.astype(np.float64), 1)
    step = 2.0**-11 if element == "f16" else 2.0**-8
    np.testing.assert_allclose(found.astype(np.float64), accumulated, rtol=1.1 * step, atol=1e-5)


def test_scan_is_linear() -> None:
    """A cumulative sum becomes linalg_ext.scan; one with another initial value does not, because its padding counts."""
    window = scan_window((64,), 0, False)
    body = "%m = hlo.add %a, %b : tensor<f32>"
    assert "linalg_ext.scan" in xhlo.compile(window_program((64,), window, "f32", body, "0.0")).as_text("linalg")
    odd = window_program((64,), window, "f32", body, "1.0")
    assert "linalg_ext.scan" not in xhlo.compile(odd).as_text("linalg")
    x = np.ones(64, np.float32)
    for target in ("reference", "cpu"):
        np.testing.assert_array_equal(run(odd, [x], target)[0], np.full(64, 65.0, np.float32))


@pytest.mark.long(3)
@pytest.mark.spread(2)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("length", [5, 3000, 100_000])
def test_scan_of_another_function(reverse: bool, length: int) -> None:
    """logaddexp; and the composition of affine maps, associative but not commutative, of two arrays together."""
    x = np.random.default_rng(2).standard_normal(length)
    body = """%h = hlo.maximum %a, %b : tensor<f64>
        %l = hlo.minimum %a, %b : tensor<f64>
        %d = hlo.subtract %l, %h : tensor<f64>
        %e = hlo.exponential %d : tensor<f64>
        %f = hlo.log_plus_one %e : tensor<f64>
        %m = hlo.add %h, %f : tensor<f64>"""
    text = window_program((length,), scan_window((length,), 0, reverse), "f64", body, "-1.0e300")
    flip = slice(None, None, -1 if reverse else 1)
    want = np.logaddexp.accumulate(x[flip])[flip]
    for target in ("reference", "cpu"):
        np.testing.assert_allclose(run(text, [x], target)[0], want, rtol=1e-12, err_msg=target)
    # Many short lines are scanned in lanes.
    if length == 5:
        x = np.random.default_rng(3).standard_normal((70, length))
        text = window_program((70, length), scan_window((70, length), 1, reverse), "f64", body, "-1.0e300")
        want = np.logaddexp.accumulate(x[:, flip], axis=1)[:, flip]
        np.testing.assert_allclose(run(text, [x])[0], want, rtol=1e-12)
    low, high = (0, length - 1) if reverse else (length - 1, 0)
    source = f"tensor<{length}xi32>"
    maps = f"""
    func.func @main(%x: {source}, %y: {source}) -> ({source}, {source}) {{
      %i = hlo.constant dense<1> : tensor<i32>
      %j = hlo.constant dense<0> : tensor<i32>
      %0:2 = "hlo.reduce_window"(%x, %y, %i, %j) <{{window_dimensions = array<i64: {length}>,
          padding = dense<[[{low}, {high}]]> : tensor<1x2xi64>}}> ({{
      ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<i32>, %d: tensor<i32>):
        %m = hlo.multiply %a, %c : tensor<i32>
        %p = hlo.multiply %a, %d : tensor<i32>
        %n = hlo.add %p, %b : tensor<i32>
        hlo.return %m, %n : tensor<i32>, tensor<i32>
      }}) : ({source}, {source}, tensor<i32>, tensor<i32>) -> ({source}, {source})
      return %0#0, %0#1 : {source}, {source}
    }}"""
    rng = np.random.default_rng(3)
    a, b = (rng.integers(-5, 5, length).astype(np.int32) * 2 + 1 for _ in range(2))
    one, zero = np.int32(1), np.int32(0)
    state, wanted = (one, zero), np.empty((2, length), np.int32)
    with np.errstate(over="ignore"):
        for k in range(length)[flip]:
            first, second = ((a[k], b[k]), state) if reverse else (state, (a[k], b[k]))
            state = (first[0] * second[0], first[0] * second[1] + first[1])
            wanted[:, k] = state
    for target in ("reference", "cpu"):
        np.testing.assert_array_equal(np.stack(run(maps, [a, b], target)), wanted, err_msg=target)


@pytest.mark.long(3)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("shape", [(70, 9, 3), (2, 1100, 3)])
def test_order_of_operands_in_lanes(reverse: bool, shape: I) -> None:
    """The first element of each window that is not 0, which is associative but not commutative: in whole lines, and cut."""
    body = """%z = hlo.constant dense<0> : tensor<i32>
        %p = hlo.compare NE, %a, %z : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %m = hlo.select %p, %a, %b : tensor<i1>, tensor<i32>"""
    x = np.random.default_rng(4).integers(0, 3, shape).astype(np.int32)
    text = window_program(shape, scan_window(shape, 1, reverse), "i32", body, "0")
    want, state = np.empty_like(x), np.zeros_like(x[:, 0])
    for k in range(shape[1])[:: -1 if reverse else 1]:
        first, second = (x[:, k], state) if reverse else (state, x[:, k])
        want[:, k] = state = np.where(first, first, second)
    for target in ("reference", "cpu"):
        np.testing.assert_array_equal(run(text, [x], target)[0], want, err_msg=target)


def scatter_program(
    x: Any, s: Any, window: Window, direction: str = "GE", scatter: str = "add", init: str = "0"
) -> str:
    element = type_of(x)[7:-1].split("x")[-1]
    one = f"tensor<{element}>"
    return f"""
    func.func @main(%x: {type_of(x)}, %s: {type_of(s)}) -> {type_of(x)} {{
      %i = hlo.constant dense<{init}> : {one}
      %0 = "hlo.select_and_scatter"(%x, %s, %i) <{{window_dimensions = {array_text(window.dimensions)},
          window_strides = {array_text(window.strides)}, padding = {padding_text(window.low, window.high)}}}> ({{
      ^bb0(%a: {one}, %b: {one}):
        %p = hlo.compare {direction}, %a, %b : ({one}, {one}) -> tensor<i1>
        hlo.return %p : tensor<i1>
      }}, {{
      ^bb0(%a: {one}, %b: {one}):
        %m = hlo.{scatter} %a, %b : {one}
        hlo.return %m : {one}
      }}) : ({type_of(x)}, {type_of(s)}, {one}) -> {type_of(x)}
      return %0 : {type_of(x)}
    }}"""


def plain_scatter(x: Any, s: Any, window: Window, keep: Any, fold: Any, init: int) -> np.ndarray[Any, Any]:
    result = np.full(x.shape, init, x.dtype)
    for index in np.ndindex(s.shape):
        best: I | None = None
        for offset in product(*map(range, window.dimensions)):
            place = tuple(
                i * stride + o - low
                for i, stride, o, low in zip(index, window.strides, offset, window.low, strict=True)
            )
            if all(0 <= p < size for p, size in zip(place, x.shape, strict=True)):
                best = place if best is None or not keep(x[best], x[place]) else best
        if best is not None:
            result[best] = fold(result[best], s[index])
    return result


SCATTERS = [
    ((4, 6), (2, 2), (2, 2), (0, 0), (0, 0)),
    ((5, 7), (3, 3), (1, 2), (0, 0), (0, 0)),
    ((5, 7), (3, 3), (2, 2), (1, 1), (1, 1)),
    ((5, 7), (2, 1), (3, 1), (4, 0), (3, 0)),
    ((5, 7), (2, 2), (1, 1), (-1, -2), (0, -1)),
    ((3, 6, 6, 8), (1, 2, 2, 1), (1, 2, 2, 1), (0,) * 4, (0,) * 4),
    ((3, 7, 7, 8), (1, 3, 3, 1), (1, 2, 2, 1), (0,) * 4, (0,) * 4),
    ((3, 7, 7, 8), (1, 3, 3, 1), (1, 2, 2, 1), (0, 1, 1, 0), (0, 1, 1, 0)),
    ((64, 40, 40), (1, 2, 2), (1, 2, 2), (0, 0, 0), (0, 0, 0)),
    ((0, 4), (1, 2), (1, 2), (0, 0), (0, 0)),
    ((2, 4), (3, 2), (1, 2), (0, 0), (0, 0)),
    ((), (), (), (), ()),
]


@pytest.mark.sample(5)
@pytest.mark.parametrize("shape, sizes, strides, low, high", SCATTERS)
@pytest.mark.parametrize("direction, scatter, init", [("GE", "add", 0), ("LT", "multiply", 3), ("GT", "subtract", 1)])
def test_select_and_scatter(
    shape: I, sizes: I, strides: I, low: I, high: I, direction: str, scatter: str, init: int
) -> None:
    """Ties, overlapping windows and padding included."""
    ones = (1,) * len(shape)
    window = Window(sizes, strides, ones, ones, low, high)
    rng = np.random.default_rng(4)
    x = rng.integers(-3, 3, shape, np.int32)
    s = rng.integers(-9, 9, window.counts(shape), np.int32)
    keeps: dict[str, Any] = {"GE": lambda a, b: a >= b, "LT": lambda a, b: a < b, "GT": lambda a, b: a > b}
    folds: dict[str, Any] = {"add": lambda a, b: a + b, "multiply": lambda a, b: a * b, "subtract": lambda a, b: a - b}
    text = scatter_program(x, s, window, direction, scatter, str(init))
    targets = ["reference", "cpu"]
    results = [run(text, [x, s], target)[0] for target in targets]
    if x.size < 10_000:
        np.testing.assert_array_equal(results[0], plain_scatter(x, s, window, keeps[direction], folds[scatter], init))
    np.testing.assert_array_equal(results[1], results[0])


@pytest.mark.parametrize("element", ["i1", "ui8", "i64", "bf16", "f16", "f64"])
def test_select_and_scatter_of_every_type(element: str) -> None:
    ones, zeros = (1, 1), (0, 0)
    window = Window((2, 3), (1, 2), ones, ones, (1, 0), zeros)
    rng = np.random.default_rng(5)
    x = rng.integers(0, 5, (6, 9)).astype(DTYPES[element])
    s = rng.integers(0, 3, window.counts(x.shape)).astype(DTYPES[element])
    init = {"i1": "false"}.get(element, "0" if x.dtype.kind in "iu" else "0.0")
    text = scatter_program(x, s, window, init=init)
    got, want = (run(text, [x, s], target)[0] for target in ("cpu", "reference"))
    assert not wrong(got, want).any()


def test_xla_agrees() -> None:
    """JAX's pooling, cumulative operations and their gradients, compiled by both."""
    jax = pytest.importorskip("jax")
    x = np.random.default_rng(6).standard_normal((2, 9, 11, 4)).astype(np.float32)

    def pool(x: Any) -> Any:
        return jax.lax.reduce_window(x, -np.inf, jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")

    programs: list[Any] = [
        pool,
        jax.grad(lambda x: (pool(x) ** 2).sum()),
        lambda x: jax.lax.reduce_window(x, 0.0, jax.lax.add, (1, 2, 3, 1), (1, 1, 2, 1), "SAME", (1, 2, 1, 1)),
        lambda x: jax.numpy.cumsum(x, axis=1),
        lambda x: jax.lax.cumprod(x, axis=2, reverse=True),
        lambda x: jax.lax.cumlogsumexp(x, axis=3),
        lambda x: jax.lax.cummax(x, axis=0),
        lambda x: jax.numpy.cumsum(jax.lax.complex(x, -x), axis=1).imag,
        lambda x: jax.lax.cumprod(jax.lax.complex(x, 1 - x), axis=2).real,
    ]
    for number, program in enumerate(programs):
        lowered = jax.jit(program).lower(x)
        np.testing.assert_allclose(
            xhlo.compile(lowered)(x), np.asarray(lowered.compile()(x)), rtol=2e-5, atol=1e-5, err_msg=str(number)
        )

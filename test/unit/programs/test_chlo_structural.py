"""chlo's operations that are not elementwise: broadcasting, constants, top_k, ragged_dot, scan; CPU and reference."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import xhlo
from hlo_programs import Program


def both(text: str, *operands: Any) -> list[tuple[Any, ...]]:
    """The results on the CPU and on the reference."""
    compiled = xhlo.compile(text)(*operands)
    compiled = compiled if isinstance(compiled, tuple) else (compiled,)
    return [compiled, Program(text).results(*operands)]


def broadcast(op: str, lhs: str, rhs: str, result: str, attributes: str = "") -> str:
    return (
        f"func.func @main(%a: {lhs}, %b: {rhs}) -> {result} {{ "
        f"%0 = chlo.broadcast_{op} %a, %b {attributes} : ({lhs}, {rhs}) -> {result} return %0 : {result} }}"
    )


def test_broadcasting_shapes():
    rng = np.random.default_rng(0)
    a, b, c = (rng.normal(size=shape).astype(np.float32) for shape in ((2, 3), (2,), (4, 1, 3)))
    for (found,) in both(
        broadcast(
            "add", "tensor<2x3xf32>", "tensor<2xf32>", "tensor<2x3xf32>", "{broadcast_dimensions = array<i64: 0>}"
        ),
        a,
        b,
    ):
        np.testing.assert_array_equal(found, a + b[:, None])
    for (found,) in both(broadcast("subtract", "tensor<2x3xf32>", "tensor<4x1x3xf32>", "tensor<4x2x3xf32>"), a, c):
        np.testing.assert_array_equal(found, a - c)


@pytest.mark.long(3)
@pytest.mark.parametrize(
    ("op", "function"),
    [
        ("and", np.bitwise_and),
        ("or", np.bitwise_or),
        ("xor", np.bitwise_xor),
        ("shift_left", np.left_shift),
        ("shift_right_arithmetic", np.right_shift),
        ("maximum", np.maximum),
        ("minimum", np.minimum),
        ("multiply", np.multiply),
        ("remainder", np.fmod),
        ("power", np.power),
    ],
)
def test_broadcasting_of_integers(op: str, function: Any):
    a, b = np.array([[5, -7, 100], [3, 2, -1]], np.int32), np.array([[3], [2]], np.int32)
    for (found,) in both(broadcast(op, "tensor<2x3xi32>", "tensor<2x1xi32>", "tensor<2x3xi32>"), a, b):
        np.testing.assert_array_equal(found, function(a, b))


@pytest.mark.parametrize(
    ("op", "function"), [("atan2", np.arctan2), ("divide", np.divide), ("next_after", np.nextafter)]
)
def test_broadcasting_of_floats(op: str, function: Any):
    a, b = np.array([[1.5, -2, 0.25]]), np.array([[3.0], [-0.5]])
    for (found,) in both(broadcast(op, "tensor<1x3xf64>", "tensor<2x1xf64>", "tensor<2x3xf64>"), a, b):
        np.testing.assert_allclose(found, function(a, b), rtol=4e-16)


def test_broadcasting_with_other_results():
    a, b = np.array([[1, 2, 3]], np.float32), np.array([[2], [1]], np.float32)
    compare = "{comparison_direction = #chlo<comparison_direction LT>}"
    for (found,) in both(broadcast("compare", "tensor<1x3xf32>", "tensor<2x1xf32>", "tensor<2x3xi1>", compare), a, b):
        np.testing.assert_array_equal(found, a < b)
    made = broadcast("complex", "tensor<1x3xf32>", "tensor<2x1xf32>", "tensor<2x3xcomplex<f32>>")
    for (found,) in both(made, a, b):
        np.testing.assert_array_equal(found, a + 1j * b)
    text = (
        "func.func @main(%p: tensor<2x1xi1>, %a: tensor<1x3xf32>, %b: tensor<f32>) -> tensor<2x3xf32> { %0 = "
        "chlo.broadcast_select %p, %a, %b : (tensor<2x1xi1>, tensor<1x3xf32>, tensor<f32>) -> tensor<2x3xf32> "
        "return %0 : tensor<2x3xf32> }"
    )
    pred, other = np.array([[True], [False]]), np.array(7, np.float32)
    for (found,) in both(text, pred, a, other):
        np.testing.assert_array_equal(found, np.where(pred, a, other))


def test_constants():
    text = (
        "func.func @main(%x: tensor<2x3xf32>) -> (tensor<2xi8>, tensor<2x3xbf16>) { "
        "%0 = chlo.constant dense<[1, -2]> : tensor<2xi8> "
        '%1 = "chlo.constant_like"(%x) {value = 2.5 : bf16} : (tensor<2x3xf32>) -> tensor<2x3xbf16> '
        "return %0, %1 : tensor<2xi8>, tensor<2x3xbf16> }"
    )
    for first, second in both(text, np.zeros((2, 3), np.float32)):
        np.testing.assert_array_equal(first, [1, -2])
        np.testing.assert_array_equal(second.astype(np.float32), np.full((2, 3), 2.5))


def top_k(shape: str, out: str, element: str, k: int) -> str:
    types = f"tensor<{out}{element}>, tensor<{out}i32>"
    return (
        f"func.func @main(%x: tensor<{shape}{element}>) -> ({types}) {{ "
        f"%0:2 = chlo.top_k(%x, k = {k}) : tensor<{shape}{element}> -> ({types}) return %0#0, %0#1 : {types} }}"
    )


def test_top_k_of_floats_is_in_total_order():
    nan = np.float32(np.nan)
    x = np.array([1, nan, -np.inf, -nan, 0.0, -0.0, 5, np.inf, 5], np.float32)
    for values, indices in both(top_k("9x", "9x", "f32", 9), x):
        np.testing.assert_array_equal(indices, [1, 7, 6, 8, 0, 4, 5, 2, 3])
        np.testing.assert_array_equal(values, x[indices])


@pytest.mark.long(3)
@pytest.mark.parametrize(
    ("dtype", "element"), [(np.bool_, "i1"), (np.int8, "i8"), (np.uint64, "ui64"), (np.float64, "f64")]
)
def test_top_k(dtype: Any, element: str):
    x = np.random.default_rng(0).integers(0, 100, (3, 4, 17)).astype(dtype)
    for values, indices in both(top_k("3x4x17x", "3x4x5x", element, 5), x):
        np.testing.assert_array_equal(values, -np.sort(-x.astype(np.int64), axis=-1)[..., :5])
        np.testing.assert_array_equal(np.take_along_axis(x, indices.astype(np.int64), -1), values)
    for values, indices in both(top_k("3x4x17x", "3x4x0x", element, 0), x):
        assert values.shape == indices.shape == (3, 4, 0)


def ragged_dot(shapes: tuple[str, ...], numbers: str) -> str:
    lhs, rhs, sizes, result = (f"tensor<{shape}>" for shape in shapes)
    return (
        f"func.func @main(%a: {lhs}, %b: {rhs}, %g: {sizes}) -> {result} {{ "
        f'%0 = "chlo.ragged_dot"(%a, %b, %g) <{{ragged_dot_dimension_numbers = #chlo.ragged_dot<{numbers}>}}> '
        f": ({lhs}, {rhs}, {sizes}) -> {result} return %0 : {result} }}"
    )


def test_ragged_dot_of_rows():
    """Each group of rows has its own rhs, whose infinities touch no other group; rows after the groups give 0."""
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(11, 5)).astype(np.float32), rng.normal(size=(3, 5, 7)).astype(np.float32)
    b[1] = np.inf
    text = ragged_dot(
        ("11x5xf32", "3x5x7xf32", "3xi32", "11x7xf32"),
        "lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], "
        "rhs_group_dimensions = [0]",
    )
    for (found,) in both(text, a, b, np.array([4, 0, 5], np.int32)):
        wanted = np.concatenate([a[:4] @ b[0], a[4:9] @ b[2], np.zeros((2, 7))])
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_ragged_dot_of_batches_of_rows():
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(2, 6, 5)), rng.normal(size=(3, 2, 5, 4))
    sizes = np.array([[1, 2, 3], [0, 5, 1]], np.int64)
    text = ragged_dot(
        ("2x6x5xf64", "3x2x5x4xf64", "2x3xi64", "2x6x4xf64"),
        "lhs_batching_dimensions = [0], rhs_batching_dimensions = [1], lhs_contracting_dimensions = [2], "
        "rhs_contracting_dimensions = [2], lhs_ragged_dimensions = [1], rhs_group_dimensions = [0]",
    )
    for (found,) in both(text, a, b, sizes):
        for batch, row in np.ndindex(2, 6):
            group = int(np.searchsorted(np.cumsum(sizes[batch]), row, side="right"))
            np.testing.assert_allclose(found[batch, row], a[batch, row] @ b[group, batch], rtol=1e-12)


def test_ragged_dot_of_sums_and_of_batches():
    rng = np.random.default_rng(2)
    a, b, sizes = rng.normal(size=(4, 9)), rng.normal(size=(9, 3)), np.array([2, 0, 6], np.int64)
    text = ragged_dot(
        ("4x9xf64", "9x3xf64", "3xi64", "3x4x3xf64"),
        "lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], lhs_ragged_dimensions = [1]",
    )
    for (found,) in both(text, a, b, sizes):
        wanted = [a[:, :2] @ b[:2], np.zeros((4, 3)), a[:, 2:8] @ b[2:8]]
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-14)
    a, b = rng.normal(size=(4, 2, 5)), rng.normal(size=(4, 5, 3))
    text = ragged_dot(
        ("4x2x5xf64", "4x5x3xf64", "3xi64", "4x2x3xf64"),
        "lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], "
        "rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0]",
    )
    for (found,) in both(text, a, b, sizes):
        np.testing.assert_allclose(found, a @ b, rtol=1e-12, atol=1e-14)


@pytest.mark.long(2)
@pytest.mark.parametrize("element", ["bf16", "i32"])
def test_ragged_dot_in_loops(element: str):
    """Where masks would multiply too much: blocks of each group's rows, the last of which ends in the next group."""
    rng = np.random.default_rng(3)
    dtype = ml_dtypes.bfloat16 if element == "bf16" else np.dtype(np.int32)
    rows, k, n = 64, 64, 96
    sizes = np.array([3, 0, 21, 1, 17, 8, 0, 9], np.int64)
    a, b, c = (rng.integers(-4, 5, size=shape).astype(dtype) for shape in ((rows, k), (8, k, n), (rows, n)))
    if element != "i32":
        b[1] = np.inf
        c[60:] = np.inf
    ends = np.cumsum(sizes)
    groups = [slice(end - size, end) for size, end in zip(sizes, ends, strict=True)]
    of_rows = np.zeros((rows, n))
    for one, factor in zip(groups, b, strict=True):
        if one.start != one.stop:
            of_rows[one] = a[one].astype(float) @ factor.astype(float)
    of_sums = [a[one].astype(float).T @ c[one].astype(float) for one in groups]
    text = ragged_dot(
        (f"{rows}x{k}x{element}", f"8x{k}x{n}x{element}", "8xi64", f"{rows}x{n}x{element}"),
        "lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], "
        "rhs_group_dimensions = [0]",
    )
    (found,) = both(text, a, b, sizes)[0]
    np.testing.assert_array_equal(found.astype(float), of_rows.astype(dtype).astype(float))
    text = ragged_dot(
        (f"{rows}x{k}x{element}", f"{rows}x{n}x{element}", "8xi64", f"8x{k}x{n}x{element}"),
        "lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0], lhs_ragged_dimensions = [0]",
    )
    (found,) = both(text, a, c, sizes)[0]
    np.testing.assert_array_equal(found.astype(float), np.array(of_sums).astype(dtype).astype(float))


def scan(dimension: int, shape: str, part: str, attributes: str = "") -> str:
    """Running sums, their error functions, and the last sum."""
    types = f"tensor<{shape}f64>, tensor<{shape}f64>, tensor<{part}f64>"
    return (
        f"func.func @main(%a: tensor<{shape}f64>, %c: tensor<{part}f64>) -> ({types}) {{\n"
        f"%0:3 = chlo.scan(%a) inits (%c) dimension={dimension} {attributes} {{\n"
        f"^bb0(%x: tensor<{part}f64>, %y: tensor<{part}f64>):\n"
        f"%s = stablehlo.add %x, %y : tensor<{part}f64>\n"
        f"%t = chlo.square %s : tensor<{part}f64> -> tensor<{part}f64>\n"
        f"stablehlo.return %s, %t, %s : tensor<{part}f64>, tensor<{part}f64>, tensor<{part}f64>\n"
        f"}} : (tensor<{shape}f64>, tensor<{part}f64>) -> ({types})\n"
        f"return %0#0, %0#1, %0#2 : {types} }}"
    )


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dimension", [0, 1])
def test_scan(reverse: bool, dimension: int):
    a = np.random.default_rng(0).normal(size=(4, 3))
    part = ("3x", "4x")[dimension]
    start = np.ones(a.shape[1 - dimension])
    steps = np.flip(a, dimension) if reverse else a
    sums = np.cumsum(steps, dimension) + np.expand_dims(start, dimension)
    wanted = np.flip(sums, dimension) if reverse else sums
    text = scan(dimension, "4x3x", part, "attributes {is_reverse = true}" if reverse else "")
    for found, squares, last in both(text, a, start):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)
        np.testing.assert_allclose(squares, wanted * wanted, rtol=1e-12)
        np.testing.assert_allclose(last, np.take(sums, -1, dimension), rtol=1e-12)


def test_scan_without_steps():
    for found, _, last in both(scan(0, "0x3x", "3x"), np.zeros((0, 3)), np.ones(3)):
        assert found.shape == (0, 3)
        np.testing.assert_array_equal(last, np.ones(3))

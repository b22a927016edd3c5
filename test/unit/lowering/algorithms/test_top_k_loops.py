"""top_k and first parts of sorts on the CPU: selection in one pass gives what the reference's stable sort gives."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from cpu_programs import run, type_of
from hlo_programs import Program


def special(rng: np.random.Generator, dtype: Any) -> Any:
    """Rows of 640 floats with ties, NaN of both signs, zeros of both signs, infinities, and all alike."""
    x = np.round(3 * rng.standard_normal((6, 640))).astype(dtype)
    x[0, ::7], x[1, ::3] = np.nan, -np.nan
    x[2], x[2, ::5] = 0.0, -0.0
    x[3], x[4] = np.inf, np.arange(640)
    return x


def text_of(inputs: list[Any], ops: list[str], results: list[str]) -> str:
    parameters = ", ".join(f"%x{i}: {type_of(x)}" for i, x in enumerate(inputs))
    body = "\n".join(f"  {op}" for op in ops)
    names = ", ".join(f"%r{i}#{part}" for i in range(len(ops)) for part in (0, 1))
    return f"func.func @main({parameters}) -> ({', '.join(results)}) {{\n{body}\n  return {names} : {', '.join(results)}\n}}"


@pytest.mark.long
def test_first_elements() -> None:
    """
    Every width of keys; few rows of many segments, whose elements ascend, so that each replaces a candidate; short rows.
    """
    rng = np.random.default_rng(0)
    inputs: list[Any] = [
        special(rng, np.float32),
        special(rng, np.float64)[:, :513],
        rng.integers(0, 40, (2, 3, 520)).astype(np.uint8),
        np.round(5 * rng.standard_normal(801)).astype(np.int16),
        np.arange(70_000, dtype=np.float32) // 3,
        special(rng, np.float32)[1, :32],
        special(rng, np.float64)[:3, :40],
    ]
    ops: list[str] = []
    results: list[str] = []
    for number, (x, k) in enumerate(zip(inputs, (7, 16, 1, 25, 30, 4, 5), strict=True)):
        part = np.empty((*x.shape[:-1], k), x.dtype), np.empty((*x.shape[:-1], k), np.int32)
        types = [type_of(array) for array in part]
        ops.append(f"%r{number}:2 = chlo.top_k(%x{number}, k = {k}) : {type_of(x)} -> ({', '.join(types)})")
        results += types
    text = text_of(inputs, ops, results)
    decomposed = Program(text).after("convert-chlo-to-hlo", "decompose-hlo{native-calls=true}").same_bits(*inputs)
    assert str(decomposed.module).count("xhlo.top_k") == len(inputs)
    wanted = run(text, inputs, "reference")
    for got, want in zip(run(text, inputs), wanted, strict=True):
        assert got.tobytes() == want.tobytes()


@pytest.mark.long
def test_thresholds_from_samples() -> None:
    """Rows whose samples say nothing of the rest, rows of one value, of the last key of all, and of k first elements."""
    rng = np.random.default_rng(2)
    inputs: list[Any] = [
        np.stack([np.arange(20_000), -np.arange(20_000), rng.permutation(20_000)]).astype(np.float32),
        np.stack([np.full(4100, -(2**31)), np.zeros(4100), (np.arange(4100) % 64 == 5) * 7]).astype(np.int32),
        np.stack([np.full(2100, -np.nan), np.where(np.arange(2100) < 2050, 0, np.inf), rng.standard_normal(2100)]),
        np.stack([np.full(700, 0), np.full(700, 255), rng.integers(0, 3, 700)]).astype(np.uint8),
        rng.integers(0, 9, (2, 9000)).astype(np.float32),
    ]
    ops: list[str] = []
    results: list[str] = []
    for number, (x, k) in enumerate(zip(inputs, (20, 64, 50, 9, 200), strict=True)):
        part = np.empty((*x.shape[:-1], k), x.dtype), np.empty((*x.shape[:-1], k), np.int32)
        types = [type_of(array) for array in part]
        ops.append(f"%r{number}:2 = chlo.top_k(%x{number}, k = {k}) : {type_of(x)} -> ({', '.join(types)})")
        results += types
    text = text_of(inputs, ops, results)
    for got, want in zip(run(text, inputs), run(text, inputs, "reference"), strict=True):
        assert got.tobytes() == want.tobytes()


def test_many_short_rows_are_sorted_side_by_side() -> None:
    text = """func.func @main(%x: tensor<ROWSx64xf32>) -> (tensor<ROWSx4xf32>, tensor<ROWSx4xi32>) {
  %0:2 = chlo.top_k(%x, k = 4) : tensor<ROWSx64xf32> -> (tensor<ROWSx4xf32>, tensor<ROWSx4xi32>)
  return %0#0, %0#1 : tensor<ROWSx4xf32>, tensor<ROWSx4xi32>
}"""
    selected: list[bool] = []
    for rows in ("5", "6"):
        program = Program(text.replace("ROWS", rows)).after("convert-chlo-to-hlo", "decompose-hlo{native-calls=true}")
        selected.append("xhlo.top_k" in str(program.module))
    assert selected == [True, False]


@pytest.mark.parametrize(
    ("type_", "length", "count", "selected"),
    [
        ("f32", 256, 10, True),
        ("f32", 256, 11, False),
        ("f32", 255, 1, False),
        ("f64", 300, 5, True),
        ("bf16", 300, 5, False),
    ],
)
def test_rows_from_which_few_are_selected(type_: str, length: int, count: int, selected: bool) -> None:
    """Many rows of 256 elements and more, of 512 if the elements are narrow; ties stay in their order."""
    results = f"(tensor<40x{count}x{type_}>, tensor<40x{count}xi32>)"
    text = f"""func.func @main(%x: tensor<40x{length}x{type_}>) -> {results} {{
  %0:2 = chlo.top_k(%x, k = {count}) : tensor<40x{length}x{type_}> -> {results}
  return %0#0, %0#1 : tensor<40x{count}x{type_}>, tensor<40x{count}xi32>
}}"""
    decomposed = Program(text).after("convert-chlo-to-hlo", "decompose-hlo{native-calls=true}")
    assert ("xhlo.top_k" in str(decomposed.module)) == selected
    dtype: Any = {"f32": np.float32, "f64": np.float64, "bf16": ml_dtypes.bfloat16}[type_]
    x = np.random.default_rng(3).integers(0, 60, (40, length)).astype(dtype)
    for got, want in zip(run(text, [x]), run(text, [x], "reference"), strict=True):
        assert got.tobytes() == want.tobytes()


def sorted_rows(x: Any, cuts: str, results: str) -> str:
    """Rows and their places sorted as JAX sorts, with one zero and one NaN; `cuts` computes the results %a and %b."""
    element = type_of(x).split("x")[-1].rstrip(">")
    indices: Any = np.empty(x.shape, np.int32)
    scalar, rows, places = f"tensor<{element}>", type_of(x), type_of(indices)
    nan = {"f32": "0x7FC00000", "f64": "0x7FF8000000000000", "f16": "0x7E00"}[element]
    keys = "\n".join(
        f"""
        %z{v} = stablehlo.compare EQ, %{v}, %zero, FLOAT : ({scalar}, {scalar}) -> tensor<i1>
        %s{v} = stablehlo.select %z{v}, %zero, %{v} : tensor<i1>, {scalar}
        %n{v} = stablehlo.compare NE, %{v}, %{v}, FLOAT : ({scalar}, {scalar}) -> tensor<i1>
        %k{v} = stablehlo.select %n{v}, %nan, %s{v} : tensor<i1>, {scalar}"""
        for v in ("p", "q")
    )
    return f"""
    func.func @main(%x: {rows}) -> ({results}) {{
      %i = stablehlo.iota dim = 1 : {places}
      %s:2 = "stablehlo.sort"(%x, %i) <{{dimension = 1 : i64, is_stable = true}}> ({{
      ^bb0(%p: {scalar}, %q: {scalar}, %c: tensor<i32>, %d: tensor<i32>):
        %zero = stablehlo.constant dense<0.0> : {scalar}
        %nan = stablehlo.constant dense<{nan}> : {scalar}{keys}
        %l = stablehlo.compare LT, %kp, %kq, TOTALORDER : ({scalar}, {scalar}) -> tensor<i1>
        stablehlo.return %l : tensor<i1>
      }}) : ({rows}, {places}) -> ({rows}, {places})
      {cuts.replace("ROWS", rows).replace("PLACES", places)}
      return %a, %b : {results}
    }}"""


FRONT = """
      %a = stablehlo.slice %s#0 [0:6, 2:3] : (ROWS) -> tensor<6x1xELEMENT>
      %r = stablehlo.reverse %s#1, dims = [1] : PLACES
      %b = stablehlo.slice %r [0:6, 630:638] : (PLACES) -> tensor<6x8xi32>"""
BACK = """
      %a = stablehlo.slice %s#0 [0:6, 635:639] : (ROWS) -> tensor<6x4xELEMENT>
      %r = stablehlo.reverse %s#1, dims = [1] : PLACES
      %b = stablehlo.slice %r [0:6, 0:8] : (PLACES) -> tensor<6x8xi32>"""


@pytest.mark.long
def test_parts_of_sorts() -> None:
    """Rows sorted as JAX sorts them, of which little is used: near the start, or near the end, reversed too."""
    for dtype, element in ((np.float32, "f32"), (np.float64, "f64"), (np.float16, "f16")):
        x = special(np.random.default_rng(1), dtype)
        for cuts, shape in ((FRONT, "6x1"), (BACK, "6x4")):
            text = sorted_rows(x, cuts.replace("ELEMENT", element), f"tensor<{shape}x{element}>, tensor<6x8xi32>")
            decomposed = Program(text).after("decompose-hlo{native-calls=true}").same_bits(x)
            assert str(decomposed.module).count("xhlo.top_k") == 1
            wanted = run(text, [x], "reference")
            for got, want in zip(run(text, [x]), wanted, strict=True):
                assert got.tobytes() == want.tobytes(), (element, cuts)


def test_keys_with_operations_that_may_become_calls() -> None:
    """The selection is then part of the kernel, not a function that programs share."""
    x = np.random.default_rng(3).standard_normal((2, 900)).astype(np.float32)
    text = """builtin.module attributes {xhlo.after = "schedule-kernels"} {
  func.func @main(%x: tensor<2x900xf32>) -> (tensor<2x4xf32>, tensor<2x4xi32>) {
    %0:2 = func.call @farthest(%x) : (tensor<2x900xf32>) -> (tensor<2x4xf32>, tensor<2x4xi32>)
    func.return %0#0, %0#1 : tensor<2x4xf32>, tensor<2x4xi32>
  }
  func.func private @farthest(%x: tensor<2x900xf32>) -> (tensor<2x4xf32>, tensor<2x4xi32>) attributes {hlo.kernel = "custom"} {
    %0 = tensor.empty() : tensor<2x4xf32>
    %1 = tensor.empty() : tensor<2x4xi32>
    %2:2 = linalg_ext.top_k ins(%x : tensor<2x900xf32>) outs(%0, %1 : tensor<2x4xf32>, tensor<2x4xi32>) ({
    ^bb0(%3: f32):
      %4 = math.absf %3 : f32
      %5 = arith.bitcast %4 : f32 to i32
      %6 = arith.constant -1 : i32
      %7 = arith.xori %5, %6 : i32
      linalg_ext.yield %7 : i32
    }) -> tensor<2x4xf32>, tensor<2x4xi32>
    func.return %2#0, %2#1 : tensor<2x4xf32>, tensor<2x4xi32>
  }
}"""
    values, places = run(text, [x])
    np.testing.assert_array_equal(places, np.argsort(-np.abs(x), axis=1, kind="stable")[:, :4])
    np.testing.assert_array_equal(values, np.take_along_axis(x, places, axis=1))


@pytest.mark.parametrize(
    ("element", "n", "k"), [("i4", 300, 20), ("i4", 12, 3), ("i64", 900, 33), ("f8E4M3FN", 300, 5)]
)
def test_short_and_long_keys(element: str, n: int, k: int) -> None:
    """Keys of four bits have no room for the rank of 20; those of eight bits of a float are computed one by one."""
    results = f"tensor<2x{k}xi32>"
    text = f"""func.func @main(%x: tensor<2x{n}xi32>) -> {results} {{
      %y = hlo.convert %x : (tensor<2x{n}xi32>) -> tensor<2x{n}x{element}>
      %v, %i = chlo.top_k(%y, k = {k}) : tensor<2x{n}x{element}> -> (tensor<2x{k}x{element}>, {results})
      return %i : {results}
    }}"""
    x = np.random.default_rng(3).integers(-7, 8, (2, n)).astype(np.int32)
    (places,) = run(text, [x])
    np.testing.assert_array_equal(places, np.argsort(-x, axis=-1, kind="stable")[:, :k])

"""Elements of any rank, found by counting: those of the reference's stable sort, to the bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cpu_programs import run, type_of
from hlo_programs import Program

CANONICAL = """\
    %zero = hlo.constant dense<0.0> : tensor<{0}>
    %nan = hlo.constant dense<0x{1}> : tensor<{0}>
    %0 = hlo.compare EQ, %a, %zero, FLOAT : (tensor<{0}>, tensor<{0}>) -> tensor<i1>
    %1 = hlo.select %0, %zero, %a : tensor<i1>, tensor<{0}>
    %2 = hlo.compare NE, %a, %a, FLOAT : (tensor<{0}>, tensor<{0}>) -> tensor<i1>
    %3 = hlo.select %2, %nan, %1 : tensor<i1>, tensor<{0}>
    %4 = hlo.compare EQ, %b, %zero, FLOAT : (tensor<{0}>, tensor<{0}>) -> tensor<i1>
    %5 = hlo.select %4, %zero, %b : tensor<i1>, tensor<{0}>
    %6 = hlo.compare NE, %b, %b, FLOAT : (tensor<{0}>, tensor<{0}>) -> tensor<i1>
    %7 = hlo.select %6, %nan, %5 : tensor<i1>, tensor<{0}>
    %8 = hlo.compare LT, %3, %7, TOTALORDER : (tensor<{0}>, tensor<{0}>) -> tensor<i1>
    hlo.return %8 : tensor<i1>
"""
"""The order of JAX and PyTorch: both zeros are equal, and NaN of all bits is the last."""

PLAIN = """\
    %0 = hlo.compare {1} : (tensor<{0}>, tensor<{0}>) -> tensor<i1>
    hlo.return %0 : tensor<i1>
"""


def sort_of(x: Any, order: str) -> str:
    """A sort of rows and their places."""
    name, places = type_of(x), f"tensor<{'x'.join(map(str, x.shape))}xi32>"
    element = name.removesuffix(">").split("x")[-1]
    nan = "7FF8000000000000" if element == "f64" else "7FC00000"
    body = CANONICAL.format(element, nan) if order == "canonical" else PLAIN.format(element, order)
    dim = x.ndim - 1
    return f"""\
  %p = hlo.iota dim = {dim} : {places}
  %s:2 = "hlo.sort"(%x, %p) <{{dimension = {dim} : i64, is_stable = true}}> ({{
  ^bb0(%a: tensor<{element}>, %b: tensor<{element}>, %c: tensor<i32>, %d: tensor<i32>):
{body}  }}) : ({name}, {places}) -> ({name}, {places})
"""


def slices_of(x: Any, order: str, taken: list[tuple[int, int]]) -> str:
    """A program that sorts and takes elements of some results (0, or 1 for places) and ranks."""
    element = type_of(x).removesuffix(">").split("x")[-1]
    lines, names, types = [], [], []
    for number, (result, rank) in enumerate(taken):
        whole, of = type_of(x), element
        if result:
            whole, of = whole.replace(element, "i32"), "i32"
        part = f"tensor<{'x'.join(map(str, (*x.shape[:-1], 1)))}x{of}>"
        box = ", ".join([*(f"0:{size}" for size in x.shape[:-1]), f"{rank}:{rank + 1}"])
        lines.append(f"  %r{number} = hlo.slice %s#{result} [{box}] : ({whole}) -> {part}")
        names.append(f"%r{number}")
        types.append(part)
    return f"""func.func @main(%x: {type_of(x)}) -> ({", ".join(types)}) {{
{sort_of(x, order)}{chr(10).join(lines)}
  func.return {", ".join(names)} : {", ".join(types)}
}}"""


def check(text: str, *inputs: Any, selected: bool = True) -> None:
    decomposed = Program(text).after("decompose-hlo{native-calls=true}").same_bits(*inputs)
    assert ("hlo.sort" not in str(decomposed.module)) is selected
    for got, want in zip(run(text, list(inputs)), run(text, list(inputs), "reference"), strict=True):
        assert got.tobytes() == want.tobytes()


def floats(dtype: Any, *shape: int) -> Any:
    """Rounded numbers with zeros and NaN of both signs and infinities."""
    rng = np.random.default_rng(0)
    x = np.round(2 * rng.standard_normal(shape)).astype(dtype)
    x[..., ::3] = np.where(x[..., ::3] == 0, -0.0, x[..., ::3])
    x[..., 1::50], x[..., 2::60], x[..., 5::70] = np.nan, -np.nan, np.inf
    return x


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_ranks_of_floats(dtype: Any) -> None:
    """Ranks among negative numbers, zeros, equal numbers and NaN; with places."""
    x = floats(dtype, 2, 8200)
    check(slices_of(x, "canonical", [(0, 700), (0, 4100), (1, 4100), (0, 8150)]), x)
    check(slices_of(x, "LT, %a, %b, TOTALORDER", [(0, 4100), (1, 3000)]), x)
    check(slices_of(x, "GT, %a, %b, TOTALORDER", [(0, 3000)]), x)


@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.int64])
def test_ranks_of_integers(dtype: Any) -> None:
    """Ascending and descending, with the extremes of the type; equal elements are in their order."""
    info, rng = np.iinfo(dtype), np.random.default_rng(0)
    x = rng.integers(info.min, info.max, 9001, dtype, endpoint=True)
    x[::7], x[1::7], x[2::3] = info.min, info.max, 5
    check(slices_of(x, "LT, %a, %b", [(0, 4000), (1, 4000), (1, 8000)]), x)
    check(slices_of(x, "GT, %a, %b", [(0, 4500), (1, 1500)]), x)


COMPUTED = """func.func @main(%x: tensor<9000xf32>, %i: tensor<2x1xi32>, %j: tensor<i32>) -> (tensor<2xf32>, tensor<1xf32>) {{
{0}
  %3 = hlo.add %i, %i : tensor<2x1xi32>
  %4 = "hlo.gather"(%s#0, %3) <{{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], \
start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}}> : \
(tensor<9000xf32>, tensor<2x1xi32>) -> tensor<2xf32>
  %5 = hlo.{1} : {2}tensor<i32>
  %6 = hlo.dynamic_slice %s#0, %5, sizes = [1] : (tensor<9000xf32>, tensor<i32>) -> tensor<1xf32>
  func.return %4, %6 : tensor<2xf32>, tensor<1xf32>
}}"""


def test_computed_ranks() -> None:
    """Ranks that are computed after the sort, and clamped; the sort stays where they depend on its results."""
    x = floats(np.float32, 9000)
    for i, j in (([2000, 1500], 4000), ([-3, 9000], 8999)):
        inputs = x, np.array(i, np.int32).reshape(2, 1), np.array(j, np.int32)
        check(COMPUTED.format(sort_of(x, "canonical"), "negate %j", ""), *inputs)
        check(COMPUTED.format(sort_of(x, "canonical"), "abs %j", ""), *inputs)
    own = "\n  %q = hlo.slice %s#1 [4000:4001] : (tensor<9000xi32>) -> tensor<1xi32>"
    depends = sort_of(x, "canonical") + own
    check(COMPUTED.format(depends, "reshape %q", "(tensor<1xi32>) -> "), *inputs, selected=False)


def test_rows_that_are_sorted() -> None:
    """Rows that are short, and elements of more than four ranks."""
    x = floats(np.float32, 3, 1000)
    check(slices_of(x, "canonical", [(0, 500)]), x, selected=False)
    x = floats(np.float32, 9000)
    check(slices_of(x, "canonical", [(0, 1000 * rank) for rank in range(1, 6)]), x, selected=False)

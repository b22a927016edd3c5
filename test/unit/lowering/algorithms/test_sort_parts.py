"""Stable sorts of few long rows by keys: several tasks for each row, and the same bits for any number of threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cpu_programs import DTYPES, on_threads, type_of
from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.reading import parse_module
from xhlo.lowering.convert_linalg_ext_to_scf.sorting.radix_parts import Parts
from xhlo.targets.cpu.target import CPU
from xhlo.targets.program.lowering import Lowering

FLOATS = ("bf16", "f32", "f64")


def program(keys: Any, places: Any, axis: int, direction: str) -> str:
    element = next(name for name, dtype in DTYPES.items() if dtype == keys.dtype)
    kind = ", TOTALORDER" if element in FLOATS else ""
    x, i = type_of(keys), type_of(places)
    return f"""func.func @main(%x: {x}, %i: {i}) -> ({x}, {i}) {{
      %r:2 = "stablehlo.sort"(%x, %i) <{{dimension = {axis} : i64, is_stable = true}}> ({{
      ^bb0(%a: tensor<{element}>, %b: tensor<{element}>, %c: tensor<i32>, %d: tensor<i32>):
        %p = stablehlo.compare {direction}, %a, %b{kind} : (tensor<{element}>, tensor<{element}>) -> tensor<i1>
        stablehlo.return %p : tensor<i1>
      }}) : ({x}, {i}) -> ({x}, {i})
      return %r#0, %r#1 : {x}, {i}
    }}"""


def lowered(text: str) -> str:
    ctx = make_context()
    lowering = Lowering(ctx, parse_module(text, "sort.mlir", ctx), CPU)
    lowering.to("loops")
    return str(lowering.module)


CASES = [
    ((40_000,), 0, "f32", "LT"), ((3, 33_000), 1, "i32", "GT"), ((20_000, 2), 0, "f32", "GT"), ((70_000,), 0, "i8", "LT"),
    ((50_001,), 0, "bf16", "LT"), ((32_768,), 0, "ui16", "GT"), ((2, 17_000), 1, "ui32", "LT"),
    ((49_153,), 0, "f64", "LT"), ((2, 60_000), 1, "i64", "GT"), ((50_000, 2), 0, "f64", "GT"),
]  # fmt: skip


@pytest.mark.long(6)
@pytest.mark.sample(3)
@pytest.mark.parametrize(("shape", "axis", "type_", "direction"), CASES)
def test_equal_keys_keep_their_order(shape: tuple[int, ...], axis: int, type_: str, direction: str) -> None:
    rng = np.random.default_rng(shape[0])
    keys = rng.integers(0, 100, shape).astype(DTYPES[type_])
    if type_ == "i64":
        keys *= 1 << 55
    if type_ in FLOATS:
        keys = (keys * 3.7e-3 - 0.1).astype(DTYPES[type_])
        keys.flat[::97], keys.flat[1::97], keys.flat[2::97] = np.nan, -0.0, -np.inf
    places = np.broadcast_to(np.arange(shape[axis], dtype=np.int32).reshape(-1, *[1] * (len(shape) - 1 - axis)), shape)
    text = program(keys, np.ascontiguousarray(places), axis, direction)
    assert "cpu.parallel_for" in lowered(text)
    values, order = on_threads(text, keys, np.ascontiguousarray(places))
    wide = keys.astype(np.int64 if type_ == "i64" else np.float64)
    # In the total order: NaN above all, and -0 below 0.
    ranks = np.where(np.isnan(wide), 1e300, np.where((keys == 0) & np.signbit(keys.astype(np.float64)), -1e-300, wide))
    wanted = np.argsort(ranks if direction == "LT" else -ranks, axis=axis, kind="stable")
    np.testing.assert_array_equal(order, wanted)
    assert values.tobytes() == np.take_along_axis(keys, wanted, axis).tobytes()


def test_rows_of_long_keys_have_four_parts_at_least() -> None:
    for size, is_cut in ((49_152, False), (49_153, True)):
        keys, places = np.zeros(size), np.zeros(size, np.int32)
        assert ("_move(" in lowered(program(keys, places, 0, "LT"))) is is_cut


def test_parts() -> None:
    """A row has up to 16 parts of equal size; many rows, and short ones, have one each."""
    found = [Parts.of(*each) for each in ((1, 16_384), (1, 16_385), (1, 1 << 20), (7, 40_000), (8, 1 << 20))]
    assert [(each.parts, each.size) for each in found] == [
        (1, 16_384), (2, 16_384), (16, 65_536), (3, 16_384), (1, 1 << 20),
    ]  # fmt: skip


@pytest.mark.long(3)
@pytest.mark.parametrize("shape", [(3, 20), (20, 3), (2, 300), (300, 2), (17_000, 2)])
def test_keys_with_operations_that_may_become_calls(shape: tuple[int, int]) -> None:
    """Rank and radix sorts, and those in parts, are part of the kernel then, not functions that programs share."""
    keys = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    axis = int(shape[1] > shape[0])
    places = np.broadcast_to(np.arange(max(shape), dtype=np.int32).reshape((1, -1) if axis else (-1, 1)), shape)
    text = program(keys, places, axis, "LT")
    farthest = text.replace("%p = stablehlo.compare LT, %a, %b", "%p = stablehlo.compare GT, %e, %f").replace(
        "        %p =",
        "        %e = stablehlo.abs %a : tensor<f32>\n        %f = stablehlo.abs %b : tensor<f32>\n        %p =",
    )
    assert "_sort(" not in lowered(farthest) and "_move(" not in lowered(farthest)
    values, order = on_threads(farthest, keys, np.ascontiguousarray(places))
    wanted = np.argsort(-np.abs(keys), axis=axis, kind="stable")
    np.testing.assert_array_equal(order, wanted)
    assert values.tobytes() == np.take_along_axis(keys, wanted, axis).tobytes()

"""Reductions that choose, such as argmax, on the CPU: NumPy's places, and the same bits for any number of threads."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from cpu_programs import on_threads
from test_gpu_reductions import TYPES, argmax
from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.reading import parse_module
from xhlo.lowering.loop_nests import choices
from xhlo.targets.cpu.target import CPU
from xhlo.targets.program.lowering import Lowering

CASES = [
    ((40, 128), 1, "f32", "GT"), ((40, 1001), 1, "f32", "LT"), ((7, 191), 1, "i32", "GT"), ((1, 70_000), 1, "f32", "GT"),
    ((70_000,), 0, "bf16", "GT"), ((3, 9000), 1, "bf16", "GT"), ((2, 40_000), 1, "i32", "GT"), ((9, 16), 1, "f32", "LT"),
    ((9, 15), 1, "f32", "GT"), ((3, 1), 1, "f32", "GT"), ((1,), 0, "f32", "LT"), ((4096,), 0, "f32", "GT"),
    ((8193,), 0, "f32", "LT"), ((30_000, 3), 0, "f32", "GT"), ((5000, 20), 0, "i32", "GT"), ((33, 600), 0, "f32", "LT"),
]  # fmt: skip


def rows_of(shape: tuple[int, ...], axis: int, type_: str) -> Any:
    """Rows with ties; of some, all elements are alike; of floats, some have NaN, in the first places or the last."""
    rng = np.random.default_rng(shape[axis])
    x = rng.integers(-9, 9, shape).astype(TYPES[type_])
    rows = np.moveaxis(x, axis, -1).reshape(-1, shape[axis]) if x.ndim > 1 else x[None]
    rows[1::5] = 3
    if type_ != "i32":
        if len(shape) > 1:
            rows[0, rng.integers(0, shape[axis], 3)] = np.nan
        rows[2::7, -1], rows[3::7, [shape[axis] // 8, shape[axis] // 2]], rows[4::7] = np.nan, np.nan, -np.inf
        rows[5::7] = np.inf
    return np.moveaxis(rows.reshape(np.moveaxis(x, axis, -1).shape), -1, axis)


def place_of(x: Any, axis: int, order: str) -> Any:
    """NumPy's, which has no order for some types of ml_dtypes."""
    wide = x.astype(np.float64)
    return (np.argmax if order == "GT" else np.argmin)(wide, axis)


@pytest.mark.long(3)
@pytest.mark.sample(4)
@pytest.mark.parametrize(("shape", "axis", "type_", "order"), CASES)
def test_places(shape: tuple[int, ...], axis: int, type_: str, order: str) -> None:
    x = rows_of(shape, axis, type_)
    value, place = on_threads(argmax(shape, axis, type_, order), x)
    np.testing.assert_array_equal(place, place_of(x, axis, order))
    chosen = np.take_along_axis(x, np.expand_dims(place, axis), axis).squeeze(axis)
    np.testing.assert_array_equal(value.astype(np.float64), chosen.astype(np.float64))


def lowered(text: str) -> str:
    ctx = make_context()
    lowering = Lowering(ctx, parse_module(text, "argmax.mlir", ctx), CPU)
    lowering.to("loops")
    return str(lowering.module)


def test_what_is_made_in_vectors() -> None:
    """Long rows are; short ones are not, and neither is a body that is no order: each element counts from what is left."""
    text = argmax((40, 128), 1)
    no_order = re.sub(r"%first = stablehlo.or %wins, %tie", "%first = stablehlo.and %wins, %lt", text)
    assert no_order != text
    found = ["arith.maximumf" in lowered(t) for t in (text, argmax((40, 15), 1), no_order)]
    assert found == [True, False, False]


TWO_KEYS = """
func.func @main(%x: tensor<SHAPExi32>, %y: tensor<SHAPExi32>) -> (tensor<ROWSi32>, tensor<ROWSi32>) {
  %a = stablehlo.constant dense<2147483647> : tensor<i32>
  %b = stablehlo.constant dense<2147483647> : tensor<i32>
  %r:2 = stablehlo.reduce(%x init: %a), (%y init: %b) across dimensions = [DIM]
    : (tensor<SHAPExi32>, tensor<SHAPExi32>, tensor<i32>, tensor<i32>) -> (tensor<ROWSi32>, tensor<ROWSi32>)
   reducer(%p: tensor<i32>, %r: tensor<i32>) (%q: tensor<i32>, %s: tensor<i32>) {
    %lt = stablehlo.compare LT, %p, %r : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %eq = stablehlo.compare EQ, %p, %r : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %less = stablehlo.compare LT, %q, %s : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %tie = stablehlo.and %eq, %less : tensor<i1>
    %first = stablehlo.or %lt, %tie : tensor<i1>
    %value = stablehlo.select %first, %p, %r : tensor<i1>, tensor<i32>
    %other = stablehlo.select %first, %q, %s : tensor<i1>, tensor<i32>
    stablehlo.return %value, %other : tensor<i32>, tensor<i32>
  }
  return %r#0, %r#1 : tensor<ROWSi32>, tensor<ROWSi32>
}"""


@pytest.mark.long(3)
@pytest.mark.parametrize(("shape", "rows", "dim"), [("50000", "", "0"), ("3x9000", "3x", "1"), ("5x40", "5x", "1")])
def test_two_keys(shape: str, rows: str, dim: str) -> None:
    """The least pair: a choice that no single value decides."""
    sizes = tuple(map(int, shape.split("x")))
    rng = np.random.default_rng(3)
    x, y = rng.integers(0, 4, sizes).astype(np.int32), rng.permutation(np.prod(sizes)).astype(np.int32).reshape(sizes)
    text = TWO_KEYS.replace("SHAPE", shape).replace("ROWS", rows).replace("DIM", dim)
    value, other = on_threads(text, x, y)
    np.testing.assert_array_equal(value, x.min(-1))
    np.testing.assert_array_equal(other, np.where(x == x.min(-1, keepdims=True), y, 2**31 - 1).min(-1))


def siblings(shape: tuple[int, ...]) -> str:
    """argmax and argmin of |x|, and the maximum and the sum of x, in one program: one reduction after fusion."""
    axis = len(shape) - 1
    rows = "".join(f"{n}x" for n in shape[:-1])
    x, out = f"tensor<{'x'.join(map(str, shape))}xf32>", f"tensor<{rows}f32>"
    parts = [
        re.sub(r"%(\w+)", rf"%{name}_\1", argmax(shape, axis, "f32", order)).replace(f"%{name}_x", "%y")
        for name, order in (("most", "GT"), ("least", "LT"))
    ]
    bodies = ["\n".join(part.strip().splitlines()[1:-2]) for part in parts]
    return f"""func.func @main(%x: {x}) -> ({out.replace("f32", "i32")}, {out.replace("f32", "i32")}, {out}, {out}) {{
      %y = stablehlo.abs %x : {x}
      {bodies[0]}
      {bodies[1]}
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %top = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [{axis}]
        : ({x}, tensor<f32>) -> {out}
      %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [{axis}]
        : ({x}, tensor<f32>) -> {out}
      return %most_r#1, %least_r#1, %top, %sum : {out.replace("f32", "i32")}, {out.replace("f32", "i32")}, {out}, {out}
    }}"""


@pytest.mark.long(4)
@pytest.mark.parametrize("shape", [(60_000,), (7, 5000), (40, 300), (50, 12)])
def test_siblings(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(shape[-1]).integers(-200, 200, shape).astype(np.float32)
    most, least, top, total = on_threads(siblings(shape), x)
    np.testing.assert_array_equal(most, np.abs(x).argmax(-1))
    np.testing.assert_array_equal(least, np.abs(x).argmin(-1))
    np.testing.assert_array_equal(top, x.max(-1))
    np.testing.assert_array_equal(total, x.sum(-1))


OF_ONE_RESULT = """
func.func @main(%x: tensor<SIZExf32>) -> tensor<f32> {
  %init = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %r = stablehlo.reduce(%x init: %init) across dimensions = [0] : (tensor<SIZExf32>, tensor<f32>) -> tensor<f32>
   reducer(%p: tensor<f32>, %q: tensor<f32>) {
    %wins = stablehlo.compare ORDER, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %nan = stablehlo.compare NE, %p, %p : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %first = stablehlo.or %wins, %nan : tensor<i1>
    %v = stablehlo.select %first, %p, %q : tensor<i1>, tensor<f32>
    stablehlo.return %v : tensor<f32>
  }
  return %r : tensor<f32>
}
"""


@pytest.mark.parametrize(("order", "negative"), [("GE", True), ("GT", False)])
def test_signs_of_zeros(order: str, negative: bool) -> None:
    """Among zeros the first or the last is chosen, not the one in the first lane."""
    x = np.full(200, -1, np.float32)
    x[65], x[128] = -0.0, 0.0
    (value,) = on_threads(OF_ONE_RESULT.replace("SIZE", "200").replace("ORDER", order), x)
    assert (value, np.signbit(value)) == (0, negative)


def test_a_choice_is_decided_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """All cases are tried for the first of equal bodies only; another order or type is another question."""
    tried: list[Any] = []
    trying: Any = choices.__dict__["_holds"]

    def counted(*question: Any) -> bool:
        tried.append(question)
        return trying(*question)

    monkeypatch.setattr(choices, "_verdicts", {})
    monkeypatch.setattr(choices, "_holds", counted)
    once = lowered(argmax((40, 128), 1))
    count = len(tried)
    assert lowered(argmax((40, 128), 1)) == once
    lowered(argmax((9000,), 0))
    assert count > 0 and len(tried) == count
    no_order = argmax((40, 128), 1).replace("%first = stablehlo.or %wins, %tie", "%first = stablehlo.and %wins, %lt")
    for other in (argmax((40, 128), 1, "f32", "LT"), argmax((40, 128), 1, "i32"), no_order):
        before = len(tried)
        lowered(other)
        assert len(tried) > before

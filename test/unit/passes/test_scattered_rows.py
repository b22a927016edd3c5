"""A few rows scattered into a large constant: the same bits from a table of their own, wherever the indices point."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import xhlo
from cpu_programs import on_threads
from hlo_programs import Program
from xhlo.passes.simplify_hlo import scattered_rows

CASES = {
    # operand, indices, updates and dimension numbers
    "rows": (
        "64x6", "8x1", "8x6",
        "update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1",
    ),
    "rows of a batch, no vector dimension": (
        "64x6", "2x4", "2x4x6",
        "update_window_dims = [2], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 2",
    ),
    "columns": (
        "3x64x2", "1x8", "3x8x2",
        "update_window_dims = [0, 2], inserted_window_dims = [1], scatter_dims_to_operand_dims = [1]",
    ),
}  # fmt: skip

COMBINERS = {"add": "hlo.add %a, %b", "maximum": "hlo.maximum %b, %a", "multiply": "hlo.multiply %a, %b"}


def text(case: str, index: str = "i32", combiner: str = "add", splat: float = 0.0) -> str:
    operand, indices, updates, numbers = CASES[case]
    x, i, u = f"tensor<{operand}xf32>", f"tensor<{indices}x{index}>", f"tensor<{updates}xf32>"
    return f"""func.func @main(%x: {x}, %i: {i}, %u: {u}) -> {x} {{
  %0 = hlo.constant dense<{splat}> : {x}
  %1 = "hlo.scatter"(%0, %i, %u) <{{scatter_dimension_numbers = #hlo.scatter<{numbers}>}}> ({{
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = {COMBINERS[combiner]} : tensor<f32>
    hlo.return %s : tensor<f32>
  }}) : ({x}, {i}, {u}) -> {x}
  %2 = hlo.multiply %1, %x : {x}
  %3 = hlo.add %2, %1 : {x}
  return %3 : {x}
}}"""


def inputs(case: str, dtype: Any = np.int32, low: int = -9, high: int = 70) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(0)
    operand, indices, updates = (tuple(map(int, shape.split("x"))) for shape in CASES[case][:3])
    found = rng.integers(low, high, indices).astype(dtype)
    found.reshape(-1)[:4] = found.reshape(-1)[4]  # several updates of one row
    floats = (rng.standard_normal(shape).astype(np.float32) for shape in (operand, updates))
    x, u = floats
    u.reshape(-1)[3] = np.nan
    return x, found, u


@pytest.fixture(autouse=True)
def _every_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scattered_rows, "LARGE", 0)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(("combiner", "splat"), [("add", 0.0), ("add", -0.0), ("maximum", 0.5), ("multiply", 1.0)])
def test_same_bits(case: str, combiner: str, splat: float) -> None:
    program = Program(text(case, combiner=combiner, splat=splat)).after("simplify-hlo")
    program.same_bits(*inputs(case))
    assert program.count()["hlo.gather"] == 2


@pytest.mark.parametrize(("index", "dtype"), [("ui32", np.uint32), ("i64", np.int64), ("ui8", np.uint8)])
def test_types_of_indices(index: str, dtype: Any) -> None:
    program = Program(text("rows", index)).after("simplify-hlo")
    program.same_bits(*inputs("rows", dtype, 0, 80))
    assert program.count()["hlo.gather"] == 2


@pytest.mark.parametrize("level", range(4))
def test_compiled(level: Any) -> None:
    arrays = inputs("rows of a batch, no vector dimension")
    source = text("rows of a batch, no vector dimension")
    (want,) = Program(source).results(*arrays)
    (got,) = xhlo.compile(source, opt_level=level).compute(arrays, None)
    np.testing.assert_array_equal(got, want)


def test_any_number_of_threads() -> None:
    arrays = inputs("columns")
    (got,) = on_threads(text("columns"), *arrays)
    (want,) = Program(text("columns")).results(*arrays)
    np.testing.assert_array_equal(got, want)

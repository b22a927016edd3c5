"""Scatters of many updates into few elements: tasks with results of their own, and the same bits for any threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cpu_programs import DTYPES, on_threads, type_of
from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.reading import parse_module
from xhlo.targets.cpu.target import CPU
from xhlo.targets.program.lowering import Lowering

ADDING = {"add": np.add, "multiply": np.multiply, "maximum": np.maximum, "minimum": np.minimum, "or": np.bitwise_or}


def program(kind: str, operand: Any, indices: Any, updates: Any) -> str:
    """A scatter of rows of `updates` into rows of `operand`."""
    element = next(name for name, dtype in DTYPES.items() if dtype == operand.dtype)
    window = "" if operand.ndim == 1 else "update_window_dims = [1], "
    body = f"%m = stablehlo.{kind} %a, %b : tensor<{element}>" if kind != "set" else ""
    x = type_of(operand)
    return f"""func.func @main(%x: {x}, %i: {type_of(indices)}, %u: {type_of(updates)}) -> {x} {{
      %r = "stablehlo.scatter"(%x, %i, %u) <{{scatter_dimension_numbers = #stablehlo.scatter<{window}
        inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}}> ({{
      ^bb0(%a: tensor<{element}>, %b: tensor<{element}>):
        {body}
        stablehlo.return {"%m" if body else "%b"} : tensor<{element}>
      }}) : ({x}, {type_of(indices)}, {type_of(updates)}) -> {x}
      return %r : {x}
    }}"""


def lowered(text: str) -> str:
    ctx = make_context()
    lowering = Lowering(ctx, parse_module(text, "scatter.mlir", ctx), CPU)
    lowering.to("loops")
    return str(lowering.module)


CASES = [
    ("add", (64,), 30_000, "i32"), ("add", (7, 5), 9000, "f32"), ("add", (1,), 40_000, "f64"),
    ("multiply", (9,), 30_000, "i8"), ("maximum", (33, 16), 4000, "f32"), ("minimum", (50,), 30_000, "f64"),
    ("or", (50,), 30_000, "ui16"), ("maximum", (3, 4), 9000, "i64"),
]  # fmt: skip


@pytest.mark.sample(3)
@pytest.mark.parametrize(("kind", "shape", "count", "type_"), CASES)
def test_few_elements(kind: str, shape: tuple[int, ...], count: int, type_: str) -> None:
    """Small integers, so that every order of a sum has the same bits; some indices are out of bounds, and dropped."""
    rng = np.random.default_rng(count)
    operand, updates = (rng.integers(0, 3, size).astype(DTYPES[type_]) for size in (shape, (count, *shape[1:])))
    if kind == "maximum" and type_ == "f32":
        updates[5, 3], updates[7, 2] = np.nan, -np.inf
    indices = rng.integers(-1, shape[0] + 1, (count, 1)).astype(np.int32)
    text = program(kind, operand, indices, updates)
    assert "cpu.parallel_for" in lowered(text)
    want = operand.copy()
    inside = (indices[:, 0] >= 0) & (indices[:, 0] < shape[0])
    ADDING[kind].at(want, indices[inside, 0], updates[inside])
    (got,) = on_threads(text, operand, indices, updates)
    np.testing.assert_array_equal(got, want)


def test_sums_of_floats() -> None:
    rng = np.random.default_rng(0)
    operand, updates = (rng.standard_normal(n).astype(np.float32) for n in (40, 50_000))
    indices = rng.integers(0, 40, (50_000, 1))
    (got,) = on_threads(program("add", operand, indices, updates), operand, indices, updates)
    want = operand.astype(np.float64)
    np.add.at(want, indices[:, 0], updates)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-4)


def test_what_stays_in_order() -> None:
    """The last update wins; many elements are not worth results of each task."""
    rng = np.random.default_rng(0)
    indices, updates = rng.integers(0, 40, (50_000, 1)), rng.standard_normal(50_000).astype(np.float32)
    for kind, size in (("set", 40), ("add", 20_000)):
        operand = np.zeros(size, np.float32)
        text = program(kind, operand, indices, updates)
        assert "cpu.parallel_for" not in lowered(text)
        (got,) = on_threads(text, operand, indices, updates)
        if kind == "set":
            operand[indices[:, 0]] = updates
        else:
            np.add.at(operand, indices[:, 0], updates)
        np.testing.assert_array_equal(got, operand)

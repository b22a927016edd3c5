"""top_k and first parts of sorts on the CPU: selection in one pass gives what the reference's stable sort gives."""

from __future__ import annotations

from typing import Any

import numpy as np

from cpu_programs import run, type_of
from hlo_programs import Program


def special(rng: np.random.Generator, dtype: Any) -> Any:
    """Rows of 300 floats with ties, NaN of both signs, zeros of both signs, infinities, and all alike."""
    x = np.round(3 * rng.standard_normal((6, 300))).astype(dtype)
    x[0, ::7], x[1, ::3] = np.nan, -np.nan
    x[2], x[2, ::5] = 0.0, -0.0
    x[3], x[4] = np.inf, np.arange(300)
    return x


def text_of(inputs: list[Any], ops: list[str], results: list[str]) -> str:
    parameters = ", ".join(f"%x{i}: {type_of(x)}" for i, x in enumerate(inputs))
    body = "\n".join(f"  {op}" for op in ops)
    names = ", ".join(f"%r{i}#{part}" for i in range(len(ops)) for part in (0, 1))
    return f"func.func @main({parameters}) -> ({', '.join(results)}) {{\n{body}\n  return {names} : {', '.join(results)}\n}}"


def test_first_elements() -> None:
    """
    Every width of keys; few rows of many segments, whose elements ascend, so that each replaces a candidate; short rows.
    """
    rng = np.random.default_rng(0)
    inputs: list[Any] = [
        special(rng, np.float32),
        special(rng, np.float64)[:, :129],
        rng.integers(0, 40, (2, 3, 500)).astype(np.uint8),
        np.round(5 * rng.standard_normal(200)).astype(np.int16),
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

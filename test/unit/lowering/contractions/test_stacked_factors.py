"""Products in a loop that read one of several stacked matrices: where it lies, at an index known when the program runs."""

from __future__ import annotations

import re

import ml_dtypes
import numpy as np
import pytest

import xhlo
from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.reading import parse_module
from xhlo.targets.cpu.target import CPU
from xhlo.targets.program.lowering import Lowering

LAYERS = 3
STEPS = 5
"""More than there are layers: the last index is clamped."""


def program(rows: int, size: int, type_: str, transposed: bool, updated: bool) -> str:
    """x = x @ w[i] for i in 1..STEPS; `updated`: the loop also overwrites the first row of w[0] by x's first row."""
    x, w, one = f"tensor<{rows}x{size}xf32>", f"tensor<{LAYERS}x{size}x{size}x{type_}>", f"{size}x{size}"
    widened = "%m" if type_ == "f32" else "%f"
    convert = f"%f = stablehlo.convert %m : (tensor<{one}x{type_}>) -> tensor<{one}xf32>" if type_ != "f32" else ""
    update = f"""
          %first = stablehlo.slice %y [0:1, 0:{size}] : ({x}) -> tensor<1x{size}xf32>
          %row = stablehlo.reshape %first : (tensor<1x{size}xf32>) -> tensor<1x1x{size}xf32>
          %v = stablehlo.dynamic_update_slice %u, %row, %zero, %zero, %zero
            : ({w}, tensor<1x1x{size}xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> {w}"""
    stacked, next_ = ("%u", "%v") if updated else ("%w", "%u")
    return f"""
    func.func @main(%x: {x}, %w: {w}) -> {x} {{
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %end = stablehlo.constant dense<{STEPS + 1}> : tensor<i32>
      %i, %z, %o = stablehlo.while(%n = %one, %s = %x, %u = %w) : tensor<i32>, {x}, {w}
        cond {{
          %c = stablehlo.compare LT, %n, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %c : tensor<i1>
        }} do {{
          %t = stablehlo.dynamic_slice {stacked}, %n, %zero, %zero, sizes = [1, {size}, {size}]
            : ({w}, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x{one}x{type_}>
          %m = stablehlo.reshape %t : (tensor<1x{one}x{type_}>) -> tensor<{one}x{type_}>
          {convert}
          %y = stablehlo.dot_general %s, {widened}, contracting_dims = [1] x [{1 if transposed else 0}]
            : ({x}, tensor<{one}xf32>) -> {x}
          {update if updated else ""}
          %k = stablehlo.add %n, %one : tensor<i32>
          stablehlo.return %k, %y, {next_} : tensor<i32>, {x}, {w}
        }}
      return %z : {x}
    }}"""


@pytest.mark.parametrize(
    "rows, size, type_, transposed, updated",
    [
        (1, 130, "f32", False, False),
        (6, 160, "bf16", True, False),
        (40, 130, "i8", False, False),
        (5, 130, "f32", True, True),
    ],
)
def test_stacked_matrices(rows: int, size: int, type_: str, transposed: bool, updated: bool) -> None:
    rng = np.random.default_rng(rows)
    x = rng.standard_normal((rows, size), dtype=np.float32)
    w = rng.standard_normal((LAYERS, size, size)) / np.sqrt(size)
    stored = (
        (w * 20).astype(np.int8) if type_ == "i8" else w.astype(ml_dtypes.bfloat16 if type_ == "bf16" else np.float32)
    )
    wanted, matrices = x.astype(np.float64), stored.astype(np.float64)
    for step in range(1, STEPS + 1):
        matrix = matrices[min(step, LAYERS - 1)]
        wanted = wanted @ (matrix.T if transposed else matrix)
        if updated:
            matrices[0, 0] = wanted[0]
    text = program(rows, size, type_, transposed, updated)
    found = xhlo.compile(text)(x, stored)
    assert np.abs(found - wanted).max() <= 1e-5 * np.abs(wanted).max()


def test_a_slice_of_stacked_matrices_is_not_copied() -> None:
    text = program(6, 160, "bf16", False, False)
    lowering = Lowering(make_context(), parse_module(text, "stacked.mlir", make_context()), CPU)
    lowering.to("loops")
    sizes = re.findall(r"memref\.view %arena.* to memref<([\dx]+)x\w+>", str(lowering.module))
    assert all(np.prod([int(size) for size in each.split("x")]) < 160 * 160 for each in sizes)

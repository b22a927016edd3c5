"""Triangular systems with few right sides on the CPU: rows in vectors, for every side, triangle and transposition."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

import xhlo


def test_every_kind_of_system() -> None:
    n, rng = 19, np.random.default_rng(1)
    a: Any = (rng.standard_normal((n, n)) / n + np.eye(n)).astype(np.float32)
    lines: list[str] = []
    wanted: list[Any] = []
    sides: dict[bool, Any] = {
        left: rng.standard_normal((n, 5) if left else (5, n)).astype(np.float32) for left in (True, False)
    }
    types = {True: f"tensor<{n}x5xf32>", False: f"tensor<5x{n}xf32>"}
    for number, flags in enumerate(itertools.product((True, False), repeat=3)):
        left, lower, transpose = flags
        unit, b = left is lower, sides[left]
        lines.append(
            f'%{number} = "hlo.triangular_solve"(%a, %{"left" if left else "right"}) {{left_side = {left}, '.lower()
            + f"lower = {lower}, unit_diagonal = {unit}, transpose_a = ".lower()
            + f"#hlo<transpose {'TRANSPOSE' if transpose else 'NO_TRANSPOSE'}>}}"
            + f" : (tensor<{n}x{n}xf32>, {types[left]}) -> {types[left]}"
        )
        matrix: Any = (np.tril if lower else np.triu)(a.astype(np.float64))
        if unit:
            np.fill_diagonal(matrix, 1)
        matrix = np.transpose(matrix) if transpose else matrix
        wanted.append(
            np.linalg.solve(matrix, b) if left else np.transpose(np.linalg.solve(np.transpose(matrix), np.transpose(b)))
        )
    kinds = ", ".join(types[flags[0]] for flags in itertools.product((True, False), repeat=3))
    executable = xhlo.compile(
        f"func.func @main(%a: tensor<{n}x{n}xf32>, %left: {types[True]}, %right: {types[False]}) -> ({kinds}) {{\n"
        + "\n".join(lines)
        + f"\nreturn {', '.join(f'%{number}' for number in range(8))} : {kinds}\n}}"
    )
    assert not executable.facts.host_calls
    for found, want in zip(executable(a, sides[True], sides[False]), wanted, strict=True):
        np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-5)


def test_large_systems_call_nothing() -> None:
    n, rng = 90, np.random.default_rng(2)
    a: Any = rng.standard_normal((2, n, n)) / n + np.eye(n)
    b: Any = rng.standard_normal((2, n, 1))
    executable = xhlo.compile(f"""func.func @main(%a: tensor<2x{n}x{n}xf64>, %b: tensor<2x{n}x1xf64>) -> tensor<2x{n}x1xf64> {{
      %0 = "hlo.triangular_solve"(%a, %b) {{left_side = true, lower = false, unit_diagonal = false,
        transpose_a = #hlo<transpose TRANSPOSE>}} : (tensor<2x{n}x{n}xf64>, tensor<2x{n}x1xf64>) -> tensor<2x{n}x1xf64>
      return %0 : tensor<2x{n}x1xf64>
    }}""")
    assert not executable.facts.host_calls
    np.testing.assert_allclose(np.swapaxes(np.triu(a), 1, 2) @ executable(a, b), b, rtol=1e-10, atol=1e-12)

"""Small triangular systems with many right sides on the CPU: the sides in vectors, for every triangle and transposition."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import xhlo


# Blocks of vectors, single vectors and single sides; a system in each lane would do for the fewer sides of two systems.
@pytest.mark.long(3)
@pytest.mark.parametrize("batch, n, k", [(1, 5, 601), (2, 3, 150), (1, 7, 19), (3, 40, 20)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_kind_of_system(batch: int, n: int, k: int, dtype: type[np.floating[Any]]) -> None:
    rng = np.random.default_rng(n)
    a: Any = (rng.standard_normal((batch, n, n)) / n + np.eye(n)).astype(dtype)
    b: Any = rng.standard_normal((batch, n, k)).astype(dtype)
    element = "f32" if dtype is np.float32 else "f64"
    matrices, sides = f"tensor<{batch}x{n}x{n}x{element}>", f"tensor<{batch}x{n}x{k}x{element}>"
    lines: list[str] = []
    wanted: list[Any] = []
    for number, (lower, transpose) in enumerate(itertools.product((True, False), repeat=2)):
        unit = number in (1, 2)
        lines.append(
            f'%{number} = "hlo.triangular_solve"(%a, %b) {{left_side = true, lower = {lower}, '.lower()
            + f"unit_diagonal = {unit}, transpose_a = ".lower()
            + f"#hlo<transpose {'TRANSPOSE' if transpose else 'NO_TRANSPOSE'}>}} : ({matrices}, {sides}) -> {sides}"
        )
        matrix: Any = (np.tril if lower else np.triu)(a.astype(np.float64))
        if unit:
            matrix[:, range(n), range(n)] = 1
        wanted.append(np.linalg.solve(np.swapaxes(matrix, 1, 2) if transpose else matrix, b))
    executable = xhlo.compile(
        f"func.func @main(%a: {matrices}, %b: {sides}) -> ({', '.join([sides] * 4)}) {{\n"
        + "\n".join(lines)
        + f"\nreturn %0, %1, %2, %3 : {', '.join([sides] * 4)}\n}}"
    )
    assert not executable.facts.host_calls
    tolerance = 1e-4 if dtype is np.float32 else 1e-10
    for found, want in zip(executable(a, b), wanted, strict=True):
        np.testing.assert_allclose(found, want, rtol=tolerance, atol=tolerance / 10)

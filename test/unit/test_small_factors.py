"""Factors of small matrices on the CPU: one in each lane of vectors, or rows in vectors, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from cpu_programs import run, type_of
from hlo_programs import Program


def positive_definite(rng: np.random.Generator, count: int, n: int, dtype: Any) -> Any:
    x = rng.standard_normal((count, n, n))
    return (x @ np.swapaxes(x, -1, -2) + n * np.eye(n)).astype(dtype)


def test_cholesky() -> None:
    """Few and many matrices of lengths around those of vectors; some are not positive-definite, or hold NaN."""
    rng = np.random.default_rng(0)
    cases = [(1, 1, "f4", True), (2, 17, "f4", False), (17, 6, "f4", True), (20, 9, "f4", False), (9, 5, "f8", True)]
    inputs = [positive_definite(rng, count, n, dtype) for count, n, dtype, _ in cases]
    inputs[2][3, 2, 2], inputs[2][5, 0, 0], inputs[3][19] = -1.0, np.nan, 0.0
    parameters, ops, types = [], [], [type_of(x) for x in inputs]
    for number, ((_, _, _, lower), type_) in enumerate(zip(cases, types, strict=True)):
        parameters.append(f"%x{number}: {type_}")
        ops.append(f"%{number} = stablehlo.cholesky %x{number}, lower = {str(lower).lower()} : {type_}")
    found = ", ".join(types)
    names = ", ".join(f"%{number}" for number in range(len(cases)))
    text = f"func.func @main({', '.join(parameters)}) -> ({found}) {{\n" + "\n".join(ops)
    text += f"\n  return {names} : {found}\n}}"
    decomposed = Program(text).after("decompose-hlo{native-calls=true}")
    assert str(decomposed.module).count("@xhlo.potrf") == len(cases)
    decomposed.same_results(*inputs, rtol=1e-4)
    for (_, n, _, lower), x, got in zip(cases, inputs, run(text, inputs), strict=True):
        assert np.isnan(got).all(axis=(-2, -1)).sum() == np.isnan(got).any(axis=(-2, -1)).sum()
        good = ~np.isnan(got).any(axis=(-2, -1))
        want = np.linalg.cholesky(x[good].astype(np.float64))
        want = want if lower else np.swapaxes(want, -1, -2)
        np.testing.assert_allclose(got[good], want, rtol=1e-4, atol=1e-5 * n)
        assert (~good).sum() == {6: 2}.get(n, 1 if n == 9 else 0)

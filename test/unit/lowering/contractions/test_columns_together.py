"""Products with few columns that follow others in the result, but not in the factor: see together.py."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import xhlo
from xhlo.targets.cpu import host

CASES = {
    "middle": ((24, 40), (50, 24, 3), "", "[0] x [1]", "km,hkc->mhc"),
    "rows of A": ((40, 24), (50, 24, 2), "", "[1] x [1]", "mk,hkc->mhc"),
    "two sums": ((6, 5, 33), (6, 30, 5, 3), "", "[0, 1] x [0, 2]", "jkm,jhkc->mhc"),
    "batch": ((3, 24, 20), (3, 50, 24, 3), "batching_dims = [0] x [0], ", "[1] x [2]", "bkm,bhkc->bmhc"),
    "three": ((24, 40), (7, 6, 24, 3), "", "[0] x [2]", "km,ghkc->mghc"),
    "mirrored": ((50, 24, 3), (24, 40), "", "[1] x [0]", "hkc,kn->hcn"),
}


@pytest.mark.long(4)
@pytest.mark.parametrize(
    ("case", "dtype"), [*((case, "f32") for case in CASES), ("batch", "f64"), ("two sums", "i32"), ("middle", "i32")]
)
def test_results(case: str, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Vectors of 256 bits leave three columns of f64 alone.
    monkeypatch.setattr(host, "host_vector_bits", lambda: 512)
    left, right, batch, sums, equation = CASES[case]
    kind = {"f32": np.float32, "f64": np.float64, "i32": np.int32}[dtype]
    rng = np.random.default_rng(0)
    a, b = ((9 * rng.standard_normal(shape)).astype(kind) for shape in (left, right))
    meant: Any = np.einsum(equation, a.astype(np.float64), b.astype(np.float64))
    types = [f"tensor<{'x'.join(map(str, shape))}x{dtype}>" for shape in (left, right, meant.shape)]
    program = xhlo.compile(
        f"""func.func @main(%a: {types[0]}, %b: {types[1]}) -> {types[2]} {{
          %0 = stablehlo.dot_general %a, %b, {batch}contracting_dims = {sums} : ({types[0]}, {types[1]}) -> {types[2]}
          return %0 : {types[2]}
        }}"""
    )
    tolerance = {"f32": 1e-4, "f64": 1e-11, "i32": 0}[dtype]
    np.testing.assert_allclose(program(a, b), meant, rtol=0, atol=tolerance * np.abs(meant).max())
    if case != "mirrored":
        assert "_block" in program.as_text("loops")

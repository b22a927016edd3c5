"""Products in row kernels on the CPU: attention in tiles of rows, of every layout, element type and edge."""

from __future__ import annotations

import numpy as np
import pytest

import xhlo
from attention_programs import BFLOAT, HALF, Attention
from xhlo.lowering.convert_contractions_to_vector import conversion

CASES = {
    "plain": Attention(2, 2, 40, 48, 16, 32),
    "odd sizes": Attention(1, 3, 37, 53, 19, 21),
    "one tile more": Attention(1, 1, 65, 64, 16, 16),
    "many keys": Attention(1, 1, 18, 2500, 16, 16),
    "heads inside": Attention(2, 3, 33, 40, 16, 17, "bnhd"),
    "causal": Attention(1, 2, 50, 50, 16, 16, causal=True),
    "grouped": Attention(2, 2, 33, 40, 16, 16, "bhnd", groups=3),
    "grouped inside": Attention(1, 2, 33, 40, 16, 16, "bnhd", groups=3, causal=True),
    "bf16": Attention(1, 2, 37, 45, 16, 20, dtype=BFLOAT, causal=True),
    "f16": Attention(1, 2, 20, 30, 18, 20, dtype=HALF),
    "weights too": Attention(1, 2, 37, 45, 16, 20, returns_weights=True),
    "long rows": Attention(1, 2, 20, 261, 18, 41, causal=True),
    "bf16, many keys": Attention(1, 1, 18, 2501, 17, 16, dtype=BFLOAT),
    "bf16, many heads": Attention(2, 5, 33, 40, 16, 17, "bnhd", dtype=BFLOAT),
    "bf16 weights too": Attention(1, 2, 37, 45, 16, 20, dtype=BFLOAT, returns_weights=True),
}


def check(case: Attention) -> None:
    executable = xhlo.compile(case.text())
    assert [kernel.kind for kernel in executable.kernels] == ["row"]
    got = executable.compute(case.inputs(), None)
    bound = {4: 2e-6, 2: 1e-2}[case.dtype.itemsize]
    for result, want in zip(got, case.expected()[0 if case.returns_weights else 1 :], strict=True):
        assert np.abs(result.astype(np.float64) - want).max() < bound * max(1, np.abs(want).max())


@pytest.mark.long(12)
@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_attention_is_one_kernel(case: Attention) -> None:
    check(case)


def test_values_below_the_normal_numbers() -> None:
    """The processor's dot products of bf16 would take them for zeros."""
    case = CASES["bf16"]
    q, k, v = case.inputs()
    scale = 2.0**-127
    (got,) = xhlo.compile(case.text()).compute([q, k, (v.astype(np.float64) * scale).astype(v.dtype)], None)
    want = case.expected()[1]
    assert np.abs(got.astype(np.float64) / scale - want).max() < 0.05 * np.abs(want).max()


def _refuse(*_: object) -> bool:
    return False


@pytest.mark.parametrize("name", ["odd sizes", "bf16 weights too"])
def test_a_kernel_that_does_not_fit_into_tiles(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its products and its rows are loops of their own, in the order of the program."""
    monkeypatch.setattr(conversion, "convert_row_products", _refuse)
    check(CASES[name])

"""The error bounds that docs/numbers.md states, on the CPU and on the SIMT interpreter: all f16 and bf16 values."""

from __future__ import annotations

import re

import numpy as np
import pytest

import accuracy
from checkout import ROOT

PAGE = ROOT / "docs" / "numbers.md"


@pytest.mark.long(5)
@pytest.mark.sample(5)
@pytest.mark.parametrize("target", ["cpu", "simt"])
@pytest.mark.parametrize("type_", ["f16", "bf16", "f32"])
@pytest.mark.parametrize("op", accuracy.FUNCTIONS)
def test_bound(op: str, type_: str, target: str) -> None:
    """And a sample of f32 of all exponents; benchmarks/accuracy.py measures 2**24 of them. Each function is sampled."""
    error, place = accuracy.measure(op, type_, accuracy.run_compiled(target), 1 << 14)
    assert error <= accuracy.bound_of(op, type_), f"{op} of {type_} at {place}: {error} ulp"


def test_errors_are_counted() -> None:
    """One ulp is one, infinities and NaN are errors unless right, and overflow starts half an ulp past the largest."""
    one, far = np.float32(1), np.float64(np.finfo(np.float32).max)
    got = np.array([np.nextafter(one, np.float32(2)), np.inf, np.nan, np.inf, far, np.inf, 1e-45], np.float32)
    want = np.array([1.0, 1.0, 1.0, far * 2, far * 2, far * (1 + 2.0**-25), 2.0**-149 * 1.25])
    found = accuracy.errors(got, want)
    assert found[0] == 1 and np.isinf(found[2]) and found[1] > 1e9
    assert found[3] == 0 and np.isinf(found[4]) and found[5] == pytest.approx(0.5, abs=0.01) and found[6] == 0.25


def test_the_page_states_the_bounds() -> None:
    stated = dict(re.findall(r"^\| `([\w.]+)` \| ([\d.]+) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    assert {op: float(bound) for op, bound in stated.items()} == accuracy.BOUNDS

"""Sorts of NumPy's functions: zeros are equal, NaN is last, and the comparator is one of keys, which need not run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xhlo
from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.ops.sort import sort_keys
from xhlo.hlo_dialect.reading import parse_module


def numbers(dtype: Any, length: int) -> Any:
    rng = np.random.default_rng(length)
    x: Any = rng.integers(-3, 4, length).astype(np.float32 if dtype is np.complex64 else dtype)
    if x.dtype.kind == "f":
        x[rng.random(length) < 0.1] *= -0.0
        x[rng.random(length) < 0.1] = -np.inf
        x[rng.random(length) < 0.1] = np.nan
    if dtype is np.complex64:
        x = x + 1j * np.where(np.isnan(x), x, rng.integers(-3, 4, length)).astype(np.float32)
    return x


@pytest.mark.long(5)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.complex64, np.int16, np.bool_])
def test_stable_order(dtype: Any) -> None:
    for length in (9, 200, 3000):
        x = numbers(dtype, length)
        np.testing.assert_array_equal(xhlo.jit(np.sort)(x), np.sort(x, kind="stable"))
        places: Callable[[Any], Any] = lambda x: np.argsort(x, kind="stable")  # noqa: E731
        np.testing.assert_array_equal(xhlo.jit(places)(x), places(x))


@pytest.mark.parametrize(("dtype", "count"), [(np.float32, 1), (np.int64, 1), (np.complex64, 2)])
def test_keys(dtype: Any, count: int) -> None:
    text = xhlo.jit(np.sort).compiler_ir(numbers(dtype, 9), stage="hlo")
    sorts = [op for op in parse_module(text, "sort.mlir", make_context()).walk() if op.name == "hlo.sort"]
    assert [len(sort_keys(op.regions[0])) for op in sorts] == [count]

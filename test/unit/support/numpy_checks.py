"""Compares a function of NumPy code under xhlo.jit with NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import xhlo
from xhlo.hlo_dialect.reference import evaluate


def interpreted(function: Callable[..., Any]) -> Callable[..., Any]:
    """The program of a function, run by the reference interpreter: for what few elements show, without compiling."""

    def run(*arrays: Any) -> Any:
        lowered = xhlo.jit(function).lower(*arrays)
        return lowered.tree(evaluate(lowered.module, arrays))

    return run


def check(
    function: Callable[..., Any],
    *arrays: Any,
    rtol: float = 1e-6,
    how: Callable[[Callable[..., Any]], Callable[..., Any]] = xhlo.jit,
) -> None:
    with np.errstate(all="ignore"):
        wanted = function(*[one.copy() if isinstance(one, np.ndarray) else one for one in arrays])
    actual = how(function)(*arrays)
    wanted, actual = (list(one) if isinstance(one, (tuple, list)) else [one] for one in (wanted, actual))
    assert len(wanted) == len(actual)
    for want, have in zip(wanted, actual, strict=True):
        want = np.asarray(want)
        assert (have.shape, have.dtype) == (want.shape, want.dtype)
        if want.dtype.kind in "fc":
            wide = max(rtol, 1e-2 if want.dtype == np.float16 else 2e-5 if want.dtype.itemsize == 4 else 0)
            np.testing.assert_allclose(
                have, want, rtol=wide, atol=wide * np.nanmax(np.abs(want), initial=1e-30, where=np.isfinite(want))
            )
        else:
            np.testing.assert_array_equal(have, want)

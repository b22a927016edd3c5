"""NumPy's functions of signals and statistics under xhlo.jit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xhlo
from numpy_checks import check

RNG = np.random.default_rng(3)
X = RNG.normal(size=(4, 6))
V = RNG.normal(size=9)
W = RNG.normal(size=4)
N = RNG.integers(0, 5, 20)
PLACES = np.cumsum(np.abs(V)) + 0.1
SPECIAL = np.array([0.0, -0.0, 1.5, -8.0, np.inf, -np.inf, np.nan, 1e300, 5e-324, -3e-310, 1e-300])

CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "interp": (
        lambda x, p, v: (
            np.interp(x, p, v),
            np.interp(x, p, v, left=-1, right=9.0),
            np.interp(p, p, v),
            np.interp(x * 9, p, v, period=4.0),
            np.interp(2.0, p, v + 1j * v),
            np.interp(np.array([np.nan, 0.0]), p, v),
        ),
        (X * 3, PLACES, V),
    ),
    "convolve": (
        lambda v, w, n: [
            *(np.convolve(v, w, mode) for mode in ("full", "same", "valid")),
            *(np.convolve(w, v, mode) for mode in ("full", "same", "valid")),
            *(np.correlate(v, w, mode) for mode in ("full", "same", "valid")),
            *(np.correlate(w, v, mode) for mode in ("full", "same", "valid")),
            np.correlate(v + 1j, w * 1j, "full"),
            np.convolve(v * 1j, w + 2j, "same"),
            np.convolve(n, n[:3]),
            np.convolve(v.astype(np.float32), w[:3].astype(np.float32)),
        ],
        (V, W, N),
    ),
    "gradient": (
        lambda x, v, p: [
            *np.gradient(x),
            *np.gradient(x, 0.5, 2.0, edge_order=2),
            np.gradient(v, p),
            np.gradient(v, p, edge_order=2),
            np.gradient(x, 3.0, axis=1),
            np.gradient(v.astype(int)),
        ],
        (X, V, PLACES),
    ),
    "integrals": (
        lambda x, v, p: (
            np.trapezoid(v),
            np.trapezoid(v, p),
            np.trapezoid(x, dx=0.5, axis=0),
            np.trapezoid(x, x * 2, axis=1),
            np.ediff1d(x, to_end=9.0, to_begin=[1.0, 2.0]),
            np.polyval([1.0, -2.0, 3.0], x),
            np.vander(v[:3]),
            np.vander(v[:3], 4, increasing=True),
            np.sinc(x),
        ),
        (X, V, PLACES),
    ),
    "unwrap": (
        lambda p, n: (np.unwrap(p), np.unwrap(p, discont=4.0), np.unwrap(n, period=4), np.unwrap(p[None], axis=0)),
        (np.cumsum(V) * 4 % 6, N),
    ),
    "floats": (
        lambda s, f, x: (*np.frexp(s), *np.frexp(f), *np.frexp(x), np.spacing(s), np.spacing(f)),
        (SPECIAL, np.array([0, 1.5, -3e-40, 1e30, np.inf], np.float32), X),
    ),
    "counts": (
        lambda n, w: (
            np.bincount(n, minlength=8),
            np.bincount(n.astype(np.uint8), minlength=8),
            np.bincount(n, w, minlength=5),
            np.bincount(n.astype(bool), None, 2),
        ),
        (N, RNG.normal(size=20)),
    ),
    "bins": (
        lambda x, e: (np.digitize(x, e), np.digitize(x, e, right=True), np.digitize(x, [1.0, 0.0, -1.0])),
        (X, np.array([-1.0, 0.0, 0.5])),
    ),
    "histogram": (
        lambda x, n, w: [
            *np.histogram(x),
            *np.histogram(x, 5, (-1, 1)),
            *np.histogram(x, [-1.0, 0.0, 0.25, 2.0]),
            *np.histogram(n, 4, density=True),
            *np.histogram(n, bins=3, weights=w),
            *np.histogram(n * 0, 2),
            np.histogram_bin_edges(x.astype(np.float32), 3),
        ],
        (X, N, RNG.normal(size=20)),
    ),
    "linspace": (
        lambda v: (
            np.linspace(v[0], 3, 5),
            np.linspace(v[:2], v[2:4], 4, endpoint=False),
            *np.linspace(v[0], v[1], 3, retstep=True),
            np.linspace(v[:2], 9.0, 3, axis=1, dtype=int),
            np.linspace(v[0], v[1], 1),
        ),
        (V,),
    ),
    "covariance": (
        lambda x, y, n: (
            np.cov(x),
            np.cov(x, y, rowvar=False),
            np.cov(x[0]),
            np.cov(x, bias=True),
            np.cov(x, ddof=2),
            np.cov(x, aweights=np.abs(x[0])),
            np.cov(x, fweights=n[:6]),
            np.corrcoef(x),
            np.corrcoef(x[0], x[1]),
            np.cov(x + 1j * y),
        ),
        (X, X[::-1].copy(), N + 1),
    ),
    "comparison": (
        lambda s, x: (
            np.isclose(s, s + 1e-9),
            np.isclose(s, s, equal_nan=True),
            np.allclose(x, x + 1e-9),
            np.array_equal(x, x),
            np.array_equal(x, x[0]),
            np.isin(x.astype(int), [1, 0]),
            np.isreal(x),
            np.isposinf(s),
            np.isneginf(s),
            np.fix(x),
        ),
        (SPECIAL, X),
    ),
    "choice": (
        lambda n, x, v: (
            np.choose(n[:6] % 4, x),
            np.choose(n, [v[0], 2.0, v[1]], mode="clip"),
            np.choose(n - 9, [v[0], 2.0, v[1]], mode="wrap"),
            np.piecewise(x, [x < 0, x > 1], [lambda z: -z, 7.0, lambda z: z * 2]),
            np.piecewise(x, [x < 0], [np.sin]),
            x[np.ix_(n[:2] % 4, n[:3])],
            np.append(x, v),
            np.append(x, x[:1], axis=0),
            np.delete(x, [0, 2], axis=1),
            np.delete(v, 3),
            np.rollaxis(x[None], 2),
            np.rollaxis(x[None], 0, 3),
        ),
        (N, X, V),
    ),
}


@pytest.mark.long(16)
@pytest.mark.parametrize("case", CASES)
def test_functions(case: str) -> None:
    function, arrays = CASES[case]
    check(function, *arrays, rtol=1e-9)


def test_indices_of_a_known_size() -> None:
    """Functions of sizes only are NumPy's own."""
    check(lambda x: (np.indices(x.shape) * x, x[np.triu_indices(4)], np.arange(x.shape[1]) + x, np.tri(4) @ x), X)


def test_sizes_that_depend_on_elements() -> None:
    with pytest.raises(xhlo.TraceError, match=r"np.bincount: the size of the result(.|\n)*minlength="):
        xhlo.jit(lambda n: np.bincount(n))(N)
    with pytest.raises(xhlo.TraceError, match="the number of bins must be a constant"):
        xhlo.jit(lambda x, n: np.histogram(x, n[0]))(X, N)

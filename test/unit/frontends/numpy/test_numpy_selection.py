"""Medians and quantiles of large arrays without sorting, histograms of equal bins, short convolutions, scalar products."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import xhlo

RANDOM = np.random.default_rng(0)
N = 8195


def _special() -> dict[str, np.ndarray[Any, Any]]:
    normal = RANDOM.normal(size=N)
    return {
        "f64": normal,
        "few values": np.round(normal * 3),
        "an even number of f32": normal[1:].astype(np.float32),
        "infinities": np.where(normal < -0.8, -np.inf, np.where(normal > 2, np.inf, normal)),
        "both zeros": np.where(normal > 0, -0.0, 0.0),
        "NaN": np.where(np.arange(N) == 77, -np.nan, normal),
        "integers": RANDOM.integers(-9, 9, N),
        "equal": np.full(N, np.inf),
    }


@xhlo.jit
def _median(x: Any) -> Any:
    return (np.median(x),)


@xhlo.jit
def _quartiles(x: Any) -> Any:
    return np.median(x), np.percentile(x, [25, 100])


@pytest.mark.long(3)
@pytest.mark.parametrize(("name", "x"), _special().items(), ids=_special())
def test_ranks_of_large_arrays(name: str, x: np.ndarray[Any, Any]) -> None:
    f = _quartiles if x.dtype == np.float64 else _median
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        wanted = np.median(x), np.percentile(x, [25, 100])
    for have, want in zip(f(x), wanted, strict=False):
        assert have.dtype == want.dtype
        np.testing.assert_allclose(have, want, rtol=1e-6 if x.dtype == np.float32 else 1e-14)
    assert "hlo.sort" not in f.compiler_ir(x)


def test_medians_along_axes() -> None:
    x = np.arange(24.0).reshape(4, 6) % 7
    x[1, 2] = np.inf
    f = xhlo.jit(lambda x: (np.median(x), np.median(x, axis=0), np.median(x, axis=1, keepdims=True)))
    wanted = np.median(x), np.median(x, axis=0), np.median(x, axis=1, keepdims=True)
    for have, want in zip(f(x), wanted, strict=True):
        np.testing.assert_array_equal(have, want)


def test_histograms_of_equal_bins() -> None:
    arrays = [
        RANDOM.normal(size=500),
        np.round(RANDOM.uniform(size=500) * 10) / 10,
        np.linspace(0, 1, 101),
        RANDOM.integers(-5, 20, 300),
        RANDOM.normal(size=300).astype(np.float32),
        np.array([np.nan, 0.5, np.inf, -np.inf, 1.0]),
        np.full(7, 3.0),
    ]
    for bins, bounds in ((10, None), (7, (0, 1))):
        chosen = [one for one in arrays if bounds or np.isfinite(one).all()]
        f = xhlo.jit(lambda chosen, bins=bins, bounds=bounds: [np.histogram(one, bins, bounds) for one in chosen])
        for one, (counts, edges) in zip(chosen, f(chosen), strict=True):
            wanted = np.histogram(one, bins, bounds)
            np.testing.assert_array_equal(counts, wanted[0], err_msg=f"{one.dtype} {bins} {bounds}")
            np.testing.assert_allclose(edges, wanted[1], rtol=2e-6)


def test_short_convolutions_are_sums() -> None:
    x, y = RANDOM.normal(size=40), RANDOM.normal(size=5)
    modes = "full", "same", "valid"
    f = xhlo.jit(lambda x, y: [g(x, y, mode) for g in (np.convolve, np.correlate) for mode in modes])
    wanted = [g(x, y, mode) for g in (np.convolve, np.correlate) for mode in modes]
    for have, want in zip(f(x, y), wanted, strict=True):
        np.testing.assert_allclose(have, want, rtol=1e-13, atol=1e-13)
    assert "hlo.convolution" not in f.compiler_ir(x, y)


def test_scalar_products_take_slices_in() -> None:
    x = RANDOM.normal(size=50)
    f = xhlo.jit(lambda x: (np.dot(x[1:], x[:-1]), x[2:] @ x[:-2]))
    np.testing.assert_allclose(f(x), (np.dot(x[1:], x[:-1]), x[2:] @ x[:-2]), rtol=1e-13)
    assert "hlo.dot_general" not in f.compiler_ir(x)


def test_clusters_know_all_functions_and_one_costly_operation(monkeypatch: pytest.MonkeyPatch) -> None:
    from xhlo.frontends.clusters import clusters
    from xhlo.frontends.clusters.report import clear_clusters

    clear_clusters()
    monkeypatch.setattr(clusters, "COMPILE_SECONDS", 0.0)
    monkeypatch.setattr(clusters, "_spent", [0.0, 0.0])
    x = xhlo.asarray(RANDOM.normal(size=50))
    for _ in range(4):
        with xhlo.autocluster():
            found = np.polyval([1.0, -2.0, 3.0], x)
        np.testing.assert_allclose(np.asarray(found), np.polyval([1.0, -2.0, 3.0], np.asarray(x)))
        x = xhlo.asarray(RANDOM.normal(size=50))
    (cluster,) = clusters.CLUSTERS.values()
    assert cluster.operations == ["np.polyval"] and cluster.compilations == 1
    clear_clusters()

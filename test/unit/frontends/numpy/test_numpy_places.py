"""NumPy's functions of places, borders, quantiles and polynomials under xhlo.jit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import xhlo
from numpy_checks import check, interpreted

RNG = np.random.default_rng(3)
X = RNG.normal(size=(4, 5))
V = RNG.normal(size=7)
W = RNG.normal(size=7)
I = RNG.integers(0, 10, (4, 5))
K = RNG.integers(0, 5, 6)
U = RNG.integers(0, 255, (3, 8)).astype(np.uint8)
S = RNG.normal(size=(4, 4))
T = RNG.normal(size=(2, 3, 4))
C = X + 1j * RNG.normal(size=(4, 5))
NAN = np.where(X > 1, np.nan, X)


def flat(results: Any) -> list[Any]:
    """The arrays of nested tuples and lists."""
    return [leaf for one in results for leaf in flat(one)] if isinstance(results, (tuple, list)) else [results]


@dataclass
class Group:
    """Functions of the same arrays, which are tested as one program."""

    functions: list[Callable[..., Any]]
    arrays: tuple[Any, ...]
    rtol: float

    def __call__(self, *given: Any) -> Any:
        return flat([function(*given) for function in self.functions])


GROUPS: dict[str, list[Group]] = {}


def group(name: str, functions: list[Callable[..., Any]], *arrays: Any, rtol: float = 1e-9) -> None:
    GROUPS.setdefault(name, []).append(Group(functions, arrays, rtol))


group(
    "borders",
    [
        *[lambda x, mode=mode: np.pad(x, ((1, 2), (0, 3)), mode) for mode in ("mean", "maximum", "minimum", "median")],
        lambda x: np.pad(x, 2, "mean", stat_length=2),
        lambda x: np.pad(x, 2, "linear_ramp", end_values=((1, 2), (3, 4))),
        lambda x: np.pad(x, ((2, 9), (3, 0)), "reflect", reflect_type="odd"),
        lambda x: np.pad(x, 2, "symmetric", reflect_type="odd"),
        lambda x: np.pad(x, {-1: (1, 2)}),
        lambda x: np.pad(x, 1, constant_values=((1, 2), (3, 4))),
    ],
    X,
)
group("borders", [lambda x: np.pad(x, 1, "mean"), lambda x: np.pad(x, 3, "linear_ramp", end_values=50)], I)


METHODS = """inverted_cdf averaged_inverted_cdf closest_observation interpolated_inverted_cdf hazen weibull linear
median_unbiased normal_unbiased lower higher midpoint nearest""".split()


group("quantiles", [lambda x, m=m: np.quantile(x, [0.1, 0.45, 0.9], 1, method=m) for m in METHODS], X)
group("quantiles", [lambda x, m=m: np.percentile(x, 30, method=m) for m in ("lower", "nearest", "hazen")], I)
group(
    "quantiles",
    [
        lambda x: np.quantile(x, 0.3, (0, 2)),
        lambda x: np.median(x, (0, 1), keepdims=True),
        lambda x: np.median(x, 1),
    ],
    T,
)
group(
    "quantiles",
    [
        lambda x: np.nanmedian(x, 1),
        lambda x: np.nanpercentile(x, [20, 70], 0),
        lambda x: np.nanquantile(x, 0.3, keepdims=True),
        lambda x: np.nanargmax(x, 0),
        lambda x: np.nanargmin(x),
        lambda x: np.nancumsum(x, 1),
        lambda x: np.nancumprod(x),
    ],
    NAN,
)


group(
    "polynomials",
    [
        lambda p, q: np.polyadd(p, q[:3]),
        lambda p, q: np.polysub(p[:3], q),
        np.polymul,
        lambda p, q: np.polydiv(p, q[:3]),
        lambda p, q: np.polyder(p, 2),
        lambda p, q: np.polyint(p, 2, k=[1, 2]),
        lambda p, q: np.poly(p),
        lambda p, q: np.polyfit(p, q, 2),
        lambda p, q: np.polyfit(p, q, 1, w=np.abs(q), cov=True),
        lambda p, q: np.polyfit(p, q, 1, cov="unscaled"),
        lambda p, q: np.sort_complex(np.roots(p)),
        lambda p, q: np.i0(4 * p),
    ],
    V,
    W,
    rtol=1e-8,
)
group("polynomials", [np.poly], S)


group(
    "places",
    [
        lambda k, x: np.ravel_multi_index((k % 4, k), (4, 5)),
        lambda k, x: np.ravel_multi_index((k % 4, k), (4, 5), order="F"),
        lambda k, x: np.unravel_index(k, (2, 3)),
        lambda k, x: np.unravel_index(x.argmax(), x.shape),
        lambda k, x: x[np.triu_indices_from(x)],
        lambda k, x: x[np.diag_indices_from(x)],
        lambda k, x: np.insert(x, 1, 0, axis=1),
        lambda k, x: np.insert(k, [3, 1, 1], [7, 8, 9]),
        lambda k, x: np.insert(k, slice(0, 4, 2), 9),
        lambda k, x: np.insert(x, 2, x[:2], axis=0),
        lambda k, x: np.insert(k, -1, [5, 6]),
        lambda k, x: np.resize(k, (4, 5)),
        lambda k, x: np.block([[x, x * 2], [np.zeros((1, 8))]]),
        lambda k, x: np.block([k, 1]),
        lambda k, x: np.diagflat(k, 1),
        lambda k, x: np.add.reduceat(x, [0, 2, 1], axis=1),
        lambda k, x: np.array_equiv(x, x[0]),
    ],
    K,
    S,
)
group("places", [lambda t: np.dsplit(t, 2), lambda t: np.apply_over_axes(np.sum, t, [0, 2])], T)
group(
    "places",
    [lambda a, b: np.histogram2d(a, b, bins=[3, 4]), lambda a, b: np.histogramdd((a, b), 2, density=True)],
    V,
    W,
)


windows = np.lib.stride_tricks.sliding_window_view
group("windows_bits_and_samples", [lambda x: windows(x, (2, 2)), lambda x: windows(x, 3, axis=1).mean(axis=-1)], X)
group(
    "windows_bits_and_samples",
    [
        np.packbits,
        lambda u: np.packbits(u > 99, axis=0, bitorder="little"),
        lambda u: np.unpackbits(u, axis=1, count=9),
    ],
    U,
)
group(
    "windows_bits_and_samples",
    [
        lambda v: np.logspace(0, v[0], 4),
        lambda v: np.geomspace(1, np.abs(v[0]), 4),
        lambda v: np.full((2, 3), v[0]),
    ],
    V,
)
group(
    "windows_bits_and_samples", [np.sort, lambda c: np.argsort(c, axis=0), lambda c: np.sort_complex(c[0])], np.round(C)
)


group(
    "notations",
    [
        lambda v, w: np.r_[v, 1.0, w, 0:3],
        lambda v, w: np.c_[v, w],
        lambda v, w: np.r_["0,2", v, w],
        lambda v, w: np.r_["-1,3,0", v, w],
        lambda v, w: np.array(v, ndmin=3),
        lambda v, w: np.einsum(v, [0], w, [1], [1, 0]),
        lambda v, w: np.einsum(v, [0], w, [0]),
    ],
    V,
    W,
)
group("notations", [lambda x: np.reshape(x, (-1, 2), order="F"), lambda x: x.ravel("F"), lambda x: x.flatten("F")], X)


double = np.vectorize(lambda a, b: np.where(a > b, a, 2 * b))
norm = np.vectorize(lambda row: (row * row).sum(), signature="(n)->()")
group(
    "functions_of_the_users",
    [
        lambda x: np.apply_along_axis(np.sum, 0, x),
        lambda x: np.apply_along_axis(lambda row: row / row.sum(), 1, x),
        lambda x: np.apply_along_axis(lambda row: np.outer(row, row), 0, x),
        lambda x: double(x, 0.5),
        norm,
    ],
    X,
)


@pytest.mark.long(4)
@pytest.mark.parametrize("name", GROUPS)
def test_programs(name: str) -> None:
    for each in GROUPS[name]:
        check(each, *each.arrays, rtol=each.rtol, how=interpreted)


@pytest.mark.long(2)
@pytest.mark.sample(5)
@pytest.mark.parametrize("name", list(reversed(GROUPS)))
def test_compiled(name: str) -> None:
    for each in GROUPS[name]:
        check(each, *each.arrays, rtol=each.rtol)


def test_vectorized_functions_outside() -> None:
    assert np.vectorize(lambda a: a + 1)([1, 2]).tolist() == [2, 3]


def test_changes() -> None:
    def changed(x: Any, k: Any) -> Any:
        a = np.zeros((4, 4))
        np.fill_diagonal(a, x[0])
        b = x.copy()
        np.copyto(b, 5.0, where=b > 0.5)
        c = x.copy()
        np.put(c, k, [10.0, 20.0], mode="wrap")
        d = x.copy()
        np.putmask(d, d < 0, [1.0, 2.0, 3.0])
        e = x.copy()
        np.place(e, e < 0, [7.0, 8.0])
        f = x.copy()
        np.put_along_axis(f, f.argmax(axis=1)[:, None], 99.0, axis=1)
        return a, b, c, d, e, f

    check(changed, S, np.array([3, 9, 15]))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.quantile(x, 0.5, weights=x, method="inverted_cdf"),
        lambda x: np.quantile(x, x[0, 0]),
        lambda x: np.pad(x, x[0].astype(int)),
        lambda x: np.insert(x, x[0].astype(int), 0),
        lambda x: np.add.reduceat(x, x[0].astype(int)),
        lambda x: np.union1d(x, x),
        lambda x: np.copyto(np.broadcast_to(0.0, (4, 5)), x),
    ],
)
def test_refusals(function: Any) -> None:
    with pytest.raises(xhlo.TraceError, match=r"test_numpy_places.py:\d+:\d+: error: [^\n]+\n.*\n *\^\n  instead: "):
        xhlo.jit(function)(X)

"""Views and masks under xhlo.jit: what is written through them, and elements whose number the run finds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import xhlo
from numpy_checks import check

RNG = np.random.default_rng(5)
X = RNG.normal(size=(4, 5))
V = RNG.normal(size=9)


def test_what_is_written_to_a_view_is_seen_in_its_base() -> None:
    def changed(x: Any) -> Any:
        a = x.copy()
        row = a[1]
        row += 1
        a.T[0] = 5
        a.reshape(2, 10)[1, 2] = 7
        a.ravel()[3] = 8
        a.flat[::6] = 9
        a[1:][0][1:3] = 6
        for one in a[2:]:
            one /= one.sum()
        a[0].sort()
        a[1].fill(0.5)
        np.add(a[2], 1, out=a[2])
        first, last = np.split(a, 2)
        first[:, 0] = 3
        np.fliplr(last)[0, 0] = 4
        a.swapaxes(0, 1)[2] = 1
        np.expand_dims(a, 0)[0, 0, 0] = 2
        return a, row

    check(changed, X)


def test_what_is_written_to_the_base_is_seen_in_its_views() -> None:
    def changed(x: Any) -> Any:
        a = x.copy()
        rows, column, corner = a[1:3], a[:, 2], a[2:][:, :2]
        a[:] = 2 * x
        a[1] += 1
        return rows, column, corner, rows[0]

    check(changed, X)


def test_copies_have_elements_of_their_own() -> None:
    def changed(x: Any) -> Any:
        a = x.copy()
        copies = [
            a.flatten(), a.T.reshape(-1), a[:, ::2].reshape(-1), a[::2].ravel(), a[[0, 1]], np.concatenate([a]),
            np.array(a), np.copy(a), a.astype(a.dtype), np.pad(a, 0, "edge"), np.roll(a, 0), a[0] + 0, np.sort(a),
        ]  # fmt: skip
        for one in copies:
            one[0] = 9
        number = a[0, 0]
        same = number
        number += 1
        return a, number, same, *copies

    check(changed, X)


def test_parts_of_complex_numbers_are_views() -> None:
    def changed(x: Any) -> Any:
        z = x + 1j * x
        z.real[1] = 7
        z.imag[:, 0] = 3
        z.imag = z.imag * 2
        return z

    check(changed, X)


def test_an_assignment_in_place_is_one_update() -> None:
    def changed(x: Any) -> Any:
        a = x * 2
        a[1:, :2] += 1
        return a

    text = xhlo.jit(changed).compiler_ir(X, stage="hlo")
    assert (text.count("dynamic_update_slice"), text.count("hlo.slice")) == (1, 1)


@pytest.mark.parametrize("write", [lambda y: y.__iadd__(1), lambda y: y.fill(1), lambda y: y.__setitem__(0, 1)])
def test_arguments_are_not_changed_through_views(write: Any) -> None:
    with pytest.raises(xhlo.TraceError, match=r"a view of an argument is changed here[^*]*instead: work on a copy"):
        xhlo.jit(lambda x: write(x.T[1:]))(X)


def test_views_in_loops() -> None:
    def changed(x: Any) -> Any:
        def body(i: Any, a: Any) -> Any:
            row = a[i]
            row *= 2
            row[0] = 1
            return a

        return xhlo.fori_loop(0, 3, body, x.copy())

    check(changed, X)

    def outside(x: Any) -> Any:
        a = x.copy()

        def body(i: Any, total: Any) -> Any:
            a[0].fill(1)
            return total

        return xhlo.fori_loop(0, 3, body, x)

    with pytest.raises(xhlo.TraceError, match="from outside of a loop"):
        xhlo.jit(outside)(X)


def test_elements_of_a_mask_are_reduced() -> None:
    def reduced(x: Any, v: Any) -> Any:
        m = x > 0
        return (
            x[m].sum(), x[m].mean(), x[m].max(), x[m].std(ddof=1), np.median(x[m]), np.percentile(x[m], [10, 90]),
            (x[m] > 1).any(), np.count_nonzero(x[x > 0] > 1), x[m].size, np.sum((x[m] - x[m].mean()) ** 2),
            np.mean(x[~m] ** 2), np.linalg.norm(v[v > 0]), np.ptp(v[v > 0]), v[(v > 0) & (v < 1)].min(),
            x[x.any(axis=1)].sum(axis=0), x[:, x[0] > 0].mean(axis=1), x[x[:, 0] > 0, 1].sum(),
            v[np.nonzero(v)].sum(), v[np.where(v > 0)].sum(), np.where(v > 0)[0][0], np.flatnonzero(v < 0)[-1],
            np.extract(v > 0, v).prod(), x[m].astype(np.float32).sum(),
        )  # fmt: skip

    check(reduced, X, V)


def test_elements_of_a_mask_are_assigned() -> None:
    def changed(x: Any, v: Any) -> Any:
        a, b, c, d, e, f = (x.copy() for _ in range(6))
        a[a < 0] *= -1
        b[b > 0] = np.sqrt(b[b > 0])
        c[c.sum(axis=1) > 0] = 0
        c[:, c[0] > 0] += 1
        d[1:][d[1:] > 0] = 0
        rows, columns = np.where(e > 0.5)
        e[rows, columns] = e[rows, columns] * 2
        f[f[:, 0] > 0, 1] = 9
        y = np.zeros_like(v)
        y[v > 0] = v[v > 0] ** 2
        y[np.nonzero(v < 0)] -= y[v > 0].mean()
        return a, b, c, d, e, f, y

    check(changed, X, V)


@pytest.mark.parametrize(
    "function",
    [
        lambda v: v[v > 0],
        lambda v: np.sort(v[v > 0]),
        lambda v: len(v[v > 0]),
        lambda v: v[v > 0] + v[v < 0],
        lambda v: v[v > 0] + v,
        lambda v: v[v > 0].reshape(-1, 1),
        lambda v: v[v > 0].cumsum(),
        lambda v: v[v > 0][1],
        lambda v: [float(one) for one in v[v > 0]],
        lambda v: np.concatenate([v[v > 0], v]),
        lambda v: np.where(v > 0),
    ],
)
def test_their_number_is_not_known(function: Any) -> None:
    with pytest.raises(xhlo.TraceError, match=r"test_numpy_views.py:\d+:\d+: error: [^\n]+\n.*\n *\^\n  instead: "):
        xhlo.jit(function)(V)


def test_sizes_are_stated() -> None:
    x = np.array([3, 1, 0, 3, 2])
    f = xhlo.jit(
        lambda x: (
            np.nonzero(x > 1, size=4, fill_value=-1)[0],
            *np.unique(x, size=5, fill_value=-1, return_counts=True),
            np.flatnonzero(x > 1, size=2),
            np.argwhere(x > 1, size=3),
        )
    )
    wanted = [0, 3, 4, -1], [0, 1, 2, 3, -1], [1, 1, 1, 2, 0], [0, 3], [[0], [3], [4]]
    for found, expected in zip(f(x), wanted, strict=True):
        np.testing.assert_array_equal(found, expected)

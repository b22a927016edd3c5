"""Places of the user's where nothing is recorded any more, and code in C that is called in a block."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import xhlo
from xhlo.frontends.clusters import clusters, dispatch, recorder, traces
from xhlo.frontends.clusters.arrays import ClusterArray
from xhlo.frontends.clusters.programs import Program
from xhlo.frontends.clusters.report import clear_clusters

X = np.linspace(-2.0, 3.0, 12)
MANY = 2 * dispatch.OFTEN


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    clear_clusters()
    yield
    recorder.flush("the test ends")
    clear_clusters()


def agree(function: Callable[[Callable[[Any], Any]], list[Any]]) -> None:
    """The function gives NumPy's results while places of it are learned, recorded and given up."""
    wanted = function(np.array)
    for _ in range(MANY):
        with xhlo.autocluster():
            found = function(lambda x: xhlo.asarray(np.array(x)))
        for have, want in zip(found, wanted, strict=True):
            assert np.asarray(have).dtype == np.asarray(want).dtype
            np.testing.assert_allclose(np.asarray(have), want, rtol=1e-14, atol=1e-13)


def test_small_arrays_are_not_compiled_and_given_up(slow_recording: None) -> None:
    x = xhlo.asarray(X)

    def function() -> Any:
        y = np.sqrt(x * x) + 1
        y += x
        return y

    for _ in range(MANY):
        np.asarray(function())
    found = function()
    assert type(found) is np.ndarray and np.allclose(found, np.sqrt(X * X) + 1 + X)
    known = list(clusters.CLUSTERS.values())
    assert not any(one.compilations for one in known)
    assert "for nothing: and NumPy" in xhlo.explain_clusters()
    assert not recorder.LOCAL.recorder.storages


def test_a_loop_over_elements() -> None:
    def function(array: Any) -> list[Any]:
        a, d = array(X + 5), array(X)
        x = np.zeros(12)
        x[0] = d[0] / a[0]
        for i in range(1, 12):
            x[i] = (d[i] - 0.5 * x[i - 1]) / (a[i] - x[i - 1])
        total = x * 2
        x[3] = 7
        return [x, total, a]

    agree(function)


def test_rows_of_growing_size() -> None:
    def function(array: Any) -> list[Any]:
        a, b = array(np.arange(144.0).reshape(12, 12) / 12 + 99 * np.eye(12)), array(X)
        x = np.zeros(12)
        for i in range(12):
            x[i] = (b[i] - a[i, :i] @ x[:i] - a[i, i + 1 :] @ x[i + 1 :]) / a[i, i]
        return [x]

    agree(function)
    assert max(one.seen for one in clusters.CLUSTERS.values()) <= MANY


def test_one_place_for_views_and_new_arrays() -> None:
    """Where a call was given up, what shares memory with its operand still does, and records."""

    def function(array: Any) -> list[Any]:
        x = array(X)
        results: list[Any] = []
        for one in (np.abs, np.ravel, np.real, np.squeeze, np.atleast_2d, np.flip, np.diff, np.asarray):
            y = one(x)
            results.append(y.sum())
            y[..., 0] = 2
        return [*results, x]

    agree(function)


def test_functions_that_keep_their_operands_memory() -> None:
    agree(lambda array: [np.apply_along_axis(lambda row: row / row.sum(), 0, array(X + 9)), np.split(array(X), 3)[1]])


def test_results_in_place_and_in_tuples() -> None:
    def function(array: Any) -> list[Any]:
        x, out = array(X), np.zeros(12)
        np.add(x, 1, out=out)
        x *= out
        x[2:] -= x[:-2]
        q, r = np.linalg.qr(x.reshape(3, 4))
        return [x, out, np.abs(q @ r), *np.modf(x)]

    agree(function)


def test_larger_operands_are_recorded_where_small_ones_were_given_up(slow_recording: None) -> None:
    def function(x: Any) -> Any:
        return x + 1

    small, large = xhlo.asarray(X), xhlo.asarray(np.ones(1 << 12))
    for _ in range(MANY):
        np.asarray(function(small))
    assert type(function(small)) is np.ndarray
    assert {size for size, _ in traces.GIVEN_UP.values()} == {X.nbytes}
    function(large)
    found = function(large)
    assert type(found) is ClusterArray and not found.storage.is_filled


def test_indices_that_change_are_checked_again() -> None:
    x = xhlo.asarray(X)
    for change in ("fill", "element", "alias"):
        for _ in range(MANY):
            order = np.argsort(x)
            np.testing.assert_array_equal(np.asarray(x[order]), X)
            if change == "fill":
                order.fill(100)
            elif change == "element":
                order[3] = 100
            else:
                np.asarray(order)[5] = 100
            with pytest.raises(IndexError):
                x[order]


def test_random_generators_in_a_block(recwarn: pytest.WarningsRecorder) -> None:
    """Code in C that has no frame asks for NumPy's functions, not for what stands for them in the user's code."""
    found: list[Any] = []
    for block in (xhlo.autocluster(), np.errstate()):
        with block:
            random = np.random.default_rng(3)
            values = np.arange(6.0)
            np.random.seed(5)
            np.random.shuffle(values)
            found.append((random.normal(size=3), random.choice(np.arange(9), 4), np.random.permutation(5), values))
    for have, want in zip(*found, strict=True):
        np.testing.assert_array_equal(np.asarray(have), want)
    assert not recwarn.list


def test_names_of_modules_are_never_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    sine = np.sin
    with xhlo.autocluster():
        assert vars(np)["sin"] is sine and getattr(np, "sin") is sine and np.sin is not sine  # noqa: B009
        assert np.sin == sine and type(np).__name__ == "module"
        monkeypatch.delattr(np, "sinc")
        with pytest.raises(AttributeError, match="no attribute 'sinc'"):
            np.sinc(0)
    assert np.sin is sine


def test_what_numpy_makes_for_places_given_up_does_not_record(slow_recording: None) -> None:
    def step(y: Any, h: float) -> Any:
        slope = np.array([y[1], -y[0]])
        found.append(type(slope))
        return y + h * slope

    found: list[type] = []
    y: Any = None
    with xhlo.autocluster():
        for _ in range(30):
            y = np.array([1.0, 0.0])
            for _ in range(20):
                y = step(y, 0.1)
    assert found[0] is not found[-1] is np.ndarray
    x = np.array([1.0, 0.0])
    for _ in range(20):
        x = x + 0.1 * np.array([x[1], -x[0]])
    np.testing.assert_allclose(np.asarray(y), x)


def test_equal_clusters_are_given_up_where_each_begins(slow_recording: None) -> None:
    x = xhlo.asarray([1.0, 2.0])

    def run() -> None:
        for _ in range(40):
            assert float((x * 3.0 + x)[0]) == 4.0
            assert float((x * 3.0 + x)[1]) == 8.0

    with xhlo.autocluster():
        for _ in range(8):
            run()
        before = xhlo.explain_clusters()
        run()
    assert xhlo.explain_clusters() == before


def test_functions_that_somebody_replaced_stay_where_names_are_passed_by() -> None:
    with xhlo.autocluster():
        for count in range(40):
            if count == 30:
                np.sqrt = abs  # pyright: ignore
            found = np.sqrt(-4 if count >= 30 else 4)
            assert found == (4 if count >= 30 else 2)
        del np.sqrt
    np.sqrt = np._core.umath.sqrt  # pyright: ignore
    assert np.sqrt(4) == 2


def test_a_trace_needs_what_clusters_pass_by() -> None:
    def doubled(x: Any) -> Any:
        y = np.zeros(3) + np.sqrt(4.0)
        y[1:] = x
        return y

    for _ in range(3 * MANY):
        with xhlo.autocluster():
            doubled(1.0)
    np.testing.assert_array_equal(xhlo.jit(doubled)(np.ones(2)), [2, 1, 1])


def test_a_slow_first_run_decides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A compiled cluster whose first run takes a second longer than the others, and NumPy a quarter of one."""
    clock, run, replay = time.perf_counter, clusters._run_compiled, Program.replay
    late = [0.0]

    def run_late(*args: Any) -> None:
        run(*args)
        late[0] = 1.0

    def replay_late(self: Program) -> float:
        return replay(self) + 0.25

    monkeypatch.setattr(time, "perf_counter", lambda: clock() + late[0])
    monkeypatch.setattr(clusters, "_run_compiled", run_late)
    monkeypatch.setattr(Program, "replay", replay_late)
    x = xhlo.asarray(np.linspace(-3.0, 3.0, 1 << 14))
    for _ in range(8):
        found = np.exp(-(np.sin(x) * np.cos(x) + x * x) / 2) + x
        assert type(found) is ClusterArray
        np.asarray(found)
    cluster = max(clusters.CLUSTERS.values(), key=lambda one: one.runs)
    assert cluster.runs >= 5 and not cluster.given_up and not cluster.rejected

"""Traces of recorded calls: what is found again, and where recording is given up because it loses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import xhlo
from xhlo.frontends.clusters import clusters, recorder, traces
from xhlo.frontends.clusters.arrays import ClusterArray
from xhlo.frontends.clusters.report import clear_clusters

X = np.linspace(-2.0, 3.0, 12)


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Small arrays are compiled too."""
    monkeypatch.setattr(clusters.SETTINGS, "must_gain", False)
    clear_clusters()
    yield
    recorder.flush("the test ends")
    clear_clusters()


def known() -> list[clusters.Cluster]:
    return list(clusters.CLUSTERS.values())


def test_equal_calls_are_one_step() -> None:
    def run(x: Any, number: float) -> Any:
        y = x * number + x[::-1]
        y[1:] -= x[:-1]
        return y.sum(axis=0), y

    for number in range(6):
        total, y = run(xhlo.asarray(X), float(number))
        wanted = run(X, float(number))
        np.testing.assert_allclose(y, wanted[1])
        assert float(total) == pytest.approx(wanted[0])
        if number == 3:
            before = traces._steps[0]
    assert traces._steps[0] == before


def test_numbers_and_operands_are_told_apart() -> None:
    """Steps that look alike: an integer axis and a number, one array twice and two arrays, 0.0 and -0.0."""
    x, y = xhlo.asarray(X.reshape(3, 4)), xhlo.asarray(X.reshape(3, 4) + 1)
    for _ in range(3):
        for have, want in (
            (x * x, x.filled("") * x.filled("")),
            (x * y, x.filled("") * y.filled("")),
            (y * x.T.T, y.filled("") * x.filled("")),
            (x.sum(0) + 1, x.filled("").sum(0) + 1),
            (x.sum(1) + 1, x.filled("").sum(1) + 1),
            (np.copysign(1, abs(x) * -0.0), -np.ones((3, 4))),
            (np.copysign(1, abs(x) * 0.0), np.ones((3, 4))),
            (x[1:] + x[:-1], x.filled("")[1:] + x.filled("")[:-1]),
            (x[:-1] + x[1:] * 2, x.filled("")[:-1] + x.filled("")[1:] * 2),
        ):
            np.testing.assert_allclose(np.asarray(have), want)


def test_arguments_that_are_not_recorded() -> None:
    x = xhlo.asarray(X)
    for _ in range(3):
        y = x * 2
        np.testing.assert_array_equal(np.asarray(y * 2**70), X * 2 * 2**70)
        np.testing.assert_array_equal(
            np.asarray(np.take(y + 1, [*range(12)] * 9)), np.take(X * 2 + 1, [*range(12)] * 9)
        )
        assert not y.storage.owner


def run_until_given_up(function: Callable[[], Any]) -> list[Any]:
    """Run often; the results."""
    return [function() for _ in range(10)]


def test_recording_is_given_up_where_it_loses(slow_recording: None) -> None:
    x = xhlo.asarray(X)

    def function() -> Any:
        y = x * 2 + 1
        z = np.sqrt(y * y)
        z += x
        return z

    found = run_until_given_up(lambda: (type(one := function()), np.asarray(one).copy()))
    assert found[0][0] is ClusterArray and found[-1][0] is np.ndarray
    y = X * 2 + 1
    for _, values in found:
        np.testing.assert_allclose(values, np.sqrt(y * y) + X, rtol=1e-15)
    (cluster,) = [one for one in known() if one.given_up]
    assert cluster.seen < 9
    text = xhlo.explain_clusters()
    assert "not recorded any more where it begins: recording takes" in text and "us and the program" in text
    # Elsewhere the same calls are recorded.
    again = x * 2 + 1
    assert type(again) is ClusterArray
    # Where recording is under way it goes on through such a place.
    clusters._each[0] = 1e-6
    begun = again * 2
    assert type(begun) is ClusterArray and not begun.storage.is_filled
    assert type(function()) is ClusterArray
    np.testing.assert_allclose(np.asarray(begun), X * 4 + 2)


def test_a_single_operation_is_given_up(slow_recording: None) -> None:
    x = xhlo.asarray(X)
    assert run_until_given_up(lambda: float(x.sum())) == [pytest.approx(X.sum())] * 10
    assert "for nothing: so few operations are not compiled" in xhlo.explain_clusters()
    x += 1
    assert float(x.sum()) == pytest.approx(X.sum() + 12)


def test_large_results_go_on_recording(slow_recording: None) -> None:
    x = xhlo.asarray(np.ones(1 << 14))
    found = run_until_given_up(lambda: x + 1)
    assert all(type(one) is ClusterArray for one in found)
    np.testing.assert_array_equal(found[-1], np.full(1 << 14, 2.0))


def test_new_arrays_are_part_of_clusters() -> None:
    def function(n: int) -> Any:
        y = np.zeros(n)
        y[2:] += np.arange(n)[2:] * 0.5
        window = np.hanning(n)
        grid = np.linspace(-1, 1, n)[:, None] * np.ones((1, 3))
        return y * window, grid, np.eye(n) @ y, np.full((2, n), 7, dtype=np.int32) + np.empty(n, np.int32).size

    with xhlo.autocluster():
        found = [function(9) for _ in range(4)]
        for one in found:
            for have, want in zip(one, function(9), strict=True):
                assert have.dtype == want.dtype
                np.testing.assert_allclose(np.asarray(have), np.asarray(want), rtol=1e-15)
    made = {name for one in known() for name in one.operations}
    assert {"np.zeros", "np.arange", "np.linspace", "np.ones", "np.eye", "np.full"} <= made and "np.hanning" not in made


def test_names_that_others_replace_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    sine, own = np.sin, lambda x: "replaced"
    with xhlo.autocluster():
        monkeypatch.setattr(np, "cos", own)
    assert np.cos is own and np.sin is sine
    with xhlo.autocluster():
        assert np.cos is own and np.sin is not sine
    assert np.cos is own and np.sin is sine


REGULAR = {
    "integers": np.arange(100),
    "from 2": np.arange(2.0, 12.0, 0.1),
    "linspace": np.linspace(0.1, 0.7, 100),
    "without the end": np.linspace(1000, 1001, 100, endpoint=False),
    "f32": np.linspace(0, 5, 100, dtype=np.float32),
    "down": np.arange(100, dtype=np.uint16)[::-1],
    "a column": np.broadcast_to(np.linspace(-1, 3, 100)[:, None], (100, 7)),
    "of a mesh": np.meshgrid(np.arange(10), np.arange(9))[1],
    "-0.0": -np.arange(100.0),
    "unit matrix": np.eye(12),
    "another diagonal": -2 * np.eye(10, 14, -3),
}


def test_regular_constants_are_computed_to_the_same_bits() -> None:
    f = xhlo.jit(lambda flag: {name: np.where(flag, one, one) for name, one in REGULAR.items()})
    found, text = f(True), f.compiler_ir(True)
    for name, one in REGULAR.items():
        assert found[name].dtype == one.dtype and found[name].tobytes() == one.tobytes(), name
    assert 'dense<"' not in text and text.count("hlo.iota") >= len(REGULAR)


def test_irregular_constants_stay() -> None:
    numbers = np.arange(100.0)
    numbers[50] += 1e-13
    signed = np.arange(-50, 50) * np.float64(0.25)
    signed[50] = -0.0
    broken = np.eye(10)
    broken[9, 0] = 1
    for one in (numbers, signed, broken, np.full(100, np.nan), np.full(100, -0.0), np.hanning(100)):
        f = xhlo.jit(lambda flag, one=one: np.where(flag, one, one))
        assert f(True).tobytes() == one.tobytes()

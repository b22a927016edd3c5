"""Code that was never decorated, on arrays that record: NumPy's results, errors and views; what is compiled, and why."""

from __future__ import annotations

import gc
import pickle
import random
import sys
import threading
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import xhlo
from checkout import ROOT
from xhlo.frontends.clusters import clusters, programs, recorder
from xhlo.frontends.clusters.arrays import ClusterArray
from xhlo.frontends.clusters.layouts import layout_of
from xhlo.frontends.clusters.report import clear_clusters
from xhlo.hlo_dialect.reference.interpreter import Interpreter

BENCHMARK = ROOT / "benchmarks" / "numpy_functions"


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Small arrays are compiled too."""
    monkeypatch.setattr(clusters.SETTINGS, "must_gain", False)
    clear_clusters()
    yield
    recorder.flush("the test ends")


def known() -> list[clusters.Cluster]:
    return list(clusters.CLUSTERS.values())


def agree(function: Callable[..., Any], *arrays: np.ndarray, times: int = 3, compiled: int | None = None) -> None:
    """The function gives the same on arrays that record, also the next times, when its clusters are known."""
    wanted = function(*[one.copy() for one in arrays])
    for _ in range(times):
        found = function(*map(xhlo.asarray, arrays))
        for have, want in zip(*[one if isinstance(one, tuple) else (one,) for one in (found, wanted)], strict=True):
            assert (have.shape, have.dtype, have.strides) == (want.shape, want.dtype, want.strides)
            np.testing.assert_allclose(np.asarray(have), want, rtol=1e-12, atol=1e-12)
    if compiled is not None:
        assert sum(one.compilations for one in known()) == compiled
    assert not any(one.rejected and "slower" not in one.rejected for one in known())


X = np.linspace(-2.0, 3.0, 12)


# Views and writes.


def test_views_and_in_place_writes() -> None:
    def function(x: Any) -> Any:
        y = x * 2
        part = y[1:]
        part += 10
        table = y.reshape(3, 4)
        table[:, 1] = 0
        table[1, ::-2] *= x[:2]
        turned = table.T
        turned[2] = table[:, 0] - 1
        y[y > 11] = 11
        np.add(y[1:], y[:-1], out=y[:-1])
        table[2, 3] = -7
        copied = table.copy()
        copied[0] = 100
        return y, part, table, turned, copied, y.sum(), table[::2, 1:3].mean(axis=0)

    agree(function, X, compiled=1)


def test_parts_of_complex_numbers() -> None:
    def function(x: Any) -> Any:
        z = x + 1j * x[::-1]
        z.imag[2:] += 5
        z.real = 2 * z.imag
        return z, z.real, np.abs(z)

    agree(function, X, compiled=1)


def test_layout_of_random_views() -> None:
    rng = random.Random(1)
    base = np.arange(2 * 6 * 10).reshape(2, 6, 10)
    found = 0
    for _ in range(300):
        view = base
        for _ in range(rng.randint(1, 4)):
            step = rng.randrange(4)
            if step == 0:
                view = view[
                    tuple(slice(rng.randint(0, n // 2), rng.randint(n // 2, n), rng.choice((1, 2))) for n in view.shape)
                ]
            elif step == 1:
                view = view.transpose(rng.sample(range(view.ndim), view.ndim))
            elif step == 2:
                view = view[::-1, None]
            else:
                view = view.reshape(-1) if view.flags.c_contiguous else np.squeeze(view)
        if not view.size:
            continue
        item = base.itemsize
        offset = (view.__array_interface__["data"][0] - base.__array_interface__["data"][0]) // item
        layout = layout_of(base.shape, offset, view.shape, [one // item for one in view.strides])
        if layout is None:
            continue
        found += 1
        part = base.reshape(layout.sizes)[layout.slices].reshape(layout.kept).transpose(layout.order)
        np.testing.assert_array_equal(np.broadcast_to(part.reshape(layout.filled), layout.shape), view)
    assert found > 150


def test_code_outside_shares_the_memory() -> None:
    x = xhlo.asarray(X)
    y = x * 2
    outside = np.asarray(y)
    view = outside[3:]
    del outside
    z = y + 1
    view[0] = 99.0
    assert z[3] == 2 * X[3] + 1 and y[3] == 99.0
    y[4] = -5
    assert view[1] == -5
    del view
    first = y + 1
    y[:] = 0
    assert first[4] == -4 and not y.any()


def test_plain_operands_may_change_before_the_run() -> None:
    plain = X.copy()
    for _ in range(3):
        plain[:] = X
        result = xhlo.asarray(X) * 2 + plain
        plain[:] = 0
        np.testing.assert_array_equal(result, X * 2 + X)


# Values.


def test_where_values_are_needed() -> None:
    for _ in range(3):
        x = xhlo.asarray(X)
        total = (x * x).sum()
        assert isinstance(x, np.ndarray) and isinstance(total, np.float64)
        assert float(total) == pytest.approx((X * X).sum()) and f"{total:.3f}" == f"{(X * X).sum():.3f}"
        before = total
        total += 1
        assert before != total and bool(total > before) and {float(before): 1}
        assert str(x + 1) == str(X + 1) and repr(x[:2]) == repr(X[:2]) and int(x[0]) == -2 and round(total, 1) == 33.5
        assert [*range((x > 0).sum())] == [*range(7)] and 3.0 in x and len(x) == 12
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(x - 1)), X - 1)
        assert np.nonzero(x > 0)[0].tolist() == [5, 6, 7, 8, 9, 10, 11]
        np.testing.assert_array_equal(memoryview(np.asarray(x)), X)
        with pytest.raises(TypeError):
            total[0] = 1


def test_integers_weak_numbers_and_narrow_types() -> None:
    def function(n: Any, u: Any, f: Any) -> Any:
        return (
            n // 3,
            n % 4,
            u + 5,
            (u << 1) - u,
            f * 2,
            f + 1.5,
            n / 2,
            u.sum(),
            np.where(n > 0, n, 0.5),
            f @ f,
            n**2,
            -u,
        )

    agree(function, np.arange(-4, 5), np.arange(9, dtype=np.uint8), np.linspace(0, 1, 9, dtype=np.float32), compiled=1)


def test_what_is_not_recorded_runs_in_numpy() -> None:
    def function(x: Any) -> Any:
        y = x * 2 + 1
        np.add.at(y, [0, 0, 1], 1.0)
        y.sort()
        z = np.unique(np.round(y)) + np.where(x > 0)[0].sum() + x[np.asarray(x) > 0].sum()
        index = np.argsort(-x)
        return y, z, np.linalg.inv(np.outer(x, x) + np.eye(12)), x[index], x[[3, 1]], np.apply_along_axis(sum, 0, y)

    agree(function, X)


# Errors.


def test_errors_come_at_their_line() -> None:
    x = xhlo.asarray(X)
    for _ in range(3):
        for wrong, error in (
            (lambda: x + xhlo.asarray(np.ones(5)), ValueError),
            (lambda: x[12], IndexError),
            (lambda: x[np.array([1, 12])], IndexError),
            (lambda: x[x.astype(int) + 50], IndexError),
            (lambda: x.reshape(5, 5), ValueError),
            (lambda: np.linalg.inv(np.zeros((2, 2)) * x[0]), np.linalg.LinAlgError),
            (lambda: x.astype(np.uint8) + 300, OverflowError),
            (lambda: np.arange(3) * xhlo.asarray([1, 2, 3]) ** -1, ValueError),
            (lambda: x.nothing, AttributeError),
            (lambda: x.sum(axis=3), np.exceptions.AxisError),
        ):
            with pytest.raises(error):
                wrong()
        with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
            x / 0.0
        with pytest.raises(ValueError):
            x[2:4] = [1, 2, 3]


def test_an_interrupted_run_leaves_no_values(monkeypatch: pytest.MonkeyPatch) -> None:
    x = xhlo.asarray(X)
    for _ in range(2):
        y = np.sin(x) * 2
        z = y + x
        monkeypatch.setattr(programs.Program, "replay", lambda self: (_ for _ in ()).throw(KeyboardInterrupt))
        try:
            z.tolist()
        except KeyboardInterrupt:
            for one in (y, z):
                with pytest.raises(RuntimeError, match="ended early"):
                    one.tolist()
            np.testing.assert_array_equal(x, X)
        monkeypatch.undo()
    assert np.allclose(np.sin(x) * 2, np.sin(X) * 2)


# Clusters.


def test_compiled_when_seen_twice_and_explained() -> None:
    def function(x: Any) -> Any:
        return np.sqrt(x * x + 1) - np.cos(x)

    for count in range(4):
        np.testing.assert_allclose(function(xhlo.asarray(X)), np.sqrt(X * X + 1) - np.cos(X))
        assert sum(one.compilations for one in known()) == (count > 1)
    text = xhlo.explain_clusters()
    line = function.__code__.co_firstlineno + 1
    assert f"5 operations at test_clusters.py:{line}, seen 3 times" in text
    assert "np.multiply, np.add, np.sqrt, np.cos, np.subtract" in text
    assert "compiled once in" in text and "ran 2 times" in text
    # NumPy's tests of equality ask for an array, from Python 3.12 on for a buffer.
    assert "code outside of NumPy's functions" in text or "code outside takes its buffer" in text


def test_numbers_that_change_become_parameters() -> None:
    for number in (1.5, 2.5, -0.0, 0.0, 7.0, 7.0):
        found = (xhlo.asarray(X) * 0 + number) ** 2 / 3
        np.testing.assert_array_equal(found, (X * 0 + number) ** 2 / 3)
    (cluster,) = [one for one in known() if one.compilations]
    assert cluster.compilations == 1 and cluster.varying == {1}


def test_dead_values_are_not_computed() -> None:
    for _ in range(3):
        x = xhlo.asarray(X)
        unused = np.exp(x) * 3
        x += 1
        kept = x * 2
        del unused
        kept.tolist()
    assert all("np.exp" not in one.operations for one in known())


@pytest.mark.long
def test_loops_end_where_they_began_and_keep_no_memory() -> None:
    def run(count: int) -> Any:
        x = xhlo.asarray(np.ones(4))
        for _ in range(count):
            x = x * 0.5
            x = x + 1
            x = x - 0.25
        return x

    with xhlo.autocluster(compile_after=10**9):
        run(4000)
        gc.collect()
        before = len(gc.get_objects())
        found = run(4000)
        gc.collect()
    assert np.allclose(found, 1.5) and len(gc.get_objects()) - before < 500
    assert len(known()) < 8 and max(one.seen for one in known()) > 80


def test_memory_is_free_after_its_last_use(monkeypatch: pytest.MonkeyPatch) -> None:
    """While NumPy runs a cluster: temporaries, and those of which there are views."""
    x = xhlo.asarray(np.ones(1 << 17))
    held: list[int] = []
    run_one = programs.run_one

    def run_and_look(one: Any) -> float:
        seconds = run_one(one)
        held.append(tracemalloc.get_traced_memory()[0])
        return seconds

    def run() -> float:
        y = x
        for _ in range(20):
            y = y[::-1] * 0.5
            y = y + 1
        return float(y[3])

    monkeypatch.setattr(programs, "run_one", run_and_look)
    with xhlo.autocluster(compile_after=10**9):
        run()
        tracemalloc.start()
        assert run() == pytest.approx(2)
        tracemalloc.stop()
    assert held[-1] < 8 * x.nbytes


def test_threads() -> None:
    x = xhlo.asarray(X)
    shared = x * 2
    found: list[Any] = []

    def work() -> None:
        found.extend(float((np.sin(x) + shared * number).sum()) for number in range(20))

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    wanted = [float((np.sin(X) + 2 * X * number).sum()) for number in range(20)]
    np.testing.assert_allclose(sorted(found), sorted(wanted * 4), rtol=1e-9)


def test_the_block() -> None:
    sine, plain = np.sin, np.ones(3)

    def function() -> Any:
        x = np.linspace(0, 1, 8)
        assert type(x) is ClusterArray and type(np.zeros((2, 2))) is ClusterArray
        assert type(np.random.rand(3)) is ClusterArray and np.asarray(plain) is plain
        assert isinstance(np.sin, np.ufunc) and np.add.reduce([1, 2]) == 3 and np.sin == sine
        others: list[type] = []
        thread = threading.Thread(target=lambda: others.append(type(np.zeros(2))))
        thread.start()
        thread.join()
        assert others == [np.ndarray]
        same, copied = np.asarray(x), np.array(x)
        same += 1
        copied += 5
        assert same is x and np.array(x, dtype=np.float32).dtype == np.float32
        x -= 1
        return (np.sin(x) * 2).sum()

    with xhlo.autocluster():
        totals = [float(function()) for _ in range(3)]
    assert np.sin is sine and type(np.zeros(2)) is np.ndarray and type(np.ones(2)) is np.ndarray
    np.testing.assert_allclose(totals, (np.sin(np.linspace(0, 1, 8)) * 2).sum())
    with pytest.raises(ZeroDivisionError), xhlo.autocluster():
        raise ZeroDivisionError
    assert np.sin is sine


def test_asarray() -> None:
    assert xhlo.asarray([[1, 2], [3, 4]]).dtype == np.int64 and xhlo.asarray(3).shape == ()
    x = xhlo.asarray(X)
    assert xhlo.asarray(x) is x and xhlo.asarray(x, np.float32).dtype == np.float32
    with pytest.raises(TypeError, match="cannot record"):
        xhlo.asarray(["text"])


def test_a_jitted_function_takes_them() -> None:
    x = xhlo.asarray(X)
    np.testing.assert_array_equal(xhlo.jit(lambda x, y: x + y)(x * 2, x), X * 2 + X)


# Programs.


def random_program(seed: int) -> Callable[..., Any]:
    rng = random.Random(seed)
    steps = [(rng.randrange(14), rng.random(), rng.random()) for _ in range(rng.randint(4, 12))]

    def run(*arrays: Any) -> Any:
        made = list(arrays)
        for step, first, second in steps:
            a = made[int(first * len(made))]
            b = next(one for one in made if one.shape == a.shape)
            at = int(second * a.shape[0])
            if step == 0:
                made.append(a + 2 * b)
            elif step == 1:
                made.append(np.where(a > b, a, b - 1))
            elif step == 2:
                made.append(a[1:] if len(a) > 1 else a)
            elif step == 3:
                made.append(a[::-2])
            elif step == 4:
                made.append(a.T)
            elif step == 5:
                made.append(a.reshape(-1))
            elif step == 6:
                a += 1
            elif step == 7:
                a *= b
            elif step == 8:
                a[at] = 3
            elif step == 9:
                a[1:] += a[:-1]
            elif step == 10:
                a[a > 2] = 0
            elif step == 11:
                made.append(np.concatenate([a, b]))
            elif step == 12:
                made.append(np.cumsum(a, axis=0))
            else:
                a[...] = np.flip(b)
            made = made[-6:]
        return tuple(made)

    return run


RANDOM = (X, np.arange(12.0).reshape(3, 4) - 6, np.arange(12, dtype=np.float32).reshape(4, 3) / 4)


@pytest.mark.long
def test_random_programs_in_numpy() -> None:
    with xhlo.autocluster(compile_after=10**9):
        for seed in range(150):
            agree(random_program(seed), *RANDOM, times=2)


@pytest.mark.long
def test_random_programs_compiled() -> None:
    with xhlo.autocluster(compile_after=1):
        for seed in range(300, 306):
            agree(random_program(seed), *RANDOM, times=3)
    assert sum(one.compilations for one in known()) >= 6


@pytest.mark.long
def test_functions_of_the_benchmark(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sixty functions give NumPy's results: clustered, and what `jit` makes of them."""
    monkeypatch.syspath_prepend(str(BENCHMARK))
    from functions import CASES
    from measure import compare, leaves, recording

    assert len(CASES) == 60
    arguments = [one.arguments(np.random.default_rng(1), 300) for one in CASES]
    with warnings.catch_warnings(), xhlo.autocluster(compile_after=10**9):
        warnings.simplefilter("error")
        for one, given in zip(CASES, arguments, strict=True):
            recorded = recording(given)
            for _ in range(2):
                compare(one, one.function(*recorded), one.function(*given), "clustered")

    for one, given in zip(CASES, arguments, strict=True):
        # The benchmark compares the compiled programs; here the reference runs them.
        module = xhlo.jit(one.function).lower(*given).module
        entry = next(iter(module.body.ops))
        found = Interpreter(module).call(entry, [np.asarray(each) for each in given])
        compare(one, found, leaves(one.function(*given)), "jitted")
    for name in ("functions", "measure"):
        sys.modules.pop(name)

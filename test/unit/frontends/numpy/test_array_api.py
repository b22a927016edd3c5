"""xhlo.numpy: the array API standard, computed and traced, and a sample of its conformance suite."""

from __future__ import annotations

import copy
import inspect
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

import conformance
import xhlo
import xhlo.numpy as xp
from checkout import SUPPORT
from xhlo.frontends.array_api import eager

SUITE = conformance.ROOT / "array-api-tests"
NEEDED = ("hypothesis", "ndindex", "pytest_jsonreport")
RNG = np.random.default_rng(0)


def array(data: Any, dtype: Any = None) -> Any:
    return xp.asarray(data, dtype=dtype)


def same(found: Any, expected: Any) -> None:
    assert isinstance(found, xp.Array)
    assert found.dtype == np.asarray(expected).dtype
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-12)


# The suite.


@pytest.mark.long
@pytest.mark.skipif(not SUITE.is_dir(), reason=f"the conformance suite is not there: {SUITE}")
@pytest.mark.skipif(not all(map(find_spec, NEEDED)), reason=f"needs {', '.join(NEEDED)}: pip install xhlo[test]")
@pytest.mark.parametrize(
    ("namespace", "files", "compiled"),
    [
        (
            "xhlo.numpy",
            "inspection_functions set_functions signatures statistical_functions",
            "sorting_functions utility_functions",
        ),
        (
            "cluster_namespace",
            "indexing_functions linalg manipulation_functions searching_functions",
            "sorting_functions statistical_functions utility_functions",
        ),
    ],
)
def test_sample_of_the_conformance_suite(tmp_path: Any, namespace: str, files: str, compiled: str) -> None:
    environment = {
        **os.environ,
        "ARRAY_API_TESTS_MODULE": namespace,
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": os.pathsep.join([str(SUITE), str(SUPPORT)]),
        "COMPILED_TESTS": compiled,
    }
    options = [*"-q -p no:cacheprovider -p no:xdist -p compiled_tests -W ignore -c".split(), f"{SUITE}/pytest.ini"]
    options += ["--disable-deadline", "--derandomize", "--max-examples", "1", "--tb", "short"]
    paths = [str(SUITE / "array_api_tests" / f"test_{name}.py") for name in f"{files} {compiled}".split()]
    command = [sys.executable, "-m", "pytest", *options, *paths]
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stdout[-4000:]


# Computed arrays.


def test_arrays_are_of_the_namespace() -> None:
    x = array([1.0, 2.0, 4.0])
    same(x + 1, [2.0, 3.0, 5.0])
    same(np.exp(x), np.exp([1.0, 2.0, 4.0]))
    same(np.sum(x), 7.0)
    same(x.mean(), 7 / 3)
    same(np.multiply.reduce(x), 8.0)
    same(xp.linalg.vector_norm(x), np.sqrt(21))
    assert x.__array_namespace__() is xp is xhlo.numpy
    with pytest.raises(ValueError, match="not 1999"):
        x.__array_namespace__(api_version="1999.12")


def test_numbers_of_python_are_weak_and_no_constants() -> None:
    x = array([1, 2], xp.float32)
    before = eager._program.cache_info().misses
    for number in (1.5, 2.5, 3.5):
        assert (x * number).dtype == xp.float32
    assert eager._program.cache_info().misses <= before + 1
    assert (array([1], xp.uint8) + 1).dtype == xp.uint8
    assert (array([1], xp.int8) * 1.5).dtype == xp.float64
    # Values that are equal in Python but not the same make another program.
    np.testing.assert_array_equal(xp.full_like(x, 0.0), [0, 0])
    assert xp.signbit(xp.full_like(x, -0.0))[0]


def test_an_array_changes_alone() -> None:
    data = np.arange(4.0)
    x = array(data)
    view, shared = x[1:], xp.asarray(x)
    x[1] = 9
    x += 1
    np.testing.assert_array_equal(x, [1, 10, 3, 4])
    np.testing.assert_array_equal(view, [1, 2, 3])
    np.testing.assert_array_equal(data, [0, 1, 2, 3])
    assert shared is x
    copied = xp.asarray(x, copy=True)
    copied[copied > 3] = 0
    np.testing.assert_array_equal(copied, [1, 0, 3, 0])
    np.testing.assert_array_equal(x, [1, 10, 3, 4])
    with pytest.raises(TypeError, match="float64 do not go into an array of int64"):
        xp.asarray([1, 2]).__iadd__(0.5)


def test_copies_change_alone() -> None:
    x = xp.zeros(2)
    copies = [copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x)), xp.asarray(x, copy=True)]
    for one in copies:
        one[0] = 1
        x[1] = 2
        np.testing.assert_array_equal(one, [1, 0])
    np.testing.assert_array_equal(x, [0, 2])
    assert f"{x[1]:.1f} {x}" == "2.0 [0. 2.]"


def test_numbers_and_bytes_of_other_kinds() -> None:
    with pytest.raises(OverflowError, match="1000 out of bounds for int8"):
        array([1], xp.int8) + 1000
    with pytest.raises(OverflowError):
        array([1]) + 2**70
    assert array(np.array([1.0, 2.0], ">f8")).dtype == np.dtype("=f8")
    np.testing.assert_array_equal(np.add(array([1, 2]), [3, 4]), [4, 6])


def test_results_do_not_share_with_arguments() -> None:
    x = array([1.0, 2.0])
    y = +x
    x[0] = 5
    y[1] = 7
    np.testing.assert_array_equal((x, y), [[5, 2], [1, 7]])


@pytest.mark.parametrize("how", ["", "compile"])
def test_infinite_quotients_are_the_standards(monkeypatch: Any, how: str) -> None:
    monkeypatch.setenv("XHLO_EAGER", how)
    x, y = array([np.inf, -np.inf, 7.0, 1.0, np.inf]), array([2.0, 2.0, 2.0, -np.inf, np.inf])
    for found in (xp.floor_divide(x, y), x // y, np.floor_divide(x, y)):
        np.testing.assert_array_equal(found, [np.inf, -np.inf, 3, 0, np.nan])
        assert np.signbit(np.asarray(found)[3])


def test_order() -> None:
    x = array([3.0, np.nan, 1.0, 3.0])
    np.testing.assert_array_equal(xp.sort(x, descending=True), [np.nan, 3, 3, 1])
    np.testing.assert_array_equal(xp.argsort(x, descending=True), [1, 0, 3, 2])
    np.testing.assert_array_equal(xp.argsort(x), [2, 0, 3, 1])


def test_what_is_not_compiled_runs_in_numpy(monkeypatch: Any) -> None:
    x = array([3.0, 1.0, 2.0])
    assert np.array_repr(x > 1) == "array([ True, False,  True])"
    np.testing.assert_array_equal(xp.repeat(x, array([1, 0, 2])), [3, 2, 2])
    np.testing.assert_array_equal(x[x > 1], [3, 2])
    monkeypatch.setenv("XHLO_EAGER", "compile")
    with pytest.raises(xhlo.TraceError, match=r"np\.array_repr is not compiled"):
        np.array_repr(x > 1)
    np.testing.assert_array_equal(xp.nonzero(x > 1)[0], [0, 2])


def test_programs_that_run_often_are_compiled(monkeypatch: Any) -> None:
    x = array(RNG.normal(size=3))
    compiled = []
    monkeypatch.setattr(eager.JitFunction, "__call__", lambda self, *arrays: compiled.append(1) or arrays[0])
    monkeypatch.setattr(eager, "COMPILING", np.inf)
    xp.tanh(x)
    assert not compiled
    monkeypatch.setattr(eager, "COMPILING", 0)
    xp.tanh(x)
    xp.sin(array(np.zeros(eager.FEW_ELEMENTS + 1)))
    assert len(compiled) == 2


@pytest.mark.parametrize(
    ("function", "error"),
    {
        "a device": (lambda: xp.zeros(3, device="tpu"), ValueError),
        "elements": (lambda: xp.asarray(["a"]), TypeError),
        "an index": (lambda: xp.zeros(3)[3], IndexError),
        "shapes": (lambda: xp.zeros(3) + xp.zeros(2), ValueError),
        "a copy that is needed": (lambda: xp.asarray(xp.zeros(3), dtype=xp.int8, copy=False), ValueError),
        "a method": (lambda: xp.zeros(3).nothing(), AttributeError),
        "a method that changes it": (lambda: xp.zeros(3).fill(1), AttributeError),
        "hash": (lambda: hash(xp.zeros(3)), TypeError),
    }.values(),
)
def test_errors(function: Callable[[], Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        function()


def test_a_setting_that_is_unknown(monkeypatch: Any) -> None:
    monkeypatch.setenv("XHLO_EAGER", "compiled")
    with pytest.raises(ValueError, match="XHLO_EAGER is 'compiled'"):
        xp.sum(xp.zeros(3))


def test_functions_have_the_standards_arguments() -> None:
    assert str(inspect.signature(xp.add)) == "(x1, x2, /)"
    assert list(inspect.signature(xp.clip).parameters) == ["x", "min", "max"]
    assert xp.__array_api_version__ == "2024.12"


# In compiled functions.


def test_what_the_suite_found_in_numpys_functions() -> None:
    total = xhlo.jit(lambda x: np.sum(x))(np.full(3, 1 + 2j, np.complex64))
    assert total == 3 + 6j and total.dtype == np.complex64
    zeros = np.array([-0.0, 0.0])
    assert not np.signbit(xhlo.jit(lambda x: np.sign(x))(zeros)).any()
    assert xhlo.jit(lambda x: np.sign(x))(np.array([complex(-0.0, -0.0)]))[0] == 0
    assert xhlo.jit(lambda x, y: np.linalg.solve(x, y))(np.ones((0, 1, 1)), np.ones(1)).shape == (0, 1)
    with pytest.raises(ValueError, match="differ in size along the axis -1"):
        xhlo.jit(lambda x, y: np.vecdot(x, y))(np.ones((2, 1)), np.ones((2, 3)))


def test_the_namespace_in_a_compiled_function() -> None:
    @xhlo.jit
    def normalized(x: Any) -> Any:
        names = x.__array_namespace__()
        kept = names.zeros(x.shape[0])
        kept[0] = names.max(x)
        return (x - names.mean(x)) / names.std(x), kept // names.inf, names.asarray([x[0], 1.0])

    data = RNG.normal(size=4)
    for given in (data, array(data)):
        first, second, third = normalized(given)
        np.testing.assert_allclose(first, (data - data.mean()) / data.std())
        np.testing.assert_array_equal(second, [0, 0, 0, 0])
        np.testing.assert_array_equal(third, [data[0], 1])


def test_arrays_are_constants_of_a_compiled_function() -> None:
    weights = array([1.0, 2.0])
    np.testing.assert_array_equal(xhlo.jit(lambda x: weights * x + xp.sum(weights))(np.ones(2)), [4, 5])


@pytest.mark.long(2)
@pytest.mark.parametrize("traced", [False, True])
def test_sizes_that_are_stated(traced: bool) -> None:
    def run(function: Any, *given: Any) -> Any:
        return xhlo.jit(function)(*given) if traced else function(*map(array, given))

    x = np.array([[3, 0, 1], [2, 0, 0]])
    for size in (2, 3, 5):
        found = run(lambda x, size=size: xp.nonzero(x, size=size, fill_value=-1), x)
        for one, expected in zip(found, np.nonzero(x), strict=True):
            np.testing.assert_array_equal(one, [*expected, -1, -1][:size])
    y = np.array([3.0, 1.0, 3.0, np.nan, 2.0, np.nan])
    values, indices, inverse, counts = run(lambda y: xp.unique_all(y, size=7, fill_value=0), y)
    np.testing.assert_array_equal(values, [1, 2, 3, np.nan, np.nan, 0, 0])
    np.testing.assert_array_equal(indices, [1, 4, 0, 3, 5, 0, 0])
    np.testing.assert_array_equal(counts, [1, 1, 2, 1, 1, 0, 0])
    np.testing.assert_array_equal(inverse, [2, 0, 2, 3, 1, 4])
    np.testing.assert_array_equal(run(lambda y: xp.unique_counts(y, size=2).counts, y[:5]), [1, 1])
    np.testing.assert_array_equal(run(lambda y: xp.unique_values(y, size=2), y[:0]), [0, 0])
    np.testing.assert_array_equal(run(lambda y: xp.nonzero(y, size=2)[0], y[:0]), [0, 0])


def test_sizes_that_are_not_stated_say_so() -> None:
    with pytest.raises(xhlo.TraceError, match=r"test_array_api\.py.*size of the result(.|\n)*size=\.\."):
        xhlo.jit(lambda x: xp.nonzero(x))(np.ones(3))

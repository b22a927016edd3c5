"""
The elementary functions of f64, and remainders, without a C library: run on the CPU, against wider arithmetic.

Errors are in units in the last place of the exact result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from test_math_functions import HAS_WIDE, compiled, evenly, spread, ulps
from xhlo.targets.cpu.target import Cpu

pytestmark = pytest.mark.skipif(not HAS_WIDE, reason="long double is no wider than double here")


@pytest.fixture(autouse=True)
def complete() -> Iterator[None]:
    """expand-math leaves no call of the C library."""
    with pytest.MonkeyPatch.context() as patch:
        lowering = {
            stage: tuple("expand-math{complete=true}" if one == "expand-math" else one for one in passes)
            for stage, passes in Cpu.lowering.items()
        }
        patch.setattr(Cpu, "lowering", lowering)
        yield


def run(op: str, *arguments: np.ndarray) -> np.ndarray:
    # A size that no other test uses, because equal programs are compiled once per process.
    type_ = {np.dtype(np.float32): "f32", np.dtype(np.float64): "f64"}[arguments[0].dtype]
    padded = [np.append(argument, argument[:1]) for argument in arguments]
    return compiled(op, type_, padded[0].size, len(padded))(*padded)[:-1]


def near_multiples_of_half_pi() -> np.ndarray:
    """Arguments of all magnitudes where argument reduction loses digits, including the worst of all f64."""
    n = np.floor(spread(1, 2.0**60, False, 5_000))
    return np.concatenate([n * (math.pi / 2), [6381956970095103.0 * 2.0**797, 5319372648326541.0 * 2.0**255]])


TRIGONOMETRIC = [("sine", np.sin, 1.0), ("cosine", np.cos, 1.0), ("tan", np.tan, 2.0)]
ARGUMENTS = {
    "small": lambda: spread(1e-300, 1, True),
    "usual": lambda: evenly(-100, 100),
    "before large": lambda: evenly(2.0**20 - 100, 2.0**20 + 100, 5_000),
    "all": lambda: spread(1e-20, 1.7e308, True),
    "near multiples": near_multiples_of_half_pi,
}


@pytest.mark.long(4)
@pytest.mark.spread(2)
@pytest.mark.parametrize("name", ARGUMENTS)
@pytest.mark.parametrize(("op", "exact", "bound"), TRIGONOMETRIC)
def test_trigonometric(op: str, exact: Callable[..., np.ndarray], bound: float, name: str) -> None:
    x = ARGUMENTS[name]()
    assert ulps(run(op, x), exact(x.astype(np.longdouble))) <= bound


@pytest.mark.parametrize("op", ["sine", "cosine", "tan"])
def test_trigonometric_of_special_values(op: str) -> None:
    assert np.isnan(run(op, np.array([np.inf, -np.inf, np.nan, 1.0]))[:3]).all()
    zeros = run(op, np.array([0.0, -0.0]))
    assert (zeros == (1 if op == "cosine" else 0)).all()
    assert op == "cosine" or list(np.signbit(zeros)) == [False, True]


def test_power() -> None:
    """Bases of every exponent and close to 1, results from the denormals to beyond the largest number."""
    rng = np.random.default_rng(2)
    near_one = 1 + np.ldexp(rng.uniform(-0.5, 0.5, 20_000), rng.integers(-51, 0, 20_000))
    x = np.concatenate([spread(5e-324, 1.7e308, False), near_one[near_one != 1]])
    x = x[x != 1]
    y = rng.uniform(-1080, 1025, x.size) / np.log2(x.astype(np.longdouble)).astype(np.float64)
    with np.errstate(all="ignore"):
        exact = np.power(x.astype(np.longdouble), y.astype(np.longdouble))
    assert ulps(run("power", x, y), exact) <= 1.0


def test_power_of_special_values() -> None:
    values = np.array(
        [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, 1e300, -1e300, 5e-324, np.inf, -np.inf, np.nan]
    )
    x, y = (grid.ravel() for grid in np.meshgrid(values, values))
    with np.errstate(all="ignore"):
        exact = np.power(x, y)
    actual = run("power", x, y)
    np.testing.assert_allclose(actual, exact, rtol=3e-16, atol=0)
    np.testing.assert_array_equal(np.signbit(actual)[~np.isnan(exact)], np.signbit(exact)[~np.isnan(exact)])


def test_cube_root() -> None:
    x = spread(5e-324, 1.7e308, True)
    assert ulps(run("cbrt", x), np.cbrt(x.astype(np.longdouble))) <= 1.0
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan])
    np.testing.assert_array_equal(run("cbrt", special), special)


def test_angle() -> None:
    size = 40_000
    rng = np.random.default_rng(3)
    x = spread(5e-324, 1.7e308, True, size)
    with np.errstate(all="ignore"):
        y = x * spread(1e-3, 1e3, True, size) * rng.choice([0.0, 1e-30, 1.0, 1e30], size, p=[0.01, 0.09, 0.8, 0.1])
    y[~np.isfinite(y)] = 1.0
    assert ulps(run("atan2", y, x), np.arctan2(y.astype(np.longdouble), x.astype(np.longdouble))) <= 2.0


def test_angle_of_special_values() -> None:
    values = np.array([0.0, -0.0, 1.0, -1.0, 5e-324, -1.7e308, np.inf, -np.inf, np.nan])
    y, x = (grid.ravel() for grid in np.meshgrid(values, values))
    exact = np.arctan2(y, x)
    actual = run("atan2", y, x)
    np.testing.assert_allclose(actual, exact, rtol=1e-15, atol=0)
    np.testing.assert_array_equal(np.signbit(actual)[~np.isnan(exact)], np.signbit(exact)[~np.isnan(exact)])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_remainder_is_exact(dtype: type[np.floating]) -> None:
    info = np.finfo(dtype)
    small, large = float(info.smallest_subnormal), float(info.max) / 2
    x = np.concatenate([spread(small, large, True), spread(1e-3, 1e3, True)]).astype(dtype)
    y = np.concatenate([spread(small, large, True)[::-1], evenly(-10, 10)]).astype(dtype)
    special = np.array([0.0, -0.0, 1.0, -3.5, small, large, np.inf, -np.inf, np.nan], dtype)
    left, right = (grid.ravel() for grid in np.meshgrid(special, special))
    x, y = np.concatenate([x, left]), np.concatenate([y, right])
    with np.errstate(all="ignore"):
        exact = np.fmod(x, y)
    actual = run("remainder", x, y)
    np.testing.assert_array_equal(actual, exact)
    np.testing.assert_array_equal(np.signbit(actual)[~np.isnan(exact)], np.signbit(exact)[~np.isnan(exact)])

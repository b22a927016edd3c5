"""Functions of f64 whose rare arguments are left to the C library: the loops vectorize, and each lane is right."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from test_math_functions import HAS_WIDE, compiled, ulps
from xhlo.targets.cpu.jit import optimize
from xhlo.targets.program.executable import Executable

SIZE = 1003
"""No multiple of any vector's length."""


def mixed() -> np.ndarray:
    """Usual arguments, with rare ones and values that are no numbers among them: alone in a vector, and in all lanes."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-1e4, 1e4, SIZE)
    x[::37] = rng.uniform(1e9, 1e18, x[::37].size)
    x[100:140] = np.ldexp(1.0, np.arange(20, 60)) * 1.1
    x[[5, 300, 301, 302, 1002]] = [np.inf, np.nan, -np.inf, -0.0, 1e300]
    return x


@pytest.mark.skipif(not HAS_WIDE, reason="long double is no wider than double here")
@pytest.mark.parametrize(("op", "exact", "bound"), [("sine", np.sin, 1), ("cosine", np.cos, 1), ("tan", np.tan, 2)])
def test_large_arguments(op: str, exact: Callable[..., np.ndarray], bound: float) -> None:
    x = mixed()
    with np.errstate(invalid="ignore"):
        assert ulps(compiled(op, "f64", SIZE, 1)(x), exact(x.astype(np.longdouble))) <= bound


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_remainders_are_exact(dtype: Any) -> None:
    rng = np.random.default_rng(1)
    x: np.ndarray = (rng.normal(size=SIZE) * np.exp(rng.uniform(-40, 40, SIZE))).astype(dtype)
    y: np.ndarray = (rng.normal(size=SIZE) * np.exp(rng.uniform(-40, 40, SIZE))).astype(dtype)
    # Quotients next to integers, where the rounded one may be the next integer.
    x[:400] = np.nextafter(y[:400] * rng.integers(1, 1000, 400).astype(dtype), rng.choice([-np.inf, np.inf], 400))
    special = np.array(
        [0.0, -0.0, 1.5, np.inf, -np.inf, np.nan, np.finfo(dtype).max, np.finfo(dtype).smallest_subnormal]
    )
    x[400:464], y[400:464] = np.repeat(special, 8), np.tile(special, 8)
    with np.errstate(invalid="ignore"):
        wanted = np.fmod(x, y)
    found = compiled("remainder", "f64" if dtype is np.float64 else "f32", SIZE, 2)(x, y)
    np.testing.assert_array_equal(found, wanted)
    numbers = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(found[numbers]), np.signbit(wanted[numbers]))


@pytest.mark.parametrize(("op", "arity"), [("sine", 1), ("remainder", 2), ("power", 2), ("cbrt", 1), ("atan2", 2)])
def test_loops_vectorize(op: str, arity: int) -> None:
    executable = compiled(op, "f64", SIZE, arity)
    assert isinstance(executable, Executable)
    text = optimize(executable.as_text("llvm"))
    loop = text[text.index("@loop_fusion_0(") :].partition("\n}")[0]
    assert re.search(r"store <\d+ x double>", loop)

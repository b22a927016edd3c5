"""Functions whose rare arguments are left to the C library: the loops vectorize, and each lane is right."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xhlo
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


@pytest.mark.parametrize(
    ("op", "exact", "bound"), [("sine", np.sin, 0.6), ("cosine", np.cos, 0.6), ("tan", np.tan, 1.3)]
)
def test_large_singles(op: str, exact: Callable[..., np.ndarray], bound: float) -> None:
    with np.errstate(invalid="ignore", over="ignore"):
        x = mixed().astype(np.float32)
        # Next to the bound of what is rare.
        x[600:640] = np.ldexp(np.float32(1 - 2**-20), np.arange(31, 71))
        found = compiled(op, "f32", SIZE, 1)(x)
        assert ulps(found, exact(x.astype(np.float64))) <= bound
        few = compiled(op, "f32", 8, 1)
        assert np.array_equal(few(x[96:104]), found[96:104])


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


@pytest.mark.long(3)
@pytest.mark.parametrize(
    ("op", "arity", "type_"),
    [
        *[("sine", 1, "f64"), ("remainder", 2, "f64"), ("power", 2, "f64"), ("cbrt", 1, "f64"), ("atan2", 2, "f64")],
        *[("sine", 1, "f32"), ("tan", 1, "f32"), ("log_plus_one", 1, "f32")],
    ],
)
def test_loops_vectorize(op: str, arity: int, type_: str) -> None:
    executable = compiled(op, type_, SIZE, arity)
    assert isinstance(executable, Executable)
    assert _stores_vectors(executable, type_)


@pytest.mark.parametrize("type_", ["f64", "f32"])
def test_loops_over_remainders_of_a_constant_vectorize(type_: str) -> None:
    """All calls for rare arguments pass the same divisor: the optimizer must not make it part of the function."""
    array = f"tensor<{SIZE}x{type_}>"
    executable = xhlo.compile(f"""func.func @main(%x: {array}) -> {array} {{
      %y = stablehlo.constant dense<1.5> : {array}
      %0 = stablehlo.remainder %x, %y : {array}
      return %0 : {array}
    }}""")
    assert _stores_vectors(executable, type_)
    with np.errstate(invalid="ignore", over="ignore"):
        x = mixed().astype(type_.replace("f", "float"))
        np.testing.assert_array_equal(executable(x), np.fmod(x, x.dtype.type(1.5)))


def _stores_vectors(executable: Executable, type_: str) -> bool:
    text = optimize(executable.as_text("llvm"))
    loop = text[text.index("@loop_fusion_0(") :].partition("\n}")[0]
    return re.search(rf"store <\d+ x {'double' if type_ == 'f64' else 'float'}>", loop) is not None

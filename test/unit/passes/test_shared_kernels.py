"""Kernels whose sizes are arguments (share-kernels): programs of other sizes find their code, and compute the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest

import xhlo
from xhlo.hlo_dialect.numbers import special_functions
from xhlo.targets.cpu import jit
from xhlo.targets.cpu.executable import CpuExecutable

ROWS = """func.func @main(%x: tensor<{0}x{1}xf32>) -> tensor<{0}xf32> {{
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.maximum across dimensions = [1]
      : (tensor<{0}x{1}xf32>, tensor<f32>) -> tensor<{0}xf32>
  return %0 : tensor<{0}xf32>
}}"""
SOFTMAX = """func.func @main(%x: tensor<{0}x{1}xf32>) -> tensor<{0}x{1}xf32> {{
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %least) applies stablehlo.maximum across dimensions = [1]
      : (tensor<{0}x{1}xf32>, tensor<f32>) -> tensor<{0}xf32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<{0}xf32>) -> tensor<{0}x{1}xf32>
  %2 = stablehlo.subtract %x, %1 : tensor<{0}x{1}xf32>
  %3 = stablehlo.exponential %2 : tensor<{0}x{1}xf32>
  %4 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [1]
      : (tensor<{0}x{1}xf32>, tensor<f32>) -> tensor<{0}xf32>
  %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<{0}xf32>) -> tensor<{0}x{1}xf32>
  %6 = stablehlo.divide %3, %5 : tensor<{0}x{1}xf32>
  return %6 : tensor<{0}x{1}xf32>
}}"""
LOG_GAMMA = """func.func @main(%x: tensor<{0}x{1}xf32>) -> tensor<{0}x{1}xf32> {{
  %0 = stablehlo.abs %x : tensor<{0}x{1}xf32>
  %1 = chlo.lgamma %0 : tensor<{0}x{1}xf32> -> tensor<{0}x{1}xf32>
  return %1 : tensor<{0}x{1}xf32>
}}"""
TURNED = """func.func @main(%x: tensor<{0}x{1}xi64>, %y: tensor<{1}xi64>) -> tensor<{0}x{1}xi1> {{
  %large = stablehlo.constant dense<2305843009213693952> : tensor<{0}x{1}xi64>
  %0 = stablehlo.broadcast_in_dim %y, dims = [1] : (tensor<{1}xi64>) -> tensor<{0}x{1}xi64>
  %1 = stablehlo.multiply %x, %0 : tensor<{0}x{1}xi64>
  %2 = stablehlo.compare LT, %1, %large : (tensor<{0}x{1}xi64>, tensor<{0}x{1}xi64>) -> tensor<{0}x{1}xi1>
  return %2 : tensor<{0}x{1}xi1>
}}"""


Array: TypeAlias = np.ndarray[Any, Any]


def maxima(x: Array) -> Array:
    return x.clip(0).max(1)


def softmax(x: Array) -> Array:
    e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def log_gamma(x: Array) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):  # of the branch for negative numbers
        return np.asarray(special_functions.lgamma(np.abs(x.astype(np.float64))))


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XHLO_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("XHLO_CACHE_SIZE", "0")
    monkeypatch.setattr(jit, "_shared", type(jit._shared)())  # pyright: ignore[reportPrivateUsage]


@pytest.fixture
def optimized(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts of programs that LLVM has optimized."""
    found: list[str] = []
    real = jit._optimized  # pyright: ignore[reportPrivateUsage]

    def recorded(text: str, machine: Any, timings: jit.Timings | None, level: int) -> Any:
        if level == jit.LEVEL:
            found.append(text)
        return real(text, machine, timings, level)

    monkeypatch.setattr(jit, "_optimized", recorded)
    return found


@pytest.mark.parametrize(
    ("program", "expected"),
    [(ROWS, maxima), (SOFTMAX, softmax), (LOG_GAMMA, log_gamma)],
    ids=["maximum", "softmax", "lgamma"],
)
def test_other_sizes_need_no_optimizer(program: str, expected: Callable[[Array], Array], optimized: list[str]) -> None:
    """One function, or a second for programs whose last task has fewer rows."""
    # All of them in the same cache: rows of larger ones are asked for from further away.
    sizes = [(64, 1024), (96, 768), (96, 512), (128, 768), (240, 1024)]
    for number, (rows, columns) in enumerate(sizes):
        x = np.random.default_rng(number).standard_normal((rows, columns)).astype(np.float32)
        x[3, 5], x[4] = np.inf if program is ROWS else 80, -1
        result = xhlo.compile(program.format(rows, columns))(x)
        np.testing.assert_allclose(result, expected(x), 1e-5, 1e-7)
    assert 1 <= len(optimized) <= 2


@pytest.mark.parametrize(("rows", "columns"), [(3, 5), (40, 70), (9, 256), (130, 300), (2, 2048)])
def test_numbers_that_are_no_sizes_stay(rows: int, columns: int) -> None:
    """Products of i64 wrap, and a constant may be larger than any size."""
    limits = np.iinfo(np.int64)
    x = np.random.default_rng(rows).integers(limits.min, limits.max, (rows, columns))
    y = np.random.default_rng(columns).integers(limits.min, limits.max, columns)
    result = xhlo.compile(TURNED.format(rows, columns))(x, y)
    np.testing.assert_array_equal(result, x * y < 1 << 61)


def test_the_code_does_not_depend_on_what_is_kept() -> None:
    def code() -> tuple[bytes, ...]:
        executable = xhlo.compile(SOFTMAX.format(32, 512) + f"// {len(jit._shared)}")  # pyright: ignore[reportPrivateUsage]
        assert isinstance(executable, CpuExecutable)
        return executable.image.code

    first = code()
    xhlo.compile(SOFTMAX.format(64, 1024))
    assert code() == first

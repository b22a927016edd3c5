"""Products that widen a factor as they read it: weights in bf16, f16 and int8 are read once, in their own type."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import xhlo

NARROW: dict[str, Any] = {"bf16": ml_dtypes.bfloat16, "f16": np.float16, "i8": np.int8, "i16": np.int16}
WIDE: dict[str, Any] = {"f32": np.float32, "f64": np.float64, "i32": np.int32}
SIZES = [(1, 160, 130), (3, 160, 129), (8, 520, 200), (40, 131, 150)]
"""m, k, n: plain loops, few rows and many."""


def program(narrow: str, wide: str, converted: tuple[bool, bool]) -> str:
    """A product of each size, with B transposed in every other one, whose factors `converted` are widened first."""
    parameters: list[str] = []
    lines: list[str] = []
    results: list[str] = []
    for number, (m, k, n) in enumerate(SIZES):
        names: list[str] = []
        for name, shape, widens in (("a", (m, k), converted[0]), ("b", (n, k) if number % 2 else (k, n), converted[1])):
            sizes = "x".join(map(str, shape))
            parameters.append(f"%{name}{number}: tensor<{sizes}x{narrow if widens else wide}>")
            names.append(f"%{name}{number}")
            if widens:
                types = f"(tensor<{sizes}x{narrow}>) -> tensor<{sizes}x{wide}>"
                lines.append(f"%w{name}{number} = stablehlo.convert %{name}{number} : {types}")
                names[-1] = f"%w{name}{number}"
        b, result = f"{n}x{k}" if number % 2 else f"{k}x{n}", f"tensor<{m}x{n}x{wide}>"
        lines.append(
            f"%r{number} = stablehlo.dot_general {', '.join(names)}, contracting_dims = [1] x [{number % 2}] : "
            f"(tensor<{m}x{k}x{wide}>, tensor<{b}x{wide}>) -> {result}"
        )
        results.append(result)
    body = "\n      ".join(lines)
    values = ", ".join(f"%r{number}" for number in range(len(SIZES)))
    return f"""
    func.func @main({", ".join(parameters)}) -> ({", ".join(results)}) {{
      {body}
      return {values} : {", ".join(results)}
    }}"""


def drawn(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    if np.issubdtype(dtype, np.integer):
        limits = np.iinfo(np.int16 if dtype is np.int32 else dtype)
        return rng.integers(limits.min, limits.max, shape, endpoint=True).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


@pytest.mark.long(3)
@pytest.mark.parametrize(
    "narrow, wide, converted",
    [
        ("bf16", "f32", (False, True)),
        ("i8", "f32", (False, True)),
        ("f16", "f32", (True, True)),
        ("i16", "f64", (True, False)),
        ("i8", "i32", (True, True)),
    ],
)
def test_factors_are_widened_where_they_are_read(narrow: str, wide: str, converted: tuple[bool, bool]) -> None:
    rng = np.random.default_rng(len(narrow))
    arguments: list[np.ndarray] = []
    for number, (m, k, n) in enumerate(SIZES):
        for shape, widens in (((m, k), converted[0]), ((n, k) if number % 2 else (k, n), converted[1])):
            arguments.append(drawn(rng, shape, NARROW[narrow] if widens else WIDE[wide]))
    executable = xhlo.compile(program(narrow, wide, converted))
    wider = np.int64 if wide == "i32" else np.float64
    for number, found in enumerate(executable(*arguments)):
        a, b = (each.astype(wider) for each in arguments[2 * number : 2 * number + 2])
        wanted = a @ (b.T if number % 2 else b)
        if wide == "i32":
            np.testing.assert_array_equal(found, wanted.astype(np.int32))
        else:
            scale = np.abs(a) @ np.abs(b.T if number % 2 else b)
            assert np.max(np.abs(found - wanted) / scale) < (1e-6 if wide == "f32" else 1e-14), SIZES[number]


def test_large_factors_alone_are_converted_in_the_product() -> None:
    """A small one is converted once, by a kernel of its own; what is read elsewhere too, stays."""
    text = program("bf16", "f32", (False, True))
    kernels = xhlo.compile(text).as_text("fused").count("hlo.fusion")
    large = sum(k * n >= 1 << 14 for _, k, n in SIZES)
    assert kernels == 2 * len(SIZES) - large

"""Panels whose parts for one pass are together, where registers are few and a whole panel does not fit the L1 cache."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import xhlo
from cpu_programs import exact_product, on_threads, type_of
from xhlo.lowering.convert_contractions_to_vector import blocking, in_place, split

SHAPES = [
    (50, 1100, 70),  # the last pass is shorter, with edges of both factors
    (130, 1024, 96),
    (301, 2077, 515),
]


@pytest.fixture(autouse=True)
def few_registers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any machine has fewer than it takes to let panels stream."""
    for module in (blocking, in_place, split):
        monkeypatch.setattr(module, "MANY_REGISTERS", 64)


def factors(*shapes: tuple[int, ...], dtype: Any) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


def product(a: np.ndarray, b: np.ndarray, dims: str, result: tuple[int, ...], constant: bool = False) -> str:
    """@main of the product of two arrays, of which the second is a constant or an argument."""
    types = type_of(a), type_of(b), type_of(np.empty(result, a.dtype))
    data = f'  %b = stablehlo.constant dense<"0x{b.tobytes().hex().upper()}"> : {types[1]}\n' if constant else ""
    return f"""func.func @main(%a: {types[0]}{"" if constant else f", %b: {types[1]}"}) -> {types[2]} {{
{data}  %r = stablehlo.dot_general %a, %b, {dims} : ({types[0]}, {types[1]}) -> {types[2]}
  return %r : {types[2]}
}}"""


def check(got: np.ndarray, want: np.ndarray) -> None:
    bound = 2e-5 if got.dtype == np.float32 else 5e-14
    assert np.abs(got - want).max() < bound * np.abs(want).max()


@pytest.mark.long(5)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES)
def test_results(shape: tuple[int, int, int], dtype: Any) -> None:
    m, k, n = shape
    a, b = factors((m, k), (k, n), dtype=dtype)
    (got,) = on_threads(product(a, b, "contracting_dims = [1] x [0]", (m, n)), a, b)
    check(got, exact_product(a, b))


def test_transposed_factors() -> None:
    a, b = factors((1100, 50), (70, 1100), dtype=np.float32)
    got = xhlo.compile(product(a, b, "contracting_dims = [0] x [1]", (50, 70)))(a, b)
    check(got, exact_product(a.T, b.T))


def test_matrices_of_a_batch() -> None:
    a, b = factors((3, 50, 1100), (3, 1100, 70), dtype=np.float32)
    dims = "batching_dims = [0] x [0], contracting_dims = [2] x [1]"
    got = xhlo.compile(product(a, b, dims, (3, 50, 70)))(a, b)
    check(got, np.stack([exact_product(x, y) for x, y in zip(a, b, strict=True)]))


@pytest.mark.parametrize("batch", [(), (3,)])
def test_constants_have_the_bits_of_arguments(batch: tuple[int, ...]) -> None:
    a, b = factors((*batch, 50, 1100), (*batch, 1100, 70), dtype=np.float32)
    dims = f"{'batching_dims = [0] x [0], ' if batch else ''}contracting_dims = [{len(batch) + 1}] x [{len(batch)}]"
    given, constant = (product(a, b, dims, (*batch, 50, 70), inside) for inside in (False, True))
    np.testing.assert_array_equal(xhlo.compile(constant)(a), xhlo.compile(given)(a, b))

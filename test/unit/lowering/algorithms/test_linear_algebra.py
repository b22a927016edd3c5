"""cholesky and triangular_solve: the reference against matrix products, the CPU against the reference."""

from __future__ import annotations

from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import xhlo
from hlo_programs import Program
from xhlo.hlo_dialect.ops.algorithms.linear_algebra import Transpose, factorize, solve

NAMES = {
    "float32": "f32",
    "float64": "f64",
    "complex64": "complex<f32>",
    "complex128": "complex<f64>",
    "float16": "f16",
    "bfloat16": "bf16",
}
DTYPES = [np.dtype(t) for t in (np.float32, np.float64, np.complex64, np.complex128, np.float16, ml_dtypes.bfloat16)]
TOLERANCE = {"float32": 1e-4, "complex64": 1e-4, "float16": 2e-2, "bfloat16": 1e-1}


def numbers(shape: tuple[int, ...], dtype: Any, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(shape)
    return (values + 1j * rng.standard_normal(shape) if dtype.kind == "c" else values).astype(dtype)


def positive(shape: tuple[int, ...], dtype: Any) -> Any:
    a = numbers(shape, dtype).astype(np.complex128 if dtype.kind == "c" else np.float64)
    return (a @ np.conj(np.swapaxes(a, -1, -2)) + shape[-1] * np.eye(shape[-1])).astype(dtype)


def type_of(array: Any) -> str:
    return f"tensor<{''.join(f'{size}x' for size in array.shape)}{NAMES[array.dtype.name]}>"


def both(text: str, *arrays: Any) -> tuple[Any, Any]:
    compiled = xhlo.compile(text)
    assert {kernel.kind for kernel in compiled.kernels} & {"library", "custom"}
    return compiled(*arrays), Program(text).results(*arrays)[0]


def near(actual: Any, expected: Any) -> None:
    tolerance = TOLERANCE.get(expected.dtype.name, 1e-10)
    wide = np.complex128 if expected.dtype.kind == "c" else np.float64
    np.testing.assert_allclose(actual.astype(wide), expected.astype(wide), rtol=tolerance, atol=tolerance)


@pytest.mark.long(3)
@pytest.mark.sample(7)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("shape", [(1, 1), (5, 5), (2, 3, 4, 4), (0, 3, 3), (2, 0, 0)])
def test_cholesky(dtype: Any, lower: bool, shape: tuple[int, ...]) -> None:
    a = positive(shape, dtype)
    type_ = type_of(a)
    text = f"func.func @main(%a: {type_}) -> {type_} {{ %0 = stablehlo.cholesky %a, lower = {str(lower).lower()} : {type_} return %0 : {type_} }}"
    compiled, expected = both(text, a)
    near(compiled, expected)
    adjoint = np.conj(np.swapaxes(expected, -1, -2))
    near((expected @ adjoint if lower else adjoint @ expected).astype(dtype), a)
    assert not np.any((np.triu if lower else np.tril)(expected, 1 if lower else -1))


@pytest.mark.parametrize("dtype", DTYPES[:4], ids=str)
def test_cholesky_reads_one_triangle_and_answers_nan(dtype: Any) -> None:
    a = positive((3, 3), dtype)
    noisy = a + np.triu(np.full((3, 3), 7, dtype), 1)
    near(factorize(noisy, True), factorize(a, True))
    batch = np.stack([a, -a, np.where(np.eye(3) == 1, np.nan, a).astype(dtype), np.zeros_like(a)])
    type_ = type_of(batch)
    text = f"func.func @main(%a: {type_}) -> {type_} {{ %0 = stablehlo.cholesky %a, lower = true : {type_} return %0 : {type_} }}"
    for result in both(text, batch):
        near(result[0], factorize(a, True))
        assert np.isnan(result[1:]).all()


@pytest.mark.long(5)
@pytest.mark.sample(5)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(3, 2), (2, 4, 1), (2, 3, 0), (0, 2)])
def test_triangular_solve(dtype: Any, shape: tuple[int, ...]) -> None:
    for left, lower, unit, transpose in product((True, False), (True, False), (True, False), tuple(Transpose)[1:]):
        size = shape[-2] if left else shape[-1]
        a = (numbers((*shape[:-2], size, size), dtype, 1) / 4 + 2 * np.eye(size)).astype(dtype)
        b = numbers(shape, dtype, 2)
        flags = ", ".join(
            f"{n} = {str(v).lower()}" for n, v in (("left_side", left), ("lower", lower), ("unit_diagonal", unit))
        )
        types = f"({type_of(a)}, {type_of(b)}) -> {type_of(b)}"
        text = (
            f"func.func @main(%a: {type_of(a)}, %b: {type_of(b)}) -> {type_of(b)} {{"
            f'%0 = "stablehlo.triangular_solve"(%a, %b) {{{flags}, transpose_a = #stablehlo<transpose {transpose.value}>}} : {types} return %0 : {type_of(b)} }}'
        )
        expected = Program(text).results(a, b)[0]
        matrices = (np.tril if lower else np.triu)(a)
        if unit:
            matrices = matrices - matrices * np.eye(size, dtype=dtype) + np.eye(size, dtype=dtype)
        if transpose is not Transpose.NO_TRANSPOSE:
            matrices = np.swapaxes(matrices, -1, -2)
        if transpose is Transpose.ADJOINT:
            matrices = np.conj(matrices)
        near((matrices @ expected if left else expected @ matrices).astype(dtype), b)
        if unit or transpose is Transpose.ADJOINT:  # a third of the programs: each is compiled
            near(xhlo.compile(text)(a, b), expected)


def test_a_zero_on_the_diagonal_divides() -> None:
    a = np.array([[0.0, 0.0], [1.0, 2.0]])
    x = solve(a, np.ones((2, 1)), True, True, False, Transpose.NO_TRANSPOSE)
    assert np.isinf(x[0, 0]) and np.isinf(x[1, 0])

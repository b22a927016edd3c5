"""JAX's custom calls beside LAPACK's routines: compiled programs and the reference against XLA:CPU."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xhlo
from hlo_programs import Program

os.environ.setdefault("JAX_PLATFORMS", "cpu")
jax: Any = pytest.importorskip("jax")
jnp: Any = pytest.importorskip("jax.numpy")
lax: Any = pytest.importorskip("jax.lax")
linalg: Any = pytest.importorskip("jax._src.lax.linalg")
sparse: Any = pytest.importorskip("jax.experimental.sparse")

RNG = np.random.default_rng(5)


@pytest.fixture(autouse=True)
def wide_types() -> Any:
    with jax.enable_x64(True):
        yield


def numbers(shape: tuple[int, ...], dtype: Any) -> Any:
    values = RNG.standard_normal(shape)
    return (values + 1j * RNG.standard_normal(shape) if np.dtype(dtype).kind == "c" else values).astype(dtype)


def near(actual: Any, expected: Any) -> None:
    assert actual.dtype == expected.dtype and actual.shape == expected.shape
    if expected.dtype.kind not in "fc":
        np.testing.assert_array_equal(actual, expected)
        return
    tolerance = 1e-4 if expected.dtype in (np.float32, np.complex64) else 1e-10
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)


def agree(text: str, expected: list[Any], arrays: tuple[Any, ...]) -> xhlo.Executable:
    exe = xhlo.compile(text)
    compiled = exe(*arrays)
    compiled = compiled if isinstance(compiled, tuple) else (compiled,)
    interpreted = Program(text).results(*arrays)
    for ours, reference, theirs in zip(compiled, interpreted, expected, strict=True):
        near(ours, theirs)
        near(reference, theirs)
    return exe


def check(function: Callable[..., Any], *arguments: Any, target: str) -> xhlo.Executable:
    lowered = jax.jit(function).lower(*arguments)
    text = lowered.as_text()
    assert f"@{target}(" in text
    expected = [np.asarray(value) for value in jax.tree.leaves(lowered.compile()(*arguments))]
    return agree(text, expected, tuple(np.asarray(value) for value in jax.tree.leaves(arguments)))


@pytest.mark.long(6)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
def test_qr_of_platforms_without_a_rule(dtype: Any) -> None:
    x = numbers((2, 5, 4), dtype)
    vectors, tau = (np.asarray(value) for value in linalg.geqrf(x))
    text = jax.jit(linalg.geqrf).trace(x).lower(lowering_platforms=("tpu",)).as_text()
    assert "@Qr(" in text
    agree(text, [vectors, tau], (x,))
    text = jax.jit(linalg.householder_product).trace(vectors, tau).lower(lowering_platforms=("tpu",)).as_text()
    assert "@ProductOfElementaryHouseholderReflectors(" in text
    agree(text, [np.asarray(linalg.householder_product(vectors, tau))], (vectors, tau))


@pytest.mark.parametrize("lower", [True, False])
def test_eigenvalues_of_platforms_without_a_rule(lower: bool) -> None:
    """XLA's own `Eigh`, which TensorFlow writes for all platforms."""
    x = numbers((2, 4, 4), np.float32)

    def eigh(x: Any) -> Any:
        return lax.linalg.eigh(x, lower=lower, symmetrize_input=False)

    text = jax.jit(eigh).trace(x).lower(lowering_platforms=("tpu",)).as_text()
    assert "@Eigh(" in text
    vectors, values = xhlo.compile(text)(x)
    symmetric = (
        np.tril(x) + np.swapaxes(np.tril(x, -1), 1, 2) if lower else np.triu(x) + np.swapaxes(np.triu(x, 1), 1, 2)
    )
    np.testing.assert_allclose(values, np.linalg.eigvalsh(symmetric), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(symmetric @ vectors, vectors * values[:, None, :], atol=1e-4)


def test_qr_of_what_lapack_does_not_know() -> None:
    text = """func.func @main(%x: tensor<4x4xf16>) -> (tensor<4x4xf16>, tensor<4xf16>) {
  %0:2 = stablehlo.custom_call @Qr(%x) : (tensor<4x4xf16>) -> (tensor<4x4xf16>, tensor<4xf16>)
  return %0#0, %0#1 : tensor<4x4xf16>, tensor<4xf16>
}"""
    with pytest.raises(xhlo.DiagnosticError, match="calls 'Qr' wrongly: its elements are float16"):
        xhlo.compile(text)


@pytest.mark.long(3)
@pytest.mark.spread(2)
@pytest.mark.parametrize("full", [True, False])
@pytest.mark.parametrize("shape", [(6, 4), (4, 6), (5, 5)])
def test_singular_values_alone(shape: tuple[int, int], full: bool) -> None:
    """JAX states full or thin shapes for the vectors that it does not request."""
    x = numbers(shape, np.float32)
    check(lambda x: lax.linalg.svd(x, full_matrices=full, compute_uv=False), x, target="lapack_sgesdd_ffi")


@pytest.mark.long(5)
@pytest.mark.spread(2)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("shape", [(1,), (2,), (3, 7), (0,), (2, 0), (0, 3)])
def test_perturbed_tridiagonal_systems(shape: tuple[int, ...], dtype: Any) -> None:
    diagonals, b = [numbers(shape, dtype) for _ in range(3)], numbers((*shape, 3), dtype)
    check(_perturbed, *diagonals, b, target="tridiagonal_solve_perturbed_ffi")


def _perturbed(lower: Any, diagonal: Any, upper: Any, b: Any) -> Any:
    return lax.linalg.tridiagonal_solve(lower, diagonal, upper, b, perturb_singular=True)


@pytest.mark.parametrize("diagonal", [[0, 0, 0, 0], [1, 0, 1, 1], [2, 3, 4, 5]])
@pytest.mark.parametrize("side", [0, 1])
def test_singular_tridiagonal_systems(diagonal: list[int], side: int) -> None:
    d, other, b = np.array(diagonal, np.float32), np.full(4, side, np.float32), np.ones((4, 1), np.float32)
    check(_perturbed, other, d, other, b, target="tridiagonal_solve_perturbed_ffi")


@pytest.mark.long
@pytest.mark.sample(7)
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, np.complex64, np.complex128])
@pytest.mark.parametrize("indices", [np.int32, np.int64])
@pytest.mark.parametrize("shape", [(6,), (6, 4)])
def test_sparse_times_dense(dtype: Any, indices: Any, shape: tuple[int, ...]) -> None:
    matrix = sparse.BCSR.fromdense(RNG.integers(0, 3, (5, 6)).astype(dtype), index_dtype=indices)
    dense = RNG.integers(-5, 5, shape).astype(dtype)
    exe = check(lambda m, x: m @ x, matrix, dense, target="cpu_csr_sparse_dense_ffi")
    assert all(kernel.kind not in ("library", "callback") for kernel in exe.kernels)


def test_sparse_columns_outside_count_as_zero() -> None:
    text = """func.func @main(%d: tensor<4xf32>, %s: tensor<3xi32>, %c: tensor<4xi32>, %x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.custom_call @cpu_csr_sparse_dense_ffi(%d, %s, %c, %x)
    : (tensor<4xf32>, tensor<3xi32>, tensor<4xi32>, tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}"""
    starts, columns = np.array([0, 2, 9], np.int32), np.array([0, -1, 1, 2], np.int32)
    arrays = (np.array([1, 2, 3, 4], np.float32), starts, columns, np.array([10, 100], np.float32))
    agree(text, [np.array([10, 300], np.float32)], arrays)


@pytest.mark.parametrize(("starts", "wanted"), [([1, 3, 3], [50, 0]), ([-4, 0, 9], [0, 100]), ([9, 9, 9], [0, 0])])
def test_sparse_places_before_the_first_row_and_past_the_data_are_left_out(
    starts: list[int], wanted: list[int]
) -> None:
    text = """func.func @main(%d: tensor<4xi32>, %s: tensor<3xi64>, %c: tensor<4xi64>, %x: tensor<1x1xi32>) -> tensor<2x1xi32> {
  %0 = stablehlo.custom_call @cpu_csr_sparse_dense_ffi(%d, %s, %c, %x)
    : (tensor<4xi32>, tensor<3xi64>, tensor<4xi64>, tensor<1x1xi32>) -> tensor<2x1xi32>
  return %0 : tensor<2x1xi32>
}"""
    columns, dense = np.zeros(4, np.int64), np.array([[10]], np.int32)
    arrays = (np.array([1, 2, 3, 4], np.int32), np.array(starts, np.int64), columns, dense)
    agree(text, [np.array(wanted, np.int32)[:, None]], arrays)


@pytest.mark.parametrize(("count", "rows", "columns"), [(0, 2, 3), (3, 2, 0), (3, 0, 2)])
def test_sparse_matrices_without_elements(count: int, rows: int, columns: int) -> None:
    text = f"""func.func @main(%d: tensor<{count}xf32>, %s: tensor<{rows + 1}xi32>, %c: tensor<{count}xi32>,
    %x: tensor<{columns}xf32>) -> tensor<{rows}xf32> {{
  %0 = stablehlo.custom_call @cpu_csr_sparse_dense_ffi(%d, %s, %c, %x) : (tensor<{count}xf32>,
    tensor<{rows + 1}xi32>, tensor<{count}xi32>, tensor<{columns}xf32>) -> tensor<{rows}xf32>
  return %0 : tensor<{rows}xf32>
}}"""
    starts = np.minimum(np.arange(rows + 1), count).astype(np.int32)
    arrays = (np.ones(count, np.float32), starts, np.zeros(count, np.int32), np.ones(columns, np.float32))
    agree(text, [np.zeros(rows, np.float32)], arrays)


@pytest.mark.long(3)
@pytest.mark.spread(2)
@pytest.mark.parametrize("aggregate", [True, False])
@pytest.mark.parametrize("dimension", [0, -1])
@pytest.mark.parametrize("function", [lax.approx_max_k, lax.approx_min_k])
def test_approximate_top_k(function: Any, dimension: int, aggregate: bool) -> None:
    x = RNG.permutation(3 * 350).astype(np.float32).reshape(3, 350)
    exe = check(
        lambda x: function(x, 2, reduction_dimension=dimension, aggregate_to_topk=aggregate), x, target="ApproxTopK"
    )
    assert all(kernel.kind not in ("library", "callback") for kernel in exe.kernels)


TOP_K = """func.func private @order(%a: tensor<f32>, %b: tensor<f32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<i1> {
  %0 = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
  return %0 : tensor<i1>
}
func.func @main(%x: tensor<5xf32>, %i: tensor<5xi32>) -> (tensor<2xf32>, tensor<2xi32>) {
  %a = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %b = stablehlo.constant dense<-1> : tensor<i32>
  %0:2 = stablehlo.custom_call @ApproxTopK(%x, %i, %a, %b) {
    called_computations = [@NAME], mhlo.backend_config = {reduction_dim = DIM : i64}
  } : (tensor<5xf32>, tensor<5xi32>, tensor<f32>, tensor<i32>) -> (tensor<2xf32>, tensor<2xi32>)
  return %0#0, %0#1 : tensor<2xf32>, tensor<2xi32>
}"""


def test_approximate_top_k_of_a_private_comparator() -> None:
    x, indices = np.array([3, 1, 5, 4, 2], np.float32), np.array([7, 8, 9, 10, 11], np.int32)
    text = TOP_K.replace("NAME", "order").replace("DIM", "0")
    agree(text, [np.array([5, 4], np.float32), np.array([9, 10], np.int32)], (x, indices))


@pytest.mark.parametrize(
    ("name", "dimension", "message"),
    [("other", "0", "needs one called computation"), ("order", "1", "attribute reduction_dim is 1")],
)
def test_wrong_calls_of_approximate_top_k(name: str, dimension: str, message: str) -> None:
    with pytest.raises(xhlo.DiagnosticError, match=message):
        xhlo.compile(TOP_K.replace("NAME", name).replace("DIM", dimension))


def test_a_sink_of_values_vanishes() -> None:
    text = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = stablehlo.add %x, %x : tensor<4xf32>
  stablehlo.custom_call @dce_sink(%y) {has_side_effect = true} : (tensor<4xf32>) -> ()
  return %x : tensor<4xf32>
}"""
    x = np.arange(4, dtype=np.float32)
    exe = agree(text, [x], (x,))
    assert all(kernel.kind != "callback" for kernel in exe.kernels)

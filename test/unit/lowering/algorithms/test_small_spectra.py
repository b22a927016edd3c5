"""Eigenvalues and singular values of batches of small matrices: one in each lane of vectors, against NumPy."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

import xhlo
from hlo_programs import Program
from test_ahead_lapack import LETTER, REAL, L, N, S, U, V, program
from test_ahead_unblocked import Call, adjoint, near, results, special, types


def batch(rows: int, columns: int, dtype: Any) -> Any:
    """Matrices of every kind; the last one is not finite."""
    size = max(rows, columns) + max(rows, columns) % 2
    x = np.ascontiguousarray(special(size, dtype, rows)[:, :rows, :columns])
    x[-1, 1, 0] = np.nan
    return x


@pytest.mark.long
@pytest.mark.parametrize(("element", "dtype", "n"), [("f32", np.float32, 5), ("f64", np.float64, 4)])
def test_symmetric_eigenvalues(element: str, dtype: Any, n: int) -> None:
    x = batch(n, n, dtype)
    x = (x + adjoint(x)) / 2
    t = types(len(x), element)
    name, kinds = f"lapack_{'s' if element == 'f32' else 'd'}syevd_ffi", [t(n, n), t(n), t(of="i32")]
    modes = ((V, L), (N, L), (N, U))
    made: list[Call] = [(name, {"mode": mode, "uplo": uplo}, [t(n, n)], kinds) for mode, uplo in modes]
    v, d, info, _, d1, info1, _, d2, info2 = results(made, [np.tril(x), np.tril(x), np.triu(x)])
    near(d1[:-1], d2[:-1], np.maximum(np.abs(x[:-1]).max(axis=(1, 2)), 1e-30))
    assert list(info1) == list(info2)
    assert list(info) == list(info2) == [0] * (len(x) - 1) + [1] and np.isnan(d[-1]).all()
    x, v, d, d2 = (each[:-1] for each in (x, v, d, d2))
    size = np.maximum(np.abs(x).max(axis=(1, 2)), 1e-30)
    near(d, cast("Any", np.linalg).eigvalsh(x.astype(np.float64)).astype(dtype), size)
    near(d2, d, size)
    near(x @ v, v * d[:, None, :], size)
    near(adjoint(v) @ v, np.broadcast_to(np.eye(n, dtype=dtype), v.shape), 1)


@pytest.mark.long(5)
@pytest.mark.parametrize(
    ("element", "n"), [(element, n) for element in LETTER for n in ((1, 2, 3) if "32" in element else (2, 5, 7))]
)
def test_eigenvectors_have_the_signs_of_lapack(element: str, n: int) -> None:
    """The loops take the steps that LAPACK takes, upwards and downwards, in blocks too. A rounding may add a step."""
    dtype = {"f32": "f4", "f64": "f8", "complex<f32>": "c8", "complex<f64>": "c16"}[element]
    rng = np.random.default_rng(n)
    x: Any = rng.standard_normal((9, n, n))
    x = x + 1j * rng.standard_normal(x.shape) if dtype[0] == "c" else x
    x[1] *= np.geomspace(1, 1e-3, n)[:, None] * np.geomspace(1, 1e-3, n)
    x[2] *= np.geomspace(1e-3, 1, n)[:, None] * np.geomspace(1e-3, 1, n)
    x[3] *= np.eye(n)
    x[4, : n // 2, n // 2 :] = x[4, n // 2 :, : n // 2] = 0
    x = (x + adjoint(x)).astype(dtype)
    t = types(len(x), element)
    kinds = [t(n, n), t(n, of=REAL[element]), t(of="i32")]
    name = f"lapack_{LETTER[element]}{'he' if dtype[0] == 'c' else 'sy'}evd_ffi"
    text = program([(name, {"mode": V, "uplo": L}, [t(n, n)], kinds)])
    decomposed = Program(text).after("decompose-hlo{native-calls=true}")
    assert "@xhlo.unblocked" in str(decomposed.module)
    expected = Program(text).results(x)
    for ours, meant in zip(xhlo.compile(text)(x), expected, strict=True):
        np.testing.assert_allclose(ours, meant, atol=(2e-4 if dtype in ("f4", "c8") else 1e-11) * np.abs(meant).max())


@pytest.mark.parametrize(("element", "shape"), [("f32", (3, 3)), ("f32", (5, 4)), ("f64", (2, 2)), ("f64", (9, 7))])
def test_singular_vectors_have_the_signs_of_lapack(element: str, shape: tuple[int, int]) -> None:
    """Blocks are chased downwards and upwards, with and without shifts; a matrix of rank 1, zeros, and one with NaN."""
    dtype, (m, n) = {"f32": np.float32, "f64": np.float64}[element], shape
    rng = np.random.default_rng(m)
    x: Any = rng.standard_normal((9, m, n))
    sizes = np.geomspace(1, 1e-4, n)
    x[1], x[2], x[3] = x[1] * sizes, x[2] * sizes[::-1], np.triu(x[3])
    x[4] *= np.eye(m, n)
    x[5], x[6], x[7, 1, 1] = 0, x[6, :, :1] * x[6, :1], np.nan
    x = x.astype(dtype)
    t = types(len(x), element)
    kinds = [t(m, n), t(n), t(m, n), t(n, n), t(of="i32")]
    text = program([(f"lapack_{LETTER[element]}gesdd_ffi", {"mode": S}, [t(m, n)], kinds)])
    decomposed = Program(text).after("decompose-hlo{native-calls=true}")
    assert "@xhlo.unblocked" in str(decomposed.module)
    _, s, u, vt, info = xhlo.compile(text)(x)
    _, s0, u0, vt0, info0 = Program(text).results(x)
    np.testing.assert_array_equal(info, info0)
    assert info[7] == -4
    x, s, u, vt, s0, u0, vt0 = (np.delete(each, 7, axis=0) for each in (x, s, u, vt, s0, u0, vt0))
    size = np.maximum(np.abs(x).max(axis=(1, 2)), 1e-30)
    near(s, s0, size)
    near((u * s[:, None, :]) @ vt, x, size)
    for side in (u, adjoint(vt)):
        near(adjoint(side) @ side, np.broadcast_to(np.eye(n, dtype=dtype), (len(x), n, n)), 1)
    # Vectors of singular values that are equal to a rounding are free.
    distinct = [0, 1, 2, 3, 4, 7]
    tolerance = 1e-2 if element == "f32" else 1e-9
    np.testing.assert_allclose(u[distinct], u0[distinct], atol=tolerance)
    np.testing.assert_allclose(vt[distinct], vt0[distinct], atol=tolerance)


def test_singular_values() -> None:
    """Tall, wide and square matrices; those that are not finite have -4 for info, and zeros."""
    made: list[Call] = []
    inputs: list[Any] = []
    for rows, columns, dtype in ((7, 3, np.float32), (3, 6, np.float32), (4, 4, np.float64)):
        inputs.append(batch(rows, columns, dtype))
        t, k = types(len(inputs[-1]), "f32" if dtype == np.float32 else "f64"), min(rows, columns)
        kinds = [t(rows, columns), t(k), t(rows, rows), t(columns, columns), t(of="i32")]
        name = f"lapack_{'s' if dtype == np.float32 else 'd'}gesdd_ffi"
        made.append((name, {"mode": N}, [t(rows, columns)], kinds))
    text = program(made)
    decomposed = Program(text).after("decompose-hlo{native-calls=true}")
    assert str(decomposed.module).count("@xhlo.unblocked") == 3
    executable = xhlo.compile(text)
    assert not executable.facts.host_calls
    found = executable(*inputs)
    for number, x in enumerate(inputs):
        _, s, u, vt, info = found[number * 5 : number * 5 + 5]
        assert list(info) == [0] * (len(x) - 1) + [-4]
        assert not s[-1].any() and not u.any() and not vt.any()
        size = np.maximum(np.abs(x[:-1]).max(axis=(1, 2)), 1e-30)
        wanted = cast("Any", np.linalg).svd(x[:-1].astype(np.float64), compute_uv=False)
        near(s[:-1], wanted.astype(x.dtype), size)


def test_vectors_that_nothing_uses_are_not_computed() -> None:
    """The JIT leaves those of an upper triangle that are used to LAPACK, whose signs they have then."""
    x = batch(5, 5, np.float32)[:9]
    x = (x + adjoint(x)) / 2
    for use, calls in (("", 0), (", %v", 1)):
        kinds = "tensor<9x5xf32>" + (", tensor<9x5x5xf32>" if use else "")
        executable = xhlo.compile(f"""func.func @main(%a: tensor<9x5x5xf32>) -> ({kinds}) {{
          %0:3 = hlo.custom_call @lapack_ssyevd_ffi(%a) {{mhlo.backend_config = {{mode = {V} : ui8, uplo = {U} : ui8}}}}
            : (tensor<9x5x5xf32>) -> (tensor<9x5x5xf32>, tensor<9x5xf32>, tensor<9xi32>)
          %v = hlo.negate %0#0 : tensor<9x5x5xf32>
          return %0#1{use} : {kinds}
        }}""")
        assert len(executable.facts.host_calls) == calls
        found = executable(x)
        wanted = cast("Any", np.linalg).eigvalsh(x.astype(np.float64))
        np.testing.assert_allclose(found[0] if use else found, wanted, rtol=1e-4, atol=1e-4)


def test_vectors_that_only_unused_values_read() -> None:
    """They are not computed; each of these values reads the one before twice, in 2^60 ways in all."""
    square = "tensor<4x4xf32>"
    lines = "\n".join(f"  %{i + 1} = hlo.add %{i}, %{i} : {square}" for i in range(60))
    text = f"""func.func @main(%a: {square}) -> tensor<4xf32> {{
  %r:5 = hlo.custom_call @lapack_sgesdd_ffi(%a) {{mhlo.backend_config = {{mode = {S} : ui8}}, api_version = 4 : i32}}
       : ({square}) -> ({square}, tensor<4xf32>, {square}, {square}, tensor<i32>)
  %0 = hlo.transpose %r#2, dims = [1, 0] : ({square}) -> {square}
{lines}
  func.return %r#1 : tensor<4xf32>
}}"""
    assert "mode = 78" in str(Program(text).after("decompose-hlo{native-calls=true}").module)
    x = np.random.default_rng(0).standard_normal((4, 4)).astype(np.float32)
    np.testing.assert_allclose(xhlo.compile(text)(x), np.linalg.svd(x, compute_uv=False), rtol=1e-5)

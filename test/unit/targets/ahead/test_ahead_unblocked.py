"""LAPACK's routines as loops of a program compiled ahead of time, without LAPACK: against their definitions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import pytest

import xhlo
from test_ahead_lapack import LETTER, REAL, A, L, N, S, U, V, lapack_calls, program, ran, values
from xhlo.targets.ahead.library import compile_ahead

Call = tuple[str, dict[str, Any], list[str], list[str]]

SIGNED = ("geqrf", "geqp3", "gqr", "mqr", "gehrd", "trd", "potrf", "getrf", "trsm")
"""Routines whose results have no freedom of signs."""


def results(made: Sequence[Call], inputs: Sequence[Any]) -> list[Any]:
    text = program(made)
    library = compile_ahead(text, cpu="host", external=False)
    assert not [name for name in library.undefined_symbols if name.endswith("_")]
    return ran(library, inputs, [np.empty(t.shape, t.dtype) for t in xhlo.compile(text).output_types])


def adjoint(x: Any) -> Any:
    return np.conj(np.swapaxes(x, -1, -2))


def near(x: Any, y: Any, size: Any) -> None:
    """Compare to 400 roundings of `size`, the largest elements of the matrices of a batch."""
    eps = np.finfo(x.dtype).eps
    assert x.shape == y.shape
    error = np.abs(np.asarray(x) - y).max(axis=tuple(range(1, x.ndim)))
    assert (error <= 400 * eps * size).all(), error / (eps * size)


def special(n: int, dtype: Any, seed: int) -> Any:
    """Square matrices of every kind: random, singular, defective, scaled, with pairs of eigenvalues of one size."""
    rng = np.random.default_rng(seed)

    def random(*shape: int) -> Any:
        x: Any = rng.standard_normal(shape)
        return x + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else x

    turn = np.kron(np.eye(n // 2), [[0.0, 1.0], [-1.0, 0.0]])
    made = [random(n, n), random(n, n), np.zeros((n, n)), np.eye(n), np.triu(random(n, n)), np.tril(random(n, n))]
    made += [np.eye(n, k=1), 3 * np.eye(n) + np.eye(n, k=1), np.roll(np.eye(n), 1, axis=0), np.ones((n, n))]
    made += [random(n, 2) @ random(2, n), random(n, n) * 2.0**60, random(n, n) * 2.0**-60, turn]
    return np.array(made).astype(dtype)


def types(count: int, element: str) -> Any:
    def t(*shape: int, of: str = element) -> str:
        return f"tensor<{'x'.join([*map(str, (count, *shape)), of])}>"

    return t


@pytest.mark.long
@pytest.mark.parametrize("element", ["f32", "complex<f64>"])
def test_factors_are_those_of_lapack(element: str) -> None:
    """Every routine without freedom of signs, and both kinds of tridiagonal systems, as the JIT gives them."""
    made = [each for each in lapack_calls(element) if each[0][8:-4] in SIGNED or each[0][7:-4].endswith(SIGNED)]
    made = [(name, stated, a, b) for name, stated, a, b in made if "66x" not in a[0]]
    lower = next(each for each in made if each[0].endswith("trd_ffi"))
    made.append((lower[0], {"uplo": L}, *lower[2:]))
    text = program(made)
    executable = xhlo.compile(text)
    inputs = [x / max(1, x.shape[-1]) if x.dtype.kind != "i" else x for x in values(executable.input_types, 3)]
    names = [name for name, _, _, types in made for _ in types]
    for name, found, wanted in zip(names, results(made, inputs), executable.compute(inputs, None), strict=True):
        tolerance = 1e-3 if element == "f32" else 1e-9
        np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance, err_msg=name)


@pytest.mark.long
@pytest.mark.parametrize("element", ["f64", "complex<f32>"])
def test_eigenvalues_and_schur_forms(element: str) -> None:
    n, letter, pairs = 8, LETTER[element], 1 if element.startswith("c") else 2
    dtype = {"f64": np.float64, "complex<f32>": np.complex64}[element]
    x = special(n, dtype, 1)
    x = np.concatenate([x, x[:1]])
    x[-1, 2, 3] = np.inf
    t = types(len(x), element)
    info, wide = t(of="i32"), t(n, n, of=f"complex<{REAL[element]}>")
    made: list[Call] = [
        (
            f"lapack_{letter}geev_ffi",
            {"compute_left": V, "compute_right": V},
            [t(n, n)],
            [*[t(n)] * pairs, wide, wide, info],
        ),
        (
            f"lapack_{letter}geev_ffi",
            {"compute_left": N, "compute_right": N},
            [t(n, n)],
            [*[t(n)] * pairs, wide, wide, info],
        ),
        (
            f"lapack_{letter}gees_ffi",
            {"mode": V, "sort": N},
            [t(n, n)],
            [t(n, n), t(n, n), *[t(n)] * pairs, info, info],
        ),
    ]
    found = results(made, [x, x, x])
    parts, found = found[:pairs], found[pairs:]
    left, right, failed = found[:3]
    alone, form, vectors = found[3 : 3 + pairs], found[6 + pairs], found[7 + pairs]
    assert failed[-1] == -4 and not failed[:-1].any() and not right[-1].any() and np.isnan(form[-1]).all()
    w, values = (side[0] if pairs == 1 else side[0] + 1j * side[1] for side in (parts, alone))
    x, w, left, right, form, vectors = (each[:-1] for each in (x, w, left, right, form, vectors))
    size = np.maximum(np.abs(x).max(axis=(1, 2)), 1e-30)
    near(x @ right, right * w[:, None, :], size)
    near(adjoint(left) @ x, w[:, :, None] * adjoint(left), size)
    near(np.linalg.norm(right, axis=1), np.ones(w.shape), 1)
    near(np.linalg.norm(left, axis=1), np.ones(w.shape), 1)
    near(vectors @ form @ adjoint(vectors), x, size)
    near(adjoint(vectors) @ vectors, np.broadcast_to(np.eye(n), x.shape), 1)
    assert not np.tril(form, -pairs).any()
    # Random matrices have eigenvalues that are not sensitive.
    for number in (0, 1):
        assert np.abs(w[number][:, None] - values[number]).min(axis=0).max() < 1e-3 * size[number]
        wanted: Any = cast("Any", np.linalg).eigvals(x[number].astype(np.complex128))
        assert np.abs(w[number][:, None] - wanted).min(axis=0).max() < 1e-3 * size[number]
    if pairs == 2:
        real = np.broadcast_to(np.isreal(w)[:, None, :], right.shape)
        assert np.isreal(right[real]).all()


@pytest.mark.long(2)
@pytest.mark.parametrize("element", ["f32", "complex<f64>"])
def test_symmetric_eigenvalues(element: str) -> None:
    n, letter = 7, LETTER[element]
    x = special(n + 1, {"f32": np.float32, "complex<f64>": np.complex128}[element], 2)[:, :n, :n]
    x = (x + adjoint(x)) / 2
    x = np.concatenate([x, x[:1]])
    x[-1, 3, 2] = x[-1, 2, 3] = np.nan
    t, name = types(len(x), element), "heevd" if element.startswith("c") else "syevd"
    kinds = [t(n, n), t(n, of=REAL[element]), t(of="i32")]
    made: list[Call] = [
        (f"lapack_{letter}{name}_ffi", {"mode": mode, "uplo": uplo}, [t(n, n)], kinds)
        for mode, uplo in ((V, L), (V, U), (N, L))
    ]
    below, above = np.tril(x), np.triu(x)
    found = results(made, [below, above, below])
    (v, d, info), (v2, d2, _), (_, d3, _) = found[:3], found[3:6], found[6:]
    assert info[-1] and not info[:-1].any() and np.isnan(d[-1]).all()
    size = np.maximum(np.abs(x[:-1]).max(axis=(1, 2)), 1e-30)
    for vectors, numbers in ((v, d), (v2, d2)):
        vectors, numbers = vectors[:-1], numbers[:-1]
        near(x[:-1] @ vectors, vectors * numbers[:, None, :], size)
        near(adjoint(vectors) @ vectors, np.broadcast_to(np.eye(n, dtype=x.dtype), vectors.shape), 1)
        near(numbers, np.linalg.eigvalsh(x[:-1].astype(np.complex128)).astype(numbers.dtype), size)
        near(d3[:-1], numbers, size)


@pytest.mark.long(2)
@pytest.mark.parametrize(
    ("element", "cases"),
    [("f64", [(8, 5, S), (5, 8, N)]), ("complex<f32>", [(5, 8, A), (6, 6, S)])],
    ids=["f64", "c64"],
)
def test_singular_values(element: str, cases: list[tuple[int, int, int]]) -> None:
    letter, real = LETTER[element], REAL[element]
    whole = special(8, {"f64": np.float64, "complex<f32>": np.complex64}[element], 3)
    whole[-1, 1, 1] = np.nan
    t, info = types(len(whole), element), types(len(whole), "i32")()
    made: list[Call] = []
    inputs: list[Any] = []
    for rows, columns, mode in cases:
        k = min(rows, columns)
        u, vt = (k, k) if mode == S else (rows, columns)
        kinds = [t(rows, columns), t(k, of=real), t(rows, u), t(vt, columns), info]
        made.append((f"lapack_{letter}gesdd_ffi", {"mode": mode}, [t(rows, columns)], kinds))
        inputs.append(np.ascontiguousarray(whole[:, :rows, :columns]))
    found = results(made, inputs)
    for number, (given, (_, stated, *_)) in enumerate(zip(inputs, made, strict=True)):
        _, s, u, vt, failed = found[number * 5 : number * 5 + 5]
        assert failed[-1] == -4 and not failed[:-1].any() and not s[-1].any()
        x, s, u, vt = (each[:-1] for each in (given, s, u, vt))
        k, size = s.shape[-1], np.maximum(np.abs(x).max(axis=(1, 2)), 1e-30)
        near(s, np.linalg.svd(x.astype(np.complex128), compute_uv=False).astype(s.dtype), size)
        if stated["mode"] == N:
            continue
        near((u[..., :k] * s[:, None, :]) @ vt[:, :k], x, size)
        near(adjoint(u) @ u, np.broadcast_to(np.eye(u.shape[-1], dtype=x.dtype), (len(x), *u.shape[-1:] * 2)), 1)
        near(vt @ adjoint(vt), np.broadcast_to(np.eye(vt.shape[-2], dtype=x.dtype), (len(x), *vt.shape[-2:-1] * 2)), 1)


def test_tridiagonal_systems() -> None:
    """Rows are exchanged; the second system is singular."""
    n = 5
    rng = np.random.default_rng(4)
    lower, d, upper, b = (rng.standard_normal(shape).astype(np.complex64) for shape in ((2, n),) * 3 + ((2, n, 3),))
    d[0, 1] = 0
    d[1] = lower[1] = 0
    t = types(2, "complex<f32>")
    found = results(
        [("lapack_cgtsv_ffi", {}, [t(n)] * 3 + [t(n, 3)], [t(n)] * 3 + [t(n, 3), t(of="i32")])], [lower, d, upper, b]
    )
    matrix = np.diag(d[0]) + np.diag(lower[0, 1:], -1) + np.diag(upper[0, :-1], 1)
    np.testing.assert_allclose(matrix @ found[3][0], b[0], rtol=1e-4, atol=1e-4)
    assert list(found[4]) == [0, 1]


@pytest.mark.long
def test_operations_and_sizes_without_elements() -> None:
    """cholesky and triangular_solve of complex numbers, XLA's names of QR and eigenvalues, and empty matrices."""
    text = """
func.func @main(%a: tensor<2x3x3xcomplex<f32>>, %b: tensor<2x4x3xf32>, %e: tensor<0x0xf64>)
    -> (tensor<2x3x3xcomplex<f32>>, tensor<2x3x3xcomplex<f32>>, tensor<2x4x3xf32>, tensor<2x3x3xcomplex<f32>>,
        tensor<2x3xf32>, tensor<0x0xf64>) {
  %0 = hlo.cholesky %a, lower = true : tensor<2x3x3xcomplex<f32>>
  %1 = "hlo.triangular_solve"(%0, %a) {left_side = true, lower = true, unit_diagonal = false,
    transpose_a = #hlo<transpose NO_TRANSPOSE>}
    : (tensor<2x3x3xcomplex<f32>>, tensor<2x3x3xcomplex<f32>>) -> tensor<2x3x3xcomplex<f32>>
  %2:2 = hlo.custom_call @Qr(%b) : (tensor<2x4x3xf32>) -> (tensor<2x4x3xf32>, tensor<2x3xf32>)
  %3 = hlo.custom_call @ProductOfElementaryHouseholderReflectors(%2#0, %2#1)
    : (tensor<2x4x3xf32>, tensor<2x3xf32>) -> tensor<2x4x3xf32>
  %4:2 = hlo.custom_call @Eigh(%a) {backend_config = "1,1,100,1e-6"}
    : (tensor<2x3x3xcomplex<f32>>) -> (tensor<2x3x3xcomplex<f32>>, tensor<2x3xf32>)
  %5:2 = hlo.custom_call @lapack_dgeqrf_ffi(%e) {api_version = 4 : i32}
    : (tensor<0x0xf64>) -> (tensor<0x0xf64>, tensor<0xf64>)
  return %0, %1, %3, %4#0, %4#1, %5#0 : tensor<2x3x3xcomplex<f32>>, tensor<2x3x3xcomplex<f32>>, tensor<2x4x3xf32>,
    tensor<2x3x3xcomplex<f32>>, tensor<2x3xf32>, tensor<0x0xf64>
}
"""
    inputs = values(xhlo.compile(text).input_types, 6)
    library = compile_ahead(text, cpu="host", external=False)
    outputs = [np.empty(t.shape, t.dtype) for t in xhlo.compile(text).output_types]
    factor, solved, q, vectors, numbers, _ = ran(library, inputs, outputs)
    a, b, _ = inputs
    np.testing.assert_allclose(factor @ adjoint(factor), a, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(solved, adjoint(factor), rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(q @ (adjoint(q) @ b), b, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose((vectors * numbers[:, None, :]) @ adjoint(vectors), a, rtol=1e-4, atol=1e-4)


@pytest.mark.long(3)
@pytest.mark.parametrize("scale", [1.0, 2.0**-108])
@pytest.mark.parametrize("element", ["f32", "complex<f32>"])
def test_reflectors_of_equal_columns(element: str, scale: float) -> None:
    """The rest of each column is less than a rounding of the one before, down to subnormal numbers."""
    dtype, letter = (np.complex64, "c") if element == "complex<f32>" else (np.float32, "s")
    x = np.repeat(special(16, dtype, 1)[:2, :, :1], 12, axis=2) * dtype(scale)
    t = types(2, element)
    name, kinds = f"lapack_{letter}geqrf_ffi", [t(16, 12), t(12)]
    reflectors, tau = results([(name, {}, [t(16, 12)], kinds)], [x])
    wide = np.result_type(dtype, np.float64)
    q: Any = np.broadcast_to(np.eye(16, dtype=wide), (2, 16, 16))
    for k in range(12):
        v = np.tril(reflectors.astype(wide), -1)[:, :, k : k + 1]
        v[:, k] = 1
        q = q - tau[:, k, None, None] * (q @ v) @ adjoint(v)
    near((adjoint(q) @ q).astype(dtype), np.broadcast_to(np.eye(16, dtype=dtype), q.shape), 1)
    near((q @ np.triu(reflectors) / scale).astype(dtype), x / dtype(scale), 1)

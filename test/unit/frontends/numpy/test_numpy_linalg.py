"""numpy.fft and numpy.linalg under xhlo.jit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xhlo
from numpy_checks import check

RNG = np.random.default_rng(1)
A = RNG.normal(size=(40, 40))
W = RNG.normal(size=(2, 3, 5, 5))
R = RNG.normal(size=(3, 5, 4))
C = R + 1j * RNG.normal(size=R.shape)
SYMMETRIC = W + W.swapaxes(-1, -2)
HERMITIAN = SYMMETRIC[0] + 1j * (W[0] - W[0].swapaxes(-1, -2))
POSITIVE = W @ W.swapaxes(-1, -2) + np.eye(5)
LOW_RANK = R[:, :, :1] * R[:, :1, :]
V = RNG.normal(size=7)

TRANSFORMS = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
GRIDS = ("fft2", "ifft2", "fftn", "ifftn", "rfft2", "rfftn", "irfft2", "irfftn")


def of_kind(name: str) -> Any:
    return R if name in ("rfft", "ihfft", "rfft2", "rfftn") else C


def transforms(name: str) -> Callable[..., Any]:
    function: Any = getattr(np.fft, name)
    return lambda x: (function(x), function(x, 5, norm="ortho"), function(x, n=3, axis=1, norm="forward"))


def grids(name: str) -> Callable[..., Any]:
    function: Any = getattr(np.fft, name)
    return lambda x: (function(x), function(x, (4, 2), axes=(2, 0), norm="ortho"))


@pytest.mark.long(10)
@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms_along_one_axis(name: str) -> None:
    check(transforms(name), of_kind(name))


@pytest.mark.long(9)
@pytest.mark.parametrize("name", GRIDS)
def test_transforms_along_several_axes(name: str) -> None:
    check(grids(name), of_kind(name))


def test_transforms_of_others() -> None:
    check(
        lambda f, n, h, v: (
            np.fft.fft(f),
            np.fft.rfft(f),
            np.fft.irfft(f.astype(np.complex64)),
            np.fft.fft(n),
            np.fft.rfft(n),
            np.fft.fft(h),
            np.fft.fftshift(f),
            np.fft.ifftshift(f, axes=(0, 2)),
            np.fft.fftshift(v, 0),
            np.fft.fftfreq(8, v[0]),
            np.fft.fftn(f[None], axes=(0, 1, 2, 3)),
            np.fft.fftn(f, axes=(1, 1)),
        ),
        R.astype(np.float32),
        np.arange(6),
        R[0].astype(np.float16),
        V,
    )


CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "solve": (
        lambda a, w, v, r: (
            np.linalg.solve(a, a[0]),
            np.linalg.solve(w, r),
            np.linalg.solve(w[0, 0], r),
            np.linalg.solve(w, v[:5]),
            np.linalg.solve(w.astype(np.float32), v[:5].astype(np.float32)),
            np.linalg.solve(w[0] + 1j, r),
        ),
        (A, W, V, R),
    ),
    "inv and det": (
        lambda a, w, n: (
            np.linalg.inv(a),
            np.linalg.inv(w),
            np.linalg.det(a),
            np.linalg.det(w),
            *np.linalg.slogdet(w),
            *np.linalg.slogdet(w[0] * 1j),
            *np.linalg.slogdet(np.zeros_like(w)),
            np.linalg.det(n),
            np.linalg.inv(n),
            np.linalg.det(w[..., :0, :0]),
        ),
        (A, W, np.array([[2, 1], [1, 3]])),
    ),
    "power": (
        lambda w: (np.linalg.matrix_power(w, 5), np.linalg.matrix_power(w, -2), np.linalg.matrix_power(w, 0)),
        (W,),
    ),
    "cholesky": (
        lambda p, h: (np.linalg.cholesky(p), np.linalg.cholesky(p, upper=True), np.linalg.cholesky(h @ h)),
        (POSITIVE, HERMITIAN + 9 * np.eye(5)),
    ),
    "singular values": (
        lambda w, r, c, s: (
            np.linalg.svd(r, compute_uv=False),
            np.linalg.svdvals(c),
            np.linalg.svd(s, compute_uv=False, hermitian=True),
            np.linalg.svd(r)[1],
            np.linalg.pinv(r),
            np.linalg.pinv(c.swapaxes(-1, -2)),
            np.linalg.pinv(s, hermitian=True),
            np.linalg.pinv(w.astype(np.float32), rtol=1e-4),
        ),
        (W, R, C, SYMMETRIC),
    ),
    "ranks": (
        lambda low, r, v: (
            np.linalg.matrix_rank(low),
            np.linalg.matrix_rank(r),
            np.linalg.matrix_rank(r, tol=2.0),
            np.linalg.matrix_rank(v),
            np.linalg.pinv(low, rcond=1e-10),
        ),
        (LOW_RANK, R, V),
    ),
    "least squares": (
        lambda r, v, c: (
            *np.linalg.lstsq(r[0], r[1]),
            *np.linalg.lstsq(r[0], v[:5]),
            *np.linalg.lstsq(r[0].T, v[:4], rcond=1e-9),
            *np.linalg.lstsq(c[0], c[1]),
        ),
        (R, V, C),
    ),
    "eigenvalues of symmetric matrices": (
        lambda s, h: (
            np.linalg.eigvalsh(s),
            np.linalg.eigvalsh(h),
            np.linalg.eigvalsh(s[0, 0], UPLO="U"),
            np.linalg.eigh(h)[0],
        ),
        (SYMMETRIC, HERMITIAN),
    ),
    "norms": (
        lambda r, v: (
            *(np.linalg.norm(r[0], ord) for ord in (None, "fro", "nuc", 2, -2, 1, -1, np.inf, -np.inf)),
            *(np.linalg.norm(r, ord, axis=(0, 2)) for ord in ("nuc", 2, 1, np.inf)),
            np.linalg.norm(r, "nuc", axis=(2, 0), keepdims=True),
            np.linalg.norm(r, 1, axis=(2, 0), keepdims=True),
            *(np.linalg.norm(v, ord) for ord in (None, 0, 1, 2, 3, -1, np.inf, -np.inf)),
            np.linalg.matrix_norm(r, ord=2),
            np.linalg.vector_norm(r, axis=(0, 1)),
        ),
        (R, V),
    ),
    "condition": (
        lambda w, r: (*(np.linalg.cond(w, p) for p in (None, 2, -2, 1, np.inf, "fro")), np.linalg.cond(r)),
        (W, R),
    ),
    "chains": (
        lambda r, v: (
            np.linalg.multi_dot([r[0], r[1].T, r[2]]),
            np.linalg.multi_dot([v[:5], r[0], r[1].T, r[2], v[:4]]),
            np.linalg.multi_dot([r[0], v[:4]]),
            np.matvec(r, v[:4]),
            np.vecmat(v[:5], r),
        ),
        (R, V),
    ),
    "tensors": (
        lambda a, w: (
            np.linalg.tensorinv(a.reshape(4, 10, 8, 5)),
            np.linalg.tensorsolve(a.reshape(4, 10, 8, 5), a[0].reshape(4, 10)),
            np.linalg.tensorsolve(a.reshape(8, 4, 5, 10), a[0].reshape(4, 10), axes=(0, 2)),
            np.linalg.diagonal(w, offset=1),
            np.linalg.trace(w),
            np.linalg.outer(w[0, 0, 0], w[0, 0, 1]),
            np.linalg.cross(w[..., :3], w[..., 1:4]),
        ),
        (A, W),
    ),
}


@pytest.mark.long(15)
@pytest.mark.parametrize("case", CASES)
def test_linear_algebra(case: str) -> None:
    function, arrays = CASES[case]
    check(function, *arrays, rtol=1e-8 if case != "condition" else 1e-6)


def adjoint(x: Any) -> Any:
    return np.conj(np.swapaxes(x, -1, -2))


@pytest.mark.long
def test_factors_give_the_matrix() -> None:
    """The signs of vectors are free, so that products are compared."""

    def products(x: Any) -> Any:
        u, s, vt = np.linalg.svd(x)
        thin = np.linalg.svd(x, full_matrices=False)
        least = s.shape[-1]
        q, r = np.linalg.qr(x)
        whole = np.linalg.qr(x, mode="complete")
        return (
            u[..., :least] * s[..., None, :] @ vt[..., :least, :],
            thin.U * thin.S[..., None, :] @ thin.Vh,
            q @ r,
            whole.Q @ whole.R,
        ), (adjoint(u) @ u, vt @ adjoint(vt), adjoint(whole.Q) @ whole.Q, np.tril(r, -1) + np.linalg.qr(x, "r") - r)

    for x in (R, C, R.swapaxes(-1, -2), R.astype(np.float32)):
        found, units = xhlo.jit(products)(x)
        wide = 1e-5 if x.dtype == np.float32 else 1e-12
        for one in found:
            np.testing.assert_allclose(one, x, atol=wide)
        for one in units[:-1]:
            np.testing.assert_allclose(one, np.broadcast_to(np.eye(one.shape[-1]), one.shape), atol=wide)
        np.testing.assert_array_equal(units[-1], 0)


def test_eigenvectors() -> None:
    values, vectors = xhlo.jit(np.linalg.eigh)(HERMITIAN)
    np.testing.assert_allclose(HERMITIAN @ vectors, vectors * values[..., None, :], atol=1e-12)
    for matrix in (W, HERMITIAN + W[1], W.astype(np.float32)):
        values, vectors = xhlo.jit(lambda a: tuple(np.linalg.eig(a)))(matrix)
        wide = 1e-4 if matrix.dtype == np.float32 else 1e-11
        assert values.dtype.kind == vectors.dtype.kind == "c"
        np.testing.assert_allclose(matrix @ vectors, vectors * values[..., None, :], atol=wide)
        wanted = np.linalg.eigvals(matrix)
        np.testing.assert_allclose(np.sort_complex(values.round(2)), np.sort_complex(wanted.round(2)), atol=0.011)


def test_matrices_that_numpy_refuses() -> None:
    """Those that only a run knows give NaN or infinity."""
    singular = np.ones((2, 3, 3))
    inverse, factor = xhlo.jit(lambda a: (np.linalg.inv(a), np.linalg.cholesky(-a)))(singular)
    assert not np.isfinite(inverse).any() and np.isnan(factor[:, 0, 0]).all()
    for function in (np.linalg.solve, lambda a, b: np.linalg.inv(a[:, :2]), lambda a, b: np.linalg.eigh(a[0, 0])):
        with pytest.raises((np.linalg.LinAlgError, ValueError)):
            xhlo.jit(function)(singular, np.ones((2, 3)))
    with pytest.raises(TypeError, match="float16 is unsupported in linalg"):
        xhlo.jit(np.linalg.inv)(singular.astype(np.float16))
    with pytest.raises(ValueError, match="Invalid number of FFT data points"):
        xhlo.jit(lambda a: np.fft.fft(a, 0))(singular)

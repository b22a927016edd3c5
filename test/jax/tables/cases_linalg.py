"""
jnp.linalg, jax.scipy.linalg and lax.linalg, and jnp.fft.

Factors that are determined only up to signs or bases are compared by their product.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy import linalg
from jax.scipy.optimize import minimize

from cases import case, integers, normal, positive_definite, uniform, well_conditioned

TYPES = ["float32", "float64", "complex64", "complex128"]
TOLERANCES = {
    "float32": (1e-4, 2e-5),
    "complex64": (1e-4, 2e-5),
    "float64": (1e-10, 1e-11),
    "complex128": (1e-10, 1e-11),
}
CONDITION = "sums in another order, times the condition of the problem"


def eigh(a):
    w, v = jnp.linalg.eigh(a)
    return w, v @ (w[..., None] * v.conj().mT), v.conj().mT @ v


def svd(a):
    u, s, vh = jnp.linalg.svd(a, full_matrices=False)
    return s, u @ (s[..., None] * vh), u.conj().mT @ u


def full_svd(a):
    u, s, vh = jnp.linalg.svd(a)
    return s, jnp.abs(jnp.linalg.det(u)), u.conj().mT @ u, vh @ vh.conj().mT


def qr(a):
    q, r = jnp.linalg.qr(a)
    return q @ r, q.conj().mT @ q, jnp.triu(r) - r, jnp.abs(r)


def eig(a):
    w, v = jnp.linalg.eig(a)
    order = jnp.argsort(w.real)
    return w[order], a.astype(v.dtype) @ v - v * w, jnp.linalg.norm(v, axis=0)


def schur(a):
    t, z = linalg.schur(a)
    return t, z, z @ t @ z.conj().T, z.conj().T @ z, jnp.tril(t, -2)


def hessenberg(a):
    h, q = linalg.hessenberg(a, calc_q=True)
    return q @ h @ q.conj().T, jnp.tril(h, -2), jnp.abs(h)


def polar(a):
    u, p = linalg.polar(a)
    return u @ p, u.conj().T @ u


def near(name, function, *arguments, dtype="float32", factor=1, **options):
    """A case whose tolerance is its type's times a factor."""
    rtol, atol = TOLERANCES[dtype]
    return case(
        name,
        function,
        *arguments,
        tolerance=(rtol * factor, atol * factor),
        because=CONDITION,
        x64=dtype in ("float64", "complex128"),
        **options,
    )


OF_EACH_TYPE = {
    "cholesky": (jnp.linalg.cholesky, lambda t: [positive_definite(2, n=5, dtype=t)]),
    "cholesky_upper": (lambda a: linalg.cholesky(a), lambda t: [positive_definite(n=4, dtype=t)]),
    "solve": (jnp.linalg.solve, lambda t: [well_conditioned(n=5, dtype=t), normal(5, 3, dtype=t)]),
    "solve_batched": (jnp.linalg.solve, lambda t: [well_conditioned(2, n=4, dtype=t), normal(2, 4, 2, dtype=t)]),
    "inverse": (jnp.linalg.inv, lambda t: [well_conditioned(2, n=4, dtype=t)]),
    "determinant": (
        lambda a: (jnp.linalg.det(a), jnp.linalg.slogdet(a)),
        lambda t: [well_conditioned(3, n=4, dtype=t)],
    ),
    "lu": (lambda a: linalg.lu(a), lambda t: [normal(5, 5, dtype=t)]),
    "lu_tall": (lambda a: linalg.lu(a), lambda t: [normal(6, 4, dtype=t)]),
    "lu_factor": (
        lambda a, b: (linalg.lu_factor(a), linalg.lu_solve(linalg.lu_factor(a), b)),
        lambda t: [well_conditioned(n=5, dtype=t), normal(5, dtype=t)],
    ),
    "qr": (qr, lambda t: [normal(5, 4, dtype=t)]),
    "qr_wide": (qr, lambda t: [normal(3, 5, dtype=t)]),
    "eigh": (eigh, lambda t: [positive_definite(2, n=5, dtype=t)]),
    "svd": (svd, lambda t: [normal(2, 5, 4, dtype=t)]),
    "svd_full": (full_svd, lambda t: [normal(4, 6, dtype=t)]),
    "eig": (eig, lambda t: [normal(5, 5, dtype=t)]),
    "schur": (schur, lambda t: [normal(5, 5, dtype=t)]),
    "hessenberg": (hessenberg, lambda t: [normal(5, 5, dtype=t)]),
    "triangular_solve": (
        lambda a, b: [
            linalg.solve_triangular(a, b, trans=tr, lower=lo, unit_diagonal=u)
            for tr in (0, 1, 2)
            for lo in (False, True)
            for u in (False, True)
        ],
        lambda t: [well_conditioned(n=4, dtype=t), normal(4, 2, dtype=t)],
    ),
    "pinv": (jnp.linalg.pinv, lambda t: [normal(5, 3, dtype=t)]),
    "expm": (linalg.expm, lambda t: [normal(4, 4, dtype=t, scale=0.5)]),
}

FFTS = {
    "fft": (jnp.fft.fft, "complex64", (3, 12)), "ifft": (jnp.fft.ifft, "complex64", (3, 12)), "fft_prime": (jnp.fft.fft, "complex64", (13,)),
    "fft_real_input": (jnp.fft.fft, "float32", (9,)), "rfft": (jnp.fft.rfft, "float32", (2, 10)), "rfft_odd": (jnp.fft.rfft, "float32", (7,)),
    "irfft": (jnp.fft.irfft, "complex64", (2, 6)), "irfft_odd": (lambda x: jnp.fft.irfft(x, 9), "complex64", (5,)),
    "fft2": (jnp.fft.fft2, "complex64", (2, 4, 6)), "rfft2": (jnp.fft.rfft2, "float32", (4, 6)), "irfft2": (jnp.fft.irfft2, "complex64", (4, 5)),
    "fftn": (jnp.fft.fftn, "complex64", (3, 4, 5)), "rfftn": (jnp.fft.rfftn, "float32", (3, 4, 6)), "ifftn_axes": (lambda x: jnp.fft.ifftn(x, axes=(0, 2)), "complex64", (3, 4, 5)),
    "hfft": (jnp.fft.hfft, "complex64", (6,)), "ihfft": (jnp.fft.ihfft, "float32", (8,)), "fft_padded": (lambda x: jnp.fft.fft(x, 16, norm="ortho"), "complex64", (11,)),
    "fft_power_of_two": (jnp.fft.fft, "complex64", (64,)), "fft_one": (jnp.fft.fft, "complex64", (3, 1)), "fft_axis": (lambda x: jnp.fft.fft(x, axis=0), "complex64", (6, 3)),
    "fft_double": (jnp.fft.fft, "complex128", (15,)), "rfft_double": (jnp.fft.rfft, "float64", (16,)), "shift": (lambda x: (jnp.fft.fftshift(x), jnp.fft.ifftshift(x)), "float32", (5, 4)),
    "fft_large": (jnp.fft.fft, "complex64", (1000,)),
}  # fmt: skip

CASES = [
    *(near(f"{name}_{t}", f, *arguments(t), dtype=t) for name, (f, arguments) in OF_EACH_TYPE.items() for t in TYPES),
    near("cholesky_of_indefinite", jnp.linalg.cholesky, np.array([[1, 2], [2, 1]], np.float32)),
    near("cholesky_gradient", jax.grad(lambda a: jnp.linalg.cholesky(a).sum()), positive_definite(n=4)),
    near(
        "solve_gradient",
        jax.grad(lambda a, b: (jnp.linalg.solve(a, b) ** 2).sum(), (0, 1)),
        well_conditioned(n=4),
        normal(4),
        factor=3,
    ),
    near("inverse_gradient", jax.grad(lambda a: (jnp.linalg.inv(a) ** 2).sum()), well_conditioned(n=4), factor=3),
    near("slogdet_gradient", jax.grad(lambda a: jnp.linalg.slogdet(a)[1]), well_conditioned(n=4)),
    near("eigh_gradient", jax.grad(lambda a: (jnp.linalg.eigh(a)[0] ** 2).sum()), positive_definite(n=4), factor=3),
    near("svd_gradient", jax.grad(lambda a: (jnp.linalg.svd(a, compute_uv=False) ** 3).sum()), normal(4, 3), factor=10),
    near("qr_gradient", jax.grad(lambda a: (jnp.linalg.qr(a)[1] ** 2).sum()), normal(4, 3), factor=3),
    near("eigvalsh", jnp.linalg.eigvalsh, positive_definite(3, n=4)),
    near("eigvals", lambda a: jnp.sort(jnp.linalg.eigvals(a).real), normal(4, 4)),
    near("eigh_subset", lambda a: jnp.linalg.eigh(a, UPLO="U")[0], positive_definite(n=4)),
    near("svdvals", jnp.linalg.svdvals, normal(3, 4, 5)),
    near("singular_svd", lambda a: jnp.linalg.svd(a, compute_uv=False), np.ones((4, 4), np.float32)),
    near("matrix_rank", jnp.linalg.matrix_rank, np.diag(np.array([1, 2, 0, 3], np.float32))),
    near("condition_number", lambda a: (jnp.linalg.cond(a), jnp.linalg.cond(a, 1)), well_conditioned(n=4)),
    near(
        "matrix_power",
        lambda a: (jnp.linalg.matrix_power(a, 5), jnp.linalg.matrix_power(a, -2)),
        well_conditioned(n=3),
        factor=5,
    ),
    near("multi_dot", lambda a, b, c: jnp.linalg.multi_dot([a, b, c]), normal(2, 5), normal(5, 3), normal(3, 4)),
    near("lstsq", lambda a, b: jnp.linalg.lstsq(a, b)[0], normal(7, 3), normal(7, 2)),
    near(
        "norms",
        lambda a: [jnp.linalg.norm(a, o) for o in (None, "fro", "nuc", 1, -1, 2, -2, jnp.inf, -jnp.inf)],
        normal(4, 3),
    ),
    near("vector_norms", lambda x: [jnp.linalg.vector_norm(x, ord=o) for o in (0, 1, 2, 3, jnp.inf)], normal(6)),
    near("tensorinv", lambda a: jnp.linalg.tensorinv(a.reshape(2, 3, 6), 2), well_conditioned(n=6)),
    near(
        "tensorsolve", lambda a, b: jnp.linalg.tensorsolve(a.reshape(2, 3, 6), b), well_conditioned(n=6), normal(2, 3)
    ),
    near(
        "cross_and_outer",
        lambda a, b: (
            jnp.linalg.cross(a, b),
            jnp.linalg.outer(a[0], b[0]),
            jnp.linalg.diagonal(a),
            jnp.linalg.trace(a),
        ),
        normal(3, 3),
        normal(3, 3),
    ),
    near("qr_complete", lambda a: (lambda q, r: (q @ r, q.T @ q))(*jnp.linalg.qr(a, "complete")), normal(5, 3)),
    near("qr_of_zeros", lambda a: jnp.abs(jnp.linalg.qr(a)[1]), np.zeros((3, 3), np.float32)),
    near("polar", polar, well_conditioned(n=4)),
    near("sqrtm", lambda a: linalg.sqrtm(a), positive_definite(n=4), factor=5),
    near("funm", lambda a: linalg.funm(a, jnp.exp), positive_definite(n=3), factor=5),
    near("expm_gradient", jax.grad(lambda a: linalg.expm(a).sum()), normal(3, 3), factor=5),
    near("expm_frechet", lambda a, e: linalg.expm_frechet(a, e), normal(3, 3), normal(3, 3), factor=5),
    near("block_diag", lambda a, b: linalg.block_diag(a, b), normal(2, 3), normal(1, 2)),
    near("toeplitz", lambda a, b: (linalg.toeplitz(a, b), linalg.hilbert(3)), normal(4), normal(5)),
    near("cho_solve", lambda a, b: linalg.cho_solve(linalg.cho_factor(a), b), positive_definite(n=4), normal(4)),
    near("solve_positive", lambda a, b: linalg.solve(a, b, assume_a="pos"), positive_definite(n=4), normal(4)),
    near("eigh_tridiagonal", lambda d, e: linalg.eigh_tridiagonal(d, e, eigvals_only=True), normal(6), normal(5)),
    near(
        "tridiagonal_solve",
        lambda l, d, u, b: lax.linalg.tridiagonal_solve(l, d, u, b),
        normal(5),
        uniform(5, low=4, high=6),
        normal(5),
        normal(5, 2),
    ),
    near("tridiagonal", lambda a: lax.linalg.tridiagonal(a)[1], positive_definite(n=5)),
    near(
        "lax_triangular_solve",
        lambda a, b: lax.linalg.triangular_solve(a, b, left_side=False, lower=True, transpose_a=True),
        well_conditioned(n=4),
        normal(3, 4),
    ),
    near("lu_permutation", lambda a: lax.linalg.lu(a), normal(3, 5, 5)),
    near("lu_pivots", lambda p: lax.linalg.lu_pivots_to_permutation(p, 6), np.array([2, 1, 5, 3], np.int32)),
    near("householder_product", lambda a, t: lax.linalg.householder_product(a, t), normal(5, 3), uniform(3)),
    near(
        "symmetric_product",
        lambda a, c: lax.linalg.symmetric_product(a, c, alpha=2.0, beta=0.5),
        normal(4, 3),
        positive_definite(n=4),
    ),
    near(
        "cholesky_update",
        lambda r, w: lax.linalg.cholesky_update(jnp.linalg.cholesky(r).T, w),
        positive_definite(n=4),
        normal(4),
    ),
    near("vmap_of_solve", jax.vmap(jnp.linalg.solve, (0, None)), well_conditioned(3, n=4), normal(4)),
    near("vmap_of_eigh", jax.vmap(lambda a: jnp.linalg.eigh(a)[0]), positive_definite(2, 2, n=3)),
    near(
        "conjugate_gradients",
        lambda a, b: jax.scipy.sparse.linalg.cg(lambda x: a @ x, b)[0],
        positive_definite(n=5),
        normal(5),
        factor=10,
    ),
    near(
        "gmres",
        lambda a, b: jax.scipy.sparse.linalg.gmres(lambda x: a @ x, b)[0],
        well_conditioned(n=5),
        normal(5),
        factor=10,
    ),
    near(
        "bicgstab",
        lambda a, b: jax.scipy.sparse.linalg.bicgstab(lambda x: a @ x, b)[0],
        well_conditioned(n=5),
        normal(5),
        factor=20,
    ),
    near(
        "minimize",
        lambda x: minimize(lambda x: jnp.sum((x - 1) ** 2) + x[0] * x[1], x, method="BFGS").x,
        normal(3),
        factor=20,
    ),
    near("integer_determinant", lambda a: jnp.linalg.det(a), integers(3, 3)),
    *(
        near(f"fft_{name}" if not name.startswith(("fft", "shift")) else name, f, normal(*shape, dtype=t), dtype=t)
        for name, (f, t, shape) in FFTS.items()
    ),
    near("fft_gradient", jax.grad(lambda x: jnp.sum(jnp.abs(jnp.fft.rfft(x)) ** 2)), normal(10)),
    near("fft_vmapped", jax.vmap(jnp.fft.fft), normal(3, 2, 8, dtype="complex64")),
    near("fft_frequencies", lambda: (jnp.fft.fftfreq(8, 0.5), jnp.fft.rfftfreq(9))),
    near("fft_convolution", lambda x, y: jax.scipy.signal.fftconvolve(x, y), normal(9), normal(5)),
]

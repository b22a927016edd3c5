"""Factorizations, solvers and Fourier transforms."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array, lax

from .program import Programs

PROGRAMS = Programs("linear_algebra")
program = PROGRAMS.add


@program(lambda d: (d.definite(256, 16),))
def cholesky_batch(a: Array) -> Array:
    return jnp.linalg.cholesky(a)


@program(lambda d: (d.definite(1, 192)[0], d.normal(192, 4)))
def cholesky_solve(a: Array, b: Array) -> Array:
    return jax.scipy.linalg.cho_solve(jax.scipy.linalg.cho_factor(a, lower=True), b)


@program(lambda d: (d.definite(256, 12), d.normal(256, 12, 1)))
def solve_batch(a: Array, b: Array) -> Array:
    return jnp.linalg.solve(a, b)


@program(lambda d: (d.definite(1000, 3), d.normal(1000, 3)))
def inverse_3x3(a: Array, b: Array) -> tuple[Array, Array]:
    return jnp.einsum("nij,nj->ni", jnp.linalg.inv(a), b), jnp.linalg.det(a)


@program(lambda d: (d.definite(128, 24),))
def lu_batch(a: Array) -> Array:
    return jax.scipy.linalg.lu_factor(a)[0]


@program(lambda d: (d.definite(64, 12),))
def eigenvalues_batch(a: Array) -> Array:
    return jnp.linalg.eigvalsh(a)


@program(lambda d: (d.definite(1, 96)[0],))
def matrix_square_root(a: Array) -> Array:
    """By its eigenvectors."""
    values, vectors = jnp.linalg.eigh(a)
    return (vectors * jnp.sqrt(values)) @ vectors.T


@program(lambda d: (d.normal(64, 24, 8),))
def singular_values_batch(a: Array) -> Array:
    return jnp.linalg.svd(a, compute_uv=False)


@program(lambda d: (d.normal(256, 64), d.normal(256)))
def least_squares_by_qr(a: Array, b: Array) -> Array:
    q, r = jnp.linalg.qr(a)
    return jax.scipy.linalg.solve_triangular(r, q.T @ b)


@program(lambda d: (jnp.tril(d.definite(64, 32)), d.normal(64, 32, 8)))
def triangular_solve_batch(a: Array, b: Array) -> Array:
    return lax.linalg.triangular_solve(a, b, left_side=True, lower=True)


@program(lambda d: (d.definite(1, 256)[0], d.normal(256)))
def conjugate_gradients(a: Array, b: Array) -> Array:
    return jax.scipy.sparse.linalg.cg(lambda x: a @ x, b, maxiter=30)[0]


@program(lambda d: (d.normal(32, 32, scale=0.1),))
def matrix_exponential(a: Array) -> Array:
    return jax.scipy.linalg.expm(a)


@program(lambda d: (d.normal(384, 384),))
def power_iteration(a: Array) -> Array:
    """The largest singular value, by 20 steps."""

    def step(_: Array, v: Array) -> Array:
        v = a.T @ (a @ v)
        return v / jnp.linalg.norm(v)

    return jnp.linalg.norm(a @ lax.fori_loop(0, 20, step, jnp.ones(384)))


@program(lambda d: (d.complex(256, 512),))
def fft_batch(x: Array) -> Array:
    return jnp.fft.fft(x)


@program(lambda d: (d.normal(512, 400),))
def real_fft_batch(x: Array) -> Array:
    """The power spectrum of frames, as a spectrogram has it."""
    return jnp.abs(jnp.fft.rfft(x * jnp.hanning(400))) ** 2


@program(lambda d: (d.complex(128, 257),))
def inverse_real_fft_batch(x: Array) -> Array:
    return jnp.fft.irfft(x)


@program(lambda d: (d.complex(256, 256),))
def fft_2d(x: Array) -> Array:
    return jnp.fft.ifft2(jnp.fft.fft2(x) * 0.5)


@program(lambda d: (d.complex(32, 32, 32),))
def fft_3d(x: Array) -> Array:
    return jnp.fft.fftn(x)


@program(lambda d: (d.complex(1 << 15),))
def fft_of_one_row(x: Array) -> Array:
    return jnp.fft.fft(x)


@program(lambda d: (d.normal(16, 4096), d.normal(512)))
def convolution_by_fft(x: Array, kernel: Array) -> Array:
    n = 8192
    return jnp.fft.irfft(jnp.fft.rfft(x, n) * jnp.fft.rfft(kernel, n), n)[:, : x.shape[1]]


@program(lambda d: (d.normal(128, 128),))
def spectral_poisson(f: Array) -> Array:
    """The Poisson equation on a torus."""
    k = 2 * jnp.pi * jnp.fft.fftfreq(f.shape[0])
    square = (k[:, None] ** 2 + k**2).at[0, 0].set(1)
    return jnp.fft.ifft2(jnp.fft.fft2(f) / square).real

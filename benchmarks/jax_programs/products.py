"""Products of every kind, transposes and reductions."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array, lax

from .program import Programs

PROGRAMS = Programs("products")
program = PROGRAMS.add


@program(lambda d: (d.normal(512, 512), d.normal(512, 512)))
def matmul_f32(a: Array, b: Array) -> Array:
    return a @ b


@program(lambda d: (d.normal(16, 1024), d.normal(1024, 1024), d.normal(1024)))
def few_rows(a: Array, b: Array, bias: Array) -> Array:
    return jax.nn.relu(a @ b + bias)


@program(lambda d: (d.f64(384, 384), d.f64(384, 384)), x64=True)
def matmul_f64(a: Array, b: Array) -> Array:
    return a @ b


@program(lambda d: (d.f64(2000, 50), d.f64(2000)), x64=True)
def normal_equations_f64(a: Array, y: Array) -> tuple[Array, Array]:
    return a.T @ a, a.T @ y


@program(lambda d: (d.bf16(512, 512), d.bf16(512, 512)), tolerance=0.02)
def matmul_bf16(a: Array, b: Array) -> Array:
    return a @ b


@program(lambda d: (d.normal(64, 1024), d.bf16(1024, 1024)))
def bf16_weights(x: Array, w: Array) -> Array:
    return x @ w.astype(jnp.float32)


@program(
    lambda d: (d.integers(-128, 128, 512, 512, dtype="int8"), d.integers(-128, 128, 512, 512, dtype="int8")),
)
def matmul_int8(a: Array, b: Array) -> Array:
    return lax.dot_general(a, b, (((1,), (0,)), ((), ())), preferred_element_type=jnp.int32)


@program(lambda d: (d.normal(64, 1024), d.integers(-128, 128, 1024, 1024, dtype="int8"), d.uniform(0, 0.1, 1024)))
def int8_weights(x: Array, w: Array, scale: Array) -> Array:
    return (x @ w.astype(jnp.float32)) * scale


@program(lambda d: (d.normal(512, 24, 24), d.normal(512, 24, 24)))
def small_batched(a: Array, b: Array) -> Array:
    return a @ b


@program(lambda d: (d.normal(4096, 4, 4), d.normal(4096, 4)))
def tiny_batched(a: Array, x: Array) -> Array:
    return jnp.einsum("nij,nj->ni", a, x)


@program(lambda d: (d.normal(2048, 1024), d.normal(1024)))
def matrix_by_vector(a: Array, x: Array) -> Array:
    return a @ x


@program(lambda d: (d.normal(2048, 1024), d.normal(2048)))
def vector_by_matrix(a: Array, x: Array) -> Array:
    return x @ a


@program(lambda d: (d.normal(1024), d.normal(1024), d.normal(1024, 1024)))
def rank_one_update(x: Array, y: Array, a: Array) -> Array:
    return a + 0.1 * jnp.outer(x, y)


@program(lambda d: (d.normal(1000, 128), d.normal(1000, 128)))
def pairwise_distances(x: Array, y: Array) -> Array:
    square = jnp.sum(x * x, 1)[:, None] + jnp.sum(y * y, 1) - 2 * x @ y.T
    return jnp.sqrt(jnp.maximum(square, 0))


@program(lambda d: (d.normal(8, 16, 32, 32), d.normal(8, 32, 24), d.normal(16, 24)))
def einsum_of_three(a: Array, b: Array, c: Array) -> Array:
    return jnp.einsum("bijk,bkl,il->bj", a, b, c)


@program(lambda d: (d.normal(1024, 1024),))
def transpose(x: Array) -> Array:
    return x.T


@program(lambda d: (d.normal(8, 64, 16, 64),))
def transpose_of_four(x: Array) -> Array:
    return x.transpose(0, 2, 3, 1)


@program(lambda d: (d.normal(16, 64, 32, 32),))
def reduce_over_inner_and_outer(x: Array) -> tuple[Array, Array]:
    return jnp.mean(x, (0, 2, 3)), jnp.max(x, (1,))


@program(lambda d: (d.normal(2048, 1024),))
def column_statistics(x: Array) -> tuple[Array, Array]:
    return jnp.mean(x, 0), jnp.std(x, 0)


@program(lambda d: (d.normal(1 << 20), d.normal(1 << 20)))
def cosine_similarity(x: Array, y: Array) -> Array:
    return jnp.vdot(x, y) / (jnp.linalg.norm(x) * jnp.linalg.norm(y))


@program(lambda d: (d.normal(1024, 512),))
def cumulative(x: Array) -> tuple[Array, Array]:
    return jnp.cumsum(x, 0), jnp.cumsum(x, 1)


@program(lambda d: (d.normal(512, 512), d.integers(0, 2, 512, 512)))
def masked_log_sum(x: Array, mask: Array) -> Array:
    return jax.nn.logsumexp(x, axis=0, b=mask)


@program(lambda d: (d.normal(10, 10, 5, 64), d.normal(10, 64, 10, 5, 5), d.normal(6, 48, 4, 4)))
def network_of_tensors(a: Array, b: Array, c: Array) -> tuple[Array, Array]:
    """Sums over dimensions that no factor has beside each other."""
    return jnp.einsum("cabd,cfaeb->dfe", a, b), jnp.einsum("aebdc,gfba->dgfec", b[:4, :48, :4], c)

"""lax: shapes and moves, slices, gathers and scatters in every mode, sorts, reductions and products."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from cases import booleans, case, integers, normal, permutation, special_values, uniform

MODES = ["clip", "fill", "promise_in_bounds"]
SCATTER_MODES = ["clip", "drop", "promise_in_bounds"]
ROUNDING = "sums of many products in another order"


def gather_rows(mode: str):
    """Rows and columns at indices, some out of bounds where the mode allows it."""
    return lambda x, i: (x.at[i].get(mode=mode), x.at[:, i[0]].get(mode=mode), x.at[i, i].get(mode=mode))


def scatter_all(mode: str):
    """Each kind of update at indices that repeat."""
    return lambda x, i, y: (
        x.at[i].add(y, mode=mode),
        x.at[i].mul(y, mode=mode),
        x.at[i].max(y, mode=mode),
        x.at[i].min(y, mode=mode),
        x.at[i[:1]].set(y[:1], mode=mode),
    )


def bits_of_constants(float_: Any, bits: type[np.generic]):
    """JAX compiles on threads that take subnormal numbers for zeros."""
    info = jnp.finfo(float_)
    numbers = np.array([info.smallest_subnormal, info.tiny / 2, -info.tiny / 4]).astype(float_)
    return lambda: lax.bitcast_convert_type(jnp.asarray(numbers), bits)


CASES = [
    # Shapes and moves.
    case(
        "reshape",
        lambda x: (x.reshape(6, 4), x.reshape(-1), lax.reshape(x, (4, 6), (1, 0, 2))),
        normal(2, 3, 4),
        eager=True,
    ),
    case(
        "transpose",
        lambda x: (x.T, x.transpose(1, 2, 0), jnp.moveaxis(x, 0, -1), jnp.swapaxes(x, 0, 1)),
        normal(2, 3, 4),
    ),
    case("broadcast_in_dim", lambda x: lax.broadcast_in_dim(x, (2, 3, 4), (1,)), normal(3), eager=True),
    case("broadcast_of_ones", lambda x: jnp.broadcast_to(x, (3, 4, 5)), normal(4, 1)),
    case("concatenate", lambda x, y: lax.concatenate([x, y, x], 1), normal(3, 2), normal(3, 4), eager=True),
    case("pad", lambda x: lax.pad(x, 1.5, [(1, 2, 0), (0, 1, 2)]), normal(3, 4), eager=True),
    case("pad_negative", lambda x: lax.pad(x, 0.0, [(-1, 2, 1), (1, -2, 0)]), normal(4, 5)),
    case("pad_interior_negative", lambda x: lax.pad(x, 0.0, [(-2, -3, 2)]), normal(6)),
    case("rev", lambda x: lax.rev(x, (0, 2)), normal(2, 3, 4), eager=True),
    case("slice", lambda x: lax.slice(x, (1, 0, 2), (3, 5, 6), (1, 2, 3)), normal(4, 5, 6), eager=True),
    case("slice_of_nothing", lambda x: (x[2:2], x[:, 3:1]), normal(4, 5)),
    case("squeeze_expand", lambda x: lax.expand_dims(lax.squeeze(x, (1,)), (0, 2)), normal(3, 1, 4)),
    case("iota", lambda: (lax.iota(jnp.int32, 7), lax.broadcasted_iota(jnp.float32, (2, 3), 1), jnp.arange(3, 20, 4))),
    case(
        "full",
        lambda x: (lax.full((2, 3), 7, jnp.int8), lax.full_like(x, jnp.inf), jnp.eye(3, 4, 1), jnp.tri(4)),
        normal(2),
    ),
    case("split", lambda x: lax.split(x, (1, 3, 2), axis=1), normal(2, 6)),
    case("tile", lambda x: lax.tile(x, (2, 1, 3)), normal(2, 3, 2)),
    case("collapse", lambda x: lax.collapse(x, 1, 3), normal(2, 3, 4, 5)),
    case("identity", lambda x: x, normal(3, 4)),
    case("same_result_twice", lambda x: (x, x, x + 1), normal(3)),
    case("unused_argument", lambda x, y: x + 1, normal(3), normal(4)),
    case("no_results", lambda x: (), normal(3)),
    case("constant_results", lambda: (np.arange(6).reshape(2, 3), np.float32(3), np.zeros((0, 2), np.float32))),
    case("large_constant", lambda x: x + np.linspace(0, 1, 5000, dtype=np.float32), normal(5000)),
    *(
        case(f"subnormal_constants_{bits.__name__}", bits_of_constants(float_, bits), x64=True)
        for float_, bits in ((np.float32, np.int32), (np.float64, np.int64), (jnp.bfloat16, np.int16))
    ),
    # Dynamic slices, gathers and scatters.
    case(
        "dynamic_slice",
        lambda x, i, j: lax.dynamic_slice(x, (i, j), (2, 3)),
        normal(5, 6),
        np.int32(2),
        np.int32(9),
        eager=True,
    ),
    case("dynamic_slice_negative", lambda x, i: lax.dynamic_slice_in_dim(x, i, 2), normal(5, 6), np.int32(-2)),
    case(
        "dynamic_update_slice",
        lambda x, y, i: lax.dynamic_update_slice(x, y, (i, i + 1)),
        normal(5, 6),
        normal(2, 3),
        np.int32(1),
        eager=True,
    ),
    case(
        "dynamic_update_out_of_bounds",
        lambda x, y, i: lax.dynamic_update_slice(x, y, (i, i)),
        normal(5, 6),
        normal(2, 3),
        np.int32(5),
    ),
    case("dynamic_index", lambda x, i: (lax.dynamic_index_in_dim(x, i, 1), x[i], x[:, i]), normal(4, 5), np.int32(2)),
    case("dynamic_slice_unsigned", lambda x, i: lax.dynamic_slice_in_dim(x, i, 2), normal(5), np.uint8(200)),
    *(
        case(
            f"gather_{mode}",
            gather_rows(mode),
            normal(5, 6),
            integers(4, low=0, high=5) if mode == "promise_in_bounds" else integers(4, low=-8, high=9),
        )
        for mode in MODES
    ),
    *(
        case(
            f"scatter_{mode}",
            scatter_all(mode),
            normal(5, 6),
            integers(7, low=0, high=5) if mode == "promise_in_bounds" else integers(7, low=-8, high=9),
            normal(7, 6),
        )
        for mode in SCATTER_MODES
    ),
    case(
        "gather_fill_value",
        lambda x, i: x.at[i].get(mode="fill", fill_value=-1),
        normal(5),
        integers(9, low=-9, high=12),
    ),
    case("gather_wraps_negative", lambda x, i: x[i], normal(5, 3), integers(9, low=-5, high=5), eager=True),
    case("gather_integers", lambda x, i: x.at[i].get(mode="fill"), integers(5), integers(9, low=0, high=9)),
    case(
        "gather_mixed",
        lambda x, i, j: (x[i, :, j], x[:, i, 1:3], x[i[:, None], j[None], 0], x[..., j]),
        normal(4, 5, 6),
        integers(3, low=0, high=4),
        integers(3, low=0, high=5),
    ),
    case("gather_boolean_mask", lambda x, m: jnp.where(m, x, 0).sum(), normal(4, 5), booleans(4, 5)),
    case(
        "take",
        lambda x, i: (jnp.take(x, i, axis=1), jnp.take(x, i), jnp.take(x, i, mode="wrap", axis=0)),
        normal(4, 5),
        integers(2, 3, low=0, high=4),
        eager=True,
    ),
    case(
        "take_along_axis",
        lambda x, i: jnp.take_along_axis(x, i, 1),
        normal(4, 5),
        integers(4, 2, low=0, high=5),
        eager=True,
    ),
    case(
        "put_along_axis",
        lambda x, i, y: jnp.put_along_axis(x, i, y, 1, inplace=False),
        normal(4, 5),
        integers(4, 1, low=0, high=5),
        normal(4, 1),
    ),
    case(
        "scatter_set_unique",
        lambda x, i, y: x.at[i].set(y, unique_indices=True),
        normal(6, 3),
        permutation(6),
        normal(6, 3),
    ),
    case("scatter_apply", lambda x, i: x.at[i].apply(jnp.sin), normal(6), integers(3, low=0, high=6)),
    case(
        "scatter_power_divide",
        lambda x, i: (x.at[i].divide(2.0), x.at[i].power(2.0)),
        uniform(6, low=1, high=2),
        integers(1, high=6, low=0),
    ),
    case(
        "scatter_window",
        lambda x, i, y: x.at[:, i, 1:3].add(y),
        normal(3, 5, 4),
        integers(2, low=0, high=5),
        normal(3, 2, 2),
    ),
    case("scatter_integer_add", lambda x, i: x.at[i].add(1), np.zeros(5, np.int32), integers(50, low=0, high=5)),
    case("scatter_bool", lambda x, i: x.at[i].set(True), np.zeros(9, bool), integers(4, low=0, high=9)),
    case(
        "scatter_complex",
        lambda x, i, y: x.at[i].add(y),
        normal(5, dtype="complex64"),
        integers(8, low=0, high=5),
        normal(8, dtype="complex64"),
    ),
    case(
        "scatter_bfloat16",
        lambda x, i, y: x.at[i].set(y),
        normal(5, 3, dtype="bfloat16"),
        permutation(5),
        normal(5, 3, dtype="bfloat16"),
    ),
    case("gather_gradient", jax.grad(lambda x, i: jnp.sum(x[i] ** 3)), normal(5, 3), integers(7, low=0, high=5)),
    case(
        "scatter_gradient",
        jax.grad(lambda y, x, i: jnp.sum(x.at[i].add(y) ** 2)),
        normal(7, 3),
        normal(5, 3),
        integers(7, low=0, high=5),
    ),
    case(
        "segment_sum",
        lambda x, i: (
            jax.ops.segment_sum(x, i, 4),
            jax.ops.segment_max(x, i, 4),
            jax.ops.segment_min(x, i, 4),
            jax.ops.segment_prod(x, i, 4),
        ),
        normal(9, 2),
        integers(9, low=0, high=4),
    ),
    # Sorts.
    case("sort", lambda x: (jnp.sort(x), jnp.sort(x, axis=0), jnp.sort(x, descending=True)), normal(5, 7), eager=True),
    case("sort_special", jnp.sort, special_values()),
    case("sort_stable", lambda k, v: lax.sort((k, v), num_keys=1), integers(40, low=0, high=5), np.arange(40)),
    case(
        "sort_two_keys",
        lambda a, b, v: lax.sort((a, b, v), num_keys=2),
        integers(40, low=0, high=4),
        integers(40, low=0, high=4),
        np.arange(40),
    ),
    case("sort_unsigned", lambda x: lax.sort(x, is_stable=False), integers(40, low=0, high=250, dtype="uint8")),
    case("sort_bool", jnp.sort, booleans(20)),
    case("sort_complex", jnp.sort, normal(12, dtype="complex64")),
    case("sort_bfloat16", jnp.sort, normal(31, dtype="bfloat16")),
    case("sort_middle_axis", lambda x: jnp.sort(x, axis=1), normal(3, 8, 4)),
    case("sort_large", jnp.sort, normal(3000)),
    case("argsort", lambda x: (jnp.argsort(x), jnp.argsort(x, axis=0, descending=True)), normal(5, 7), eager=True),
    case("lexsort", lambda a, b: jnp.lexsort((a, b)), integers(20, low=0, high=4), integers(20, low=0, high=4)),
    case("top_k", lambda x: lax.top_k(x, 3), normal(4, 9), eager=True),
    case("top_k_ties", lambda x: lax.top_k(x, 4), integers(3, 9, low=0, high=3)),
    case("top_k_bfloat16", lambda x: lax.top_k(x, 2), normal(9, dtype="bfloat16")),
    case("approx_max_k", lambda x: lax.approx_max_k(x, 3), normal(4, 30)),
    case("approx_min_k", lambda x: lax.approx_min_k(x, 3), normal(4, 30)),
    case("sort_gradient", jax.grad(lambda x: jnp.sum(jnp.sort(x) * jnp.arange(6.0))), normal(6)),
    # Reductions and scans along axes.
    case(
        "reductions",
        lambda x: (x.sum(0), x.max((0, 2)), x.min(-1), x.prod(1), x.mean(), x.any(), x.all(1)),
        normal(3, 4, 5),
        eager=True,
    ),
    case("reduce_keepdims", lambda x: (x.sum(0, keepdims=True), x.var(1, keepdims=True), x.std(ddof=1)), normal(3, 4)),
    case("reduce_custom", lambda x: lax.reduce(x, jnp.float32(1), lambda a, b: a * b + 0 * a, (0,)), normal(4, 3)),
    case(
        "reduce_two",
        lambda x, y: lax.reduce((x, y), (jnp.float32(0), jnp.int32(0)), lambda a, b: (a[0] + b[0], a[1] | b[1]), (1,)),
        normal(3, 5),
        integers(3, 5, low=0, high=99),
    ),
    case(
        "reduce_bits",
        lambda x: (lax.reduce_and(x, (0,)), lax.reduce_or(x, (0,)), lax.reduce_xor(x, (0,))),
        integers(6, 3, low=0, high=99),
    ),
    case(
        "reduce_with_nan",
        lambda x: (x.max(), x.min(), x.sum(), x.argmax(), x.argmin(), jnp.nanmax(x)),
        special_values(),
    ),
    case("reduce_of_nothing", lambda x: (x.sum(0), x.prod(0), x.any(0), x.sum()), normal(0, 3)),
    case("reduce_long", lambda x: (x.sum(), x.mean(), x.var(), (x * x).sum()), normal(20000)),
    case("reduce_bfloat16", lambda x: (x.sum(0), x.mean(1), x.max()), normal(30, 20, dtype="bfloat16")),
    case(
        "argmax",
        lambda x: (lax.argmax(x, 1, jnp.int32), lax.argmin(x, 0, jnp.uint8), jnp.argmax(x)),
        integers(5, 6, low=0, high=4),
        eager=True,
    ),
    case(
        "cumulative",
        lambda x: (
            lax.cumsum(x),
            lax.cumprod(x, 1),
            lax.cummax(x),
            lax.cummin(x, 1, reverse=True),
            lax.cumlogsumexp(x),
        ),
        normal(6, 5),
        eager=True,
    ),
    case("cumsum_reverse", lambda x: (lax.cumsum(x, reverse=True), jnp.cumsum(x)), integers(300)),
    case("cumsum_long", lambda x: jnp.cumsum(x), normal(2000), tolerance=(1e-5, 3e-5), because=ROUNDING),
    case("associative_scan", lambda x: lax.associative_scan(jnp.maximum, x), normal(13, 3)),
    case(
        "associative_scan_pairs",
        lambda a, b: lax.associative_scan(lambda l, r: (l[0] * r[0], r[0] * l[1] + r[1]), (a, b)),
        normal(17),
        normal(17),
    ),
    case("associative_scan_reverse", lambda x: lax.associative_scan(jnp.add, x, reverse=True, axis=1), normal(3, 8)),
    # Products.
    case("dot", lambda x, y: (lax.dot(x, y), x @ y[:, 0], x[0] @ y), normal(5, 7), normal(7, 6), eager=True),
    case("dot_large", lambda x, y: x @ y, normal(70, 90), normal(90, 65), tolerance=(1e-5, 2e-5), because=ROUNDING),
    case("batch_matmul", lax.batch_matmul, normal(3, 4, 5), normal(3, 5, 6), eager=True),
    case(
        "dot_general",
        lambda x, y: lax.dot_general(x, y, (((1, 3), (2, 0)), ((0,), (1,)))),
        normal(2, 3, 4, 5),
        normal(5, 2, 3, 6),
    ),
    case("dot_outer", lambda x, y: lax.dot_general(x, y, (((), ()), ((), ()))), normal(3), normal(4, 2)),
    case("dot_complex", jnp.dot, normal(4, 5, dtype="complex64"), normal(5, 3, dtype="complex64")),
    case("dot_highest", lambda x, y: lax.dot(x, y, precision=lax.Precision.HIGHEST), normal(5, 7), normal(7, 6)),
    case(
        "dot_algorithm",
        lambda x, y: lax.dot(x, y, precision=lax.DotAlgorithmPreset.F32_F32_F32),
        normal(5, 7),
        normal(7, 6),
    ),
    case("dot_of_nothing", lambda x, y: x @ y, normal(3, 0), normal(0, 4)),
    case("ragged_dot", lax.ragged_dot, normal(9, 4), normal(3, 4, 5), np.array([2, 4, 3], np.int32)),
    # The rest.
    case("optimization_barrier", lambda x, y: lax.optimization_barrier((x + 1, y * 2)), normal(3), normal(4)),
    case("stop_gradient", jax.grad(lambda x: jnp.sum(lax.stop_gradient(x) * x)), normal(4)),
    case("composite", lax.composite(lambda x: jnp.sin(x) * 2, "my.sine"), normal(4)),
    case(
        "platform_dependent",
        lambda x: lax.platform_dependent(x, cpu=lambda x: x + 1, default=lambda x: x + 1),
        normal(4),
    ),
    case("dynamic_rank_of_one", lambda x: lax.reduce_precision(lax.sort(lax.rev(x, (0,))), 8, 3), normal(7)),
    case("convert_element_type", lambda x: lax.convert_element_type(x, jnp.int8), normal(9, scale=50), eager=True),
    case(
        "zeta_and_friends",
        lambda x, q: (lax.zeta(x, q), lax.polygamma(jnp.float32(1) + 0 * q, q)),
        uniform(7, low=1.5, high=4),
        uniform(7, low=0.5, high=4),
        tolerance=(3e-5, 1e-5),
        because="sums of a series",
    ),
    case(
        "igamma",
        lambda a, x: (lax.igamma(a, x), lax.igammac(a, x), lax.lgamma(a), lax.digamma(a)),
        uniform(7, low=0.5, high=4),
        uniform(7, low=0.5, high=4),
        tolerance=(5e-5, 1e-5),
        because="iterations that stop when the digits of f32 end",
    ),
    case(
        "random_gamma_grad",
        lax.random_gamma_grad,
        uniform(7, low=0.5, high=4),
        uniform(7, low=0.5, high=4),
        tolerance=(1e-4, 1e-5),
        because="a series in f32",
    ),
    case(
        "betainc",
        lax.betainc,
        uniform(7, low=0.5, high=4),
        uniform(7, low=0.5, high=4),
        uniform(7, low=0.1, high=0.9),
        tolerance=(5e-5, 1e-5),
        because="a continued fraction in f32",
    ),
    case("bessel", lambda x: (lax.bessel_i0e(x), lax.bessel_i1e(x)), normal(9, scale=4)),
]

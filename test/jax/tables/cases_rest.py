"""Functions of jnp, lax, nn and jax.scipy that the other tables do not call, mutable arrays, and rarer forms."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, nn
from jax.scipy import linalg, special, stats

from cases import booleans, case, integers, normal, positive_definite, special_values, uniform

ROUNDING = "sums of many products in another order"


def accumulate(x):
    """A mutable array within a jitted function."""
    ref = jax.new_ref(jnp.zeros_like(x))

    def body(i, _):
        ref[i] = x[i] * 2 + ref[i - 1]
        ref[0] += 1.0
        return _

    lax.fori_loop(1, x.shape[0], body, 0)
    return jax.freeze(ref)


def scatter(function, updates, **options):
    """Windows of two along the first axis."""
    numbers = lax.ScatterDimensionNumbers((1,), (0,), (0,))
    return lambda x, i, u: function(x, i[:, None], u, numbers, **options)


def gather_windows(x, i):
    numbers = lax.GatherDimensionNumbers((1, 2), (), (0,))
    return [lax.gather(x, i[:, None], numbers, (2, 3), mode=m) for m in ("clip", "fill")]


def gather_batched(x, i):
    numbers = lax.GatherDimensionNumbers((1,), (1,), (1,), (0,), (0,))
    return lax.gather(x, i[:, None], numbers, (1, 1, 2), mode="clip")


JNP = {
    "joins": lambda x: (
        jnp.concat([x, x]),
        jnp.broadcast_arrays(x, x[0]),
        jnp.dsplit(x[None, :, :], 2),
        jnp.vsplit(x[:2], 2),
        jnp.unstack(x),
    ),
    "flips": lambda x: (jnp.fliplr(x), jnp.flipud(x), jnp.positive(x), jnp.invert(x > 0), jnp.around(x, 1)),
    "cumulative": lambda x: (
        jnp.cumulative_sum(x, axis=1, include_initial=True),
        jnp.cumulative_prod(x, axis=0),
        jnp.nancumprod(x),
    ),
    "nan": lambda x: (
        jnp.nanvar(x),
        jnp.nanquantile(x, 0.3),
        jnp.nanpercentile(x, 40, axis=0),
        jnp.nanargmin(x, 1),
        jnp.isneginf(x),
    ),
    "angles": lambda x: (jnp.degrees(x), jnp.radians(x), jnp.rad2deg(x), jnp.atan2(x, x[::-1]), jnp.true_divide(x, 3)),
    "partition": lambda x: (jnp.sort(jnp.argpartition(x, 2, axis=1)[:, :2]), jnp.apply_over_axes(jnp.sum, x, [0, 1])),
    "triangles": lambda x: (
        jnp.triu_indices(3, 1),
        jnp.tril_indices_from(x[:, :3]),
        jnp.diag_indices_from(x[:4, :4]),
        jnp.place(x, x > 0, jnp.array([9.0]), inplace=False),
    ),
    "histograms": lambda x: (jnp.histogram_bin_edges(x, 4), jnp.histogramdd(x[:, :2], 3)[0]),
    "polynomials": lambda x: (
        jnp.polysub(x[0], x[1]),
        jnp.isreal(x),
        jnp.iscomplex(x),
        jnp.conjugate(x),
        jnp.ones_like(x),
        jnp.empty_like(x) * 0,
    ),
    "matrix_norm": lambda x: (jnp.linalg.matrix_norm(x), jnp.linalg.matrix_norm(x, ord=1), jnp.amax(x, 1)),
}

LAX = {
    "comparisons": lambda x, y: (
        lax.eq(x, y),
        lax.ge(x, y),
        lax.gt(x, y),
        lax.le(x, y),
        lax.lt(x, y),
        lax.ne(x, y),
        lax.neg(x),
        lax.sub(x, y),
    ),
    "broadcasts": lambda x, y: (
        lax.broadcast(x, (2,)),
        lax.broadcast_to_rank(x, 3),
        lax.slice_in_dim(x, 1, 3),
        lax.index_in_dim(y, 1),
        lax.index_take(x, [jnp.array([2, 0])], axes=(0,)),
    ),
    "updates": lambda x, y: (
        lax.dynamic_update_slice_in_dim(x, y[:2], 1, 0),
        lax.dynamic_update_index_in_dim(x, y[0], 2, 0),
        lax.sort_key_val(x, y, 1),
    ),
    "reductions": lambda x, y: (
        lax.reduce_max(x, (0,)),
        lax.reduce_min(x, (1,)),
        lax.reduce_prod(x, (0, 1)),
        lax.reduce_sum(x, ()),
    ),
    "barriers": lambda x, y: (lax.optimization_barrier([x, y])[1], lax.create_token(), 1)[0::2],
}

CASES = [
    *(case(f"jnp_{name}", f, normal(4, 6), tolerance=(1e-5, 2e-6), because=ROUNDING) for name, f in JNP.items()),
    *(case(f"lax_{name}", f, normal(4, 6), normal(4, 6)) for name, f in LAX.items()),
    case(
        "bitwise",
        lambda x, y: (
            jnp.bitwise_and(x, y),
            jnp.bitwise_or(x, y),
            jnp.bitwise_xor(x, y),
            jnp.bitwise_invert(x),
            jnp.bitwise_left_shift(x, 2),
            jnp.bitwise_right_shift(x, 1),
        ),
        integers(9),
        integers(9),
    ),
    case(
        "mulhi",
        lambda x, y: lax.mulhi(x, y),
        integers(9, low=-(2**31), high=2**31 - 1),
        integers(9, low=-(2**31), high=2**31 - 1),
    ),
    case(
        "mulhi_unsigned",
        lambda x, y: lax.mulhi(x, y),
        integers(9, low=0, high=2**32 - 1, dtype="uint32"),
        integers(9, low=0, high=2**32 - 1, dtype="uint32"),
    ),
    case(
        "sets",
        lambda x: (
            jnp.setxor1d(x, x + 2, size=8),
            jnp.unique_counts(x, size=6),
            jnp.unique_inverse(x, size=6),
            jnp.unique_values(x, size=6),
            jnp.unique_all(x, size=6),
        ),
        integers(7, low=0, high=6),
    ),
    case(
        "unique_rows",
        lambda x: jnp.unique(x, axis=0, size=5, fill_value=-1, return_inverse=True),
        integers(6, 2, low=0, high=2),
    ),
    case("multidimensional_fft", lambda z: (jnp.fft.ifft2(z), jnp.fft.irfftn(z)), normal(3, 4, 5, dtype="complex64")),
    case("activations", lambda x: (nn.hard_swish(x), nn.log1mexp(jnp.abs(x)), nn.sigmoid(x)), normal(9)),
    case(
        "scaled_dot",
        lambda a, b, s, t: lax.scaled_dot(a, b, lhs_scale=s, rhs_scale=t),
        normal(8, 64, dtype="float8_e4m3fn"),
        normal(64, 4, dtype="float8_e4m3fn"),
        uniform(8, 2, low=0.5, high=2, dtype="float8_e8m0fnu"),
        uniform(2, 4, low=0.5, high=2, dtype="float8_e8m0fnu"),
        tolerance=(1e-2, 1e-2),
        because="a result in bfloat16",
    ),
    case(
        "special_rest",
        lambda x, y: (special.boxcox(x, y), special.boxcox1p(x, y)),
        uniform(9, low=0.5, high=3),
        normal(9),
        tolerance=(2e-5, 2e-6),
        because="a difference of powers",
    ),
    case(
        "structured_matrices",
        lambda c: (
            linalg.circulant(c),
            linalg.companion(c),
            linalg.hankel(c),
            linalg.fiedler(c),
            linalg.leslie(c, c[1:]),
            linalg.convolution_matrix(c, 3),
        ),
        uniform(4, low=0.5, high=2),
    ),
    case(
        "constant_matrices",
        lambda: (
            linalg.dft(4),
            linalg.hadamard(4),
            linalg.helmert(4),
            linalg.invhilbert(3),
            linalg.pascal(4),
            linalg.invpascal(3),
        ),
        tolerance=(1e-5, 1e-5),
        because=ROUNDING,
    ),
    case(
        "qdwh",
        lambda a: lax.linalg.qdwh(a)[1],
        positive_definite(n=4),
        tolerance=(1e-4, 1e-4),
        because="an iteration in f32",
    ),
    case(
        "solve_sylvester",
        lambda a, b, c: linalg.solve_sylvester(a, b, c),
        positive_definite(n=3),
        positive_definite(n=3),
        normal(3, 3),
        tolerance=(1e-3, 1e-3),
        because="through a Schur decomposition in f32",
    ),
    case(
        "scatter_primitives",
        lambda x, i, u: [
            scatter(f, u)(x, i, u)
            for f in (lax.scatter, lax.scatter_add, lax.scatter_sub, lax.scatter_mul, lax.scatter_min, lax.scatter_max)
        ],
        normal(6, 3),
        np.array([4, 0, 2], np.int32),
        normal(3, 3),
    ),
    case(
        "scatter_apply",
        lambda x, i: lax.scatter_apply(
            x, i[:, None], jnp.cos, lax.ScatterDimensionNumbers((1,), (0,), (0,)), update_shape=(2, 3)
        ),
        normal(6, 3),
        np.array([4, 1], np.int32),
    ),
    case("gather_windows", gather_windows, normal(5, 3), np.array([-1, 0, 3, 4, 9], np.int32)),
    case("gather_batched", gather_batched, normal(3, 5, 2), np.array([4, 0, 7], np.int32)),
    case(
        "rng_bit_generator",
        lambda k: [lax.rng_bit_generator(k, (5, 3), d) for d in ("uint8", "uint16", "uint32")],
        np.array([1, 2, 3, 4], np.uint32),
    ),
    case(
        "rng_bit_generator_threefry",
        lambda k: lax.rng_bit_generator(k, (7,), algorithm=lax.RandomAlgorithm.RNG_THREE_FRY),
        np.array([1, 2, 3, 4], np.uint32),
    ),
    case(
        "rng_bit_generator_philox",
        lambda k: lax.rng_bit_generator(k, (7,), algorithm=lax.RandomAlgorithm.RNG_PHILOX),
        np.array([1, 2, 3, 4], np.uint32),
    ),
    case("mutable_arrays", accumulate, normal(6)),
    case(
        "scaled_dot_of_types",
        lambda x, y: lax.dot_general(
            x, y, (((1,), (0,)), ((), ())), preferred_element_type=jnp.float32, precision="highest"
        ),
        normal(4, 6, dtype="float16"),
        normal(6, 3, dtype="float16"),
        tolerance=(1e-5, 1e-5),
        because=ROUNDING,
    ),
    case(
        "matmul_precision",
        lambda x, y: [
            jnp.matmul(x, y, precision=p) for p in ("default", "high", "highest", "bfloat16", "tensorfloat32")
        ],
        normal(4, 6),
        normal(6, 3),
        tolerance=(1e-5, 1e-5),
        because=ROUNDING,
    ),
    case("compile_time_values", lambda x: x * float(np.sum(np.ones(3))), normal(3)),
    case("jit_of_partial_eval", lambda x: jax.jacobian(lambda x: jax.jit(jnp.sin)(x) * x)(x), normal(3)),
    case("softmax_custom_rule", jax.jacrev(nn.softmax), normal(4)),
    case("named_call", jax.named_call(lambda x: jnp.sin(x) + 1, name="sine"), normal(3)),
    case(
        "median_of_even",
        lambda x: (jnp.median(x), stats.rankdata(x, "min"), jnp.quantile(x, jnp.array([0.0, 1.0]))),
        normal(8),
    ),
    case(
        "sort_multiple_axes",
        lambda x: (jnp.sort(x, axis=None), jnp.argsort(x, stable=False), jnp.lexsort((x[0], x[1]))),
        integers(3, 5, low=0, high=4),
    ),
    case("sort_doubles", lambda x: (jnp.sort(x), jnp.argsort(x)), normal(33, dtype="float64"), x64=True),
    case(
        "sort_int64",
        lambda x: (jnp.sort(x), jnp.argsort(-x)),
        integers(33, low=-(2**40), high=2**40, dtype="int64"),
        x64=True,
    ),
    case(
        "argmax_with_nan",
        lambda x: (jnp.argmax(x), jnp.argmin(x), jnp.max(x), jnp.nanargmax(x), lax.top_k(x, 5)),
        special_values(),
    ),
    case(
        "dynamic_indices_of_types",
        lambda x, i, j: (x[i], x[j], x.at[i].set(0), lax.dynamic_slice(x, (j.astype(int)[0],), (2,))),
        normal(9),
        integers(3, low=0, high=9, dtype="uint8"),
        integers(3, low=-9, high=9, dtype="int8"),
    ),
    case(
        "indices_int64",
        lambda x, i: (x[i], x.at[i].add(1)),
        normal(9),
        integers(3, low=-9, high=9, dtype="int64"),
        x64=True,
    ),
    case(
        "boolean_reductions",
        lambda x: (x.sum(), x.mean(), x.prod(), x.max(), x.min(), x.cumsum(), x.argmax(1), jnp.sort(x), x @ x.T),
        booleans(4, 5),
    ),
    case(
        "empty_results",
        lambda x: (
            x[:0],
            jnp.zeros((0, 3)) @ jnp.ones((3, 2)),
            jnp.sort(x[:0]),
            jnp.concatenate([x[:0], x]),
            x[:0].max(initial=3.0),
            jnp.cumsum(x[:0]),
        ),
        normal(4),
    ),
    case(
        "high_rank",
        lambda x: (x.transpose(6, 5, 4, 3, 2, 1, 0).sum((1, 3)), x[..., 0, 1], jnp.flip(x, (0, 6))),
        normal(2, 1, 3, 2, 1, 2, 2),
    ),
    case(
        "large_array",
        lambda x: (jnp.sort(x.reshape(-1))[:5], (x @ x.T).sum(), x.cumsum(1)[:, -1]),
        normal(130, 270),
        tolerance=(1e-4, 1e-2),
        because="sums of thirty thousand numbers",
    ),
    case(
        "bfloat16_chain",
        lambda x: jnp.tanh(x * x + x).sum(1),
        normal(5, 8, dtype="bfloat16"),
        tolerance=(2e-2, 1e-2),
        because="XLA rounds to bfloat16 at fewer places",
    ),
    case("float16_overflow", lambda x: (x * 1000, x.sum(), jnp.exp(x)), np.array([60, 70, 5, -5], np.float16)),
    case(
        "int_overflow",
        lambda x: (x + 100, x * 3, -x, jnp.abs(x), x // -1, x.sum()),
        np.array([-128, 127, 100, -100], np.int8),
    ),
    case(
        "division_by_zero",
        lambda x, y: (x // y, x % y, lax.div(x, y), lax.rem(x, y), x / y),
        np.array([5, -5, 0, -(2**31)], np.int32),
        np.array([0, 0, 0, -1], np.int32),
    ),
    case(
        "power_edges",
        lambda x, y: x**y,
        special_values()[:, None][:15],
        np.array([0, 1, -1, 0.5, 2, 3, -2, np.inf, -np.inf, np.nan], np.float32)[None],
    ),
    case("atan2_edges", lambda x, y: jnp.arctan2(x, y), special_values()[:15, None], special_values()[None, :15]),
    case(
        "complex_edges",
        lambda z: (jnp.abs(z), jnp.exp(z), jnp.sqrt(z), jnp.log(z)),
        np.array([0, 1j, -1, -1j, 1e3, complex(-4, 0.0), complex(-4, -0.0)], np.complex64),
    ),
]

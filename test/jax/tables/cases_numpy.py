"""jax.numpy: functions that users of NumPy call."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from cases import booleans, case, integers, normal, permutation, uniform

ROUNDING = "sums of many products in another order"

STATISTICS = {
    "mean": lambda x: (jnp.mean(x), jnp.mean(x, 0), jnp.mean(x, where=x > 0)),
    "median": lambda x: (jnp.median(x), jnp.median(x, 1)),
    "quantile": lambda x: (jnp.quantile(x, 0.3), jnp.quantile(x, jnp.array([0.1, 0.9]), axis=0)),
    "quantile_methods": lambda x: [
        jnp.quantile(x, 0.37, axis=1, method=m) for m in ("lower", "higher", "nearest", "midpoint")
    ],
    "percentile": lambda x: jnp.percentile(x, 25, axis=1, keepdims=True),
    "variance": lambda x: (jnp.var(x), jnp.std(x, 0, ddof=1)),
    "nan_functions": lambda x: (
        jnp.nansum(jnp.where(x > 0, x, jnp.nan), 0),
        jnp.nanmean(x, 1),
        jnp.nanstd(x),
        jnp.nanmedian(x),
    ),
    "average": lambda x: (jnp.average(x, 0, weights=jnp.arange(1.0, 6)), jnp.average(x)),
    "covariance": lambda x: (jnp.cov(x), jnp.corrcoef(x)),
    "ptp": lambda x: (jnp.ptp(x, 0), jnp.max(x, 1), jnp.amin(x)),
    "cumulative": lambda x: (jnp.cumsum(x), jnp.cumsum(x, 1), jnp.cumprod(x, 0), jnp.nancumsum(x, 0)),
    "norms": lambda x: (
        jnp.linalg.norm(x),
        jnp.linalg.norm(x, axis=0),
        jnp.linalg.norm(x, 1),
        jnp.linalg.norm(x, jnp.inf),
    ),
    "argreductions": lambda x: (jnp.argmax(x, 0), jnp.argmin(x), jnp.nanargmax(x, 1)),
    "count_nonzero": lambda x: (jnp.count_nonzero(x > 0), jnp.count_nonzero(x > 0, axis=1)),
    "gradient": lambda x: jnp.gradient(x),
    "differences": lambda x: (jnp.diff(x), jnp.diff(x, 2, axis=0), jnp.ediff1d(x)),
    "trapezoid": lambda x: jnp.trapezoid(x, dx=0.5),
    "histogram": lambda x: jnp.histogram(x, 5, (-2.0, 2.0)),
    "histogram2d": lambda x: jnp.histogram2d(x[0], x[1], 3, jnp.array([[-2.0, 2], [-2, 2]])),
    "digitize": lambda x: jnp.digitize(x, jnp.array([-1.0, 0, 1])),
    "searchsorted": lambda x: [
        jnp.searchsorted(jnp.sort(x[0]), x[1], side=s, method=m)
        for s in ("left", "right")
        for m in ("scan", "sort", "compare_all")
    ],
}

SHAPES = {
    "stack": lambda x: (
        jnp.stack([x, x], 1),
        jnp.hstack([x, x]),
        jnp.vstack([x, x]),
        jnp.dstack([x, x]),
        jnp.column_stack([x, x]),
    ),
    "split": lambda x: (jnp.split(x, 2, 1), jnp.array_split(x, 3), jnp.hsplit(x, [1, 2])),
    "repeat": lambda x: (
        jnp.repeat(x, 3),
        jnp.repeat(x, 2, 0),
        jnp.repeat(x, np.array([1, 0, 2, 1]), 1, total_repeat_length=4),
    ),
    "tile": lambda x: (jnp.tile(x, (2, 3)), jnp.tile(x, (2, 1, 1))),
    "roll": lambda x: (jnp.roll(x, 2), jnp.roll(x, (1, -1), (0, 1)), jnp.rot90(x), jnp.flip(x, 1)),
    "pad": lambda x: [
        jnp.pad(x, ((1, 2), (0, 3)), mode=m)
        for m in ("constant", "edge", "reflect", "symmetric", "wrap", "linear_ramp", "mean", "maximum")
    ],
    "meshgrid": lambda x: (
        jnp.meshgrid(x[0], x[:, 0]),
        jnp.meshgrid(x[0], x[:, 1], indexing="ij"),
        jnp.ix_(jnp.arange(2), jnp.arange(3)),
    ),
    "triangles": lambda x: (
        jnp.tril(x),
        jnp.triu(x, 1),
        jnp.diag(x),
        jnp.diag(x[0], 1),
        jnp.diagflat(x),
        jnp.trace(x),
        jnp.tri(3, 4),
    ),
    "diagonal": lambda x: (
        jnp.diagonal(x, 1),
        jnp.fill_diagonal(x, 5.0, inplace=False),
        x.at[jnp.diag_indices(3)].set(0),
    ),
    "block": lambda x: (
        jnp.block([[x, x[:, :1]], [x[:1], x[:1, :1]]]),
        jnp.append(x, 1.0),
        jnp.insert(x, 1, 9.0, axis=0),
        jnp.delete(x, 1, 1),
    ),
    "windows": lambda: (jnp.hanning(7), jnp.hamming(8), jnp.blackman(6), jnp.kaiser(5, 2.0), jnp.bartlett(9)),
    "ranges": lambda: (
        jnp.linspace(0, 1, 7),
        jnp.logspace(0, 2, 5),
        jnp.geomspace(1, 100, 4),
        jnp.arange(1, 2, 0.25),
        jnp.indices((2, 3)),
    ),
    "atleast": lambda x: (jnp.atleast_1d(x[0, 0]), jnp.atleast_2d(x[0]), jnp.atleast_3d(x)),
    "vander": lambda x: (jnp.vander(x[0], 4), jnp.vander(x[0], increasing=True)),
    "resize": lambda x: (jnp.resize(x, (5, 5)), x.ravel("F"), jnp.reshape(x, (4, 3), order="F")),
    "choose": lambda x: jnp.choose(jnp.array([0, 1, 0, 1]), [x[0], x[1]], mode="clip"),
    "select": lambda x: (
        jnp.select([x > 1, x > 0], [x, -x], 7.0),
        jnp.piecewise(x, [x < 0, x >= 1], [0, jnp.sin, 5.0]),
    ),
    "apply_along_axis": lambda x: jnp.apply_along_axis(lambda r: r / r.sum(), 1, x),
    "vectorize": lambda x: jnp.vectorize(lambda a, b: a @ b, signature="(n),(n)->()")(x, x),
    "unravel": lambda x: (
        jnp.unravel_index(jnp.array([5, 7]), (3, 4)),
        jnp.ravel_multi_index((jnp.array([1, 2]), jnp.array([0, 3])), (3, 4), mode="clip"),
    ),
    "mask_indices": lambda x: (jnp.tril_indices(3), jnp.triu_indices_from(x[:, :3]), x[jnp.tril_indices(3)]),
    "nonzero": lambda x: (
        jnp.nonzero(x > 0, size=7, fill_value=-1),
        jnp.flatnonzero(x > 0, size=5),
        jnp.argwhere(x > 0, size=6),
        jnp.where(x > 0, size=4),
    ),
    "extract": lambda x: (
        jnp.compress(np.array([True, False, True]), x, axis=0, size=2),
        jnp.extract(x > 0, x, size=3, fill_value=0),
    ),
    "array_of_scalars": lambda x: jnp.array([x[0, 0], 1.0, x[1, 1] * 2]),
    "astype_and_item": lambda x: (x.astype(int), x.round().astype(jnp.uint8), jnp.isrealobj(x)),
    "indexing": lambda x: (
        x[1],
        x[-1, ::2],
        x[..., None],
        x[::-1, 1:3],
        x[jnp.array([2, 0])],
        x[:, [1, 1, 0]],
        x[None, 1, :, None],
    ),
    "permute": lambda x: (
        jnp.permute_dims(x, (1, 0)),
        jnp.matrix_transpose(x),
        jnp.expand_dims(x, (0, 2)),
        jnp.rollaxis(x, 1),
    ),
}

EINSUMS = {
    "ij,jk->ik": ((3, 4), (4, 5)), "ij,kj->ki": ((3, 4), (5, 4)), "bij,bjk->bik": ((2, 3, 4), (2, 4, 5)), "ii->i": ((4, 4),),
    "ii": ((4, 4),), "ijk->kji": ((2, 3, 4),), "ij->": ((3, 4),), "i,j->ij": ((3,), (4,)), "bhqd,bhkd->bhqk": ((2, 2, 3, 4), (2, 2, 5, 4)),
    "...ij,...jk": ((2, 3, 4), (4, 5)), "ijk,ilm,njm,nlk->": ((2, 3, 4), (2, 3, 4), (3, 3, 4), (3, 3, 4)), "abc,cd,de->abe": ((2, 3, 4), (4, 5), (5, 2)),
    "iij,j->i": ((3, 3, 4), (4,)),
}  # fmt: skip

SETS = {
    "unique": lambda x: jnp.unique(
        x, size=8, fill_value=99, return_index=True, return_inverse=True, return_counts=True
    ),
    "isin": lambda x: jnp.isin(x, jnp.array([1, 3, 5])),
    "union": lambda x: (
        jnp.union1d(x, x + 2, size=12, fill_value=-7),
        jnp.intersect1d(x, x + 2, size=8, fill_value=-7),
        jnp.setdiff1d(x, jnp.array([1, 2]), size=8),
    ),
    "bincount": lambda x: (jnp.bincount(x, length=12), jnp.bincount(x, weights=x * 0.5, length=12)),
    "bitwise": lambda x: (x & 3, x | 8, x ^ 5, ~x, x << 2, x >> 1, jnp.left_shift(x, 3), jnp.bitwise_not(x)),
    "integer_division": lambda x: (x // 3, x % 3, -x // 3, -x % 3, divmod(x, -4), jnp.fmod(-x, 3), x / 3),
    "integer_power": lambda x: (x**3, 2**x, jnp.power(x, 2), jnp.square(x)),
    "integer_reductions": lambda x: (x.sum(), x.prod(), x.mean(), x.max(), jnp.median(x), x.cumsum()),
    "partition": lambda x: (jnp.sort(jnp.partition(x, 3)[:3]), jnp.partition(x, 3)[3]),
    "trim_zeros": lambda x: jnp.sort_complex(x * 1j),
    "polynomials": lambda x: (
        jnp.polymul(x, x),
        jnp.polyadd(x, x[:2]),
        jnp.polyder(x),
        jnp.polyint(x),
        jnp.convolve(x, x[:3]),
    ),
}

CASES = [
    *(
        case(f"statistics_{name}", f, normal(5, 8), tolerance=(2e-5, 2e-6), because=ROUNDING)
        for name, f in STATISTICS.items()
    ),
    *(
        case(
            f"shape_{name}",
            f,
            *([] if name in ("windows", "ranges") else [normal(3, 4)]),
            eager=name in ("stack", "pad", "indexing", "nonzero"),
        )
        for name, f in SHAPES.items()
    ),
    *(
        case(
            f"einsum_{spec}",
            lambda *xs, spec=spec: jnp.einsum(spec, *xs),
            *(normal(*s) for s in shapes),
            tolerance=(1e-5, 1e-5),
            because=ROUNDING,
        )
        for spec, shapes in EINSUMS.items()
    ),
    *(case(f"integers_{name}", f, integers(9, low=0, high=9)) for name, f in SETS.items()),
    case(
        "matmul_shapes",
        lambda x, y: (x @ y, x[0, 0] @ y, x @ y[:, 0], jnp.matmul(x[:, None], y)),
        normal(2, 3, 4),
        normal(4, 5),
    ),
    case(
        "dot_vdot_inner_outer",
        lambda x, y: (
            jnp.dot(x, y),
            jnp.vdot(x, x),
            jnp.inner(x, x),
            jnp.outer(x[0], y[0]),
            jnp.kron(x, y),
            jnp.cross(x[:, :3], x[:, 1:]),
        ),
        normal(3, 4),
        normal(4, 2),
        tolerance=(1e-5, 2e-6),
        because=ROUNDING,
    ),
    case(
        "vecdot_matvec",
        lambda x, y: (jnp.vecdot(x, x), jnp.matvec(x, y[0]), jnp.vecmat(y[0], x.T), jnp.tensordot(x, y, ((1,), (1,)))),
        normal(3, 4),
        normal(2, 4),
    ),
    case(
        "tensordot",
        lambda x, y: jnp.tensordot(x, y, axes=((0, 2), (1, 0))),
        normal(3, 4, 5),
        normal(5, 3, 2),
        tolerance=(1e-5, 1e-5),
        because=ROUNDING,
    ),
    case(
        "mixed_precision_matmul",
        lambda x, y: (x @ y, jnp.matmul(x, x, preferred_element_type=jnp.float32)),
        normal(4, 4, dtype="bfloat16"),
        normal(4, 4),
    ),
    case(
        "convolve",
        lambda x, y: [f(x, y, mode=m) for m in ("full", "same", "valid") for f in (jnp.convolve, jnp.correlate)],
        normal(9),
        normal(4),
    ),
    case("correlate_complex", jnp.correlate, normal(9, dtype="complex64"), normal(4, dtype="complex64")),
    case(
        "polyfit",
        lambda x, y: jnp.polyfit(x, y, 2),
        uniform(9),
        normal(9),
        tolerance=(2e-3, 2e-3),
        because="the least-squares problem is of condition 30 or so, in f32",
    ),
    case(
        "roots",
        lambda c: jnp.sort_complex(jnp.roots(c, strip_zeros=False)),
        np.array([1, -6, 11, -6], np.float32),
        tolerance=(1e-4, 1e-4),
        because="eigenvalues in f32",
    ),
    case(
        "complex_parts",
        lambda z: (
            z.real,
            z.imag,
            jnp.abs(z),
            jnp.angle(z),
            z.conj(),
            jnp.imag(z),
            z * 1j,
            z.sum(),
            z.mean(0),
            jnp.isclose(z, z),
        ),
        normal(3, 4, dtype="complex64"),
    ),
    case("complex_from_parts", lambda x, y: (jax.lax.complex(x, y), x + 1j * y, jnp.exp(1j * x)), normal(5), normal(5)),
    case(
        "complex_comparisons",
        lambda z: (z == z[::-1], z != 0, jnp.sort(z), jnp.max(z), z.imag.argmin(), jnp.cumsum(z), jnp.prod(z)),
        normal(6, dtype="complex64"),
    ),
    case(
        "logic",
        lambda a, b: (
            a & b,
            a | b,
            a ^ b,
            ~a,
            a.any(0),
            a.all(),
            a.sum(),
            a + b,
            a * b,
            a.argmax(),
            jnp.where(a, 1, 2),
        ),
        booleans(3, 4),
        booleans(3, 4),
    ),
    case(
        "allclose",
        lambda x: (
            jnp.allclose(x, x + 1e-9),
            jnp.array_equal(x, x),
            jnp.array_equiv(x, x[:1]),
            jnp.isclose(x, x * 1.0001),
        ),
        normal(3, 4),
    ),
    case(
        "inverse_permutation",
        lambda p: (jnp.argsort(p), jnp.zeros(9, int).at[p].set(jnp.arange(9)), jnp.take(p, p)),
        permutation(9),
    ),
    case("unwrap", jnp.unwrap, uniform(9, low=0, high=12)),
    case("lists_of_arrays", lambda x: jnp.array([[x[0], x[1]], [x[2], 1.0]]), normal(3)),
    case(
        "f_contiguous_argument",
        lambda x: x + jnp.arange(4),
        np.asfortranarray(np.arange(12.0, dtype=np.float32).reshape(3, 4)),
    ),
    case("strided_argument", lambda x: x * 2, np.arange(40, dtype=np.float32).reshape(5, 8)[::2, ::-3]),
    case("python_scalars", lambda a, b, c, d: (a + b, a * c, d | True, b**2), 3, 2.5, 1j, True),
    case("fromfunction", lambda: jnp.fromfunction(lambda i, j: i + 2 * j, (3, 4))),
    case(
        "nan_handling",
        lambda x: (jnp.nan_to_num(x), jnp.isnan(x), jnp.nanmin(x), jnp.nanprod(x)),
        np.array([1, np.nan, np.inf, -np.inf, 2], np.float32),
    ),
    case(
        "polyroots_and_poly",
        lambda r: (jnp.poly(r), jnp.polydiv(jnp.array([1.0, -3, 2]), jnp.array([1.0, -1]))),
        normal(4),
        tolerance=(1e-5, 1e-5),
        because=ROUNDING,
    ),
]

"""NumPy's functions under xhlo.jit: each gives NumPy's values, shape and dtype."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xhlo
from numpy_checks import check

RNG = np.random.default_rng(0)
X = RNG.normal(size=(4, 5))
Y = RNG.normal(size=(4, 5))
F = X.astype(np.float32)
V = RNG.normal(size=5)
N = RNG.integers(-9, 9, (4, 5))
M = np.where(N == 0, 3, N)
U = RNG.integers(0, 200, (4, 5)).astype(np.uint8)
B = X > 0
C = X + 1j * Y
S = X[:, :4] @ X[:, :4].T + 4 * np.eye(4)
NAN = np.where(B, X, np.nan)
T = RNG.normal(size=(2, 3, 4))
I = np.array([2, 0, 3, -1])
SPECIAL = np.array([0.0, -0.0, 1.5, -1.5, 2.5, np.inf, -np.inf, np.nan, 1e300, -1e-300])


UNARY = """absolute arccos arccosh arcsin arcsinh arctan arctanh cbrt ceil conjugate cos cosh deg2rad exp exp2 expm1 fabs
floor isfinite isinf isnan log log10 log1p log2 logical_not negative positive rad2deg reciprocal rint sign signbit sin
sinh sqrt square tan tanh trunc""".split()


def check_all(functions: list[str], *arrays: Any) -> None:
    """Many functions in one program."""
    assert functions
    check(lambda *given: tuple(getattr(np, name)(*given) for name in functions), *arrays)


def without(functions: list[str], *names: str) -> list[str]:
    return [one for one in functions if one not in names]


@pytest.mark.long
@pytest.mark.parametrize("half", [0, 1])
def test_unary_functions(half: int) -> None:
    names = UNARY[half::2]
    check_all(names, np.append(X.ravel(), SPECIAL[:8]))
    check_all(without(names, "arccosh"), F)
    check(np.arccosh, np.abs(F) + 1)
    check_all([one for one in without(names, "signbit", "reciprocal") if not one.startswith("arc")], N)
    check_all([one for one in names if one.startswith("arc")], np.abs(N) % 2)


def test_unary_functions_of_others() -> None:
    check_all(["absolute", "sign", "square", "rint", "exp", "sin", "sqrt", "conjugate", "isnan", "isfinite"], C)
    check_all(["absolute", "rint", "exp", "sin", "sqrt", "floor"], U)


BINARY = """add arctan2 copysign divide equal float_power floor_divide fmax fmin fmod greater greater_equal heaviside
hypot less less_equal logaddexp logaddexp2 logical_and logical_or logical_xor maximum minimum multiply not_equal
remainder subtract nextafter""".split()
OF_FLOATS = ("arctan2", "copysign", "heaviside", "hypot", "logaddexp", "logaddexp2", "nextafter")


@pytest.mark.long(2)
@pytest.mark.parametrize("half", [0, 1])
def test_binary_functions(half: int) -> None:
    names = BINARY[half::2]
    check_all(without(names, "float_power"), X, Y)
    check_all(without(names, "float_power"), F, np.float32(0.5))
    check_all(without(names, "float_power", "nextafter"), np.repeat(SPECIAL[:8], 8), np.tile(SPECIAL[:8], 8))
    check_all(without(names, "float_power", *OF_FLOATS), N, M)


def test_binary_functions_of_others() -> None:
    check(np.float_power, np.abs(X), Y)
    check(np.float_power, np.abs(N), M)
    some = ["add", "multiply", "floor_divide", "remainder", "maximum"]
    check_all(some, U, U[::-1].copy())
    check_all(some, N, np.zeros_like(N))
    integers = ["bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift", "gcd", "lcm"]
    check_all(integers, N, np.abs(M))
    check_all(integers, U, U % 5)


@pytest.mark.parametrize("name", ["gcd", "lcm"])
def test_divisors_of_the_least_number(name: str) -> None:
    """Its absolute value is no number of its type; multiples that are too large wrap as NumPy's."""
    found = np.array([-128, -127, -8, 0, 5, 96, 127], np.int8)
    check(getattr(np, name), np.repeat(found, found.size), np.tile(found, found.size))


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_ldexp_rounds_once_and_takes_any_exponent(kind: type[Any]) -> None:
    info = np.finfo(kind)
    numbers = np.array([0.0, -0.0, 1.0, 0.7, -1.3, info.max, info.tiny * 1.3, info.smallest_subnormal, np.inf, np.nan])
    exponents = np.array([0, 1, -3, 31, -32, 255, -130, -1050, 1100, 2097, -2098, 2**31 - 1, -(2**31)])
    x, y = np.repeat(numbers.astype(kind), exponents.size), np.tile(exponents, numbers.size)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(xhlo.jit(np.ldexp)(x, y), np.ldexp(x, y))


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.complex64])
def test_sinc_of_zero(kind: type[Any]) -> None:
    """A number that stands for 0 may be no 0 in the type."""
    check(np.sinc, np.array([0, -0.0, 0.5, 1], kind))


def test_signed_and_unsigned_integers_are_compared_by_value() -> None:
    signed, unsigned = np.array([-1, -(2**63), 0, 2**63 - 1]), np.array([2**64 - 1, 2**63, 0, 2**63 - 1], np.uint64)
    x, y = np.repeat(signed, 4), np.tile(unsigned, 4)
    names = ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"]
    check_all(names, x, y)
    check_all(names, y, x)


def test_padding_is_of_slices() -> None:
    f = xhlo.jit(lambda x: np.pad(x, 2, "reflect"))
    np.testing.assert_array_equal(f(X), np.pad(X, 2, "reflect"))
    assert "gather" not in f.compiler_ir(X, stage="hlo")


def test_powers_whose_exponent_is_a_number() -> None:
    exponents = [-2, -1.0, -0.5, 0.5, 1.5, 2.0, 3, 4.0, 2.5]
    for x in (SPECIAL, SPECIAL.clip(-1e30, 1e30).astype(np.float32)):
        check(lambda x: [np.power(x, exponent) for exponent in exponents], x)


PROMOTION: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (lambda x: x + 1, (F,)),
    (lambda x: x * 2.5, (F,)),
    (lambda x: x * 2.5, (N,)),
    (lambda x, y: x + y, (F, X)),
    (lambda x, y: x + y, (F, N)),
    (lambda x, y: x + y, (U, N.astype(np.int8))),
    (lambda x: x / 2, (N,)),
    (lambda x: x // 2, (U,)),
    (lambda x: x + 1j, (F,)),
    (lambda x: -x + True, (N,)),
    (lambda x, s: x * (s + 1), (F, 2.5)),
    (lambda x, s: np.sin(s) * x, (F, 2.5)),
    (lambda x: x**2, (F,)),
    (lambda x: 2**x, (F,)),
    (lambda x: x.sum(), (U,)),
    (lambda x: x.mean(), (N,)),
    (lambda x: x.mean(axis=0), (F,)),
    (lambda x: x.sum(dtype=np.float32), (N,)),
    (lambda x: x & ~x | (x ^ x), (B,)),
    (lambda x: x + x, (B,)),
    (lambda x: x.astype(np.float16) + 1, (F,)),
    (lambda x: np.sqrt(x), (N.astype(np.int8) ** 2,)),
    (lambda x: divmod(x, 3), (N,)),
    (lambda x: abs(x) % 2.5, (X,)),
    (lambda x: np.where(x > 0, x, 0), (F,)),
    (lambda x: np.clip(x, -0.5, 0.5), (F,)),
]


@pytest.mark.long(3)
@pytest.mark.parametrize("case", range(len(PROMOTION)))
def test_promotion(case: int) -> None:
    function, arrays = PROMOTION[case]
    check(function, *arrays)


CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    **{
        f"{name} {axis}": (lambda x, name=name, axis=axis: getattr(np, name)(x, axis=axis), (X,))
        for name in (
            "sum",
            "prod",
            "max",
            "min",
            "mean",
            "std",
            "var",
            "ptp",
            "all",
            "any",
            "cumsum",
            "argmax",
            "argmin",
        )
        for axis in (None, 0, -1)
    },
    **{
        f"{name} keepdims": (lambda x, name=name: getattr(np, name)(x, axis=1, keepdims=True), (X,))
        for name in ("sum", "max", "mean", "var", "any", "argmax")
    },
    **{
        f"{name} of NaN": (lambda x, name=name: getattr(np, name)(x, axis=1), (NAN,))
        for name in "sum max min argmax argmin nansum nanmax nanmin nanmean nanvar nanstd nanprod sort argsort".split()
    },
    "max of integers": (lambda x: (x.max(), x.min(0), x.argmax(1), x.prod()), (N,)),
    "cumprod": (lambda x: np.cumprod(x, axis=0), (X,)),
    "where=": (
        lambda x, b: (np.sum(x, where=b), np.mean(x, axis=0, where=b), np.max(x, initial=-1.0, where=b)),
        (X, B),
    ),
    "axes": (lambda x: (x.sum((0, 2)), np.max(x, axis=(-1, 1)), x.std((1, 2), ddof=1)), (T,)),
    "ufunc methods": (lambda x: (np.add.reduce(x), np.maximum.reduce(x, axis=1), np.add.accumulate(x, 1)), (X,)),
    "outer": (lambda v: (np.multiply.outer(v, v), np.subtract.outer(v, v)), (V,)),
    "average": (lambda x, w: (np.average(x), np.average(x, axis=1, weights=w)), (X, np.abs(V))),
    "count_nonzero": (lambda x: np.count_nonzero(x, axis=1), (N,)),
    "median": (lambda x: (np.median(x), np.median(x, axis=0), np.quantile(x, [0.1, 0.7], axis=1)), (X,)),
    "percentile": (lambda x: np.percentile(x, [25, 75]), (F,)),
    "complex": (lambda c: (c.real, c.imag, np.angle(c), c.conj() * c, c.sum(), np.abs(c), c.mean(0)), (C,)),
    # Shapes.
    "reshape": (lambda x: (x.reshape(2, -1), x.reshape((5, 4)), x.ravel(), np.reshape(x, -1), x.flatten()), (X,)),
    "transpose": (lambda t: (t.T, t.transpose(1, 0, 2), np.swapaxes(t, 0, 2), np.moveaxis(t, 0, -1), t.mT), (T,)),
    "expand": (lambda x: (x[None], np.expand_dims(x, (0, 2)), np.squeeze(x[:1]), np.atleast_3d(x)), (X,)),
    "join": (
        lambda x, y: (
            np.concatenate([x, y]),
            np.stack([x, y], -1),
            np.hstack([x, y]),
            np.vstack([x, y[0]]),
            np.dstack([x, y]),
        ),
        (X, Y),
    ),
    "join types": (lambda x, y: np.concatenate([x, y], axis=1), (F, N)),
    "split": (lambda x: [*np.split(x, 2), *np.array_split(x, 3, axis=1), *np.split(x, [1, 3], axis=1)], (X,)),
    "flip": (
        lambda x: (np.flip(x), np.flip(x, 0), np.fliplr(x), np.roll(x, 2), np.roll(x, (1, -2), (0, 1)), np.rot90(x)),
        (X,),
    ),
    "tile": (
        lambda x: (np.tile(x, 2), np.tile(x, (2, 1, 3)), np.repeat(x, 3), np.repeat(x, [1, 0, 2, 3], axis=0)),
        (X,),
    ),
    "pad": (
        lambda x: [
            np.pad(x, 1),
            np.pad(x, ((1, 2), (0, 3)), constant_values=5),
            *(np.pad(x, 2, mode) for mode in ("edge", "wrap", "reflect", "symmetric")),
        ],
        (X,),
    ),
    "broadcast": (lambda v: (np.broadcast_to(v, (3, 5)), *np.broadcast_arrays(v, v[:, None])), (V,)),
    "triangles": (lambda x: (np.tril(x), np.triu(x, 1), np.diag(x), np.trace(x), np.diagonal(x, 1)), (X,)),
    "diag": (lambda v: (np.diag(v), np.diag(v, 2), np.diag(v, -1)), (V,)),
    "meshgrid": (lambda v, w: np.meshgrid(v, w), (V, V[:3])),
    "like": (lambda x: (np.zeros_like(x) + x, np.full_like(x, 3), np.ones_like(x, dtype=int)), (F,)),
    "select": (lambda x: np.select([x < 0, x < 1], [x, x * 2], default=7), (X,)),
    "round": (lambda x: (np.round(x, 2), np.round(x * 100, -1), x.round()), (X,)),
    "nan_to_num": (lambda x: np.nan_to_num(x), (SPECIAL,)),
    "diff": (lambda x: (np.diff(x), np.diff(x, n=2, axis=0), np.diff(x, prepend=0.0)), (X,)),
    # Elements.
    "slices": (lambda x: (x[1], x[1:3], x[:, 2], x[::2, ::-1], x[-1, -2], x[..., 0], x[3:0:-2, None], x[2:2]), (X,)),
    "indices": (
        lambda x, i: (x[i], x[:, np.array([1, 1])], x[i, i], x[i, 1], x[i[:, None], [0, 2]], x[i][..., -1]),
        (X, I),
    ),
    "places of new dimensions": (lambda t: (t[0, :, [1, 2]], t[:, [0, 2], [1, 3]], t[[0, 1], None, :, [2, 3]]), (T,)),
    "a mask that is known": (lambda x: x[np.array([True, False, True, False])], (X,)),
    "an index that is computed": (lambda x, i: (x[i], x[1, i], x[i, :2], x[-i]), (X, np.array(2))),
    "iteration": (lambda x: [row.sum() for row in x], (X,)),
    "take": (lambda x, i: (np.take(x, i, axis=0), np.take(x, [1, 2]), x.take(i, 1, mode="wrap")), (X, I)),
    "take_along_axis": (lambda x: np.take_along_axis(x, np.argsort(x, 0), 0), (X,)),
    "sort": (lambda x: (np.sort(x), np.sort(x, axis=0), np.argsort(x), np.sort(x, None), x.argsort(0)), (X,)),
    "sort others": (lambda n, b: (np.sort(n), np.argsort(n, kind="stable"), np.sort(b, 0)), (N, B)),
    "lexsort": (lambda a, b: np.lexsort((a, b)), (N[0], N[1] % 3)),
    "searchsorted": (
        lambda a, v: (np.searchsorted(a, v), np.searchsorted(a, v, side="right"), np.searchsorted(a, 0.5)),
        (np.sort(np.append(V, V[0])), np.append(V, [9.0, -9.0])),
    ),
    # Products.
    "matmul": (lambda x, y: (x @ y.T, x @ y[0], y[0] @ x.T, x[0] @ y[0], np.matmul(x.T, y)), (X, Y)),
    "matmul of stacks": (lambda t: (t @ t.transpose(0, 2, 1), t @ t[0].T, t[0] @ t[1].T), (T,)),
    "matmul of others": (lambda n, b: (n @ n.T, b @ b.T), (N, B)),
    "dot": (
        lambda t, x: (np.dot(t, x), np.inner(t, x.T), np.outer(x, x), np.vdot(x, x), np.kron(x, x)),
        (T, X[:, :4].T),
    ),
    "tensordot": (
        lambda t: (np.tensordot(t, t, 3), np.tensordot(t, t, ((0, 1), (0, 1))), np.tensordot(t, t[0], 2)),
        (T,),
    ),
    "einsum": (
        lambda t, x: (
            np.einsum("ijk,ljk->il", t, t),
            np.einsum("ijk->kj", t),
            np.einsum("ii->i", x),
            np.einsum("ii", x),
            np.einsum("ijk,kl,lm->ijm", t, x, x),
            np.einsum("ij,ij->", x, x),
            np.einsum("...k,kl->...l", t, x),
            np.einsum("i,j->ij", x[0], x[1]),
        ),
        (T, X[:, :4]),
    ),
    "cross": (lambda x: np.cross(x[:, :3], x[:, 1:4]), (X,)),
    "norm": (
        lambda x, v: (
            np.linalg.norm(x),
            np.linalg.norm(x, axis=1),
            np.linalg.norm(v, 1),
            np.linalg.norm(v, np.inf),
            np.linalg.norm(x, 1),
            np.linalg.norm(v, 3),
        ),
        (X, V),
    ),
    "linalg": (
        lambda s, x: (
            np.linalg.solve(s, x),
            np.linalg.solve(s, x[:, 0]),
            np.linalg.inv(s),
            np.linalg.det(s),
            np.linalg.cholesky(s),
            np.linalg.matrix_power(s, 3),
        ),
        (S, X),
    ),
}


@pytest.mark.long(32)
@pytest.mark.parametrize("case", CASES)
def test_functions(case: str) -> None:
    function, arrays = CASES[case]
    check(function, *arrays)


def assigned(x: Any) -> Any:
    x = x.copy()
    x[0] = 1
    x[1, 2] = 5
    x[2, ::2] = x[3, :3]
    x[:, -1] += 3
    x[[0, 2], [1, 1]] = [7, 8]
    x[x < 0] = 0
    x[3] *= 2
    x[1:3, ::-2] = 4
    return x


def in_place(x: Any) -> Any:
    y = x * 2
    z = y
    y += 1
    np.add(y, 1, out=y)
    y.sort()
    return y, z


def test_assignment() -> None:
    check(assigned, X)
    check(in_place, X)


def test_functions_of_truth_values() -> None:
    check(np.angle, np.array([True, False]))
    check(np.around, np.array([True, False]))


def test_the_spacing_of_negative_zero_is_positive() -> None:
    check(np.spacing, np.array([-0.0, 0.0, -1.0, 1.0]))


def test_chosen_ints_wrap() -> None:
    check(lambda c, x: np.where(c, x, -1), np.array([True, False]), np.array([1, 2], np.uint8))
    check(lambda c, x: np.where(c, 300, x), np.array([True, False]), np.array([1, 2], np.int8))

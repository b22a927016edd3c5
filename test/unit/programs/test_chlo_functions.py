"""chlo's functions: references against SciPy and Fraction, the CPU against the references in ulp, edges."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import xhlo
from hlo_programs import Program
from xhlo.lowering.convert_chlo_to_hlo.zeta import MOST_EXACT_PRODUCTS, MOST_PRODUCTS

special = pytest.importorskip("scipy.special")

bf16 = ml_dtypes.bfloat16
NAN, INF = np.nan, np.inf
NAMES = {"float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16", "float8_e5m2": "f8E5M2"}
COMPLEX = {"complex64": "complex<f32>", "complex128": "complex<f64>"}


LANES = 64
"""A multiple of the elements that any vector loop takes at once; the code of a rest takes LLVM as long again."""


def whole_vectors(array: Any) -> Any:
    """The array, and its first elements again, up to a multiple of `LANES`. `test_edges` has a rest after vectors."""
    return np.resize(array, -(-array.size // LANES) * LANES)


def spelled(array: Any) -> str:
    shape = "".join(f"{dim}x" for dim in array.shape)
    names = {**NAMES, **COMPLEX, "int32": "i32", "int64": "i64", "uint64": "ui64", "int8": "i8", "uint8": "ui8"}
    return f"tensor<{shape}{names[array.dtype.name]}>"


def program(op: str, *operands: Any, result: str | None = None) -> str:
    types = [spelled(operand) for operand in operands]
    values = [f"%x{index}" for index in range(len(operands))]
    given = ", ".join(f"{value}: {type_}" for value, type_ in zip(values, types, strict=True))
    result = result or types[0]
    arrow = f"({', '.join(types)}) -> {result}"
    return f'func.func @main({given}) -> {result} {{ %0 = "chlo.{op}"({", ".join(values)}) : {arrow} return %0 : {result} }}'


def reference(text: str, *operands: Any) -> tuple[Any, ...]:
    return Program(text).results(*operands)


def both(op: str, *operands: Any, result: str | None = None) -> tuple[Any, Any]:
    """The CPU's result and the reference's."""
    text = program(op, *operands, result=result)
    return xhlo.compile(text)(*operands), reference(text, *operands)[0]


def ulps(result: Any, wanted: Any) -> float:
    """The largest difference in units of the last place; NaN equals NaN."""
    info = ml_dtypes.finfo(result.dtype)
    wide, exact = result.astype(np.longdouble), wanted.astype(np.longdouble)
    _, exponent = np.frexp(np.maximum(np.abs(exact), np.longdouble(float(info.smallest_normal))))
    with np.errstate(all="ignore"):
        found = np.abs(wide - exact) / np.ldexp(np.longdouble(1), exponent - 1 - info.nmant)
    found = np.where((wide == exact) | (np.isnan(wide) & np.isnan(exact)), 0, found)
    return float(np.max(np.where(np.isnan(found), np.inf, found), initial=0))


def inputs(dtype: Any, end: float = 30.0) -> Any:
    """Both signs, all magnitudes, the points where the formulas change, edges."""
    rng, info = np.random.default_rng(7), ml_dtypes.finfo(dtype)
    least, most = float(info.smallest_subnormal), float(info.max)
    edges = [0.0, -0.0, 0.5, -0.5, 1, -1, 2, -2, INF, -INF, NAN, most, -most, least, -least]
    sizes = 10 ** rng.uniform(np.log10(least), np.log10(most), 600) * rng.choice([-1, 1], 600)
    parts = [edges, rng.uniform(-end, end, 800), rng.uniform(-1, 1, 400), rng.uniform(0.9, 1.1, 300), sizes]
    return whole_vectors(np.concatenate([np.asarray(part, np.float64) for part in parts]).astype(dtype))


# For each function, the error bounds in ulp of the CPU's results, for f32 and f64.
ELEMENTARY = {
    "acos": (1, 2),
    "acosh": (2, 3),
    "asin": (1, 2),
    "asinh": (2, 2),
    "atan": (1, 1),
    "atanh": (2, 2),
    "cosh": (2, 2),
    "sinh": (2, 3),
    "tan": (1, 2),
    "erf": (1, 2),
    "erfc": (2, 4),
    "erf_inv": (1, 4),
    "bessel_i1e": (1, 4),
}


@pytest.mark.long(7)
@pytest.mark.parametrize(
    ("op", "dtype"),
    [(op, dtype) for op in ELEMENTARY for dtype in (np.float32, np.float64)]
    + [("asin", bf16), ("sinh", np.float16), ("erf_inv", bf16), ("acosh", np.float16)],
)
def test_accuracy_on_the_cpu(op: str, dtype: Any):
    x = inputs(dtype)
    result, wanted = both(op, x)
    assert ulps(result, wanted) <= ELEMENTARY[op][dtype is np.float64]
    known = ~np.isnan(wanted.astype(np.float64))
    np.testing.assert_array_equal(np.signbit(result)[known], np.signbit(wanted)[known])


def test_erfc_at_its_ends_and_among_subnormal_results():
    """Neither 12 bits of the argument nor 2^64 times the result show: neighbours have the error of other numbers."""
    bits = [0x7F800001, 0xFFC12345, 0x7FC00FFF]  # NaNs, of which the upper half of the bits is infinity for the first
    starts = [np.nextafter(np.float32(0.5), np.float32(0)), 1.999, 6.529, 9.19, 9.21, 10.05, 10.0599]
    runs = [np.arange(2048, dtype=np.int32) + np.float32(start).view(np.int32) for start in starts]
    x = whole_vectors(np.concatenate(runs).view(np.float32))
    for signed in (x, -x):
        result, wanted = both("erfc", signed)
        assert ulps(result, wanted) <= 2
    assert np.any((both("erfc", x)[0] > 0) & (x > 9.3))
    edges = np.array([0.0, -0.0, 1e-45, INF, -INF, 3e38, -3e38, 10.06, *([NAN] * 8)], np.float32)
    edges[8:11].view(np.uint32)[:] = bits
    np.testing.assert_array_equal(both("erfc", edges)[0], [1, 1, 1, 0, 2, 0, 2, 0, *([NAN] * 8)])


@pytest.mark.long(5)
@pytest.mark.parametrize("op", ["lgamma", "digamma"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16], ids=str)
def test_gamma_on_the_cpu(op: str, dtype: Any):
    """The error is absolute for negative numbers, where the functions have zeros."""
    x = inputs(dtype)
    result, wanted = both(op, x)
    assert ulps(result[x > 0], wanted[x > 0]) <= (6 if dtype is np.float64 else 1)
    left = x <= 0
    with np.errstate(all="ignore"):
        scale = 1 + np.abs(reference(program(op, x), (1 - x.astype(np.float64)).astype(dtype))[0].astype(np.float64))
        gap = np.abs(result.astype(np.float64) - wanted.astype(np.float64))
        allowed = 8 * float(ml_dtypes.finfo(dtype).eps) * np.maximum(scale, np.abs(wanted.astype(np.float64)))
    same = (result == wanted) | (np.isnan(result) & np.isnan(wanted))
    assert (same | (gap <= allowed))[left].all()


@pytest.mark.long(2)
@pytest.mark.sample(3)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("op", ["zeta", "polygamma"])
def test_zeta_and_polygamma_on_the_cpu(op: str, dtype: Any):
    rng = np.random.default_rng(3)
    first = 1 + 10 ** rng.uniform(-3, 1.5, 600) if op == "zeta" else rng.integers(0, 12, 600).astype(float)
    second = 10 ** rng.uniform(-2, 3, 600)
    first, second = first.astype(dtype), second.astype(dtype)
    text = program(op, first, second)
    compiled = xhlo.compile(text)
    bound = 1 if dtype is np.float32 else 8 if op == "zeta" else 45
    assert ulps(compiled(first, second), reference(text, first, second)[0]) <= bound
    # Negative arguments, for integer orders: absolute error.
    first, second = rng.integers(2, 8, 600).astype(dtype), -rng.uniform(0.01, 40, 600).astype(dtype)
    result, wanted = compiled(first, second), reference(text, first, second)[0]
    np.testing.assert_allclose(result, wanted, rtol=1e-5 if dtype is np.float32 else 1e-11, atol=1e-12)


@pytest.mark.long(7)
@pytest.mark.parametrize(
    ("op", "number", "dtype"),
    [
        *(
            (op, number, dtype)
            for op, number in (("zeta", 2), ("polygamma", 1), ("polygamma", 3))
            for dtype in (np.float32, np.float64)
        ),
        *(("zeta", number, np.float32) for number in (MOST_PRODUCTS, MOST_PRODUCTS + 1)),
        *(("zeta", number, np.float64) for number in (MOST_EXACT_PRODUCTS, MOST_EXACT_PRODUCTS + 1)),
    ],
)
def test_known_orders(op: str, number: int, dtype: Any):
    """Powers whose exponent the program states are products, up to a number that depends on the type."""
    rng = np.random.default_rng(4)
    q = np.array([*10 ** rng.uniform(-2, 3, 533), 1e-30, 1e-40, 1e25, 0.0, -1.0, INF, NAN], dtype)
    second = np.concatenate([q, -rng.uniform(0.01, 40, 100).astype(dtype)])
    type_ = spelled(second)
    text = f"""func.func @main(%q: {type_}) -> {type_} {{
      %c = stablehlo.constant dense<{number}> : tensor<i32>
      %0 = stablehlo.convert %c : (tensor<i32>) -> tensor<{NAMES[np.dtype(dtype).name]}>
      %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<{NAMES[np.dtype(dtype).name]}>) -> {type_}
      %2 = "chlo.{op}"(%1, %q) : ({type_}, {type_}) -> {type_}
      return %2 : {type_} }}"""
    result, wanted = xhlo.compile(text)(second), reference(text, second)[0]
    assert ulps(result[: q.size], wanted[: q.size]) <= (1 if dtype is np.float32 else 24)
    # Negative arguments: absolute error.
    np.testing.assert_allclose(
        result[q.size :], wanted[q.size :], rtol=1e-5 if dtype is np.float32 else 1e-11, atol=1e-12
    )


def test_references_agree_with_scipy():
    rng = np.random.default_rng(1)
    x = np.concatenate([rng.uniform(0.01, 30, 400), -rng.uniform(0.01, 9, 200), 10 ** rng.uniform(-20, 20, 100)])
    for op, function in (("lgamma", special.gammaln), ("digamma", special.psi), ("bessel_i1e", special.i1e)):
        np.testing.assert_allclose(reference(program(op, x), x)[0], function(x), rtol=2e-13, atol=2e-14, err_msg=op)
    y = rng.uniform(-1, 1, 500)
    np.testing.assert_allclose(reference(program("erf_inv", y), y)[0], special.erfinv(y), rtol=1e-14)
    s, q = 1 + 10 ** rng.uniform(-2, 1, 300), 10 ** rng.uniform(-1, 2, 300)
    np.testing.assert_allclose(reference(program("zeta", s, q), s, q)[0], special.zeta(s, q), rtol=1e-12)
    n = rng.integers(0, 9, 300).astype(float)
    found = reference(program("polygamma", n, q), n, q)[0]
    np.testing.assert_allclose(found, special.polygamma(n.astype(int), q), rtol=1e-12)


def edge_cases() -> list[tuple[str, list[list[float]], list[float]]]:
    return [
        ("digamma", [[0.0, -0.0, -1, -2.0, INF, -INF, NAN]], [NAN, NAN, NAN, NAN, INF, NAN, NAN]),
        ("lgamma", [[0.0, -0.0, -1, 1, 2, INF, -INF, NAN]], [INF, INF, INF, 0, 0, INF, INF, NAN]),
        ("erf_inv", [[-1, 1, 0.0, 1.5, -2, INF, NAN]], [-INF, INF, 0, NAN, NAN, NAN, NAN]),
        ("bessel_i1e", [[0.0, INF, -INF, NAN]], [0, 0, 0, NAN]),
        (
            "zeta",
            [[2.0, 2, 3, 2.5, 2, INF, 1, 0.5, 1, NAN, 2], [0.0, -1, -2, -2.5, INF, 2, 2, 2, -0.5, 2, NAN]],
            [INF, INF, NAN, NAN, 0, 0, INF, NAN, INF, NAN, NAN],
        ),
        (
            "polygamma",
            [[0.0, 0, 1, 1, 2, 2, -1, 0.5, INF, NAN, 1, 0], [0.0, -1, 0, -1, 0, -1, 2, 2, 2, 2, NAN, INF]],
            [NAN, NAN, INF, INF, NAN, NAN, NAN, NAN, NAN, NAN, NAN, INF],
        ),
    ]


@pytest.mark.long(3)
@pytest.mark.sample(3)
@pytest.mark.parametrize(("op", "operands", "wanted"), edge_cases())
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_edges(op: str, operands: list[list[float]], wanted: list[float], dtype: Any):
    """As XLA:CPU has them, but for zeta's limits, which it does not compute."""
    for result in both(op, *(np.array(operand, dtype) for operand in operands)):
        np.testing.assert_array_equal(result, np.array(wanted, dtype))


@pytest.mark.long(5)
@pytest.mark.sample(3)
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("op", ["acos", "acosh", "asin", "asinh", "atan", "atanh", "cosh", "sinh", "tan"])
def test_complex_functions(op: str, dtype: Any):
    """Parts within a few ulp, on each side of the branch cuts; infinities as in C."""
    rng = np.random.default_rng(5)
    ends = [0.0, -0.0, 1, -1, 2, -2, 0.5, -0.5, 1e-20, 1e15, -3e30]
    wide = [*ends, INF, -INF] if op.startswith("a") else ends[:8]
    sizes = (10 ** rng.uniform(-18, 18, (2, 500))) * rng.choice([-1, 1], (2, 500))
    beside = (1 + 10 ** rng.uniform(-12, 0, 300)) + 1j * 10 ** rng.uniform(-12, 0, 300)
    edges = np.array([complex(re, im) for re in wide for im in wide])
    parts = [edges, rng.uniform(-3, 3, 500) + 1j * rng.uniform(-3, 3, 500), beside, -beside]
    parts += [sizes[0] + 1j * sizes[1]] if op.startswith("a") else []
    z = whole_vectors(np.concatenate(parts).astype(dtype))
    result, wanted = both(op, z)
    for found, exact in ((result.real, wanted.real), (result.imag, wanted.imag)):
        assert ulps(found, exact) <= 5
        np.testing.assert_array_equal(np.signbit(found), np.signbit(exact))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, bf16, ml_dtypes.float8_e5m2], ids=str)
def test_next_after(dtype: Any):
    rng = np.random.default_rng(2)
    ends = np.array([0.0, -0.0, 1, -1, INF, -INF, NAN, *rng.normal(size=20)]).astype(dtype)
    least = np.array([ml_dtypes.finfo(dtype).smallest_subnormal, ml_dtypes.finfo(dtype).max]).astype(dtype)
    ends = np.concatenate([ends, least, -least])
    x, y = (np.ascontiguousarray(part.reshape(-1)) for part in np.meshgrid(ends, ends))
    result, wanted = both("next_after", x, y)
    known = ~np.isnan(wanted.astype(np.float64))
    bits = np.dtype(f"u{np.dtype(dtype).itemsize}")
    np.testing.assert_array_equal(np.isnan(result.astype(np.float64)), ~known)
    np.testing.assert_array_equal(result.view(bits)[known], wanted.view(bits)[known])


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64, np.uint64], ids=str)
def test_mulhi(dtype: Any):
    info = np.iinfo(dtype)
    ends = np.array([info.min, info.min + 1, 0, 1, 7, info.max - 1, info.max], dtype)
    ends = np.concatenate([ends, np.random.default_rng(0).integers(info.min, info.max, 20, dtype)])
    x, y = (np.ascontiguousarray(part.reshape(-1)) for part in np.meshgrid(ends, ends))
    wanted = np.array([(int(a) * int(b)) >> info.bits for a, b in zip(x, y, strict=True)], object).astype(dtype)
    for result in both("mulhi", x, y):
        np.testing.assert_array_equal(result, wanted)


def test_predicates_and_conjugate():
    x = np.array([1, INF, -INF, NAN], np.float16)
    for op, wanted in (("is_inf", [0, 1, 1, 0]), ("is_pos_inf", [0, 1, 0, 0]), ("is_neg_inf", [0, 0, 1, 0])):
        for result in both(op, x, result="tensor<4xi1>"):
            np.testing.assert_array_equal(result, np.array(wanted, bool))
    z = np.array([1 + 2j, complex(INF, -0.0)], np.complex64)
    for result in both("conj", z):
        np.testing.assert_array_equal(result, np.conj(z))
        np.testing.assert_array_equal(np.signbit(result.imag), [True, False])


@pytest.mark.long(3)
@pytest.mark.parametrize("shape", [(0,), (3, 0), (), (1, 5, 2)])
def test_shapes(shape: tuple[int, ...]):
    x = np.full(shape, 0.5, np.float32)
    for op in ("asin", "lgamma", "erf_inv"):
        result, wanted = both(op, x)
        np.testing.assert_allclose(result, wanted, rtol=1e-6)
        assert result.shape == shape

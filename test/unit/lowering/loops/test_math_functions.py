"""The stated error bounds of the elementary functions, in units in the last place of the exact result."""

from __future__ import annotations

from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest

import xhlo

# Exact values come from NumPy in a wider type: f64 for f32, x87's 80-bit long double for f64.
WIDER = {"f32": np.float64, "f64": np.longdouble}
DTYPES = {"f32": np.float32, "f64": np.float64}
HAS_WIDE = np.finfo(np.longdouble).nmant > 60


def compiled(op: str, type_: str, count: int, arity: int = 1) -> Callable[..., np.ndarray]:
    names = ", ".join(f"%x{i}" for i in range(arity))
    arguments = ", ".join(f"%x{i}: tensor<{count}x{type_}>" for i in range(arity))
    return xhlo.compile(
        f"func.func @main({arguments}) -> tensor<{count}x{type_}> {{\n"
        f"  %0 = hlo.{op} {names} : tensor<{count}x{type_}>\n  func.return %0 : tensor<{count}x{type_}>\n}}"
    )


def ulps(actual: np.ndarray, exact: np.ndarray) -> float:
    """The largest error; results beyond the type's range must be infinite, and NaN must be NaN."""
    info = np.finfo(actual.dtype)
    largest = info.max * (1 + exact.dtype.type(info.eps) / 4)
    finite = np.abs(exact) <= largest
    np.testing.assert_array_equal(np.isnan(actual), np.isnan(exact))
    assert np.isinf(actual[np.abs(exact) > largest]).all()
    exponent = np.maximum(np.frexp(exact[finite])[1] - 1, info.minexp)
    spacing = np.ldexp(exact.dtype.type(1), exponent - info.nmant)
    return float(np.max(np.abs(actual[finite].astype(exact.dtype) - exact[finite]) / spacing, initial=0))


def spread(low: float, high: float, signed: bool, count: int = 20_000) -> np.ndarray:
    """Numbers of all magnitudes between two bounds."""
    rng = np.random.default_rng(0)
    values = np.exp(rng.uniform(np.log(low), np.log(high), count))
    return values * rng.choice([-1, 1], count) if signed else values


def evenly(low: float, high: float, count: int = 20_000) -> np.ndarray:
    return np.random.default_rng(1).uniform(low, high, count)


UNARY = [
    ("exponential", np.exp, 1.0, {"f32": evenly(-110, 95), "f64": evenly(-750, 720)}),
    ("exponential", np.exp, 1.0, {"f32": spread(1e-30, 1, True), "f64": spread(1e-300, 1, True)}),
    ("exponential_minus_one", np.expm1, 2.0, {"f32": evenly(-30, 95), "f64": evenly(-50, 720)}),
    ("exponential_minus_one", np.expm1, 2.0, {"f32": spread(1e-30, 1, True), "f64": spread(1e-300, 1, True)}),
    ("log", np.log, 1.5, {"f32": spread(1e-44, 1e38, False), "f64": spread(1e-320, 1e300, False)}),
    ("log", np.log, 1.5, {"f32": evenly(0.5, 2), "f64": evenly(0.5, 2)}),
    ("log_plus_one", np.log1p, 2.0, {"f32": spread(1e-30, 0.99, True), "f64": spread(1e-300, 0.99, True)}),
    ("log_plus_one", np.log1p, 2.0, {"f32": spread(1, 1e38, False), "f64": spread(1, 1e300, False)}),
    ("tanh", np.tanh, 3.0, {"f32": evenly(-12, 12), "f64": evenly(-25, 25)}),
    ("tanh", np.tanh, 3.0, {"f32": spread(1e-30, 1, True), "f64": spread(1e-300, 1, True)}),
    ("rsqrt", lambda x: 1 / np.sqrt(x), 1.5, {"f32": spread(1e-44, 1e38, False), "f64": spread(1e-320, 1e300, False)}),
    ("sine", np.sin, 1.0, {"f32": spread(1e-20, 3.4e38, True)}),
    ("cosine", np.cos, 1.0, {"f32": spread(1e-20, 3.4e38, True)}),
    ("tan", np.tan, 1.0, {"f32": spread(1e-20, 3.4e38, True)}),
    ("cbrt", np.cbrt, 1.0, {"f32": spread(1e-44, 1e38, True)}),
    ("logistic", lambda x: 1 / (1 + np.exp(-x)), 4.0, {"f32": evenly(-100, 100), "f64": evenly(-700, 700)}),
]
CASES = [(op, exact, bound, type_, xs) for op, exact, bound, sets in UNARY for type_, xs in sets.items()]


@pytest.mark.long(3)
@pytest.mark.parametrize(
    ("op", "exact", "bound", "type_", "xs"), CASES, ids=[f"{c[0]}-{c[3]}-{i}" for i, c in enumerate(CASES)]
)
def test_bound(op: str, exact: Callable[..., np.ndarray], bound: float, type_: str, xs: np.ndarray) -> None:
    if type_ == "f64" and not HAS_WIDE:
        pytest.skip("long double is no wider than double here")
    x = xs.astype(DTYPES[type_])
    with np.errstate(all="ignore"):
        assert ulps(compiled(op, type_, x.size)(x), exact(x.astype(WIDER[type_]))) <= bound


@pytest.mark.parametrize(("op", "exact"), [("power", np.power), ("atan2", np.arctan2)])
def test_binary_bound(op: str, exact: Callable[..., np.ndarray]) -> None:
    x = spread(1e-3, 1e3, op == "atan2").astype(np.float32)
    y = evenly(-10, 10).astype(np.float32)
    actual = compiled(op, "f32", x.size, 2)(x, y)
    assert ulps(actual, exact(x.astype(np.float64), y.astype(np.float64))) <= 1.0


def test_power_of_all_magnitudes() -> None:
    """Bases of every exponent and close to 1, results from the denormals to beyond the largest f32."""
    rng = np.random.default_rng(2)
    near_one = 1 + np.ldexp(rng.uniform(-0.5, 0.5, 20_000), rng.integers(-22, 0, 20_000))
    x = np.concatenate([spread(1e-44, 3e38, False), near_one[near_one != 1]]).astype(np.float32)
    x = x[x != 1]
    y = (rng.uniform(-150, 129, x.size) / np.log2(x.astype(np.float64))).astype(np.float32)
    with np.errstate(over="ignore"):
        exact = np.power(x.astype(np.float64), y.astype(np.float64))
    assert ulps(compiled("power", "f32", x.size, 2)(x, y), exact) <= 1.0


def test_sine_next_to_multiples_of_pi() -> None:
    """The f32 numbers nearest to a multiple of pi/2, where argument reduction loses the most digits."""
    x = np.array(
        [-1.1442862e29, 4.6528e17, -1.0364972e17, 5.3197825e18, 1.4013e12, 6381956970095103.0 * 2**50], np.float32
    )
    for op, exact in (("sine", np.sin), ("cosine", np.cos), ("tan", np.tan)):
        assert ulps(compiled(op, "f32", x.size)(x), exact(x.astype(np.float64))) <= 1.0


SPECIAL = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 2, -2, 0.5, -0.5, 3, -3], np.float64)


@pytest.mark.parametrize("type_", ["f32", "f64"])
@pytest.mark.parametrize(("op", "exact"), [("power", np.power), ("atan2", np.arctan2)])
def test_special_pairs(op: str, exact: Callable[..., np.ndarray], type_: str) -> None:
    x, y = (np.ascontiguousarray(a.ravel(), DTYPES[type_]) for a in np.meshgrid(SPECIAL, SPECIAL))
    with np.errstate(all="ignore"):
        expected = exact(x, y)
    actual = compiled(op, type_, x.size, 2)(x, y)
    np.testing.assert_allclose(actual, expected, rtol=1e-6)
    zeros = expected == 0
    np.testing.assert_array_equal(np.signbit(actual[zeros]), np.signbit(expected[zeros]))


@pytest.mark.long(5)
@pytest.mark.parametrize("type_", ["f32", "f64"])
@pytest.mark.parametrize(
    ("op", "exact"),
    [
        ("exponential", np.exp),
        ("exponential_minus_one", np.expm1),
        ("log", np.log),
        ("log_plus_one", np.log1p),
        ("tanh", np.tanh),
        ("sine", np.sin),
        ("cosine", np.cos),
        ("tan", np.tan),
        ("cbrt", np.cbrt),
    ],
)
def test_special_values(op: str, exact: Callable[..., np.ndarray], type_: str) -> None:
    x = SPECIAL.astype(DTYPES[type_])
    with np.errstate(all="ignore"):
        expected = exact(x)
    actual = compiled(op, type_, x.size)(x)
    np.testing.assert_allclose(actual, expected, rtol=1e-6)
    zeros = expected == 0
    np.testing.assert_array_equal(np.signbit(actual[zeros]), np.signbit(expected[zeros]))


KNOWN_EXPONENTS = (-16.0, -3.0, -2.5, -2.0, -1.5, -1.0, -0.5, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 7.0, 15.5, 16.0)


def power_of(x: np.ndarray, exponent: float, type_: str) -> np.ndarray:
    tensor = f"tensor<{x.size}x{type_}>"
    return xhlo.compile(
        f"func.func @main(%x: {tensor}) -> {tensor} {{\n  %c = hlo.constant dense<{exponent!r}> : {tensor}\n"
        f"  %0 = hlo.power %x, %c : {tensor}\n  func.return %0 : {tensor}\n}}"
    )(x)


@pytest.mark.sample(6)
@pytest.mark.parametrize("exponent", KNOWN_EXPONENTS)
@pytest.mark.parametrize("type_", ["f32", "f64"])
def test_known_exponents(type_: str, exponent: float) -> None:
    """Bases of every magnitude: within 0.51 ulp in f32, 2 in f64."""
    if type_ == "f64" and not HAS_WIDE:
        pytest.skip("long double is no wider than double here")
    x = spread(*((1e-44, 3e38) if type_ == "f32" else (1e-320, 1e308)), True).astype(DTYPES[type_])
    with np.errstate(all="ignore"):
        exact = np.power(x.astype(WIDER[type_]), np.full(x.shape, exponent, WIDER[type_]))
    assert ulps(power_of(x, exponent, type_), exact) <= (0.51 if type_ == "f32" else 2.0)


@pytest.mark.sample(6)
@pytest.mark.parametrize("exponent", KNOWN_EXPONENTS)
@pytest.mark.parametrize("type_", ["f32", "f64"])
def test_special_bases_of_known_exponents(type_: str, exponent: float) -> None:
    x = SPECIAL.astype(DTYPES[type_])
    with np.errstate(all="ignore"):
        expected = np.power(x, np.full_like(x, exponent))
    actual = power_of(x, exponent, type_)
    np.testing.assert_allclose(actual, expected, rtol=1e-6)
    zeros = expected == 0
    np.testing.assert_array_equal(np.signbit(actual[zeros]), np.signbit(expected[zeros]))


@pytest.mark.parametrize("source", ["f32", "f64"])
def test_rounding_to_bfloat16(source: str) -> None:
    """To nearest even, denormals kept, every bit pattern of the high half and ties among them."""
    high = np.arange(1 << 16, dtype=np.uint32) << 16
    singles = np.concatenate([high | low for low in (0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF)]).view(np.float32)
    with np.errstate(invalid="ignore"):  # signalling NaNs
        x = singles.astype(DTYPES[source])
    if source == "f64":
        with np.errstate(all="ignore"):
            x = np.concatenate([x, np.nextafter(x, np.inf), np.nextafter(x, -np.inf)])
    text = (
        f"func.func @main(%x: tensor<{x.size}x{source}>) -> tensor<{x.size}xbf16> {{\n"
        f"  %0 = hlo.convert %x : (tensor<{x.size}x{source}>) -> tensor<{x.size}xbf16>\n"
        f"  func.return %0 : tensor<{x.size}xbf16>\n}}"
    )
    actual = xhlo.compile(text)(x)
    nan = np.isnan(x)
    assert np.isnan(actual[nan].astype(np.float32)).all()
    expected = _nearest_bfloat16(x[~nan].astype(np.float64))
    np.testing.assert_array_equal(actual[~nan].view(np.uint16), expected.view(np.uint16))


def _nearest_bfloat16(x: np.ndarray) -> np.ndarray:
    """By exact arithmetic in f64: scale to integers of 8 significant bits, round those to even, scale back."""
    exponent = np.maximum(np.frexp(x)[1] - 8, -133)
    with np.errstate(over="ignore"):
        rounded = np.ldexp(np.rint(np.ldexp(x, -exponent)), exponent)
        return np.where(np.isinf(x), x, rounded).astype(ml_dtypes.bfloat16)


EXPONENTS = """
func.func @main(%x: tensor<4xNxT>, %m: tensor<4xT>) -> (tensor<4xNxT>, tensor<4xNxT>) {
  %least = hlo.constant dense<-9.0e+30> : tensor<T>
  %0 = hlo.reduce(%x init: %least) applies hlo.maximum across dimensions = [1] : (tensor<4xNxT>, tensor<T>) -> tensor<4xT>
  %1 = hlo.broadcast_in_dim %0, dims = [0] : (tensor<4xT>) -> tensor<4xNxT>
  %2 = hlo.subtract %x, %1 : tensor<4xNxT>
  %3 = hlo.exponential %2 : tensor<4xNxT>
  %4 = hlo.broadcast_in_dim %m, dims = [0] : (tensor<4xT>) -> tensor<4xNxT>
  %5 = hlo.subtract %x, %4 : tensor<4xNxT>
  %6 = hlo.exponential %5 : tensor<4xNxT>
  return %3, %6 : tensor<4xNxT>, tensor<4xNxT>
}
"""


@pytest.mark.parametrize("type_", ["f32", "f64"])
@pytest.mark.parametrize("count", [37, 2051])
def test_exponents_below_a_maximum_have_the_bits_of_all_others(type_: str, count: int) -> None:
    """The same numbers with a maximum that the program computes, and with one that it knows nothing about."""
    dtype = np.float32 if type_ == "f32" else np.float64
    x = np.random.default_rng(0).uniform(-800, 0, (4, count)).astype(dtype)
    x[1] *= 0.15
    x[2, ::3], x[2, 1::9], x[3, 5] = -np.inf, -1e9, np.nan
    x[:3, 7] = 0
    first, second = xhlo.compile(EXPONENTS.replace("N", str(count)).replace("T", type_))(x, x.max(axis=1))
    np.testing.assert_array_equal(first, second)
    assert (np.asarray(first)[:3] <= 1).all() and np.isnan(first[3]).all()

"""Complex numbers on the CPU: at the entry, and every operation on them, against NumPy in wider precision and XLA."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import xhlo
from cpu_programs import on_threads, run

TYPES = {"f32": np.dtype(np.complex64), "f64": np.dtype(np.complex128)}
INF, NAN = np.inf, np.nan


def numbers(dtype: np.dtype[Any], spread: float = 6.0) -> np.ndarray:
    """320 random complex numbers of all magnitudes, some of them on the axes: whole vectors of any machine."""
    rng = np.random.default_rng(3)
    parts = rng.standard_normal((2, 308)) * 2.0 ** rng.uniform(-spread, spread / 2, (2, 308))
    axes = np.array([0, 1, -1, 1j, -1j, 2, -2, 0.5j, -0.5j, 1 + 1e-4j, -1 + 1e-4j, 1e-6 + 1e-6j])
    return np.concatenate([parts[0] + 1j * parts[1], axes]).astype(dtype)


def program(op: str, part: str, *inputs: np.ndarray, result: str | None = None) -> str:
    """`hlo.op` on arrays of complex numbers whose parts have the type `part`."""
    type_ = f"tensor<{''.join(f'{dim}x' for dim in inputs[0].shape)}complex<{part}>>"
    result = result or type_
    parameters = ", ".join(f"%x{i}: {type_}" for i in range(len(inputs)))
    names = ", ".join(f"%x{i}" for i in range(len(inputs)))
    types = ", ".join([type_] * len(inputs))
    attributes, _, operation = op.rpartition("@")
    return (
        f"func.func @main({parameters}) -> {result} {{\n"
        f'  %0 = "hlo.{operation}"({names}) {attributes}: ({types}) -> {result}\n  return %0 : {result}\n}}'
    )


def apply(op: str, part: str, *inputs: np.ndarray, result: str | None = None) -> np.ndarray:
    """The result of `program`; a process compiles equal texts once."""
    return run(program(op, part, *inputs, result=result), inputs)[0]


def near(got: np.ndarray, want: np.ndarray, ulps: float, what: str) -> None:
    """Assert that each part is within `ulps` units in the last place of |want|; infinities and NaN must match."""
    eps = np.finfo(got.dtype).eps
    with np.errstate(all="ignore"):
        finite = np.isfinite(want)
        error = np.abs(got.astype(np.complex128) - want) / np.maximum(np.abs(want), np.finfo(got.dtype).tiny) / eps
        bad = np.where(finite, ~(error <= ulps), np.isfinite(got))
    assert not bad.any(), f"{what}: {bad.sum()} wrong, up to {np.nanmax(error[finite & bad], initial=0)} ulp; " + str(
        [(g, w) for g, w in zip(got[bad][:4], want[bad][:4], strict=True)]
    )


def wide(function: Callable[..., Any], *inputs: np.ndarray) -> np.ndarray:
    """In long double."""
    with np.errstate(all="ignore"):
        return np.asarray(function(*(value.astype(np.clongdouble) for value in inputs)))


UNARY: dict[str, tuple[Callable[[Any], Any], float]] = {
    "negate": (np.negative, 0),
    "exponential": (np.exp, 4),
    "exponential_minus_one": (lambda z: np.expm1(z), 4),
    "log": (np.log, 4),
    "log_plus_one": (
        lambda z: np.where(
            np.abs(z) < 0.5,
            0.5 * np.log1p(z.real * (2 + z.real) + z.imag**2) + 1j * np.arctan2(z.imag, 1 + z.real),
            np.log(1 + z),
        ),
        4,
    ),
    "sqrt": (np.sqrt, 4),
    "rsqrt": (lambda z: 1 / np.sqrt(z), 6),
    "cbrt": (lambda z: np.abs(z) ** (np.longdouble(1) / 3) * np.exp(1j * np.angle(z) / 3), 8),
    "sine": (np.sin, 8),
    "cosine": (np.cos, 8),
    "tan": (np.tan, 16),
    "tanh": (np.tanh, 16),
    "logistic": (lambda z: 1 / (1 + np.exp(-z)), 64),
    "sign": (lambda z: np.where(z == 0, 0, z / np.abs(np.where(z == 0, 1, z))), 4),
}


@pytest.mark.long(5)
@pytest.mark.sample(3)
@pytest.mark.parametrize("part", TYPES)
@pytest.mark.parametrize("op", UNARY)
def test_functions(op: str, part: str) -> None:
    function, ulps = UNARY[op]
    z = numbers(TYPES[part])
    if op == "rsqrt":
        z[z == 0] = 3
    near(apply(op, part, z), wide(function, z), ulps, op)


@pytest.mark.sample(5)
@pytest.mark.parametrize("part", TYPES)
@pytest.mark.parametrize("op", ["add", "subtract", "multiply", "divide", "power", "atan2"])
def test_functions_of_two(op: str, part: str) -> None:
    x = numbers(TYPES[part], 2.0)
    y = np.roll(x, 5)
    keep = (np.abs(y) > 1e-3) & (np.abs(x) > 1e-3) & (np.abs(x * x + y * y) > 1e-2)
    x, y = (np.resize(value[keep], value.size) for value in (x, y))
    functions: dict[str, Callable[..., Any]] = {
        "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide,
        "power": lambda a, b: np.exp(b * np.log(a)),
        "atan2": lambda a, b: -1j * np.log((b + 1j * a) / np.sqrt(a * a + b * b)),
    }  # fmt: skip
    bound = {"power": 200.0, "atan2": 2000.0}.get(op, 8.0)
    near(apply(op, part, x, y), wide(functions[op], x, y), bound, op)


@pytest.mark.long(4)
@pytest.mark.parametrize("op", [name for name in UNARY if name != "negate"])
def test_programs_agree_with_the_reference(op: str) -> None:
    z = numbers(TYPES["f32"])
    (want,) = run(program(op, "f32", z), [z], "reference")
    near(apply(op, "f32", z), want.astype(np.complex128), 64, op)


EDGES = np.array([complex(a, b) for a in (0.0, -0.0, 1.0, -2.0, INF, -INF) for b in (0.0, -0.0, 1.0, -2.0, INF, -INF)])
HUGE = np.array([1e200 + 1e200j, -1e308 + 1e308j, 1e-320 + 1e-320j, 1e-310 - 1e-310j, 1e300 - 1e-300j, -1e-300 + 1j])


@pytest.mark.long(3)
@pytest.mark.parametrize("op", ["exponential", "log", "sqrt", "sine", "cosine", "tanh", "tan"])
def test_edges_are_those_of_annex_g(op: str) -> None:
    """Infinities, and zeros with their signs. Parts that C leaves unspecified, or makes NaN, are not compared."""
    edges = EDGES[~(np.isinf(EDGES.real) & np.isinf(EDGES.imag))] if op not in ("log", "sqrt") else EDGES
    got, want = apply(op, "f64", edges), wide(UNARY[op][0], edges).astype(np.complex128)
    for z, one, other in zip(edges, got, want, strict=True):
        for mine, theirs in ((one.real, other.real), (one.imag, other.imag)):
            if np.isnan(theirs) or (op in ("exponential", "tan", "tanh") and np.isinf(z).any() and theirs == 0):
                continue
            assert mine == pytest.approx(theirs, rel=1e-14), (op, z, one, other)
            if theirs == 0 and not np.isinf(z):
                assert np.signbit(mine) == np.signbit(theirs), (op, z, one, other)


@pytest.mark.long(3)
@pytest.mark.parametrize("op", ["log", "sqrt", "sign", "rsqrt", "tanh"])
def test_nothing_overflows_or_vanishes_inside(op: str) -> None:
    got = apply(op, "f64", HUGE)
    with np.errstate(all="ignore"):
        want = wide(UNARY[op][0], HUGE)
    near(got, want.astype(np.complex128), 8, op)


def test_the_magnitude_does_not_overflow() -> None:
    got = apply("abs", "f64", HUGE, result=f"tensor<{HUGE.size}xf64>")
    np.testing.assert_allclose(got, np.abs(HUGE), rtol=1e-15)


def test_exponential_of_large_real_parts() -> None:
    z = np.array([89 + 1.5707963j, 709.9 + 1.57j, -800 + 1j, 89 - 3j], np.complex64)
    with np.errstate(over="ignore"):
        want = np.exp(z.astype(np.complex128)).astype(np.complex64)
    near(apply("exponential", "f32", z), want, 64, "exponential")


@pytest.mark.parametrize(("part", "large"), [("f32", 89.45), ("f64", 710.5)])
def test_sines_of_large_imaginary_parts(part: str, large: float) -> None:
    """The hyperbolic cosine overflows, but its product with a sine does not, or it is infinite."""
    z = np.array([0.5 + 1j * large, -0.5 - 1j * large, 2 + 1j * large, 0.5 + 2j * large, 2 - 2j * large], TYPES[part])
    x, root = z.real.astype(np.float64), np.where(abs(z.imag) < 1.5 * large, np.exp(large / 2), np.inf)
    sine, cosine = (root * (0.5 * root * factor) for factor in (np.sin(x), np.cos(x)))
    sign = np.sign(z.imag)
    for op, re, im in (("sine", sine, cosine * sign), ("cosine", cosine, -sine * sign)):
        got = apply(op, part, z)
        for found, wanted in ((got.real, re), (got.imag, im)):
            np.testing.assert_allclose(found, wanted, rtol=2e-5 if part == "f32" else 1e-12)


@pytest.mark.long(3)
@pytest.mark.parametrize("op", ["sqrt", "rsqrt", "exp", "log1p", "expm1", "tanh", "logistic", "sign", "log"])
def test_agrees_with_xla(op: str) -> None:
    z = numbers(TYPES["f32"], 3.0)
    z = np.resize(z[np.abs(z) > 1e-3], z.size)
    ours = {"exp": "exponential", "log1p": "log_plus_one", "expm1": "exponential_minus_one"}.get(op, op)
    want = np.asarray(jax.jit(getattr(jax.lax, op))(jnp.asarray(z)))
    np.testing.assert_allclose(apply(ours, "f32", z), want, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("direction", ["EQ", "NE", "LT", "LE", "GT", "GE"])
def test_comparisons_go_by_the_real_part_first(direction: str) -> None:
    values = np.array([complex(a, b) for a in (0, 1, NAN) for b in (-1, 0, 1, NAN)], np.complex64)
    x, y = np.repeat(values, values.size), np.tile(values, values.size)
    type_, mask = f"tensor<{x.size}xcomplex<f32>>", f"tensor<{x.size}xi1>"
    text = (
        f"func.func @main(%x: {type_}, %y: {type_}) -> {mask} {{\n"
        f"  %0 = hlo.compare {direction}, %x, %y : ({type_}, {type_}) -> {mask}\n  return %0 : {mask}\n}}"
    )
    np.testing.assert_array_equal(run(text, [x, y])[0], run(text, [x, y], "reference")[0])


@pytest.mark.parametrize("op", ["maximum", "minimum"])
def test_extremes(op: str) -> None:
    values = np.array([complex(a, b) for a in (0, 1, NAN) for b in (-1, 0, 1, NAN)], np.complex128)
    x, y = np.repeat(values, values.size), np.tile(values, values.size)
    type_ = f"tensor<{x.size}xcomplex<f64>>"
    text = f"func.func @main(%x: {type_}, %y: {type_}) -> {type_} {{\n  %0 = hlo.{op} %x, %y : {type_}\n  return %0 : {type_}\n}}"
    np.testing.assert_array_equal(run(text, [x, y])[0], run(text, [x, y], "reference")[0])


def test_clamp_with_bounds_of_rank_0() -> None:
    z = numbers(TYPES["f32"])
    type_, bound = f"tensor<{z.size}xcomplex<f32>>", "tensor<complex<f32>>"
    text = (
        f"func.func @main(%a: {bound}, %z: {type_}, %b: {bound}) -> {type_} {{\n"
        f"  %0 = hlo.clamp %a, %z, %b : ({bound}, {type_}, {bound}) -> {type_}\n  return %0 : {type_}\n}}"
    )
    inputs = [np.complex64(-0.5 + 1j).reshape(()), z, np.complex64(0.5 - 1j).reshape(())]
    np.testing.assert_array_equal(run(text, inputs)[0], run(text, inputs, "reference")[0])


# At the entry ----------------------------------------------------------------------------------------------------


def test_arguments_and_results_are_complex_arrays() -> None:
    text = """func.func @main(%a: tensor<complex<f64>>, %b: tensor<3xcomplex<f32>>, %c: tensor<0x2xcomplex<f32>>, %x: tensor<3xf32>)
        -> (tensor<3xcomplex<f32>>, tensor<complex<f64>>, tensor<3xf32>, tensor<0x2xcomplex<f32>>) {
      %0 = hlo.convert %x : (tensor<3xf32>) -> tensor<3xcomplex<f32>>
      %1 = hlo.multiply %0, %b : tensor<3xcomplex<f32>>
      %2 = hlo.imag %b : (tensor<3xcomplex<f32>>) -> tensor<3xf32>
      return %1, %a, %2, %c : tensor<3xcomplex<f32>>, tensor<complex<f64>>, tensor<3xf32>, tensor<0x2xcomplex<f32>>
    }"""
    a, b = np.array(1 + 2j), np.array([1 + 1j, 2j, 3], np.complex64)
    x = np.array([1, 2, -3], np.float32)
    executable = xhlo.compile(text)
    assert [t.text for t in executable.input_types][:2] == ["tensor<complex<f64>>", "tensor<3xcomplex<f32>>"]
    assert executable.output_types[0].dtype == np.complex64
    got = executable(a, b, np.zeros((0, 2), np.complex64), x)
    assert got[0].tolist() == (x * b).tolist() and got[1] == a and got[2].tolist() == [1, 2, 0]
    assert got[3].shape == (0, 2) and got[3].dtype == np.complex64
    with pytest.raises(TypeError, match="expected dtype complex64"):
        executable(a, b.real, np.zeros((0, 2), np.complex64), x)


def test_one_kernel_reads_pairs_and_writes_pairs() -> None:
    """Apart from the computation there are no copies: it reads the parts in place."""
    type_ = "tensor<1000xcomplex<f32>>"
    text = (
        f"func.func @main(%z: {type_}) -> {type_} {{\n  %0 = hlo.multiply %z, %z : {type_}\n  return %0 : {type_}\n}}"
    )
    executable = xhlo.compile(text)
    z = np.random.default_rng(0).standard_normal(2000).astype(np.float32).view(np.complex64)
    np.testing.assert_allclose(executable(z), z * z, rtol=1e-6)
    assert len(executable.kernels) == 1
    strided = np.stack([z, z], axis=1)[:, 0]
    np.testing.assert_allclose(executable(strided), z * z, rtol=1e-6)


@pytest.mark.long(5)
@pytest.mark.parametrize("part", TYPES)
@pytest.mark.parametrize("axes", [(0,), (1,), (0, 2), (0, 1, 2)])
@pytest.mark.parametrize("init", [(2, -1), (0, 0)])
def test_sums_of_numbers_that_only_they_read(part: str, axes: tuple[int, ...], init: tuple[int, int]) -> None:
    """Small whole numbers, whose sums are exact in every order."""
    re, im = np.random.default_rng(2).integers(-20, 20, (2, 9, 70, 33))
    z = (re + 1j * im).astype(TYPES[part])
    t, s, r = (f"tensor<{''.join(f'{n}x' for n in x.shape)}complex<{part}>>" for x in (z, z[0, 0, 0], z.sum(axes)))
    text = f"""func.func @main(%z: {t}) -> {r} {{
      %c = hlo.constant dense<({init[0]}.0, {init[1]}.0)> : {s}
      %0 = hlo.reduce(%z init: %c) applies hlo.add across dimensions = {list(axes)} : ({t}, {s}) -> {r}
      return %0 : {r} }}"""
    (found,) = on_threads(text, z)
    np.testing.assert_array_equal(found, z.sum(axes) + complex(*init))


@pytest.mark.parametrize("part", TYPES)
def test_contractions_reductions_and_loops(part: str) -> None:
    rng = np.random.default_rng(1)
    z = (rng.standard_normal((4, 5)) + 1j * rng.standard_normal((4, 5))).astype(TYPES[part])
    t, s, r = f"tensor<4x5xcomplex<{part}>>", f"tensor<complex<{part}>>", f"tensor<4xcomplex<{part}>>"
    square = f"tensor<4x4xcomplex<{part}>>"
    text = f"""func.func @main(%z: {t}, %n: tensor<i32>) -> ({square}, {r}, {r}, {r}, {t}) {{
      %zero = hlo.constant dense<(0.0, 0.0)> : {s}
      %one = hlo.constant dense<(1.0, 0.0)> : {s}
      %0 = hlo.dot_general %z, %z, contracting_dims = [1] x [1] : ({t}, {t}) -> {square}
      %1 = hlo.reduce(%z init: %zero) applies hlo.add across dimensions = [1] : ({t}, {s}) -> {r}
      %2 = hlo.reduce(%z init: %one) applies hlo.multiply across dimensions = [1] : ({t}, {s}) -> {r}
      %3 = hlo.reduce(%z init: %zero) applies hlo.maximum across dimensions = [1] : ({t}, {s}) -> {r}
      %i0 = hlo.constant dense<0> : tensor<i32>
      %i1 = hlo.constant dense<1> : tensor<i32>
      %4:2 = hlo.while(%i = %i0, %v = %z) : tensor<i32>, {t}
        cond {{
          %p = hlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
          hlo.return %p : tensor<i1>
        }} do {{
          %j = hlo.add %i, %i1 : tensor<i32>
          %w = hlo.multiply %v, %z : {t}
          hlo.return %j, %w : tensor<i32>, {t}
        }}
      return %0, %1, %2, %3, %4#1 : {square}, {r}, {r}, {r}, {t}
    }}"""
    inputs = [z, np.array(3, np.int32)]
    rtol = 1e-5 if part == "f32" else 1e-12
    for got, want in zip(run(text, inputs), run(text, inputs, "reference"), strict=True):
        np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("op", ["rsqrt", "logistic", "sign"])
def test_edges_agree_with_the_reference(op: str) -> None:
    got, (want,) = apply(op, "f64", EDGES), run(program(op, "f64", EDGES), [EDGES], "reference")
    some = ~np.isinf(EDGES) if op == "logistic" else np.full(EDGES.size, True)
    for z, one, other in zip(EDGES[some], got[some], want[some], strict=True):
        assert (np.isnan(one) and np.isnan(other)) or one == pytest.approx(other, rel=1e-14), (op, z, one, other)


@pytest.mark.parametrize("op", ["multiply", "divide"])
def test_products_and_quotients_at_the_edges_are_xlas(op: str) -> None:
    """All pairs of signed zeros, ones, infinities and NaN: division by 0 is infinite, by infinity it is 0."""
    parts = (0.0, -0.0, 1.0, -2.0, INF, -INF, NAN)
    values = np.array([complex(a, b) for a in parts for b in parts], np.complex64)
    x, y = np.repeat(values, values.size), np.tile(values, values.size)
    want = np.asarray(jax.jit(jax.lax.mul if op == "multiply" else jax.lax.div)(x, y))
    type_ = f"tensor<{x.size}xcomplex<f32>>"
    text = f"func.func @main(%x: {type_}, %y: {type_}) -> {type_} {{\n  %0 = hlo.{op} %x, %y : {type_}\n  return %0 : {type_}\n}}"
    for target in ("cpu", "reference"):
        (got,) = run(text, [x, y], target)
        np.testing.assert_allclose(got.real, want.real, rtol=1e-6, err_msg=target)
        np.testing.assert_allclose(got.imag, want.imag, rtol=1e-6, err_msg=target)


@pytest.mark.parametrize("part", TYPES)
def test_products_are_four_rounded_products(part: str) -> None:
    """To the bit, on the CPU, in the reference and in its reductions, whether or not NumPy's own multiply uses FMA."""
    rng = np.random.default_rng(5)
    x, y = ((rng.normal(size=500) + 1j * rng.normal(size=500)).astype(TYPES[part]) for _ in range(2))
    largest = float(np.finfo(TYPES[part]).max)
    x[:2], y[:2] = [complex(-largest, -1e10)] * 2, [complex(-INF, 88), complex(-largest, 2.25)]
    with np.errstate(all="ignore"):
        want = np.stack([x.real * y.real - x.imag * y.imag, x.real * y.imag + x.imag * y.real])
    t, pair = f"tensor<500xcomplex<{part}>>", f"tensor<2x500xcomplex<{part}>>"
    text = f"""func.func @main(%x: {t}, %y: {t}, %z: {pair}) -> ({t}, {t}) {{
      %0 = hlo.multiply %x, %y : {t}
      %one = hlo.constant dense<(1.0, 0.0)> : tensor<complex<{part}>>
      %1 = hlo.reduce(%z init: %one) applies hlo.multiply across dimensions = [0]
        : ({pair}, tensor<complex<{part}>>) -> {t}
      return %0, %1 : {t}, {t}
    }}"""
    for target in ("cpu", "reference"):
        product, reduced = run(text, [x, y, np.stack([x, y])], target)
        np.testing.assert_array_equal(np.stack([product.real, product.imag]), want)
        np.testing.assert_array_equal(reduced[2:], product[2:])

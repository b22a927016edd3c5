"""fft: the reference and the CPU against sums in double precision and NumPy's transforms; factorization of lengths."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import xhlo
from cpu_programs import TARGETS, run
from xhlo.hlo_dialect.ops.algorithms.fourier import unit_circle
from xhlo.passes.decompose_hlo.fourier import MAX_PRIME, MAX_RADIX, radices

I = tuple[int, ...]
KINDS = ("FFT", "IFFT", "RFFT", "IRFFT")


def program(kind: str, shape: I, count: int, width: int) -> tuple[str, I]:
    """A transform whose real or larger side has this shape; returns also the operand's shape."""
    halved = (*shape[:-1], shape[-1] // 2 + 1)
    sides = {"RFFT": (shape, halved), "IRFFT": (halved, shape)}.get(kind, (shape, shape))
    elements = [f"complex<f{width}>"] * 2
    if kind in ("RFFT", "IRFFT"):
        elements["RFFT IRFFT".split().index(kind)] = f"f{width}"
    source, result = (
        f"tensor<{''.join(f'{d}x' for d in side)}{element}>" for side, element in zip(sides, elements, strict=True)
    )
    lengths = list(shape[len(shape) - count :])
    text = f"""
    func.func @main(%x: {source}) -> {result} {{
      %0 = stablehlo.fft %x, type = {kind}, length = {lengths} : ({source}) -> {result}
      return %0 : {result}
    }}"""
    return text, sides[0]


def numbers(kind: str, shape: I, width: int) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(7)
    real = rng.standard_normal(shape)
    if kind == "RFFT":
        return real.astype(f"f{width // 8}")
    return (real + 1j * rng.standard_normal(shape)).astype(f"c{width // 4}")


def exact(kind: str, x: np.ndarray[Any, Any], shape: I, count: int) -> np.ndarray[Any, Any]:
    axes = tuple(range(len(shape) - count, len(shape)))
    wide = x.astype(np.float64 if kind == "RFFT" else np.complex128)
    if kind == "IRFFT":
        return np.fft.irfftn(wide, s=[shape[axis] for axis in axes], axes=axes)
    return {"FFT": np.fft.fftn, "IFFT": np.fft.ifftn, "RFFT": np.fft.rfftn}[kind](wide, axes=axes)


def check(kind: str, shape: I, count: int, width: int) -> None:
    text, source = program(kind, shape, count, width)
    x = numbers(kind, source, width)
    want = exact(kind, x, shape, count)
    scale = math.sqrt(np.mean(np.abs(want) ** 2)) if want.size else 1.0
    bound = (4 + math.log2(max(want.size, 2))) * np.finfo(f"f{width // 8}").eps * scale
    for target in TARGETS:
        got = run(text, [x], target)[0]
        assert got.dtype == (np.dtype(f"f{width // 8}") if kind == "IRFFT" else np.dtype(f"c{width // 4}"))
        assert got.shape == want.shape
        error = math.sqrt(np.mean(np.abs(got - want) ** 2)) if want.size else 0.0
        assert error <= bound, (target, kind, shape, error / scale)


@pytest.mark.long(4)
@pytest.mark.parametrize("n", [1, 2, 3, 5, 12, 32, 37, 64, 67, 127, 243, 512, 1009, 1155, 2048])
def test_lengths(n: int) -> None:
    check("FFT", (n,), 1, 32)


@pytest.mark.long(5)
@pytest.mark.sample(5)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "shape, count",
    [
        ((1,), 1), ((2,), 1), ((7,), 1), ((3, 20), 1), ((2, 3, 15), 2), ((4, 6, 10), 3),
        ((5, 7, 9), 3), ((2, 3, 4, 5), 2), ((2, 71, 6), 2), ((2, 6, 71), 1), ((0, 4), 1), ((2, 1, 3), 2),
    ],
)  # fmt: skip
def test_kinds(kind: str, shape: I, count: int) -> None:
    check(kind, shape, count, 64)


def test_long_tables() -> None:
    """A large prime, whose chirp the program computes; twiddle factors that are products of two."""
    check("FFT", (20011,), 1, 64)
    check("RFFT", (3, 40000), 1, 32)


def test_definition() -> None:
    """Against the sum of the definition, not NumPy's transform."""
    n = 11
    x = numbers("FFT", (n,), 64)
    turns = np.outer(np.arange(n), np.arange(n)) / n
    text = program("FFT", (n,), 1, 64)[0]
    for target in TARGETS:
        np.testing.assert_allclose(run(text, [x], target)[0], np.exp(-2j * np.pi * turns) @ x, rtol=0, atol=1e-13)


def test_inverse_takes_the_real_part() -> None:
    """IRFFT ignores imaginary parts that are zero in the spectrum of real numbers."""
    text = program("IRFFT", (8,), 1, 32)[0]
    x = np.array([1 + 5j, 2, 3j, 4, 7 - 9j], np.complex64)
    clean = np.array([1, 2, 3j, 4, 7], np.complex64)
    for target in TARGETS:
        np.testing.assert_allclose(run(text, [x], target)[0], run(text, [clean], target)[0], atol=1e-6)


@pytest.mark.parametrize("shape", [(40, 16), (40, 30), (1, 30), (1, 512), (2, 40000)])
def test_ends_of_a_real_spectrum_are_real(shape: I) -> None:
    """Their imaginary parts are zero without a sign, so that the angle of a negative end is pi, not -pi."""
    text, source = program("RFFT", shape, 1, 32)
    for target in TARGETS:
        ends = np.imag(run(text, [numbers("RFFT", source, 32)], target)[0][:, [0, -1]])
        assert not ends.any() and not np.signbit(ends).any(), target


def test_infinities_and_nans_spread() -> None:
    x = np.ones(16, np.complex64)
    x[3] = np.nan
    for target in TARGETS:
        assert np.isnan(run(program("FFT", (16,), 1, 32)[0], [x], target)[0]).all()


@pytest.mark.long(3)
@pytest.mark.parametrize("n", [*range(1, 300), 1 << 20, 3**12, 30030, 61 * 64, 9973])
def test_radices(n: int) -> None:
    found = radices(n)
    if found is None:
        assert any(n % prime == 0 for prime in range(MAX_PRIME + 1, n + 1) if all(prime % q for q in range(2, prime)))
        return
    assert math.prod(found) == n
    assert all(radix <= MAX_RADIX or all(radix % q for q in range(2, radix)) for radix in found)


def test_jax_agrees() -> None:
    jax = pytest.importorskip("jax")
    x = numbers("FFT", (6, 20), 32)
    functions: list[Any] = [
        jax.numpy.fft.fft2,
        jax.numpy.fft.ifft,
        lambda x: jax.numpy.fft.irfft(x, 37),
    ]
    for function in functions:
        lowered = jax.jit(function).lower(x)
        np.testing.assert_allclose(xhlo.compile(lowered)(x), np.asarray(lowered.compile()(x)), atol=2e-5)


@pytest.mark.parametrize("n", [1, 5, 8, 97, 1_000_003])
def test_unit_circle(n: int) -> None:
    """Roots of unity are as exact as f64 allows, however long the angle."""
    numerators = np.arange(-3, 2 * n, max(1, n // 1000))
    cos, sin = unit_circle(numerators, n, -1)
    angles = 2 * np.longdouble("3.14159265358979323846264338327950288") * (numerators % n).astype(np.longdouble) / n
    assert max(np.abs(cos - np.cos(angles)).max(), np.abs(sin + np.sin(angles)).max()) < 1.8e-16
    assert not np.signbit(np.concatenate([x[x == 0] for x in (cos, sin)])).any()

"""
Complex functions at the edges: 13 x 13 numbers of zeros, infinities, NaN, subnormal and the largest parts.

The table is C's Annex G: NumPy's complex long double functions are the C library's, and where Python's cmath, which has
its own tables, gives a result it must agree. Functions that C lacks are given by their definitions.
"""

from __future__ import annotations

import cmath
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cpu_programs import run
from simt_programs import run_on_simt

TYPES = {"f32": np.complex64, "f64": np.complex128}
HAS_WIDE = np.finfo(np.longdouble).nmant > 60
Numbers = Any


COUNT = 192
"""Numbers of a grid; that these are whole vectors of any machine halves the time that LLVM takes."""


def grid(part: str) -> np.ndarray:
    """Each pair of 13 parts, and some twice."""
    info = np.finfo(TYPES[part])
    tiny, largest = float(info.smallest_subnormal), float(info.max)
    edges = [0.0, 1.0, tiny, largest, np.inf]
    parts = np.array([*edges, *(-edge for edge in edges), np.nan, 2.5, -0.3], info.dtype)
    return np.resize(joined(np.repeat(parts, 13), np.tile(parts, 13)), COUNT)


def joined(re: Numbers, im: Numbers) -> np.ndarray:
    re, im = np.broadcast_arrays(re, im)
    result = np.empty(re.shape, np.result_type(re, im, np.complex64))
    result.real, result.imag = re, im
    return result


def expm1(z: Numbers) -> np.ndarray:
    near = np.expm1(z.real) * np.cos(z.imag) - 2 * np.sin(z.imag / 2) ** 2
    whole = np.exp(z)
    return joined(np.where(np.abs(z.real) < 50, near, whole.real - 1), whole.imag)


def log1p(z: Numbers) -> np.ndarray:
    whole = np.log(joined(1 + z.real, z.imag))
    near = np.log1p(z.real * (2 + z.real) + z.imag * z.imag) / 2
    return joined(np.where(np.abs(z) < 0.5, near, whole.real), whole.imag)


def rsqrt(z: Numbers) -> np.ndarray:
    """Infinite with a NaN at 0, 0 at infinity, and conjugate at the conjugate."""
    found = np.where(np.isinf(z), 0, np.where(z == 0, complex(np.inf, np.nan), 1 / np.sqrt(z)))
    return joined(found.real, np.copysign(found.imag, -z.imag))


def cbrt(z: Numbers) -> np.ndarray:
    """On the real axis, where C's cexp gives the sine 0 of a zero angle for any size, real."""
    angle = np.arctan2(z.imag, z.real) / 3
    size = np.cbrt(np.abs(z))
    return joined(size * np.cos(angle), np.where(angle == 0, angle, size * np.sin(angle)))


def logistic(z: Numbers) -> np.ndarray:
    """e**z / (1 + e**z) on the left, where e**-z may overflow; 1 / (1 + e**-z) elsewhere."""
    left = z.real < 0
    power = np.exp(np.where(left, z, -z))
    return np.where(left, power, 1) / joined(1 + power.real, power.imag)


def sign(z: Numbers) -> np.ndarray:
    size = np.abs(z)
    return np.where(np.isnan(z), complex(np.nan, np.nan), np.where(z == 0, z, joined(z.real / size, z.imag / size)))


PERIODIC = {
    "exponential",
    "exponential_minus_one",
    "sine",
    "cosine",
    "tan",
    "tanh",
    "logistic",
    "chlo.sinh",
    "chlo.cosh",
}
"""Functions of which Annex G leaves signs open at an infinite part beside an infinity or a zero."""

BY_SIZE = {"cbrt", "logistic"}
"""Functions whose error is bounded relative to the magnitude of the result, not to each part."""

FUNCTIONS: dict[str, tuple[Callable[[Any], Any], Callable[[complex], complex] | None]] = {
    "abs": (np.abs, abs),
    "exponential": (np.exp, cmath.exp),
    "exponential_minus_one": (expm1, None),
    "log": (np.log, cmath.log),
    "log_plus_one": (log1p, None),
    "sqrt": (np.sqrt, cmath.sqrt),
    "rsqrt": (rsqrt, None),
    "cbrt": (cbrt, None),
    "sine": (np.sin, cmath.sin),
    "cosine": (np.cos, cmath.cos),
    "tan": (np.tan, cmath.tan),
    "tanh": (np.tanh, cmath.tanh),
    "logistic": (logistic, None),
    "sign": (sign, None),
    "chlo.square": (lambda z: joined(z.real * z.real - z.imag * z.imag, 2 * z.real * z.imag), None),
    "chlo.sinh": (np.sinh, cmath.sinh),
    "chlo.cosh": (np.cosh, cmath.cosh),
    "chlo.asin": (np.arcsin, cmath.asin),
    "chlo.acos": (np.arccos, cmath.acos),
    "chlo.atan": (np.arctan, cmath.atan),
    "chlo.asinh": (np.arcsinh, cmath.asinh),
    "chlo.acosh": (np.arccosh, cmath.acosh),
    "chlo.atanh": (np.arctanh, cmath.atanh),
}


def table(op: str, z: np.ndarray) -> np.ndarray:
    """The right results, rounded to the type of z."""
    with np.errstate(all="ignore"):
        found = np.asarray(FUNCTIONS[op][0](z.astype(np.clongdouble)))
        return found.astype(z.real.dtype if op == "abs" else z.dtype)


def open_signs(op: str, z: np.ndarray) -> np.ndarray:
    """Where Annex G leaves the signs of zeros and infinities open: beside NaN, and at limits of no direction."""
    edge = [np.isinf(part) | (part == 0) for part in (z.real, z.imag)]
    return np.isnan(z) | ((op in PERIODIC) & np.isinf(z) & edge[0] & edge[1])


def assert_agrees(op: str, z: np.ndarray, got: np.ndarray, want: np.ndarray, ulps: int, what: str) -> None:
    """
    Each part: NaN and infinities in their places, zeros with their signs, the others within `ulps`.

    The signs of zeros into which products of subnormal parts vanish are not compared.
    """
    free = open_signs(op, z)
    tiny = np.finfo(z.dtype).tiny
    vanishing = ((np.abs(z.real) < tiny) & (z.real != 0)) | ((np.abs(z.imag) < tiny) & (z.imag != 0))
    wrong = np.zeros(z.shape, bool)
    for mine, right in zip((got.real, got.imag), (want.real, want.imag), strict=True):
        mine, right = (np.where(free & ~(np.abs(x) > 0) | (free & np.isinf(x)), np.abs(x), x) for x in (mine, right))
        with np.errstate(all="ignore"):
            scale = np.abs(want) if op in BY_SIZE else np.abs(right)
            close = np.abs(mine - right) <= ulps * np.spacing(scale)
        signed = (right != 0) | (np.signbit(mine) == np.signbit(right)) | vanishing
        same = (mine == right) & signed | (np.isnan(mine) & np.isnan(right))
        wrong |= ~(same | (close & ((right != 0) | vanishing) & np.isfinite(right)))
    assert not wrong.any(), f"{what}: {wrong.sum()} of {z.size} wrong: " + "; ".join(
        f"{a} gives {b}, not {c}" for a, b, c in list(zip(z[wrong], got[wrong], want[wrong], strict=True))[:6]
    )


def results(part: str, target: str) -> dict[str, np.ndarray]:
    """Each function of the grid, from one program."""
    type_, real = f"tensor<{COUNT}xcomplex<{part}>>", f"tensor<{COUNT}x{part}>"
    types = [real if op == "abs" else type_ for op in FUNCTIONS]
    lines = [
        f'  %{i} = "{op if "." in op else f"hlo.{op}"}"(%z) : ({type_}) -> {result}'
        for i, (op, result) in enumerate(zip(FUNCTIONS, types, strict=True))
    ]
    listed, returned = ", ".join(types), ", ".join(f"%{i}" for i in range(len(types)))
    text = "\n".join([f"func.func @main(%z: {type_}) -> ({listed}) {{", *lines, f"  return {returned} : {listed}", "}"])
    found = run_on_simt(text, [grid(part)]) if target == "simt" else run(text, [grid(part)], target)
    return dict(zip(FUNCTIONS, found, strict=True))


@pytest.mark.skipif(not HAS_WIDE, reason="long double is no wider than double here")
@pytest.mark.parametrize("op", [op for op, (_, other) in FUNCTIONS.items() if other is not None])
def test_the_table_agrees_with_pythons(op: str) -> None:
    """
    Where cmath raises no error (it does for results that are NaN or infinite for finite arguments), and not beside a NaN
    and a zero, where C17 is more exact than C99 (WG14's defect report 471).
    """
    z, found = grid("f64"), {}
    for index, number in enumerate(z):
        try:
            found[index] = FUNCTIONS[op][1](complex(number))  # type: ignore[misc]
        except (ValueError, OverflowError):
            continue
    places = np.array([i for i in found if not (np.isnan(z[i]) and 0 in (z[i].real, z[i].imag))])
    assert len(places) > 90
    theirs = np.array([found[i] for i in places])
    assert_agrees(op, z[places], theirs, table(op, z)[places], 2, f"cmath.{op}")


@pytest.mark.long(10)
@pytest.mark.skipif(not HAS_WIDE, reason="long double is no wider than double here")
@pytest.mark.parametrize("target", ["reference", "cpu", "simt"])
@pytest.mark.parametrize("part", TYPES)
def test_edges(part: str, target: str) -> None:
    z = grid(part)
    for op, got in results(part, target).items():
        assert_agrees(op, z, got, table(op, z), 4, f"{op} of complex<{part}> on {target}")

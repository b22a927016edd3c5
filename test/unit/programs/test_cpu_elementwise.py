"""
Every elementwise operation on every element type, at the edges and at random: compiled code against the reference.
"""

from __future__ import annotations

import numpy as np
import pytest

from cpu_programs import (
    DTYPES,
    FLOATS,
    INTEGERS,
    SIGNED,
    TYPES,
    TYPICAL,
    UNSIGNED,
    Batch,
    all_pairs,
    edges,
    random_values,
    run,
    type_of,
)

ROUNDING = ["ceil", "floor", "round_nearest_afz", "round_nearest_even"]
ELEMENTARY = [
    "cbrt",
    "cosine",
    "exponential",
    "exponential_minus_one",
    "log",
    "log_plus_one",
    "logistic",
    "rsqrt",
    "sine",
    "tan",
    "tanh",
]
ULPS = 3
"""The error bounds of elementary functions, in ulps of their type, against a wider result that is rounded once."""


def vector(type_: str, seed: int = 0, count: int = 301) -> np.ndarray:
    """Edges, then random values: longer than a cache line, and not a multiple of any vector."""
    return np.concatenate([edges(type_), random_values(type_, count, seed)])


def pairs(type_: str) -> tuple[np.ndarray, np.ndarray]:
    """All pairs of edges, then random ones."""
    x, y = all_pairs(edges(type_), edges(type_))
    return np.concatenate([x, random_values(type_, 301, 1)]), np.concatenate([y, random_values(type_, 301, 2)])


@pytest.mark.long(4)
@pytest.mark.sample(type_=TYPICAL)
@pytest.mark.parametrize("type_", TYPES)
def test_unary(type_: str) -> None:
    x = vector(type_)
    t = type_of(x)
    batch = Batch({"x": x})
    exact: list[str] = []
    if type_ not in UNSIGNED and type_ != "i1":
        exact += ["abs", "sign"]
    if type_ != "i1":
        exact += ["negate"]
    if type_ not in FLOATS:
        exact += ["not"]
    if type_ in INTEGERS:
        exact += ["count_leading_zeros", "popcnt"]
    if type_ in FLOATS:
        exact += [*ROUNDING, "sqrt"]
    for op in exact:
        batch.add(f"hlo.{op} %x : {t}", t)
    if type_ in FLOATS:
        batch.add(f"hlo.is_finite %x : ({t}) -> tensor<{x.size}xi1>", f"tensor<{x.size}xi1>")
        batch.add(f"hlo.real %x : {t}", t)
        batch.add(f"hlo.imag %x : {t}", t)
        for op in ELEMENTARY:
            batch.add(f"hlo.{op} %x : {t}", t, bound=ULPS)
    batch.check()


@pytest.mark.long(4)
@pytest.mark.sample(type_=TYPICAL)
@pytest.mark.parametrize("type_", TYPES)
def test_binary(type_: str) -> None:
    x, y = pairs(type_)
    t = type_of(x)
    batch = Batch({"x": x, "y": y})
    ops = ["add", "maximum", "minimum", "multiply"]
    if type_ != "i1":
        ops += ["subtract", "divide", "remainder", "power"]
    if type_ not in FLOATS:
        ops += ["and", "or", "xor"]
    if type_ in INTEGERS:
        ops += ["shift_left", "shift_right_arithmetic", "shift_right_logical"]
    if type_ in FLOATS:
        ops += ["atan2"]
    for op in ops:
        elementary = type_ in FLOATS and op in ("atan2", "power")
        batch.add(f"hlo.{op} %x, %y : {t}", t, bound=ULPS if elementary else 0)
    batch.check()


@pytest.mark.long(3)
@pytest.mark.sample(type_=TYPICAL)
@pytest.mark.parametrize("type_", TYPES)
def test_compare(type_: str) -> None:
    x, y = pairs(type_)
    if type_ in FLOATS:  # A NaN with the other sign.
        x, y = (np.concatenate([a, -edges(type_)]) for a in (x, y))
    kinds = ["FLOAT", "TOTALORDER"] if type_ in FLOATS else ["SIGNED" if type_ in SIGNED else "UNSIGNED"]
    t, result = type_of(x), f"tensor<{x.size}xi1>"
    batch = Batch({"x": x, "y": y})
    for direction in ("EQ", "NE", "LT", "LE", "GT", "GE"):
        for kind in kinds:
            batch.add(f"hlo.compare {direction}, %x, %y, {kind} : ({t}, {t}) -> {result}", result)
        batch.add(f"hlo.compare {direction}, %x, %y : ({t}, {t}) -> {result}", result)
    batch.check()


@pytest.mark.long(3)
@pytest.mark.sample(type_=TYPICAL)
@pytest.mark.parametrize("type_", TYPES)
def test_select_and_clamp(type_: str) -> None:
    x, y = pairs(type_)
    z = np.roll(vector(type_, 3, x.size)[: x.size], 7)
    p = random_values("i1", x.size)
    t, scalar = type_of(x), f"tensor<{type_}>"
    batch = Batch({"x": x, "y": y, "z": z, "p": p, "q": np.array(True), "s": x[5 % 2], "u": y[-1]})
    batch.add(f"hlo.select %p, %x, %y : tensor<{x.size}xi1>, {t}", t)
    batch.add(f"hlo.select %q, %x, %y : tensor<i1>, {t}", t)
    batch.add(f"hlo.clamp %x, %y, %z : {t}", t)
    batch.add(f"hlo.clamp %s, %y, %z : ({scalar}, {t}, {t}) -> {t}", t)
    batch.add(f"hlo.clamp %s, %y, %u : ({scalar}, {t}, {scalar}) -> {t}", t)
    batch.check()


@pytest.mark.long(3)
@pytest.mark.sample(source=TYPICAL)
@pytest.mark.parametrize("source", TYPES)
def test_convert(source: str) -> None:
    """
    Conversions to every type, of edges of the source and the target types and of values halfway between neighbours.
    """
    parts = [vector(source)]
    with np.errstate(all="ignore"):
        if source != "i1":
            for target in TYPES[1:]:
                near = edges(target)
                both = (near, near + near.dtype.type(1), near - near.dtype.type(1)) if target in INTEGERS else (near,)
                parts += [part.astype(DTYPES[source]) for part in both]
        if source in FLOATS:
            step = np.nextafter if source in ("f32", "f64") else None
            whole = np.concatenate(parts)
            parts += [step(whole, whole.dtype.type(side)) for side in (-np.inf, np.inf)] if step else []
            parts.append(
                np.array(
                    [2.0**n + 2.0 ** (n - k) for n in range(-30, 30) for k in (8, 9, 11, 12, 24, 25)], DTYPES[source]
                )
            )
        if source in INTEGERS:
            bits = DTYPES[source].itemsize * 8 - (source in SIGNED)
            ties = [
                (1 << n) + sum(1 << max(n - k, 0) for k in ks)
                for n in range(bits)
                for ks in ((8,), (8, 30), (9,), (11,), (12, 40), (24,), (24, 60), (25,), (53,), (54,))
            ]
            parts.append(np.array([n for n in ties if n < 1 << bits], DTYPES[source]))
    x = np.concatenate(parts)
    batch = Batch({"x": x})
    for target in TYPES:
        result = f"tensor<{x.size}x{target}>"
        batch.add(f"hlo.convert %x : ({type_of(x)}) -> {result}", result)
    batch.check()


@pytest.mark.long(3)
@pytest.mark.parametrize("type_", FLOATS)
def test_reduce_precision(type_: str) -> None:
    with np.errstate(over="ignore"):
        x = np.concatenate([vector(type_), *(edges(other).astype(DTYPES[type_]) for other in FLOATS)])
    batch = Batch({"x": x})
    for exponent, mantissa in (
        (5, 10),
        (8, 7),
        (4, 3),
        (5, 2),
        (8, 0),
        (2, 1),
        (1, 0),
        (1, 5),
        (8, 23),
        (11, 52),
        (11, 2),
        (5, 40),
    ):
        batch.add(f"hlo.reduce_precision %x, format = e{exponent}m{mantissa} : {type_of(x)}", type_of(x))
    batch.check()


@pytest.mark.sample(type_=TYPICAL)
@pytest.mark.parametrize("type_", TYPES)
def test_bitcast_convert(type_: str) -> None:
    """Bitcasts to every type of the same width keep the bytes, also of NaN."""
    x = vector(type_)
    targets = [t for t in TYPES if DTYPES[t].itemsize == x.itemsize and (t == "i1") == (type_ == "i1")]
    batch = Batch({"x": x})
    for target in targets:
        result = f"tensor<{x.size}x{target}>"
        batch.add(f"hlo.bitcast_convert %x : ({type_of(x)}) -> {result}", result)
    for got in run(batch.text(), [x]):
        assert got.tobytes() == x.tobytes()

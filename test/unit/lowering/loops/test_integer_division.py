"""Quotients and remainders of integers, which floats compute: every pair of 8 bits, and where a float could round."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cpu_programs import on_threads, type_of

Integers = np.ndarray[Any, np.dtype[Any]]


def pairs(dtype: str) -> tuple[Integers, Integers]:
    """All pairs of 8 bits; for wider types random pairs, the extremes, and multiples of the divisor with their neighbours."""
    info, rng = np.iinfo(dtype), np.random.default_rng(5)
    if info.bits == 8:
        every = np.arange(info.min, info.max + 1).astype(dtype)
        return np.repeat(every, 256), np.tile(every, 256)
    ends = np.array([info.min, info.min + 1, 0, 1, 2, 3, info.max - 1, info.max, *([-1] * (info.min < 0))], dtype)
    x = rng.integers(info.min, info.max, 3000, dtype=dtype, endpoint=True)
    if info.bits == 64:
        # Floats compute those of less than 52 bits, if all of a vector are.
        large = [2**51 - 1, 2**51, *([-(2**51), -(2**51) - 1] * (info.min < 0))]
        ends = np.concatenate([ends, np.array(large, dtype)])
        x[:2000] >>= np.array(13, dtype)
        x[:1000] >>= rng.integers(0, 40, 1000).astype(dtype)
    y = rng.integers(info.min, info.max, 3000, dtype=dtype, endpoint=True) >> rng.integers(0, info.bits, 3000).astype(
        dtype
    )
    if info.bits == 64:
        y[:2000] >>= np.array(13, dtype)
    y[y == 0] = 1
    multiples = (x // y) * y
    with np.errstate(over="ignore"):
        near = [multiples + delta for delta in np.array([0, 1], dtype)] + [multiples - np.ones(1, dtype)]
    count = len(ends)
    return np.concatenate([x, *near, np.repeat(ends, count)]), np.concatenate([y, y, y, y, np.tile(ends, count)])


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_division(dtype: str) -> None:
    x, y = pairs(dtype)
    assert_quotients(x, y, *divided(x, y))


@pytest.mark.parametrize("dtype", ["int64", "uint64"])
def test_small_quotients_of_large_integers(dtype: str) -> None:
    """Vectors whose lanes all have quotients just below, at and just above those that floats compute, of both signs."""
    rng = np.random.default_rng(6)
    quotients: list[Integers] = []
    divisors: list[Integers] = []
    for bits in (1, 20, 31, 49, 50, 51):
        edges = (1 << bits) + rng.integers(-1, 2, 512)
        sizes = rng.integers(1, 62 - bits + 1, 512)
        quotients.append(edges)
        divisors.append(np.maximum((1 << sizes) - rng.integers(0, 2, 512), 1))
    quotient, y = np.concatenate(quotients).astype(dtype), np.concatenate(divisors).astype(dtype)
    x = quotient * y + rng.integers(-1, 2, len(y)).astype(dtype)
    if dtype == "int64":
        x, y = x * rng.choice([-1, 1], len(x)), y * rng.choice([-1, 1], len(x))
    # The last lanes: as large as a divisor may be, larger, and the largest.
    ends = np.array([(1 << 62) - 1, 1 << 62, (1 << 62) + 1, np.iinfo(dtype).max], dtype)
    x, y = np.concatenate([x, np.repeat(ends, 64)]), np.concatenate([y, np.tile(ends, 64)])
    assert_quotients(x, y, *divided(x, y))


def divided(x: Integers, y: Integers) -> tuple[Integers, Integers]:
    """The quotients and remainders."""
    type_ = type_of(x)
    text = f"""
    func.func @main(%x: {type_}, %y: {type_}) -> ({type_}, {type_}) {{
      %0 = stablehlo.divide %x, %y : {type_}
      %1 = stablehlo.remainder %x, %y : {type_}
      return %0, %1 : {type_}, {type_}
    }}"""
    quotients, remainders = on_threads(text, x, y)
    return quotients, remainders


def assert_quotients(x: Integers, y: Integers, quotient: Integers, remainder: Integers) -> None:
    a, b = x.astype(object), y.astype(object)
    wanted = [abs(p) // abs(q) * (1 if (p < 0) == (q < 0) else -1) if q else -1 for p, q in zip(a, b, strict=True)]
    rest = [p - q * d if d else p for p, q, d in zip(a, wanted, b, strict=True)]
    mask = (1 << np.iinfo(x.dtype).bits) - 1  # the least number divided by -1 wraps round to itself
    assert [int(q) & mask for q in quotient] == [q & mask for q in wanted]
    assert [int(r) for r in remainder] == rest


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32"])
def test_division_by_constants(dtype: str) -> None:
    """Also by those for which a division is not the processor's: 0 and -1."""
    x = np.unique(pairs(dtype)[0])
    divisors = [0, 1, 7, 100, *([-1, -7] * (np.iinfo(dtype).min < 0))]
    type_ = type_of(x)
    lines: list[str] = []
    names: list[str] = []
    for number, divisor in enumerate(divisors):
        lines.append(f"%c{number} = stablehlo.constant dense<{divisor}> : {type_}")
        for result, name in (("q", "divide"), ("r", "remainder")):
            lines.append(f"%{result}{number} = stablehlo.{name} %x, %c{number} : {type_}")
            names.append(f"%{result}{number}")
    types = ", ".join([type_] * len(names))
    text = (
        f"func.func @main(%x: {type_}) -> ({types}) {{\n{chr(10).join(lines)}\nreturn {', '.join(names)} : {types}\n}}"
    )
    results = on_threads(text, x)
    for number, divisor in enumerate(divisors):
        assert_quotients(x, np.full_like(x, divisor), results[2 * number], results[2 * number + 1])

"""fft on the CPU as loops over lines: every way in which rows and columns fill vectors, against NumPy's transforms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cpu_programs import on_threads, run
from xhlo.lowering.convert_linalg_ext_to_scf.fourier_plan import (
    MAX_LINE,
    Line,
    Split,
    distance_of_planes,
    factors_of,
    plan_of,
)
from xhlo.targets.cpu import host

Case = tuple[str, tuple[int, ...], int]
"""Kind, shape of the real or larger side, transformed dimensions."""

CASES: tuple[Case, ...] = (
    *((kind, (19, 24), 1) for kind in ("FFT", "IFFT", "RFFT", "IRFFT")),
    ("RFFT", (3, 15), 1),
    ("IRFFT", (18, 77), 1),
    ("FFT", (17, 131), 1),
    ("IFFT", (18, 7 * 97), 1),
    ("IFFT", (7, 1152), 1),
    ("RFFT", (3, 800), 1),
    ("FFT", (17, 512), 1),
    ("IFFT", (1, 1), 1),
    *((kind, (2, 256), 1) for kind in ("IFFT", "RFFT", "IRFFT")),
    ("RFFT", (17, 2 * MAX_LINE + 32), 1),
    ("IRFFT", (3, 5, 20, 6), 3),
    ("RFFT", (2, 9, 34), 2),
    ("FFT", (4, 7, 32), 2),
    ("IFFT", (2, 262, 17), 2),
)

SHORT: tuple[Case, ...] = (
    *((kind, (19, n), 1) for kind in ("FFT", "RFFT", "IRFFT") for n in (1, 2, 3, 5, 7, 9, 12)),
    ("IFFT", (3, 4, 15), 3),
    *(("IFFT", (7, n), 2) for n in (1, 2, 11)),
    *((kind, (2, 375), 1) for kind in ("FFT", "RFFT", "IRFFT")),
)
"""Rows shorter than a vector, or no multiple of one, and fewer columns than a vector has lanes."""

BY_ROWS: tuple[Case, ...] = (
    *((kind, (5, 1009), 1) for kind in ("FFT", "IFFT", "RFFT", "IRFFT")),
    *((kind, (2, 2, 514), 1) for kind in ("RFFT", "IRFFT")),
    *((kind, (1, 262), 1) for kind in ("RFFT", "IRFFT")),
    *((kind, (521,), 1) for kind in ("FFT", "RFFT", "IRFFT")),
    *((kind, (2, 19 * 17), 1) for kind in ("RFFT", "IRFFT")),
    ("FFT", (40009,), 1),
)
"""Rows that are convolutions of a smooth length, or real ones of odd length that are complex ones."""


def sides(case: Case, width: int) -> tuple[tuple[int, ...], str, tuple[int, ...], str]:
    """The shapes and the types of operand and result."""
    kind, shape, _ = case
    halved = (*shape[:-1], shape[-1] // 2 + 1)
    whole, half = f"complex<f{width}>", f"f{width}"
    first = (shape, half) if kind == "RFFT" else (halved, whole) if kind == "IRFFT" else (shape, whole)
    second = (halved, whole) if kind == "RFFT" else (shape, half) if kind == "IRFFT" else (shape, whole)
    texts = [f"tensor<{''.join(f'{d}x' for d in sizes)}{element}>" for sizes, element in (first, second)]
    return first[0], texts[0], second[0], texts[1]


def wanted(case: Case, x: Any) -> Any:
    kind, shape, count = case
    axes = tuple(range(-count, 0))
    if kind == "IRFFT":
        return np.fft.irfftn(x, shape[-count:], axes)
    functions: dict[str, Any] = {"FFT": np.fft.fftn, "IFFT": np.fft.ifftn, "RFFT": np.fft.rfftn}
    return functions[kind](x, axes=axes)


def program(width: int, cases: tuple[Case, ...]) -> tuple[str, list[Any]]:
    """A function of all cases, and its arguments."""
    rng = np.random.default_rng(3)
    inputs: list[Any] = []
    parameters: list[str] = []
    body: list[str] = []
    types: list[str] = []
    for number, case in enumerate(cases):
        shape, source, _, result = sides(case, width)
        x = rng.standard_normal(shape)
        x = x if case[0] == "RFFT" else x + 1j * rng.standard_normal(shape)
        inputs.append(x.astype({"f": f"f{width // 8}", "c": f"c{width // 4}"}[x.dtype.kind]))
        parameters.append(f"%x{number}: {source}")
        lengths = list(case[1][-case[2] :])
        body.append(
            f"%{number} = stablehlo.fft %x{number}, type = {case[0]}, length = {lengths} : ({source}) -> {result}"
        )
        types.append(result)
    names = ", ".join(f"%{number}" for number in range(len(cases)))
    found = ", ".join(types)
    text = f"func.func @main({', '.join(parameters)}) -> ({found}) {{\n" + "\n".join(body)
    return f"{text}\nreturn {names} : {found}\n}}", inputs


@pytest.mark.long(10)
@pytest.mark.parametrize(
    "width, cases", [(32, CASES), (64, CASES[::3]), (32, SHORT), (64, SHORT), (32, BY_ROWS), (64, BY_ROWS[::3])]
)
def test_every_way(width: int, cases: tuple[Case, ...]) -> None:
    text, inputs = program(width, cases)
    results = on_threads(text, *inputs)
    for case, x, got in zip(cases, inputs, results, strict=True):
        want = wanted(case, x.astype(np.complex128 if x.dtype.kind == "c" else np.float64))
        assert got.dtype.itemsize == want.dtype.itemsize * width // 64
        if case[0] == "RFFT" and case[2] == 1:
            assert got[..., :1].imag.tobytes() == bytes(got[..., :1].imag.nbytes), case
        assert np.abs(got - want).max() < (5e-7 if width == 32 else 1e-15) * np.abs(want).max(), case


WIDTHS: tuple[Case, ...] = (
    *((kind, (19, 24), 1) for kind in ("FFT", "IFFT", "RFFT", "IRFFT")),
    ("RFFT", (18, 77), 1),
    ("FFT", (17, 131), 1),
    *((kind, (16, 1024), 1) for kind in ("IFFT", "RFFT", "IRFFT")),
    *((kind, (1, 1 << 14), 1) for kind in ("FFT", "RFFT", "IRFFT")),
    ("FFT", (2, 25, 24), 2),
)
"""Rows and columns in lanes, chirps, splits with tables of roots and with products of roots."""


@pytest.mark.long
@pytest.mark.parametrize("width", [32, 64])
def test_vectors_of_other_machines(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines of a group are in parts where vectors are shorter; each line's bits are the same."""
    text, inputs = program(width, WIDTHS)
    found: list[list[Any]] = []
    for bits in (512, 256, 128):
        monkeypatch.setattr(host, "host_vector_bits", lambda bits=bits: bits)
        found.append([part.tobytes() for part in run(text, inputs)])
    assert found[0] == found[1] == found[2]


def test_planes_of_long_lines_are_apart() -> None:
    """The four planes of long lines begin a quarter of the cache's sets from each other, after all their elements."""
    for capacity in (128, 200, 513, 1024, 4096):
        distance = distance_of_planes(capacity)
        assert distance > capacity and {plane * distance % 64 for plane in range(4)} == {0, 16, 32, 48}


def test_roots_of_short_splits_are_one_table() -> None:
    """Splits of rows up to 4096 elements read each root; those of longer ones, or of odd sides, multiply three."""
    found: list[bool] = []
    for n in (1024, 4096, 8192, 375):
        plan = plan_of("FFT", (4, n), (n,), 32)
        assert plan is not None and isinstance(plan.row.complex, Split)
        found.append(plan.row.complex.whole)
    assert found == [True, True, False, False]


@pytest.mark.long(2)
@pytest.mark.parametrize("kind", ["RFFT", "IRFFT"])
def test_rows_do_not_share_errors(kind: str) -> None:
    """A large row, or one of NaN, changes nothing in the others."""
    case: Case = (kind, (4, 521), 1)
    shape, source, _, result = sides(case, 32)
    rng = np.random.default_rng(4)
    x = rng.standard_normal(shape) + (0 if kind == "RFFT" else 1j * rng.standard_normal(shape))
    x[1] *= 1e12
    x[2] = np.nan
    x = x.astype(np.float32 if kind == "RFFT" else np.complex64)
    text = f"func.func @main(%x: {source}) -> {result} {{\n"
    text += f"%0 = stablehlo.fft %x, type = {kind}, length = [521] : ({source}) -> {result}\nreturn %0 : {result}\n}}"
    (got,) = run(text, [x])
    want = wanted(case, x.astype(np.complex128 if kind == "IRFFT" else np.float64))
    for row in (0, 1, 3):
        assert np.abs(got[row] - want[row]).max() < 5e-7 * np.abs(want[row]).max(), row


def test_plans() -> None:
    """
    Many rows are lines but for those of powers of two, few rows and a long one are split, large primes are
    convolutions, some have no plan.
    """
    many, long, prime = (plan_of("FFT", shape, shape[-1:], 32) for shape in ((64, 1000), (1 << 20,), (20, 1009)))
    assert many is not None and isinstance(many.row.complex, Line) and long is not None and prime is not None
    conflicting = plan_of("FFT", (64, 1024), (1024,), 32)
    assert conflicting is not None and isinstance(conflicting.row.complex, Split)
    few = plan_of("FFT", (4, 375), (375,), 32)
    assert few is not None and isinstance(few.row.complex, Split)
    split = long.row.complex
    assert isinstance(split, Split) and (split.first.n, split.second.n) == (1024, 1024)
    assert isinstance(prime.row.complex, Line) and prime.row.complex.capacity == 2048
    assert plan_of("FFT", (0, 4), (4,), 32) is None
    assert plan_of("FFT", (1_000_003,), (1_000_003,), 32) is None
    assert plan_of("RFFT", (3 * MAX_LINE * 5 * 7,), (3 * MAX_LINE * 5 * 7,), 32) is not None
    assert factors_of(2 * 131) is None and factors_of(1) == () and factors_of(7 * 64 * 9) == (8, 8, 3, 3, 7)

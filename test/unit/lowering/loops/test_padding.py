"""Pads of whole arrays call a function for arrays of any sizes (convert_linalg_to_scf/padding.py)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import xhlo
from cpu_programs import DTYPES, on_threads
from hlo_programs import Program
from xhlo.dialects.cpu import SHARED
from xhlo.hlo_dialect.dialect import make_context
from xhlo.targets.cpu.target import CPU
from xhlo.targets.program.lowering import Lowering
from xhlo.targets.program.pipeline import parse_source
from xhlo.targets.program.source import Source

Padding = Sequence[tuple[int, int]]


def type_of(shape: Sequence[int], element: str) -> str:
    return f"tensor<{'x'.join([*map(str, shape), element])}>"


def pad(shape: Sequence[int], padding: Padding, element: str = "f32", before: str = "", source: str = "%x") -> str:
    """A pad of `source`, which `before` computes, by 7 or true."""
    low, high = ([pair[side] for pair in padding] for side in (0, 1))
    given = type_of(shape, element)
    made = type_of([size + sum(pair) for size, pair in zip(shape, padding, strict=True)], element)
    return f"""func.func @main(%x: {given}) -> {made} {{
  %v = hlo.constant dense<{"true" if element == "i1" else "7.0" if element[0] == "f" else "7"}> : tensor<{element}>
  {before}
  %0 = hlo.pad {source}, %v, low = {low}, high = {high}, interior = {[0] * len(low)}
    : ({given}, tensor<{element}>) -> {made}
  return %0 : {made}
}}"""


def is_shared(text: str) -> bool:
    """Whether a program calls a shared function."""
    ctx = make_context()
    lowering = Lowering(ctx, parse_source(Source(text, "<test>"), ctx), CPU)
    lowering.to("loops")
    return any(SHARED in op.attributes for op in lowering.module.walk())


PADS: list[tuple[Sequence[int], Padding]] = [
    ((5,), [(2, 3)]),
    ((5,), [(0, 1)]),
    ((3, 4), [(1, 0), (0, 2)]),
    ((2, 3, 4, 5), [(0, 0), (1, 1), (2, 1), (0, 0)]),
    ((2, 3, 4, 5), [(0, 0), (0, 0), (1, 1), (1, 1)]),
    ((2, 3, 4, 5), [(1, 2), (3, 0), (0, 1), (2, 2)]),
    ((2, 2, 3, 4, 5), [(0, 0), (1, 2), (0, 3), (4, 0), (0, 0)]),
    ((1, 1), [(0, 3), (4, 0)]),
    ((40, 300, 29), [(1, 2), (7, 0), (3, 4)]),
]


@pytest.mark.parametrize(("shape", "padding"), PADS, ids=str)
def test_pads(shape: Sequence[int], padding: Padding) -> None:
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    text = pad(shape, padding)
    assert is_shared(text)
    np.testing.assert_array_equal(xhlo.compile(text)(x), np.pad(x, padding, constant_values=7))


@pytest.mark.parametrize(
    ("element", "dtype"), [("f64", "float64"), ("i8", "int8"), ("i16", "int16"), ("ui32", "uint32")]
)
def test_elements(element: str, dtype: str) -> None:
    x = np.arange(12).reshape(3, 4).astype(dtype)
    text = pad((3, 4), [(1, 2), (3, 0)], element)
    assert is_shared(text)
    np.testing.assert_array_equal(xhlo.compile(text)(x), np.pad(x, [(1, 2), (3, 0)], constant_values=7))


@pytest.mark.parametrize(
    ("padding", "shared"),
    [([(0, 0), (4, 4), (4, 4)], True), ([(0, 0), (0, 0), (2, 3)], True), ([(0, 0), (4, 4), (4, 5)], False)],
)
def test_truth_values(padding: Padding, shared: bool) -> None:
    """They are bytes in memory, but bits in lanes: rows are copied where they would end in scalar code."""
    x = np.random.default_rng(0).random((9, 6, 7)) < 0.5
    text = pad(x.shape, padding, "i1")
    assert is_shared(text) == shared
    np.testing.assert_array_equal(xhlo.compile(text)(x), np.pad(x, padding, constant_values=True))


def test_tasks_that_begin_below_the_source() -> None:
    """In guard mode memory holds a pattern before, so that what is not written shows."""
    shape, padding = (40, 150, 29), [(1, 2), (0, 157), (3, 4)]
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    found = xhlo.compile(pad(shape, padding), guard=True)(x)
    np.testing.assert_array_equal(found, np.pad(x, padding, constant_values=7))


def test_what_is_fused_into_a_pad_is_kept() -> None:
    x = np.arange(16, dtype=np.float32).reshape(4, 4)
    for before, read in (
        ("%y = hlo.reverse %x, dims = [1] : tensor<4x4xf32>", x[:, ::-1]),
        ("%y = hlo.transpose %x, dims = [1, 0] : (tensor<4x4xf32>) -> tensor<4x4xf32>", x.T),
        ("%y = hlo.abs %x : tensor<4x4xf32>", x),
    ):
        text = pad((4, 4), [(1, 2), (3, 0)], before=before, source="%y")
        np.testing.assert_array_equal(
            xhlo.compile(text)(x), np.pad(read, [(1, 2), (3, 0)], constant_values=7), err_msg=before
        )


def test_negative_and_interior_padding_stay_loops() -> None:
    cut = pad((4, 5), [(1, 1), (-1, 2)])
    assert not is_shared(cut)
    x = np.arange(20, dtype=np.float32).reshape(4, 5)
    np.testing.assert_array_equal(xhlo.compile(cut)(x), np.pad(x[:, 1:], [(1, 1), (0, 2)], constant_values=7))


BETWEEN: list[tuple[Sequence[int], Sequence[tuple[int, int, int]]]] = [
    ((7,), [(1, 0, 1)]),
    ((5, 3), [(1, 2, 1), (2, 0, 1)]),
    ((2, 3, 4), [(0, 0, 0), (0, 1, 2), (0, 1, 2)]),
    ((4, 5), [(0, 0, 0), (0, 0, 3)]),
    ((150, 90), [(1, 1, 1), (1, 1, 1)]),
]


@pytest.mark.parametrize("element", ["f32", "f64", "i8", "i1", "complex<f32>", "bf16"])
@pytest.mark.parametrize(("shape", "padding"), BETWEEN, ids=str)
def test_padding_between_elements(shape: Sequence[int], padding: Sequence[tuple[int, int, int]], element: str) -> None:
    """The operand is an argument, or computed by the kernel; and the result is read again."""
    low, high, between = ([sides[part] for sides in padding] for part in range(3))
    made_shape = [
        size + start + end + (size - 1) * step for size, (start, end, step) in zip(shape, padding, strict=True)
    ]
    given, made = type_of(shape, element), type_of(made_shape, element)
    value = {"i1": "true", "i8": "7", "complex<f32>": "(7.0, 1.0)"}.get(element, "7.0")
    opposite = "not" if element == "i1" else "negate"
    stated = f"low = {low}, high = {high}, interior = {between} : ({given}, tensor<{element}>) -> {made}"
    text = f"""func.func @main(%x: {given}) -> ({made}, {made}, {made}) {{
      %v = hlo.constant dense<{value}> : tensor<{element}>
      %y = hlo.{opposite} %x : {given}
      %0 = hlo.pad %x, %v, {stated}
      %1 = hlo.pad %y, %v, {stated}
      %2 = hlo.{opposite} %1 : {made}
      return %0, %1, %2 : {made}, {made}, {made}
    }}"""
    dtype = np.dtype(np.complex64) if element == "complex<f32>" else DTYPES[element]
    x = np.random.default_rng(0).integers(0, 100, shape).astype(dtype)
    for found, wanted in zip(on_threads(text, x), Program(text).results(x), strict=True):
        np.testing.assert_array_equal(found, wanted)

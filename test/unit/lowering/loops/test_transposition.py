"""Transposed copies and operands, in blocks that pass through registers, and what is left beside whole blocks."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from cpu_programs import DTYPES, TYPES, TYPICAL, on_threads, run, type_of
from xhlo.targets.cpu import host


def array(shape: tuple[int, ...], element: str) -> np.ndarray:
    numbers = np.random.default_rng(0).integers(0, 2 if element == "i1" else 120, shape)
    return numbers.astype(DTYPES[element])


def transposed(x: np.ndarray, dims: tuple[int, ...]) -> str:
    """A program that transposes an array."""
    given, made = type_of(x), type_of(x.transpose(dims))
    return f"""func.func @main(%x: {given}) -> {made} {{
      %0 = stablehlo.transpose %x, dims = {list(dims)} : ({given}) -> {made}
      return %0 : {made} }}"""


@pytest.mark.long(12)
@pytest.mark.parametrize("element", TYPES)
@pytest.mark.sample(element=TYPICAL)
@pytest.mark.parametrize("shape", [(64, 64), (72, 96), (8, 200), (200, 8), (33, 9), (7, 100), (65, 129)])
def test_matrices(element: str, shape: tuple[int, ...]) -> None:
    x = array(shape, element)
    (found,) = run(transposed(x, (1, 0)), [x])
    np.testing.assert_array_equal(found, x.T)


@pytest.mark.parametrize("dims", [p for n in (3, 4) for p in itertools.permutations(range(n)) if p != tuple(range(n))])
@pytest.mark.sample(4)
def test_permutations(dims: tuple[int, ...]) -> None:
    x = array((9, 20, 17, 3)[: len(dims)], "f32")
    (found,) = run(transposed(x, dims), [x])
    np.testing.assert_array_equal(found, x.transpose(dims))


@pytest.mark.parametrize("times", [2, 3, 8])
@pytest.mark.parametrize("shape", [(64, 64), (9, 100), (131, 70), (300, 517)])
def test_repeated_elements(shape: tuple[int, int], times: int) -> None:
    """Rows of a transposed matrix, each of whose elements is written several times, as it is and negated."""
    x = array(shape, "f32")
    given, made = type_of(x), type_of(np.zeros((*shape[::-1], times), x.dtype))
    text = f"""func.func @main(%x: {given}) -> ({made}, {made}) {{
      %0 = stablehlo.broadcast_in_dim %x, dims = [1, 0] : ({given}) -> {made}
      %1 = stablehlo.negate %x : {given}
      %2 = stablehlo.broadcast_in_dim %1, dims = [1, 0] : ({given}) -> {made}
      return %0, %2 : {made}, {made} }}"""
    found, negative = run(text, [x])
    np.testing.assert_array_equal(found, np.repeat(x.T[..., None], times, 2))
    np.testing.assert_array_equal(negative, -found)


@pytest.mark.long(12)
@pytest.mark.parametrize("element", ["i8", "f32", "f64"])
@pytest.mark.parametrize("channels", [2, 3, 5, 8, 9])
def test_pixels(element: str, channels: int) -> None:
    """Rows of few elements, read backward and written twice, beside whole vectors and alone."""
    for places in (9, 70, 131):
        x = array((places, channels), element)
        given, made = type_of(x), type_of(np.zeros((places, 2, channels), x.dtype))
        text = f"""func.func @main(%x: {given}) -> ({given}, {made}) {{
          %0 = stablehlo.reverse %x, dims = [0] : {given}
          %1 = stablehlo.broadcast_in_dim %x, dims = [0, 2] : ({given}) -> {made}
          return %0, %1 : {given}, {made} }}"""
        backward, twice = run(text, [x])
        np.testing.assert_array_equal(backward, x[::-1])
        np.testing.assert_array_equal(twice, np.repeat(x[:, None], 2, 1))


@pytest.mark.long(9)
@pytest.mark.parametrize("vector_bits", [256, 128])
@pytest.mark.parametrize("element", ["i8", "i16", "f32", "f64"])
def test_shorter_vectors(vector_bits: int, element: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "host_vector_bits", lambda: vector_bits)
    for shape in ((72, 96, 1), (33, 41, 2), (9, 70, 3)):
        x = array(shape, element)
        (found,) = run(transposed(x, (1, 0, 2)), [x])
        np.testing.assert_array_equal(found, x.transpose(1, 0, 2))


@pytest.mark.long(3)
@pytest.mark.parametrize("size", [2, 3, 4, 8, 16])
@pytest.mark.parametrize("element", ["i8", "f32"])
def test_neighbours_that_stay_together(size: int, element: str) -> None:
    x = array((40, 35, size), element)
    (found,) = run(transposed(x, (1, 0, 2)), [x])
    np.testing.assert_array_equal(found, x.transpose(1, 0, 2))


@pytest.mark.long(10)
@pytest.mark.parametrize("vector_bits", [512, 256, 128])
@pytest.mark.parametrize("shape", [(2048, 1056), (1031, 2052)])
def test_results_beyond_caches(shape: tuple[int, int], vector_bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of whole lines are written past the caches, others are not; also where the source begins within a line."""
    monkeypatch.setattr(host, "host_vector_bits", lambda: vector_bits)
    memory = np.arange(math.prod(shape) + 4, dtype=np.float32)
    for x in (memory[:-4].reshape(shape), memory[4:].reshape(shape)):
        (found,) = on_threads(transposed(x, (1, 0)), x)
        np.testing.assert_array_equal(found, x.T)


@pytest.mark.long
@pytest.mark.parametrize("element, shape", [("i8", (4096, 2056)), ("f64", (1024, 1030)), ("f32", (1040, 1025, 2))])
def test_halves_of_lines_beyond_caches(element: str, shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Where two vectors are a line, also of bytes, long elements and pairs."""
    monkeypatch.setattr(host, "host_vector_bits", lambda: 256)
    x, dims = array(shape, element), (1, 0, *range(2, len(shape)))
    (found,) = on_threads(transposed(x, dims), x)
    np.testing.assert_array_equal(found, x.transpose(dims))


@pytest.mark.long(5)
@pytest.mark.parametrize("element", ["i8", "f16", "f32", "f64"])
@pytest.mark.parametrize("shape", [(64, 128), (9, 70), (130, 77)])
def test_transposed_operands(element: str, shape: tuple[int, int]) -> None:
    x, y = array(shape, element), array(shape[::-1], element)
    given, other = type_of(x), type_of(y)
    text = f"""func.func @main(%x: {given}, %y: {other}) -> {other} {{
      %0 = stablehlo.transpose %x, dims = [1, 0] : ({given}) -> {other}
      %1 = stablehlo.add %0, %y : {other}
      return %1 : {other} }}"""
    (found,) = run(text, [x, y])
    np.testing.assert_array_equal(found, x.T + y)


@pytest.mark.long(9)
@pytest.mark.parametrize("channels", [2, 3, 5, 8])
@pytest.mark.parametrize("element", ["ui8", "f32"])
def test_images(channels: int, element: str) -> None:
    """Few channels are interleaved: to and from the last place."""
    x = array((2, channels, 9, 11), element)
    (last,) = run(transposed(x, (0, 2, 3, 1)), [x])
    np.testing.assert_array_equal(last, x.transpose(0, 2, 3, 1))
    (first,) = run(transposed(last, (0, 3, 1, 2)), [last])
    np.testing.assert_array_equal(first, x)


@pytest.mark.long(4)
@pytest.mark.parametrize("widths", [(1, 1), (1, 1, 1), (3, 4), (2, 1, 5), (4, 9)])
@pytest.mark.parametrize("element", ["i1", "ui8", "f32"])
def test_narrow_concatenations(widths: tuple[int, ...], element: str) -> None:
    """Narrow matrices side by side, written by one loop."""
    parts = [array((301, width), element) for width in widths]
    joined = type_of(np.concatenate(parts, 1))
    names = [f"%x{number}" for number in range(len(parts))]
    types = [type_of(part) for part in parts]
    parameters = ", ".join(f"{name}: {each}" for name, each in zip(names, types, strict=True))
    text = f"""func.func @main({parameters}) -> {joined} {{
      %0 = stablehlo.concatenate {", ".join(names)}, dim = 1 : ({", ".join(types)}) -> {joined}
      return %0 : {joined} }}"""
    (found,) = run(text, parts)
    np.testing.assert_array_equal(found, np.concatenate(parts, 1))


@pytest.mark.parametrize("part", ["f32", "f64"])
def test_moved_pairs(part: str) -> None:
    """Complex numbers that are only moved stay pairs."""
    x = array((40, 35), part)
    z = np.stack([x, x[::-1]], -1).view(np.complex64 if part == "f32" else np.complex128)[..., 0]
    element = f"complex<{part}>"
    text = f"""func.func @main(%z: tensor<40x35x{element}>) -> tensor<70x3x39x{element}> {{
      %0 = stablehlo.transpose %z, dims = [1, 0] : (tensor<40x35x{element}>) -> tensor<35x40x{element}>
      %1 = stablehlo.reverse %0, dims = [0] : tensor<35x40x{element}>
      %2 = stablehlo.concatenate %0, %1, dim = 0
        : (tensor<35x40x{element}>, tensor<35x40x{element}>) -> tensor<70x40x{element}>
      %3 = stablehlo.slice %2 [0:70, 1:40] : (tensor<70x40x{element}>) -> tensor<70x39x{element}>
      %4 = stablehlo.broadcast_in_dim %3, dims = [0, 2] : (tensor<70x39x{element}>) -> tensor<70x3x39x{element}>
      return %4 : tensor<70x3x39x{element}> }}"""
    (found,) = run(text, [z])
    both = np.concatenate([z.T, z.T[::-1]])[:, 1:]
    np.testing.assert_array_equal(found, np.broadcast_to(both[:, None], (70, 3, 39)))

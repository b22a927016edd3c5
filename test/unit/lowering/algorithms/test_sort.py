"""sort: the reference against Python's sorted, the CPU against the reference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from cpu_programs import DTYPES, FLOATS, TARGETS, TYPES, Batch, edges, random_values, run, type_of
from xhlo.hlo_dialect.diagnostics import DiagnosticError
from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.ops.sort import sort_key, sort_keys
from xhlo.hlo_dialect.reading import parse_module


def element_of(array: Any) -> str:
    return next(name for name, dtype in DTYPES.items() if dtype == array.dtype)


def sort_text(arrays: Sequence[Any], dim: int, body: str) -> str:
    """A sort whose `body` computes %p from %a0, %b0, %a1, .."""
    elements = [element_of(array) for array in arrays]
    arguments = ", ".join(f"%{s}{i}: tensor<{e}>" for i, e in enumerate(elements) for s in "ab")
    operands = ", ".join(f"${i}" for i in range(len(arrays)))
    types = ", ".join(type_of(array) for array in arrays)
    return f""""hlo.sort"({operands}) <{{dimension = {dim} : i64, is_stable = true}}> ({{
    ^bb0({arguments}):
      {body}
      hlo.return %p : tensor<i1>
    }}) : ({types}) -> {types if len(arrays) == 1 else f"({types})"}"""


def compare(element: str, direction: str = "LT", first: str = "%a0", second: str = "%b0", kind: str = "") -> str:
    return (
        f"%p = hlo.compare {direction}, {first}, {second}{kind} : (tensor<{element}>, tensor<{element}>) -> tensor<i1>"
    )


def check_all(cases: Sequence[tuple[Sequence[Any], int, str]]) -> None:
    batch = Batch()
    for arrays, dim, body in cases:
        batch.add(sort_text(arrays, dim, body), *(type_of(array) for array in arrays), operands=arrays)
    batch.check()


@pytest.mark.long(3)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("length", [1, 2, 7, 8, 9, 127, 128, 300])
def test_stable_by_key(target: str, length: int) -> None:
    """Equal keys keep their order, in both directions and with exchanged operands."""
    rng = np.random.default_rng(length)
    keys, places = rng.integers(-5, 5, length).astype(np.int32), np.arange(length, dtype=np.int32)
    orders = (("LT", "ab", 1), ("GT", "ab", -1), ("LT", "ba", -1), ("GT", "ba", 1))
    batch = Batch()
    for direction, sides, _ in orders:
        body = compare("i32", direction, *(f"%{side}0" for side in sides))
        batch.add(sort_text([keys, places], 0, body), type_of(keys), type_of(places), operands=[keys, places])
    got = run(batch.text(), list(batch.inputs.values()), target)
    for (_, _, sign), sorted_keys, sorted_places in zip(orders, got[::2], got[1::2], strict=True):
        order = sorted(range(length), key=lambda i, sign=sign: sign * int(keys[i]))
        np.testing.assert_array_equal(sorted_keys, keys[order])
        np.testing.assert_array_equal(sorted_places, places[order])


LEXICOGRAPHIC = """%0 = hlo.compare LT, %a0, %b0 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %1 = hlo.compare EQ, %a0, %b0 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %2 = hlo.compare GT, %a1, %b1 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %3 = hlo.and %1, %2 : tensor<i1>
      %p = hlo.or %0, %3 : tensor<i1>"""


@pytest.mark.long(5)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("length", [2, 8, 9, 17, 64, 130])
def test_stable_by_comparator(target: str, length: int) -> None:
    rng = np.random.default_rng(length)
    first = rng.integers(0, 3, (2, length)).astype(np.int32)
    second = rng.integers(0, 3, (2, length)).astype(np.float32)
    places = np.resize(np.arange(length, dtype=np.int16), (2, length))
    arrays = [first, second, places]
    batch = Batch()
    batch.add(sort_text(arrays, 1, LEXICOGRAPHIC), *map(type_of, arrays), operands=arrays)
    got = run(batch.text(), arrays, target)
    for row in range(2):
        order = sorted(range(length), key=lambda i, row=row: (int(first[row, i]), -float(second[row, i])))
        for result, array in zip(got, arrays, strict=True):
            np.testing.assert_array_equal(result[row], array[row][order])


@pytest.mark.long
def test_every_type_and_dimension() -> None:
    """Edges of every type, by value and by total order; along the last, the first and a middle dimension."""
    cases: list[tuple[Sequence[Any], int, str]] = []
    for type_ in TYPES:
        values = np.concatenate([edges(type_), random_values(type_, 30)])
        dims = (0, 1, 2, -1) if type_ == "f32" else (0, 1, 2)  # -1 is 2
        if type_ in FLOATS:
            bits = np.concatenate([values, -values])
            cases.append(([bits], 0, compare(type_, "LT", kind=", TOTALORDER")))
            values = values[~np.isnan(values)]
        place = np.arange(len(values), dtype=np.int32)
        cases.append(([values, place], 0, compare(type_)))
        cube = np.resize(values, (3, 11, 4))
        cases += [([cube], dim, compare(type_, "GT")) for dim in dims]
    check_all(cases)


@pytest.mark.long(10)
@pytest.mark.sample(turn=[0])
@pytest.mark.parametrize("turn", range(2))
@pytest.mark.parametrize("shape", [(300, 3), (2, 300, 3), (3, 300), (1, 200), (600,), (0, 5), (5, 0), (1,), (7, 1)])
def test_shapes(shape: tuple[int, ...], turn: int) -> None:
    """Long rows and columns, by radix and by merging; empty tensors. In a turn each dimension has every second type."""
    x = np.random.default_rng(0).integers(-50, 50, shape).astype(np.int32)
    cases: list[tuple[Sequence[Any], int, str]] = []
    for number, type_ in enumerate(("i32", "i8", "i16", "i64", "f32", "f64")):
        values = x.astype(DTYPES[type_])
        cases += [([values], dim, compare(type_)) for dim in range(len(shape)) if (number + dim) % 2 == turn]
    pair = [x, x[::-1].astype(np.float32)]
    cases += [(pair, dim, LEXICOGRAPHIC) for dim in range(len(shape))]
    check_all(cases)


CONTRADICTIONS: dict[str, str] = {
    "never": "%p = hlo.constant dense<false> : tensor<i1>",
    "always": "%p = hlo.constant dense<true> : tensor<i1>",
    "or_equal": compare("f32", "LE"),
    "unequal": compare("f32", "NE"),
}


@pytest.mark.parametrize("kind", CONTRADICTIONS)
@pytest.mark.parametrize("target", TARGETS)
def test_a_comparator_that_is_no_order_loses_nothing(target: str, kind: str) -> None:
    x = np.random.default_rng(0).integers(0, 9, (3, 50)).astype(np.float32)
    batch = Batch()
    batch.add(sort_text([x], 1, CONTRADICTIONS[kind]), type_of(x), operands=[x])
    (got,) = run(batch.text(), [x], target)
    np.testing.assert_array_equal(np.sort(got), np.sort(x))
    if kind == "never":
        np.testing.assert_array_equal(got, x)


def test_nan_by_value_is_somewhere() -> None:
    """With NaN, LT is not an order on floats; both targets put NaN at an end, and keep every element."""
    x = np.array([3, np.nan, -1, 0.0, -0.0, np.inf, -np.inf, np.nan, 2], np.float32)
    check_all([([x], 0, compare("f32")), ([x], 0, compare("f32", "GT"))])


KEYS: dict[str, tuple[str, bool]] = {
    "negated": (
        "%x = hlo.negate %a0 : tensor<f32>\n%y = hlo.negate %b0 : tensor<f32>\n" + compare("f32", "LT", "%x", "%y"),
        True,
    ),
    "one side only": ("%x = hlo.negate %a0 : tensor<f32>\n" + compare("f32", "LT", "%x", "%b0"), False),
    "equal": (compare("f32", "EQ"), False),
}


@pytest.mark.parametrize("name", KEYS)
def test_sort_key(name: str) -> None:
    """A sort key is found if both sides of the comparison are the same function."""
    body, found = KEYS[name]
    x = np.zeros(4, np.float32)
    text = sort_text([x], 0, body).replace("$0", "%x0")
    module = parse_module(
        f"func.func @main(%x0: tensor<4xf32>) -> tensor<4xf32> {{ %0 = {text}\n return %0 : tensor<4xf32> }}",
        "test.mlir",
        make_context(),
    )
    op = next(op for op in module.walk() if op.name == "hlo.sort")
    assert (sort_key(op.regions[0]) is not None) == found
    if found:
        check_all([([np.arange(9, dtype=np.float32) % 4], 0, body)])


def lexicographic(types: Sequence[str], directions: Sequence[str], kind: str = "TOTALORDER") -> str:
    """Compare the first keys, where they are equal the second ones, and so on."""
    lines: list[str] = []
    for k, (type_, direction) in enumerate(zip(types, directions, strict=True)):
        stated = f", {kind}" if type_ in FLOATS else ""
        for name, how in (("less", direction), ("same", "EQ")):
            pair = f"(tensor<{type_}>, tensor<{type_}>) -> tensor<i1>"
            lines.append(f"%{name}{k} = hlo.compare {how}, %a{k}, %b{k}{stated} : {pair}")
    last = f"%less{len(types) - 1}"
    for k in reversed(range(len(types) - 1)):
        lines += [f"%and{k} = hlo.and %same{k}, {last} : tensor<i1>", f"%or{k} = hlo.or %less{k}, %and{k} : tensor<i1>"]
        last = f"%or{k}"
    return "\n".join(lines).replace(f"{last} =", "%p =")


@pytest.mark.long(3)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("types", ["i32 f32", "f32 i8 ui16", "i64 f32", "bf16 i1", "f64 i32 i16"], ids=str.split)
def test_several_keys(target: str, types: str) -> None:
    """Keys that fit into 64 bits are one; the last array is no key."""
    names, rng = types.split(), np.random.default_rng(0)
    directions = ["LT", "GT", "LT"][: len(names)]
    for length in (9, 150, 400):
        keys = [rng.integers(0, 2 if name == "i1" else 4, length).astype(DTYPES[name]) for name in names]
        for name, key in zip(names, keys, strict=True):
            if name in FLOATS:
                key[::7], key[1::7], key[2::7] = np.nan, -0.0, np.inf
        arrays = [*keys, np.arange(length, dtype=np.int32)]
        text = sort_text(arrays, 0, lexicographic(names, directions))
        batch = Batch()
        batch.add(text, *map(type_of, arrays), operands=arrays)
        got = run(batch.text(), list(batch.inputs.values()), target)
        signs = [1 if direction == "LT" else -1 for direction in directions]

        def order(place: int, keys: Any = keys, signs: Any = signs) -> Any:
            # Here NaN has no sign, and is above all; -0 is below +0.
            numbers = [float(key[place]) for key in keys]
            ranks = [(x != x, 0 if x != x else x, 0 if x != x else not np.signbit(x)) for x in numbers]
            return tuple(tuple(sign * part for part in rank) for sign, rank in zip(signs, ranks, strict=True))

        np.testing.assert_array_equal(got[-1], sorted(range(length), key=order))


@pytest.mark.parametrize(
    "body, count",
    [
        (lexicographic(["i32", "f32"], ["LT", "GT"]), 2),
        (lexicographic(["i32", "f32"], ["LT", "GT"], "FLOAT"), 0),
        (lexicographic(["i32", "f32"], ["LT", "LT"]).replace("EQ, %a0, %b0", "EQ, %a0, %a0"), 0),
        (lexicographic(["i32", "f32"], ["LT", "LT"]).replace("hlo.or", "hlo.and"), 0),
    ],
)
def test_sort_keys(body: str, count: int) -> None:
    arrays = [np.zeros(4, np.int32), np.zeros(4, np.float32)]
    text = sort_text(arrays, 0, body).replace("$", "%x")
    types = ", ".join(map(type_of, arrays))
    parameters = ", ".join(f"%x{k}: {type_of(array)}" for k, array in enumerate(arrays))
    module = parse_module(
        f"func.func @main({parameters}) -> ({types}) {{ %0:2 = {text}\n return %0#0, %0#1 : {types} }}",
        "test.mlir",
        make_context(),
    )
    op = next(op for op in module.walk() if op.name == "hlo.sort")
    assert len(sort_keys(op.regions[0])) == count


@pytest.mark.parametrize("target", TARGETS)
def test_complex_by_real_part(target: str) -> None:
    z = (np.array([3, 1, 2, 1]) + 1j * np.arange(4)).astype(np.complex64)
    text = """func.func @main(%z: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
      %0 = "hlo.sort"(%z) <{dimension = 0 : i64}> ({
      ^bb0(%a: tensor<complex<f32>>, %b: tensor<complex<f32>>):
        %x = hlo.real %a : (tensor<complex<f32>>) -> tensor<f32>
        %y = hlo.real %b : (tensor<complex<f32>>) -> tensor<f32>
        %p = hlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
        hlo.return %p : tensor<i1>
      }) : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
      return %0 : tensor<4xcomplex<f32>>
    }"""
    np.testing.assert_array_equal(run(text, [z], target)[0], z[[1, 3, 2, 0]])


def test_constants_of_the_program_in_a_comparator() -> None:
    """A comparator that uses a scalar of the program, as common-subexpression elimination leaves it."""
    x = np.random.default_rng(0).standard_normal(40).astype(np.float32)
    text = """func.func @main(%x: tensor<40xf32>) -> (tensor<40xf32>, tensor<f32>) {
      %c = hlo.constant dense<0.0> : tensor<f32>
      %0 = "hlo.sort"(%x) <{dimension = 0 : i64}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %z = hlo.constant dense<0.0> : tensor<f32>
        %u = hlo.maximum %a, %z : tensor<f32>
        %v = hlo.maximum %b, %c : tensor<f32>
        %p = hlo.compare LT, %u, %v : (tensor<f32>, tensor<f32>) -> tensor<i1>
        hlo.return %p : tensor<i1>
      }) : (tensor<40xf32>) -> tensor<40xf32>
      %1 = hlo.reduce(%0 init: %c) applies hlo.add across dimensions = [0] : (tensor<40xf32>, tensor<f32>) -> tensor<f32>
      return %0, %1 : tensor<40xf32>, tensor<f32>
    }"""
    got, want = run(text, [x]), run(text, [x], "reference")
    np.testing.assert_array_equal(got[0], want[0])


def test_a_value_of_the_program_in_a_comparator_is_refused() -> None:
    text = """func.func @main(%x: tensor<40xf32>, %t: tensor<f32>) -> tensor<40xf32> {
      %0 = "hlo.sort"(%x) <{dimension = 0 : i64}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %u = hlo.maximum %a, %t : tensor<f32>
        %p = hlo.compare LT, %u, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
        hlo.return %p : tensor<i1>
      }) : (tensor<40xf32>) -> tensor<40xf32>
      return %0 : tensor<40xf32>
    }"""
    with pytest.raises(DiagnosticError, match="uses a value from outside"):
        run(text, [np.zeros(40, np.float32), np.zeros((), np.float32)])

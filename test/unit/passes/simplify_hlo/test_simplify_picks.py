"""Gathers and scatters of single elements, rewritten: the same bits, for indices outside of their rows too."""

from __future__ import annotations

import numpy as np
import pytest

import xhlo
from hlo_programs import Program

GATHERS = [
    # dimension numbers, the shapes of operand, indices, slices and result
    ("collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1", (6, 40), (6, 2), (1, 1), (6,)),
    ("collapsed_slice_dims = [0, 1], start_index_map = [1, 0], index_vector_dim = 0", (6, 40), (2, 6), (1, 1), (6,)),
    (
        "collapsed_slice_dims = [2], operand_batching_dims = [0, 1], start_indices_batching_dims = [1, 0], "
        "start_index_map = [2], index_vector_dim = 2", (3, 4, 50), (4, 3, 1), (1, 1, 1), (4, 3),
    ),
]  # fmt: skip


def tensor(shape: tuple[int, ...], element: str) -> str:
    return f"tensor<{''.join(f'{n}x' for n in shape)}{element}>"


@pytest.mark.parametrize("counting", [False, True])
@pytest.mark.parametrize(("numbers", "shape", "indices", "sizes", "result"), GATHERS)
def test_picked_elements(
    numbers: str,
    shape: tuple[int, ...],
    indices: tuple[int, ...],
    sizes: tuple[int, ...],
    result: tuple[int, ...],
    counting: bool,
) -> None:
    """From a sum of the operand and a value for each row, at random indices or with one component that counts."""
    vector_dim = int(numbers[-1])
    one = tuple(1 if dim == vector_dim else size for dim, size in enumerate(indices))
    counted = next(dim for dim in range(len(indices)) if dim != vector_dim)
    i, x = tensor(indices, "i32"), tensor(shape, "f32")
    joined = "%i"
    lines: list[str] = []
    if counting and indices[vector_dim] == 2:
        lines.append(f"%first = hlo.iota dim = {counted} : {tensor(one, 'i32')}")
        limits = [1 if dim == vector_dim else size for dim, size in enumerate(indices)]
        part = ", ".join(f"0:{limit}" for limit in limits)
        lines.append(f"%second = hlo.slice %i [{part}] : ({i}) -> {tensor(one, 'i32')}")
        types = f"({tensor(one, 'i32')}, {tensor(one, 'i32')}) -> {i}"
        order = "%first, %second" if numbers.find("[0, 1], index") > 0 else "%second, %first"
        lines.append(f"%joined = hlo.concatenate {order}, dim = {vector_dim} : {types}")
        joined = "%joined"
    rows = tensor(shape[:1], "f32")
    slices = ", ".join(map(str, sizes))
    text = f"""
    func.func @main(%x: {x}, %r: {rows}, %i: {i}) -> {tensor(result, "f32")} {{
      {" ".join(f"{line}" + chr(10) for line in lines)}
      %0 = hlo.broadcast_in_dim %r, dims = [0] : ({rows}) -> {x}
      %1 = hlo.subtract %x, %0 : {x}
      %2 = "hlo.gather"(%1, {joined}) <{{dimension_numbers = #hlo.gather<{numbers}>,
          slice_sizes = array<i64: {slices}>}}> : ({x}, {i}) -> {tensor(result, "f32")}
      return %2 : {tensor(result, "f32")}
    }}"""
    random = np.random.default_rng(0)
    program = Program(text).after("simplify-hlo")
    (computed,) = (line for line in str(program.module).splitlines() if "hlo.subtract" in line)
    assert computed.endswith(tensor(result, "f32"))
    program.same_bits(
        random.standard_normal(shape).astype(np.float32),
        random.standard_normal(shape[:1]).astype(np.float32),
        random.integers(-20, 60, indices).astype(np.int32),
    )


@pytest.mark.parametrize("element", ["f32", "i32"])
@pytest.mark.parametrize("combiner", ["add", "subtract", "maximum", ""])
@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("counting", [False, True])
def test_one_update_a_row(element: str, combiner: str, swapped: bool, counting: bool) -> None:
    start = "-0.0" if element == "f32" else "3"
    numbers = (
        "inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1"
        if counting
        else "inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], "
        "scatter_dims_to_operand_dims = [1], index_vector_dim = 1"
    )
    order = "%b, %a" if swapped else "%a, %b"
    body = f"%c = hlo.{combiner} {order} : tensor<{element}>\n hlo.return %c" if combiner else "hlo.return %b"
    indices = (
        "%rows = hlo.iota dim = 0 : tensor<9x1xi32>\n"
        "%at = hlo.concatenate %rows, %i, dim = 1 : (tensor<9x1xi32>, tensor<9x1xi32>) -> tensor<9x2xi32>"
    )
    count = 2 if counting else 1
    text = f"""
    func.func @main(%i: tensor<9x1xi32>, %u: tensor<9x{element}>) -> tensor<9x7x{element}> {{
      %base = hlo.constant dense<{start}> : tensor<9x7x{element}>
      {indices if counting else ""}
      %0 = "hlo.scatter"(%base, {"%at" if counting else "%i"}, %u)
          <{{scatter_dimension_numbers = #hlo.scatter<{numbers}>}}> ({{
      ^bb0(%a: tensor<{element}>, %b: tensor<{element}>):
        {body} : tensor<{element}>
      }}) : (tensor<9x7x{element}>, tensor<9x{count}xi32>, tensor<9x{element}>) -> tensor<9x7x{element}>
      return %0 : tensor<9x7x{element}>
    }}"""
    random = np.random.default_rng(1)
    program = Program(text).after("simplify-hlo")
    assert "hlo.scatter" not in str(program.module)
    values = random.integers(-2, 3, 9).astype(np.dtype(np.float32 if element == "f32" else np.int32))
    program.same_bits(np.array([[0], [6], [7], [-1], [3], [3], [100], [-100], [5]], np.int32), values)


@pytest.mark.parametrize("direction", ["LT", "LE", "GT", "GE", "EQ", "NE"])
@pytest.mark.parametrize("bound", [-1, 0, 1, 4, 5, 6])
def test_comparisons_of_indices(direction: str, bound: int) -> None:
    Program(f"""
    func.func @main() -> tensor<5x3xi1> {{
      %0 = hlo.iota dim = 0 : tensor<5xi8>
      %1 = hlo.broadcast_in_dim %0, dims = [0] : (tensor<5xi8>) -> tensor<5x3xi8>
      %2 = hlo.constant dense<{bound}> : tensor<5x3xi8>
      %3 = hlo.compare {direction}, %1, %2 : (tensor<5x3xi8>, tensor<5x3xi8>) -> tensor<5x3xi1>
      return %3 : tensor<5x3xi1>
    }}""").after("simplify-hlo").same_bits()


def test_comparisons_of_no_indices() -> None:
    text = """
func.func @main() -> tensor<2x0xi1> {
  %i = stablehlo.iota dim = 0 : tensor<2x0xi32>
  %c = stablehlo.constant dense<0> : tensor<2x0xi32>
  %0 = stablehlo.compare LT, %i, %c : (tensor<2x0xi32>, tensor<2x0xi32>) -> tensor<2x0xi1>
  return %0 : tensor<2x0xi1>
}
"""
    assert xhlo.compile(text)().shape == (2, 0)


FLAT = [
    # dimension numbers, the shapes of operand, components, slices and result; whether indices become one
    ("collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1", (6, 40), (9, 1), (1, 1), (9,), True),
    ("collapsed_slice_dims = [0, 1], start_index_map = [1, 0], index_vector_dim = 0", (6, 40), (1, 9), (1, 1), (9,), True),
    ("offset_dims = [1, 3], collapsed_slice_dims = [1, 2], start_index_map = [1, 2], index_vector_dim = 2",
     (5, 4, 3, 7), (8, 2, 1), (3, 1, 1, 7), (8, 3, 2, 7), True),
    ("offset_dims = [1], collapsed_slice_dims = [0, 2], start_index_map = [0, 2], index_vector_dim = 1",
     (4, 5, 6), (8, 1), (1, 5, 1), (8, 5), False),
    ("offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0, 1], index_vector_dim = 1",
     (4, 5), (8, 1), (1, 2), (8, 2), False),
]  # fmt: skip


@pytest.mark.parametrize("element", ["i32", "ui8", "i64"])
@pytest.mark.parametrize(("numbers", "shape", "part", "sizes", "result", "flat"), FLAT)
def test_indices_of_neighbouring_dimensions(
    numbers: str,
    shape: tuple[int, ...],
    part: tuple[int, ...],
    sizes: tuple[int, ...],
    result: tuple[int, ...],
    flat: bool,
    element: str,
) -> None:
    """`x[i, j]` reads at one index of both dimensions, each component clamped by itself."""
    vector_dim = int(numbers[-1])
    joined = tensor(tuple(2 if dim == vector_dim else size for dim, size in enumerate(part)), element)
    x, i, out = tensor(shape, "f32"), tensor(part, element), tensor(result, "f32")
    text = f"""
    func.func @main(%x: {x}, %i: {i}, %j: {i}) -> {out} {{
      %0 = hlo.concatenate %i, %j, dim = {vector_dim} : ({i}, {i}) -> {joined}
      %1 = "hlo.gather"(%x, %0) <{{dimension_numbers = #hlo.gather<{numbers}>,
          slice_sizes = array<i64: {", ".join(map(str, sizes))}>}}> : ({x}, {joined}) -> {out}
      return %1 : {out}
    }}"""
    random = np.random.default_rng(0)
    program = Program(text).after("simplify-hlo")
    assert ("hlo.concatenate" not in program.count()) == flat
    limits = (0, 250) if element == "ui8" else (-20, 60)
    dtype = {"i32": np.int32, "ui8": np.uint8, "i64": np.int64}[element]
    components = [random.integers(*limits, part).astype(dtype) for _ in range(2)]
    program.same_bits(random.standard_normal(shape).astype(np.float32), *components)


CHAIN = """
func.func @main(%x: tensor<9x6xi16>, %k: tensor<9x1xi16>, %at: tensor<{at}>) -> tensor<{result}> {{
  %i = hlo.iota dim = 0 : tensor<9x6xi16>
  %j = hlo.iota dim = 1 : tensor<9x6xi16>
  %b = hlo.broadcast_in_dim %k, dims = [0, 1] : (tensor<9x1xi16>) -> tensor<9x6xi16>
  %0 = hlo.multiply %i, %x : tensor<9x6xi16>
  %1 = hlo.xor %0, %j : tensor<9x6xi16>
  %2 = hlo.add %1, %b : tensor<9x6xi16>
  %3 = hlo.multiply %2, %0 : tensor<9x6xi16>
  %r = {part} -> tensor<{result}>
  return %r : tensor<{result}>
}}"""

DYNAMIC = "hlo.dynamic_slice %3, %at, %at, sizes = [{sizes}] : (tensor<9x6xi16>, tensor<{at}>, tensor<{at}>)"

GATHER = (
    '"hlo.gather"(%3, %at) <{dimension_numbers = #hlo.gather<offset_dims = [OFFSET], collapsed_slice_dims = [DIM], '
    "start_index_map = [DIM], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: SIZES>}> "
    ": (tensor<9x6xi16>, tensor<2x1xi32>)"
)


@pytest.mark.parametrize("place", [-7, 0, 3, 8, 120])
@pytest.mark.parametrize(
    ("at", "result", "part"),
    [
        ("i8", "2x6xi16", DYNAMIC.format(sizes="2, 6", at="i8")),
        ("ui8", "9x1xi16", DYNAMIC.format(sizes="9, 1", at="ui8")),
        ("2x1xi32", "2x6xi16", GATHER.replace("OFFSET", "1").replace("DIM", "0").replace("SIZES", "1, 6")),
        ("2x1xi32", "9x2xi16", GATHER.replace("OFFSET", "0").replace("DIM", "1").replace("SIZES", "9, 1")),
        ("i8", "3x2xi16", "hlo.slice %3 [1:9:3, 2:4] : (tensor<9x6xi16>)"),
    ],
    ids=["rows", "column", "gathered rows", "gathered columns", "static"],
)
def test_slices_of_chains_keep_all_bits(at: str, result: str, part: str, place: int) -> None:
    """Also where places are outside and slices take the nearest."""
    text = CHAIN.format(at=at, result=result, part=part)
    draw = np.random.default_rng(0)
    x, k = (draw.integers(-(2**15), 2**15, shape).astype(np.int16) for shape in ((9, 6), (9, 1)))
    kinds = {"i8": np.int8, "ui8": np.uint8}
    places = np.array(place % 256, np.uint8).astype(kinds[at]) if at in kinds else np.array([[place], [2]], np.int32)
    program = Program(text).after("simplify-hlo").same_bits(x, k, places)
    assert not any("9x6xi16" in str(op.results[0].type) for op in program.module.walk() if op.name == "hlo.multiply")

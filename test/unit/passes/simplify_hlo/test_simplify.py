"""simplify-hlo keeps every bit of the results, terminates, and is fast."""

from __future__ import annotations

import random

import numpy as np
import pytest

from counting import calls
from hlo_programs import Program
from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.reading import parse_module
from xhlo.hlo_dialect.types import f16, f32, f64, i1, i32, i64
from xhlo.passes.manager.pipelines import build_passes
from xhlo.passes.simplify_hlo.elementwise import is_exact_conversion


def simplified(text: str) -> Program:
    return Program(text).after("simplify-hlo")


EDGES = np.array([0.0, -0.0, 1.0, -1.5, np.inf, -np.inf, np.nan, 1e-45], np.float32)


@pytest.mark.parametrize("number", ["0.0", "-0.0", "1.0", "-1.0", "0x7F800000", "0xFF800000"])
@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide", "maximum", "minimum", "power"])
def test_identities_are_exact(name: str, number: str) -> None:
    text = f"""
func.func @main(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {{
  %c = hlo.constant dense<{number}> : tensor<8xf32>
  %0 = hlo.{name} %x, %c : tensor<8xf32>
  %1 = hlo.{name} %c, %x : tensor<8xf32>
  %2 = hlo.{name} %x, %x : tensor<8xf32>
  return %0, %1, %2 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}}"""
    simplified(text).same_bits(EDGES)


@pytest.mark.parametrize(
    ("source", "target", "exact"),
    [
        (i1, i32, True),
        (i1, f16, True),
        (i32, i64, True),
        (i32, f64, True),
        (i32, f32, False),
        (i64, i32, False),
        (i32, i1, False),
        (f16, f32, True),
        (f32, f16, False),
        (f32, i64, False),
    ],
)
def test_exact_conversions(source, target, exact: bool) -> None:
    assert is_exact_conversion(source, target) == exact


def test_a_broadcast_keeps_its_operand_where_dimensions_were_dropped() -> None:
    text = """
func.func @main(%x: tensor<3x1xf32>) -> tensor<2x3x4xf32> {
  %0 = hlo.reshape %x : (tensor<3x1xf32>) -> tensor<1x3xf32>
  %1 = hlo.broadcast_in_dim %0, dims = [0, 1] : (tensor<1x3xf32>) -> tensor<2x3x4xf32>
  return %1 : tensor<2x3x4xf32>
}"""
    program = simplified(text).same_bits(np.arange(3, dtype=np.float32).reshape(3, 1))
    assert program.count() == {"hlo.broadcast_in_dim": 1}


def test_two_values_of_a_loop_that_go_alike_are_one() -> None:
    text = """
func.func @main(%n: tensor<i32>) -> (tensor<i32>, tensor<i32>) {
  %zero = hlo.constant dense<0> : tensor<i32>
  %one = hlo.constant dense<1> : tensor<i32>
  %0:2 = hlo.while(%i = %zero, %j = %zero) : tensor<i32>, tensor<i32>
    cond {
      %1 = hlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      hlo.return %1 : tensor<i1>
    } do {
      %1 = hlo.add %i, %one : tensor<i32>
      hlo.return %1, %1 : tensor<i32>, tensor<i32>
    }
  return %0#0, %0#1 : tensor<i32>, tensor<i32>
}"""
    program = simplified(text).same_bits(np.asarray(5, np.int32))
    loop = next(op for op in program.module.walk() if op.name == "hlo.while")
    assert len(loop.results) == 1


def test_values_that_a_loop_swaps_stay() -> None:
    text = """
func.func @main(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {
  %zero = hlo.constant dense<0> : tensor<i32>
  %one = hlo.constant dense<1> : tensor<i32>
  %three = hlo.constant dense<3> : tensor<i32>
  %0:3 = hlo.while(%i = %zero, %x = %a, %y = %b) : tensor<i32>, tensor<f32>, tensor<f32>
    cond {
      %1 = hlo.compare LT, %i, %three, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      hlo.return %1 : tensor<i1>
    } do {
      %1 = hlo.add %i, %one : tensor<i32>
      hlo.return %1, %y, %x : tensor<i32>, tensor<f32>, tensor<f32>
    }
  return %0#1 : tensor<f32>
}"""
    simplified(text).same_bits(np.asarray(1.0, np.float32), np.asarray(2.0, np.float32))


def random_movements(rng: random.Random, count: int) -> str:
    """A chain of reshapes, transposes, broadcasts, slices and reverses of a tensor, all results returned."""
    lines: list[str] = []
    shape, value = [2, 1, 3], "%x"

    def text(dims: list[int]) -> str:
        return "x".join([*map(str, dims), "f32"])

    results: list[tuple[str, str]] = []
    for number in range(count):
        kind, old, name = rng.randrange(5), list(shape), f"%n{number}"
        if kind == 0:
            if 1 in shape and rng.random() < 0.5:
                shape.remove(1)
            else:
                shape.insert(rng.randint(0, len(shape)), 1)
            op = f"hlo.reshape {value} : (tensor<{text(old)}>) -> tensor<{text(shape)}>"
        elif kind == 1:
            order = rng.sample(range(len(shape)), len(shape))
            shape = [shape[dim] for dim in order]
            op = f"hlo.transpose {value}, dims = {order} : (tensor<{text(old)}>) -> tensor<{text(shape)}>"
        elif kind == 2 and np.prod(shape) < 200 and len(shape) < 6:
            place = rng.randint(0, len(shape))
            dims = [dim + (dim >= place) for dim in range(len(shape))]
            shape = [rng.randint(1, 3) if size == 1 else size for size in shape]
            shape.insert(place, rng.randint(1, 3))
            op = f"hlo.broadcast_in_dim {value}, dims = {dims} : (tensor<{text(old)}>) -> tensor<{text(shape)}>"
        elif kind == 3:
            starts = [rng.randrange(size) for size in shape]
            limits = [rng.randint(start + 1, size) for start, size in zip(starts, shape, strict=True)]
            steps = [rng.randint(1, 2) for _ in shape]
            shape = [-(-(b - a) // s) for a, b, s in zip(starts, limits, steps, strict=True)]
            cuts = ", ".join(f"{a}:{b}:{s}" for a, b, s in zip(starts, limits, steps, strict=True))
            op = f"hlo.slice {value} [{cuts}] : (tensor<{text(old)}>) -> tensor<{text(shape)}>"
        else:
            dims = sorted(rng.sample(range(len(shape)), min(1, len(shape))))
            op = f"hlo.reverse {value}, dims = {dims} : tensor<{text(shape)}>"
        value = name
        lines.append(f"  {name} = {op}")
        results.append((name, f"tensor<{text(shape)}>"))
    kept = [results[-1], rng.choice(results)]
    types = ", ".join(type_ for _, type_ in kept)
    lines.append(f"  return {', '.join(name for name, _ in kept)} : {types}")
    return f"func.func @main(%x: tensor<2x1x3xf32>) -> ({types}) {{\n" + "\n".join(lines) + "\n}"


@pytest.mark.parametrize("seed", range(60))
def test_random_movements(seed: int) -> None:
    rng = random.Random(seed)
    simplified(random_movements(rng, rng.randint(2, 12))).same_bits(np.arange(6, dtype=np.float32).reshape(2, 1, 3))


def calls_to_simplify(text: str) -> int:
    context = make_context()
    module = parse_module(text, "<test>", context)
    (simplification,) = build_passes("simplify-hlo")
    return calls(lambda: simplification.apply(context, module))


def test_simplification_takes_linear_time() -> None:
    def work(count: int) -> int:
        lines = [
            f"  %n{i} = hlo.{('add', 'multiply')[i % 2]} %{'x' if i == 0 else f'n{i - 1}'}, %c : tensor<8xf32>"
            for i in range(count)
        ]
        text = (
            "func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {\n  %c = hlo.constant dense<2.0> : tensor<8xf32>\n"
            + "\n".join(lines)
            + f"\n  return %n{count - 1} : tensor<8xf32>\n}}"
        )
        return calls_to_simplify(text)

    small, large = work(500), work(2000)
    assert large < 6 * small
    assert large < 350 * 2000, "150 calls an operation"


def test_long_chains_on_indices() -> None:
    """A broadcast of hundreds of operations on indices, of which a rule looks at a few."""
    ops = "\n".join(
        f"%x{i + 1} = hlo.{'xor' if i % 2 else 'multiply'} %x{i}, %x{i // 2} : tensor<4xi32>" for i in range(1000)
    )
    simplified(f"""
func.func @main() -> tensor<3x4xi32> {{
  %x0 = hlo.iota dim = 0 : tensor<4xi32>
  {ops}
  %0 = hlo.broadcast_in_dim %x1000, dims = [1] : (tensor<4xi32>) -> tensor<3x4xi32>
  %1 = hlo.negate %0 : tensor<3x4xi32>
  return %1 : tensor<3x4xi32>
}}""").same_bits()


def test_many_slices_of_a_chain_take_linear_time() -> None:
    """Steps of a loop that Python unrolled: each reads a slice of what all share."""

    def work(count: int) -> int:
        whole = f"tensor<{4 * count}xf32>"
        slices = [f"%{i + 1} = hlo.slice %0 [{i}:{i + 1}] : ({whole}) -> tensor<1xf32>" for i in range(count)]
        names, types = (", ".join(f"%{i + 1}" for i in range(count)), ", ".join(["tensor<1xf32>"] * count))
        lines = "\n".join([f"%0 = hlo.sine %x : {whole}", *slices, f"return {names} : {types}"])
        return calls_to_simplify(f"func.func @main(%x: {whole}) -> ({types}) {{\n{lines}\n}}")

    assert work(800) < 6 * work(200)


@pytest.mark.parametrize(("rows", "columns", "slices"), [(4, 8, 32), (8, 64, 64), (64, 8, 8)])
def test_slices_across_joined_rows_become_few(rows: int, columns: int, slices: int) -> None:
    """Each column of the whole has a piece of each row: many rows and columns are not cut into a slice for each element."""
    row, whole = f"tensor<1x{columns}xf32>", f"tensor<{rows}x{columns}xf32>"
    column = f"tensor<{rows}x1xf32>"
    text = f"""func.func @main({", ".join(f"%x{i}: {row}" for i in range(rows))}) -> {whole} {{
  %w = hlo.concatenate {", ".join(f"%x{i}" for i in range(rows))}, dim = 0 : ({", ".join([row] * rows)}) -> {whole}
  {"".join(f"%{i} = hlo.slice %w [0:{rows}, {columns - 1 - i}:{columns - i}] : ({whole}) -> {column} " for i in range(columns))}
  %r = hlo.concatenate {", ".join(f"%{i}" for i in range(columns))}, dim = 1 : ({", ".join([column] * columns)}) -> {whole}
  return %r : {whole}
}}"""
    program = simplified(text)
    assert program.count()["hlo.slice"] == slices
    program.same_bits(*(np.arange(columns, dtype=np.float32)[None] + i for i in range(rows)))

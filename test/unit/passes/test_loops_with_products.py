"""Loops that are kernels together with the product that all of their steps read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from xdsl.dialects import func
from xdsl.dialects.builtin import MemRefType

import test_column_sums as column_sums
import test_row_views as row_views
import xhlo
from cpu_programs import on_threads
from hlo_programs import Program
from xhlo.dialects.cpu import WRITTEN
from xhlo.hlo_dialect.walking import int_values
from xhlo.lowering.loop_nests.writes import Writes
from xhlo.targets.cpu.target import CPU


def text(steps: int, width: int, units: int, first: str = "") -> str:
    """
    `h = tanh(x[i] w + h u)`, with the products of all x before the loop; `first`: the operation that computes those x.
    """
    p, h, x = f"tensor<{steps}x{units}xf32>", f"tensor<1x{units}xf32>", f"tensor<{steps}x{width}xf32>"
    w, u = f"tensor<{width}x{units}xf32>", f"tensor<{units}x{units}xf32>"
    return f"""func.func @main(%x: {x}, %w: {w}, %u: {u}, %h: {h}) -> ({h}, {p}) {{
  %zero = hlo.constant dense<0> : tensor<i32>
  %zeros = hlo.constant dense<0.0> : {p}
  {f"%rows = {first} : {x}" if first else ""}
  %p = hlo.dot_general {"%rows" if first else "%x"}, %w, contracting_dims = [1] x [0] : ({x}, {w}) -> {p}
  %r:3 = hlo.while(%i = %zero, %a = %h, %all = %zeros) : tensor<i32>, {h}, {p}
  cond {{
    %n = hlo.constant dense<{steps}> : tensor<i32>
    %0 = hlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    hlo.return %0 : tensor<i1>
  }} do {{
    %z = hlo.constant dense<0> : tensor<i32>
    %one = hlo.constant dense<1> : tensor<i32>
    %1 = hlo.dynamic_slice %p, %i, %z, sizes = [1, {units}] : ({p}, tensor<i32>, tensor<i32>) -> {h}
    %2 = hlo.dot_general %a, %u, contracting_dims = [1] x [0] : ({h}, {u}) -> {h}
    %3 = hlo.add %1, %2 : {h}
    %4 = hlo.tanh %3 : {h}
    %5 = hlo.dynamic_update_slice %all, %4, %i, %z : ({p}, {h}, tensor<i32>, tensor<i32>) -> {p}
    %6 = hlo.add %i, %one : tensor<i32>
    hlo.return %6, %4, %5 : tensor<i32>, {h}, {p}
  }}
  func.return %r#1, %r#2 : {h}, {p}
}}"""


def inputs(steps: int, width: int, units: int) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    shapes = ((steps, width), (width, units), (units, units), (1, units))
    return [(rng.standard_normal(shape) / 32).astype(np.float32) for shape in shapes]


def expected(x: np.ndarray, w: np.ndarray, u: np.ndarray, h: np.ndarray) -> list[np.ndarray]:
    found: list[np.ndarray] = []
    for row in x.astype(np.float64) @ w:
        h = np.tanh(row + h @ u)
        found.append(h[0])
    return [found[-1][None], np.stack(found)]


# A product on one thread, on several, and one whose result does not stay in the cache.
CASES = {(20, 24, 32): 0, (70, 60, 130): 0, (2500, 16, 120): 1}


@pytest.mark.long(3)
@pytest.mark.parametrize("case", CASES)
def test_kernels_and_results(case: tuple[int, int, int]) -> None:
    executable = xhlo.compile(text(*case))
    assert [kernel.kind for kernel in executable.kernels].count("dot") == CASES[case]
    arrays = inputs(*case)
    for got, want in zip(executable.compute(arrays, None), expected(*arrays), strict=True):
        np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-6)


def test_bytes_of_the_kernel() -> None:
    """The products stay in the cache: they do not count as bytes that the loop's kernel moves."""
    case = (70, 60, 130)
    (kernel,) = (each for each in xhlo.compile(text(*case)).kernels if each.kind == "while")
    arrays = inputs(*case)
    assert kernel.bytes - sum(x.nbytes for x in (*arrays, *expected(*arrays))) < 100


def test_bytes_of_what_the_product_reads() -> None:
    """The loop's kernel reads the result that another kernel has computed for the product."""
    case = (70, 60, 112)
    kernels = [xhlo.compile(text(*case, first)).kernels for first in ("", "hlo.cosine %x")]
    plain, with_rows = ({kernel.kind: kernel.bytes for kernel in each} for each in kernels)
    assert "dot" not in with_rows
    assert with_rows["while"] == plain["while"]


def test_any_number_of_threads() -> None:
    case = (70, 60, 130)
    on_threads(text(*case), *inputs(*case))


@pytest.mark.long(3)
@pytest.mark.parametrize("options", [{"opt_level": 0}, {"opt_level": 1}, {"opt_level": 3}, {"guard": True}], ids=str)
def test_levels_and_guard(options: dict[str, Any]) -> None:
    case = (20, 24, 32)
    arrays = inputs(*case)
    got = xhlo.compile(text(*case), **options).compute(arrays, None)
    np.testing.assert_allclose(got[1], expected(*arrays)[1], rtol=2e-5, atol=2e-6)


def test_known_code_makes_the_same_kernels() -> None:
    """Functions of products whose code is known are only declared; loops around them become kernels all the same."""
    kinds = [
        [kernel.kind for kernel in xhlo.compile(f"{text(21, 24, 40)}\n// {number}\n").kernels] for number in range(2)
    ]
    assert kinds[0] == kinds[1]
    assert kinds[0].count("while") == 1


PRODUCTS = {
    "blocks, with sums of columns": column_sums.text(column_sums.inputs("packed beforehand in long runs, in parts")),
    "lanes": text(20, 24, 32),
    "rows": row_views.CASES["whole tiles"].text(),
    "small": """func.func @main(%x: tensor<9x7xf32>, %y: tensor<7x11xf32>) -> tensor<9x11xf32> {
      %0 = hlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<9x7xf32>, tensor<7x11xf32>) -> tensor<9x11xf32>
      func.return %0 : tensor<9x11xf32>
    }""",
    "transpose": """func.func @main(%x: tensor<300x500xf32>) -> tensor<500x300xf32> {
      %0 = hlo.transpose %x, dims = [1, 0] : (tensor<300x500xf32>) -> tensor<500x300xf32>
      func.return %0 : tensor<500x300xf32>
    }""",
    "pairs of bf16": """func.func @main(%x: tensor<200x300xbf16>, %y: tensor<300x200xbf16>) -> tensor<200x200xbf16> {
      %0 = hlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<200x300xbf16>, tensor<300x200xbf16>) -> tensor<200x200xbf16>
      func.return %0 : tensor<200x200xbf16>
    }""",
}


@pytest.mark.long(5)
@pytest.mark.parametrize("source", PRODUCTS.values(), ids=PRODUCTS.keys())
def test_what_shared_functions_state_that_they_write(source: str) -> None:
    passes = [
        "convert-contractions-to-vector{bfloat-dots=true}" if each.startswith("convert-contractions") else each
        for each in CPU.passes_to("loops")
    ]
    functions = {
        op.sym_name.data: op for op in Program(source).after(*passes).module.ops if isinstance(op, func.FuncOp)
    }
    stated = {name: op.attributes.pop(WRITTEN) for name, op in functions.items() if WRITTEN in op.attributes}
    assert stated
    writes = Writes(functions)
    for name, numbers in stated.items():
        buffers = [x.index for x in functions[name].body.block.args if isinstance(x.type, MemRefType)]
        found = [number for number in buffers if writes.of(name, number)]
        assert found == list(int_values(numbers)), name


def powers(rows: int, width: int = 128) -> tuple[str, np.ndarray, np.ndarray]:
    """A program that multiplies rows by one matrix 20 times, with both."""
    x, w, one = f"tensor<{rows}x{width}xf32>", f"tensor<{width}x{width}xf32>", "tensor<i32>"
    source = f"""func.func @main(%x: {x}, %w: {w}) -> {x} {{
      %zero = hlo.constant dense<0> : {one}
      %r:2 = hlo.while(%i = %zero, %a = %x) : {one}, {x}
      cond {{
        %n = hlo.constant dense<20> : {one}
        %0 = hlo.compare LT, %i, %n, SIGNED : ({one}, {one}) -> tensor<i1>
        hlo.return %0 : tensor<i1>
      }} do {{
        %1 = hlo.constant dense<1> : {one}
        %2 = hlo.dot_general %a, %w, contracting_dims = [1] x [0] : ({x}, {w}) -> {x}
        %3 = hlo.add %i, %1 : {one}
        hlo.return %3, %2 : {one}, {x}
      }}
      func.return %r#1 : {x}
    }}"""
    rng = np.random.default_rng(0)
    x0, w0 = (rng.standard_normal((n, width)).astype(np.float32) for n in (rows, width))
    return source, x0, (w0 * (2 * width) ** -0.5).astype(np.float32)


@pytest.mark.parametrize("options", [{}, {"opt_level": 1}, {"guard": True}])
def test_packs_what_no_iteration_changes_once(options: dict[str, Any]) -> None:
    source, x, w = powers(40)
    result = xhlo.compile(source, **options)(x, w)
    wanted = x.astype(np.float64) @ np.linalg.matrix_power(w.astype(np.float64), 20)
    np.testing.assert_allclose(result, wanted, rtol=1e-3, atol=1e-5 * np.abs(wanted).max())


def test_profile_of_panels() -> None:
    # A matrix that is packed whatever the size of the caches.
    source, x, w = powers(40, 512)
    profile = xhlo.compile(source, opt_level=1).profile(x, w, runs=1)
    calls = {row.kernel: row.calls for row in profile if row.kind in ("dot", "pack")}
    assert calls == {"dot_0": 20, "dot_0_panels_0": 1}

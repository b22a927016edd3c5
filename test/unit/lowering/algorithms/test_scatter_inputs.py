"""Scatters that compute their indices and updates: the same bits as with both in memory, for any number of threads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import xhlo
from cpu_programs import on_threads, run, type_of
from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.reading import parse_module
from xhlo.targets.cpu.target import CPU
from xhlo.targets.program.lowering import Lowering


@dataclass(frozen=True)
class Case:
    """`body` computes `%i` and `%u` of the arguments `%x0`, `%x1`, ..; the last argument is combined with."""

    body: str
    arguments: tuple[np.ndarray, ...]
    indices: str
    updates: str
    window: str = ""
    inserted: str = "inserted_window_dims = [0], "
    moved: str = "[0]"
    combine: str = "add"

    def text(self, barrier: bool = False) -> str:
        """The program; with a `barrier` the scatter reads both from memory."""
        out = type_of(self.arguments[-1])
        element = out.removesuffix(">").rsplit("x", 1)[-1].removeprefix("tensor<")
        parameters = ", ".join(f"%x{k}: {type_of(x)}" for k, x in enumerate(self.arguments))
        types = f"{self.indices}, {self.updates}"
        apart = f"%a, %b = stablehlo.optimization_barrier %i, %u : {types}" if barrier else ""
        i, u = ("%a", "%b") if barrier else ("%i", "%u")
        return f"""func.func @main({parameters}) -> {out} {{
          {self.body}
          {apart}
          %r = "stablehlo.scatter"(%x{len(self.arguments) - 1}, {i}, {u}) <{{scatter_dimension_numbers =
            #stablehlo.scatter<{self.window}{self.inserted}scatter_dims_to_operand_dims = {self.moved},
            index_vector_dim = 1>}}> ({{
          ^bb0(%p: tensor<{element}>, %q: tensor<{element}>):
            %s = stablehlo.{self.combine} %p, %q : tensor<{element}>
            stablehlo.return %s : tensor<{element}>
          }}) : ({out}, {types}) -> {out}
          return %r : {out}
        }}"""

    def stage(self, name: str) -> str:
        ctx = make_context()
        lowering = Lowering(ctx, parse_module(self.text(), "scatter.mlir", ctx), CPU)
        lowering.to(name)
        return str(lowering.module)


RNG = np.random.default_rng(5)


def normal(*shape: int, type_: Any = np.float32) -> np.ndarray:
    return RNG.standard_normal(shape).astype(type_)


def whole(least: int, most: int, *shape: int, type_: Any = np.int32) -> np.ndarray:
    return RNG.integers(least, most, shape).astype(type_)


BINS = """
  %c = stablehlo.constant dense<8.0> : tensor<NxTYPE>
  %m = stablehlo.multiply %x0, %c : tensor<NxTYPE>
  %f = stablehlo.floor %m : tensor<NxTYPE>
  %k = stablehlo.convert %f : (tensor<NxTYPE>) -> tensor<Nxi32>
  %i = stablehlo.reshape %k : (tensor<Nxi32>) -> tensor<Nx1xi32>"""

ROWS = """
  %g = "stablehlo.gather"(%x0, %x1) <{dimension_numbers = #stablehlo.gather<offset_dims = [1],
    collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, W>}> :
    (tensor<RxWxf32>, tensor<Nx1xi32>) -> tensor<NxWxf32>
  %n = stablehlo.broadcast_in_dim %x2, dims = [0] : (tensor<Nxf32>) -> tensor<NxWxf32>
  %u = stablehlo.multiply %g, %n : tensor<NxWxf32>
  %one = stablehlo.constant dense<1> : tensor<Nxi32>
  %d = stablehlo.subtract %x3, %one : tensor<Nxi32>
  %i = stablehlo.reshape %d : (tensor<Nxi32>) -> tensor<Nx1xi32>"""


def filled(text: str, **names: object) -> str:
    for name, value in names.items():
        text = text.replace(f"{name}x", f"{value}x").replace(f": 1, {name}>", f": 1, {value}>")
        text = text.replace(f"x{name}", f"x{value}")
    return text


def rows(count: int, width: int, table: int, results: int) -> Case:
    arguments = (
        normal(table, width), whole(-1, table + 1, count, 1), normal(count),
        whole(0, results + 3, count), normal(results, width),
    )  # fmt: skip
    window = "update_window_dims = [1], "
    body = filled(ROWS, N=count, W=width, R=table)
    return Case(body, arguments, f"tensor<{count}x1xi32>", f"tensor<{count}x{width}xf32>", window)


def histogram(count: int, type_: str, updates: str, result: np.ndarray, combine: str = "add") -> Case:
    """Some numbers of bins are below zero, or beyond the last one."""
    body = filled(BINS, N=count, TYPE=type_) + updates
    element = "f64" if result.dtype == np.float64 else "i64"
    x = normal(count, type_={"f32": np.float32, "f64": np.float64}[type_])
    return Case(body, (x, result), f"tensor<{count}x1xi32>", f"tensor<{count}x{element}>", combine=combine)


def ones(count: int) -> str:
    return f"\n %u = stablehlo.constant dense<1> : tensor<{count}xi64>"


def squares(count: int) -> str:
    return f"""
  %w = stablehlo.convert %x0 : (tensor<{count}xf32>) -> tensor<{count}xf64>
  %u = stablehlo.exponential %w : tensor<{count}xf64>"""


PAIRS = """
  %c = stablehlo.constant dense<3> : tensor<700x2xi32>
  %i = stablehlo.subtract %x0, %c : tensor<700x2xi32>
  %u = stablehlo.negate %x1 : tensor<700xf32>"""

COLUMNS = """
  %c = stablehlo.constant dense<2> : tensor<300x1xi32>
  %i = stablehlo.subtract %x0, %c : tensor<300x1xi32>
  %u = stablehlo.multiply %x1, %x1 : tensor<5x300xf32>"""

CASES = {
    "ones": histogram(1000, "f32", ones(1000), whole(0, 9, 16, type_=np.int64)),
    "ones_on_threads": histogram(70_001, "f32", ones(70_001), whole(0, 9, 16, type_=np.int64)),
    "no_block": histogram(3, "f64", ones(3), whole(0, 9, 16, type_=np.int64)),
    "one_block": histogram(256, "f64", ones(256), whole(0, 9, 16, type_=np.int64)),
    "largest": histogram(257, "f64", ones(257), whole(0, 2, 16, type_=np.int64), "maximum"),
    "sums": histogram(40_000, "f32", squares(40_000), normal(16, type_=np.float64)),
    "sums_of_many": histogram(9000, "f32", squares(9000), normal(7000, type_=np.float64)),
    "rows": rows(50, 12, 30, 20),
    "rows_on_threads": rows(4000, 96, 300, 500),
    "rows_of_few": rows(9000, 16, 300, 6),
    "rows_of_one": rows(300, 1, 40, 20),
    "pairs": Case(
        PAIRS, (whole(0, 20, 700, 2), normal(700), normal(12, 15)), "tensor<700x2xi32>", "tensor<700xf32>",
        inserted="inserted_window_dims = [0, 1], ", moved="[0, 1]",
    ),
    "columns": Case(
        COLUMNS, (whole(0, 16, 300, 1), normal(5, 300), normal(5, 11)), "tensor<300x1xi32>", "tensor<5x300xf32>",
        "update_window_dims = [0], ", "inserted_window_dims = [1], ", "[1]",
    ),
}  # fmt: skip


@pytest.mark.long(6)
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_same_bits_as_from_memory(case: Case) -> None:
    (got,) = on_threads(case.text(), *case.arguments)
    (apart,) = on_threads(case.text(barrier=True), *case.arguments)
    assert got.tobytes() == apart.tobytes()
    (want,) = run(case.text(), case.arguments, "reference")
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("name", ["ones_on_threads", "one_block", "sums", "rows", "rows_of_few", "pairs"])
def test_nothing_is_written_but_blocks(name: str) -> None:
    """The kernel has no buffer for as many elements as there are updates."""
    loops = CASES[name].stage("loops")
    count = CASES[name].arguments[0].shape[0] if "rows" not in name else CASES[name].arguments[2].size
    host = loops[: loops.index("func.func private")]
    written = [line for line in host.splitlines() if "memref.view" in line or "memref.alloc" in line]
    assert not [line for line in written if f"memref<{count}x" in line.split(" to ")[-1]]
    assert host.count("func.call") == 1


@pytest.mark.parametrize("name", ["ones", "sums_of_many", "rows", "pairs"])
def test_guarded(name: str) -> None:
    """No access leaves a buffer, though indices do."""
    case = CASES[name]
    got = xhlo.compile(case.text(), guard=True)(*case.arguments)
    want = xhlo.compile(case.text())(*case.arguments)
    assert np.asarray(got).tobytes() == np.asarray(want).tobytes()


@pytest.mark.parametrize("name", ["one_block", "rows_of_one", "pairs"])
def test_given_fusions_on_gpus(name: str) -> None:
    """GPUs keep indices and updates in memory; fusions that a program has are lowered there too."""
    case = CASES[name]
    fused = xhlo.compile(case.text()).as_text("fused")
    assert fused.count("hlo.fusion") == 1
    got = np.asarray(xhlo.compile(fused, "simt")(*case.arguments))
    (want,) = run(case.text(), case.arguments, "reference")
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)
    assert xhlo.compile(case.text(), "simt").as_text("fused").count("hlo.fusion") > 1


def test_rows_of_the_result_itself() -> None:
    """The rows are gathered to memory first, because the scatter writes over them."""
    table, source, target = normal(40, 8), whole(0, 40, 60, 1), whole(0, 40, 60, 1)
    text = """func.func @main(%s: tensor<60x1xi32>, %i: tensor<60x1xi32>, %x: tensor<40x8xf32>) -> tensor<40x8xf32> {
      %g = "stablehlo.gather"(%x, %s) <{dimension_numbers = #stablehlo.gather<offset_dims = [1],
        collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 8>}> :
        (tensor<40x8xf32>, tensor<60x1xi32>) -> tensor<60x8xf32>
      %r = "stablehlo.scatter"(%x, %i, %g) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1],
        inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
      ^bb0(%p: tensor<f32>, %q: tensor<f32>):
        %m = stablehlo.add %p, %q : tensor<f32>
        stablehlo.return %m : tensor<f32>
      }) : (tensor<40x8xf32>, tensor<60x1xi32>, tensor<60x8xf32>) -> tensor<40x8xf32>
      return %r : tensor<40x8xf32>
    }"""
    want = table.copy()
    np.add.at(want, target[:, 0], table[source[:, 0]])
    (got,) = on_threads(text, source, target, table)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


def test_indices_of_two_scatters() -> None:
    """Both compute them; the counts have no array of ones."""
    ids, values = whole(-3, 8, 900), normal(900)
    add = """({
      ^bb0(%p: tensor<f32>, %q: tensor<f32>):
        %m = stablehlo.add %p, %q : tensor<f32>
        stablehlo.return %m : tensor<f32>
      }) : (tensor<5xf32>, tensor<900x1xi32>, tensor<900xf32>) -> tensor<5xf32>"""
    numbers = """<{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0],
        scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}>"""
    text = f"""func.func @main(%d: tensor<900xi32>, %v: tensor<900xf32>) -> (tensor<5xf32>, tensor<5xf32>) {{
      %two = stablehlo.constant dense<2> : tensor<900xi32>
      %s = stablehlo.subtract %d, %two : tensor<900xi32>
      %i = stablehlo.reshape %s : (tensor<900xi32>) -> tensor<900x1xi32>
      %zeros = stablehlo.constant dense<0.0> : tensor<5xf32>
      %ones = stablehlo.constant dense<1.0> : tensor<900xf32>
      %0 = "stablehlo.scatter"(%zeros, %i, %v) {numbers} {add}
      %1 = "stablehlo.scatter"(%zeros, %i, %ones) {numbers} {add}
      return %0, %1 : tensor<5xf32>, tensor<5xf32>
    }}"""
    sums, counts = on_threads(text, ids, values)
    inside = (ids >= 2) & (ids < 7)
    np.testing.assert_array_equal(counts, np.bincount(ids[inside] - 2, minlength=5))
    want = np.bincount(ids[inside] - 2, values[inside].astype(np.float64), minlength=5)
    np.testing.assert_allclose(sums, want, rtol=1e-4, atol=1e-4)
    assert xhlo.compile(text).as_text("fused").count("hlo.subtract") == 2

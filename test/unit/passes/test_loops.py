"""Facts about loops, and loops as kernels: the same bits as without."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import xhlo
from checkout import LIT
from hlo_programs import Program
from loop_texts import random_arrays, random_loop
from simt_programs import check_on_simt
from xhlo.hlo_dialect.loops import Loop
from xhlo.hlo_dialect.ops.control_flow import WhileOp
from xhlo.passes import fuse_loops
from xhlo.passes.manager.pipelines import FRONT
from xhlo.passes.outline_loops import transform as outline_loops

COUNTED = """
func.func @main(%x: tensor<f32>) -> tensor<{type}> {{
  %start = hlo.constant dense<{start}> : tensor<{type}>
  %bound = hlo.constant dense<{bound}> : tensor<{type}>
  %step = hlo.constant dense<{step}> : tensor<{type}>
  %0 = hlo.while(%i = %start) : tensor<{type}>
    cond {{
      %1 = hlo.compare {test} : (tensor<{type}>, tensor<{type}>) -> tensor<i1>
      hlo.return %1 : tensor<i1>
    }} do {{
      %1 = hlo.{op} : tensor<{type}>
      hlo.return %1 : tensor<{type}>
    }}
  return %0 : tensor<{type}>
}}
"""


@pytest.mark.parametrize(
    ("start", "step", "test", "op", "bound", "type_", "count"),
    [
        (0, 1, "LT, %i, %bound", "add %i, %step", 10, "i32", 10),
        (0, 3, "LE, %i, %bound", "add %step, %i", 9, "i32", 4),
        (10, 3, "GT, %i, %bound", "subtract %i, %step", 0, "i64", 4),
        (0, 1, "GT, %bound, %i", "add %i, %step", 7, "i8", 7),
        (5, 1, "LT, %i, %bound", "add %i, %step", 5, "i32", 0),
        (9, -2, "GE, %i, %bound", "add %i, %step", 1, "i32", 5),
        (0, 2, "NE, %i, %bound", "add %i, %step", 8, "i32", 4),
        (0, 3, "NE, %i, %bound", "add %i, %step", 8, "i32", None),  # steps over the bound
        (0, 1, "GE, %i, %bound", "add %i, %step", 0, "i32", None),  # ends by wrapping around
        (0, 7, "LT, %i, %bound", "add %i, %step", 127, "i8", None),  # 126 + 7 wraps around
        (0, 7, "LT, %i, %bound", "add %i, %step", 127, "ui8", 19),
        (1, 2, "LT, %i, %bound", "multiply %i, %step", 100, "i32", None),
    ],
)
def test_trip_counts(start: int, step: int, test: str, op: str, bound: int, type_: str, count: int | None) -> None:
    text = COUNTED.format(start=start, step=step, test=test, op=op, bound=bound, type=type_)
    (loop,) = (Loop(op) for op in Program(text).module.walk() if isinstance(op, WhileOp))
    assert loop.trip_count == count
    assert loop.most_iterations == count


def test_a_step_in_parts() -> None:
    """As it is where a loop makes two iterations at a time."""
    text = COUNTED.format(start=0, step=2, test="LT, %i, %bound", op="add %4, %step", bound=20, type="i32")
    parts = """%2 = hlo.add %i, %step : tensor<i32>
      %3 = hlo.optimization_barrier %2 : tensor<i32>
      %4 = hlo.subtract %3, %one : tensor<i32>
      %1 = hlo.add %4"""
    text = text.replace("%1 = hlo.add %4", parts).replace(
        "  %0 =", "  %one = hlo.constant dense<1> : tensor<i32>\n  %0 ="
    )
    (loop,) = (Loop(op) for op in Program(text).module.walk() if isinstance(op, WhileOp))
    assert loop.trip_count == 7


SHAPES = [(7,), (65,), (3, 50), (130,), (1,), (4, 1000)]


@pytest.mark.long(5)
@pytest.mark.parametrize("seed", range(12))
def test_a_loop_in_a_kernel_computes_the_same_bits(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # So few that a loop without a known bound runs its kernel several times.
    monkeypatch.setattr(fuse_loops, "MOST_AT_A_TIME", 7)
    shape = SHAPES[seed % len(SHAPES)]
    text, arrays = random_loop(seed, shape), random_arrays(seed, shape)
    kernel = "one kernel runs up to 7 iterations of the loop" if seed % 3 == 2 else "one kernel runs the whole loop"
    assert kernel in Program(text).after(*FRONT, "fuse-loops").messages
    plain = str(Program(text).after(*FRONT, "fuse-hlo").module)
    for actual, expected in zip(xhlo.compile(text)(*arrays), xhlo.compile(plain)(*arrays), strict=True):
        assert _bits(actual) == _bits(expected)


def _bits(array: np.ndarray) -> bytes:
    """The bits, with one NaN for all: which of two NaN operands an addition passes on is not defined."""
    return (
        np.where(np.isnan(array), np.float32(np.nan), array).tobytes() if array.dtype.kind == "f" else array.tobytes()
    )


def test_elements_that_tiles_share_are_computed_once() -> None:
    """The kernel writes over its arguments: a last tile that overlapped another would begin at that one's results."""
    text = """
    func.func @main(%x: tensor<130xf32>, %most: tensor<i64>) -> tensor<130xf32> {
      %one = hlo.constant dense<1> : tensor<i64>
      %0:2 = hlo.while(%i = %one, %now = %x) : tensor<i64>, tensor<130xf32>
        cond {
          %1 = hlo.compare LT, %i, %most : (tensor<i64>, tensor<i64>) -> tensor<i1>
          hlo.return %1 : tensor<i1>
        } do {
          %1 = hlo.add %i, %one : tensor<i64>
          %2 = hlo.add %now, %now : tensor<130xf32>
          %3 = hlo.subtract %2, %x : tensor<130xf32>
          hlo.return %1, %3 : tensor<i64>, tensor<130xf32>
        }
      return %0#1 : tensor<130xf32>
    }
    """
    x = np.arange(130, dtype=np.float32) % 5
    np.testing.assert_array_equal(xhlo.compile(text)(x + 1, np.int64(6)), x + 1)
    x[:] = 1
    text = text.replace("%2, %x", "%2, %now")
    np.testing.assert_array_equal(xhlo.compile(text.replace("hlo.subtract", "hlo.add"))(x, np.int64(6)), x * 3**5)


def test_threads_of_a_gpu_loop_for_their_elements() -> None:
    for seed in (0, 1):
        check_on_simt(random_loop(seed, (3, 50)), random_arrays(seed, (3, 50)))


def test_a_kernel_loop_is_kept_by_a_second_run() -> None:
    once = Program(random_loop(4, (7,))).after(*FRONT, "fuse-loops")
    assert str(once.after("fuse-loops").module) == str(once.module)


def test_results_over_the_products_of_all_steps() -> None:
    """Also where the loop leaves the last of them as they were."""
    path = LIT / "passes/batch_step_products/over.mlir"
    _, *texts = path.read_text().split("\nfunc.func @")
    draw = np.random.default_rng(0)
    inputs = [draw.normal(size=shape).astype(np.float32) for shape in ((20, 3, 5), (5, 8), (3, 8))]
    for text in texts:
        program = Program("func.func @main(" + text.partition("(")[2].partition("\n}")[0] + "\n}")
        program.after("batch-step-products").same_results(*inputs, rtol=1e-5)
        compiled = np.asarray(xhlo.compile(program.text)(*inputs))
        np.testing.assert_allclose(compiled, program.results(*inputs)[0], rtol=2e-5, atol=1e-6)


def test_products_of_all_steps_at_once_are_those_of_each() -> None:
    text = (LIT / "passes/batch_step_products/basic.mlir").read_text().split("// -----")[0]
    program = Program(text.replace("@scan", "@main"))
    numbers = np.random.default_rng(0)
    shapes = ((10, 4, 6), (10, 6), (6, 5), (5, 6))
    inputs = [numbers.standard_normal(shape).astype(np.float32) for shape in shapes]
    program.after("batch-step-products").same_results(*inputs, rtol=1e-5)
    for actual, expected in zip(xhlo.compile(program.text)(*inputs), program.results(*inputs), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("number", "dtype", "shapes"),
    [(0, "f4", ((9, 2, 20), (9, 2, 4), (4, 4), (4,))), (1, "f8", ((3, 1, 8),))],
    ids=["backwards", "batches"],
)
def test_sums_after_a_loop_are_those_of_its_steps(number: int, dtype: str, shapes: Sequence[tuple[int, ...]]) -> None:
    """Compiled, nothing fills the stacks before the loop."""
    texts = (LIT / "passes/batch_step_products/after.mlir").read_text().split("// -----")
    program = Program(texts[number].replace("@computed", "@main"))
    draw = np.random.default_rng(0)
    inputs = [draw.standard_normal(shape).astype(dtype) for shape in shapes]
    program.after("batch-step-products").same_results(*inputs, rtol=1e-5, atol=1e-5)
    for actual, expected in zip(xhlo.compile(program.text)(*inputs), program.results(*inputs), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-5)


def test_two_iterations_at_a_time_copy_no_state() -> None:
    text = (LIT / "passes/pair_iterations.mlir").read_text().split("// -----")[0]
    program = Program(text.replace("@relax", "@main"))
    x = np.random.default_rng(0).standard_normal((64, 64)).astype(np.float32)
    program.after("pair-iterations").same_bits(x)
    executable = xhlo.compile(program.text)
    np.testing.assert_array_equal(executable(x), program.results(x)[0])
    buffers = executable.as_text("loops").split("scf.while")[1].split("func.return")[0]
    copies = [line for line in buffers.splitlines() if "memref.copy" in line]
    assert all("64x64" not in line for line in copies)


def test_a_loop_with_a_constant_of_different_elements() -> None:
    text = """
    func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
      %zero = hlo.constant dense<0> : tensor<i32>
      %one = hlo.constant dense<1> : tensor<i32>
      %end = hlo.constant dense<5> : tensor<i32>
      %r:2 = hlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<2x3xf32>
      cond {
        %c = hlo.compare LT, %i, %end, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        hlo.return %c : tensor<i1>
      } do {
        %next = hlo.add %i, %one : tensor<i32>
        %steps = hlo.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
        %row = hlo.constant dense<[10.0, 20.0, 30.0]> : tensor<3xf32>
        %rows = hlo.broadcast_in_dim %row, dims = [1] : (tensor<3xf32>) -> tensor<2x3xf32>
        %a = hlo.add %v, %steps : tensor<2x3xf32>
        %w = hlo.add %a, %rows : tensor<2x3xf32>
        hlo.return %next, %w : tensor<i32>, tensor<2x3xf32>
      }
      return %r#1 : tensor<2x3xf32>
    }"""
    executable = xhlo.compile(text)
    assert len(executable.kernels) == 1
    expected = 5 * (np.arange(1, 7).reshape(2, 3) + np.array([10, 20, 30]))
    np.testing.assert_array_equal(executable(np.zeros((2, 3), np.float32)), expected)


SHARED = """
func.func @main(%x: tensor<40xf32>) -> (tensor<40xf32>, tensor<40xf32>, tensor<40xf32>) {
  %one = hlo.constant dense<1.0> : tensor<40xf32>
  %zero = hlo.constant dense<0> : tensor<i32>
  %0:4 = hlo.while(%i = %zero, %a = %one, %b = %one, %y = %x)
      : tensor<i32>, tensor<40xf32>, tensor<40xf32>, tensor<40xf32>
    cond {
      %last = hlo.constant dense<7> : tensor<i32>
      %1 = hlo.compare LT, %i, %last : (tensor<i32>, tensor<i32>) -> tensor<i1>
      hlo.return %1 : tensor<i1>
    } do {
      %step = hlo.constant dense<1> : tensor<i32>
      %1 = hlo.add %i, %step : tensor<i32>
      %2 = hlo.add %a, %b : tensor<40xf32>
      %3 = hlo.abs %y : tensor<40xf32>
      hlo.return %1, %b, %2, %3 : tensor<i32>, tensor<40xf32>, tensor<40xf32>, tensor<40xf32>
    }
  return %0#1, %0#2, RESULT : tensor<40xf32>, tensor<40xf32>, tensor<40xf32>
}
"""


@pytest.mark.parametrize("result", ["%0#3", "%x"])
def test_values_that_all_elements_share_go_on_when_no_element_changes(result: str) -> None:
    """With and without a state of each element, which is settled after the first iteration."""
    text, x = SHARED.replace("RESULT", result), -np.arange(40, dtype=np.float32)
    for actual, expected in zip(xhlo.compile(text)(x), Program(text).results(x), strict=True):
        np.testing.assert_array_equal(actual, expected)


FILTER = """
func.func @main(%xs: tensor<100xf32>, %n: tensor<i32>) -> (tensor<100xf32>, tensor<f32>) {
  %zero = hlo.constant dense<0> : tensor<i32>
  %one = hlo.constant dense<1> : tensor<i32>
  %s0 = hlo.constant dense<0.0> : tensor<f32>
  %y0 = hlo.constant dense<-1.0> : tensor<100xf32>
  %a = hlo.constant dense<0.5> : tensor<f32>
  %0:3 = hlo.while(%i = %zero, %s = %s0, %ys = %y0) : tensor<i32>, tensor<f32>, tensor<100xf32>
    cond {
      %1 = hlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      hlo.return %1 : tensor<i1>
    } do {
      %1 = hlo.dynamic_slice %xs, %i, sizes = [1] : (tensor<100xf32>, tensor<i32>) -> tensor<1xf32>
      %2 = hlo.reshape %1 : (tensor<1xf32>) -> tensor<f32>
      %3 = hlo.multiply %s, %a : tensor<f32>
      %4 = hlo.add %2, %3 : tensor<f32>
      %5 = hlo.reshape %4 : (tensor<f32>) -> tensor<1xf32>
      %6 = hlo.dynamic_update_slice %ys, %5, %i : (tensor<100xf32>, tensor<1xf32>, tensor<i32>) -> tensor<100xf32>
      %7 = hlo.add %i, %one : tensor<i32>
      hlo.return %7, %4, %6 : tensor<i32>, tensor<f32>, tensor<100xf32>
    }
  return %0#2, %0#1 : tensor<100xf32>, tensor<f32>
}
"""


@pytest.mark.long(3)
@pytest.mark.parametrize("most", [outline_loops.MOST_AT_A_TIME, 7])
@pytest.mark.parametrize("count", [0, 1, 7, 50, 100])
def test_a_recurrence_is_a_kernel(count: int, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one that makes only some iterations of an unknown number."""
    monkeypatch.setattr(outline_loops, "MOST_AT_A_TIME", most)
    # Compiled programs are kept by their text.
    executable = xhlo.compile(FILTER.replace("%s0", f"%begin_{most}"), profile=True)
    xs = np.random.default_rng(0).standard_normal(100).astype(np.float32)
    expected, state = np.full(100, -1, np.float32), np.float32(0)
    for i in range(count):
        expected[i] = state = xs[i] + np.float32(0.5) * state
    executable.reset_profile()
    ys, last = executable(xs, np.int32(count))
    assert _bits(np.asarray(ys)) == _bits(expected)
    assert last == state
    calls = {kernel.name: kernel.calls for kernel in executable.kernels}
    assert calls["loop_0"] == max(1, -(-count // most))


def test_equal_recurrences_are_one_kernel() -> None:
    types = "(tensor<100xf32>, tensor<i32>) -> (tensor<100xf32>, tensor<f32>)"
    text = FILTER.replace("@main", "private @filter") + (
        """func.func @main(%a: tensor<100xf32>, %b: tensor<100xf32>, %m: tensor<i32>, %n: tensor<i32>)
          -> (tensor<100xf32>, tensor<100xf32>) {
          %0:2 = func.call @filter(%a, %m) : TYPES
          %1:2 = func.call @filter(%b, %n) : TYPES
          return %0#0, %1#0 : tensor<100xf32>, tensor<100xf32> }""".replace("TYPES", types)
    )
    executable = xhlo.compile(text, profile=True)
    executable.reset_profile()
    arguments = (
        *np.random.default_rng(0).standard_normal((2, 100)).astype(np.float32),
        np.array(70, np.int32),
        np.array(100, np.int32),
    )
    for actual, expected in zip(executable(*arguments), Program(text).results(*arguments), strict=True):
        assert _bits(np.asarray(actual)) == _bits(expected)
    loops = [kernel for kernel in executable.kernels if kernel.name in ("loop_0", "loop_1")]
    assert [kernel.calls for kernel in loops] == [2]


def test_an_unrolled_loop_at_the_end_of_another(capfd: pytest.CaptureFixture[str]) -> None:
    """LLVM merges the ends of both, and warns if the outer one is to be unrolled then, as the inner one was."""
    text = """func.func @main(%n: tensor<i8>, %x: tensor<3xf32>) -> tensor<3xf32> {
      %zero = stablehlo.constant dense<0> : tensor<i8>
      %three = stablehlo.constant dense<3> : tensor<i8>
      %ones = stablehlo.constant dense<1.0> : tensor<3xf32>
      %0:2 = stablehlo.while(%i = %zero, %a = %x) : tensor<i8>, tensor<3xf32>
        cond {
          %1 = stablehlo.compare NE, %i, %n : (tensor<i8>, tensor<i8>) -> tensor<i1>
          stablehlo.return %1 : tensor<i1>
        } do {
          %1 = stablehlo.add %i, %three : tensor<i8>
          %2 = stablehlo.add %a, %ones : tensor<3xf32>
          stablehlo.return %1, %2 : tensor<i8>, tensor<3xf32>
        }
      return %0#1 : tensor<3xf32> }"""
    x = np.array([1, 2, 3], np.float32)
    np.testing.assert_array_equal(xhlo.compile(text)(np.array(4, np.int8), x), x + 172)
    assert capfd.readouterr().err == ""


def test_what_a_loop_inside_takes_as_one_buffer_is_one_for_the_loop_around_it() -> None:
    text = (LIT / "passes/outline_loops/overlapping.mlir").read_text()
    assert xhlo.compile(text)(np.array(5, np.int32)) == 5 + 7 * sum(range(7))

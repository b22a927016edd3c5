"""Matrix products as calls of cuBLASLt: which programs get them, and their results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from conformance import difference
from hlo_programs import Program
from test_gpu_contractions import Dot, array, tensor
from xhlo.dialects.gpu.functions import GpuLaunchFuncOp
from xhlo.dialects.gpu.library import SUMS, Matmul, MatmulOp, Matrix
from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.reading import parse_module
from xhlo.passes.manager import pipelines
from xhlo.targets.nvptx.target import nvptx
from xhlo.targets.program.entry import entry_types
from xhlo.targets.program.pipeline import run_passes
from xhlo.targets.simt.host import HostProgram


def mapped(text: str, libraries: str = "always", chip: str = "sm_90") -> tuple[Any, Any]:
    """The module of the gpu-level IR, and the arrays for its entry."""
    ctx, target = make_context(), nvptx(chip, libraries=libraries)
    module = parse_module(text, "test.mlir", ctx)
    run_passes(ctx, module, pipelines.FRONT)
    types = entry_types(module)
    specs = (*map(target.tune, pipelines.FUSE), *target.passes_between(None, "loops"))
    run_passes(ctx, module, specs, verify=True)
    return module, types


def calls(text: str, libraries: str = "always", chip: str = "sm_90") -> tuple[list[Matmul], int]:
    """The products that a library computes, and the number of launches beside them."""
    ops = list(mapped(text, libraries, chip)[0].walk())
    return [op.problem for op in ops if isinstance(op, MatmulOp)], sum(isinstance(op, GpuLaunchFuncOp) for op in ops)


def check(
    text: str, *inputs: np.ndarray, products: int = 1, launches: int = 0, rtol: float | None = None
) -> list[Matmul]:
    """Assert the numbers of calls and launches, and that the interpreter computes the same as the reference."""
    assert calls(text)[1] == launches
    found = calls(text)[0]
    assert len(found) == products
    module, (_, results) = mapped(text)
    outputs = [np.zeros(type_.shape, type_.dtype) for type_ in results]
    HostProgram(module).run(list(inputs), outputs)
    wanted = Program(text).results(*inputs)
    for actual, expected in zip(outputs, wanted, strict=True):
        message = difference(actual, np.asarray(expected), rtol, False)
        assert not message, message
    return found


def check_dot(dot: Dot, **expected: int) -> list[Matmul]:
    lhs, rhs, _ = dot.shapes()
    return check(dot.text(), array(lhs, dot.element), array(rhs, dot.rhs or dot.element, 1), **expected)


@pytest.mark.spread(2)
@pytest.mark.parametrize("transposed", [(False, False), (False, True), (True, False), (True, True)])
@pytest.mark.parametrize("element", ["f32", "bf16"])
def test_layouts(element: str, transposed: tuple[bool, bool]) -> None:
    for batch in (0, 3):
        (problem,) = check_dot(Dot(33, 17, 31, element, transposed=transposed, batch=batch))
        assert (problem.lhs.row_major, problem.rhs.row_major) == (not transposed[0], not transposed[1])
        assert problem.batch == max(1, batch)


@pytest.mark.parametrize(("element", "result"), [pair for pair in SUMS if pair[0] != "i8"])
def test_element_types(element: str, result: str) -> None:
    (problem,) = check_dot(Dot(33, 17, 31, element, result))
    assert (problem.element, problem.result, problem.tf32) == (element, result, False)


@pytest.mark.long
def test_products_of_i8_where_both_factors_are_dense_along_k() -> None:
    (problem,) = check_dot(Dot(33, 16, 32, "i8", "i32", transposed=(False, True)))
    assert problem.total == "i32"
    for dot in (
        Dot(33, 16, 32, "i8", "i32"),
        Dot(33, 16, 32, "i8", "i32", transposed=(True, True)),
        Dot(33, 18, 32, "i8", "i32", transposed=(False, True)),
        Dot(33, 16, 30, "i8", "i32", transposed=(False, True)),
        Dot(33, 16, 32, "i8", "i8", transposed=(False, True)),
    ):
        check_dot(dot, products=0, launches=1)


@pytest.mark.long(3)
@pytest.mark.parametrize("element", ["i32", "i16", "i1"])
def test_what_the_library_does_not_multiply(element: str) -> None:
    check_dot(Dot(32, 16, 32, element, "i1" if element == "i1" else "i32"), products=0, launches=1)


@pytest.mark.long(3)
@pytest.mark.parametrize(("m", "n", "k"), [(1, 33, 17), (33, 1, 17), (1, 1, 65), (5, 7, 1)])
def test_vectors_as_matrices(m: int, n: int, k: int) -> None:
    for transposed in ((False, False), (True, True)):
        text = Dot(m, n, k, transposed=transposed).text()
        if calls(text)[0]:
            check_dot(Dot(m, n, k, transposed=transposed))


ATTENTION = """
func.func @main(%q: tensor<2x5x3x8xf32>, %k: tensor<2x7x3x8xf32>) -> tensor<2x3x5x7xf32> {
  %0 = stablehlo.dot_general %q, %k, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3]
    : (tensor<2x5x3x8xf32>, tensor<2x7x3x8xf32>) -> tensor<2x3x5x7xf32>
  return %0 : tensor<2x3x5x7xf32>
}
"""


def test_two_batch_dimensions_are_a_call_for_each_of_the_smaller() -> None:
    problems = check(ATTENTION, array((2, 5, 3, 8), "f32"), array((2, 7, 3, 8), "f32", 1), products=2)
    assert [(problem.batch, problem.out.offset) for problem in problems] == [(3, 0), (3, 105)]
    assert problems[0].lhs == Matrix(5, 8, 24, 1, batch_stride=8)
    many = ATTENTION.replace("<2x", "<20x").replace("x3x", "x21x").replace("x3x5", "x21x5")
    assert calls(many)[0] == []


CONVOLUTION = """
func.func @main(%x: tensor<2x6x6x8xf32>, %w: tensor<{size}x{size}x8x5xf32>) -> tensor<2x{out}x{out}x5xf32> {{
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {{}}
    {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}}
    : (tensor<2x6x6x8xf32>, tensor<{size}x{size}x8x5xf32>) -> tensor<2x{out}x{out}x5xf32>
  return %0 : tensor<2x{out}x{out}x5xf32>
}}
"""


def test_convolutions_of_single_elements_are_products() -> None:
    inputs = array((2, 6, 6, 8), "f32"), array((1, 1, 8, 5), "f32", 1)
    (problem,) = check(CONVOLUTION.format(size=1, out=6), *inputs)
    assert (problem.out.rows, problem.out.columns) == (72, 5)
    assert calls(CONVOLUTION.format(size=3, out=4))[0] == []


def dense(
    element: str,
    after: str,
    *,
    result: str = "",
    rows: bool = False,
    sizes: tuple[int, int, int] = (24, 16, 40),
) -> str:
    """A product of m x k and k x n, and `after` on %0, %bias and %zero, which ends in %r."""
    m, n, k = sizes
    result = result or element
    lhs, rhs, out = tensor((m, k), element), tensor((k, n), element), tensor((m, n), result)
    vector = tensor((m if rows else n,), result)
    return f"""
    func.func @main(%a: {lhs}, %b: {rhs}, %c: {vector}) -> {out} {{
      %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : ({lhs}, {rhs}) -> {out}
      %bias = stablehlo.broadcast_in_dim %c, dims = [{0 if rows else 1}] : ({vector}) -> {out}
      %zero = stablehlo.constant dense<0.0> : {out}
      {after.replace("TYPE", out)}
      return %r : {out}
    }}"""


ADD = "%1 = stablehlo.add %0, %bias : TYPE\n"
RELU = "%r = stablehlo.maximum %1, %zero : TYPE"
ONLY_ADD = "%r = stablehlo.add %bias, %0 : TYPE"
ONLY_RELU = "%r = stablehlo.maximum %zero, %0 : TYPE"
SIGMOID = "%1 = stablehlo.add %0, %bias : TYPE\n%r = stablehlo.logistic %1 : TYPE"


def dense_inputs(element: str, result: str = "", rows: bool = False) -> tuple[np.ndarray, ...]:
    vector = array((24 if rows else 16,), result or element, 2)
    return array((24, 40), element), array((40, 16), element, 1), vector


@pytest.mark.long(3)
@pytest.mark.spread(2)
@pytest.mark.parametrize(
    ("after", "bias", "activation"), [(ADD + RELU, True, "relu"), (ONLY_ADD, True, ""), (ONLY_RELU, False, "relu")]
)
@pytest.mark.parametrize(("element", "result"), [("f32", "f32"), ("bf16", "f32"), ("f16", "f32")])
def test_bias_and_relu_are_the_librarys(element: str, result: str, after: str, bias: bool, activation: str) -> None:
    (problem,) = check(dense(element, after, result=result), *dense_inputs(element, result))
    assert (problem.bias, problem.activation) == (bias, activation)


def test_a_bias_of_one_row() -> None:
    text = dense("f32", ADD + RELU).replace("%c: tensor<16xf32>", "%c: tensor<1x16xf32>")
    text = text.replace("%c, dims = [1] : (tensor<16xf32>)", "%c, dims = [0, 1] : (tensor<1x16xf32>)")
    lhs, rhs, bias = dense_inputs("f32")
    (problem,) = check(text, lhs, rhs, bias.reshape(1, 16))
    assert problem.bias


def test_relu_of_a_rounded_sum_is_rounded_relu() -> None:
    (problem,) = check(dense("bf16", ONLY_RELU), *dense_inputs("bf16"))
    assert (problem.result, problem.activation) == ("bf16", "relu")


@pytest.mark.parametrize(
    ("text", "element", "rows"),
    [
        (dense("f32", SIGMOID), "f32", False),
        (dense("f32", ONLY_ADD, rows=True), "f32", True),
        (dense("f64", ONLY_ADD), "f64", False),
        (dense("f32", "%1 = stablehlo.add %0, %0 : TYPE\n" + RELU), "f32", False),
        (dense("f32", "%1 = stablehlo.maximum %0, %zero : TYPE\n%r = stablehlo.add %1, %bias : TYPE"), "f32", False),
    ],
    ids=["sigmoid", "rows", "f64", "sum", "order"],
)
def test_what_is_no_epilogue_of_the_librarys_is_a_launch(text: str, element: str, rows: bool) -> None:
    (problem,) = check(text, *dense_inputs(element, rows=rows), launches=1)
    assert (problem.bias, problem.activation) == (False, "")


def test_a_sum_that_is_rounded_before_the_bias_is_added_is_stored_rounded() -> None:
    (problem,) = check(dense("bf16", ADD + RELU), *dense_inputs("bf16"), launches=1)
    assert (problem.result, problem.bias, problem.activation) == ("bf16", False, "")


def test_products_that_a_launch_follows_are_calls_where_they_are_deep() -> None:
    for depth, taken in ((256, False), (512, True)):
        text = dense("f32", SIGMOID, sizes=(256, 256, depth))
        assert len(calls(text, "auto")[0]) == taken and len(calls(text)[0]) == 1
        assert len(calls(dense("f32", ADD + RELU, sizes=(256, 256, depth)), "auto")[0]) == 1


def test_chips_that_lack_a_type_keep_their_own_kernels() -> None:
    text = Dot(64, 64, 64, "bf16").text()
    assert len(calls(text, chip="sm_80")[0]) == 1 and calls(text, chip="sm_75")[0] == []
    assert len(calls(Dot(64, 64, 64, "f16").text(), chip="sm_75")[0]) == 1


def test_tf32_where_the_program_asks_for_it() -> None:
    algorithm = (
        "algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, "
        "lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, "
        "allow_imprecise_accumulation = false>"
    )
    text = Dot(33, 17, 31).text().replace("[1] x [0] :", f"[1] x [0], {algorithm} :")
    (problem,) = check(text, array((33, 31), "f32"), array((31, 17), "f32", 1), rtol=2e-3)
    assert problem.tf32
    assert calls(text, chip="sm_75")[0] == []


def test_only_large_products_are_calls_where_the_choice_is_automatic() -> None:
    large, small = Dot(256, 256, 256), Dot(128, 128, 256)
    assert len(calls(large.text(), "auto")[0]) == 1 and calls(small.text(), "auto")[0] == []
    thin = Dot(8, 1 << 15, 256)
    assert calls(thin.text(), "auto")[0] == [] and len(calls(thin.text(), "always")[0]) == 1
    assert calls(large.text(), "never")[0] == []


def test_another_start_than_zero_is_no_call() -> None:
    text = """
    func.func private @k(%a: memref<32x32xf32>, %b: memref<32x32xf32>, %c: memref<32x32xf32>) attributes {hlo.kernel = "dot"} {
      linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>,
        affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%a, %b : memref<32x32xf32>, memref<32x32xf32>) outs(%c : memref<32x32xf32>) attrs = {xhlo.contraction} {
      ^bb0(%x: f32, %y: f32, %z: f32):
        %p = arith.mulf %x, %y fastmath<reassoc,contract> : f32
        %s = arith.addf %z, %p fastmath<reassoc,contract> : f32
        linalg.yield %s : f32
      }
      func.return
    }"""
    ctx = make_context()
    module = parse_module(text, "test.mlir", ctx)
    run_passes(ctx, module, ("plan-gpu-kernels{libraries=always}", "map-kernels-to-gpu"), verify=True)
    assert not any(isinstance(op, MatmulOp) for op in module.walk())

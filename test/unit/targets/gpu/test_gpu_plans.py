"""Plans written by hand: whatever launches they request, the results equal the reference's."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.parser import Parser

from conformance import difference
from xhlo.dialects.gpu.functions import GpuFuncOp
from xhlo.dialects.gpu.plans import JOINED, PLAN
from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.reading import parse_module
from xhlo.hlo_dialect.reference import evaluate
from xhlo.targets.nvptx.target import nvptx
from xhlo.targets.program.pipeline import run_passes
from xhlo.targets.simt.host import HostProgram
from xhlo.targets.simt.memory import undefined

ELEMENTWISE = """
func.func @main(%x: tensor<77x260xf32>, %r: tensor<260xf32>) -> tensor<77x260xf32> {
  %0 = stablehlo.broadcast_in_dim %r, dims = [1] : (tensor<260xf32>) -> tensor<77x260xf32>
  %1 = stablehlo.multiply %x, %0 : tensor<77x260xf32>
  return %1 : tensor<77x260xf32>
}"""

TRANSPOSE = """
func.func @main(%x: tensor<77x130xf32>) -> tensor<130x77xf32> {
  %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<77x130xf32>) -> tensor<130x77xf32>
  %1 = stablehlo.negate %0 : tensor<130x77xf32>
  return %1 : tensor<130x77xf32>
}"""

SOFTMAX = """
func.func @main(%x: tensor<37x200xf32>) -> tensor<37x200xf32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [1]
    : (tensor<37x200xf32>, tensor<f32>) -> tensor<37xf32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<37xf32>) -> tensor<37x200xf32>
  %2 = stablehlo.subtract %x, %1 : tensor<37x200xf32>
  %3 = stablehlo.exponential %2 : tensor<37x200xf32>
  %4 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [1]
    : (tensor<37x200xf32>, tensor<f32>) -> tensor<37xf32>
  %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<37xf32>) -> tensor<37x200xf32>
  %6 = stablehlo.divide %3, %5 : tensor<37x200xf32>
  return %6 : tensor<37x200xf32>
}"""

SUM = """
func.func @main(%x: tensor<37x200xf32>) -> tensor<KEPTxf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [DIM]
    : (tensor<37x200xf32>, tensor<f32>) -> tensor<KEPTxf32>
  %1 = stablehlo.sqrt %0 : tensor<KEPTxf32>
  return %1 : tensor<KEPTxf32>
}"""

ROW_SUM, COLUMN_SUM = (SUM.replace("KEPT", kept).replace("DIM", dim) for kept, dim in (("37", "1"), ("200", "0")))

DOT = """
func.func @main(%a: tensor<50x200xTYPE>, %b: tensor<200x70xTYPE>) -> tensor<50x70xf32> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
    : (tensor<50x200xTYPE>, tensor<200x70xTYPE>) -> tensor<50x70xf32>
  %1 = stablehlo.negate %0 : tensor<50x70xf32>
  return %1 : tensor<50x70xf32>
}"""

SCAN = """
func.func @main(%x: tensor<3x700xf32>) -> tensor<3x700xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%x, %zero) <{window_dimensions = array<i64: 1, 700>,
    padding = dense<[[0, 0], [699, 0]]> : tensor<2x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<3x700xf32>, tensor<f32>) -> tensor<3x700xf32>
  return %0 : tensor<3x700xf32>
}"""

SORT = """
func.func @main(%x: tensor<5x150xf32>) -> tensor<5x150xf32> {
  %0 = "stablehlo.sort"(%x) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<5x150xf32>) -> tensor<5x150xf32>
  return %0 : tensor<5x150xf32>
}"""

SCATTER = """
func.func @main(%x: tensor<9x5xf32>, %i: tensor<40x1xi32>, %u: tensor<40x5xf32>) -> tensor<9x5xf32> {
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1],
    inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<9x5xf32>, tensor<40x1xi32>, tensor<40x5xf32>) -> tensor<9x5xf32>
  return %0 : tensor<9x5xf32>
}"""

STEPS = """
func.func @main(%w: tensor<40x40xf32>, %h0: tensor<3x40xf32>) -> tensor<3x40xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %h = %h0) : tensor<i32>, tensor<3x40xf32>
  cond {
    %n = stablehlo.constant dense<30> : tensor<i32>
    %1 = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %1 = stablehlo.dot_general %h, %w, contracting_dims = [1] x [1] : (tensor<3x40xf32>, tensor<40x40xf32>) -> tensor<3x40xf32>
    %2 = stablehlo.reduce(%1 init: %low) applies stablehlo.maximum across dimensions = [0, 1]
      : (tensor<3x40xf32>, tensor<f32>) -> tensor<f32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<f32>) -> tensor<3x40xf32>
    %4 = stablehlo.divide %1, %3 : tensor<3x40xf32>
    %5 = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %5, %4 : tensor<i32>, tensor<3x40xf32>
  }
  return %0#1 : tensor<3x40xf32>
}"""

OVERRIDES = [
    (ELEMENTWISE, "#gpu.elementwise<threads = 32>", 1),
    (ELEMENTWISE, "#gpu.elementwise<width = 4, items = 2, threads = 64>", 1),
    (ELEMENTWISE, "#gpu.elementwise<width = 2, items = 7, along = 0, threads = 130>", 1),
    (TRANSPOSE, "#gpu.elementwise<width = 1, items = 3>", 1),
    (TRANSPOSE, "#gpu.transpose<64x16, loop = 0, inputs = [0]>", 1),
    (TRANSPOSE, "#gpu.transpose<8x32, loop = 0, inputs = [0], threads = 64>", 1),
    (SOFTMAX, "#gpu.rows<threads = 32, rows = 4, width = 2, keep>", 1),
    (SOFTMAX, "#gpu.rows<threads = 96, width = 4, unroll = 2, partials = 2>", 1),
    (SOFTMAX, "#gpu.rows<threads = 4, rows = 8, unroll = 3>", 1),
    (ROW_SUM, "#gpu.rows<threads = 8, rows = 4, width = 4, unroll = 2>", 1),
    (ROW_SUM, "#gpu.rows<threads = 64, width = 2, part = 30, then = #gpu.rows<threads = 2, rows = 16>>", 2),
    (ROW_SUM, "#gpu.columns<32x4, unroll = 4, partials = 2>", 1),
    (COLUMN_SUM, "#gpu.columns<16x8, width = 4, unroll = 3>", 1),
    (COLUMN_SUM, "#gpu.columns<8x4, width = 4, part = 10, then = #gpu.columns<64x1, width = 2>>", 2),
    (COLUMN_SUM, "#gpu.rows<threads = 32, rows = 2>", 1),
    (DOT.replace("TYPE", "f32"), "#gpu.tile<32x16x8, thread = 4x4, splits = 3>", 2),
    (DOT.replace("TYPE", "f32"), "#gpu.tile<64x64x16, thread = 8x4, raster = 3>", 1),
    (DOT.replace("TYPE", "f16"), "#gpu.tile<16x128x32, thread = 4x8>", 1),
    (DOT.replace("TYPE", "f16"), "#gpu.tensor_tile<32x64x32, warp = 16x32, splits = 4>", 2),
    (DOT.replace("TYPE", "f16"), "#gpu.tensor_tile<64x32x32, warp = 32x16, stages = 5, copies>", 1),
    (STEPS, "#gpu.block<threads = 32>", 1),
    (STEPS, "#gpu.block<threads = 256, shared = [1]>", 1),
    (STEPS, "#gpu.block<threads = 992, shared = [4, 8]>", 1),
    (SCAN, "#gpu.scan_threads<chunk = 700, threads = 32>", 1),
    (SCAN, "#gpu.scan_threads<chunk = 33>", 3),
    (SCAN, "#gpu.scan_blocks<chunk = 160, elements = 5, threads = 32>", 3),
    (SCAN, "#gpu.scan_rows<rows = 2>", 1),
    (SORT, "#gpu.sort<tile = 256>", 1),
    (SORT, "#gpu.sort<tile = 32>", 7),
    (SCATTER, "#gpu.sorted_scatter<sort = #gpu.sort<tile = 8>>", None),
]
"""Programs, a plan for their computation, and the number of device functions that it takes."""


@pytest.mark.long(21)
@pytest.mark.parametrize(("text", "plan", "functions"), OVERRIDES, ids=[plan for _, plan, _ in OVERRIDES])
def test_results_do_not_depend_on_the_plan(text: str, plan: str, functions: int | None) -> None:
    ctx, target = make_context(), nvptx("sm_90")
    module = parse_module(text, "test.mlir", ctx)
    rng = np.random.default_rng(0)
    types = [argument.type for argument in module.body.block.first_op.body.block.args]  # pyright: ignore
    arrays = [
        rng.integers(0, t.get_shape()[0] // 5, t.get_shape()).astype(np.int32)
        if str(t.element_type) == "i32"
        else rng.uniform(0.5, 2.0, t.get_shape()).astype({"f32": np.float32, "f16": np.float16}[str(t.element_type)])
        for t in types
    ]
    want = evaluate(parse_module(text, "test.mlir", make_context()), arrays)
    passes = [*target.front, *target.fusion(True), *target.passes_between(None, "loops")]
    planned = passes.index("plan-gpu-kernels") + 1
    run_passes(ctx, module, passes[:planned], verify=True)
    (leader,) = [op for op in module.walk() if PLAN in op.attributes and JOINED not in op.attributes]
    assert str(leader.attributes[PLAN]) != plan, "the plan is another than the automatic one"
    leader.attributes[PLAN] = Parser(ctx, plan).parse_attribute()
    # Planning again changes nothing.
    run_passes(ctx, module, passes[planned - 1 :], verify=True)
    if functions is not None:
        assert sum(isinstance(op, GpuFuncOp) for op in module.walk()) == functions
    outputs = [undefined(array.shape, array.dtype) for array in map(np.asarray, want)]
    HostProgram(module).run(arrays, outputs)
    for got, expected in zip(outputs, want, strict=True):
        assert difference(got, np.asarray(expected), 2e-3, False) is None

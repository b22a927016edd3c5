"""A survey that is kept between passes describes the module as the next pass finds it."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.reading import parse_module
from xhlo.hlo_dialect.walking import operations_in
from xhlo.passes.manager.pass_manager import PassManager
from xhlo.targets.cpu.target import CPU
from xhlo.targets.program.pipeline import cached_passes

TEXT = """func.func @main(%x: tensor<64x32xf32>, %y: tensor<32x16xf32>, %n: tensor<4xi32>) -> (tensor<64xf32>, tensor<4xi32>) {
  %low = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.dot %x, %y : (tensor<64x32xf32>, tensor<32x16xf32>) -> tensor<64x16xf32>
  %1 = hlo.tanh %0 : tensor<64x16xf32>
  %2 = hlo.reduce(%1 init: %low) applies hlo.maximum across dimensions = [1] : (tensor<64x16xf32>, tensor<f32>) -> tensor<64xf32>
  %3 = "hlo.sort"(%n) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %4 = hlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "hlo.return"(%4) : (tensor<i1>) -> ()
  }) : (tensor<4xi32>) -> tensor<4xi32>
  return %2, %3 : tensor<64xf32>, tensor<4xi32>
}"""


def test_a_survey_that_is_kept_is_of_the_module_as_it_is() -> None:
    ctx = make_context()
    module = parse_module(TEXT, "<test>", ctx)
    kept: list[str] = []

    def compare(name: str, changed: ModuleOp) -> None:
        if manager.survey is not None:
            assert manager.survey.ops == operations_in(changed), name
            kept.append(name)

    passes = cached_passes((*CPU.front, *CPU.fusion(), *CPU.passes_between(None, "llvm")))
    manager = PassManager(ctx, passes, verify_end=False, watch=compare)
    manager.run(module)
    assert {"convert-hlo-to-linalg", "bufferize", "plan-buffers", "convert-to-llvm"} <= set(kept)

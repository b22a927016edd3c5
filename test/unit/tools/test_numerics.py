"""`--verify-numerics`: the pass that changes a program's results is named, and right passes are not."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from conformance import SKIP, jax_program, jax_programs, stablehlo_programs, stablehlo_text
from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.reading import parse_module
from xhlo.passes.manager.pass_manager import PassManager
from xhlo.passes.manager.pipelines import build_passes
from xhlo.targets.cpu.target import CPU
from xhlo.tools.numerics.verifier import NumericsVerifier

PROGRAM = """
func.func @main(%x: tensor<8x8xf32>, %y: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8xi32>) {
  %0 = hlo.add %x, %y : tensor<8x8xf32>
  %1 = hlo.exponential %0 : tensor<8x8xf32>
  %2 = hlo.multiply %1, %x : tensor<8x8xf32>
  %3 = hlo.iota dim = 0 : tensor<8xi32>
  return %2, %3 : tensor<8x8xf32>, tensor<8xi32>
}"""

WRONG = '''
"""Passes that are wrong on purpose."""

from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.passes import ModulePass

from xhlo.hlo_dialect.ops.elementwise_binary import AddOp, SubtractOp


@dataclass(frozen=True)
class WrongSignPass(ModulePass):
    """Take sums for differences."""

    name = "wrong-sign"

    def apply(self, ctx, op):
        for inner in list(op.walk()):
            if isinstance(inner, AddOp):
                new = SubtractOp.create(operands=inner.operands, result_types=inner.result_types, location=inner.location)
                inner.parent.insert_op_before(new, inner)
                inner.results[0].replace_all_uses_with(new.results[0])
                inner.detach()
                inner.erase()


@dataclass(frozen=True)
class WrongScalarsPass(ModulePass):
    """Take sums of scalars for differences."""

    name = "wrong-scalars"

    def apply(self, ctx, op):
        for inner in list(op.walk()):
            if isinstance(inner, arith.AddfOp):
                new = arith.SubfOp(inner.lhs, inner.rhs)
                inner.parent.insert_op_before(new, inner)
                inner.result.replace_all_uses_with(new.result)
                inner.detach()
                inner.erase()
'''


def verified(text: str, passes: Sequence[str], inputs: Sequence[Any] | None = None) -> NumericsVerifier:
    ctx = make_context()
    module = parse_module(text, "test.mlir", ctx)
    verifier = NumericsVerifier(module, inputs)
    PassManager(ctx, build_passes(passes), watch=verifier.after).run(module)
    return verifier


def test_right_passes(run_hlo_opt: Any) -> None:
    done = run_hlo_opt(PROGRAM, "--fuse", "--lower", "--verify-numerics")
    assert done.status == 0 and "llvm.func" in done.out


def test_a_wrong_pass_is_named(run_hlo_opt: Any, tmp_path: Path, no_files: None) -> None:
    path = tmp_path / "wrong.py"
    path.write_text(WRONG)
    done = run_hlo_opt(PROGRAM, "--load", str(path), "-p", "cse,wrong-sign,simplify-hlo", "--verify-numerics")
    assert done.status == 3 and "pass 'wrong-sign' changes result 0: relative error" in done.err
    assert "at 'hlo.subtract' op (input.mlir:3:" in done.err
    # A process loads a file once.
    done = run_hlo_opt(PROGRAM, "--fuse", "--lower=linalg", "--wrong-scalars", "-p", "bufferize", "--verify-numerics")
    assert done.status == 3 and "pass 'wrong-scalars' changes result 0" in done.err


def test_hlo_run_verifies_its_passes(run_hlo_run: Any) -> None:
    done = run_hlo_run(PROGRAM, "--seed=1", "--verify-numerics", "--compare")
    assert done.status == 0, done.err
    refused = run_hlo_run(PROGRAM, "--seed=1", "--verify-numerics", "--target=reference")
    assert refused.status == 2 and "is for the target cpu" in refused.err


def test_other_targets_are_refused(run_hlo_opt: Any) -> None:
    done = run_hlo_opt(PROGRAM, "--fuse", "--target=nvptx", "--verify-numerics")
    assert done.status == 1 and "it is for the target cpu" in done.err


def test_complex_arguments_are_split() -> None:
    text = """func.func @main(%x: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
      %0 = hlo.multiply %x, %x : tensor<4xcomplex<f32>>
      return %0 : tensor<4xcomplex<f32>>
    }"""
    verified(text, CPU.passes_to("linalg"))


@pytest.mark.long(8)
@pytest.mark.skipif(not jax_programs(), reason=SKIP)
@pytest.mark.sample(6)
@pytest.mark.parametrize("name", jax_programs())
def test_the_front_keeps_results_of_jax_programs(name: str) -> None:
    program = jax_program(name)
    verified(program.text, CPU.passes_to(None), program.inputs)


@pytest.mark.long
@pytest.mark.skipif(not jax_programs(), reason=SKIP)
def test_kernels_keep_results() -> None:
    program = jax_program(jax_programs()[0])
    verified(program.text, CPU.passes_to("linalg"), program.inputs)


@pytest.mark.skipif(not stablehlo_programs(), reason=SKIP)
def test_the_front_keeps_results_of_stablehlo_programs() -> None:
    """Those without inputs check themselves; `simplify-hlo` and the passes before it run one by one."""
    static = [program.name for program in stablehlo_programs() if program.static][::40]
    for name in static:
        text = stablehlo_text(name)
        if "quant" not in text and "interpreter." not in text:
            verified(text, CPU.passes_to(None), ())
    assert len(static) > 5

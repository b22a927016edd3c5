"""Any level runs: a program printed at any level, also by passes one by one, is read, compiled and called right."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import conformance
import xhlo
from xhlo.hlo_dialect.diagnostics import DiagnosticError
from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.printing import print_module
from xhlo.hlo_dialect.reading import parse_module
from xhlo.targets.cpu.target import CPU
from xhlo.targets.program.pipeline import pass_name, run_passes
from xhlo.targets.program.target import Target
from xhlo.targets.simt.target import SIMT

LEVELS = ("fused", "linalg", "loops", "llvm")

PROGRAM = """
func.func @main(%x: tensor<4x8xf32>, %z: tensor<4xcomplex<f32>>, %u: tensor<4xui8>, %i: tensor<4xi1>)
    -> (tensor<4xf32>, tensor<4xcomplex<f32>>, tensor<4xui8>, tensor<4xi1>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %one = stablehlo.constant dense<200> : tensor<4xui8>
  %w = stablehlo.constant dense<2.0> : tensor<8x4xf32>
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [1]
    : (tensor<4x4xf32>, tensor<f32>) -> tensor<4xf32>
  %2 = stablehlo.multiply %z, %z : tensor<4xcomplex<f32>>
  %3 = stablehlo.divide %one, %u : tensor<4xui8>
  %4 = stablehlo.not %i : tensor<4xi1>
  %5:2 = "stablehlo.sort"(%1, %3) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<ui8>, %d: tensor<ui8>):
    %less = stablehlo.compare LT, %c, %d : (tensor<ui8>, tensor<ui8>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  }) {dimension = 0 : i64} : (tensor<4xf32>, tensor<4xui8>) -> (tensor<4xf32>, tensor<4xui8>)
  return %5#0, %2, %5#1, %4 : tensor<4xf32>, tensor<4xcomplex<f32>>, tensor<4xui8>, tensor<4xi1>
}
"""

ARGUMENTS = (
    np.arange(32, dtype=np.float32).reshape(4, 8),
    np.array([1 + 2j, 3, -1j, 0], np.complex64),
    np.array([3, 200, 7, 1], np.uint8),
    np.array([True, False, True, False]),
)


def texts_after_each_pass(text: str, target: Target) -> list[tuple[str, str]]:
    """The program as text after each pass of the target's pipeline."""
    ctx = make_context()
    module = parse_module(text, "program.mlir", ctx)
    texts: list[tuple[str, str]] = []
    for spec in target.passes_to(target.last_stage):
        run_passes(ctx, module, (spec,))
        texts.append((spec, print_module(module)))
    return texts


@pytest.mark.parametrize("target", [CPU, SIMT], ids=lambda target: target.name)
def test_the_pipeline_goes_on_after_any_pass(target: Target) -> None:
    wanted = xhlo.compile(PROGRAM)(*ARGUMENTS)
    kernels = [(kernel.name, kernel.kind, kernel.bytes) for kernel in xhlo.compile(PROGRAM, target=target.name).kernels]
    for spec, text in texts_after_each_pass(PROGRAM, target):
        executable = xhlo.compile(text, target=target.name)
        for actual, expected in zip(executable(*ARGUMENTS), wanted, strict=True):
            assert actual.dtype == expected.dtype, spec
            np.testing.assert_array_equal(actual, expected, err_msg=spec)
        assert [(kernel.name, kernel.kind, kernel.bytes) for kernel in executable.kernels] == kernels, spec


@pytest.mark.skipif(not conformance.ROOT.is_dir(), reason=conformance.SKIP)
@pytest.mark.parametrize(
    ("name", "level"), list(zip(conformance.jax_programs(), itertools.cycle(LEVELS), strict=False))
)
def test_jax_program_from_a_level(name: str, level: str) -> None:
    program = conformance.jax_program(name)
    ctx = make_context()
    module = parse_module(program.text, "program.mlir", ctx)
    run_passes(ctx, module, CPU.passes_to(None if level == "fused" else level))
    results = xhlo.compile(print_module(module))(*program.inputs)
    assert not conformance.wrong_outputs(program, results if isinstance(results, tuple) else (results,))


def test_executables_give_text_that_runs() -> None:
    executable = xhlo.compile(PROGRAM)
    again = xhlo.compile(executable.as_text("fused"))
    assert again.as_text("fused") == executable.as_text("fused")
    assert again.as_text("loops") == executable.as_text("loops")
    from_loops = xhlo.compile(executable.as_text("loops"))
    with pytest.raises(ValueError, match="no stage 'fused': the program was given after the pass 'outline-parallel"):
        from_loops.as_text("fused")


def test_edited_text_of_linalg_runs_as_edited() -> None:
    text = """
      func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
        %0 = stablehlo.add %x, %x : tensor<4xf32>
        return %0 : tensor<4xf32>
      }"""
    linalg = xhlo.compile(text).as_text("linalg")
    edited = linalg.replace("arith.addf", "arith.mulf")
    assert edited != linalg
    x = np.arange(4, dtype=np.float32)
    np.testing.assert_array_equal(xhlo.compile(edited)(x), x * x)


@pytest.mark.parametrize(
    ("level", "old", "new", "message"),
    [
        ("linalg", "inputs = [", "inputs = [tensor<2xf32>, ", "takes and returns 8 values, but xhlo.program states 9"),
        ("linalg", "inputs = [tensor<4x8xf32>", "inputs = [tensor<4x9xf32>", "argument or result 0, but xhlo.program"),
        ("loops", "inputs = [tensor<4x8xf32>", "inputs = [tensor<4x2xf32>", "argument or result 0, but xhlo.program"),
        ("loops", "@main", "@other", "has no function @main, which its attribute xhlo.program names"),
        ("llvm", "outputs = [", "outputs = [tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, ", "but xhlo.program states"),
        ("loops", 'xhlo.after = "outline-parallel-loops"', 'xhlo.after = "lift"', "lowered for another target"),
    ],
)
def test_attributes_that_disagree_are_refused(level: str, old: str, new: str, message: str) -> None:
    ctx = make_context()
    module = parse_module(PROGRAM, "program.mlir", ctx)
    run_passes(ctx, module, CPU.passes_to(level))
    text = print_module(module)
    edited = text.replace(f"{old}(", f"{new}(") if old == "@main" else text.replace(old, new)
    assert edited != text
    with pytest.raises(DiagnosticError, match=message):
        xhlo.compile(edited)


@pytest.mark.parametrize("mode", [{"guard": True}, {"profile": True}])
def test_modes_that_come_too_late_are_refused(mode: dict[str, bool]) -> None:
    text = xhlo.compile(PROGRAM).as_text("loops")
    with pytest.raises(DiagnosticError, match="is past 'outline-parallel-loops'"):
        xhlo.compile(text, **mode)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("target", [CPU, SIMT], ids=lambda target: target.name)
def test_a_pass_that_ran_changes_nothing_or_says_so(target: Target) -> None:
    wanted = xhlo.compile(PROGRAM)(*ARGUMENTS)
    refused: list[str] = []
    for spec, text in texts_after_each_pass(PROGRAM, target):
        ctx = make_context()
        module = parse_module(text, "program.mlir", ctx)
        try:
            run_passes(ctx, module, (spec,), verify=True)
        except DiagnosticError:
            refused.append(spec)
            continue
        if (again := print_module(module)) != text:
            results = xhlo.compile(again, target=target.name)(*ARGUMENTS)
            for actual, expected in zip(results, wanted, strict=True):
                np.testing.assert_array_equal(actual, expected, err_msg=spec)
    assert {pass_name(spec) for spec in refused} <= {"bufferize", "plan-gpu-kernels", "map-kernels-to-gpu"}

"""The text of each level is MLIR: independent readers, upstream's own code, parse and verify it."""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
from typing import Any

import pytest

import conformance
from xhlo.hlo_dialect.diagnostics import DiagnosticError
from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.printing import print_module
from xhlo.hlo_dialect.reading import parse_module
from xhlo.targets.cpu.target import CPU
from xhlo.targets.nvptx.target import NVPTX
from xhlo.targets.program.pipeline import run_passes

OURS = ("hlo.", "linalg_ext.", "math_ext.", "cpu.", "check.")
"""The dialects that only xhlo knows: upstream reads them in generic form."""

MLIR_OPT = next(
    filter(None, map(shutil.which, ("mlir-opt", *(f"mlir-opt-{version}" for version in range(30, 18, -1))))), None
)

SLICES = """
func.func @main(%x: tensor<8x6xf32>, %i: tensor<i32>) -> tensor<8x3xf32> {
  %0 = stablehlo.slice %x [0:8, 0:3] : (tensor<8x6xf32>) -> tensor<8x3xf32>
  %1 = stablehlo.slice %x [0:8, 3:6] : (tensor<8x6xf32>) -> tensor<8x3xf32>
  %2 = stablehlo.multiply %0, %1 : tensor<8x3xf32>
  %3 = "stablehlo.case"(%i) ({
    stablehlo.return %2 : tensor<8x3xf32>
  }, {
    %4 = stablehlo.sine %2 : tensor<8x3xf32>
    stablehlo.return %4 : tensor<8x3xf32>
  }) : (tensor<i32>) -> tensor<8x3xf32>
  return %3 : tensor<8x3xf32>
}
"""


def _for_mlir_opt(text: str) -> str:
    """Generic text for the installed version: before 20 the mask of a shuffle was an array of attributes."""
    old = MLIR_OPT is not None and MLIR_OPT.endswith("-19")
    return re.sub(r"mask = array<i64: ([^>]*)>", r"mask = [\1]", text) if old else text


def texts_by_stage(text: str, target: Any = CPU) -> dict[str, tuple[str, str]]:
    """A program after fusion and after each stage of the lowering, in short and in generic form."""
    ctx = make_context()
    module = parse_module(text, "program.mlir", ctx)
    found: dict[str, tuple[str, str]] = {}
    stages = {"fused": target.passes_to(None)}
    previous = None
    for stage in target.lowering:
        stages[stage] = target.passes_between(previous, stage)
        previous = stage
    for stage, passes in stages.items():
        run_passes(ctx, module, passes)
        found[stage] = print_module(module), print_module(module, generic=True)
    return found


@functools.cache
def registry() -> Any:
    pytest.importorskip("jaxlib")
    from jaxlib.mlir import ir
    from jaxlib.mlir._mlir_libs import _jax_mlir_ext

    found = ir.DialectRegistry()
    _jax_mlir_ext.register_dialects(found)
    return found


def check_with_jaxlib(text: str) -> None:
    """Parse and verify with the MLIR in jaxlib, which has most dialects but not linalg. Raises an MLIRError."""
    dialects = registry()
    from jaxlib.mlir import ir

    with ir.Context() as ctx:
        ctx.append_dialect_registry(dialects)
        ctx.load_all_available_dialects()
        ctx.allow_unregistered_dialects = True
        ir.Module.parse(text).operation.verify()


def check_stages(text: str) -> None:
    for stage, (short, generic) in texts_by_stage(text).items():
        own = any(f" {dialect}" in short for dialect in (*OURS, "linalg."))
        assert stage != "llvm" or not own
        check_with_jaxlib(generic if own else short)
        if MLIR_OPT is not None:
            own = any(f" {dialect}" in short for dialect in OURS)
            done = subprocess.run(
                [MLIR_OPT, "--allow-unregistered-dialect", "-"],
                input=_for_mlir_opt(generic) if own else short,
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, f"{stage}: {done.stderr[:500]}"


def test_upstream_reads_every_stage() -> None:
    check_stages(SLICES)


@pytest.mark.long(5)
@pytest.mark.skipif(not conformance.ROOT.is_dir(), reason=conformance.SKIP)
@pytest.mark.sample(9)
@pytest.mark.parametrize("name", conformance.jax_programs() if conformance.ROOT.is_dir() else [])
def test_upstream_reads_every_stage_of_a_jax_program(name: str) -> None:
    check_stages(conformance.jax_program(name).text)


def test_upstream_reads_the_gpu_level() -> None:
    short, _ = texts_by_stage(SLICES, NVPTX)["loops"]
    assert "gpu.launch_func" in short
    check_with_jaxlib(short)


LOOP = """
llvm.func @f(%n: i64, %p: !llvm.ptr) {{
  %one = llvm.mlir.constant(1 : i64) : i64
  llvm.br ^body(%one : i64)
^body(%i: i64):
  %x = llvm.load %p {{access_groups = [#llvm.access_group<id = distinct[7]<>>]}} : !llvm.ptr -> f32
  %next = llvm.add %i, %one : i64
  %more = llvm.icmp "slt" %next, %n : i64
  llvm.cond_br %more, ^body(%next : i64), ^done {{loop_annotation = #llvm.loop_annotation<{facts}>}}
^done:
  llvm.return
}}
"""


@pytest.mark.parametrize(
    ("facts", "printed"),
    [
        ("unroll = #llvm.loop_unroll<count = 4 : i32>", "unroll = <count = 4 : i32>"),
        ("unroll = <full = true>", "unroll = <full = true>"),
        ("unroll = <disable = true>", "unroll = <disable = true>"),
        ("vectorize = <disable = true>, unroll = <count = 2 : i32>", "vectorize = <disable = true>, unroll = <count = 2 : i32>"),
        ("vectorize = <disable = false>, interleave = <count = 4 : i32>, unroll = <disable = true>", "vectorize = <disable = false>, interleave = <count = 4 : i32>, unroll = <disable = true>"),
        ("parallelAccesses = #llvm.access_group<id = distinct[7]<>>", "parallelAccesses = #access_group7"),
    ],
)  # fmt: skip
def test_facts_of_loops_are_read_as_upstream_writes_them(facts: str, printed: str) -> None:
    module = parse_module(LOOP.format(facts=facts), "loop.mlir", make_context())
    text = print_module(module)
    assert f"#llvm.loop_annotation<{printed}>" in text
    check_with_jaxlib(text)
    assert print_module(parse_module(text, "loop.mlir", make_context())) == text
    assert "#access_group7 = #llvm.access_group<id = distinct[7]<>>" in text


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        (
            "mustProgress = true",
            "'mustProgress' of a loop is not supported; vectorize, interleave, unroll and parallelAccesses are",
        ),
        ("unroll = <count = 1 : i32>", "expected <full = true>, <disable = true> or <count = N : i32>, N from 2"),
        ("interleave = <count = 0 : i32>", "expected <count = N : i32>, N from 1"),
        ("unroll = <runtimeDisable = true>", "'runtimeDisable' is not supported here; full and disable and count are"),
        ("unroll = 4 : i32", "expected #llvm.loop_unroll<..>"),
        ("parallelAccesses = 4 : i32", "expected #llvm.access_group<..>"),
    ],
)
def test_facts_of_loops_that_are_refused(facts: str, message: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        parse_module(LOOP.format(facts=facts), "loop.mlir", make_context())
    assert message in str(caught.value)


def test_locations_in_attributes_are_defined_first() -> None:
    text = 'func.func private @f() attributes {place = loc("a.py":3:4)}\n'
    for locations in (False, True):
        printed = print_module(parse_module(text, "f.mlir", make_context()), locations=locations)
        assert printed.startswith('#loc1 = loc("a.py":3:4)\n')
        check_with_jaxlib(printed)
    assert not print_module(
        parse_module("func.func private @f()", "f.mlir", make_context()), locations=True
    ).startswith("#")


@pytest.mark.parametrize("place", ["d0 mod 4", "d0 floordiv 2", "(d0 + d1) mod 8", "d0 mod 8"])
def test_maps_that_are_not_linear_are_refused(place: str) -> None:
    """`d mod size` is the part of an operand that a loop reads only if the loop is not longer than the operand."""
    from xhlo.passes.manager.pipelines import build_passes

    text = f"""
func.func private @f(%x: tensor<8x8xf32>) -> tensor<9x8xf32> attributes {{hlo.kernel = "loop"}} {{
  %0 = tensor.empty() : tensor<9x8xf32>
  %1 = linalg.generic {{indexing_maps = [affine_map<(d0, d1) -> ({place}, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}} ins(%x : tensor<8x8xf32>) outs(%0 : tensor<9x8xf32>) {{
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }} -> tensor<9x8xf32>
  return %1 : tensor<9x8xf32>
}}
"""
    for passes in ("fuse-linalg", "bufferize,convert-linalg-to-scf"):
        ctx = make_context()
        module = parse_module(text, "f.mlir", ctx)
        with pytest.raises(DiagnosticError, match="which is not linear"):
            for one in build_passes(passes):
                one.apply(ctx, module)

"""Functions that only start others are a text of their own, which LLVM does not optimize."""

from __future__ import annotations

import re

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

import xhlo
from attention_programs import Attention
from xhlo.hlo_dialect.dialect import make_context
from xhlo.passes.outline_parallel_loops import transform
from xhlo.targets.cpu import build, jit
from xhlo.targets.cpu.executable import CpuExecutable
from xhlo.targets.cpu.target import CPU
from xhlo.targets.llvm_text.module import Units, emit_units
from xhlo.targets.program.lowering import Lowering
from xhlo.targets.program.pipeline import parse_source
from xhlo.targets.program.source import Source

PRODUCT = """func.func @main(%a: tensor<64x96xf32>, %b: tensor<96x64xf32>) -> tensor<64x64xf32> {
  %0 = hlo.dot_general %a, %b, contracting_dims = [1] x [0]
    : (tensor<64x96xf32>, tensor<96x64xf32>) -> tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}"""

CHAIN = """func.func @main(%a: tensor<70x96xf32>, %b: tensor<96x64xf32>, %c: tensor<64x33xf32>) -> tensor<33xf32> {
  %0 = hlo.dot_general %a, %b, contracting_dims = [1] x [0]
    : (tensor<70x96xf32>, tensor<96x64xf32>) -> tensor<70x64xf32>
  %1 = hlo.dot_general %0, %c, contracting_dims = [1] x [0]
    : (tensor<70x64xf32>, tensor<64x33xf32>) -> tensor<70x33xf32>
  %z = hlo.constant dense<0.0> : tensor<f32>
  %2 = hlo.reduce(%1 init: %z) applies hlo.add across dimensions = [0] : (tensor<70x33xf32>, tensor<f32>) -> tensor<33xf32>
  return %2 : tensor<33xf32>
}"""

EPILOGUE = PRODUCT.replace("return %0", "%1 = hlo.tanh %0 : tensor<64x64xf32>\n  return %1")

ATTENTION = Attention(1, 2, 40, 64, 32, 32)

CONVOLUTION = """func.func @main(%x: tensor<16x8x8x16xf32>, %w: tensor<3x3x16x32xf32>) -> tensor<16x8x8x32xf32> {
  %0 = hlo.convolution(%x, %w)
    dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
    window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
    : (tensor<16x8x8x16xf32>, tensor<3x3x16x32xf32>) -> tensor<16x8x8x32xf32>
  return %0 : tensor<16x8x8x32xf32>
}"""

ADDITION = """func.func @main(%a: tensor<64xi64>) -> tensor<64xi64> {
  %0 = hlo.add %a, %a : tensor<64xi64>
  return %0 : tensor<64xi64>
}"""


def units_of(text: str) -> Units:
    ctx = make_context()
    lowering = Lowering(ctx, parse_source(Source(text, "<test>"), ctx), CPU)
    lowering.to_the_end()
    return emit_units(lowering.module)


def test_a_product_is_all_start() -> None:
    units = units_of(PRODUCT)
    assert units.starting == (True,)
    assert "define void @xhlo_entry(" in units.texts[0]


@pytest.mark.parametrize("columns", [3, 50, 256])
def test_the_chunks_of_a_long_product_are_added_by_a_function_for_all_programs(columns: int) -> None:
    text = f"""func.func @main(%a: tensor<6001x{columns}xf64>) -> tensor<{columns}x{columns}xf64> {{
      %0 = hlo.dot_general %a, %a, contracting_dims = [0] x [0]
        : (tensor<6001x{columns}xf64>, tensor<6001x{columns}xf64>) -> tensor<{columns}x{columns}xf64>
      return %0 : tensor<{columns}x{columns}xf64>
    }}"""
    if columns >= 50:
        assert units_of(text).starting == (True,)
    a = np.random.default_rng(0).standard_normal((6001, columns))
    np.testing.assert_allclose(xhlo.compile(text)(a), a.T @ a, rtol=1e-9, atol=1e-9)


def test_a_constant_that_is_passed_on_is_no_work() -> None:
    """The last pass of an inverse transform takes the factor by which it multiplies."""
    fft = """func.func @main(%a: tensor<128x256xcomplex<f32>>) -> tensor<128x256xcomplex<f32>> {
      %0 = hlo.fft %a, type = IFFT, length = [256] : (tensor<128x256xcomplex<f32>>) -> tensor<128x256xcomplex<f32>>
      return %0 : tensor<128x256xcomplex<f32>>
    }"""
    units = units_of(fft)
    assert units.starting == (True,)
    assert "float 0x" in units.texts[0]


def test_work_is_apart_from_what_starts_it() -> None:
    units = units_of(CHAIN)
    assert units.starting[0] and len(units.texts) > 1 and not any(units.starting[1:])
    start, *work = units.texts
    assert "define void @xhlo_entry(" in start and "x float>" not in start and "load float" not in start
    assert any("load float" in text for text in work) and not any("@xhlo_entry" in text for text in work)


def test_an_epilogue_is_work_apart() -> None:
    units = units_of(EPILOGUE)
    assert units.starting == (True, False)
    start, work = units.texts
    assert "fmul" not in start and "_part_0" in start
    assert "_part_0" in work and "call void @xhlo_shared_" not in work


def test_the_rows_between_two_products_are_work_apart() -> None:
    """In attention, LLVM optimizes the softmax of rows without the loops around the micro-kernels."""
    start, *work = units_of(ATTENTION.text()).texts
    assert "call void @xhlo_shared_" in start and "load float" not in start and "fdiv" not in start
    assert any("fdiv" in text for text in work) and not any("call void @xhlo_shared_" in text for text in work)


@pytest.mark.parametrize("name", ["epilogue", "attention"])
def test_work_apart_computes_the_same_bits(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    text, inputs = EPILOGUE, tuple(rng.normal(size=shape).astype(np.float32) for shape in ((64, 96), (96, 64)))
    if name == "attention":
        text, inputs = ATTENTION.text(), ATTENTION.inputs()

    def nothing(module: ModuleOp, function: FuncOp) -> list[FuncOp]:
        return []

    apart = np.asarray(xhlo.compile(text + "// apart")(*inputs))
    monkeypatch.setattr(transform, "outline_work", nothing)
    assert np.asarray(xhlo.compile(text + "// together")(*inputs)).tobytes() == apart.tobytes()
    if name == "attention":
        np.testing.assert_allclose(apart, ATTENTION.expected()[1], atol=1e-5)


@pytest.mark.parametrize("type_", ["bf16", "f16", "f32", "f64", "i8", "i32"])
def test_constants_that_fill_a_result(type_: str) -> None:
    number = "1.5" if "f" in type_ else "1"
    text = f"""func.func @main() -> tensor<5000x{type_}> {{
      %0 = hlo.constant dense<{number}> : tensor<5000x{type_}>
      return %0 : tensor<5000x{type_}>
    }}"""
    units = units_of(text)
    assert bool(units.shared) == (type_ != "bf16")
    result = np.asarray(xhlo.compile(text)())
    np.testing.assert_array_equal(result.astype(np.float32), np.full(5000, number, np.float32))


def test_the_thunks_of_a_kernel_with_work_of_its_own_are_apart() -> None:
    """The kernel adds up the partial sums of its parallel loop; only the address of the loop's thunk is in its text."""
    text = """func.func @main(%a: tensor<1048576xf32>) -> tensor<f32> {
      %z = hlo.constant dense<0.0> : tensor<f32>
      %0 = hlo.reduce(%a init: %z) applies hlo.add across dimensions = [0] : (tensor<1048576xf32>, tensor<f32>) -> tensor<f32>
      return %0 : tensor<f32>
    }"""
    units = units_of(text)
    assert units.starting == (True, False)
    start, work = units.texts
    assert re.search(r"^define hidden void @xhlo_part_.*\.thunk", start, re.MULTILINE)
    assert re.search(r"^declare void @xhlo_part_.*\.thunk", work, re.MULTILINE)
    assert re.search(r"call void @xhlo_parallel_for\(ptr @xhlo_part_.*\.thunk", work)
    ones = np.ones(1048576, np.float32)
    assert np.asarray(xhlo.compile(text)(ones)) == 1048576


def test_what_starts_a_kernel_is_apart_from_it_or_with_it_if_it_is_brief() -> None:
    assert units_of(ADDITION.replace("<64x", "<6400x")).starting == (True, False)
    assert units_of(ADDITION).starting == (True,)


def test_the_test_whether_borders_count_is_no_work() -> None:
    """A scalar that the function is given says whether all weights are finite, so that zeros add nothing."""
    units = units_of(CONVOLUTION)
    assert units.starting == (True,)
    assert "fcmp oeq float" in units.texts[0]


def test_moving_a_scalar_is_no_work() -> None:
    """The host program stores a constant beside the calls of kernels that take long."""
    text = (
        ADDITION.replace("<64x", "<6400x")
        .replace(") ->", ", %p: tensor<i1>) -> (tensor<i32>,")
        .replace("i64> {", "i64>) {")
    )
    text = text.replace("return %0 :", "%c = hlo.constant dense<7> : tensor<i32>\n  return %c, %0 : tensor<i32>,")
    assert units_of(text).starting == (True, False)


@pytest.mark.parametrize(
    "step",
    [
        "%1 = hlo.multiply %x, %a : tensor<i64>",
        "%0 = hlo.add %x, %a : tensor<i64>\n %1 = hlo.multiply %0, %x : tensor<i64>",
    ],
    ids=["one", "two"],
)
def test_arithmetic_on_a_given_scalar_is_work(step: str) -> None:
    """A recurrence of 64-bit integers is arithmetic like that of indices, but the loop has nothing else."""
    units = units_of(f"""func.func @main(%a: tensor<i64>, %n: tensor<i64>) -> tensor<i64> {{
      %z = hlo.constant dense<0> : tensor<i64>
      %one = hlo.constant dense<1> : tensor<i64>
      %r:2 = hlo.while(%i = %z, %x = %a) : tensor<i64>, tensor<i64>
        cond {{
          %p = hlo.compare LT, %i, %n, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
          hlo.return %p : tensor<i1>
        }} do {{
          {step}
          %j = hlo.add %i, %one : tensor<i64>
          hlo.return %j, %1 : tensor<i64>, tensor<i64>
        }}
      return %r#1 : tensor<i64>
    }}""")
    assert not all(units.starting)


@pytest.mark.parametrize("text", [PRODUCT, CHAIN, CONVOLUTION], ids=["product", "chain", "convolution"])
def test_the_optimizer_would_not_change_bits(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    results: list[bytes] = []
    for level in (jit.QUICK, jit.LEVEL):
        monkeypatch.setattr(build, "QUICK", level)
        executable = xhlo.compile(text + f"// {level}")
        assert isinstance(executable, CpuExecutable)
        arguments = [rng.normal(size=type_.shape).astype(np.float32) for type_ in executable.input_types]
        results.append(np.asarray(executable(*arguments)).tobytes())
        rng = np.random.default_rng(1)
    assert results[0] == results[1]

"""Modules as XLA's HLO text: XLA's parser takes it, it reads back as the same program, before and after fusion."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import conformance
import xhlo
from hlo_texts import DEVICES, HOST, TEXTS, program
from xhlo.frontends.hlo_text.writing.module import write_module
from xhlo.hlo_dialect.diagnostics import DiagnosticError
from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.printing import print_module
from xhlo.hlo_dialect.reading import parse_module
from xhlo.hlo_dialect.reference import evaluate
from xhlo.targets.cpu.target import CPU
from xhlo.targets.program.pipeline import run_passes
from xhlo.tools.hlo_opt import main as hlo_opt


def _accepted(text: str) -> None:
    """XLA's parser takes the text."""
    pytest.importorskip("jaxlib")
    from jaxlib import _hlo

    _hlo.hlo_module_from_text(text)


def _without_names(module: Any) -> str:
    for op in module.walk():
        for value in (*op.results, *(each for region in op.regions for block in region.blocks for each in block.args)):
            value.name_hint = None
    return re.sub(r"@[\w.]+", "@f", print_module(module))


@pytest.mark.parametrize("name", [*TEXTS, *DEVICES, "host"])
def test_reads_back_as_the_same_module(name: str) -> None:
    text = {**TEXTS, **DEVICES, "host": HOST}[name]
    written = write_module(parse_module(text, "x.hlo"))
    _accepted(written)
    once = parse_module(written, "x.hlo")
    again = write_module(once)
    assert _without_names(parse_module(again, "x.hlo")) == _without_names(once)


@pytest.mark.long(7)
@pytest.mark.sample(12)
@pytest.mark.parametrize("name", [one.name for one in conformance.stablehlo_programs() if one.static])
def test_conformance_programs_check_themselves_still(name: str) -> None:
    if name.startswith("quantized_sine"):
        pytest.skip("checks of quantized values have no form in HLO text")
    text = write_module(parse_module(conformance.stablehlo_text(name), name))
    _accepted(text)
    evaluate(parse_module(text, "x.hlo"), ())


@pytest.mark.long(4)
@pytest.mark.sample(12)
@pytest.mark.parametrize("name", conformance.jax_programs())
def test_fused_programs_compute_the_same(name: str) -> None:
    expected = conformance.jax_program(name)
    module, ctx = parse_module(expected.text, name), make_context()
    run_passes(ctx, module, CPU.passes_to(None))
    text = write_module(module)
    _accepted(text)
    pairs = [np.stack([x.real, x.imag], -1) if x.dtype.kind == "c" else x for x in expected.inputs]
    results = xhlo.compile(text)(*pairs)
    found = results if isinstance(results, tuple) else (results,)
    joined = [
        (x[..., 0] + 1j * x[..., 1]).astype(y.dtype) if y.dtype.kind == "c" else x
        for x, y in zip(found, expected.outputs, strict=True)
    ]
    assert conformance.wrong_outputs(expected, joined) == {}


def test_numbers_read_back_exactly() -> None:
    numbers = np.random.default_rng(0).integers(0, 1 << 32, 500, np.uint32)
    special = [0, 1 << 31, 1, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00000, 0x7F800001, 0x7FFFFFFF]
    values = np.concatenate([numbers, np.array(special, np.uint32)])
    builder = xhlo.Builder()
    f32 = builder.constant(values.view(np.float32))
    f64 = builder.constant(np.array([0.1, -0.0, 5e-324, 1.7976931348623157e308, np.nan, -np.inf]))
    c64 = builder.constant(np.array([[1 + 2j, complex(-0.0, np.inf)], [0.1j, 3]], np.complex64))
    text = write_module(builder.build(f32, f64, c64))
    _accepted(text)
    for mine, wanted in zip(evaluate(parse_module(text, "x.hlo"), ()), (values, f64, c64), strict=True):
        if isinstance(wanted, np.ndarray):
            np.testing.assert_array_equal(mine.view(np.uint32), wanted)
    again = evaluate(parse_module(text, "x.hlo"), ())
    assert again[1].tobytes() == np.array([0.1, -0.0, 5e-324, 1.7976931348623157e308, np.nan, -np.inf]).tobytes()
    assert again[2].tobytes() == np.array([[1 + 2j, complex(-0.0, np.inf)], [0.1j, 3]], np.complex64).tobytes()


CAPTURES = """
func.func @main(%x: tensor<4xf32>, %n: tensor<i32>, %p: tensor<i1>) -> (tensor<4xf32>, tensor<4xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %i, %y = stablehlo.while(%a = %zero, %b = %x) : tensor<i32>, tensor<4xf32>
  cond {
    %c = stablehlo.compare LT, %a, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %next = stablehlo.add %a, %one : tensor<i32>
    %twice = stablehlo.add %b, %x : tensor<4xf32>
    stablehlo.return %next, %twice : tensor<i32>, tensor<4xf32>
  }
  %r = "stablehlo.if"(%p) ({
    %s = stablehlo.sine %y : tensor<4xf32>
    stablehlo.return %s : tensor<4xf32>
  }, {
    stablehlo.return %x : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  return %y, %r : tensor<4xf32>, tensor<4xf32>
}
"""


def test_regions_that_use_values_from_outside() -> None:
    text = write_module(parse_module(CAPTURES, "x.mlir"))
    _accepted(text)
    inputs = [np.arange(4, dtype=np.float32), np.int32(3), np.bool_(True)]
    arrays = [np.asarray(one) for one in inputs]
    wanted = evaluate(parse_module(CAPTURES, "x.mlir"), arrays)
    for mine, other in zip(evaluate(parse_module(text, "x.hlo"), arrays), wanted, strict=True):
        np.testing.assert_array_equal(mine, other)


BROADCASTS = """
func.func @main(%x: tensor<3x1x2xf32>) -> (tensor<2x4x3xf32>, tensor<5x2xf32>) {
  %a = stablehlo.broadcast_in_dim %x, dims = [2, 1, 0] : (tensor<3x1x2xf32>) -> tensor<2x4x3xf32>
  %k = stablehlo.constant dense<2.5> : tensor<5x2xf32>
  return %a, %k : tensor<2x4x3xf32>, tensor<5x2xf32>
}
"""


def test_broadcasts_that_hlo_lacks() -> None:
    text = write_module(parse_module(BROADCASTS, "x.mlir"))
    _accepted(text)
    x = np.arange(6, dtype=np.float32).reshape(3, 1, 2)
    mine, constant = evaluate(parse_module(text, "x.hlo"), [x])
    np.testing.assert_array_equal(mine, np.broadcast_to(x.T, (2, 4, 3)))
    np.testing.assert_array_equal(constant, np.full((5, 2), 2.5, np.float32))


def test_headers_and_locations() -> None:
    text = program(
        """
  a = f32[2,3]{0,1} parameter(0), sharding={devices=[2,1]<=[2]}
  b = f32[2]{0} parameter(1)
  d = f32[2,3]{0,1} negate(a), metadata={op_name="jit(f)/neg" source_file="model.py" source_line=7}
  ROOT t = (f32[2,3]{0,1}, f32[2]{0}) tuple(d, b)""",
        header=", input_output_alias={ {0}: (0, {}, may-alias) }, buffer_donor={ (1, {}) }, num_partitions=2, "
        'entry_computation_layout={(f32[2,3]{0,1}, f32[2]{0})->(f32[2,3]{0,1}, f32[2]{0})}, frontend_attributes={k="v"}',
    )
    written = write_module(parse_module(text, "x.hlo"))
    _accepted(written)
    for expected in (
        "HloModule test, input_output_alias={ {0}: (0, {}, may-alias) }, buffer_donor={ (1, {}) }, "
        "entry_computation_layout={(f32[2,3]{0,1}, f32[2]{0})->(f32[2,3]{0,1}, f32[2]{0})}, num_partitions=2, "
        'frontend_attributes={k="v"}',
        "%a = f32[2,3]{0,1} parameter(0), sharding={devices=[2,1]<=[2]}",
        'metadata={op_name="jit(f)/neg" source_file="model.py" source_line=7 source_column=1}',
    ):
        assert expected in written, written
    assert _without_names(parse_module(written, "x.hlo")) == _without_names(parse_module(text, "x.hlo"))


SOFTMAX = """
func.func @main(%x: tensor<4x8xf32>) -> tensor<4xf32> {
  %e = stablehlo.exponential %x : tensor<4x8xf32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.reduce(%e init: %z) applies stablehlo.add across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  return %s : tensor<4xf32>
}
"""


TRANSFORM = """
func.func @main(%x: tensor<4x16xf32>) -> (tensor<4x9xf32>, tensor<4x16xf32>) {
  %y = stablehlo.fft %x, type = RFFT, length = [16] : (tensor<4x16xf32>) -> tensor<4x9xcomplex<f32>>
  %r = stablehlo.real %y : (tensor<4x9xcomplex<f32>>) -> tensor<4x9xf32>
  %z = stablehlo.fft %y, type = IRFFT, length = [16] : (tensor<4x9xcomplex<f32>>) -> tensor<4x16xf32>
  return %r, %z : tensor<4x9xf32>, tensor<4x16xf32>
}
"""


def test_calls_on_pairs_of_real_numbers_read_back() -> None:
    executable = xhlo.compile(TRANSFORM)
    written = executable.as_text("hlo-text")
    assert 'frontend_attributes={xhlo.complex_operands="0,0",xhlo.complex_results="1"}' in written
    _accepted(written)
    x = np.random.default_rng(0).standard_normal((4, 16)).astype(np.float32)
    for got, wanted in zip(xhlo.compile(written)(x), executable(x), strict=True):
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize(
    ("flags", "message"), [("2,0", "expected 0 or 1 for each value"), ("0", "has no mark for operand 1")]
)
def test_wrong_statements_of_pairs_are_refused(flags: str, message: str) -> None:
    written = xhlo.compile(TRANSFORM).as_text("hlo-text")
    wrong = written.replace('complex_operands="0,0"', f'complex_operands="{flags}"')
    with pytest.raises(DiagnosticError, match=message):
        xhlo.compile(wrong)


def test_stages_and_tools(tmp_path: Any, capfd: pytest.CaptureFixture[str]) -> None:
    fused = xhlo.compile(SOFTMAX).as_text("hlo-text")
    assert "kind=kInput, calls=%fused_computation" in fused
    _accepted(fused)
    path = tmp_path / "x.mlir"
    path.write_text(SOFTMAX)
    written = tmp_path / "x.hlo"
    assert hlo_opt(["--emit=hlo-text", str(path), "-o", str(written)]) == 0
    assert "fusion" not in written.read_text() and " reduce(" in written.read_text()
    assert hlo_opt([str(written)]) == 0
    assert "hlo.reduce" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "func.func @main(%x: tensor<?xf32>, %n: tensor<1xi32>) -> tensor<?xf32> {\n"
            "  %y = stablehlo.dynamic_iota %n, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>\n"
            "  return %y : tensor<?xf32>\n}",
            "x.mlir:2:8: error: 'hlo.dynamic_iota' op has no form in HLO text",
        ),
        ("module {}", "has no function @main"),
    ],
)
def test_what_hlo_lacks_is_refused(text: str, message: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        write_module(parse_module(text, "x.mlir"))
    assert message in str(caught.value)


def test_functions_of_chlo_are_decomposed_or_named() -> None:
    text = """func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %a = chlo.erf %x : tensor<4xf32> -> tensor<4xf32>
  %b = chlo.digamma %x : tensor<4xf32> -> tensor<4xf32>
  return %a, %b : tensor<4xf32>, tensor<4xf32>
}"""
    assert " erf(" in write_module(parse_module(text.replace("digamma", "sinh"), "x.mlir"))
    written = write_module(parse_module(text, "x.mlir"))
    _accepted(written)
    assert "digamma" not in written and " log(" in written

"""
Broken modules: each gives located errors, quickly and in little memory, and never any exception but DiagnosticError.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from counting import calls
from own_process import importing
from xhlo.hlo_dialect.diagnostics import DiagnosticError, file_location
from xhlo.hlo_dialect.reading import parse_module

CALLS, CALLS_PER_CHARACTER = 200_000, 50
"""The most work that refusing a text may take; it grows with the length of the text."""
BYTES = 1 << 30
MARK = "§"
"""Marks the place of the first error in a broken module."""


def body(text: str) -> str:
    """A function with these lines as its body; %x and %y are 4 x f32, %i a scalar i32, %p a scalar i1."""
    return (
        "func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>, %i: tensor<i32>, %p: tensor<i1>) -> tensor<4xf32> {\n"
        f"{text}\n"
        "  return %x : tensor<4xf32>\n"
        "}\n"
    )


def nested_regions(depth: int) -> str:
    """Regions of unknown operations in each other, generic syntax."""
    opening = '"test.op"() ({\n' * depth
    return f"{opening}{'}) : () -> ()' * depth}"


def nested_ifs(depth: int) -> str:
    opening = '%r = "stablehlo.if"(%p) ({\n' * depth
    return body(opening)


def call_chain(length: int) -> str:
    """Functions that call each other in a ring."""
    functions = [
        f"func.func private @f{index}() {{\n  {MARK if index == length - 1 else ''}call @f{(index + 1) % length}() : () -> ()\n"
        "  return\n}\n"
        for index in range(length)
    ]
    return "".join(functions)


SYNTAX = {
    "garbage": (f"{MARK}]]", "expected an operation"),
    "stray_brace": (f"module {{\n}}\n{MARK}}}", "expected an operation, got '}'"),
    "nul_character": (body(f"  {MARK}\0"), "unexpected character"),
    "unknown_character": (body(f"  %0 = stablehlo.abs {MARK}$ : tensor<4xf32>"), "unexpected character"),
    "missing_comma": (body(f"  %0 = stablehlo.add %x {MARK}%y : tensor<4xf32>"), "expected"),
    "missing_operand": (body(f"  %0 = stablehlo.add %x, {MARK}: tensor<4xf32>"), "operand expected"),
    "missing_type": (body(f"  %0 = stablehlo.abs %x :\n  {MARK}%1 = stablehlo.abs %x : tensor<4xf32>"), "expected"),
    "missing_equals": (body(f"  %0 {MARK}stablehlo.abs %x : tensor<4xf32>"), "expected '='"),
    "missing_name": (body(f"  %0 = {MARK}= %x"), "expected the name of an operation"),
    "percent_alone": (body(f"  {MARK}% = stablehlo.abs %x : tensor<4xf32>"), "expected a name or a number after '%'"),
    "unclosed_string": (body(f'  {MARK}"stablehlo.abs(%x) : (tensor<4xf32>) -> tensor<4xf32>'), "string literal"),
    "unclosed_string_long": (f'{MARK}"{"a" * 100_000}', "string literal"),
    "bad_escape": (body(f'  {MARK}"stable\\qhlo.abs"(%x) : (tensor<4xf32>) -> tensor<4xf32>'), "string literal"),
    "long_blank_line": (body(f"{' ' * 100_000}{MARK}\0"), "unexpected character"),
    "attribute_without_value": (body(f"  %0 = stablehlo.abs %x {{a = {MARK}}} : tensor<4xf32>"), "attribute expected"),
    "duplicate_attribute": (f"module attributes {{a = 1 : i32, a = 2 : i32}} {MARK}{{\n}}", "duplicate key 'a'"),
    "function_without_name": (f"func.func {MARK}(%x: tensor<f32>) {{\n}}", "symbol name"),
    "function_without_body_end": (f"func.func @main() {{\n  return\n{MARK}", "the end of the text"),
    "argument_without_type": (f"func.func @main(%x{MARK}) {{\n  return\n}}", "expected ':'"),
    "mixed_arguments": (f"func.func @main(%x: tensor<f32>, tensor<f32>) {MARK}{{\n  return\n}}", "named"),
    "alias_without_value": (f"#a ={MARK}", "attribute expected"),
    "alias_redefined": (f"#a = 1 : i32\n{MARK}#a = 2 : i32\n", "alias"),
    "location_unknown_form": (body(f"  %0 = stablehlo.abs %x : tensor<4xf32> loc({MARK}nowhere)"), "location"),
    "location_alias_undefined": (body(f"  %0 = stablehlo.abs %x : tensor<4xf32> loc({MARK}#gone)"), "#gone"),
    "location_alias_cycle": (
        "#loc1 = loc(callsite(#loc2 at unknown))\n#loc2 = loc(callsite(#loc1 at unknown))",
        "#loc",
    ),
    "metadata_unknown_section": (f'{{-# secrets: {MARK}{{a: {{b: "0x00"}}}} #-}}', "unknown section 'secrets'"),
}

TRUNCATED = {
    "in_function_head": (f"func.func @main(%x: tensor<4xf32>{MARK}", "expected"),
    "in_type": (f"func.func @main(%x: tensor<4x{MARK}", "type"),
    "in_operands": (f"func.func @main(%x: tensor<4xf32>) {{\n  %0 = stablehlo.add %x,{MARK}", "operand expected"),
    "in_constant": (f"func.func @main() {{\n  %0 = stablehlo.constant dense<{MARK}[1.0, 2.0", "expected '>'"),
    "in_hex_constant": (f'func.func @main() {{\n  %0 = stablehlo.constant dense<{MARK}"0x0000', "expected '>'"),
    "in_attribute": (f'module attributes {{a = {MARK}"b', "string literal"),
    "in_region": (f"func.func @main() {{\n  %0 = stablehlo.constant dense<1.0> : tensor<f32>\n{MARK}", "the end of"),
    "in_location": (f'module {{\n}} loc("a":1{MARK}', "expected ':'"),
    "in_metadata": (f'{{-# dialect_resources: {{builtin: {{a: "0x00"{MARK}', "expected"),
}

NAMES = {
    "unknown_operation": (body(f"  %0 = {MARK}stablehlo.abbs %x : tensor<4xf32>"), "did you mean 'stablehlo.abs'"),
    "unknown_dialect": (body(f"  %0 = {MARK}nowhere.op %x : tensor<4xf32>"), "unknown operation 'nowhere.op'"),
    "unknown_generic": (body(f'  %0 = {MARK}"stablehlo.nothing"(%x) : (tensor<4xf32>) -> tensor<4xf32>'), "unknown op"),
    "unknown_short": (body(f"  %0 = {MARK}abs %x : tensor<4xf32>"), "unknown operation 'abs'"),
    "unknown_attribute": (
        body(f"  %0 = stablehlo.abs %x {{a = {MARK}#nowhere.attr}} : tensor<4xf32>"),
        "'nowhere.attr' is not registered",
    ),
    "unknown_enum_attribute": (
        body(
            "  %0 = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0], precision = "
            f"[{MARK}LOUD, DEFAULT] : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>"
        ),
        "DEFAULT",
    ),
    "unknown_type": (f"func.func @main(%x: tensor<4x{MARK}f31>) {{\n  return\n}}", "type"),
    "unknown_dialect_type": (f"func.func @main(%x: {MARK}!nowhere.type) {{\n  return\n}}", "'nowhere.type'"),
    "unknown_alias": (f"func.func @main(%x: {MARK}!alias) {{\n  return\n}}", "'!alias'"),
    "unknown_property": (
        body(f'  %0 = {MARK}"stablehlo.abs"(%x) <{{loudness = 3 : i32}}> : (tensor<4xf32>) -> tensor<4xf32>'),
        "loudness",
    ),
    "missing_property": (
        body(f'  %0 = {MARK}"stablehlo.transpose"(%x) : (tensor<4xf32>) -> tensor<4xf32>'),
        "'hlo.transpose' op .*permutation",
    ),
    "wrong_property": (
        body(f'  %0 = {MARK}"stablehlo.transpose"(%x) <{{permutation = 3 : i32}}> : (tensor<4xf32>) -> tensor<4xf32>'),
        "'hlo.transpose' op",
    ),
    "unknown_resource": (
        "func.func @main() {\n  %0 = stablehlo.constant dense_resource<§a> : tensor<4xf32>\n  return\n}\n"
        '{-#\n  dialect_resources: {builtin: {a: "0x04"}}\n#-}',
        "resource 'a'",
    ),
}

TYPES = {
    "width_zero": (f"func.func @main(%x: tensor<4x{MARK}i0>) {{\n  return\n}}", "bits"),
    "width_huge": (f"func.func @main(%x: {MARK}i99999999999) {{\n  return\n}}", "bits"),
    "width_thousands_of_digits": (f"func.func @main(%x: {MARK}i{'9' * 6000}) {{\n  return\n}}", "bits"),
    "negative_dimension": (f"func.func @main(%x: tensor<{MARK}-4xf32>) {{\n  return\n}}", "type"),
    "dimension_beyond_64_bits": (f"func.func @main(%x: tensor<{MARK}99999999999999999999xf32>) {{\n}}", "larger than"),
    "dimension_thousands_of_digits": (f"func.func @main(%x: tensor<{MARK}{'9' * 6000}xf32>) {{\n}}", "digits"),
    "complex_of_tensor": (f"func.func @main(%x: complex<{MARK}tensor<f32>>) {{\n  return\n}}", "complex"),
    "tensor_without_element": (f"func.func @main(%x: tensor<4x{MARK}>) {{\n  return\n}}", "type"),
    "operand_type": (body(f"  %0 = stablehlo.abs {MARK}%x : tensor<5xf32>"), "tensor<5xf32>"),
    "result_count": (body(f"  {MARK}%0:2 = stablehlo.abs %x : tensor<4xf32>"), "has 1 results, but 2 are named"),
    "result_index": (
        body(
            f"  %0:2 = stablehlo.optimization_barrier %x, %y : tensor<4xf32>, tensor<4xf32>\n"
            f"  %1 = stablehlo.abs {MARK}%0#2 : tensor<4xf32>"
        ),
        "index",
    ),
    "operand_count": (body(f'  %0 = {MARK}"stablehlo.add"(%x) : (tensor<4xf32>) -> tensor<4xf32>'), "'hlo.add' op"),
    "type_count": (body(f'  %0 = "stablehlo.add"(%x, %y) : {MARK}(tensor<4xf32>) -> tensor<4xf32>'), "operand types"),
    "element_types_differ": (
        body(f'  %0 = {MARK}"stablehlo.add"(%x, %i) : (tensor<4xf32>, tensor<i32>) -> tensor<4xf32>'),
        "'hlo.add' op",
    ),
    "not_a_permutation": (
        body(f"  %0 = {MARK}stablehlo.transpose %x, dims = [1] : (tensor<4xf32>) -> tensor<4xf32>"),
        "'hlo.transpose' op transpose_c2",
    ),
    "reshape_count": (
        body(f"  %0 = {MARK}stablehlo.reshape %x : (tensor<4xf32>) -> tensor<5xf32>"),
        "'hlo.reshape' op reshape_c2",
    ),
    "slice_beyond_end": (
        body(f"  %0 = {MARK}stablehlo.slice %x [0:9] : (tensor<4xf32>) -> tensor<9xf32>"),
        "'hlo.slice' op slice_c",
    ),
    "return_type": (
        f"func.func @main(%x: tensor<4xf32>) -> tensor<5xf32> {{\n  {MARK}return %x : tensor<4xf32>\n}}",
        "'func.return' op",
    ),
    "return_count": (f"func.func @main(%x: tensor<f32>) -> tensor<f32> {{\n  {MARK}return\n}}", "'func.return' op"),
}

CONSTANTS = {
    "integer_for_float": (body(f"  %0 = stablehlo.constant dense<{MARK}1> : tensor<f32>"), "floating-point number"),
    "float_for_integer": (body(f"  %0 = stablehlo.constant dense<[1, {MARK}2.5]> : tensor<2xi32>"), "an integer"),
    "boolean_for_integer": (body(f"  %0 = stablehlo.constant dense<{MARK}true> : tensor<i32>"), "'true'"),
    "out_of_range": (body(f"  %0 = stablehlo.constant dense<[1, {MARK}256]> : tensor<2xi8>"), "256 does not fit i8"),
    "negative_unsigned": (body(f"  %0 = stablehlo.constant dense<{MARK}-1> : tensor<ui8>"), "-1 does not fit ui8"),
    "bits_too_wide": (body(f"  %0 = stablehlo.constant dense<{MARK}0x1FFFFFFFF> : tensor<f32>"), "bit pattern"),
    "shape_differs": (body(f"  %0 = stablehlo.constant dense<{MARK}[1.0, 2.0]> : tensor<3xf32>"), "shape"),
    "ragged": (body(f"  %0 = stablehlo.constant dense<[[1], {MARK}[1, 2]]> : tensor<2x2xi32>"), "different shapes"),
    "too_deep": (body(f"  %0 = stablehlo.constant dense<{MARK}{'[' * 20_000}1> : tensor<2xi32>"), "nested deeper"),
    "word": (body(f"  %0 = stablehlo.constant dense<{MARK}nan> : tensor<f32>"), "expected a number"),
    "empty_for_some": (body(f"  %0 = stablehlo.constant dense<{MARK}> : tensor<2xf32>"), "got none"),
    "complex_without_part": (
        body(f"  %0 = stablehlo.constant dense<(1.0{MARK})> : tensor<complex<f32>>"),
        "expected ','",
    ),
    "hex_of_wrong_size": (body(f'  %0 = stablehlo.constant dense<{MARK}"0x00000000"> : tensor<2xi64>'), "16 bytes"),
    "hex_odd": (body(f'  %0 = stablehlo.constant dense<{MARK}"0x000"> : tensor<2xi8>'), "hexadecimal"),
    "hex_not_hex": (body(f'  %0 = stablehlo.constant dense<{MARK}"hello"> : tensor<2xi8>'), "hexadecimal"),
    "dynamic": (body(f"  %0 = stablehlo.constant dense<1.0> : {MARK}tensor<?xf32>"), "static shape"),
    "not_shaped": (body(f"  %0 = stablehlo.constant dense<1.0> : {MARK}f32"), "tensor"),
    "of_tuple": (body(f"  %0 = stablehlo.constant dense<1.0> : {MARK}tensor<2xtuple<f32>>"), "element type"),
    "digits": (body(f"  %0 = stablehlo.constant dense<{MARK}{'9' * 6000}> : tensor<i32>"), "6000 digits"),
    "list_for_huge_shape": (
        body(f"  %0 = stablehlo.constant dense<{MARK}[1.0, 2.0]> : tensor<1152921504606846976xf32>"),
        "shape",
    ),
    "hex_for_huge_shape": (
        body(f'  %0 = stablehlo.constant dense<{MARK}"0x0000803F00000040"> : tensor<1152921504606846976xf32>'),
        "bytes",
    ),
}

VALUES = {
    "undefined": (body(f"  %0 = stablehlo.abs {MARK}%z : tensor<4xf32>"), "use of undefined value '%z'"),
    "redefined": (body(f"  {MARK}%x = stablehlo.abs %y : tensor<4xf32>"), "already defined"),
    "used_before_definition": (
        body(f"  %0 = {MARK}stablehlo.abs %1 : tensor<4xf32>\n  %1 = stablehlo.abs %x : tensor<4xf32>"),
        "'hlo.abs' op operand #0.* does not dominate this use",
    ),
    "used_by_itself": (body(f"  %a = {MARK}stablehlo.abs %a : tensor<4xf32>"), r"operand #0 \(%a\) does not dominate"),
    "of_another_function": (
        "func.func @f(%x: tensor<f32>) {\n  %a = stablehlo.abs %x : tensor<f32>\n  return\n}\n"
        f"func.func @g() {{\n  %b = stablehlo.abs {MARK}%a : tensor<f32>\n  return\n}}",
        "use of undefined value '%a'",
    ),
    "of_an_inner_region": (
        body(
            '  %0 = "stablehlo.if"(%p) ({\n    %a = stablehlo.abs %x : tensor<4xf32>\n'
            "    stablehlo.return %a : tensor<4xf32>\n  }, {\n"
            f"    stablehlo.return {MARK}%a : tensor<4xf32>\n  }}) : (tensor<i1>) -> tensor<4xf32>"
        ),
        "use of undefined value '%a'",
    ),
    "captured_by_fusion": (
        body(
            "  %0 = hlo.fusion loop (%a = %x : tensor<4xf32>) -> tensor<4xf32> {\n"
            f"    %b = hlo.add %a, {MARK}%y : tensor<4xf32>\n    hlo.return %b : tensor<4xf32>\n  }}"
        ),
        "use of undefined value '%y'",
    ),
    "forward_type_differs": (
        body(f"  %0 = stablehlo.abs %1 : tensor<4xf32>\n  {MARK}%1 = stablehlo.abs %i : tensor<i32>"),
        "used with type",
    ),
}

STRUCTURE = {
    "no_terminator": (
        f"func.func @main(%x: tensor<f32>) {{\n  %0 = {MARK}stablehlo.abs %x : tensor<f32>\n}}",
        "termin",
    ),
    "empty_block": (f"{MARK}func.func @main() {{\n^bb0:\n}}", "'func.func' op has an empty block"),
    "empty_function": (f"func.func @main() {MARK}{{\n}}", "at least one block"),
    "label_with_arguments": (f"func.func @main(%x: tensor<f32>) {{\n{MARK}^bb0:\n  return\n}}", "label"),
    "two_terminators": ("func.func @main() {\n  §return\n  return\n}", "'func.return' op"),
    "undefined_block": (f"func.func @main() {{\n  cf.br {MARK}^gone\n}}", "undefined block '\\^gone'"),
    "block_redefined": (f"func.func @main() {{\n  cf.br ^a\n^a:\n  cf.br ^a\n{MARK}^a:\n  return\n}}", "redefinition"),
    "block_dominance": (
        "func.func @main(%c: i1, %x: tensor<f32>) {\n  cf.cond_br %c, ^a, ^b\n^a:\n"
        f"  %0 = stablehlo.abs %x : tensor<f32>\n  cf.br ^b\n^b:\n  %1 = {MARK}stablehlo.abs %0 : tensor<f32>\n  return\n}}",
        "does not dominate",
    ),
    "return_outside": (f"module {{\n  {MARK}func.return\n}}", "'func.return' op"),
    "symbol_redefined": (f"func.func private @f()\n{MARK}func.func private @f()", "redefinition of symbol '@f'"),
    "unknown_callee": (body(f"  {MARK}call @gone() : () -> ()"), "calls '@gone', which is not defined"),
    "callee_operand_count": (
        body(f"  {MARK}call @f(%x) : (tensor<4xf32>) -> ()") + "func.func private @f()",
        "1 operands",
    ),
    "callee_operand_type": (
        body(f"  {MARK}call @f(%x) : (tensor<4xf32>) -> ()") + "func.func private @f(tensor<f32>)",
        "operand #0 has type",
    ),
    "callee_result_type": (
        body(f"  %0 = {MARK}call @f() : () -> tensor<4xf32>") + "func.func private @f() -> tensor<f32>",
        "result #0 has type",
    ),
    "callee_is_module": (
        f"module {{\n  module @f {{\n  }}\n  func.func @main() {{\n    {MARK}call @f() : () -> ()\n    return\n  }}\n}}",
        "which is no function",
    ),
    "recursion": (f"func.func @main() {{\n  {MARK}call @main() : () -> ()\n  return\n}}", "@main -> @main"),
    "recursion_of_two": (call_chain(2), "recursive call: @f0 -> @f1 -> @f0"),
    "recursion_beyond_that_of_python": (call_chain(1100), "recursive call: @f0 -> @f1"),
}

DEPTH = {
    "regions": (nested_regions(20_000), "unknown operation 'test.op'|nested"),
    "ifs": (nested_ifs(20_000), "regions are nested more than"),
    "modules": ("module {\n" * 20_000, "regions are nested more than"),
    "arrays": (f"module attributes {{a = {'[' * 20_000}", "attributes are nested more than"),
    "dictionaries": ("module attributes " + "{a = " * 20_000, "attributes are nested more than"),
    "types": (f"func.func @main(%x: {'tuple<' * 20_000}", "types are nested more than"),
    "function_types": (f"module attributes {{a = {'(' * 20_000}", "nested"),
    "complex_types": (f"func.func @main(%x: {'complex<' * 20_000}", "nested"),
    "locations": (f"module {{\n}} loc({'callsite(' * 20_000}", "locations are nested more than"),
    "fused_locations": (f"module {{\n}} loc({'fused[' * 20_000}", "locations are nested more than"),
    "affine_expressions": (f"module attributes {{a = affine_map<(d0) -> ({'(' * 20_000}", "nested too deeply"),
    "opaque": (f"module attributes {{a = #sdy.op_sharding_rule<{'<' * 20_000}", "end of file|nesting"),
}

TABLES = {
    "syntax": SYNTAX,
    "truncated": TRUNCATED,
    "names": NAMES,
    "types": TYPES,
    "constants": CONSTANTS,
    "values": VALUES,
    "structure": STRUCTURE,
    "depth": DEPTH,
}
CASES = [
    pytest.param(text, message, id=f"{table}-{name}")
    for table, cases in TABLES.items()
    for name, (text, message) in cases.items()
]


def marked(text: str) -> tuple[str, tuple[int, int] | None]:
    """The text without the mark, and the mark's line and column."""
    before, mark, after = text.partition(MARK)
    if not mark:
        return text, None
    return before + after, (before.count("\n") + 1, len(before) - before.rfind("\n"))


def errors_of(text: str, fast: bool = True) -> DiagnosticError:
    with pytest.raises(DiagnosticError) as caught:
        parse_module(text, "bad.mlir", fast=fast)
    return caught.value


def test_there_are_enough_cases() -> None:
    assert len(CASES) >= 60


@pytest.mark.long(5)
@pytest.mark.parametrize("fast", [True, False], ids=["fast", "general"])
@pytest.mark.parametrize(("text", "message"), CASES)
def test_bad_input_is_refused_where_it_is_bad(text: str, message: str, fast: bool) -> None:
    text, place = marked(text)
    found: list[DiagnosticError] = []
    assert calls(lambda: found.append(errors_of(text, fast))) < CALLS + CALLS_PER_CHARACTER * len(text)
    (error,) = found
    for diagnostic in error.diagnostics:
        assert diagnostic.severity == "error"
        assert file_location(diagnostic.location) is not None, diagnostic.message
    first = error.diagnostics[0]
    assert re.search(message, first.message), first.message
    location = file_location(first.location)
    assert location is not None
    if place is not None:
        assert (location.line.data, location.column.data) == place, first.message
    assert len(first.message) < 1000


@pytest.mark.long
def test_bad_input_takes_less_than_a_gigabyte() -> None:
    resource = pytest.importorskip("resource")
    del resource
    script = (
        "import resource\n"
        f"resource.setrlimit(resource.RLIMIT_AS, ({BYTES}, {BYTES}))\n"
        "import test_bad_input as cases\n"
        "for case in cases.CASES:\n"
        "    cases.errors_of(cases.marked(case.values[0])[0])\n"
    )
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "XHLO_NUM_THREADS": "1", **importing(__file__)}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]


def test_all_errors_of_a_module_are_reported() -> None:
    text = body(
        "  %0 = stablehlo.transpose %x, dims = [1] : (tensor<4xf32>) -> tensor<4xf32>\n"
        "  %1 = stablehlo.reshape %x : (tensor<4xf32>) -> tensor<5xf32>\n"
        "  call @gone() : () -> ()"
    )
    messages = [diagnostic.message for diagnostic in errors_of(text).diagnostics]
    assert len(messages) == 3
    assert "transpose_c2" in messages[0]
    assert "reshape_c2" in messages[1]
    assert "@gone" in messages[2]


@pytest.mark.long
def test_every_prefix_of_a_program_is_read_or_refused() -> None:
    text = (
        body(
            "  %0 = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>\n"
            "  %1 = stablehlo.add %x, %y : tensor<4xf32> loc(#loc1)\n"
            '  %2 = "stablehlo.if"(%p) ({\n    stablehlo.return %x : tensor<4xf32>\n  }, {\n'
            "    stablehlo.return %1 : tensor<4xf32>\n  }) : (tensor<i1>) -> tensor<4xf32>"
        )
        + '#loc1 = loc("a.py":1:2)\n'
    )
    for end in range(len(text)):
        for fast in (True, False):
            try:
                parse_module(text[:end], "cut.mlir", fast=fast)
            except DiagnosticError as error:
                assert all(file_location(diagnostic.location) is not None for diagnostic in error.diagnostics)

"""Reading modules: forms of constants, locations, names and operations, and that both readers agree."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from xdsl.dialects.builtin import (
    CallSiteLoc,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    FileLineColLoc,
    FusedLoc,
    ModuleOp,
    NameLoc,
    UnknownLoc,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, result_def

from conformance import ROOT, SKIP
from counting import calls
from xhlo.hlo_dialect import dialect
from xhlo.hlo_dialect.diagnostics import DiagnosticError, file_location
from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.plugins import Plugin
from xhlo.hlo_dialect.printing import print_module
from xhlo.hlo_dialect.reading import fast_path, parse_module
from xhlo.hlo_dialect.reading.attributes import MAX_LOCATION_DEPTH
from xhlo.hlo_dialect.reading.parser import HloParser
from xhlo.hlo_dialect.types import constant_array, is_splat

FILES = sorted(ROOT.glob("*/*.mlir"))


def read(text: str, **options: Any) -> ModuleOp:
    """The module as read by both readers, which must agree."""
    module = parse_module(text, "test.mlir", **options)
    general = parse_module(text, "test.mlir", fast=False, **options)
    assert print_module(module, generic=True, locations=True) == print_module(general, generic=True, locations=True)
    return module


def function(body: str, arguments: str = "%x: tensor<4xf32>, %y: tensor<4xf32>") -> str:
    return f"func.func @main({arguments}) {{\n{body}\n  return\n}}\n"


def operations(module: ModuleOp, name: str) -> list[Operation]:
    return [op for op in module.walk() if op.name == name]


def only(module: ModuleOp, name: str) -> Operation:
    (op,) = operations(module, name)
    return op


def constant(literal: str, type_: str, tail: str = "") -> DenseIntOrFPElementsAttr[Any]:
    op = only(read(function(f"  %0 = stablehlo.constant {literal} : {type_}", "") + tail), "hlo.constant")
    value = op.properties["value"]
    assert isinstance(value, DenseIntOrFPElementsAttr)
    return value


FORMS: tuple[dict[str, Any], ...] = ({}, {"spelling": "stablehlo"}, {"generic": True}, {"locations": True})


@pytest.mark.long(20)
@pytest.mark.sample(turn=[0])
@pytest.mark.skipif(not FILES, reason=SKIP)
@pytest.mark.parametrize("turn", range(len(FORMS)))
@pytest.mark.parametrize("number", range(len(FILES)), ids=lambda number: FILES[number].stem)
def test_both_readers_agree_and_what_is_printed_reads_back(number: int, turn: int) -> None:
    """In one turn each program is read back from one form, in all turns from every form."""
    path = FILES[number]
    modules: list[ModuleOp] = []
    refused: list[str] = []
    for fast in (True, False):
        try:
            # The same module need not be verified again.
            modules.append(parse_module(path.read_text(), path.name, fast=fast, verify=fast))
        except DiagnosticError as error:
            assert "unknown operation" in error.diagnostics[0].message
            refused.append(error.diagnostics[0].message)
    if refused:
        assert not modules and refused[0] == refused[1]
        return
    # This form holds everything that a module does, names of values too.
    printed = [print_module(module, generic=True, locations=True) for module in modules]
    assert printed[0] == printed[1]
    generic = print_module(modules[0], generic=True)
    form = FORMS[(number + turn) % len(FORMS)]
    text = generic if form == {"generic": True} else print_module(modules[0], **form)
    assert print_module(parse_module(text, path.name, verify=False), generic=True) == generic


# Constants ------------------------------------------------------------------------------------------------------

FLOATS = [
    ("dense<0xFF800000>", "tensor<f32>", np.array(-np.inf, np.float32)),
    ("dense<0x7F800000>", "tensor<3xf32>", np.full(3, np.inf, np.float32)),
    ("dense<[0x7FC00000, 1.0]>", "tensor<2xf32>", np.array([np.nan, 1], np.float32)),
    ("dense<0xFC00>", "tensor<f16>", np.array(-np.inf, np.float16)),
    ("dense<0xFF80>", "tensor<bf16>", np.array(-np.inf, ml_dtypes.bfloat16)),
    ("dense<0xFFF0000000000000>", "tensor<f64>", np.array(-np.inf)),
    ("dense<-0.0>", "tensor<f32>", np.array(-0.0, np.float32)),
    ("dense<[1.0, -2.5e-3, 3.]>", "tensor<3xf32>", np.array([1, -2.5e-3, 3], np.float32)),
    ("dense<1.0e40>", "tensor<f32>", np.array(np.inf, np.float32)),
    ("dense<(1.0, -2.0)>", "tensor<complex<f32>>", np.array(1 - 2j, np.complex64)),
    ("dense<[(0xFF800000,0.0), (1.0,2.0)]>", "tensor<2xcomplex<f32>>", np.array([-np.inf + 0j, 1 + 2j], np.complex64)),
    ('dense<"0x0000803F000000C0">', "tensor<2xf32>", np.array([1, -2], np.float32)),
    ('dense<"0x0000803F">', "tensor<2x2xf32>", np.ones((2, 2), np.float32)),
]
INTEGERS = [
    ("dense<-1>", "tensor<i8>", np.array(-1, np.int8)),
    ("dense<[255, -128]>", "tensor<2xi8>", np.array([-1, -128], np.int8)),
    ("dense<255>", "tensor<ui8>", np.array(255, np.uint8)),
    ("dense<0xFF>", "tensor<i32>", np.array(255, np.int32)),
    ("dense<18446744073709551615>", "tensor<ui64>", np.array(2**64 - 1, np.uint64)),
    ("dense<[[1, 2], [3, 4]]>", "tensor<2x2xi64>", np.array([[1, 2], [3, 4]])),
    ("dense<true>", "tensor<i1>", np.array(True)),
    ("dense<[true, false]>", "tensor<2xi1>", np.array([True, False])),
    ('dense<"0x0100">', "tensor<2xi1>", np.array([True, False])),
    ('dense<"0x01">', "tensor<1xi1>", np.array([True])),
    ('dense<"0xFF">', "tensor<3xi1>", np.ones(3, np.bool_)),
    ('dense<"0x0502">', "tensor<10xi1>", np.array([1, 0, 1, 0, 0, 0, 0, 0, 0, 1], np.bool_)),
    ("dense<>", "tensor<0x3xi32>", np.empty((0, 3), np.int32)),
    ("dense<7>", "tensor<0xi32>", np.empty(0, np.int32)),
]


@pytest.mark.parametrize(("literal", "type_", "expected"), FLOATS + INTEGERS)
def test_constants_have_their_bits(literal: str, type_: str, expected: np.ndarray) -> None:
    found = constant_array(constant(literal, type_))
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    assert found.tobytes() == expected.tobytes()


def test_equal_constants_are_equal_however_they_are_written() -> None:
    splat = constant("dense<1.0>", "tensor<3xf32>")
    assert is_splat(splat)
    assert constant("dense<[1.0, 1.0, 1.0]>", "tensor<3xf32>") == splat
    assert constant('dense<"0x0000803F0000803F0000803F">', "tensor<3xf32>") == splat
    assert constant("dense<0x3F800000>", "tensor<3xf32>") == splat
    assert constant("dense<[true, true]>", "tensor<2xi1>") == constant('dense<"0x0101">', "tensor<2xi1>")


def test_splats_are_never_expanded() -> None:
    value = constant("dense<2.5>", "tensor<1073741824x1073741824xf64>")
    assert len(value.data.data) == 8
    assert value.get_shape() == (1 << 30, 1 << 30)


def test_long_lists_are_read_as_a_whole() -> None:
    """Functions in C read it: there is no call in Python per number."""
    numbers = ", ".join(f"{index}.5" for index in range(100_000))
    found: list[DenseIntOrFPElementsAttr] = []
    assert calls(lambda: found.append(constant(f"dense<[{numbers}]>", "tensor<100000xf32>"))) < 50_000
    assert constant_array(found[0])[99_999] == 99_999.5


def test_narrow_types_are_read() -> None:
    assert constant("dense<[7, -8, 15]>", "tensor<3xi4>").data.data == np.array([7, -8, -1], ml_dtypes.int4).tobytes()
    assert constant("dense<1.5>", "tensor<f8E4M3FN>").data.data == np.array(1.5, ml_dtypes.float8_e4m3fn).tobytes()


def test_a_resource_becomes_its_constant() -> None:
    tail = '{-#\n  dialect_resources: {\n    builtin: {\n      weights: "0x040000000000803F00000040"\n    }\n  }\n#-}\n'
    value = constant("dense_resource<weights>", "tensor<2xf32>", tail)
    assert constant_array(value).tolist() == [1.0, 2.0]


def test_an_elided_resource_stays_a_reference() -> None:
    text = "module attributes {t.a = dense_resource<__elided__> : tensor<2xf32>} {\n}"
    module = parse_module(text)
    assert isinstance(module.attributes["t.a"], DenseResourceAttr)
    assert "dense_resource<__elided__> : tensor<2xf32>" in print_module(module)


# Locations ------------------------------------------------------------------------------------------------------


def location_of(written: str, tail: str = "") -> Any:
    text = function(f"  %0 = stablehlo.abs %x : tensor<4xf32> loc({written})") + tail
    return only(read(text), "hlo.abs").location


def test_an_operation_without_location_has_its_place() -> None:
    text = function("  %0 = stablehlo.abs %x : tensor<4xf32>\n\n    %1 = stablehlo.abs %0 : tensor<4xf32>")
    places = [(op.location.line.data, op.location.column.data) for op in operations(read(text), "hlo.abs")]  # type: ignore
    assert places == [(2, 8), (4, 10)]
    assert all(op.location.filename.data == "test.mlir" for op in read(text).walk())  # type: ignore


def test_all_forms_of_locations() -> None:
    place = location_of('"a.py":3:7')
    assert isinstance(place, FileLineColLoc)
    assert (place.filename.data, place.line.data, place.column.data) == ("a.py", 3, 7)
    assert location_of('"a.py":3:7 to 4:9') == place
    assert location_of('"a.py":3:7 to :9') == place
    assert location_of("unknown") == UnknownLoc()
    name = location_of('"jit(f)/add"("a.py":3:7)')
    assert isinstance(name, NameLoc)
    assert name.location == place
    assert isinstance(location_of('"name"'), NameLoc)
    call = location_of('callsite("a.py":3:7 at "b.py":1:1)')
    assert isinstance(call, CallSiteLoc)
    assert call.callee == place
    fused = location_of('fused<"why">["a.py":3:7, unknown]')
    assert isinstance(fused, FusedLoc)
    assert str(fused.metadata) == '"why"'
    assert isinstance(location_of('fused<distinct[0]<#llvm.di_file<"a" in "b">>>["a.py":3:7]'), FusedLoc)


def test_location_aliases_may_follow_their_uses_in_any_order() -> None:
    tail = '#loc1 = loc(callsite(#loc2 at #loc3))\n#loc2 = loc("a.py":3:7)\n#loc3 = loc("b.py":1:1)\n'
    call = location_of("#loc1", tail)
    assert isinstance(call, CallSiteLoc)
    assert call.callee == location_of('"a.py":3:7')
    assert location_of("#loc2", tail) == call.callee


CHAIN = ['#loc0 = loc("a.py":1:1)'] + [
    f'#loc{i} = loc(callsite("f{i}"("a.py":{i}:1) at #loc{i - 1}))' for i in range(1, 1000)
]


@pytest.mark.long(4)
@pytest.mark.parametrize("lines", [CHAIN, CHAIN[::-1]], ids=["in order", "reversed"])
@pytest.mark.parametrize(
    "before", ["", "module attributes {test.a = #sdy.mesh<[]>} {}\n"], ids=["", "after an attribute"]
)
def test_long_chains_of_location_aliases(lines: list[str], before: str) -> None:
    """As deep as Python's stack, or deeper: the innermost place is right in each, and so is that of what is left out."""
    text = before + function("  %0 = stablehlo.abs %x : tensor<4xf32> loc(#loc999)") + "\n" + "\n".join(lines)
    module = read(text)
    op = only(module, "hlo.abs")
    assert isinstance(op.location, CallSiteLoc)
    place = file_location(op.location)
    assert place is not None and place.line.data == 999
    depth, location = 0, op.location
    while isinstance(location, CallSiteLoc):
        depth, location = depth + 1, location.caller
    assert 1 <= depth <= MAX_LOCATION_DEPTH
    assert isinstance(location, FileLineColLoc) and location.line.data == 999 - depth
    print_module(module)


def test_a_call_site_written_out() -> None:
    nested = "callsite(unknown at " * 5000 + '"a.py":1:1' + ")" * 5000
    assert isinstance(location_of(nested), CallSiteLoc)


def test_errors_under_long_chains_of_locations_are_shown() -> None:
    text = function("  %0 = stablehlo.abs %x {a = #sdy.mesh<[]>} : tensor<5xf32> loc(#loc150)")
    with pytest.raises(DiagnosticError, match="tensor<5xf32>"):
        read(text + "\n" + "\n".join(CHAIN[:151]))


def test_locations_on_lines_of_their_own() -> None:
    text = function(
        '  %0 = stablehlo.abs %x : tensor<4xf32>\n  %1 = stablehlo.abs %0 : tensor<4xf32>\n  loc("a.py":1:2)'
    )
    first, second = operations(read(text), "hlo.abs")
    assert first.location.filename.data == "test.mlir"  # type: ignore
    assert second.location.filename.data == "a.py"  # type: ignore


# Names, blocks, attributes --------------------------------------------------------------------------------------


def test_an_empty_text_is_an_empty_module() -> None:
    for text in ("", "\n// nothing\n", "module {\n}"):
        assert not list(read(text).ops)


def test_functions_without_a_module_get_one() -> None:
    module = read("func.func private @f()\nfunc.func private @g()")
    assert [op.sym_name.data for op in module.ops if isinstance(op, FuncOp)] == ["f", "g"]


def test_all_spellings_give_the_same_operation() -> None:
    lines = [
        "stablehlo.add %x, %y : tensor<4xf32>",
        "hlo.add %x, %y : tensor<4xf32>",
        "mhlo.add %x, %y : tensor<4xf32>",
        '"stablehlo.add"(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>',
        '"hlo.add"(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>',
    ]
    module = read(function("\n".join(f"  %{index} = {line}" for index, line in enumerate(lines))))
    assert len(operations(module, "hlo.add")) == len(lines)


def test_properties_as_attributes_and_older_arrays() -> None:
    module = read(
        function(
            '  %0 = "stablehlo.transpose"(%a) <{permutation = array<i64: 1, 0>}> : (tensor<2x3xf32>) -> tensor<3x2xf32>\n'
            '  %1 = "stablehlo.transpose"(%a) {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>\n'
            '  %2 = "stablehlo.transpose"(%a) {permutation = dense<[1, 0]> : tensor<2xi64>} : '
            "(tensor<2x3xf32>) -> tensor<3x2xf32>",
            "%a: tensor<2x3xf32>",
        )
    )
    found = [op.properties["permutation"] for op in operations(module, "hlo.transpose")]
    assert isinstance(found[0], DenseArrayBase)
    assert found[0] == found[1] == found[2]


def test_names_are_scoped_by_function_and_region() -> None:
    read(
        function("  %a = stablehlo.abs %x : tensor<4xf32>")
        + "func.func @g(%x: tensor<f32>, %a: tensor<f32>) {\n  return\n}"
    )
    text = function(
        '  %0 = "stablehlo.if"(%p) ({\n    %a = stablehlo.abs %x : tensor<4xf32>\n    stablehlo.return %a : tensor<4xf32>\n'
        "  }, {\n    %a = stablehlo.negate %x : tensor<4xf32>\n    stablehlo.return %a : tensor<4xf32>\n"
        "  }) : (tensor<i1>) -> tensor<4xf32>\n  %a = stablehlo.abs %0 : tensor<4xf32>",
        "%x: tensor<4xf32>, %p: tensor<i1>",
    )
    read(text)


def test_a_name_means_what_it_means_at_its_place_on_every_line() -> None:
    """Lines of the same form with different operands, or the same operand twice, must not be confused."""
    text = function(
        "  %0 = stablehlo.subtract %x, %x : tensor<4xf32>\n  %1 = stablehlo.subtract %x, %y : tensor<4xf32>\n"
        "  %2 = stablehlo.subtract %y, %x : tensor<4xf32>\n  %3 = stablehlo.subtract %2, %1 : tensor<4xf32>"
    )
    names = [[value.name_hint for value in op.operands] for op in operations(read(text), "hlo.subtract")]
    assert names[:3] == [["x", "x"], ["x", "y"], ["y", "x"]]


def test_lines_of_one_form_differ_in_their_sizes_only() -> None:
    text = function(
        "  %0 = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<4xf32>) -> tensor<4x2xf32>\n"
        "  %1 = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<4xf32>) -> tensor<4x3xf32>\n"
        "  %2 = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<4xf32>) -> tensor<3x4xf32>\n"
        "  %3 = stablehlo.iota dim = 0 : tensor<3xi32>\n  %4 = stablehlo.iota dim = 0 : tensor<5xi32>"
    )
    module = read(text)
    assert [str(op.results[0].type) for op in operations(module, "hlo.broadcast_in_dim")] == [
        "tensor<4x2xf32>",
        "tensor<4x3xf32>",
        "tensor<3x4xf32>",
    ]
    assert [str(op.results[0].type) for op in operations(module, "hlo.iota")] == ["tensor<3xi32>", "tensor<5xi32>"]


def test_forms_are_known_from_other_programs_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Except texts with aliases, whose meaning differs between programs."""
    text = """
    NOTE
    func.func @main(%x: tensor<SIZE>) -> tensor<SIZE> {
      %0 = stablehlo.tanh %x {seventeen = 17 : i32} : tensor<SIZE>
      %1 = stablehlo.add %0, %x {seventeen = #note} : tensor<SIZE>
      return %1 : tensor<SIZE>
    }"""
    monkeypatch.setattr(fast_path, "_forms", {})  # it is full after many programs
    parse_module(text.replace("SIZE", "2xf32").replace("NOTE", '#note = "first"'))
    again = text.replace("SIZE", "3xf32").replace("NOTE", '#note = "second"')
    read_generally: list[str] = []
    parse_operation = HloParser.parse_operation

    def noting(parser: HloParser) -> Operation:
        read_generally.append((op := parse_operation(parser)).name)
        return op

    monkeypatch.setattr(HloParser, "parse_operation", noting)
    module = parse_module(again)
    monkeypatch.undo()
    assert "hlo.tanh" not in read_generally and "hlo.add" in read_generally
    assert print_module(module) == print_module(parse_module(again, fast=False))
    assert "second" in print_module(module)


def test_a_resource_is_what_each_program_says() -> None:
    text = """func.func @main(%x: tensor<2xi8>) -> tensor<2xi8> {
      %0 = stablehlo.custom_call @f(%x) {backend_config = {a = dense_resource<b> : tensor<2xi8>}, api_version = 4 : i32} : (tensor<2xi8>) -> tensor<2xi8>
      return %0 : tensor<2xi8>
    }
{-#
  dialect_resources: { builtin: { b: "0x01000000BYTES" } }
#-}"""
    for data, array in (("0304", "[3, 4]"), ("0506", "[5, 6]")):
        assert f"dense<{array}>" in print_module(read(text.replace("BYTES", data)))


def test_operations_over_several_lines_and_comments() -> None:
    read(
        function(
            "  %0 = stablehlo.add %x, // the first\n    %y : tensor<4xf32>\n  // a comment\n"
            "  %1 = stablehlo.add %x, %y : tensor<4xf32> // another\n  %2 = stablehlo.add %0, %1 :\n tensor<4xf32>\n"
            "  %3 = stablehlo.add %0, %1 : tensor<4xf32>  \t\r"
        )
    )


def test_numbered_blocks() -> None:
    text = "func.func @main(%c: i1) {\n  cf.cond_br %c, ^0, ^1\n^0:\n  cf.br ^1\n^1:\n  return\n}\n"
    assert len(only(read(text), "func.func").regions[0].blocks) == 3


def test_attributes_of_modules_arguments_and_results_are_kept() -> None:
    text = (
        "module @jit_f attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32} {\n"
        '  func.func public @main(%x: tensor<4xf32> {jax.buffer_donor = true, mhlo.sharding = "{replicated}"}, '
        '%y: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> '
        '(tensor<4xf32> {jax.result_info = "result"}) {\n    return %x : tensor<4xf32>\n  }\n}\n'
    )
    printed = print_module(read(text))
    for kept in ("jax.buffer_donor = true", 'mhlo.sharding = "{replicated}"', 'jax.result_info = "result"'):
        assert kept in printed
    assert "mhlo.num_partitions = 1 : i32" in printed
    assert '#sdy.sharding<@mesh, [{"x"}, {}]>' in printed
    assert print_module(read(printed)) == printed


def test_type_and_attribute_aliases() -> None:
    text = "!t = tensor<4xf32>\n#a = [1 : i32, 2 : i32]\nfunc.func @main(%x: !t) attributes {b = #a} {\n  return\n}"
    assert "b = [1 : i32, 2 : i32]" in print_module(read(text))


def test_types_that_are_only_read() -> None:
    types = ("!stablehlo.token", "tensor<2x!quant.uniform<i8:f32, 0.5:-3>>", "tensor<?x4xf32>", "tensor<2xf8E5M2>")
    for type_ in (*types, "tuple<tensor<f32>, tensor<i1>>", "tensor<2xcomplex<f64>>", "tensor<3xui2>"):
        printed = print_module(read(f"func.func private @f({type_})"))
        assert type_.replace("stablehlo", "hlo") in printed
        assert print_module(read(printed)) == printed


def test_unregistered_operations_are_read_where_allowed() -> None:
    text = function('  %0 = "test.op"(%x) {a = #test.attr<1>} : (tensor<4xf32>) -> !test.type')
    with pytest.raises(DiagnosticError, match=r"unknown operation 'test\.op'"):
        parse_module(text)
    printed = print_module(parse_module(text, ctx=make_context(allow_unregistered=True)))
    assert '"test.op"(%x) {a = #test.attr<1>} : (tensor<4xf32>) -> !test.type' in printed


# Speed ----------------------------------------------------------------------------------------------------------


def test_reading_takes_linear_time() -> None:
    def work(count: int) -> int:
        lines = ["  %0 = stablehlo.add %x, %y : tensor<4xf32>"]
        for index in range(1, count, 4):
            lines.append(f"  %{index} = stablehlo.multiply %{index - 1}, %y : tensor<4xf32>")
            lines.append(f"  %{index + 1} = stablehlo.constant dense<{index}.5> : tensor<f32>")
            lines.append(
                f"  %{index + 2} = stablehlo.broadcast_in_dim %{index + 1}, dims = [] : (tensor<f32>) -> tensor<4xf32>"
            )
            lines.append(f"  %{index + 3} = stablehlo.add %{index}, %{index + 2} : tensor<4xf32>")
        text = function("\n".join(lines))
        return calls(lambda: parse_module(text))

    small, large = work(500), work(2000)
    assert large < 6 * small
    assert large < 500 * 2000, "200 calls an operation"


# Installed packages ---------------------------------------------------------------------------------------------


def test_installed_packages_add_operations(monkeypatch: pytest.MonkeyPatch) -> None:
    @irdl_op_definition
    class DoubleOp(IRDLOperation):
        name = "acme.double"
        operand = operand_def()
        result = result_def()
        assembly_format = "$operand attr-dict `:` functional-type($operand, $result)"

    plugin = Plugin(EntryPoint("acme", "acme:OPS", "xhlo.ops"))
    monkeypatch.setattr(dialect, "loaded", lambda group: [(plugin, (DoubleOp,))] if group == "xhlo.ops" else [])
    text = function("  %0 = acme.double %x : (tensor<4xf32>) -> tensor<4xf32>")
    assert isinstance(only(read(text), "acme.double"), DoubleOp)

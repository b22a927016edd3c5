"""The parts of errors besides the message: notes, spans, the name that was meant, the user's spelling, places."""

from __future__ import annotations

from pathlib import Path

import pytest
from xdsl.dialects.builtin import f32
from xdsl.utils.test_value import create_ssa_value

from xhlo.hlo_dialect.diagnostics import DiagnosticError, op_error
from xhlo.hlo_dialect.diagnostics.rendering import render
from xhlo.hlo_dialect.diagnostics.suggestions import did_you_mean, type_suggestion
from xhlo.hlo_dialect.ops.elementwise_binary import AddOp
from xhlo.hlo_dialect.printing import print_module
from xhlo.hlo_dialect.reading import parse_module
from xhlo.hlo_dialect.types import make_tensor
from xhlo.tools import hlo_opt

HEAD = "func.func @main(%abc: tensor<4xf32>, %y: tensor<5xf32>) -> tensor<4xf32> {\n"
TAIL = "  return %abc : tensor<4xf32>\n}\n"


def shown(text: str, fast: bool = True) -> str:
    """The errors of a text as the tools show them."""
    with pytest.raises(DiagnosticError) as caught:
        parse_module(text, "f.mlir", fast=fast)
    return "\n".join(render(one, {"f.mlir": text}) for one in caught.value.diagnostics)


def of_body(body: str, fast: bool = True) -> str:
    return shown(f"{HEAD}  {body}\n{TAIL}", fast)


@pytest.mark.parametrize("fast", [True, False])
def test_an_operand_of_another_type_shows_its_definition(fast: bool) -> None:
    defined = "%0 = stablehlo.abs %abc : tensor<4xf32>\n  %1 = stablehlo.abs %0 : tensor<4xf32>\n"
    assert of_body(defined + "  %2 = stablehlo.abs %1 : tensor<5xf32>", fast).split("\n")[1:] == [
        "  %2 = stablehlo.abs %1 : tensor<5xf32>",
        "                     ^~",
        "f.mlir:3:3: note: previously defined here, with type tensor<4xf32>",
        "  %1 = stablehlo.abs %0 : tensor<4xf32>",
        "  ^~",
    ]


def test_a_value_with_two_types_shows_its_prior_use() -> None:
    used = '"test.op"() ({\n^a:\n  "cf.br"()[^c] : () -> ()\n^b:\n  "test.x"(%v) : (i32) -> ()\n  "cf.br"()[^c] : () -> ()\n'
    from xhlo.hlo_dialect.dialect import make_context

    with pytest.raises(DiagnosticError) as caught:
        parse_module(f'{used}^c:\n  %v = "test.y"() : () -> i64\n}}) : () -> ()', "f.mlir", make_context(True))
    (note,) = caught.value.diagnostics[0].notes
    assert render(note, {}) == "f.mlir:5:12: note: prior use here"


def test_redefinitions_show_what_was_there() -> None:
    assert "f.mlir:2:3: note: previously defined here, with type tensor<4xf32>" in of_body(
        "%0 = stablehlo.abs %abc : tensor<4xf32>\n  %0 = stablehlo.abs %abc : tensor<4xf32>"
    )
    function = "func.func private @f()\n"
    assert "f.mlir:1:1: note: see existing symbol definition here\nfunc.func private @f()\n^~~~~~~~~" in shown(
        function * 2
    )
    blocks = 'func.func @f() {\n  "cf.br"()[^a] : () -> ()\n^a:\n  return\n^a:\n  return\n}'
    assert "f.mlir:3:1: note: previously defined here\n^a:\n^~" in shown(blocks)


def test_verifier_errors_show_the_operands() -> None:
    found = of_body('%0 = "stablehlo.add"(%abc, %y) : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>')
    assert "f.mlir:1:17: note: '%abc' is defined here, with type tensor<4xf32>" in found
    assert "f.mlir:1:38: note: '%y' is defined here, with type tensor<5xf32>" in found
    dominance = "%1 = stablehlo.abs %0 : tensor<4xf32>\n  %0 = stablehlo.abs %abc : tensor<4xf32>"
    assert "f.mlir:3:8: note: it is defined here, with type tensor<4xf32>" in of_body(dominance)


@pytest.mark.parametrize(
    ("body", "token"),
    [
        ("%0 = stablehlo.abs %gone#1 : tensor<4xf32>", "%gone#1"),
        ('%0 = "stablehlo.nothing"(%abc) : (tensor<4xf32>) -> tensor<4xf32>', '"stablehlo.nothing"'),
        ("%0 = stablehlo.abs %abc : !hlo.none<{x, <1>}>", "!hlo.none<{x, <1>}>"),
        ("%0 = stablehlo.abs 0x1F : tensor<4xf32>", "0x1F"),
    ],
)
def test_the_whole_of_what_is_wrong_is_underlined(body: str, token: str) -> None:
    line, mark = of_body(body).split("\n")[1:3]
    start = mark.index("^")
    assert mark.strip() == "^" + "~" * (len(token) - 1) and line[start : start + len(token)] == token


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        (HEAD + "  %0 = stablehlo.abs %abd : tensor<4xf32>\n" + TAIL, "%abc"),
        (HEAD + "  %0 = stablehol.abs %abc : tensor<4xf32>\n" + TAIL, "stablehlo.abs"),
        (HEAD + "  %0 = stablehlo.abss %abc : tensor<4xf32>\n" + TAIL, "stablehlo.abs"),
        (HEAD + "  %0 = stablehlo.transpose %abc, dim = [0] : (tensor<4xf32>) -> tensor<4xf32>\n" + TAIL, "dims"),
        (HEAD + "  %0 = stablehlo.compare LTT, %abc, %abc : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>\n" + TAIL, "LT"),
        (HEAD + "  %0 = stablehlo.abs %abc {a = #stablehlo.dott<>} : tensor<4xf32>\n" + TAIL, "stablehlo.dot"),
        (HEAD + "  %0 = call @mian(%abc) : (tensor<4xf32>) -> tensor<4xf32>\n" + TAIL, "@main"),
        ("func.func private @f(tensor<4xfloat32>)", "f32"),
        ("func.func private @f(int)", "i32"),
        ("func.func private @f(tensr<4xf32>)", "tensor"),
        ("func.func private @f(!stablehlo.tokn)", "stablehlo.token"),
        ("func.func private @f(!stablehloo.token)", "stablehlo"),
        ("func.func private @f(!alais)\n!alias = i32", "!alias"),
    ],
)  # fmt: skip
def test_misspelled_names_are_recognized(text: str, meant: str) -> None:
    assert f"; did you mean '{meant}'?" in shown(text)


def test_no_operation_is_proposed_that_there_is_not() -> None:
    text = shown(HEAD + '  "vhlo.func_v1"() : () -> ()\n' + TAIL)
    assert "unknown operation 'vhlo.func_v1'" in text and "did you mean" not in text


def test_names_of_types_elsewhere_are_known() -> None:
    names = {"float64": "f64", "uint8": "ui8", "int32_t": "i32", "bool": "i1", "pred": "i1", "double": "f64", "u32": "ui32",
             "bfloat16": "bf16", "complex64": "complex<f32>", "Half": "f16", "f8e5m2": "f8E5M2"}  # fmt: skip
    assert {name: type_suggestion(name) for name in names} == {
        name: f"; did you mean '{type_}'?" for name, type_ in names.items()
    }
    assert did_you_mean("12", ["1", "2"]) == "" and did_you_mean("xyz", ["abc"]) == ""


@pytest.mark.parametrize("spelling", ["stablehlo", "mhlo", "hlo"])
def test_messages_spell_operations_as_the_program_does(spelling: str) -> None:
    found = of_body(f'%0 = "{spelling}.add"(%abc, %y) : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>')
    assert f"error: '{spelling}.add' op add_c1" in found
    token = f"%t = {spelling}.create_token : !{spelling}.token\n  %0 = stablehlo.abs %t : !{spelling}.token"
    assert f"!{spelling}.token" in of_body(token) or "stablehlo.token" in of_body(token)


@pytest.mark.parametrize(
    ("text", "place", "bracket"),
    [
        (HEAD + "  %0 = stablehlo.abs %abc : tensor<4xf32>\n", (1, 74), "{"),
        (HEAD + '  %0 = "stablehlo.abs"(%abc : (tensor<4xf32>) -> tensor<4xf32>\n' + TAIL, (2, 23), "("),
        (HEAD + "  %0 = stablehlo.reverse %abc, dims = [0 : tensor<4xf32>\n" + TAIL, (2, 39), "["),
        ('module attributes {a = "}"', (1, 19), "{"),
    ],
)
def test_unclosed_brackets_point_at_the_opening(text: str, place: tuple[int, int], bracket: str) -> None:
    assert f"f.mlir:{place[0]}:{place[1]}: note: to match this '{bracket}'" in shown(text)


@pytest.mark.parametrize("location", ['loc("jit(f)/add")', "loc(unknown)", "loc(#loc)", 'loc(fused["a", "b"])'])
@pytest.mark.parametrize("fast", [True, False])
def test_operations_located_by_name_are_found_in_the_text(location: str, fast: bool) -> None:
    add = f'"stablehlo.add"(%abc, %y) : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32> {location}'
    text = f"#loc = loc(unknown)\n{HEAD}  %0 = stablehlo.abs %abc : tensor<4xf32> {location}\n  %1 = {add}\n{TAIL}"
    found = shown(text, fast)
    assert found.startswith("f.mlir:4:8: error: 'stablehlo.add' op add_c1")
    assert ('note: its location is loc("jit(f)/add")' in found) == ("jit" in location)
    printed = print_module(parse_module(text.replace("5xf32", "4xf32"), "f.mlir", fast=fast), locations=True)
    assert '"f.mlir":3' not in printed and '"f.mlir":4' not in printed


def test_operations_without_any_place_are_shown() -> None:
    type_ = make_tensor((4,), f32)
    op = AddOp.create(operands=[create_ssa_value(type_)] * 2, result_types=[type_])
    with pytest.raises(DiagnosticError) as caught:
        raise op_error(op, "is wrong")
    assert render(caught.value.diagnostics[0], {}).split("\n") == [
        "error: 'hlo.add' op is wrong",
        'note: see current operation: %_ = "hlo.add"(%_, %_) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>)',
    ]


def test_expected_diagnostics_take_both_spellings(tmp_path: Path) -> None:
    path = tmp_path / "f.mlir"
    wrong = f'{HEAD}  %0 = "stablehlo.add"(%abc, %y) : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>\n{TAIL}'
    for spelling in ("stablehlo", "hlo"):
        comment = f"  // expected-error@+1 {{{{'{spelling}.add' op add_c1}}}}\n"
        path.write_text(wrong.replace("  %0", f"{comment}  %0"))
        assert hlo_opt.main(["--verify-diagnostics", str(path)]) == 0

"""The errors that verify_module finds beyond the operations' own constraints, and the rendering of diagnostics."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.dialects.memref import LoadOp, MemRef
from xdsl.dialects.vector import ExtractOp, Vector
from xdsl.ir import Operation
from xdsl.irdl import OpDef

import conformance
from counting import calls
from xhlo.hlo_dialect.diagnostics import Diagnostic, DiagnosticError
from xhlo.hlo_dialect.diagnostics.rendering import render
from xhlo.hlo_dialect.reading import parse_module
from xhlo.hlo_dialect.verification import verify_module
from xhlo.hlo_dialect.verification.definitions import is_decided_by_types
from xhlo.tools.round_trip import verify_round_trip


def errors(module: ModuleOp | str) -> tuple[Diagnostic, ...]:
    parsed = parse_module(module, "v.mlir", verify=False) if isinstance(module, str) else module
    try:
        verify_module(parsed)
    except DiagnosticError as error:
        return error.diagnostics
    return ()


def messages(module: ModuleOp | str) -> list[str]:
    return [diagnostic.message for diagnostic in errors(module)]


def body_of(module: ModuleOp) -> list[Operation]:
    (func,) = (op for op in module.ops if isinstance(op, FuncOp))
    return list(func.body.block.ops)


CONTROL_FLOW = """
func.func @main(%c: i1, %x: tensor<f32>) -> tensor<f32> {
  %a = stablehlo.abs %x : tensor<f32>
  cf.cond_br %c, ^left, ^right
^left:
  %b = stablehlo.abs %a : tensor<f32>
  cf.br ^join(%b : tensor<f32>)
^right:
  cf.br ^join(%a : tensor<f32>)
^join(%d: tensor<f32>):
  %e = stablehlo.add %a, %d : tensor<f32>
  return %e : tensor<f32>
}
"""


def test_valid_control_flow() -> None:
    assert not errors(CONTROL_FLOW)


def test_a_block_sees_only_what_dominates_it() -> None:
    found = messages(CONTROL_FLOW.replace("%e = stablehlo.add %a, %d", "%e = stablehlo.add %b, %d"))
    assert found == ["'hlo.add' op operand #0 (%b) does not dominate this use"]


def test_operations_of_the_same_types_in_other_places() -> None:
    """As many types in the same order are no reason to take one operation for the other, which is valid."""
    text = """
func.func @main(%x: tensor<f32>) {
  %a:2 = "stablehlo.optimization_barrier"(%x, %x) : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
  %b = "stablehlo.optimization_barrier"(%x, %x, %x) : (tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<f32>
  return
}
"""
    assert messages(text) == ["'hlo.optimization_barrier' op optimization_barrier_c1: there are 1 results, expected 3"]


def test_regions_that_return_what_others_have_as_results() -> None:
    """The same for regions: which types are returned, and which are the results."""
    text = """
func.func @main(%x: tensor<2xf32>, %z: tensor<f32>) {
  %a = "stablehlo.reduce"(%x, %z) ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    "stablehlo.return"(%p) : (tensor<f32>) -> ()
  }) {dimensions = array<i64: 0>} : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
  "stablehlo.reduce"(%x, %z) ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    "stablehlo.return"(%p, %q) : (tensor<f32>, tensor<f32>) -> ()
  }) {dimensions = array<i64: 0>} : (tensor<2xf32>, tensor<f32>) -> ()
  return
}
"""
    (found,) = messages(text)
    assert "reduce_c6" in found


def test_loops_of_blocks() -> None:
    text = """
func.func @main(%c: i1, %x: tensor<f32>) {
  cf.br ^head(%x : tensor<f32>)
^head(%v: tensor<f32>):
  %a = stablehlo.abs %v : tensor<f32>
  cf.cond_br %c, ^head(%a : tensor<f32>), ^exit
^exit:
  %b = stablehlo.abs %a : tensor<f32>
  return
}
"""
    assert not errors(text)
    assert messages(text.replace("abs %v", "abs %b")) == ["'hlo.abs' op operand #0 (%b) does not dominate this use"]


def test_blocks_that_nothing_reaches_may_use_anything() -> None:
    assert not errors(
        """
func.func @main(%x: tensor<f32>) {
  return
^dead:
  %a = stablehlo.abs %b : tensor<f32>
  %b = stablehlo.abs %a : tensor<f32>
  return
}
"""
    )


def test_a_region_sees_what_stands_before_it_and_not_behind_it() -> None:
    text = """
func.func @main(%p: tensor<i1>, %x: tensor<f32>) {
  %a = stablehlo.abs %x : tensor<f32>
  %r = "stablehlo.if"(%p) ({
    stablehlo.return %a : tensor<f32>
  }, {
    stablehlo.return %x : tensor<f32>
  }) : (tensor<i1>) -> tensor<f32>
  %b = stablehlo.abs %r : tensor<f32>
  return
}
"""
    assert not errors(text)
    found = messages(text.replace("stablehlo.return %a", "stablehlo.return %b"))
    assert found == ["'hlo.return' op operand #0 (%b) does not dominate this use"]


def test_a_fusion_that_captures_is_named() -> None:
    module = parse_module(
        """
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) {
  %0 = hlo.fusion loop (%a = %x : tensor<4xf32>) -> tensor<4xf32> {
    %b = hlo.add %a, %a : tensor<4xf32>
    hlo.return %b : tensor<4xf32>
  }
  return
}
"""
    )
    fusion = body_of(module)[0]
    add = next(iter(fusion.regions[0].block.ops))
    add.operands[1] = fusion.parent_block().args[1]  # type: ignore
    (found,) = errors(module)
    assert found.message == (
        "'hlo.add' op operand #1 (%y) is defined outside 'hlo.fusion', whose region is isolated from above"
    )


def test_a_pass_that_forgets_a_definition_is_found() -> None:
    module = parse_module(
        "func.func @main(%x: tensor<f32>) {\n  %a = stablehlo.abs %x : tensor<f32>\n"
        "  %b = stablehlo.abs %a : tensor<f32>\n  return\n}"
    )
    body_of(module)[0].detach()
    assert messages(module) == ["'hlo.abs' op operand #0 (%a) is defined by an operation that is not in the module"]


def test_equal_operations_are_all_reported() -> None:
    """A valid operation is verified once for all equal ones; invalid ones are reported at every place."""
    line = "  %{} = stablehlo.transpose %x, dims = [{}] : (tensor<4xf32>) -> tensor<4xf32>\n"
    lines = "".join(line.format(f"v{index}", 0 if index % 2 else 1) for index in range(10))
    found = errors(f"func.func @main(%x: tensor<4xf32>) {{\n{lines}  return\n}}")
    assert [diagnostic.location.line.data for diagnostic in found] == [2, 4, 6, 8, 10]  # type: ignore


def test_the_number_of_errors_is_bounded() -> None:
    lines = "".join(f"  call @gone{index}() : () -> ()\n" for index in range(1000))
    assert len(errors(f"func.func @main() {{\n{lines}  return\n}}")) == 100


def test_calls_in_regions_are_checked() -> None:
    text = """
func.func @main(%p: tensor<i1>) {
  "stablehlo.if"(%p) ({
    func.call @main(%p) : (tensor<i1>) -> ()
    stablehlo.return
  }, {
    stablehlo.return
  }) : (tensor<i1>) -> ()
  return
}
"""
    assert messages(text) == ["'func.call' op recursive call: @main -> @main"]


def test_operations_of_other_dialects_are_verified_by_their_facts() -> None:
    """Operations like a valid one are not checked again; those with another type or property are."""

    def program(body: str) -> str:
        return f"func.func @main(%a: f32, %b: f64, %i: i32) {{\n{body}  return\n}}"

    def count(times: int) -> int:
        module = parse_module(program("".join(f"  %{i} = arith.addf %a, %a : f32\n" for i in range(times))), "v.mlir")
        return calls(lambda: verify_module(module))

    count(1)
    assert count(60) - count(40) < 20 * 40
    valid = '  %{0} = "arith.addf"(%a, %a) <{{fastmath = #arith.fastmath<none>}}> : (f32, f32) -> f32\n'
    wrong = (
        '  %9 = "arith.addf"(%a, %b) <{fastmath = #arith.fastmath<none>}> : (f32, f64) -> f32\n',
        '  %9 = "arith.addf"(%a, %a) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f64\n',
        '  %9 = "arith.addf"(%i, %i) <{fastmath = #arith.fastmath<none>}> : (i32, i32) -> i32\n',
        '  %9 = "arith.addf"(%a, %a) <{fastmath = 1 : i32}> : (f32, f32) -> f32\n',
    )
    for line in wrong:
        found = errors(program(valid.format(0) + line + valid.format(1)))
        assert [error.location.line.data for error in found] == [3], line


LOOP = """func.func @main(%a: index, %m: memref<4xf32>, %n: memref<4xf64>, %x: f32, %y: f64) {
  %0 = "memref.load"(%m, %a) : (memref<4xf32>, index) -> f32
  %1 = "scf.for"(%a, %a, %a, %x) ({
  ^bb0(%i: index, %v: f32):
    "scf.yield"(%v) : (f32) -> ()
  }) : (index, index, index, f32) -> f32
  return
}"""


def test_definitions_with_variables_are_checked_once_for_equal_operations(monkeypatch: pytest.MonkeyPatch) -> None:
    """An operation's own check, here of what the loop yields, runs each time."""
    asked: list[str] = []
    check = OpDef.verify

    def verify(self: OpDef, op: Operation) -> None:
        asked.append(op.name)
        check(self, op)

    assert errors(LOOP) == ()
    monkeypatch.setattr(OpDef, "verify", verify)
    assert errors(LOOP) == () and asked == []
    wrong = (
        (3, "(%v) : (f32)", "(%y) : (f64)"),
        (3, "%v: f32):", "%v: f32, %w: f32):"),
        (2, "(memref<4xf32>, index) -> f32", "(memref<4xf32>, index) -> f64"),
        (2, "(%m, %a) : (memref<4xf32>", "(%n, %a) : (memref<4xf64>"),
        (2, "(%m, %a) : (memref<4xf32>, index)", "(%m) : (memref<4xf32>)"),
        (2, "(%m, %a) :", "(%m, %a) <{nontemporal = 1 : i32}> :"),
    )
    for line, old, new in wrong:
        assert old in LOOP
        assert [error.location.line.data for error in errors(LOOP.replace(old, new))] == [line], new


def test_checks_that_count_as_those_of_types_look_at_nothing_else() -> None:
    found = [cls for cls in (*MemRef.operations, *Vector.operations) if is_decided_by_types(cls)]
    assert {LoadOp, ExtractOp} <= set(found)
    for cls in found:
        own = inspect.getclosurevars(cls.verify_).nonlocals["custom_verify"]
        assert not re.search(r"owner|parent|block|region|uses|first_use|trait|attributes", inspect.getsource(own)), cls


def test_recursion_names_the_cycle_once() -> None:
    text = "".join(
        f"func.func private @{name}() {{\n  {''.join(f'call @{callee}() : () -> ()' + chr(10) for callee in callees)}  return\n}}\n"
        for name, callees in {"a": "b", "b": "cd", "c": "b", "d": ""}.items()
    )
    assert messages(text) == ["'func.call' op recursive call: @b -> @c -> @b"]


@pytest.mark.long
def test_calls_and_functions_take_linear_time() -> None:
    def work(count: int) -> int:
        functions = "".join(f"func.func private @f{index}() {{\n  return\n}}\n" for index in range(count))
        body = "".join(f"  call @f{index}() : () -> ()\n" for index in range(count))
        module = parse_module(f"{functions}func.func @main() {{\n{body}  return\n}}", verify=False)
        return calls(lambda: verify_module(module))

    assert work(1000) < 5 * work(250)


# Rendering ------------------------------------------------------------------------------------------------------


def test_a_diagnostic_shows_its_line() -> None:
    text = (
        "func.func private @f(tensor<f32>)\nfunc.func @main(%x: tensor<4xf32>) {\n"
        "  func.call @f(%x) : (tensor<4xf32>) -> ()\n  return\n}"
    )
    (found,) = errors(text)
    assert render(found, {"v.mlir": text}).split("\n") == [
        "v.mlir:3:3: error: 'func.call' op operand #0 has type tensor<4xf32>, but '@f' has tensor<f32>",
        "  func.call @f(%x) : (tensor<4xf32>) -> ()",
        "  ^~~~~~~~~",
        "v.mlir:1:1: note: '@f' is defined here",
        "func.func private @f(tensor<f32>)",
        "^~~~~~~~~",
        "v.mlir:2:17: note: '%x' is defined here, with type tensor<4xf32>",
        "func.func @main(%x: tensor<4xf32>) {",
        "                ^~",
    ]


def test_a_diagnostic_without_a_source_is_one_line() -> None:
    (found,) = errors("func.func @main() {\n  call @gone() : () -> ()\n  return\n}")
    assert render(found, {}) == "v.mlir:2:3: error: 'func.call' op calls '@gone', which is not defined"
    assert render(Diagnostic("warning", "no place"), {}) == "warning: no place"


def test_the_caret_stands_under_tabs_and_in_long_lines() -> None:
    tabbed = "func.func @main() {\n\tcall @gone() : () -> ()\n\treturn\n}"
    assert render(errors(tabbed)[0], {"v.mlir": tabbed}).split("\n")[1:] == ["\tcall @gone() : () -> ()", "\t^~~~"]
    wide = f"func.func @main() {{\n{' ' * 5000}call @gone() : () -> ()\n  return\n}}"
    shown = render(errors(wide)[0], {"v.mlir": wide}).split("\n")
    assert len(shown[1]) <= 200
    assert shown[1][shown[2].index("^") :].startswith("call @gone")


def test_places_beyond_the_text_are_harmless() -> None:
    with pytest.raises(DiagnosticError) as caught:
        parse_module("func.func @main() {\n", "v.mlir")
    assert render(caught.value.diagnostics[0], {"v.mlir": ""}).startswith("v.mlir:2:1: error: ")


REPRODUCTIONS = conformance.ROOT.parent / "reproductions"


@pytest.mark.long(5)
@pytest.mark.skipif(not REPRODUCTIONS.exists(), reason=f"the programs are not there: {REPRODUCTIONS}")
@pytest.mark.parametrize("path", sorted(REPRODUCTIONS.glob("p_*.mlir")), ids=lambda path: path.stem)
def test_forms_that_upstream_takes_are_read_and_printed(path: Path) -> None:
    module = parse_module(path.read_text(), path.name)
    verify_round_trip(module, path.name, parse_module)


@pytest.mark.skipif(not REPRODUCTIONS.exists(), reason=f"the programs are not there: {REPRODUCTIONS}")
@pytest.mark.parametrize(
    ("name", "line"), [("hexspace", 2), ("modattr", 1), ("dotalg", 2), ("sas", 3), ("qadd_bad", 2)]
)
def test_what_upstream_refuses_is_refused_where_it_stands(name: str, line: int) -> None:
    with pytest.raises(DiagnosticError, match=rf"{name}.mlir:{line}:"):
        parse_module((REPRODUCTIONS / f"{name}.mlir").read_text(), f"{name}.mlir")

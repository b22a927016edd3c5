"""The reference interpreter: calls, regions, checks, inputs, and what it refuses."""

from __future__ import annotations

import sys
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, f64, i64

import xhlo
from xhlo.hlo_dialect.diagnostics import DiagnosticError, file_location
from xhlo.hlo_dialect.ops.check_calls import CheckFailure, run_check, ulp_distance
from xhlo.hlo_dialect.reading import parse_module
from xhlo.hlo_dialect.reference import evaluate


def run(text: str, *inputs: Any, entry: str = "main", verify: bool = True) -> tuple[Any, ...]:
    arrays = [np.asarray(value) for value in inputs]
    return evaluate(parse_module(text, "test.mlir", verify=verify), arrays, entry)


def on(target: str, text: str) -> tuple[Any, ...]:
    """The results of a program without arguments."""
    return run(text) if target == "reference" else xhlo.compile(text)()


def f32(value: Any) -> Any:
    return np.asarray(value, np.float32)


def i32(value: Any) -> Any:
    return np.asarray(value, np.int32)


COUNT = """
func.func @main(%n: tensor<i32>, %x: tensor<2xf32>) -> (tensor<i32>, tensor<2xf32>) {
  %zero = hlo.constant dense<0> : tensor<i32>
  %one = hlo.constant dense<1> : tensor<i32>
  %r:2 = hlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<2xf32>
  cond {
    %c = hlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    hlo.return %c : tensor<i1>
  } do {
    %next = hlo.add %i, %one : tensor<i32>
    %w = func.call @twice(%v) : (tensor<2xf32>) -> tensor<2xf32>
    hlo.return %next, %w : tensor<i32>, tensor<2xf32>
  }
  return %r#0, %r#1 : tensor<i32>, tensor<2xf32>
}
func.func private @twice(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = hlo.add %x, %x : tensor<2xf32>
  return %0 : tensor<2xf32>
}
"""


@pytest.mark.parametrize("count", [0, 1, 5])
def test_while_captures_and_calls(count: int) -> None:
    i, x = run(COUNT, i32(count), f32([1, 3]))
    assert i == count and x.tolist() == [2**count, 3 * 2**count]


def test_other_entry() -> None:
    assert run(COUNT, f32([1, 3]), entry="twice")[0].tolist() == [2, 6]


@pytest.mark.parametrize(("index", "wanted"), [(0, 1), (1, 2), (2, 3), (-1, 3), (7, 3)])
def test_case_out_of_range_takes_the_last(index: int, wanted: int) -> None:
    branches = ", ".join(
        f"{{ %c = hlo.constant dense<{k}> : tensor<i32> hlo.return %c : tensor<i32> }}" for k in (1, 2, 3)
    )
    text = f"""
    func.func @main(%i: tensor<i32>) -> tensor<i32> {{
      %0 = "hlo.case"(%i) ({branches}) : (tensor<i32>) -> tensor<i32>
      return %0 : tensor<i32>
    }}"""
    assert run(text, i32(index))[0] == wanted


def test_only_the_chosen_branch_runs() -> None:
    text = """
    func.func @main(%p: tensor<i1>, %x: tensor<f32>) -> tensor<f32> {
      %0 = "hlo.if"(%p) ({
        hlo.return %x : tensor<f32>
      }, {
        hlo.custom_call @shape_assertion(%p) {error_message = "it ran", has_side_effect = true} : (tensor<i1>) -> ()
        hlo.return %x : tensor<f32>
      }) : (tensor<i1>) -> tensor<f32>
      return %0 : tensor<f32>
    }"""
    assert run(text, np.bool_(True), f32(2))[0] == 2
    with pytest.raises(DiagnosticError, match="it ran"):
        run(text, np.bool_(False), f32(2))


def test_reduce_with_a_call_runs_on_whole_arrays() -> None:
    text = """
    func.func @main(%x: tensor<3x4xf32>, %k: tensor<3x4xi32>) -> (tensor<3xf32>, tensor<3xi32>) {
      %init = hlo.constant dense<0xFF800000> : tensor<f32>
      %zero = hlo.constant dense<0> : tensor<i32>
      %r:2 = hlo.reduce(%x init: %init), (%k init: %zero) across dimensions = [1] : (tensor<3x4xf32>, tensor<3x4xi32>, tensor<f32>, tensor<i32>) -> (tensor<3xf32>, tensor<3xi32>)
       reducer(%a: tensor<f32>, %b: tensor<f32>) (%i: tensor<i32>, %j: tensor<i32>) {
        %c = hlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %m = func.call @choose(%c, %a, %b) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
        %n = hlo.select %c, %i, %j : tensor<i1>, tensor<i32>
        hlo.return %m, %n : tensor<f32>, tensor<i32>
      }
      return %r#0, %r#1 : tensor<3xf32>, tensor<3xi32>
    }
    func.func private @choose(%c: tensor<i1>, %a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {
      %0 = hlo.select %c, %a, %b : tensor<i1>, tensor<f32>
      return %0 : tensor<f32>
    }"""
    x = np.array([[1, 5, 2, 5], [9, 1, 1, 1], [-3, -2, -1, -4]], np.float32)
    k = np.arange(12, dtype=np.int32).reshape(3, 4)
    best, where = run(text, x, k)
    np.testing.assert_array_equal(best, x.max(axis=1))
    assert where.tolist() == [1, 4, 10]


def test_reduce_with_control_flow_in_its_body() -> None:
    text = """
    func.func @main(%x: tensor<2x3xi32>) -> tensor<2xi32> {
      %zero = hlo.constant dense<0> : tensor<i32>
      %r = hlo.reduce(%x init: %zero) across dimensions = [1] : (tensor<2x3xi32>, tensor<i32>) -> tensor<2xi32>
       reducer(%a: tensor<i32>, %b: tensor<i32>) {
        %c = hlo.compare LT, %a, %b, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %m = "hlo.if"(%c) ({ hlo.return %b : tensor<i32> }, { hlo.return %a : tensor<i32> }) : (tensor<i1>) -> tensor<i32>
        hlo.return %m : tensor<i32>
      }
      return %r : tensor<2xi32>
    }"""
    assert run(text, i32([[1, 3, 2], [-1, -2, -3]]))[0].tolist() == [3, 0]


def test_fusion() -> None:
    text = """
    func.func @main(%x: tensor<4xf32>, %c: tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>) {
      %r:2 = hlo.fusion loop (%a = %x : tensor<4xf32>, %b = %c : tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>) {
        %0 = hlo.broadcast_in_dim %b, dims = [] : (tensor<f32>) -> tensor<4xf32>
        %1 = hlo.multiply %a, %0 : tensor<4xf32>
        hlo.return %1, %0 : tensor<4xf32>, tensor<4xf32>
      }
      return %r#0, %r#1 : tensor<4xf32>, tensor<4xf32>
    }"""
    assert run(text, f32([1, 2, 3, 4]), f32(2))[0].tolist() == [2, 4, 6, 8]


@pytest.mark.long
def test_deep_call_chain() -> None:
    depth = sys.getrecursionlimit() + 500
    functions = [
        f"func.func private @f{k}(%x: tensor<f32>) -> tensor<f32> {{\n"
        f"  %0 = func.call @f{k + 1}(%x) : (tensor<f32>) -> tensor<f32>\n  return %0 : tensor<f32>\n}}"
        for k in range(depth)
    ]
    last = f"func.func private @f{depth}(%x: tensor<f32>) -> tensor<f32> {{\n  return %x : tensor<f32>\n}}"
    assert run("\n".join([*functions, last]), f32(3), entry="f0", verify=False)[0] == 3


def test_call_cycle_is_refused() -> None:
    text = """
    func.func @main(%x: tensor<f32>) -> tensor<f32> {
      %0 = func.call @main(%x) : (tensor<f32>) -> tensor<f32>
      return %0 : tensor<f32>
    }"""
    with pytest.raises(DiagnosticError, match="cycle"):
        run(text, f32(1), verify=False)


def test_inputs_are_checked() -> None:
    with pytest.raises(TypeError, match="takes 2 inputs, got 1"):
        run(COUNT, i32(1))
    with pytest.raises(TypeError, match="input 0 of @main has dtype int64, expected int32"):
        run(COUNT, np.int64(1), f32([1, 2]))
    with pytest.raises(TypeError, match=r"input 1 of @main has shape \(3,\), expected \(2,\)"):
        run(COUNT, i32(1), f32([1, 2, 3]))
    with pytest.raises(DiagnosticError, match="no function @nothing"):
        run(COUNT, entry="nothing")


def test_unknown_dimensions_are_refused() -> None:
    text = """
    func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
      %0 = hlo.iota dim = 0 : tensor<?xf32>
      %1 = hlo.add %x, %0 : tensor<?xf32>
      return %1 : tensor<?xf32>
    }"""
    with pytest.raises(DiagnosticError, match=r"'hlo.iota' op iota_o1: result has type tensor<\?xf32>"):
        run(text, f32([1]))


CHECK = """
func.func @main(%x: tensor<2xf32>, %y: tensor<2xf32>) {
  hlo.custom_call @check.expect_close(%x, %y) {has_side_effect = true} : (tensor<2xf32>, tensor<2xf32>) -> ()
  return
}"""


def test_failing_check_names_its_place() -> None:
    one = f32([1, 2])
    assert run(CHECK, one, one) == ()
    far = np.nextafter(one, f32(9))
    assert run(CHECK, one, far) == ()
    with pytest.raises(
        CheckFailure, match=r"check.expect_close does not hold: 1 of 2 .* at \[1\] .* ulp apart"
    ) as caught:
        run(CHECK, one, f32([1, 2.1]))
    location = file_location(caught.value.diagnostics[0].location)
    assert location is not None and location.line.data == 3


def test_check_eq_gives_its_verdict() -> None:
    text = """
    func.func @main(%x: tensor<2xi32>) -> tensor<i1> {
      %0 = hlo.custom_call @check.eq(%x, %x) : (tensor<2xi32>, tensor<2xi32>) -> tensor<i1>
      return %0 : tensor<i1>
    }"""
    assert bool(run(text, i32([1, 2]))[0])


def test_operations_of_the_check_dialect() -> None:
    text = """
    func.func @main(%x: tensor<2xf32>) {
      check.expect_eq %x, %x : tensor<2xf32>
      check.expect_close %x, %x, max_ulp_difference = 1, min_ulp_difference = 0 : tensor<2xf32>, tensor<2xf32>
      check.expect_almost_eq_const %x, dense<[1.0005, 2.0]> : tensor<2xf32>
      check.expect_eq_const %x, dense<[1.0, 2.0]> : tensor<2xf32>
      return
    }"""
    assert run(text, f32([1, 2])) == ()
    with pytest.raises(CheckFailure, match=r"check.expect_eq_const .*at \[0\] actual 1.0001"):
        run(text, f32([1.0001, 2]))


CHECKS_OF_CONSTANTS = {
    "another sign near zero": ("dense<-1.0e-16> : tensor<f64>", "expect_almost_eq_const", "dense<0.0> : tensor<f64>"),
    "no elements": ("dense<2.0> : tensor<2x0xf32>", "expect_eq_const", "dense<> : tensor<2x0xf32>"),
    "no elements, almost": ("dense<2.0> : tensor<0xf32>", "expect_almost_eq_const", "dense<> : tensor<0xf32>"),
}


@pytest.mark.parametrize("target", ["reference", "cpu"])
def test_checks_of_sizes_that_constants_fix(target: str) -> None:
    text = """func.func @main() {
      %s = stablehlo.constant dense<[2, 3]> : tensor<2xi64>
      %0 = stablehlo.dynamic_iota %s, dim = 1 : (tensor<2xi64>) -> tensor<?x?xi64>
      %1 = stablehlo.constant dense<[[0, 1, 2], [0, 1, LAST]]> : tensor<2x3xi64>
      "check.expect_eq"(%0, %1) : (tensor<?x?xi64>, tensor<2x3xi64>) -> ()
      return
    }"""
    assert on(target, text.replace("LAST", "2")) == ()
    with pytest.raises(CheckFailure, match=r"at \[1, 2\] actual 2, expected 3"):
        on(target, text.replace("LAST", "3"))


@pytest.mark.parametrize("target", ["reference", "cpu"])
@pytest.mark.parametrize(("value", "check", "expected"), CHECKS_OF_CONSTANTS.values(), ids=CHECKS_OF_CONSTANTS)
def test_checks_of_constants(value: str, check: str, expected: str, target: str) -> None:
    """In @main; those of functions that the program does not run do not count. A single function may have any name."""
    body = f"{{\n  %0 = stablehlo.constant {value}\n  check.{check} %0, {expected}\n  func.return\n}}\n"
    failing = "{\n  %0 = stablehlo.constant dense<1> : tensor<i8>\n  check.expect_eq_const %0, dense<2> : tensor<i8>\n  func.return\n}"
    for text in (f"func.func @check() {body}", f"func.func @main() {body}func.func @other() {failing}"):
        assert on(target, text) == ()
    with pytest.raises(CheckFailure, match="actual 1, expected 2"):
        on(target, f"func.func @check() {failing}")


def test_unknown_check_is_refused() -> None:
    with pytest.raises(DiagnosticError, match="unknown check 'check.expect_nice'"):
        run(CHECK.replace("expect_close", "expect_nice"), f32([1, 2]), f32([1, 2]))


class TestChecks:
    @pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64])
    def test_ulp_distance(self, dtype: Any) -> None:
        x = np.array([1, -1, 0, np.nan, np.inf, 1, np.inf], dtype)
        y = np.array([1, 1, -0.0, np.nan, np.inf, np.inf, -np.inf], dtype)
        far = 2**64 - 1
        assert ulp_distance(x, y)[[0, 2, 3, 4, 5, 6]].tolist() == [0, 0, 0, 0, far, far]
        one = np.array(1, dtype)
        unsigned = np.dtype(f"u{one.dtype.itemsize}")
        assert int(ulp_distance(x, y)[1]) == 2 * int(one.view(unsigned))
        near = (one.view(unsigned) + unsigned.type(3)).view(dtype)
        assert int(ulp_distance(one, near)) == 3
        assert run_check("expect_close", near, one) is None
        assert run_check("expect_close", near, one, {"max_ulp_difference": IntegerAttr(2, i64)}) is not None
        assert run_check("expect_close", one, one, {"min_ulp_difference": IntegerAttr(1, i64)}) is not None

    def test_complex_takes_the_worse_part(self) -> None:
        x = np.array([1 + 1j], np.complex64)
        y = np.array([1 + 1.5j], np.complex64)
        assert "at [0]" in str(run_check("expect_close", x, y))
        assert run_check("expect_close", x, x) is None
        assert run_check("expect_almost_eq", x, x + np.complex64(0.0005j)) is None
        assert run_check("expect_almost_eq", x, y) is not None

    def test_equality(self) -> None:
        zeros = np.array([0.0, -0.0])
        assert run_check("expect_eq", zeros, -zeros) is None
        nan = np.array([np.nan])
        assert run_check("expect_eq", nan, nan) is not None
        assert run_check("eq", nan, nan) is None
        assert run_check("eq", np.array([1]), np.array([2])) is not None
        assert run_check("eq", np.array([1.0]), np.array([1.00009])) is None
        assert run_check("eq", np.array([1.0]), np.array([1.0002])) is not None

    def test_almost(self) -> None:
        assert run_check("expect_almost_eq", np.array([1e-4]), np.array([-1e-4])) is None, "other sign"
        assert run_check("expect_almost_eq", np.array([-1e-16]), np.array([0.0])) is None
        assert run_check("expect_almost_eq", np.array([1e-3]), np.array([-1e-3])) is not None
        assert run_check("expect_almost_eq", np.array([0.0]), np.array([-0.0])) is None
        assert run_check("expect_almost_eq", np.array([np.inf]), np.array([np.inf])) is None
        assert run_check("expect_almost_eq", np.array([np.inf]), np.array([1.0])) is not None
        wide = {"tolerance": FloatAttr(1.0, f64)}
        assert run_check("expect_almost_eq", np.array([1.0]), np.array([1.5]), wide) is None

    def test_types_must_agree(self) -> None:
        assert "float32[2]" in str(run_check("expect_eq", f32([1, 2]), np.array([1.0, 2.0])))

    def test_scalars(self) -> None:
        assert "at []" in str(run_check("expect_close", f32(1), f32(2)))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "hlo.reduce(%x init: %c) applies hlo.while across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>",
            "binary operation",
        ),
        (
            "hlo.reduce(%x init: %c) applies hlo.and across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>",
            "'hlo.and' op",
        ),
        (
            "hlo.reduce(%x init: %c) applies hlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> ()",
            "one result",
        ),
        ("hlo.tuple %x : (tensor<4xf32>) -> ()", "one result type"),
        (
            "hlo.transpose %x, dims = [0] {permutation = array<i64: 0>} : (tensor<4xf32>) -> tensor<4xf32>",
            "stated twice",
        ),
        ("hlo.fusion blob (%a = %x : tensor<4xf32>) -> tensor<4xf32> { hlo.return %a : tensor<4xf32> }", "'loop'"),
        (
            "hlo.fusion loop (%a = %x : tensor<4xf32>) -> tensor<4xf32> { hlo.return %x : tensor<4xf32> }",
            "undefined value",
        ),
        ('"hlo.while"(%x) ({}, {}) : (tensor<4xf32>) -> tensor<4xf32>', "while_c1"),
    ],
)
def test_broken_syntax_is_located(line: str, message: str) -> None:
    text = f"func.func @main(%x: tensor<4xf32>, %c: tensor<f32>) {{\n  %0 = {line}\n  return\n}}"
    with pytest.raises(DiagnosticError, match=message) as caught:
        parse_module(text, "test.mlir")
    location = file_location(caught.value.diagnostics[0].location)
    assert location is not None and location.line.data in (2, 3)

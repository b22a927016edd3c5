"""The generics that fuse-linalg leaves in a kernel, and host functions, against the reference semantics of hlo."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.linalg.ops import GenericOp

from linalg_interpreter import interpret
from linalg_programs import check, kernel, lowered, numbered, reducer

V, M, S = "tensor<3xf32>", "tensor<3x4xf32>", "tensor<f32>"


def line(name: str, op: str, operands: str, types: str, result: str) -> str:
    return f'  %{name} = "hlo.{op}"({operands}) : ({types}) -> {result}\n'


def total(name: str, operand: str, op: str = "add", init: str = "%a1") -> str:
    return f"""  %{name} = "hlo.reduce"({operand}, {init}) {reducer(op, S)} {{dimensions = array<i64: 1>}}
    : ({M}, {S}) -> {V}
"""


def test_results_that_share_an_expensive_value_are_one_generic() -> None:
    body = line("e", "exponential", "%a0", M, M)
    for number in range(3):
        body += line(f"r{number}", ("negate", "abs", "sqrt")[number], "%e", M, M)
    check(kernel(body, [M], [M] * 3), numbered(3, 4), ulps=2, generics=1)


def test_a_result_that_others_read_is_one_generic() -> None:
    body = line("r0", "exponential", "%a0", M, M) + line("r1", "negate", "%r0", M, M) + line("r2", "abs", "%r0", M, M)
    check(kernel(body, [M], [M] * 3), numbered(3, 4), ulps=2, generics=1)


def test_sibling_reductions_and_their_epilogue() -> None:
    """One generic for both reductions, whose expensive producer is computed once; one for the operations after them."""
    body = line("e", "exponential", "%a0", M, M) + total("s", "%e") + total("m", "%e", "maximum")
    body += line("r", "divide", "%s, %m", f"{V}, {V}", V)
    check(kernel(body, [M, S], [V], "reduce"), numbered(3, 4), np.float32(0), ulps=4, generics=2)


def test_a_reduction_that_waits_for_another_stays_apart() -> None:
    wide = f'"hlo.broadcast_in_dim"(%m) {{broadcast_dimensions = array<i64: 0>}} : ({V}) -> {M}\n'
    body = total("m", "%a0", "maximum") + f"  %b = {wide}" + line("d", "subtract", "%a0, %b", f"{M}, {M}", M)
    body += line("e", "exponential", "%d", M, M) + total("s", "%e")
    body += wide.replace("%m", "%s").join(("  %t = ", "")) + line("r", "divide", "%e, %t", f"{M}, {M}", M)
    # max, exp (two need it), sum, quotient.
    check(kernel(body, [M, S], [M], "row"), numbered(3, 4), np.float32(0), ulps=4, generics=4)


LOST = {
    "iota": '"hlo.iota"() {iota_dimension = 1 : i64} : () -> tensor<3x4xf32>',
    "broadcast": '"hlo.broadcast_in_dim"(%a2) {broadcast_dimensions = array<i64: 0>} : (tensor<3xf32>) -> tensor<3x4xf32>',
    "prefix": """"hlo.slice"(%a3) {start_indices = array<i64: 0, 0>, limit_indices = array<i64: 3, 4>,
      strides = array<i64: 1, 1>} : (tensor<5x7xf32>) -> tensor<3x4xf32>""",
    "strided": """"hlo.slice"(%a3) {start_indices = array<i64: 1, 0>, limit_indices = array<i64: 4, 7>,
      strides = array<i64: 1, 2>} : (tensor<5x7xf32>) -> tensor<3x4xf32>""",
    "reverse": '"hlo.reverse"(%a0) {dimensions = array<i64: 1>} : (tensor<3x4xf32>) -> tensor<3x4xf32>',
}


@pytest.mark.parametrize("name", LOST)
def test_reductions_of_operands_that_do_not_give_the_size(name: str) -> None:
    body = f"  %x = {LOST[name]}\n" + line("y", "negate", "%x", M, M) + total("r", "%y")
    inputs = [numbered(3, 4), np.float32(0.5), numbered(3), numbered(5, 7)]
    check(kernel(body, [M, S, V, "tensor<5x7xf32>"], [V], "reduce"), *inputs)


def test_slices_of_slices_and_transposes() -> None:
    out = "tensor<2x2xf32>"
    body = """  %n = "hlo.negate"(%a0) : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %s = "hlo.slice"(%n) {start_indices = array<i64: 0, 1>, limit_indices = array<i64: 4, 7>,
    strides = array<i64: 1, 2>} : (tensor<5x7xf32>) -> tensor<4x3xf32>
  %v = "hlo.reverse"(%s) {dimensions = array<i64: 0, 1>} : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %t = "hlo.transpose"(%v) {permutation = array<i64: 1, 0>} : (tensor<4x3xf32>) -> tensor<3x4xf32>
  %p = "hlo.slice"(%t) {start_indices = array<i64: 0, 0>, limit_indices = array<i64: 2, 3>,
    strides = array<i64: 1, 2>} : (tensor<3x4xf32>) -> tensor<2x2xf32>
  %r = "hlo.add"(%p, %p) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>"""
    check(kernel(body, ["tensor<5x7xf32>"], [out]), numbered(5, 7), generics=1)


def test_operands_and_operations_are_shared() -> None:
    """An operand that is read twice at the same index is one operand, and equal operations are one."""
    body = line("x", "exponential", "%a0", M, M) + line("y", "exponential", "%a0", M, M)
    body += line("r", "add", "%x, %y", f"{M}, {M}", M)
    module = lowered(kernel(body, [M, S], [M]))
    (generic,) = [op for op in module.walk() if isinstance(op, GenericOp)]
    assert len(generic.inputs) == 1
    assert [op.name for op in generic.body.block.ops] == ["math.exp", "arith.addf", "linalg.yield"]


def test_a_long_chain_needs_no_deep_stack() -> None:
    body = "".join(line(f"v{i + 1}", "add", f"%v{i}, %a0", f"{V}, {V}", V) for i in range(1500))
    text = kernel(body.replace("%v0,", "%a0,").replace("%v1500 ", "%r "), [V], [V])
    module = lowered(text)
    (result,) = interpret(module, [numbered(3)])
    np.testing.assert_allclose(result, 1501 * numbered(3))


# -- host functions --------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [0, 1, 4])
def test_while(count: int) -> None:
    """Conditions in kernels, as outlining leaves them; the state is a tuple of tensors."""
    i = "tensor<ui32>"
    text = f"""
func.func @main(%n: {i}, %x: {V}) -> ({i}, {V}) {{
  %zero = hlo.constant dense<0> : {i}
  %r:2 = hlo.while(%i = %zero, %v = %x) : {i}, {V}
  cond {{
    %c = func.call @less(%i, %n) : ({i}, {i}) -> tensor<i1>
    hlo.return %c : tensor<i1>
  }} do {{
    %j, %w = func.call @next(%i, %v) : ({i}, {V}) -> ({i}, {V})
    hlo.return %j, %w : {i}, {V}
  }}
  return %r#0, %r#1 : {i}, {V}
}}
func.func private @less(%i: {i}, %n: {i}) -> tensor<i1> attributes {{hlo.kernel = "loop"}} {{
  %c = hlo.compare LT, %i, %n, UNSIGNED : ({i}, {i}) -> tensor<i1>
  return %c : tensor<i1>
}}
func.func private @next(%i: {i}, %v: {V}) -> ({i}, {V}) attributes {{hlo.kernel = "loop"}} {{
  %one = hlo.constant dense<1> : {i}
  %j = hlo.add %i, %one : {i}
  %w = hlo.add %v, %v : {V}
  return %j, %w : {i}, {V}
}}
"""
    check(text, np.uint32(count), numbered(3))


@pytest.mark.parametrize("index", [-5, 0, 1, 2, 9])
def test_branches_reshapes_and_constants(index: int) -> None:
    text = """
func.func @main(%i: tensor<i32>, %p: tensor<i1>, %x: tensor<2x6xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>) {
  %k = hlo.constant dense<[[1., 2., 3., 4.], [5., 6., 7., 8.], [9., 10., 11., 12.]]> : tensor<3x4xf32>
  %s = hlo.reshape %x : (tensor<2x6xf32>) -> tensor<3x4xf32>
  %a = "hlo.case"(%i) ({
    "hlo.return"(%k) : (tensor<3x4xf32>) -> ()
  }, {
    "hlo.return"(%s) : (tensor<3x4xf32>) -> ()
  }, {
    %t = func.call @neg(%s) : (tensor<3x4xf32>) -> tensor<3x4xf32>
    "hlo.return"(%t) : (tensor<3x4xf32>) -> ()
  }) : (tensor<i32>) -> tensor<3x4xf32>
  %b = "hlo.if"(%p) ({
    "hlo.return"(%s) : (tensor<3x4xf32>) -> ()
  }, {
    "hlo.return"(%k) : (tensor<3x4xf32>) -> ()
  }) : (tensor<i1>) -> tensor<3x4xf32>
  return %a, %b : tensor<3x4xf32>, tensor<3x4xf32>
}
func.func private @neg(%x: tensor<3x4xf32>) -> tensor<3x4xf32> attributes {hlo.kernel = "loop"} {
  %r = hlo.negate %x : tensor<3x4xf32>
  return %r : tensor<3x4xf32>
}
"""
    check(text, np.int32(index), np.bool_(index > 0), numbered(2, 6))


def test_reshapes_of_one_element_on_the_host() -> None:
    """From and to rank 0, where there are no dimensions to group."""
    text = """
func.func @main(%x: tensor<ui8>, %y: tensor<1x1xf32>) -> (tensor<1xui8>, tensor<1x1xui8>, tensor<f32>, tensor<1xf32>) {
  %0 = hlo.reshape %x : (tensor<ui8>) -> tensor<1xui8>
  %1 = hlo.reshape %x : (tensor<ui8>) -> tensor<1x1xui8>
  %2 = hlo.reshape %y : (tensor<1x1xf32>) -> tensor<f32>
  %3 = hlo.reshape %y : (tensor<1x1xf32>) -> tensor<1xf32>
  return %0, %1, %2, %3 : tensor<1xui8>, tensor<1x1xui8>, tensor<f32>, tensor<1xf32>
}
"""
    check(text, np.uint8(200), np.float32([[3]]))

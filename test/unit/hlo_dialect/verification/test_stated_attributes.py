"""Attributes for later passes are not taken from a program: its results stay those of its operations."""

from __future__ import annotations

import numpy as np
import pytest

import xhlo
from xhlo.hlo_dialect.errors import DiagnosticError

STACK = """
module {
  func.func @main(%x: tensor<2048xf32>, %n: tensor<i32>) -> (tensor<9x2048xf32>, tensor<i32>) {
    %zero = hlo.constant dense<0> : tensor<i32>
    %one = hlo.constant dense<1> : tensor<i32>
    %end = hlo.constant dense<8> : tensor<i32>
    %s0 = hlo.constant dense<0.0> : tensor<9x2048xf32>
    %0:2 = hlo.while(%i = %zero, %s = %s0) : tensor<i32>, tensor<9x2048xf32>
      cond {
        %1 = hlo.compare LT, %i, %end, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        hlo.return %1 : tensor<i1>
      } do {
        %1 = hlo.reshape %x : (tensor<2048xf32>) -> tensor<1x2048xf32>
        %2 = hlo.dynamic_update_slice %s, %1, %i, %zero : (tensor<9x2048xf32>, tensor<1x2048xf32>, tensor<i32>, tensor<i32>) -> tensor<9x2048xf32>
        %3 = hlo.add %i, %one : tensor<i32>
        hlo.return %3, %2 : tensor<i32>, tensor<9x2048xf32>
      }
    %4:2 = hlo.while(%j = %zero, %t = %zero) : tensor<i32>, tensor<i32>
      cond {
        %5 = hlo.compare LT, %j, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        hlo.return %5 : tensor<i1>
      } do {
        %5 = hlo.add %t, %one : tensor<i32>
        %6 = hlo.add %j, %5 : tensor<i32>
        hlo.return %6, %5 : tensor<i32>, tensor<i32>
      }
    return %0#1, %4#1 : tensor<9x2048xf32>, tensor<i32>
  }
}
"""

LIES = (
    ("%s0 = hlo.constant", "%s0 = hlo.constant {xhlo.unread}"),
    (": tensor<i32>, tensor<i32>\n      cond", ": tensor<i32>, tensor<i32> attributes {xhlo.trip_count = 2 : i64}\n      cond"),
    (": tensor<i32>, tensor<9x2048xf32>\n      cond", ": tensor<i32>, tensor<9x2048xf32> attributes {xhlo.trip_count = 9 : i64}\n      cond"),
    ("module {", "module attributes {xhlo.donated = array<i64: 0, 1>, xhlo.arena_size = 0, xhlo.result_count = 7} {"),
    ("tensor<i32>) {\n    %zero", "tensor<i32>) attributes {xhlo.pure, xhlo.inline, xhlo.shared} {\n    %zero"),
)  # fmt: skip


@pytest.mark.parametrize("fused", [False, True])
def test_results_do_not_depend_on_what_a_program_states(fused: bool) -> None:
    text = STACK
    for truth, lie in LIES:
        assert truth in text
        text = text.replace(truth, lie, 1)
    if fused:
        # True of a loop of nine iterations.
        plain = xhlo.compile(STACK.replace("dense<8>", "dense<9>")).as_text("fused")
        assert "xhlo.unread" in plain and "xhlo.trip_count = 9" in plain
        text = plain.replace("dense<9>", "dense<8>")
    x = np.arange(2048, dtype=np.float32)
    exe = xhlo.compile(text)
    loops = exe.as_text("fused")
    assert "xhlo.unread" not in loops and loops.count("xhlo.trip_count") == (not fused)
    for _ in range(2):  # the arena holds what the first run left
        stack, count = exe(x, np.int32(10))
        assert count == 4
        assert np.array_equal(stack, np.concatenate([np.broadcast_to(x, (8, 2048)), np.zeros((1, 2048), np.float32)]))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "func.func @main(%x: tensor<5xf32> {xhlo.complex}) -> tensor<5xf32> { return %x : tensor<5xf32> }",
            "argument 0 of type tensor<5xf32>, which xhlo.complex marks",
        ),
        (
            "module attributes {xhlo.checks = [], xhlo.result_count = 2 : i64} "
            "{ func.func @main(%x: tensor<5xf32>) -> tensor<5xf32> { return %x : tensor<5xf32> } }",
            "states 2 in xhlo.result_count, and its entry has 1 results",
        ),
    ],
)
def test_contradictions_are_errors(text: str, message: str) -> None:
    with pytest.raises(DiagnosticError, match=message):
        xhlo.compile(text)

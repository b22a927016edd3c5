"""Programs of kernels that are given as text, after outline-kernels: wrong ones are refused, the others run."""

from __future__ import annotations

import numpy as np
import pytest

import xhlo
from xhlo.hlo_dialect.errors import DiagnosticError

PROGRAM = """
module attributes {xhlo.after = "outline-kernels"%s} {
  func.func @main(%%x: tensor<8xf32>) -> tensor<8xf32> {
    %%0 = func.call @double(%%x) : (tensor<8xf32>) -> tensor<8xf32>
    func.return %%0 : tensor<8xf32>
  }
  func.func private @double(%%x: tensor<8xf32>) -> tensor<8xf32> attributes {hlo.kernel = "loop"} %s
}
"""
BODY = "{ %0 = hlo.add %x, %x : tensor<8xf32> func.return %0 : tensor<8xf32> }"


@pytest.mark.parametrize(
    "facts", ["", ", xhlo.program = {inputs = [tensor<8xf32>], outputs = [tensor<8xf32>], kernels = []}"]
)
def test_a_program_may_state_no_facts_of_kernels(facts: str) -> None:
    found = xhlo.compile(PROGRAM % (facts, BODY))(np.ones(8, np.float32))
    np.testing.assert_array_equal(found, np.full(8, 2, np.float32))


def test_loops_of_kernels_without_facts_become_functions() -> None:
    """Nothing but the calls say that these kernels are there."""
    text = """
    module attributes {xhlo.after = "outline-kernels", xhlo.program = {inputs = [tensor<i32>], outputs = [tensor<i32>]}} {
      func.func @main(%n: tensor<i32>) -> tensor<i32> {
        %0 = hlo.while(%i = %n) : tensor<i32>
          cond {
            %1 = func.call @is_small(%i) : (tensor<i32>) -> tensor<i1>
            hlo.return %1 : tensor<i1>
          } do {
            %1 = func.call @next(%i) : (tensor<i32>) -> tensor<i32>
            hlo.return %1 : tensor<i32>
          }
        func.return %0 : tensor<i32>
      }
      func.func private @is_small(%i: tensor<i32>) -> tensor<i1> attributes {hlo.kernel = "loop"} {
        %0 = hlo.constant dense<100> : tensor<i32>
        %1 = hlo.compare LT, %i, %0 : (tensor<i32>, tensor<i32>) -> tensor<i1>
        func.return %1 : tensor<i1>
      }
      func.func private @next(%i: tensor<i32>) -> tensor<i32> attributes {hlo.kernel = "loop"} {
        %0 = hlo.add %i, %i : tensor<i32>
        func.return %0 : tensor<i32>
      }
    }
    """
    assert xhlo.compile(text)(np.int32(3)) == 192


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (PROGRAM % ("", BODY.replace("func.return", "cf.br ^end ^end: func.return")), "is a kernel of 2 blocks"),
        (PROGRAM % ("", ""), "is a kernel of 0 blocks"),
        ((PROGRAM % ("", BODY)).replace("@main", "@other"), "no attribute xhlo.program names it"),
    ],
    ids=["two blocks", "no body", "no name"],
)
def test_wrong_programs_are_refused(text: str, message: str) -> None:
    with pytest.raises(DiagnosticError, match=message):
        xhlo.compile(text)

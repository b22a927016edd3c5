"""Loops that count for how long each element goes on, by adding its condition: fractals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import xhlo

PROGRAM = """
func.func @main(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xTYPE>) {
  %zero = hlo.constant dense<0> : tensor<i32>
  %none = hlo.constant dense<0ZERO> : tensor<64xTYPE>
  %0:3 = hlo.while(%i = %zero, %v = %x, %n = %none) : tensor<i32>, tensor<64xf32>, tensor<64xTYPE>
    cond {
      %most = hlo.constant dense<20> : tensor<i32>
      %1 = hlo.compare LT, %i, %most, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %four = hlo.constant dense<4.0> : tensor<64xf32>
      %go = hlo.compare LT, %v, %four : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xi1>
      %false = hlo.constant dense<false> : tensor<i1>
      %any = hlo.reduce(%go init: %false) applies hlo.or across dimensions = [0] : (tensor<64xi1>, tensor<i1>) -> tensor<i1>
      %2 = hlo.and %1, %any : tensor<i1>
      hlo.return %2 : tensor<i1>
    } do {
      %one = hlo.constant dense<1> : tensor<i32>
      %next = hlo.add %i, %one : tensor<i32>
      %four = hlo.constant dense<4.0> : tensor<64xf32>
      %go = hlo.compare LT, %v, %four : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xi1>
      %more = hlo.add %v, %x : tensor<64xf32>
      %w = hlo.select %go, %more, %v : tensor<64xi1>, tensor<64xf32>
      %step = hlo.convert %COUNTED : (tensor<64xi1>) -> tensor<64xTYPE>
      %m = hlo.add %n, %step : tensor<64xTYPE>
      hlo.return %next, %w, %m : tensor<i32>, tensor<64xf32>, tensor<64xTYPE>
    }
  return %0#1, %0#2 : tensor<64xf32>, tensor<64xTYPE>
}
"""


chosen: Any = np.where


def counted(x: Any, v: Any, n: Any, others: bool) -> tuple[Any, Any]:
    for _ in range(20):
        go = v < 4
        if not go.any():
            break
        n = n + (~go if others else go).astype(n.dtype)
        v = chosen(go, v + x, v)
    return v, n


@pytest.mark.parametrize(
    ("type_", "others", "in_a_kernel"), [("i32", False, True), ("i32", True, False), ("f32", False, False)]
)
def test_counts_are_those_of_each_element(type_: str, others: bool, in_a_kernel: bool) -> None:
    text = PROGRAM.replace("TYPE", type_).replace("ZERO", ".0" if type_ == "f32" else "")
    text = text.replace("%COUNTED", "%stopped" if others else "%go")
    text = text.replace(
        "      %step", "      %stopped = hlo.not %go : tensor<64xi1>\n      %step" if others else "      %step"
    )
    exe = xhlo.compile(text)
    assert exe.facts.loops != in_a_kernel
    x = np.linspace(0.05, 3, 64, dtype=np.float32)
    none = np.zeros(64, np.float32 if type_ == "f32" else np.int32)
    for found, expected in zip(exe(x), counted(x, x, none, others), strict=True):
        np.testing.assert_array_equal(found, expected)

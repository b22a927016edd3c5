"""Operations that may be common subexpressions are found equal."""

from __future__ import annotations

from itertools import product

from xdsl.ir import Operation
from xdsl.transforms.common_subexpression_elimination import OperationInfo

from xhlo.dialects.support.definitions import compare_operations_directly
from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.reading import parse_module
from xhlo.hlo_dialect.walking import operations_in

TEXT = """func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) {
  %zero = hlo.constant dense<0.0> : tensor<4xf32>
  %same = hlo.constant dense<0.0> : tensor<4xf32>
  %minus = hlo.constant dense<-0.0> : tensor<4xf32>
  %longer = hlo.constant dense<0.0> : tensor<5xf32>
  %0 = hlo.add %x, %y : tensor<4xf32>
  %1 = hlo.add %x, %y : tensor<4xf32>
  %2 = hlo.add %y, %x : tensor<4xf32>
  %3 = hlo.subtract %x, %y : tensor<4xf32>
  %4 = hlo.compare LT, %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %5 = hlo.compare GT, %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %6 = hlo.slice %x [0:2] : (tensor<4xf32>) -> tensor<2xf32>
  %7 = hlo.slice %x [0:2] : (tensor<4xf32>) -> tensor<2xf32>
  %8 = hlo.slice %x [1:3] : (tensor<4xf32>) -> tensor<2xf32>
  %9 = hlo.add %x, %y {note = 1 : i32} : tensor<4xf32>
  %n = hlo.constant dense<0.0> : tensor<f32>
  %10 = hlo.reduce(%x init: %n) applies hlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  %11 = hlo.reduce(%x init: %n) applies hlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  %12 = hlo.reduce(%x init: %n) applies hlo.maximum across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  return
}"""

EQUAL = {("zero", "same"), ("0", "1"), ("6", "7"), ("10", "11")}


def test_only_equal_operations_are_found_equal() -> None:
    compare_operations_directly()
    module = parse_module(TEXT, "<test>", make_context())
    (function,) = module.body.block.ops
    names: dict[str, Operation] = {}
    number = 0
    for op in function.regions[0].block.ops:
        if op.results:
            names[op.results[0].name_hint or str(number)] = op
            number += op.results[0].name_hint is None
    assert len(names) == 18 and len(operations_in(module)) > 20
    for (a, one), (b, other) in product(names.items(), repeat=2):
        equal = OperationInfo(one) == OperationInfo(other)
        assert equal is (a == b or (a, b) in EQUAL or (b, a) in EQUAL), f"{a} and {b}"
        assert not equal or hash(OperationInfo(one)) == hash(OperationInfo(other))
    # Else the search among many parts of one array would compare each with all others.
    assert len({hash(OperationInfo(names[name])) for name in ("6", "8")}) == 2
    assert len({hash(OperationInfo(names[name])) for name in ("4", "5")}) == 2

"""Names of operands, results and regions are read as xDSL's accessors read them."""

# pyright: reportPrivateUsage=false
from __future__ import annotations

from xdsl.ir import Operation
from xdsl.irdl.operations import BaseAccessor, BaseAttrAccessor

from xhlo.dialects.support import definitions
from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.reading import parse_module
from xhlo.hlo_dialect.walking import operations_in
from xhlo.targets.cpu.target import CPU
from xhlo.targets.program.pipeline import run_passes

TEXT = """func.func @main(%x: tensor<8x16xf32>, %y: tensor<16x300xf32>, %n: tensor<i32>) -> (tensor<8xf32>, tensor<i32>) {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %ten = hlo.constant dense<10> : tensor<i32>
  %0 = hlo.dot %x, %y : (tensor<8x16xf32>, tensor<16x300xf32>) -> tensor<8x300xf32>
  %1 = hlo.tanh %0 : tensor<8x300xf32>
  %2 = hlo.reduce(%1 init: %zero) applies hlo.maximum across dimensions = [1] : (tensor<8x300xf32>, tensor<f32>) -> tensor<8xf32>
  %3 = "hlo.while"(%n) ({
  ^bb0(%a: tensor<i32>):
    %4 = hlo.compare LT, %a, %ten : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "hlo.return"(%4) : (tensor<i1>) -> ()
  }, {
  ^bb0(%b: tensor<i32>):
    %5 = hlo.add %b, %b : tensor<i32>
    "hlo.return"(%5) : (tensor<i32>) -> ()
  }) : (tensor<i32>) -> tensor<i32>
  return %2, %3 : tensor<8xf32>, tensor<i32>
}"""


def names_of(op: Operation) -> dict[str, BaseAccessor | BaseAttrAccessor]:
    """The accessors of an operation's class, by name."""
    found = ((name, each) for cls in type(op).__mro__ for name, each in vars(cls).items())
    return {name: each for name, each in found if isinstance(each, BaseAccessor | BaseAttrAccessor)}


def test_names_are_read_as_xdsl_reads_them() -> None:
    definitions.read_names_directly()
    ctx = make_context()
    module = parse_module(TEXT, "<test>", ctx)
    kinds = set[str]()
    for stage in ((*CPU.front, *CPU.fusion(), *CPU.passes_between(None, "loops")), CPU.passes_between("loops", "llvm")):
        run_passes(ctx, module, stage)
        for op in operations_in(module):
            for name, accessor in names_of(op).items():
                slow = definitions._get if isinstance(accessor, BaseAccessor) else definitions._get_sized
                read, stated = getattr(op, name), slow(accessor, op)
                assert type(read) is type(stated) and read == stated, f"{name} of {op}"
                kinds.add(f"{type(accessor).__name__} {accessor.construct.name}")
    assert {"BeforeVariadicSingleAccessor OPERAND", "BeforeVariadicSingleAccessor RESULT"} <= kinds
    assert {"SingleAttrAccessor OPERAND", "VariadicAttrAccessor OPERAND"} <= kinds
    assert {"BeforeVariadicSingleAccessor REGION", "UniqueVariadicAccessor OPERAND"} <= kinds

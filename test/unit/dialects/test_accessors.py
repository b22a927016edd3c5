"""Names of operands, results and regions, and fields of IR, are read as xDSL reads them."""

# pyright: reportPrivateUsage=false
from __future__ import annotations

import pytest
from xdsl.dialects.builtin import ModuleOp, TensorType, f32
from xdsl.dialects.func import FuncOp
from xdsl.dialects.test import TestOp as AnyOp
from xdsl.ir import Block, Operation, Region
from xdsl.ir.core import SSAValues
from xdsl.irdl.operations import BaseAccessor, BaseAttrAccessor

from counting import calls
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


def test_fields_are_read_as_xdsl_reads_them() -> None:
    definitions.read_fields_directly()
    one, other = AnyOp(result_types=[f32, f32]), AnyOp(result_types=[f32])
    user = AnyOp(operands=[*one.results, other.results[0]])
    block = Block([one, other, user], arg_types=[f32])
    region = Region([block, Block()])
    assert list(block.ops) == [one, other, user]
    assert list(reversed(block.ops)) == [user, other, one]
    assert (block.first_op, one.next_op, user.prev_op, block.last_op) == (one, other, other, user)
    assert (region.first_block, block.next_block, list(region.blocks)) == (block, region.last_block, [*region.blocks])
    assert (one.results[0].owner, block.args[0].owner, block.args[0].type) == (one, block, f32)
    assert type(user.operands[1:]) is type(one.results[:1]) is SSAValues
    assert [(use.operation, use.index) for use in other.results[0].uses] == [(user, 2)]
    user.operands = [other.results[0]]
    assert list(user.operands) == [other.results[0]] and one.results[0].first_use is None
    with pytest.raises(ValueError, match="Invalid"):
        other.results[0].name_hint = "no name"
    other.results[0].name_hint = "name_1"
    assert other.results[0].name_hint == "name"


def test_operations_are_walked_while_they_are_erased() -> None:
    definitions.read_fields_directly()
    module = ModuleOp([AnyOp(), AnyOp(), AnyOp()])
    seen = 0
    for op in module.body.block.ops:
        op.detach()
        op.erase()
        seen += 1
    assert seen == 3 and not module.body.block.ops


def test_operations_are_counted_without_a_call_for_each() -> None:
    definitions.read_fields_directly()
    few, many = Block([AnyOp() for _ in range(3)]), Block([AnyOp() for _ in range(300)])
    assert (len(Block().ops), len(few.ops), len(many.ops)) == (0, 3, 300)
    assert calls(lambda: len(few.ops)) == calls(lambda: len(many.ops))


def test_blocks_are_added_as_xdsl_adds_them() -> None:
    definitions.read_fields_directly()
    first, second = Block(), Block([AnyOp()])
    region = Region(first)
    region.add_block(second)
    assert [*region.blocks] == [first, second] and first.parent is second.parent is region
    with pytest.raises(ValueError, match="already attached"):
        Region(first)
    inner = Region()
    second.add_op(AnyOp(regions=[inner]))
    region.detach_block(second)
    with pytest.raises(ValueError, match="contained"):
        inner.add_block(second)
    function, declared = FuncOp("f", ((), ())), FuncOp("g", ((), ()), Region())
    assert (function.is_declaration, declared.is_declaration) == (False, True)


def test_values_and_operations_are_equal_to_themselves_only() -> None:
    definitions.read_fields_directly()
    one, other = AnyOp(result_types=[f32]), AnyOp(result_types=[f32])
    for a, b in ((one, other), (one.results[0], other.results[0]), (Block(), Block()), (Region(), Region())):
        assert a == a and a != b and len({a, b, a}) == 2


def test_no_operation_is_put_inside_of_itself() -> None:
    definitions.read_fields_directly()
    inner = Block()
    outer = AnyOp(regions=[Region([Block([AnyOp(regions=[Region([inner])])])])])
    with pytest.raises(ValueError, match="contained"):
        inner.add_op(outer)
    op = AnyOp()
    inner.add_op(op)
    with pytest.raises(ValueError, match="already attached"):
        inner.add_op(op)
    assert outer.is_ancestor(op) and not op.is_ancestor(outer)


def test_types_keep_their_shapes() -> None:
    definitions.read_fields_directly()
    type_, same = TensorType(f32, [2, 3]), TensorType(f32, [2, 3])
    assert type_.get_shape() is type_.get_shape() == (2, 3)
    assert type_ == same and hash(type_) == hash(same) and str(type_) == "tensor<2x3xf32>"

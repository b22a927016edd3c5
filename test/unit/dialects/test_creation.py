"""Operations that `dialects/support/creation.py` makes are those that xDSL's constructor makes."""

# pyright: reportPrivateUsage=false
from __future__ import annotations

from typing import Any

from xdsl.dialects import arith, cf, llvm, memref, scf
from xdsl.dialects.builtin import DenseArrayBase, IndexType, IntegerAttr, MemRefType, StringAttr, f32, i1, i32
from xdsl.ir import Attribute, Block, Operation, Region

from xhlo.dialects.support.attributes import AttributeNumbers
from xhlo.dialects.support.buffers import memref_type
from xhlo.dialects.support.creation import append, append_new, create_op

BUFFER = MemRefType(f32, [4])


def fields(op: Operation) -> dict[str, Any]:
    uses = [(use.operation is op, use.index) for use in (*op._operand_uses, *op._successor_uses)]
    return {
        "operands": (tuple(op.operands), tuple(op.successors), uses),
        "results": [(one.type, one.index, one.op is op, one.name_hint) for one in op.results],
        "rest": (op.properties, op.attributes, op.location, op.parent),
        "regions": [region.parent is op for region in op.regions],
    }


def parts_of_operations() -> list[tuple[type[Operation], dict[str, Any]]]:
    """Operations of several kinds: with defaults, successors, regions, without results."""
    block = Block(arg_types=(f32, f32, BUFFER, IndexType(), i1))
    x, y, buffer, index, condition = block.args
    segments = {"operandSegmentSizes": DenseArrayBase.from_list(i32, (1, 1, 0))}
    value: dict[str, Attribute] = {"value": IntegerAttr(1, IndexType())}
    return [
        (arith.AddfOp, {"operands": (x, x), "result_types": (f32,), "attributes": {"note": StringAttr("n")}}),
        (arith.AddiOp, {"operands": (index, index), "result_types": (IndexType(),)}),
        (arith.ConstantOp, {"result_types": (IndexType(),), "properties": value}),
        (llvm.StoreOp, {"operands": (y, x)}),
        (memref.LoadOp, {"operands": (buffer, index), "result_types": (f32,)}),
        (memref.StoreOp, {"operands": (x, buffer, index)}),
        (cf.BranchOp, {"operands": (x,), "successors": (block,)}),
        (
            cf.ConditionalBranchOp,
            {"operands": (condition, x), "successors": (block, block), "properties": segments},
        ),
    ]


def test_fields_are_those_of_xdsl() -> None:
    for cls, parts in parts_of_operations():
        assert fields(create_op(cls, **parts)) == fields(cls.create(**parts)), cls.name
    bounds = Block(arg_types=[IndexType()] * 3).args
    ours = create_op(scf.ForOp, operands=bounds, regions=[Region(Block())])
    theirs = scf.ForOp.create(operands=bounds, regions=[Region(Block())])
    assert fields(ours) == fields(theirs)


def test_appending_links_operations_and_uses() -> None:
    block = Block(arg_types=(f32,))
    (x,) = block.args
    first = append_new(block, arith.AddfOp, (x, x), f32)
    append(block, second := create_op(arith.AddfOp, operands=(first, x), result_types=(f32,)))
    assert list(block.ops) == [first.op, second] and second.prev_op is first.op
    assert fields(first.op)["rest"][0] == arith.AddfOp.create(operands=(x, x), result_types=(f32,)).properties
    uses = [(use.operation, use.index) for use in x.uses if use.operation.parent is block]
    assert uses == [(second, 1), (first.op, 1), (first.op, 0)]
    second.detach()
    second.erase()
    assert block.last_op is first.op and first.first_use is None


def test_equal_attributes_have_one_number() -> None:
    number = AttributeNumbers()
    one, same, other = StringAttr("one"), StringAttr("one"), StringAttr("other")
    assert number(one) == number(same) == number(one) != number(other)


def test_known_attributes_are_those_of_xdsl() -> None:
    made = memref_type((2, 3), f32)
    assert made == MemRefType(f32, [2, 3]) and hash(made) == hash(MemRefType(f32, [2, 3]))
    assert str(made) == "memref<2x3xf32>"
    assert made.parameters == MemRefType(f32, [2, 3]).parameters

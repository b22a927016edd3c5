"""chlo.constant, constant_like and top_k as hlo."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import BoolAttr
from xdsl.ir import Attribute, Block, Operation, Region
from xdsl.rewriter import InsertPoint

from ...hlo_dialect.attributes import int_attr
from ...hlo_dialect.chlo.structural import ChloConstantOp, ConstantLikeOp, TopKOp
from ...hlo_dialect.expressions.tensor import Builder
from ...hlo_dialect.op import replace_op
from ...hlo_dialect.ops.control_flow import ReturnOp
from ...hlo_dialect.ops.creation import ConstantOp
from ...hlo_dialect.ops.sort import SortOp
from ...hlo_dialect.types import element_of, i32, is_float, make_tensor, shape_of, tensor_type
from .rules import conversions, require_static


@conversions.on(ChloConstantOp)
def _constant(op: Operation) -> None:
    new = ConstantOp.create(result_types=op.result_types, properties=dict(op.properties))
    replace_op(op, [new], new.results)


@conversions.on(ConstantLikeOp)
def _constant_like(op: Operation) -> None:
    require_static(op)
    builder = Builder()
    builder.replace(op, builder.constant(cast(ConstantLikeOp, op).element().reshape(1), tensor_type(op.results[0])))


@conversions.on(TopKOp)
def _top_k(op: Operation) -> None:
    """A stable descending sort of the elements and their indices; the first k of both."""
    require_static(op)
    builder, operand = Builder(), op.operands[0]
    shape = shape_of(operand)
    last = len(shape) - 1
    indices = builder.iota(make_tensor(shape, i32), last)
    sort = SortOp.create(
        operands=[operand, indices.value],
        result_types=[operand.type, indices.type],
        properties={"dimension": int_attr(last), "is_stable": BoolAttr.from_bool(True)},
        regions=[_falling(element_of(operand))],
    )
    builder.insert(sort)
    firsts = (*shape[:-1], cast(TopKOp, op).count)
    builder.replace(op, *(x.first(firsts) for x in builder.tensors(sort.results)))


def _falling(element_type: Attribute) -> Region:
    """The comparator `a > b` of the elements, floats in total order; it ignores the indices."""
    scalar, index = make_tensor((), element_type), make_tensor((), i32)
    block = Block(arg_types=[scalar, scalar, index, index])
    a, b = Builder(InsertPoint.at_end(block)).tensors(block.args[:2])
    greater = a.compare("GT", b, "TOTALORDER" if is_float(element_type) else None)
    block.add_op(ReturnOp.create(operands=[greater.value]))
    return Region(block)

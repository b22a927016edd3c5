"""chlo.constant, constant_like and top_k as hlo."""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects.builtin import BoolAttr, IntegerAttr
from xdsl.ir import Attribute, Block, Operation, Region

from ...hlo_dialect.attributes import int_array
from ...hlo_dialect.chlo.structural import ChloConstantOp, ConstantLikeOp, TopKOp
from ...hlo_dialect.op import replace_op
from ...hlo_dialect.ops.comparison import CompareOp, comparison_direction, comparison_type
from ...hlo_dialect.ops.control_flow import ReturnOp
from ...hlo_dialect.ops.creation import ConstantOp, IotaOp
from ...hlo_dialect.ops.slicing import SliceOp
from ...hlo_dialect.ops.sort import SortOp
from ...hlo_dialect.types import element_of, i1, i32, i64, is_float, make_tensor, shape_of, tensor_type
from .rules import require_static


def _constant(op: Operation) -> None:
    new = ConstantOp.create(result_types=op.result_types, properties=dict(op.properties))
    replace_op(op, [new], new.results)


def _constant_like(op: Operation) -> None:
    require_static(op)
    new = ConstantOp.of(cast(ConstantLikeOp, op).element().reshape(1), tensor_type(op.results[0]))
    replace_op(op, [new], new.results)


def _top_k(op: Operation) -> None:
    """A stable sort of the elements and their indices, falling, and the first k of both."""
    require_static(op)
    operand, k = op.operands[0], cast(TopKOp, op).count
    shape = shape_of(operand)
    last = len(shape) - 1
    iota = IotaOp.create(result_types=[make_tensor(shape, i32)], properties={"iota_dimension": IntegerAttr(last, i64)})
    sort = SortOp.create(
        operands=[operand, iota.results[0]],
        result_types=[operand.type, iota.results[0].type],
        properties={"dimension": IntegerAttr(last, i64), "is_stable": BoolAttr.from_bool(True)},
        regions=[_falling(element_of(operand))],
    )
    slices = [
        SliceOp.create(
            operands=[value],
            result_types=[result.type],
            properties={
                "start_indices": int_array([0] * len(shape)),
                "limit_indices": int_array([*shape[:-1], k]),
                "strides": int_array([1] * len(shape)),
            },
        )
        for value, result in zip(sort.results, op.results, strict=True)
    ]
    replace_op(op, [iota, sort, *slices], [one.results[0] for one in slices])


def _falling(element_type: Attribute) -> Region:
    """The comparator `a > b` of the elements, floats in total order; the indices have no say."""
    scalar, index = make_tensor((), element_type), make_tensor((), i32)
    block = Block(arg_types=[scalar, scalar, index, index])
    properties: dict[str, Attribute] = {"comparison_direction": comparison_direction("GT")}
    if is_float(element_type):
        properties["compare_type"] = comparison_type("TOTALORDER")
    compare: Any = CompareOp.create(operands=block.args[:2], result_types=[make_tensor((), i1)], properties=properties)
    block.add_ops([compare, ReturnOp.create(operands=compare.results)])
    return Region(block)


CONVERSIONS = (
    (ChloConstantOp, _constant),
    (ConstantLikeOp, _constant_like),
    (TopKOp, _top_k),
)

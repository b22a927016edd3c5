"""chlo.broadcast_add and its like as hlo.broadcast_in_dim and the plain operation."""

from __future__ import annotations

from typing import cast

from xdsl.ir import Operation, SSAValue

from ...hlo_dialect.attributes import int_array
from ...hlo_dialect.chlo.broadcasts import OPS, BroadcastingOp
from ...hlo_dialect.op import replace_op
from ...hlo_dialect.ops.movement import BroadcastInDimOp
from ...hlo_dialect.types import element_of, make_tensor, shape_of
from .rules import require_static


def _broadcast(op: Operation) -> tuple[Operation, ...]:
    require_static(op)
    broadcasting = cast(BroadcastingOp, op)
    shape = broadcasting.broadcast_shape()
    new: list[Operation] = []
    values: list[SSAValue] = []
    for operand, dims in zip(op.operands, broadcasting.alignments(), strict=True):
        if shape_of(operand) != shape:
            new.append(
                BroadcastInDimOp.create(
                    operands=[operand],
                    result_types=[make_tensor(shape, element_of(operand))],
                    properties={"broadcast_dimensions": int_array(dims)},
                )
            )
            operand = new[-1].results[0]
        values.append(operand)
    plain = broadcasting.plain(values)
    replace_op(op, [*new, plain], plain.results)
    return (plain,)


CONVERSIONS = tuple((cls, _broadcast) for cls in OPS)

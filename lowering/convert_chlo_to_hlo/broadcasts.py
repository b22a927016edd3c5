"""chlo.broadcast_add and similar operations as hlo.broadcast_in_dim and the plain operation."""

from __future__ import annotations

from typing import cast

from xdsl.ir import Operation

from ...hlo_dialect.chlo.broadcasts import BroadcastingOp
from ...hlo_dialect.expressions.tensor import Builder
from .rules import conversions, require_static


@conversions.on(BroadcastingOp)
def _broadcast(op: Operation) -> tuple[Operation, ...]:
    require_static(op)
    broadcasting = cast(BroadcastingOp, op)
    shape = broadcasting.broadcast_shape()
    builder = Builder()
    values = [
        x.value if x.shape == shape else x.broadcast(shape, dims).value
        for x, dims in zip(builder.tensors(op.operands), broadcasting.alignments(), strict=True)
    ]
    plain = broadcasting.plain(values)
    builder.replace(op, builder.add(plain))
    return (plain,)

"""The deprecated broadcast becomes broadcast_in_dim."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation

from ...hlo_dialect.attributes import int_array
from ...hlo_dialect.op import replace_op
from ...hlo_dialect.ops.broadcast import BroadcastOp
from ...hlo_dialect.ops.movement import BroadcastInDimOp
from ...hlo_dialect.types import shape_of


def _broadcast(op: BroadcastOp) -> Sequence[Operation]:
    """
    Before: `%0 = broadcast %x, sizes = [2] : (tensor<3xf32>) -> tensor<2x3xf32>`
    After:  `%0 = broadcast_in_dim %x, dims = [1] : (tensor<3xf32>) -> tensor<2x3xf32>`
    """
    new, rank = len(op.sizes), len(shape_of(op.operands[0]))
    result = BroadcastInDimOp.create(
        operands=op.operands,
        result_types=op.result_types,
        properties={"broadcast_dimensions": int_array(range(new, new + rank))},
    )
    replace_op(op, [result], result.results)
    return [result]


DECOMPOSITIONS = ((BroadcastOp, _broadcast),)

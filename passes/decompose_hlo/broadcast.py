"""The deprecated broadcast becomes broadcast_in_dim."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation

from ...hlo_dialect.expressions.tensor import Builder, Tensor
from ...hlo_dialect.ops.broadcast import BroadcastOp
from ...hlo_dialect.types import tensor_type
from .transform import decompositions


@decompositions.on(BroadcastOp)
def _broadcast(op: BroadcastOp) -> Sequence[Operation]:
    """
    Before: `%0 = broadcast %x, sizes = [2] : (tensor<3xf32>) -> tensor<2x3xf32>`
    After:  `%0 = broadcast_in_dim %x, dims = [1] : (tensor<3xf32>) -> tensor<2x3xf32>`
    """
    new, x = len(op.sizes), Tensor(Builder(), op.operands[0])
    return x.builder.replace(op, x.broadcast(tensor_type(op.results[0]), range(new, new + len(x.shape))))

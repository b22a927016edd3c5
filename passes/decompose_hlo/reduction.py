"""Reductions that mean nothing are refused."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation

from ...hlo_dialect.ops.constraints import refuse_shaped_accumulators
from ...hlo_dialect.ops.reduction import ReduceOp
from .transform import decompositions


@decompositions.on(ReduceOp)
def _reduce(op: ReduceOp) -> Sequence[Operation]:
    refuse_shaped_accumulators(op, op.init_values)
    return ()

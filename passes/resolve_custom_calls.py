"""Custom calls by their targets: marks vanish, composed ones become other operations, unknown ones are refused."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ..hlo_dialect.custom_calls.operations import CustomCallOp
from ..hlo_dialect.custom_calls.registry import target_of
from ..hlo_dialect.hlo_pass import HloPass
from ..hlo_dialect.op import replace_op
from ..hlo_dialect.ops.check_calls import is_check
from ..hlo_dialect.sharding.operations import ManualComputationOp, SameValueOp, ShardingGroupOp, erase_sharding
from ..hlo_dialect.walking import operations_in

_HANDLED = (CustomCallOp, ManualComputationOp, SameValueOp, ShardingGroupOp)


@dataclass(frozen=True)
class ResolveCustomCallsPass(HloPass):
    """
    Replace custom calls whose targets are marks or have a decomposition; refuse those of unknown targets.

    Before: `%1 = hlo.custom_call @Sharding(%0)`, `%2 = hlo.custom_call @lapack_spotrf_ffi(%1)`
    After:  the second call alone, of %0: the function that is registered for its target runs when the program does
    What says how arrays are split between devices vanishes; computations of several devices are refused.
    Assumes: the level after inline and flatten-tuples: operands and results are tensors. Checks stay as they are.
    Leaves: custom calls of functions only.
    """

    name = "resolve-custom-calls"

    def run(self, ctx: Context, module: ModuleOp) -> None:
        waiting = [op for op in operations_in(module) if isinstance(op, _HANDLED)]
        while waiting:
            op = waiting.pop()
            if not isinstance(op, CustomCallOp):
                erase_sharding(op)
                continue
            if is_check(op):
                continue
            target = target_of(op)
            if target.is_identity:
                replace_op(op, (), list(op.operands))
            elif target.decomposition is not None:
                new_ops = target.decomposition(op) or ()
                waiting += [inner for new in new_ops for inner in new.walk() if isinstance(inner, CustomCallOp)]

"""Custom calls by target: remove annotations, decompose composed ones, refuse unknown ones."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ..hlo_dialect.attributes import XLA_SHAPE
from ..hlo_dialect.custom_calls.operations import CustomCallOp
from ..hlo_dialect.custom_calls.registry import target_of
from ..hlo_dialect.hlo_pass import HloPass
from ..hlo_dialect.op import replace_op
from ..hlo_dialect.ops.check_calls import is_check
from ..hlo_dialect.sharding.operations import ManualComputationOp, SameValueOp, ShardingGroupOp, erase_sharding
from ..hlo_dialect.walking import operations_in

_HANDLED = (CustomCallOp, ManualComputationOp, SameValueOp, ShardingGroupOp)


class ResolveCustomCallsPass(HloPass):
    """
    Remove or decompose custom calls, and refuse those with unknown targets.

    Before: `%1 = hlo.custom_call @Sharding(%0)`, `%2 = hlo.custom_call @lapack_spotrf_ffi(%1)`
    After:  only the second call, on %0: the function registered for its target runs with the program
    Annotations of sharding and of layouts are removed; computations over several devices are refused.
    Assumes: the level after inline and flatten-tuples: operands and results are tensors. Checks stay as they are.
    Leaves: custom calls of functions only.
    """

    name = "resolve-custom-calls"
    only_for = ("hlo.custom_call", "sdy.*", "@mhlo.xla_shape")

    def run(self, ctx: Context, module: ModuleOp) -> None:
        operations = operations_in(module)
        for op in operations:
            # Layouts mean nothing from here on, and equal operations of different ones are to be merged.
            op.attributes.pop(XLA_SHAPE, None)
        waiting = [op for op in operations if isinstance(op, _HANDLED)]
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

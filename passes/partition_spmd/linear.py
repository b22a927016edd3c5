"""
Summands in partition-spmd: a value that the program wants unreduced stays a sum over devices.

Products and sums leave summands (contractions.py), which are added where something needs the sum. If the program states
that a result is unreduced, an operation that is linear in such operands computes on the summands.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from ...hlo_dialect.ops.comparison import SelectOp
from ...hlo_dialect.ops.contraction import DotGeneralOp
from ...hlo_dialect.ops.control_flow import CaseOp, IfOp, WhileOp
from ...hlo_dialect.ops.conversion import ConvertOp
from ...hlo_dialect.ops.creation import is_splat_of
from ...hlo_dialect.ops.dynamic import DynamicSliceOp, DynamicUpdateSliceOp
from ...hlo_dialect.ops.elementwise_binary import AddOp, DivideOp, MultiplyOp, SubtractOp
from ...hlo_dialect.ops.elementwise_unary import NegateOp
from ...hlo_dialect.ops.gather import GatherOp
from ...hlo_dialect.ops.movement import BroadcastInDimOp, ReshapeOp, ReverseOp, TransposeOp
from ...hlo_dialect.ops.reduction import ReduceOp, single_combiner
from ...hlo_dialect.ops.slicing import ConcatenateOp, PadOp, SliceOp
from ...hlo_dialect.sharding.operations import ConstraintOp
from ...hlo_dialect.sharding.tilings import Tiling
from ...hlo_dialect.types import element_of, is_float, shape_of
from .layouts import Layouts
from .parts import even

_ALL = (AddOp, SubtractOp, NegateOp, BroadcastInDimOp, TransposeOp, ReshapeOp, ReverseOp, SliceOp, ConcatenateOp)
"""Linear in all operands together."""
_LEADING: dict[type[Operation], int] = {DynamicSliceOp: 1, GatherOp: 1, DynamicUpdateSliceOp: 2}
"""The number of leading operands in which an operation is linear; the others are indices."""


def linear_operands(op: Operation, layouts: Layouts) -> Sequence[SSAValue]:
    """The operands of which an operation may use summands, as its result is to be unreduced; none if it is not."""
    sums = [value for value in op.operands if _has_summands(value, layouts)]
    if not sums or not any(map(_is_unreduced, op.results)):
        return ()
    operands = list(op.operands)
    match op:
        case ReduceOp():
            zero = all(is_splat_of(init, 0) or is_splat_of(init, 0.0) for init in operands[op.input_count :])
            return operands if zero and isinstance(single_combiner(op.regions[0]), AddOp) else ()
        case PadOp():
            return operands[:1] if is_splat_of(operands[1], 0) or is_splat_of(operands[1], 0.0) else ()
        case MultiplyOp() | DotGeneralOp():
            return sums if len(sums) == 1 and operands.count(sums[0]) == 1 else ()
        case DivideOp():
            return sums if sums == operands[:1] else ()
        case ConvertOp():
            floats = is_float(element_of(operands[0])) and is_float(element_of(op.results[0]))
            return operands if floats else ()
        case SelectOp():
            return operands[1:]
        case _:
            return operands if isinstance(op, _ALL) else operands[: _LEADING.get(type(op), 0)]


def _has_summands(value: SSAValue, layouts: Layouts) -> bool:
    computed = layouts.computed(value)
    return computed is not None and computed.summands > 1


def _is_unreduced(value: SSAValue) -> bool:
    """Whether the program states that the value is a sum over devices."""
    return any(isinstance(use.operation, ConstraintOp) and use.operation.wanted.unreduced.data for use in value.uses)


def carried(value: SSAValue, layouts: Layouts) -> Tiling | None:
    """How a loop carries a value: with its summands only if the program states them."""
    lasting = not isinstance(value.owner, Operation) or isinstance(value.owner, (ConstraintOp, WhileOp, IfOp, CaseOp))
    if lasting and _has_summands(value, layouts):
        computed = layouts.computed(value)
        return computed if computed is not None and computed.fits(shape_of(value)) else None
    return even(value, layouts)

"""Operations on tensors of rank 0 as scalar operations: the regions of reducers and the like."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, Operation, SSAValue

from ...dialects.support.scalar import Scalar
from ...hlo_dialect.diagnostics import fail
from ...hlo_dialect.ops.creation import ConstantOp
from ...hlo_dialect.ops.movement import BroadcastInDimOp, ReshapeOp, TransposeOp
from ...hlo_dialect.types import shape_of
from .creation import scalar_constant
from .emission import scalar_patterns


def inline_region(source: Block, target: Block, arguments: list[SSAValue]) -> list[Scalar]:
    """
    Inline a region on tensors of rank 0 as scalar operations at the end of `target`; return its results.

    `arguments` replace the region's block arguments. Raises DiagnosticError for operations without a scalar form.
    """
    values: dict[SSAValue, SSAValue] = dict(zip(source.args, arguments, strict=True))
    inline_operations([op for op in source.ops if op is not source.last_op], values, target)
    terminator = source.last_op
    assert terminator is not None, "a region without a terminator passes no verifier"
    return [Scalar(target, values[operand]) for operand in terminator.operands]


def inline_operations(operations: Sequence[Operation], values: dict[SSAValue, SSAValue], target: Block) -> None:
    """
    Emit operations on tensors of rank 0 as scalar operations at the end of `target`.

    `values` maps their operands to scalars and receives their results. Raises DiagnosticError for operations without a
    scalar form.
    """
    for op in operations:
        if isinstance(op, ConstantOp):
            values[op.result] = scalar_constant(target, op.value).value
        elif isinstance(op, (BroadcastInDimOp, ReshapeOp, TransposeOp)) and shape_of(op.result) == ():
            values[op.result] = values[op.operand]
        elif (pattern := scalar_patterns.get(type(op))) is not None:
            operands = [Scalar(target, values[operand]) for operand in op.operands]
            values[op.results[0]] = pattern(op, *operands).value
        else:
            fail(op, "is not supported inside a reducer by convert-hlo-to-linalg")

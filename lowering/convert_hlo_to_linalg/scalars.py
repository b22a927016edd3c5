"""The table of elementwise operations, collected from the families' `SCALARS`: how each computes one element."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from xdsl.ir import Block, Operation, SSAValue

from ...dialects.build.scalar import Scalar
from ...hlo_dialect.diagnostics import fail
from ...hlo_dialect.ops.creation import ConstantOp
from ...hlo_dialect.ops.movement import BroadcastInDimOp, ReshapeOp, TransposeOp
from ...hlo_dialect.types import shape_of
from ..tables import tables
from .creation import scalar_constant
from .emission import ScalarPattern

ENTRY_POINT_GROUP = "xhlo.scalar_lowerings"
"""Entry points of other packages; each loads a sequence of (operation class, scalar pattern)."""


@lru_cache(maxsize=1)
def scalar_patterns() -> dict[type[Operation], ScalarPattern]:
    """The scalar patterns by operation class."""
    table: dict[type[Operation], ScalarPattern] = {}
    for family in tables(__package__ or "", "SCALARS", ENTRY_POINT_GROUP):
        table.update(family)
    return table


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
    table = scalar_patterns()
    for op in operations:
        if isinstance(op, ConstantOp):
            values[op.result] = scalar_constant(target, op.value).value
        elif isinstance(op, (BroadcastInDimOp, ReshapeOp, TransposeOp)) and shape_of(op.result) == ():
            values[op.result] = values[op.operand]
        elif (pattern := table.get(type(op))) is not None:
            operands = [Scalar(target, values[operand]) for operand in op.operands]
            values[op.results[0]] = pattern(op, *operands).value
        else:
            fail(op, "is not supported inside a reducer by convert-hlo-to-linalg")

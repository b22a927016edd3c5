"""Fold what is known of a function before it runs: arithmetic on constants, choices by them, and what nothing reads."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from xdsl.dialects import arith
from xdsl.ir import Block, Operation, SSAValue

from ...dialects.support.creation import create_op
from ...dialects.support.editing import erase_op, insert_before, operands_of, replace_uses
from ...dialects.support.scalar import scalar_attr
from ...hlo_dialect.numbers.scalar_operations import constant, scalar_function
from ...hlo_dialect.walking import operations_of


def fold_constants(block: Block) -> None:
    """Fold a block of pure operations of scalars, of one result each, before its terminator."""
    for op in operations_of(block):
        value = None if op is block.last_op else _value_of(op)
        if value is not None:
            replace_uses(op.results[0], value)
    for op in reversed(operations_of(block)):
        if op is not block.last_op and op.results[0].first_use is None:
            erase_op(op)


def _value_of(op: Operation) -> SSAValue | None:
    """The value of an operation, if it is that of a constant or one of the operands."""
    owners = [operand.owner for operand in operands_of(op)]
    known = [isinstance(owner, arith.ConstantOp) for owner in owners]
    if type(op) is arith.SelectOp and known[0]:
        return op.operands[1 if constant(cast(Operation, owners[0])).item() else 2]
    function = scalar_function(op) if known and all(known) else None
    if function is None:
        return None
    with np.errstate(all="ignore"):
        number: Any = function(*(constant(cast(Operation, owner)) for owner in owners)).item()
    type_ = op.results[0].type
    made = create_op(arith.ConstantOp, result_types=[type_], properties={"value": scalar_attr(number, type_)})
    insert_before(made, op)
    return made.results[0]

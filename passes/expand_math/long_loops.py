"""Innermost loops that are long enough to prepare for."""

from __future__ import annotations

from typing import Any, TypeGuard, cast

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, Operation, SSAValue

from ...dialects.support.kernel import PARALLEL

LEAST_TRIPS = 32
"""Iterations below which preparing for a loop costs what it saves."""


def is_long(loop: Operation | None, least: int = LEAST_TRIPS) -> TypeGuard[scf.ForOp]:
    """Whether an operation is an innermost loop whose iterations are independent and not known to be fewer."""
    if type(loop) is not scf.ForOp or PARALLEL not in loop.attributes:
        return False
    bounds = _number(loop.lb), _number(loop.ub)
    return None in bounds or cast(int, bounds[1]) - cast(int, bounds[0]) >= least


def _number(value: SSAValue) -> int | None:
    constant = value.owner.value if type(value.owner) is arith.ConstantOp else None
    return cast("IntegerAttr[Any]", constant).value.data if isinstance(constant, IntegerAttr) else None


def move_before(made: Block, place: Operation) -> None:
    """Move the operations of a block before another, such as a loop, to whose location they belong."""
    ops = list(made.ops)
    for op in ops:
        op.detach()
        op.location = place.location
    cast(Block, place.parent).insert_ops_before(ops, place)

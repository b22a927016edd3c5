"""Rules for integers whose bounds are known, such as the indices that a loop counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.ir import Operation

from ...hlo_dialect.expressions.tensor import Builder
from ...hlo_dialect.ops.comparison import CompareOp
from ...hlo_dialect.ops.elementwise_binary import MaximumOp, MinimumOp
from ...hlo_dialect.types import element_of, is_integer, tensor_type
from .rewrite import Rewrite, by, simplifications, to

if TYPE_CHECKING:
    from ...hlo_dialect.loops.bounds import Bounds


def _both_bounds(op: Operation) -> tuple[Bounds, Bounds] | None:
    """The bounds of two operands, if both have some."""
    if not is_integer(element_of(op.operands[0])):
        return None
    from ...hlo_dialect.loops.bounds import bounds_of  # not for programs that compare floats only

    left = bounds_of(op.operands[0])
    right = None if left is None else bounds_of(op.operands[1])
    return None if left is None or right is None else (left, right)


@simplifications.on(CompareOp)
def compare_bounded(op: Operation) -> Rewrite | None:
    """A comparison of integers that their bounds decide is known: `i < 0` of an index that a loop counts from 0."""
    assert isinstance(op, CompareOp)
    both = _both_bounds(op)
    known = None if both is None else _decided(op.direction, *both)
    return None if known is None else by(Builder().splat(known, tensor_type(op.results[0])))


def _decided(direction: str, left: Bounds, right: Bounds) -> bool | None:
    """Whether a comparison holds for all numbers within the bounds, or for none; None otherwise."""
    match direction:
        case "LT" | "GE":
            known = True if left.most < right.least else False if left.least >= right.most else None
        case "LE" | "GT":
            known = True if left.most <= right.least else False if left.least > right.most else None
        case _:
            known = False if left.most < right.least or right.most < left.least else None
    return known if known is None or direction in ("LT", "LE", "EQ") else not known


@simplifications.on(MaximumOp, MinimumOp)
def extreme_of_bounded(op: Operation) -> Rewrite | None:
    """A minimum or maximum of integers is the operand that their bounds say."""
    both = _both_bounds(op)
    if both is None:
        return None
    left, right = both
    if left.most <= right.least:
        return to(op.operands[isinstance(op, MaximumOp)])
    if right.most <= left.least:
        return to(op.operands[isinstance(op, MinimumOp)])
    return None

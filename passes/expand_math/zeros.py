"""
Values that are never -0: squares, sizes and exponentials, and sums of one of them with anything.

A sum that the processor rounds once with a product may be -0 where it was a number too small to exist. Rounding twice
is allowed as well, so that 0 is right there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast

from xdsl.dialects import arith
from xdsl.dialects import math as math_dialect
from xdsl.dialects.builtin import FloatAttr
from xdsl.ir import Operation, SSAValue

_DEPTH = 6
"""Operations that are looked at in turn."""


def is_never_minus_zero(value: SSAValue, depth: int = _DEPTH) -> bool:
    """Whether a float is never -0, as the operations say that compute it."""
    op = value.owner
    if not isinstance(op, Operation) or not depth:
        return False
    rule = _RULES.get(type(op))
    return rule is not None and rule(op, lambda operand: is_never_minus_zero(operand, depth - 1))


_Known = Callable[[SSAValue], bool]


def _constant(op: Operation, known: _Known) -> bool:
    number = cast(arith.ConstantOp, op).value
    return isinstance(number, FloatAttr) and math.copysign(1.0, cast("FloatAttr[Any]", number).value.data) > 0


def _always(op: Operation, known: _Known) -> bool:
    return True


def _square(op: Operation, known: _Known) -> bool:
    return op.operands[0] is op.operands[1]


def _any(op: Operation, known: _Known) -> bool:
    return any(map(known, op.operands))


def _all(op: Operation, known: _Known) -> bool:
    return all(map(known, op.operands))


def _first(op: Operation, known: _Known) -> bool:
    return known(op.operands[0])


def _maximum(op: Operation, known: _Known) -> bool:
    """0 above -0: a maximum with a constant that is at least 0, as of ReLU, is one of those that follow 0."""
    return _all(op, known) or any(isinstance(x.owner, arith.ConstantOp) and known(x) and _least(x) for x in op.operands)


def _least(value: SSAValue) -> bool:
    number = cast(arith.ConstantOp, value.owner).value
    return cast("FloatAttr[Any]", number).value.data >= 0


def _select(op: Operation, known: _Known) -> bool:
    return all(map(known, op.operands[1:]))


_RULES: dict[type[Operation], Callable[[Operation, _Known], bool]] = {
    arith.ConstantOp: _constant,
    arith.AddfOp: _any,
    arith.SubfOp: _first,
    arith.MulfOp: _square,
    arith.MaximumfOp: _maximum,
    arith.MinimumfOp: _all,
    arith.SelectOp: _select,
    arith.SIToFPOp: _always,
    arith.UIToFPOp: _always,
    math_dialect.AbsFOp: _always,
    math_dialect.ExpOp: _always,
    math_dialect.SqrtOp: _first,
}

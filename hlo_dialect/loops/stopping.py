"""
Which elements of a loop's tensors have stopped, and that its body leaves them alone.

The body is evaluated for an element that stopped: of what it computes there, some values are known constants (the mask
of the elements that go on is false) and some are carried values. An element is left alone if what the body returns for
it is what it got, to the bit.
"""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np
from xdsl.ir import BlockArgument, Operation, SSAValue

from ..ops.comparison import SelectOp
from ..ops.conversion import ConvertOp
from ..ops.creation import is_splat_constant, splat_of
from ..ops.elementwise_binary import AddOp, AndOp, ElementwiseBinaryOp, MultiplyOp, OrOp, SubtractOp
from ..ops.elementwise_unary import NotOp
from ..ops.movement import BroadcastInDimOp
from ..types import element_of, is_float, is_integer, numpy_dtype
from .analysis import Loop

Known = SSAValue | np.generic
"""The value, or the number, that a value equals for an element that stopped."""

_DECIDES: dict[bool, dict[type[ElementwiseBinaryOp], int]] = {
    False: {AndOp: False, OrOp: True},
    True: {AndOp: 0, MultiplyOp: 0},
}
"""The operand that decides the result alone: among booleans, and among integers."""

_NEUTRAL: dict[bool, dict[type[ElementwiseBinaryOp], int]] = {
    False: {AndOp: True, OrOp: False},
    True: {AddOp: 0, SubtractOp: 0, MultiplyOp: 1, OrOp: 0},
}
"""The operand that leaves the other one as it is."""


class Stopping:
    """An element of a loop stops once `value`, a boolean of the condition, is `when` there."""

    def __init__(self, loop: Loop, value: SSAValue, when: bool):
        self.value = value
        self.when = when
        self._loop = loop
        self._same = _Equality(loop)
        self._facts: dict[SSAValue, bool] = {}
        self._known: dict[SSAValue, Known] = {}
        self._learn(value, when)

    def keeps(self, i: int) -> bool:
        """Whether the body returns the carried value `i` of an element that stopped as it was."""
        argument, returned = self._loop.body.args[i], self._loop.returned[i]
        before, after = self._of(argument), self._of(returned)
        if before is after:
            return True
        if isinstance(before, np.bool_) and isinstance(after, np.bool_):
            return bool(before == after)
        return self._sums_to(returned, argument)

    def _learn(self, value: SSAValue, truth: bool) -> None:
        """Keep that a value of the condition is true or false, and what follows from it."""
        value = _source(value)
        self._facts[value] = truth
        match value.owner:
            case NotOp() as op:
                self._learn(op.operand, not truth)
            case AndOp() as op if truth:
                self._learn(op.lhs, True)
                self._learn(op.rhs, True)
            case OrOp() as op if not truth:
                self._learn(op.lhs, False)
                self._learn(op.rhs, False)
            case _:
                pass

    def _of(self, value: SSAValue) -> Known:
        value = _source(value)
        found = self._known.get(value)
        if found is None:
            found = self._known[value] = self._evaluate(value)
        return found

    def _evaluate(self, value: SSAValue) -> Known:
        for fact, truth in self._facts.items():
            if fact.type == value.type and self._same(fact, value):
                return np.bool_(truth)
        number = splat_of(value)
        if number is not None:
            return number
        match value.owner:
            case SelectOp() as op:
                return self._selected(value, op)
            case NotOp() as op:
                operand = self._of(op.operand)
                return np.bool_(not operand) if isinstance(operand, np.bool_) else value
            case AndOp() | OrOp() | AddOp() | SubtractOp() | MultiplyOp() as op:
                return self._combined(value, op)
            case ConvertOp() as op:
                operand, dtype = self._of(op.operand), numpy_dtype(element_of(value))
                # Other numbers may be rounded, or be out of range.
                return dtype.type(operand) if isinstance(operand, np.bool_) and dtype is not None else value
            case _:
                return value

    def _selected(self, value: SSAValue, op: SelectOp) -> Known:
        chosen = self._of(op.pred)
        if isinstance(chosen, np.bool_):
            return self._of(op.on_true if chosen else op.on_false)
        one, other = self._of(op.on_true), self._of(op.on_false)
        return one if one is other else value

    def _combined(self, value: SSAValue, op: ElementwiseBinaryOp) -> Known:
        """The result of an operation of which one operand is a number that decides it, or that changes nothing."""
        element = element_of(value)
        if is_float(element):
            return self._of(op.lhs) if isinstance(op, SubtractOp) and self._is_zero(op.rhs) else value
        decides, neutral = _DECIDES[is_integer(element)], _NEUTRAL[is_integer(element)]
        for one, other in ((op.rhs, op.lhs), (op.lhs, op.rhs)):
            number = self._of(one)
            if not isinstance(number, np.generic):
                continue
            if number == decides.get(type(op)):
                return number
            if number == neutral.get(type(op)) and not (isinstance(op, SubtractOp) and one is op.lhs):
                return self._of(other)
        return value

    def _sums_to(self, returned: SSAValue, argument: SSAValue) -> bool:
        """
        Whether a float is its argument plus nothing: only a negative zero would not stay what it is, and sums that
        begin with anything else never become one.
        """
        op, start = _source(returned).owner, splat_of(self._loop.op.operands[cast(BlockArgument, argument).index])
        if not isinstance(op, AddOp) or not is_float(element_of(argument)) or start is None:
            return False
        if start == 0 and math.copysign(1, float(start)) < 0:
            return False
        return any(
            _source(one) is argument and self._is_zero(other) for one, other in ((op.lhs, op.rhs), (op.rhs, op.lhs))
        )

    def _is_zero(self, value: SSAValue) -> bool:
        """Whether a float is the positive zero for an element that stopped."""
        number: Any = self._of(value)
        return isinstance(number, np.generic) and number == 0 and math.copysign(1, float(cast(Any, number))) > 0


class _Equality:
    """Whether a value of the condition and one of the body are computed alike from the carried values."""

    def __init__(self, loop: Loop):
        self.loop = loop
        self.known: dict[tuple[SSAValue, SSAValue], bool] = {}

    def __call__(self, one: SSAValue, other: SSAValue) -> bool:
        one, other = _source(one), _source(other)
        found = self.known.get((one, other))
        if found is None:
            found = self.known[one, other] = self._compare(one, other)
        return found

    def _compare(self, one: SSAValue, other: SSAValue) -> bool:
        if one is other:
            return True
        if self.loop.is_outside(one) and not is_splat_constant(one):
            return False
        if isinstance(one, BlockArgument) or isinstance(other, BlockArgument):
            if not isinstance(one, BlockArgument) or not isinstance(other, BlockArgument):
                return False
            return one.block is self.loop.cond and other.block is self.loop.body and one.index == other.index
        left, right = cast(Operation, one.owner), cast(Operation, other.owner)
        return (
            type(left) is type(right)
            and not left.regions
            and one.type == other.type
            and left.properties == right.properties
            and len(left.operands) == len(right.operands)
            and all(self(a, b) for a, b in zip(left.operands, right.operands, strict=True))
        )


def _source(value: SSAValue) -> SSAValue:
    """The value that pointwise broadcasts of one shape pass on."""
    while isinstance(value.owner, BroadcastInDimOp) and value.type == value.owner.operand.type:
        value = value.owner.operand
    return value

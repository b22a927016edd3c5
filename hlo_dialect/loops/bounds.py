"""
Bounds of integers: those of a loop's counters follow from where they start, how they step and when the loop ends.

Bounds hold wherever a value is computed, for every element of a tensor, and never rely on a number that wraps around.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, cast

from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from ..ops.comparison import ClampOp, CompareOp, SelectOp
from ..ops.control_flow import OptimizationBarrierOp, WhileOp
from ..ops.conversion import ConvertOp
from ..ops.creation import ConstantOp, IotaOp, constant_of
from ..ops.dynamic import DynamicSliceOp, DynamicUpdateSliceOp
from ..ops.elementwise_binary import (
    AddOp,
    AndOp,
    ElementwiseBinaryOp,
    MaximumOp,
    MinimumOp,
    MultiplyOp,
    RemainderOp,
    SubtractOp,
)
from ..ops.elementwise_unary import AbsOp, NegateOp
from ..ops.movement import BroadcastInDimOp, ReshapeOp, ReverseOp, TransposeOp
from ..ops.reduction import ReduceOp
from ..ops.slicing import ConcatenateOp, SliceOp
from ..shapes import is_static
from ..types import element_of, integers_of, is_boolean, is_integer, shape_of
from .analysis import MIRRORED, Loop

MOST_VISITS = 48
"""Values that a question looks at: arithmetic on indices is short."""


@dataclass(frozen=True)
class Bounds:
    """The least and the greatest number that an element may be."""

    least: int
    most: int

    def joined(self, other: Bounds) -> Bounds:
        return Bounds(min(self.least, other.least), max(self.most, other.most))

    def __add__(self, other: Bounds) -> Bounds:
        return Bounds(self.least + other.least, self.most + other.most)

    def __sub__(self, other: Bounds) -> Bounds:
        return Bounds(self.least - other.most, self.most - other.least)

    def __mul__(self, other: Bounds) -> Bounds:
        ends = [a * b for a in (self.least, self.most) for b in (other.least, other.most)]
        return Bounds(min(ends), max(ends))

    def maximum(self, other: Bounds) -> Bounds:
        return Bounds(max(self.least, other.least), max(self.most, other.most))

    def minimum(self, other: Bounds) -> Bounds:
        return Bounds(min(self.least, other.least), min(self.most, other.most))

    def __neg__(self) -> Bounds:
        return Bounds(-self.most, -self.least)

    def __abs__(self) -> Bounds:
        largest = max(-self.least, self.most)
        return Bounds(max(self.least, -self.most, 0), largest)

    def is_within(self, other: Bounds) -> bool:
        return other.least <= self.least and self.most <= other.most


def bounds_of(value: SSAValue) -> Bounds | None:
    """The bounds of the elements of an integer tensor; None where they are those of its type, or no integers."""
    shape = shape_of(value)
    if not is_integer(element_of(value)) or not is_static(shape) or 0 in shape:
        return None
    found, widest = _Search().of(value), _of_type(value)
    return None if found == widest else found


def is_in_bounds(op: DynamicSliceOp | DynamicUpdateSliceOp) -> bool:
    """Whether a slice is inside its operand wherever it starts."""
    sizes = op.sizes if isinstance(op, DynamicSliceOp) else shape_of(op.update)
    if not is_static((*shape_of(op.operand), *sizes)):
        return False
    for start, dim, size in zip(op.start_indices, shape_of(op.operand), sizes, strict=True):
        bounds = bounds_of(start)
        if bounds is None or not bounds.is_within(Bounds(0, dim - size)):
            return False
    return True


def most_trips(op: WhileOp) -> int | None:
    """A number that a loop's iterations never exceed, by its counters; None if none has an end."""
    loop = Loop(op)
    counts = [loop.most_iterations]
    for position, argument in enumerate(loop.body.args):
        if shape_of(argument) == () and is_integer(element_of(argument)):
            counts.append(_Search().most_values(loop, position))
    return min((each for each in counts if each is not None), default=None)


def _of_type(value: SSAValue) -> Bounds:
    numbers = integers_of(element_of(value))
    return Bounds(numbers.start, numbers.stop - 1)


_ARITHMETIC: dict[type[Operation], Callable[[Bounds, Bounds], Bounds]] = {
    AddOp: Bounds.__add__,
    SubtractOp: Bounds.__sub__,
    MultiplyOp: Bounds.__mul__,
    MaximumOp: Bounds.maximum,
    MinimumOp: Bounds.minimum,
}

_MOVES = (BroadcastInDimOp, DynamicSliceOp, ReshapeOp, ReverseOp, SliceOp, TransposeOp)
"""Operations whose elements are those of their first operand."""


class _Search:
    """One question: the values it has looked at, and those whose bounds it is looking for."""

    def __init__(self) -> None:
        self.visits = 0
        self.known: dict[SSAValue, Bounds] = {}
        self.open: set[SSAValue] = set()
        self.reductions: dict[ReduceOp, Mapping[int, Bounds]] = {}

    def of(self, value: SSAValue) -> Bounds:
        if value not in self.known:
            widest = _of_type(value)
            self.visits += 1
            if self.visits > MOST_VISITS or value in self.open:
                return widest
            self.open.add(value)
            found = self._argument(value) if isinstance(value, BlockArgument) else self._computed(value)
            self.open.remove(value)
            # A number that may leave the type wraps around.
            self.known[value] = found if found is not None and found.is_within(widest) else widest
        return self.known[value]

    def _computed(self, value: SSAValue) -> Bounds | None:
        op = cast(Operation, value.owner)
        if isinstance(op, ElementwiseBinaryOp):
            return self._binary(op)
        if isinstance(op, _MOVES):
            return self.of(op.operands[0])
        match op:
            case ConstantOp():
                numbers = cast("Any", constant_of(value))
                return Bounds(int(numbers.min()), int(numbers.max())) if numbers.size else None
            case IotaOp() if is_static(shape_of(value)):
                return Bounds(0, max(shape_of(value)[op.iota_dimension.value.data] - 1, 0))
            case NegateOp():
                return -self.of(op.operands[0])
            case AbsOp():
                return abs(self.of(op.operands[0]))
            case OptimizationBarrierOp():
                return self.of(op.operands[cast("OpResult[Any]", value).index])
            case SelectOp():
                return self.of(op.operands[1]).joined(self.of(op.operands[2]))
            case ClampOp():
                least, x, most = map(self.of, op.operands)
                return x.maximum(least).minimum(most)
            case ConcatenateOp():
                return reduce(Bounds.joined, map(self.of, op.operands))
            case ConvertOp() if is_integer(element_of(op.operands[0])):
                return self.of(op.operands[0])
            case ConvertOp() if is_boolean(element_of(op.operands[0])):
                return Bounds(0, 1)
            case ReduceOp():
                return self._reduced(op).get(cast("OpResult[Any]", value).index)
            case WhileOp():
                return self._carried(op, cast("OpResult[Any]", value).index)
            case _:
                return None

    def _binary(self, op: ElementwiseBinaryOp) -> Bounds | None:
        arithmetic = _ARITHMETIC.get(type(op))
        if arithmetic is not None:
            return arithmetic(self.of(op.lhs), self.of(op.rhs))
        if isinstance(op, AndOp):
            # A number that is not negative has no bits above its own.
            most = [each.most for each in map(self.of, op.operands) if each.least >= 0]
            return Bounds(0, min(most)) if most else None
        if isinstance(op, RemainderOp):
            left, right = self.of(op.lhs), self.of(op.rhs)
            if left.least >= 0 and right.least > 0:
                return Bounds(0, min(left.most, right.most - 1))
        return None

    def _argument(self, value: BlockArgument) -> Bounds | None:
        """A value that a loop carries, in its body or its condition, or that a reduction combines."""
        op = value.block.parent_op()
        if isinstance(op, ReduceOp):
            return self._reduced(op).get(value.index % len(op.inputs))
        if not isinstance(op, WhileOp):
            return None
        counted = self._counter(Loop(op), value.index) if value.block is op.body.block else None
        return self._carried(op, value.index) if counted is None else counted[0]

    def _reduced(self, op: ReduceOp) -> Mapping[int, Bounds]:
        """
        The bounds of what a reduction combines, and of its results, where it only chooses, such as that of an argmax.

        Induction: combined numbers are within those of the operands if they are whenever those that they follow from
        are.
        """
        found = self.reductions.get(op)
        if found is None:
            pairs = enumerate(zip(op.inputs, op.init_values, strict=True))
            found = {i: self.of(x).joined(self.of(init)) for i, (x, init) in pairs if is_integer(element_of(x))}
            while wrong := self._leave(op, found):
                found = {i: bounds for i, bounds in found.items() if i not in wrong}
            self.reductions[op] = found
        return found

    def _leave(self, op: ReduceOp, assumed: Mapping[int, Bounds]) -> set[int]:
        """The positions of results that may leave the bounds that a reduction's arguments are assumed to have."""
        block, count = op.body.block, len(op.inputs)
        last = block.last_op
        assert last is not None, "a region without a terminator passes no verifier"
        inside = _Search()
        inside.visits = self.visits
        inside.known = {arg: assumed[arg.index % count] for arg in block.args if arg.index % count in assumed}
        wrong = {i for i, bounds in assumed.items() if not inside.of(last.operands[i]).is_within(bounds)}
        self.visits = inside.visits
        return wrong

    def _carried(self, op: WhileOp, position: int) -> Bounds | None:
        """A value at every iteration and after the last: the first, or one that the body returns."""
        loop = Loop(op)
        first, returned = op.operands[position], loop.returned[position]
        if returned is loop.body.args[position]:
            return self.of(first)
        counted = self._counter(loop, position)
        if counted is not None:
            return reduce(Bounds.joined, counted, self.of(first))
        return self.of(first).joined(self.of(returned))

    def most_values(self, loop: Loop, position: int) -> int | None:
        """How many values a counter has in the body, at most; None if it may stay the same."""
        counted = self._counter(loop, position)
        if counted is None:
            return None
        inside, after = counted
        step = max(after.least - inside.least, inside.most - after.most)
        return (inside.most - inside.least) // step + 1 if step > 0 else None

    def _counter(self, loop: Loop, position: int) -> tuple[Bounds, Bounds] | None:
        """The bounds of a counter in the body, and of its next value; None if it is none, or has no end."""
        argument = loop.body.args[position]
        step = self._step(loop, loop.returned[position], argument)
        if step is None or step.least < 0 < step.most:
            return None
        first, widest = self.of(loop.op.operands[position]), _of_type(argument)
        inside = Bounds(first.least if step.least >= 0 else widest.least, first.most if step.most <= 0 else widest.most)
        for least, most in self._limits(loop, position):
            inside = Bounds(max(inside.least, least), min(inside.most, most))
        # Induction: if the values so far have been inside, the next one has not wrapped around.
        if inside.least <= inside.most and (inside + step).is_within(widest):
            return inside, inside + step
        count = loop.most_iterations if step.least == step.most else None
        if not count:
            return None
        last = Bounds(first.least + (count - 1) * step.least, first.most + (count - 1) * step.most)
        inside = first.joined(last)
        return (inside, inside + step) if (inside + step).is_within(widest) else None

    def _step(self, loop: Loop, value: SSAValue, argument: SSAValue) -> Bounds | None:
        """The bounds of what an iteration adds to a carried number: constants and values from before the loop."""
        total = Bounds(0, 0)
        while value is not argument:
            match value.owner:
                case OptimizationBarrierOp() as barrier:
                    value = barrier.operands[cast("OpResult[Any]", value).index]
                    continue
                case AddOp() | SubtractOp() as op if self._stays(loop, op.rhs):
                    value, by = op.lhs, self.of(op.rhs)
                    total = total + by if isinstance(op, AddOp) else total - by
                case AddOp() as op if self._stays(loop, op.lhs):
                    value, total = op.rhs, total + self.of(op.lhs)
                case _:
                    return None
        return total

    def _stays(self, loop: Loop, value: SSAValue) -> bool:
        """Whether a value of the body is the same number in each iteration."""
        if constant_of(value) is not None or loop.is_outside(value):
            return True
        return isinstance(value, BlockArgument) and value.block is loop.body and value.index in loop.invariant

    def _limits(self, loop: Loop, position: int) -> Iterator[tuple[int, int]]:
        """The least and the greatest number that each part of a loop's condition lets a counter be."""
        widest = _of_type(loop.body.args[position])
        pending = [loop.condition]
        while pending:
            value = pending.pop()
            op = value.owner
            if isinstance(op, AndOp):
                pending += op.operands
            elif isinstance(op, CompareOp) and is_integer(element_of(op.lhs)) and shape_of(value) == ():
                side = self._compared(op, loop.cond, position)
                if side is not None:
                    direction, other = side
                    limit, strict = self.of(other), direction in ("LT", "GT")
                    if direction in ("LT", "LE"):
                        yield widest.least, limit.most - strict
                    elif direction in ("GT", "GE"):
                        yield limit.least + strict, widest.most

    @staticmethod
    def _compared(op: CompareOp, cond: Block, position: int) -> tuple[str, SSAValue] | None:
        """The comparison of the counter, written on its left, and the other side."""
        if op.lhs is cond.args[position]:
            return op.direction, op.rhs
        if op.rhs is cond.args[position] and op.direction in MIRRORED:
            return MIRRORED[op.direction], op.lhs
        return None

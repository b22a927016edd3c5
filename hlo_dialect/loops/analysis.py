"""
Trip counts, induction variables and invariant values of hlo.while.

All facts are derived from the IR when they are asked for, and hold until the loop changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from ...dialects.support.kernel import host_functions
from ..ops.comparison import CompareOp
from ..ops.control_flow import OptimizationBarrierOp, WhileOp
from ..ops.creation import constant_of
from ..ops.dynamic import DynamicSliceOp, DynamicUpdateSliceOp
from ..ops.elementwise_binary import AddOp, AndOp, SubtractOp
from ..ops.fusion import in_fusion
from ..types import element_of, integers_of, is_integer, shape_of
from ..walking import operations_in

MIRRORED = {"LT": "GT", "LE": "GE", "GT": "LT", "GE": "LE", "NE": "NE"}
"""The comparisons that bound a counter, and the same with operands exchanged."""


@dataclass(frozen=True)
class Induction:
    """A carried integer that each iteration changes by the same step: `start`, `start + step`, .."""

    position: int
    start: int | None
    """Its first value; None if that is not a constant."""
    step: int


def host_loops(module: ModuleOp, inner_first: bool = False) -> Iterator[WhileOp]:
    """The loops of a module that are in no kernel and no fusion, function by function; outer ones first unless told."""
    for function in host_functions(module):
        ops = operations_in(function)
        for op in reversed(ops) if inner_first else ops:
            if type(op) is WhileOp and not in_fusion(op):
                yield op


class Loop:
    """An hlo.while and what can be said about it."""

    def __init__(self, op: WhileOp):
        self.op = op

    @property
    def cond(self) -> Block:
        return self.op.cond.block

    @property
    def body(self) -> Block:
        return self.op.body.block

    @property
    def returned(self) -> Sequence[SSAValue]:
        """The next values of the carried ones."""
        last = self.body.last_op
        assert last is not None, "a region without a terminator passes no verifier"
        return last.operands

    @property
    def condition(self) -> SSAValue:
        last = self.cond.last_op
        assert last is not None, "a region without a terminator passes no verifier"
        return last.operands[0]

    def is_outside(self, value: SSAValue) -> bool:
        """Whether the value is computed before the loop."""
        block = value.block if isinstance(value, BlockArgument) else cast(Operation, value.owner).parent
        while block is not None:
            if block is self.cond or block is self.body:
                return False
            block = block.parent_block()
        return True

    @cached_property
    def invariant(self) -> frozenset[int]:
        """The positions of the carried values that never change."""
        pairs = enumerate(zip(self.returned, self.op.operands, strict=True))
        return frozenset(i for i, (value, first) in pairs if value is self.body.args[i] or value is first)

    @cached_property
    def inductions(self) -> Mapping[int, Induction]:
        """The induction variables, by position."""
        found: dict[int, Induction] = {}
        for position, value in enumerate(self.returned):
            step = self._step(position, value)
            if step:
                start = constant_of(self.op.operands[position])
                found[position] = Induction(position, None if start is None else int(start), step)
        return found

    def _step(self, position: int, value: SSAValue) -> int | None:
        """The number that the body adds to the carried value, in one part or several; None if it is no constant."""
        if shape_of(value) != () or not is_integer(element_of(value)):
            return None
        total, argument = 0, self.body.args[position]
        while value is not argument:
            match value.owner:
                case OptimizationBarrierOp() as barrier:
                    value = barrier.operands[cast("OpResult[Any]", value).index]
                    continue
                case AddOp() as op if constant_of(op.lhs) is None:
                    value, step, sign = op.lhs, op.rhs, 1
                case AddOp() as op:
                    value, step, sign = op.rhs, op.lhs, 1
                case SubtractOp() as op:
                    value, step, sign = op.lhs, op.rhs, -1
                case _:
                    return None
            number = constant_of(step)
            if number is None:
                return None
            total += sign * int(number)
        return total

    @cached_property
    def trip_count(self) -> int | None:
        """The number of iterations; None if it is not known."""
        return self._iterations(self.condition)

    @cached_property
    def most_iterations(self) -> int | None:
        """A number that the iterations never exceed: the trip count, or what one part of the condition allows."""
        parts: list[SSAValue] = []
        pending = [self.condition]
        while pending:
            value = pending.pop()
            if isinstance(value.owner, AndOp):
                pending += value.owner.operands
            else:
                parts.append(value)
        counts = [count for part in parts if (count := self._iterations(part)) is not None]
        return min(counts, default=None)

    def _iterations(self, condition: SSAValue) -> int | None:
        """How often a comparison of an induction variable with a constant holds before it first fails."""
        compare = condition.owner
        if not isinstance(compare, CompareOp) or compare.direction not in MIRRORED:
            return None
        left, right, direction = compare.lhs, compare.rhs, compare.direction
        if not isinstance(left, BlockArgument):
            left, right, direction = right, left, MIRRORED[direction]
        if not isinstance(left, BlockArgument) or left.block is not self.cond:
            return None
        induction, bound = self.inductions.get(left.index), self._constant(right)
        if induction is None or induction.start is None or bound is None:
            return None
        return count_iterations(induction.start, induction.step, direction, bound, element_of(left))

    def _constant(self, value: SSAValue) -> int | None:
        """The integer that a value of the condition is in every iteration."""
        if isinstance(value, BlockArgument) and value.block is self.cond and value.index in self.invariant:
            value = self.op.operands[value.index]
        found = constant_of(value)
        return None if found is None else int(found)

    def places(self, value: SSAValue) -> range | None:
        """The numbers that an integer of the body is, one an iteration, if a constant is between each and the next."""
        found = self._counted(value) if isinstance(value, BlockArgument) else self._computed(value)
        # Another counter than the one that ends the loop may wrap around.
        if found is None or not is_integer(element_of(value)):
            return None
        return found if all(each in integers_of(element_of(value)) for each in (*found[:1], *found[-1:])) else None

    def _counted(self, argument: BlockArgument) -> range | None:
        induction = self.inductions.get(argument.index) if argument.block is self.body else None
        if induction is None or induction.start is None or self.trip_count is None:
            return None
        return range(induction.start, induction.start + induction.step * self.trip_count, induction.step)

    def _computed(self, value: SSAValue) -> range | None:
        match value.owner:
            case OptimizationBarrierOp() as barrier:
                return self.places(barrier.operands[cast("OpResult[Any]", value).index])
            case AddOp() | SubtractOp() as op if (number := constant_of(op.rhs)) is not None and number.ndim == 0:
                return self._moved(op.lhs, -int(number) if isinstance(op, SubtractOp) else int(number))
            case AddOp() as op if (number := constant_of(op.lhs)) is not None and number.ndim == 0:
                return self._moved(op.rhs, int(number))
            case SubtractOp() as op if (number := constant_of(op.lhs)) is not None and number.ndim == 0:
                return self._moved(op.rhs, int(number), -1)
            case _:
                return None

    def _moved(self, value: SSAValue, number: int, sign: int = 1) -> range | None:
        """The numbers that `number + sign * value` is."""
        places = self.places(value)
        if places is None:
            return None
        return range(number + sign * places.start, number + sign * places.stop, sign * places.step)

    def step_places(self, op: DynamicSliceOp | DynamicUpdateSliceOp) -> range | None:
        """
        The places i of the slices `[i : i+1]` along dimension 0 of its first operand that an operation reads or writes,
        one an iteration; None if it moves another part.
        """
        update = isinstance(op, DynamicUpdateSliceOp)
        whole = shape_of(op.operands[0])
        part = shape_of(op.operands[1]) if update else shape_of(op.results[0])
        starts = op.operands[2:] if update else op.operands[1:]
        if not whole or part != (1, *whole[1:]):
            return None
        places = self.places(starts[0])
        if places is None or (places and not (min(places) >= 0 and max(places) < whole[0])):
            return None
        return places

    def writes_all(self, position: int) -> bool:
        """Whether the iterations write every slice along dimension 0 of a carried array, and read none of it."""
        value, argument, places = self.returned[position], self.body.args[position], set[int]()
        if not shape_of(argument) or self.cond.args[position].first_use is not None:
            return False
        while value.has_one_use():
            if value is argument:
                return len(places) == shape_of(argument)[0]
            match value.owner:
                case OptimizationBarrierOp() as barrier:
                    value = barrier.operands[cast("OpResult[Any]", value).index]
                case DynamicUpdateSliceOp() as write if (written := self.step_places(write)) is not None:
                    places.update(written)
                    value = write.operand
                case _:
                    return False
        return False


def count_iterations(start: int, step: int, direction: str, bound: int, element: Any) -> int | None:
    """
    How many of the values start, start + step, .. fulfil `value <direction> bound` before the first that does not; None
    if the values of the element type would wrap around before.
    """
    if direction == "NE":
        if (bound - start) % step or (bound - start) // step < 0:
            return None
        count = (bound - start) // step
    else:
        up = direction in ("LT", "LE")
        if up != (step > 0):
            return None if _holds(start, direction, bound) else 0
        distance = (bound - start if up else start - bound) + (direction in ("LE", "GE"))
        count = max(-(-distance // abs(step)), 0)
    return count if start + count * step in integers_of(element) else None


def _holds(value: int, direction: str, bound: int) -> bool:
    return {"LT": value < bound, "LE": value <= bound, "GT": value > bound, "GE": value >= bound}[direction]

"""
Loops that treat every element of their tensors by itself: fractals, fixed-point iterations, pointwise recurrences.

Such a loop over whole tensors equals one loop for each element, which can keep its state in registers. A loop is
elementwise if all carried tensors have one shape or are scalars, the body computes elementwise, and the condition is

* of scalars alone: every element takes the same number of iterations; or
* that any element goes on (`reduce .. or`, or not `reduce .. and`), perhaps beside scalars: then the body must leave
  the elements alone that do not (stopping.py), so that an element may stop before the others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from ..op import HloOp
from ..ops.comparison import CompareOp, SelectOp
from ..ops.control_flow import ReturnOp
from ..ops.creation import ConstantOp, constant_of, is_splat_constant, is_splat_of, splat_of
from ..ops.elementwise_binary import AddOp, AndOp, OrOp
from ..ops.elementwise_unary import NotOp
from ..ops.movement import BroadcastInDimOp
from ..ops.reduction import ReduceOp, single_combiner
from ..shapes import is_static
from ..types import element_of, is_integer, is_splat, shape_of
from .analysis import MIRRORED, Loop, count_iterations
from .stopping import Stopping

_REPEATABLE = frozenset({"elementwise", "broadcast", "movement", "iota", "reshape", "constant"})
"""Roles of invariant operations that are computed for each element before its loop."""


@dataclass(frozen=True)
class ElementwiseLoop:
    """An elementwise loop and its parts."""

    loop: Loop
    shape: tuple[int, ...]
    """The shape of all carried tensors; () if all values are scalars."""
    before: tuple[Operation, ...]
    """The operations of the regions that do not depend on carried values, other than splat constants."""
    stopping: Stopping | None
    """When an element stops; None if scalars alone decide."""

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def most_iterations(self) -> int | None:
        """A number that the iterations of no element exceed, if one is known."""
        bounds = [self.loop.most_iterations]
        for part in _conjuncts(self.stopping.value) if self.stopping is not None and not self.stopping.when else ():
            bounds.append(self._iterations(part))
        return min((bound for bound in bounds if bound is not None), default=None)

    def _iterations(self, condition: SSAValue) -> int | None:
        """How often an element's comparison of its own counter with a constant holds, while it goes on."""
        compare = _truth(condition).owner
        if not isinstance(compare, CompareOp) or compare.direction not in MIRRORED:
            return None
        left, right, direction = compare.lhs, compare.rhs, compare.direction
        if not isinstance(left, BlockArgument):
            left, right, direction = right, left, MIRRORED[direction]
        if not isinstance(left, BlockArgument) or left.block is not self.loop.cond:
            return None
        start, bound = splat_of(self.loop.op.operands[left.index]), splat_of(right)
        select = self.loop.returned[left.index].owner
        if not is_integer(element_of(left)) or start is None or bound is None or not isinstance(select, SelectOp):
            return None
        step = _step(select.on_true, self.loop.body.args[left.index])
        return count_iterations(int(start), step, direction, int(bound), element_of(left)) if step else None

    @property
    def elements(self) -> tuple[int, ...]:
        """The positions of the carried tensors."""
        return tuple(i for i, value in enumerate(self.loop.op.operands) if shape_of(value) == self.shape)

    @property
    def scalars(self) -> tuple[int, ...]:
        """The positions of the carried values that all elements share."""
        return tuple(i for i, value in enumerate(self.loop.op.operands) if shape_of(value) != self.shape)


def elementwise_loop(loop: Loop) -> ElementwiseLoop | str:
    """The parts of a loop, or in words why it is not elementwise."""
    shapes = dict.fromkeys(shape_of(value) for value in loop.op.operands)
    shape = max(shapes, key=len, default=())
    if any(each not in (shape, ()) for each in shapes) or not is_static(shape):
        return "it carries values of several shapes"
    before: dict[Operation, None] = {}
    reductions: list[ReduceOp] = []
    for block in (loop.cond, loop.body):
        for op in block.ops:
            if isinstance(op, ReturnOp) or _is_splat(op):
                continue
            if _is_invariant(op, loop, before):
                before[op] = None
            elif block is loop.cond and isinstance(op, ReduceOp) and _quantifier(op) is not None:
                reductions.append(op)
            elif not _acts_elementwise(op, shape):
                return f"{op.name} is not elementwise"
    stopping = None
    if reductions:
        stopping = _stopping(loop, reductions)
        if stopping is None:
            return "its condition is not that any element goes on"
        reason = _moves_on(loop, stopping, shape)
        if reason is not None:
            return reason
    captured = [
        value
        for block in (loop.cond, loop.body)
        for op in block.ops
        for value in op.operands
        if op not in before and (loop.is_outside(value) or value.owner in before)
    ]
    if any(shape_of(value) not in (shape, ()) for value in captured):
        return "it reads a tensor of another shape"
    return ElementwiseLoop(loop, shape, tuple(before), stopping)


def _truth(value: SSAValue) -> SSAValue:
    """The boolean that a comparison with false, as frontends write it, passes on."""
    while isinstance(value.owner, CompareOp) and value.owner.direction == "NE" and is_splat_of(value.owner.rhs, False):
        value = value.owner.lhs
    return value


def _step(value: SSAValue, argument: SSAValue) -> int | None:
    """The constant that an addition adds to an argument."""
    if isinstance(value.owner, AddOp):
        for one, other in ((value.owner.lhs, value.owner.rhs), (value.owner.rhs, value.owner.lhs)):
            if one is argument and (step := splat_of(other)) is not None:
                return int(step)
    return None


def _is_splat(op: Operation) -> bool:
    return isinstance(op, ConstantOp) and is_splat(op.dense)


def _is_invariant(op: Operation, loop: Loop, before: dict[Operation, None]) -> bool:
    """Whether the operation may be computed before the loop for each element."""
    return (
        isinstance(op, HloOp)
        and op.ROLE in _REPEATABLE
        and not op.regions
        and all(loop.is_outside(value) or value.owner in before or is_splat_constant(value) for value in op.operands)
    )


def _quantifier(op: ReduceOp) -> type[AndOp] | type[OrOp] | None:
    """OrOp if a reduction tests that any element of a tensor is true, AndOp if that all are."""
    init, combiner = constant_of(op.init_values[0]), single_combiner(op.body)
    if op.input_count != 1 or shape_of(op.outs[0]) != () or init is None or init.dtype != bool:
        return None
    if isinstance(combiner, OrOp):
        return None if init else OrOp
    return AndOp if isinstance(combiner, AndOp) and init else None


def _stopping(loop: Loop, reductions: Sequence[ReduceOp]) -> Stopping | None:
    """When an element stops, for a loop that goes on while any element does: any of a tensor, or not all of one."""
    if len(reductions) != 1 or not reductions[0].outs[0].has_one_use():
        return None
    (reduction,) = reductions
    of_any = _quantifier(reduction) is OrOp
    for part in _conjuncts(loop.condition):
        value = part.owner.operand if not of_any and isinstance(part.owner, NotOp) else part
        if value is reduction.outs[0] and (value is part) == of_any:
            return Stopping(loop, reduction.inputs[0], when=not of_any)
    return None


def _acts_elementwise(op: Operation, shape: tuple[int, ...]) -> bool:
    if not isinstance(op, HloOp) or op.regions or len(op.results) != 1:
        return False
    if isinstance(op, BroadcastInDimOp):
        return shape_of(op.operand) in ((), shape) and is_pointwise(op)
    return op.elementwise and all(shape_of(value) in (shape, ()) for value in (*op.operands, *op.results))


def is_pointwise(op: BroadcastInDimOp) -> bool:
    """Whether a broadcast copies a scalar, or each element to its own place."""
    operand, result = shape_of(op.operand), shape_of(op.result)
    return operand == () or (operand == result and op.dims == tuple(range(len(operand))))


def _conjuncts(value: SSAValue) -> list[SSAValue]:
    found: list[SSAValue] = []
    pending = [value]
    while pending:
        value = pending.pop()
        if isinstance(value.owner, AndOp):
            pending += value.owner.operands
        else:
            found.append(value)
    return found


def _moves_on(loop: Loop, stopping: Stopping, shape: tuple[int, ...]) -> str | None:
    """Why an element may change after it stopped, or go on again; None if it cannot."""
    if any(shape_of(argument) != shape for argument in _arguments_behind(stopping.value, loop.cond)):
        return "a scalar that changes decides which elements go on"
    for i, argument in enumerate(loop.body.args):
        if shape_of(argument) == shape and not stopping.keeps(i):
            return "its body changes elements that do not go on"
    used = [i for i, result in enumerate(loop.op.results) if result.first_use and shape_of(result) != shape]
    return "its number of iterations is used" if used else None


def _arguments_behind(value: SSAValue, block: Block) -> list[BlockArgument]:
    found: dict[BlockArgument, None] = {}
    pending, seen = [value], set[SSAValue]()
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        if isinstance(value, BlockArgument):
            if value.block is block:
                found[value] = None
        else:
            pending += cast(Operation, value.owner).operands
    return list(found)

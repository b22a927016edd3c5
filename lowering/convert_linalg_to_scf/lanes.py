"""
The parts of a body that loops for one element: what differs between elements (lanes), and what all share.

    linalg.generic {..} { ^bb0(%c: f32, ..):
      %r:2 = scf.while (%i = %zero, %z = %c) { .. scf.condition(%i < 100) } do { .. scf.yield %i + 1, %z * %z + %c }

Here %i and the condition are shared, %z is of the lane.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import cast

from xdsl.dialects import arith, scf
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from ..loop_nests.nest import Nest
from ..loop_nests.variation import reads, varying


@dataclass(frozen=True)
class Lanes:
    """A body with one scf.while, divided for an inner loop of a nest whose iterations are the lanes."""

    loop: scf.WhileOp
    varies: frozenset[SSAValue]
    """The values that differ between lanes."""
    captured: tuple[SSAValue, ...]
    """Values of the lane, computed before the loop, that its regions read."""
    shared_condition: tuple[SSAValue, ...]
    """The parts of the condition that all lanes share; the loop goes on while all hold."""
    lane_condition: tuple[SSAValue, ...]
    """The other parts; a lane stops for good when one does not hold."""
    guards: tuple[tuple[SSAValue, bool], ...] | None
    """
    Values of the body, and what they are if the lane may change in a later iteration; None if it may at any time.
    """
    compared: tuple[int, ...]
    """Positions of carried values of the lane; it may change if the next value is not the present one."""

    def carried(self, lane: bool) -> list[int]:
        """The positions of the carried values of the lane, or of the shared ones."""
        arguments = self.loop.after_region.block.args
        return [i for i, argument in enumerate(arguments) if (argument in self.varies) == lane]

    def part(self, block: Block, lane: bool) -> list[Operation]:
        """The operations of a block, without its terminator, that compute values of the lane, or shared ones."""
        return [
            op
            for op in block.ops
            if op is not block.last_op
            and op is not self.loop
            and any(result in self.varies for result in op.results) == lane
        ]


def lanes_of(nest: Nest, inner: int) -> Lanes | None:
    """The lanes of a nest along a loop; None if its body is no loop, or lanes may go on again after they stop."""
    body = nest.body
    loops = [] if body is None else [op for op in body.ops if type(op) is scf.WhileOp]
    if body is None or len(loops) != 1:
        return None
    (loop,) = loops
    varies = _varying(nest, inner, loop)
    before, after = loop.before_region.block, loop.after_region.block
    condition = before.last_op
    if not isinstance(condition, scf.ConditionOp) or list(condition.args) != list(before.args):
        return None
    shared: list[SSAValue] = []
    own: list[SSAValue] = []
    for part in _conjuncts(condition.condition):
        (own if part in varies else shared).append(part)
    changing: set[SSAValue] = {
        argument for block in (before, after) for argument in block.args if argument not in varies
    }
    tainted = _Taint(changing)
    if any(tainted.of(part) for part in own) or tainted.guards:
        return None
    shared_results = any(result.first_use is not None and result not in varies for result in loop.results)
    if own and shared_results:
        return None
    inside = [op for block in (before, after) for op in block.walk()]
    following = [op for op in body.ops if loop.is_before_in_block(op)]
    computed = {value for op in (*inside, loop, *following) for value in op.results} | {*before.args, *after.args}
    captured = dict.fromkeys(
        value for op in (*inside, *following) for value in op.operands if value in varies and value not in computed
    )
    lanes = Lanes(loop, frozenset(varies), tuple(captured), tuple(shared), tuple(own), None, ())
    # A result that all lanes share may go on changing when no lane does.
    return lanes if own or shared_results else _with_guards(lanes, tainted)


def _varying(nest: Nest, inner: int, loop: scf.WhileOp) -> set[SSAValue]:
    """The values of the body that differ between the iterations of a loop of the nest."""

    def spread(op: Operation, varies: set[SSAValue]) -> bool:
        if op is loop:
            _spread_through(loop, varies)
        return op is loop

    return varying(nest, inner, spread)


def _spread_through(loop: scf.WhileOp, varies: set[SSAValue]) -> None:
    """Add the values of a loop that differ; a lane's condition makes all carried values its own."""
    before, after = loop.before_region.block, loop.after_region.block
    own = {i for i, value in enumerate(loop.arguments) if value in varies}
    while True:
        inside = {block.args[i] for block in (before, after) for i in own} | varies
        for block in (before, after):
            for op in block.ops:
                if reads(op, inside):
                    inside.update(op.results)
        returned = cast(Operation, after.last_op).operands
        more = own | {i for i, value in enumerate(returned) if value in inside}
        if more == own:
            varies |= inside
            varies.update(loop.results[i] for i in own)
            return
        own = more


def _conjuncts(value: SSAValue) -> list[SSAValue]:
    found: list[SSAValue] = []
    pending = [value]
    while pending:
        value = pending.pop()
        if isinstance(value.owner, arith.AndIOp):
            pending += reversed(value.owner.operands)
        else:
            found.append(value)
    return found


class _Taint:
    """Whether values depend on what changes for all lanes in each iteration, such as a counter."""

    def __init__(self, changing: set[SSAValue]):
        self.changing = changing
        self.known: dict[SSAValue, bool] = {}
        self.guards: dict[SSAValue, bool] = {}
        """Conditions of selects, and the outcome for which the select's value depends on what changes."""

    def of(self, value: SSAValue) -> bool:
        # Python's stack would be too short for long bodies, in which each operation reads the one before it.
        waiting = [self._answer(value)]
        answer: bool | None = None
        while waiting:
            try:
                asked = waiting[-1].send(cast(bool, answer))
            except StopIteration as end:
                answer = end.value
                waiting.pop()
            else:
                waiting.append(self._answer(asked))
                answer = None  # it begins
        return bool(answer)

    def _answer(self, value: SSAValue) -> Generator[SSAValue, bool, bool]:
        """The answer for a value; it asks for those of others that it depends on."""
        if value in self.changing:
            return True
        if isinstance(value, BlockArgument):
            return False
        if value not in self.known:
            self.known[value] = yield from self._of_result(cast(Operation, value.owner))
        return self.known[value]

    def _of_result(self, op: Operation) -> Generator[SSAValue, bool, bool]:
        if isinstance(op, arith.SelectOp) and not (yield op.cond):
            first, second = (yield op.lhs), (yield op.rhs)
            if first != second:
                # Asked in both directions by different selects, a condition guards nothing.
                return self.guards.setdefault(op.cond, first) != first
            return first
        for inner in op.walk():
            for value in inner.operands:
                if (yield value):
                    return True
        return False


def _with_guards(lanes: Lanes, tainted: _Taint) -> Lanes:
    """
    Find how to tell that a lane will not change any more, so that a tile of such lanes is finished.

    The next values must depend on nothing that changes except through selects of it: then a lane that did not change,
    and whose selects chose the other value, repeats the same iteration from then on.
    """
    after = lanes.loop.after_region.block
    returned = cast(Operation, after.last_op).operands
    own = lanes.carried(lane=True)
    if any(tainted.of(returned[i]) for i in own):
        return lanes
    guards = dict.fromkeys(tainted.guards.items())
    compared: list[int] = []
    for i in own:
        if returned[i] is after.args[i]:
            continue
        changes = _changes_only_if(returned[i], after.args[i])
        if changes is not None and not tainted.of(changes):
            guards[changes, True] = None
        else:
            compared.append(i)
    return replace(lanes, guards=tuple(guards), compared=tuple(compared))


def _changes_only_if(value: SSAValue, present: SSAValue) -> SSAValue | None:
    """A condition without which the next value is the present one, if that can be read off its operation."""
    op = value.owner
    if isinstance(op, arith.SelectOp) and op.rhs is present:
        return op.cond
    if isinstance(op, arith.AddiOp):
        for one, other in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
            if one is present and isinstance(other.owner, arith.ExtUIOp) and str(other.owner.input.type) == "i1":
                return other.owner.input
    return None

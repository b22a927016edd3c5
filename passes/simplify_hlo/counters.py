"""
Loops that count twice: `fori_loop(1, n, ..)` has a counter from 0 that ends it, and one from 1 for its body.

    while i < 99 { .. x[j] ..; i += 1; j += 1 }     # j began one above i
    while i < 99 { .. x[i + 1] ..; i += 1 }
"""

from __future__ import annotations

from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from ...dialects.support.editing import replace_uses
from ...hlo_dialect.expressions.tensor import Builder, Tensor
from ...hlo_dialect.loops.analysis import Induction, Loop
from ...hlo_dialect.ops.control_flow import WhileOp
from ...hlo_dialect.types import element_of, integers_of
from .rewrite import Rewrite, simplifications


@simplifications.on(WhileOp)
def counters_apart(op: Operation) -> Rewrite | None:
    """A counter that steps as the one that ends the loop, or backward, is computed from that: its bounds are known."""
    assert isinstance(op, WhileOp)
    loop = Loop(op)
    known = {i: each for i, each in loop.inductions.items() if each.start is not None}
    main = _compared(loop, known) if len(known) > 1 else None
    if main is None:
        return None
    touched: list[object] = []
    for i, each in known.items():
        values = (loop.cond.args[i], loop.body.args[i], op.results[i])
        if (
            i == main.position
            or abs(each.step) != abs(main.step)
            or values[0].type != loop.cond.args[main.position].type
        ):
            continue
        is_used = any(_is_used(value, loop.returned[i].owner) for value in values)
        distance = _distance(main, each)
        if is_used and distance >= 0 and distance in integers_of(element_of(values[0])):
            touched += _replace(loop, main, each)
    return Rewrite(touched=touched) if touched else None


def _distance(main: Induction, other: Induction) -> int:
    """The distance of a counter from the other one, or from its negative."""
    assert main.start is not None and other.start is not None
    return other.start - main.start if main.step == other.step else other.start + main.start


def _compared(loop: Loop, known: dict[int, Induction]) -> Induction | None:
    """The counter that the condition looks at."""
    found = [each for i, each in known.items() if loop.cond.args[i].first_use is not None]
    return found[0] if len(found) == 1 else None


def _is_used(value: SSAValue, next_: Operation | Block) -> bool:
    """Whether something uses a counter besides what makes its next value."""
    return any(use.operation is not next_ for use in value.uses)


def _replace(loop: Loop, main: Induction, other: Induction) -> list[object]:
    """Compute a counter from the other one where it is used. Returns the operations to revisit."""
    op, i, j = loop.op, other.position, main.position
    after = op.next_op
    assert after is not None
    places = [InsertPoint.at_start(loop.cond), InsertPoint.at_start(loop.body), InsertPoint.before(after)]
    old = (loop.cond.args[i], loop.body.args[i], op.results[i])
    new = (loop.cond.args[j], loop.body.args[j], op.results[j])
    touched: list[object] = []
    for place, value, counter in zip(places, old, new, strict=True):
        if value.first_use is None:
            continue
        builder = Builder(place, op.location)
        x = Tensor(builder, counter)
        distance = _distance(main, other)
        x = x + distance if main.step == other.step else x.like(distance) - x
        touched += [*builder.ops, *(use.operation for use in value.uses)]
        replace_uses(value, x.value)
    return touched

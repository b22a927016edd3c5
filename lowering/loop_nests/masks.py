"""
Masks of rows: conditions on indices, `index_of_row >= index_of_element` say, that select what follows from a score.

Where such a condition holds nowhere in a tile, as above the diagonal of causal attention, nothing follows from the
tile's scores, whatever they are, NaN included: they need not be computed.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, IntegerType
from xdsl.dialects.linalg.ops import IndexOp
from xdsl.ir import Operation, SSAValue

from .kernel_builder import SIGNED_COMPARISONS
from .nest import Nest

MOST = 1 << 28
"""Constants and sizes below which sums of a few of them do not overflow 32 bits."""

NARROW = (IntegerType(8), IntegerType(16))
"""Types that do not hold every index."""


@dataclass(frozen=True)
class Condition:
    """`constant + sum(factor * index) >= 0`, over the loops of a nest."""

    factors: tuple[tuple[int, int], ...]
    """Loops, in order, and their factors other than 0."""
    constant: int

    def negated(self) -> Condition:
        return Condition(tuple((loop, -factor) for loop, factor in self.factors), -self.constant - 1)


# Conditions.


def conditions_of(nest: Nest) -> Iterator[Condition]:
    """The conditions on indices that select something, and their opposites."""
    for op in nest.body.ops if nest.body is not None else ():
        condition = _condition(op, nest) if isinstance(op, arith.CmpiOp) else None
        if condition is not None:
            yield condition
            yield condition.negated()


def _condition(op: arith.CmpiOp, nest: Nest) -> Condition | None:
    """A signed comparison of two sums of indices and constants."""
    signs = SIGNED_COMPARISONS.get(op.predicate.value.data)
    lhs, rhs = _affine(op.lhs, nest), _affine(op.rhs, nest)
    if signs is None or lhs is None or rhs is None:
        return None
    sign, rest = signs
    total = {loop: sign * (lhs.get(loop, 0) - rhs.get(loop, 0)) for loop in {*lhs, *rhs}}
    constant = total.pop(-1, 0) + rest
    return Condition(tuple(sorted((loop, factor) for loop, factor in total.items() if factor)), constant)


def _affine(value: SSAValue, nest: Nest) -> dict[int, int] | None:
    """A sum of indices and constants: the factor of each loop, and the constant at -1; None for any other value."""
    owner = value.owner
    match owner:
        case IndexOp():
            loop = nest.dims[int(owner.dim.value.data)]
            if loop is None:
                return {}
            return {loop: 1} if nest.sizes[loop] < MOST else None
        case arith.ConstantOp() if isinstance(owner.value, IntegerAttr):
            number = owner.value.value.data
            return {-1: number} if abs(number) < MOST else None
        case arith.IndexCastOp():
            return None if value.type in NARROW else _affine(owner.input, nest)
        case arith.AddiOp() | arith.SubiOp():
            lhs, rhs = _affine(owner.lhs, nest), _affine(owner.rhs, nest)
            # One sum: several could overflow.
            if lhs is None or rhs is None or len(lhs) > 1 or len(rhs) > 1:
                return None
            sign = 1 if isinstance(owner, arith.AddiOp) else -1
            return {loop: lhs.get(loop, 0) + sign * rhs.get(loop, 0) for loop in {*lhs, *rhs}}
        case _:
            return None


# The dependences of values.


@dataclass(frozen=True)
class State:
    """The dependences of a value where the condition does not hold."""

    scores: bool = False
    varies: bool = False
    """On the element of the row."""
    known: bool | None = None
    """The truth value, if it is known."""


def union(states: Iterable[State]) -> State:
    found = list(states)
    return State(any(state.scores for state in found), any(state.varies for state in found))


def states_of(nest: Nest, inputs: Sequence[State], false: Condition, inside: Container[int]) -> tuple[State, ...]:
    """The states of a nest's results, or elements, where `false` does not hold; `inside`: the loops inside a row."""
    body = nest.body
    if body is None:
        return tuple(inputs)
    states: dict[SSAValue, State] = dict(zip(body.args, inputs, strict=False))
    for op in body.ops:
        state = _state(op, states, nest, false, inside)
        states.update((result, state) for result in op.results)
    assert body.last_op is not None
    return tuple(states.get(value, State()) for value in body.last_op.operands)


def _state(
    op: Operation, states: Mapping[SSAValue, State], nest: Nest, false: Condition, inside: Container[int]
) -> State:
    operands = [states.get(value, State()) for value in op.operands]
    match op:
        case IndexOp():
            loop = nest.dims[int(op.dim.value.data)]
            return State(varies=loop is not None and loop in inside)
        case arith.CmpiOp():
            condition = _condition(op, nest)
            true = false.negated()
            if condition in (false, true):
                return State(known=condition == true)
        case arith.AndIOp() | arith.OrIOp() if op.results[0].type == IntegerType(1):
            decides = isinstance(op, arith.OrIOp)
            if any(state.known is decides for state in operands):
                return State(known=decides)
        case arith.SelectOp():
            condition, first, second = operands
            if condition.known is not None:
                return first if condition.known else second
        case _:
            if op.regions:
                return State(True, True)
    return union(operands)

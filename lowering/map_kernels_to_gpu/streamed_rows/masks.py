"""
Masks that are known for a whole tile: causal attention needs no scores above the diagonal.

A mask is a condition on the indices of a row and its element, `index_of_row >= index_of_element` say, that selects
between what follows from scores and what does not. Where it holds nowhere in a tile, nothing follows from the tile's
scores, whatever they are: they need not be computed. If then all elements of a row are the same, as they are where a
constant is selected, one of them stands for all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, IntegerType
from xdsl.dialects.linalg.ops import IndexOp
from xdsl.ir import Operation, SSAValue

from ...loop_nests.nest import Access, Nest
from ..reduction.chain import Chain, Link
from ..reduction.emission import in_pass
from .form import StreamedForm

MOST = 1 << 28
"""Constants and sizes below which sums of a few of them do not overflow 32 bits."""

NARROW = (IntegerType(8), IntegerType(16))
"""Types that do not hold every index."""

SIGNED = {2: (-1, -1), 3: (-1, 0), 4: (1, -1), 5: (1, 0)}
"""By the numbers of slt, sle, sgt and sge: sign and rest in `sign * (lhs - rhs) + rest >= 0`, where one holds."""


@dataclass(frozen=True)
class Condition:
    """`constant + sum(factor * index) >= 0`, over the loops of a chain."""

    factors: tuple[tuple[int, int], ...]
    """Loops, in order, and their factors other than 0."""
    constant: int

    def negated(self) -> Condition:
        return Condition(tuple((loop, -factor) for loop, factor in self.factors), -self.constant - 1)


@dataclass(frozen=True)
class Mask:
    """A condition: where it holds nowhere in a tile, the tile's scores do not matter."""

    condition: Condition
    uniform: bool
    """Whether the elements of a row in such a tile are then all the same."""


def mask_of(form: StreamedForm, at: int) -> Mask | None:
    """A mask of all that pass `at` computes from scores; None if there is none."""
    chain = form.chain
    wanted = [*in_pass(chain, at), *(mixture.source.step for mixture in form.mixtures_of(at))]
    found: Mask | None = None
    combinations = [chain.steps[step].combination for step in wanted]
    in_order = any(combination is not None and combination.positioned for combination in combinations)
    for condition in dict.fromkeys(_conditions(chain)):
        states = _States(chain, frozenset(product.root for product in form.scores), condition)
        result = _union(state for step in wanted for state in states.results(step))
        if not result.scores:
            found = Mask(condition, not result.varies and not in_order)
            if found.uniform:
                break
    return found


# Conditions.


def _conditions(chain: Chain) -> Iterator[Condition]:
    """The conditions on indices that select something, and their opposites."""
    for step in chain.steps:
        for op in step.nest.body.ops if step.wide and step.nest.body is not None else ():
            condition = _condition(op, step.nest) if isinstance(op, arith.CmpiOp) else None
            if condition is not None:
                yield condition
                yield condition.negated()


def _condition(op: arith.CmpiOp, nest: Nest) -> Condition | None:
    """A signed comparison of two sums of indices and constants."""
    signs = SIGNED.get(op.predicate.value.data)
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


def _union(states: Iterable[State]) -> State:
    found = list(states)
    return State(any(state.scores for state in found), any(state.varies for state in found))


class _States:
    """The states of a chain's values where a condition does not hold."""

    def __init__(self, chain: Chain, scores: frozenset[SSAValue], condition: Condition):
        self.chain = chain
        self.scores = scores
        self.false = condition
        self.true = condition.negated()
        self.steps: dict[int, tuple[State, ...]] = {}

    def results(self, number: int) -> tuple[State, ...]:
        """The states of a wide step's results, or of a reduction's elements."""
        if number not in self.steps:
            self.steps[number] = self._results(number)
        return self.steps[number]

    def _results(self, number: int) -> tuple[State, ...]:
        step = self.chain.steps[number]
        inputs = [self._input(number, k, x) for k, x in enumerate(step.nest.inputs)]
        body = step.nest.body
        if body is None:
            return tuple(inputs)
        states: dict[SSAValue, State] = dict(zip(body.args, inputs, strict=False))
        for op in body.ops:
            state = self._state(op, states, step.nest)
            states.update((result, state) for result in op.results)
        assert body.last_op is not None
        return tuple(states.get(value, State()) for value in body.last_op.operands)

    def _input(self, number: int, k: int, access: Access | SSAValue) -> State:
        link = self.chain.steps[number].sources.get(k)
        if link is not None:
            return self._linked(link)
        if not isinstance(access, Access):
            return State()
        if access.root in self.scores:
            return State(True, True)
        return State(varies=any(access.strides[l] for l in self.chain.loops if l < len(access.strides)))

    def _linked(self, link: Link) -> State:
        step = self.chain.steps[link.step]
        return self.results(link.step)[link.output] if step.wide and not step.reduces else State()

    def _state(self, op: Operation, states: Mapping[SSAValue, State], nest: Nest) -> State:
        operands = [states.get(value, State()) for value in op.operands]
        match op:
            case IndexOp():
                loop = nest.dims[int(op.dim.value.data)]
                return State(varies=loop is not None and loop in self.chain.loops)
            case arith.CmpiOp():
                condition = _condition(op, nest)
                if condition in (self.false, self.true):
                    return State(known=condition == self.true)
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
        return _union(operands)

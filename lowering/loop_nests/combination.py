"""
Combination of partial results: splits a reduction's body into computing an element and combining two.

The body of a reduction accumulates an element: `acc' = f(acc, inputs)`. To combine partial results of several threads
or lanes, f must be `g(acc, e(inputs))` with an associative g. This holds by construction if each output has a known
operation of its own. Bodies that choose between tuples by comparing them, as argmax does, are checked exhaustively:
such a body only depends on the order of corresponding members of the tuples and on which are NaN, so finitely many
cases suffice.

Elements are distributed over threads or lanes cyclically, so that g must be commutative as well. If it is not (of two
NaN, argmax takes the first), partial results carry the position of the chosen element and are combined in the order of
positions.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, FloatAttr, IntegerAttr, IntegerType, i32
from xdsl.dialects.linalg.ops import YieldOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from .combiners import Combiner, known_combiners
from .loop_builder import LoopBuilder
from .nest import Nest

Values = Sequence[SSAValue]


@dataclass(frozen=True)
class Combination:
    """Combines two partial results of a reduction. Each has one value per output, possibly followed by a position."""

    types: tuple[Attribute, ...]
    inits: tuple[SSAValue | None, ...]
    combiners: tuple[Combiner, ...] = ()
    """Per output; if empty, `block` is used."""
    block: Block | None = None
    """Takes two tuples and yields one of them; with positions, the result's position is its last value."""
    positioned: bool = False

    @property
    def states(self) -> tuple[Attribute, ...]:
        """The types of a partial result."""
        return (*self.types, i32) if self.positioned else self.types

    def neutral(self, builder: LoopBuilder) -> list[SSAValue]:
        """The neutral partial result, which changes no result that it is combined with."""
        if self.combiners:
            return [combiner.neutral(builder) for combiner in self.combiners]
        inits = [init for init in self.inits if init is not None]
        return [*inits, builder.scalar(IntegerAttr(-1, i32))] if self.positioned else inits

    def combine(self, builder: LoopBuilder, lhs: Values, rhs: Values, in_order: bool = False) -> list[SSAValue]:
        """`in_order`: all elements of `lhs` come before those of `rhs`."""
        if self.combiners:
            return [c.combine(builder, a, b) for c, a, b in zip(self.combiners, lhs, rhs, strict=True)]
        assert self.block is not None
        if in_order or not self.positioned:
            return builder.inline(self.block, [*lhs, *rhs])
        before = builder.on(lhs[-1]).compare("le", rhs[-1])
        pairs = list(zip(lhs, rhs, strict=True))
        first = [before.select(a, b).value for a, b in pairs]
        second = [before.select(b, a).value for a, b in pairs]
        return builder.inline(self.block, [*first, *second])

    def started(self, builder: LoopBuilder, values: Values) -> list[SSAValue]:
        """The final results: the whole reduction's `values` combined with the initial scalars, if any."""
        if not self.combiners:
            return list(values[: len(self.types)])
        pairs = zip(self.combiners, self.inits, values, strict=True)
        return [x if init is None else c.combine(builder, init, x) for c, init, x in pairs]


@dataclass(frozen=True)
class Joint:
    """The combinations of several reductions as one, with their values concatenated."""

    parts: tuple[Combination, ...]

    def neutral(self, builder: LoopBuilder) -> list[SSAValue]:
        return [value for part in self.parts for value in part.neutral(builder)]

    def combine(self, builder: LoopBuilder, lhs: Values, rhs: Values) -> list[SSAValue]:
        found: list[SSAValue] = []
        for part in self.parts:
            start, end = len(found), len(found) + len(part.states)
            found += part.combine(builder, lhs[start:end], rhs[start:end])
        return found

    def split(self, values: Values) -> list[list[SSAValue]]:
        """Split the values by reduction."""
        rest = iter(values)
        return [[next(rest) for _ in part.states] for part in self.parts]


# Splitting a body ------------------------------------------------------------------------------------------------


def taken_apart(nest: Nest, inits: Sequence[SSAValue | None]) -> tuple[Nest, Combination] | None:
    """
    The nest of a reduction with a body that yields only the elements, and their combination.

    None if the body's operation is not known to be associative.
    """
    body = nest.body
    if body is None or not isinstance(body.last_op, YieldOp):
        return None
    types = tuple(argument.type for argument in body.args[len(nest.inputs) :])
    known = known_combiners(nest)
    if known is not None:
        accumulators = set(body.args[len(nest.inputs) :])
        elements = [next(x for x in c.op.operands if x not in accumulators) for c in known]
        apart = _element_nest(nest, {c.op for c in known}, elements)
        return apart, Combination(types, tuple(inits), tuple(known))
    chosen = _choice_of(nest)
    if chosen is None or any(init is None for init in inits):
        return None
    may_be_nan = tuple(not _is_number(init) for init in inits)
    for positioned, last in ((False, 0), *((True, k) for k in reversed(range(len(types))))):
        if _is_lawful(chosen, positioned, last, may_be_nan):
            block = chosen.block(types, last if positioned else None)
            apart = _element_nest(nest, set(chosen.dependent), chosen.elements)
            return apart, Combination(types, tuple(inits), block=block, positioned=positioned)
    return None


def independent_outputs(nest: Nest) -> list[tuple[int, ...]]:
    """The outputs of a reduction in independent groups, such as siblings that were fused."""
    body = nest.body
    if body is None or body.last_op is None or any(op.regions for op in body.ops):
        return [tuple(range(len(nest.outputs)))]
    accumulators = body.args[len(nest.inputs) :]
    needed: dict[SSAValue, set[int]] = {acc: {k} for k, acc in enumerate(accumulators)}
    for op in body.ops:
        found = {k for x in op.operands for k in needed.get(x, ())}
        needed.update(dict.fromkeys(op.results, found))
    groups: list[set[int]] = []
    for k, result in enumerate(body.last_op.operands):
        group = {k} | needed.get(result, set())
        for other in [g for g in groups if g & group]:
            groups.remove(other)
            group |= other
        groups.append(group)
    return sorted(tuple(sorted(group)) for group in groups)


def restricted(nest: Nest, outputs: Sequence[int]) -> Nest:
    """The nest with some of its outputs only, and the operations of the body that these need."""
    old, count = nest.body, len(nest.inputs)
    assert old is not None and old.last_op is not None
    arguments = [*old.args[:count], *(old.args[count + k] for k in outputs)]
    body = Block(arg_types=[argument.type for argument in arguments])
    mapping: dict[SSAValue, SSAValue] = dict(zip(arguments, body.args, strict=True))
    results = [old.last_op.operands[k] for k in outputs]
    needed: set[SSAValue] = set(results)
    for op in reversed(list(old.ops)):
        if any(result in needed for result in op.results):
            needed.update(op.operands)
    for op in old.ops:
        if any(result in needed for result in op.results):
            copy = op.clone(mapping)
            copy.location = op.location
            mapping.update(zip(op.results, copy.results, strict=True))
            body.add_op(copy)
    body.add_op(YieldOp(*(mapping.get(value, value) for value in results)))
    return replace(nest, outputs=tuple(nest.outputs[k] for k in outputs), body=body)


def _element_nest(nest: Nest, combining: set[Operation], elements: Sequence[SSAValue]) -> Nest:
    """The nest with a body that computes the elements, without the combining operations."""
    assert nest.body is not None
    body = Block(arg_types=[argument.type for argument in nest.body.args])
    mapping: dict[SSAValue, SSAValue] = dict(zip(nest.body.args, body.args, strict=True))
    for op in nest.body.ops:
        if op not in combining and op is not nest.body.last_op:
            copy = op.clone(mapping)
            for old, new in zip(op.walk(), copy.walk(), strict=True):
                new.location = old.location
            mapping.update(zip(op.results, copy.results, strict=True))
            body.add_op(copy)
    body.add_op(YieldOp(*(mapping.get(value, value) for value in elements)))
    return replace(nest, body=body)


def _is_number(init: SSAValue | None) -> bool:
    """Whether a value is known not to be NaN."""
    if init is None or isinstance(init.type, IntegerType):
        return True
    owner = init.owner
    if not isinstance(owner, arith.ConstantOp) or not isinstance(owner.value, FloatAttr):
        return False
    return not math.isnan(owner.value.value.data)


# Bodies that choose -----------------------------------------------------------------------------------------------

CHOOSING = (
    arith.CmpfOp, arith.CmpiOp, arith.SelectOp, arith.AndIOp, arith.OrIOp, arith.XOrIOp, arith.MaximumfOp,
    arith.MinimumfOp, arith.MaxSIOp, arith.MinSIOp, arith.MaxUIOp, arith.MinUIOp, arith.ExtFOp,
)  # fmt: skip
"""Operations of a choosing body, besides constants of type i1: they only depend on the order of values."""

WIDENING = (arith.ExtFOp,)

MOST_OUTPUTS = 3
"""With more outputs the check would take too long."""


@dataclass(frozen=True)
class Choice:
    """The body of a reduction that chooses, per output, between the accumulator and the element."""

    accumulators: tuple[SSAValue, ...]
    elements: tuple[SSAValue, ...]
    dependent: tuple[Operation, ...]
    """Operations that depend on the accumulators, in order."""
    before: tuple[Operation, ...]
    """Constants that it uses, and extensions of the element to wider types."""
    results: tuple[SSAValue, ...]

    @property
    def ops(self) -> tuple[Operation, ...]:
        return (*self.before, *self.dependent)

    def condition(self, output: int) -> tuple[SSAValue, bool] | None:
        """The condition that selects an output, and whether it selects the accumulator when true."""
        op = self.results[output].owner
        if not isinstance(op, arith.SelectOp):
            return None
        return op.cond, op.lhs is self.accumulators[output]

    def block(self, types: Sequence[Attribute], positioned_as: int | None) -> Block:
        """The operations as a block of two tuples; with positions, this output's choice selects the position."""
        states = [*types] if positioned_as is None else [*types, i32]
        block = Block(arg_types=[*states, *states])
        mapping: dict[SSAValue, SSAValue] = {}
        for k, (acc, element) in enumerate(zip(self.accumulators, self.elements, strict=True)):
            mapping[acc], mapping[element] = block.args[k], block.args[len(states) + k]
        for op in self.ops:
            copy = op.clone(mapping)
            copy.location = op.location
            mapping.update(zip(op.results, copy.results, strict=True))
            block.add_op(copy)
        results = [mapping[value] for value in self.results]
        if positioned_as is not None:
            chosen = self.condition(positioned_as)
            assert chosen is not None
            pair = (block.args[len(types)], block.args[len(states) + len(types)])
            first, second = pair if chosen[1] else (pair[1], pair[0])
            select = arith.SelectOp(mapping[chosen[0]], first, second)
            block.add_op(select)
            results.append(select.result)
        block.add_op(YieldOp(*results))
        return block


def _choice_of(nest: Nest) -> Choice | None:
    """The body as a choice between accumulators and an element by comparing them; None if it is not one."""
    body = nest.body
    assert body is not None and body.last_op is not None
    accumulators = tuple(body.args[len(nest.inputs) :])
    results = tuple(body.last_op.operands)
    if len(accumulators) > MOST_OUTPUTS or any(op.regions for op in body.ops):
        return None
    dependent: list[Operation] = []
    values: set[SSAValue] = set(accumulators)
    for op in body.ops:
        if op is not body.last_op and any(x in values for x in op.operands):
            dependent.append(op)
            values.update(op.results)
    if not all(isinstance(op, CHOOSING) for op in dependent):
        return None
    elements: list[SSAValue] = []
    for acc, result in zip(accumulators, results, strict=True):
        owner = result.owner
        if not isinstance(owner, Operation) or owner not in dependent or len(owner.operands) < 2:
            return None
        other = [x for x in owner.operands[-2:] if x is not acc]
        if len(other) != 1 or other[0] in values or other[0].type != acc.type:
            return None
        elements.append(other[0])
    if len(set(elements)) != len(elements):
        return None
    constants = _constants(dependent, values | set(elements))
    if constants is None:
        return None
    choice = Choice(accumulators, tuple(elements), tuple(dependent), tuple(constants), results)
    return choice if _compares_like_with_like(choice) else None


def _constants(dependent: Sequence[Operation], known: set[SSAValue]) -> list[Operation] | None:
    """The i1 constants among the operands defined outside; None if there are other such operands."""
    found: list[Operation] = []
    for op in dependent:
        for x in op.operands:
            owner = x.owner
            if x in known:
                continue
            if isinstance(owner, WIDENING):
                allowed = owner.operands[0] in known
            else:
                allowed = isinstance(owner, arith.ConstantOp) and x.type == IntegerType(1)
            if not allowed or not isinstance(owner, Operation):
                return None
            if owner not in found:
                found.append(owner)
    return found


def _compares_like_with_like(choice: Choice) -> bool:
    """Whether values are only compared with values of the same output, and integers with one signedness."""
    place: dict[SSAValue, int] = {}
    signed: dict[int, set[bool]] = {}
    for k, pair in enumerate(zip(choice.accumulators, choice.elements, strict=True)):
        place.update(dict.fromkeys(pair, k))
    for op in choice.ops:
        if isinstance(op, WIDENING) and op.operands[0] in place:
            place[op.results[0]] = place[op.operands[0]]
            continue
        if isinstance(op, arith.ConstantOp):
            continue
        operands = op.operands[1:] if isinstance(op, arith.SelectOp) else op.operands
        if op.results[0].type == IntegerType(1) and not isinstance(op, (arith.CmpfOp, arith.CmpiOp)):
            continue
        places = {place.get(x, -1) for x in operands}
        if len(places) != 1 or places == {-1}:
            return False
        k = next(iter(places))
        if isinstance(op, arith.CmpiOp) and op.predicate.value.data >= 2:
            signed.setdefault(k, set()).add(op.predicate.value.data < 6)
        elif isinstance(op, (arith.MaxSIOp, arith.MinSIOp, arith.MaxUIOp, arith.MinUIOp)):
            signed.setdefault(k, set()).add(isinstance(op, (arith.MaxSIOp, arith.MinSIOp)))
        if not isinstance(op, (arith.CmpfOp, arith.CmpiOp)):
            place[op.results[0]] = k
    return all(len(ways) == 1 for ways in signed.values())


# The check --------------------------------------------------------------------------------------------------------

Tuple_ = tuple[np.ndarray, ...]

ORDERED = {1: np.equal, 2: np.greater, 3: np.greater_equal, 4: np.less, 5: np.less_equal}
INTEGER = {
    0: np.equal, 1: np.not_equal, 2: np.less, 3: np.less_equal, 4: np.greater, 5: np.greater_equal,
    6: np.less, 7: np.less_equal, 8: np.greater, 9: np.greater_equal,
}  # fmt: skip


def _compare_floats(predicate: int, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """`arith.cmpf`: predicates 1 to 7 are false if an operand is NaN, 8 to 14 are true."""
    unordered = np.isnan(a) | np.isnan(b)
    if predicate in (0, 15):
        return np.full(unordered.shape, predicate == 15)
    if predicate in (7, 14):
        return unordered == (predicate == 14)
    which = predicate if predicate < 7 else predicate - 7
    holds = (a != b) if which == 6 else ORDERED[which](a, b)
    return (holds & ~unordered) if predicate < 7 else (holds | unordered)


def _evaluate(op: Operation, x: Sequence[np.ndarray]) -> np.ndarray:
    match op:
        case arith.CmpfOp():
            return _compare_floats(op.predicate.value.data, x[0], x[1])
        case arith.CmpiOp():
            return INTEGER[op.predicate.value.data](x[0], x[1])
        case arith.SelectOp():
            return np.where(x[0], x[1], x[2])
        case arith.AndIOp():
            return x[0] & x[1]
        case arith.OrIOp():
            return x[0] | x[1]
        case arith.XOrIOp():
            return x[0] ^ x[1]
        case arith.MaximumfOp() | arith.MaxSIOp() | arith.MaxUIOp():
            return np.maximum(x[0], x[1])
        case arith.MinimumfOp() | arith.MinSIOp() | arith.MinUIOp():
            return np.minimum(x[0], x[1])
        case _:
            return x[0]


class _Model:
    """The combination on arrays of tuples; the last member of a tuple is its position."""

    def __init__(self, choice: Choice, positioned: bool, last: int):
        self.choice = choice
        self.positioned = positioned
        self.last = last

    def combine(self, lhs: Tuple_, rhs: Tuple_) -> Tuple_:
        if self.positioned:
            in_order = lhs[-1] <= rhs[-1]
            first = tuple(np.where(in_order, a, b) for a, b in zip(lhs, rhs, strict=True))
            rhs = tuple(np.where(in_order, b, a) for a, b in zip(lhs, rhs, strict=True))
            lhs = first
        choice = self.choice
        values: dict[SSAValue, np.ndarray] = dict(zip(choice.accumulators, lhs, strict=False))
        values.update(zip(choice.elements, rhs, strict=False))
        for op in choice.ops:
            if isinstance(op, arith.ConstantOp):
                value: Any = op.value
                values[op.result] = np.full(lhs[0].shape, bool(value.value.data))
            else:
                values[op.results[0]] = _evaluate(op, [values[x] for x in op.operands])
        results = [values[x] for x in choice.results]
        chosen = choice.condition(self.last)
        position = lhs[-1]
        if chosen is not None:
            holds = values[chosen[0]] if chosen[1] else ~values[chosen[0]]
            position = np.where(holds, lhs[-1], rhs[-1])
        return (*results, position)

    def same(self, a: Tuple_, b: Tuple_) -> bool:
        """Whether the tuples are equal; positions only matter if they are used."""
        count = len(a) if self.positioned else len(a) - 1
        return all(_equal(x, y) for x, y in zip(a[:count], b[:count], strict=True))


def _equal(a: np.ndarray, b: np.ndarray) -> bool:
    if a.dtype.kind == "f":
        return bool(np.all((a == b) | (np.isnan(a) & np.isnan(b))))
    return bool(np.all(a == b))


def _cases(type_: Attribute, nan: bool = True) -> np.ndarray:
    """Values of a type: enough for three of them to have every order that a comparison can distinguish."""
    if isinstance(type_, AnyFloat):
        return np.array([0.0, 1.0, 2.0, math.nan][: 4 if nan else 3])
    return np.array([False, True]) if type_ == IntegerType(1) else np.array([0, 1, 2])


def _grid(domains: Sequence[Sequence[np.ndarray]]) -> list[Tuple_]:
    """All combinations of tuples, one from each sequence of domains, as arrays."""
    flat = [domain for domains_ in domains for domain in domains_]
    meshed = [x.reshape(-1) for x in np.meshgrid(*flat, indexing="ij")]
    sizes = itertools.accumulate((len(domains_) for domains_ in domains), initial=0)
    starts = list(sizes)
    return [tuple(meshed[a:b]) for a, b in itertools.pairwise(starts)]


def _is_lawful(choice: Choice, positioned: bool, last: int, may_be_nan: Sequence[bool]) -> bool:
    """
    Whether, in all cases, the combination is associative and commutative, and the initial tuple is neutral.

    With positions: for tuples of distinct positions; the initial tuple precedes all.
    """
    if positioned and choice.condition(last) is None:
        return False
    model = _Model(choice, positioned, last)
    domains = [_cases(x.type) for x in choice.accumulators]
    initial = [_cases(x.type, nan) for x, nan in zip(choice.accumulators, may_be_nan, strict=True)]
    for order in itertools.permutations(range(3)) if positioned else ((0, 1, 2),):
        a, b, c = _grid([[*domains, np.array([at])] for at in order])
        if not model.same(model.combine(a, b), model.combine(b, a)):
            return False
        if not model.same(model.combine(model.combine(a, b), c), model.combine(a, model.combine(b, c))):
            return False
        a, b, i = _grid([[*domains, np.array([at])] for at in order[:2]] + [[*initial, np.array([-1])]])
        once = model.combine(i, model.combine(a, b))
        twice = model.combine(model.combine(i, a), model.combine(i, b))
        if not model.same(once, twice) or not model.same(model.combine(i, i), i):
            return False
    return True

"""
Reductions that choose between tuples by comparing them, as argmax does, and the check that they may be split.

A choosing body only depends on the order of corresponding members of the tuples and on which are NaN, so finitely many
cases suffice for a proof. The sign of a zero is the right one where a reduction has one result; where it has several,
the choice of the others tells little about it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, BFloat16Type, Float16Type, IntegerType, f32, i32
from xdsl.dialects.linalg.ops import IndexOp, YieldOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...dialects.support.buffers import INDEX
from ...dialects.support.creation import append
from ...dialects.support.editing import clone_op
from ...dialects.support.scalar import NO_FASTMATH, width_of
from .combiners import Combiner
from .kernel_builder import KernelBuilder
from .nest import Nest

CHOOSING = (
    arith.CmpfOp, arith.CmpiOp, arith.SelectOp, arith.AndIOp, arith.OrIOp, arith.XOrIOp, arith.MaximumfOp,
    arith.MinimumfOp, arith.MaxSIOp, arith.MinSIOp, arith.MaxUIOp, arith.MinUIOp, arith.ExtFOp,
)  # fmt: skip
"""Operations of a choosing body, besides constants of type i1: they only depend on the order of values."""

WIDENING = (arith.ExtFOp,)

MOST_OUTPUTS = 3
"""With more outputs the check would take too long."""


PLACE_CASTS = (arith.IndexCastOp, arith.ExtSIOp, arith.ExtUIOp, arith.TruncIOp)


@dataclass(frozen=True)
class Leader:
    """
    The output of a choice that decides alone: its result is a maximum or minimum of its elements, but for the sign of
    zeros, and the other outputs are the place of the first element that has that value.
    """

    output: int
    combiner: Combiner
    """It combines elements in f32 where they are shorter floats: vectors of those are widened for each comparison."""

    def accumulated(self, builder: KernelBuilder, element: SSAValue) -> SSAValue:
        """An element in the type of the combiner."""
        return element if element.type == self.combiner.type else builder.on(element).extend(self.combiner.type).value

    def stored(self, builder: KernelBuilder, best: SSAValue, type_: Attribute) -> SSAValue:
        """The maximum or minimum in the type of the elements, or that type already."""
        return best if best.type == type_ else builder.on(best).truncate(type_).value


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

    @property
    def facts(self) -> Hashable:
        """The types and operations, equal for choices that decide alike."""
        numbers = {value: k for k, value in enumerate((*self.accumulators, *self.elements))}
        found: list[Hashable] = [x.type for x in self.accumulators]
        for op in self.ops:
            operands = tuple(numbers[x] for x in op.operands)
            found.append((type(op), operands, tuple(op.properties.items()), op.results[0].type))
            numbers[op.results[0]] = len(numbers)
        return (*found, *(numbers[x] for x in self.results))

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
            append(block, clone_op(op, mapping))
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


def choice_of(nest: Nest) -> Choice | None:
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
    return choice if _signedness(choice) is not None else None


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


def _signedness(choice: Choice) -> dict[int, bool] | None:
    """
    Whether the integers of each output are compared as signed ones; outputs that are not ordered are left out.

    None unless values are only compared with values of the same output, and integers with one signedness.
    """
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
            return None
        k = next(iter(places))
        if isinstance(op, arith.CmpiOp) and op.predicate.value.data >= 2:
            signed.setdefault(k, set()).add(op.predicate.value.data < 6)
        elif isinstance(op, (arith.MaxSIOp, arith.MinSIOp, arith.MaxUIOp, arith.MinUIOp)):
            signed.setdefault(k, set()).add(isinstance(op, (arith.MaxSIOp, arith.MinSIOp)))
        if not isinstance(op, (arith.CmpfOp, arith.CmpiOp)):
            place[op.results[0]] = k
    return {k: next(iter(ways)) for k, ways in signed.items()} if all(len(x) == 1 for x in signed.values()) else None


def leader_of(choice: Choice, nest: Nest) -> Leader | None:
    """The output of a choice that decides alone, where all others are the index of the only reduction loop."""
    loops = nest.reduction_loops
    others = [k for k, x in enumerate(choice.elements) if len(loops) == 1 and _is_place(x, nest, loops[0])]
    deciding = [k for k in range(len(choice.elements)) if k not in others]
    if len(deciding) != 1 or not others:
        return None
    (output,) = deciding
    type_ = choice.elements[output].type
    if isinstance(type_, (BFloat16Type, Float16Type)):
        type_ = f32
    if isinstance(type_, AnyFloat):
        candidates: tuple[type[Operation], ...] = (arith.MaximumfOp, arith.MinimumfOp)
        properties: dict[str, Attribute] = {"fastmath": NO_FASTMATH}
    else:
        signed = (_signedness(choice) or {}).get(output)
        candidates = (arith.MaxSIOp, arith.MinSIOp) if signed else (arith.MaxUIOp, arith.MinUIOp)
        candidates, properties = candidates if signed is not None else (), {}
    for candidate in candidates:
        block = Block(arg_types=[type_, type_])
        op = candidate.create(operands=block.args, result_types=[type_], properties=properties)
        op.location = nest.op.location
        block.add_op(op)
        if _leads(choice, output, op):
            return Leader(output, Combiner(op))
    return None


def _is_place(value: SSAValue, nest: Nest, loop: int) -> bool:
    """Whether a value is the index of a loop, in types that hold all its values as numbers with and without sign."""
    while isinstance(value.owner, PLACE_CASTS):
        type_: Attribute = value.type
        if type_ != INDEX and nest.sizes[loop] > 1 << (width_of(type_) - 1):
            return False
        value = value.owner.operands[0]
    return isinstance(value.owner, IndexOp) and nest.dims[int(value.owner.dim.value.data)] == loop


# The check ---------------------------------------------------------------------------------------------------------

Tuple_ = tuple[np.ndarray, ...]


_MOST_VERDICTS = 1024

_verdicts: dict[Hashable, bool] = {}
"""Verdicts on choices, by the question and their facts: most programs have the same few."""


def _decided(question: Hashable, decide: Callable[[], bool]) -> bool:
    """The answer of `decide`, which depends on nothing but the question."""
    known = _verdicts.get(question)
    if known is None:
        if len(_verdicts) >= _MOST_VERDICTS:
            _verdicts.clear()
        known = _verdicts[question] = decide()
    return known


def _function_of(op: Operation) -> Callable[..., np.ndarray]:
    # Few programs have such reductions, and the first compilation of a process should be short.
    from ...hlo_dialect.numbers.scalar_operations import scalar_function

    function = scalar_function(op)
    assert function is not None
    return function


class _Model:
    """The combination on arrays of tuples; the last member of a tuple is its position."""

    def __init__(self, choice: Choice, positioned: bool, last: int):
        self.choice = choice
        self.positioned = positioned
        self.last = last
        self.steps = [(op, _function_of(op)) for op in choice.ops if type(op) is not arith.ConstantOp]
        self.constants = [(op.result, _truth(op)) for op in choice.ops if type(op) is arith.ConstantOp]

    def combine(self, lhs: Tuple_, rhs: Tuple_) -> Tuple_:
        if self.positioned:
            in_order = lhs[-1] <= rhs[-1]
            first = tuple(np.where(in_order, a, b) for a, b in zip(lhs, rhs, strict=True))
            rhs = tuple(np.where(in_order, b, a) for a, b in zip(lhs, rhs, strict=True))
            lhs = first
        choice = self.choice
        values: dict[SSAValue, np.ndarray] = dict(zip(choice.accumulators, lhs, strict=False))
        values.update(zip(choice.elements, rhs, strict=False))
        values.update((value, np.full(lhs[0].shape, truth)) for value, truth in self.constants)
        for op, function in self.steps:
            values[op.results[0]] = function(*[values[x] for x in op.operands])
        results = [values[x] for x in choice.results]
        chosen = choice.condition(self.last)
        position = lhs[-1]
        if chosen is not None:
            holds = values[chosen[0]] if chosen[1] else ~values[chosen[0]]
            position = np.where(holds, lhs[-1], rhs[-1])
        return (*results, position)

    def same(self, a: Tuple_, b: Tuple_) -> bool:
        """Whether the tuples are equal; positions only matter if they are used, signs of zeros of a single result."""
        count = len(a) if self.positioned else len(a) - 1
        if len(self.choice.elements) == 1 and a[0].dtype.kind == "f" and not _equal(np.signbit(a[0]), np.signbit(b[0])):
            return False
        return all(_equal(x, y) for x, y in zip(a[:count], b[:count], strict=True))


def _truth(constant: arith.ConstantOp) -> bool:
    value: Any = constant.value
    return bool(value.value.data)


def _alike(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (a == b) | (np.isnan(a) & np.isnan(b)) if a.dtype.kind == "f" else a == b


def _equal(a: np.ndarray, b: np.ndarray) -> bool:
    return bool(np.all(_alike(a, b)))


def _cases(type_: Attribute, nan: bool = True, signs: bool = False) -> np.ndarray:
    """
    Values of a type: enough for three of them to have every order that a comparison can distinguish.

    `signs`: zeros of both signs too, around which the others are.
    """
    if isinstance(type_, AnyFloat):
        zeros = [-0.0, -1.0] if signs else []
        return np.array([0.0, 1.0, 2.0, *zeros, *([math.nan] if nan else [])])
    return np.array([False, True]) if type_ == IntegerType(1) else np.array([0, 1, -1], np.int8)


def _grid(domains: Sequence[Sequence[np.ndarray]]) -> list[Tuple_]:
    """All combinations of tuples, one from each sequence of domains, as arrays."""
    flat = [domain for domains_ in domains for domain in domains_]
    meshed = [x.reshape(-1) for x in np.meshgrid(*flat, indexing="ij")]
    sizes = itertools.accumulate((len(domains_) for domains_ in domains), initial=0)
    starts = list(sizes)
    return [tuple(meshed[a:b]) for a, b in itertools.pairwise(starts)]


def is_lawful(choice: Choice, positioned: bool, last: int, may_be_nan: Sequence[bool]) -> bool:
    """
    Whether, in all cases, the combination is associative and commutative, and the initial tuple is neutral.

    With positions: for tuples of distinct positions; the initial tuple precedes all.
    """
    if positioned and choice.condition(last) is None:
        return False
    question = ("lawful", choice.facts, positioned, last, tuple(may_be_nan))
    return _decided(question, lambda: _holds(choice, positioned, last, may_be_nan))


def _holds(choice: Choice, positioned: bool, last: int, may_be_nan: Sequence[bool]) -> bool:
    """`is_lawful` by trying all cases."""
    model = _Model(choice, positioned, last)
    signs = len(choice.elements) == 1
    domains = [_cases(x.type, signs=signs) for x in choice.accumulators]
    initial = [_cases(x.type, nan, signs) for x, nan in zip(choice.accumulators, may_be_nan, strict=True)]
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


def _leads(choice: Choice, output: int, best: Operation) -> bool:
    """Whether, of two elements in order, the choice is the first one where it is the best of both, else the second."""
    return _decided(("leads", choice.facts, output, type(best)), lambda: _follows(choice, output, best))


def _follows(choice: Choice, output: int, best: Operation) -> bool:
    """`_leads` by trying all cases."""
    model = _Model(choice, positioned=False, last=output)
    values = _cases(choice.elements[output].type)
    tuples = [[values if k == output else np.array([at]) for k in range(len(choice.elements))] for at in (0, 1)]
    a, b = _grid([[*tuples[0], np.array([0])], [*tuples[1], np.array([1])]])
    chosen = model.combine(a, b)
    first = _alike(_function_of(best)(a[output], b[output]), a[output])
    return all(_equal(chosen[k], np.where(first, a[k], b[k])) for k in range(len(choice.elements)))

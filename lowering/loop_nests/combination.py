"""
Combination of partial results: splits a reduction's body into computing an element and combining two.

The body of a reduction accumulates an element: `acc' = f(acc, inputs)`. To combine partial results of several threads
or lanes, f must be `g(acc, e(inputs))` with an associative g. This holds by construction if each output has a known
operation of its own. Bodies that choose between tuples by comparing them, as argmax does, are checked exhaustively
(choices.py).

Elements are distributed over threads or lanes cyclically, so that g must be commutative as well. If it is not (of two
NaN, argmax takes the first), partial results carry the position of the chosen element and are combined in the order of
positions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, IntegerType, i32
from xdsl.dialects.linalg.ops import YieldOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...dialects.support.creation import append
from ...dialects.support.editing import clone_op
from .choices import Leader, choice_of, is_lawful, leader_of
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
    leader: Leader | None = None
    """The output that decides alone, if the others are the place of the chosen element."""

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

    def follow(self, builder: LoopBuilder, lhs: Values, rhs: Values) -> list[SSAValue]:
        """Combine partial results without positions; all elements of `lhs` come before those of `rhs`."""
        if not self.positioned:
            return self.combine(builder, lhs, rhs)
        first, second = (builder.scalar(IntegerAttr(place, i32)) for place in (0, 1))
        return self.combine(builder, [*lhs, first], [*rhs, second], in_order=True)[:-1]

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


@dataclass(frozen=True)
class Parts:
    """
    The independent reductions among the outputs of one, each with its combination: siblings that were fused.

    Partial results have one value per output, in the outputs' order, and are combined in the elements' order.
    """

    groups: tuple[tuple[int, ...], ...]
    combinations: tuple[Combination, ...]

    def of(self, part: int, values: Values) -> list[SSAValue]:
        """The values of the outputs of one part."""
        return [values[k] for k in self.groups[part]]

    def gathered(self, parts: Sequence[Values]) -> list[SSAValue]:
        """The values of all outputs from those of each part."""
        found: dict[int, SSAValue] = {}
        for group, values in zip(self.groups, parts, strict=True):
            found.update(zip(group, values, strict=True))
        return [found[k] for k in sorted(found)]

    def neutral(self, builder: LoopBuilder) -> list[SSAValue]:
        return self.gathered([each.neutral(builder)[: len(each.types)] for each in self.combinations])

    def follow(self, builder: LoopBuilder, lhs: Values, rhs: Values) -> list[SSAValue]:
        """All elements of `lhs` come before those of `rhs`."""
        parts = enumerate(self.combinations)
        return self.gathered([each.follow(builder, self.of(p, lhs), self.of(p, rhs)) for p, each in parts])

    def started(self, builder: LoopBuilder, values: Values) -> list[SSAValue]:
        """The final results."""
        parts = enumerate(self.combinations)
        return self.gathered([each.started(builder, self.of(p, values)) for p, each in parts])


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
    chosen = choice_of(nest)
    if chosen is None or any(init is None for init in inits):
        return None
    may_be_nan = tuple(not _is_number(init) for init in inits)
    for positioned, last in ((False, 0), *((True, k) for k in reversed(range(len(types))))):
        if is_lawful(chosen, positioned, last, may_be_nan):
            block = chosen.block(types, last if positioned else None)
            apart = _element_nest(nest, set(chosen.dependent), chosen.elements)
            leader = leader_of(chosen, nest)
            return apart, Combination(types, tuple(inits), block=block, positioned=positioned, leader=leader)
    return None


def separated(nest: Nest, inits: Sequence[SSAValue | None]) -> tuple[Nest, Parts] | None:
    """
    The nest of a reduction with a body that yields only the elements, and the independent parts of the reduction.

    None if an operation is not known to be associative, or a result starts from the buffer's contents.
    """
    if nest.body is None or any(init is None for init in inits):
        return None
    groups = tuple(independent_outputs(nest))
    found = [taken_apart(restricted(nest, group), [inits[k] for k in group]) for group in groups]
    parts = [part for part in found if part is not None]
    if len(parts) < len(groups):
        return None
    if len(groups) == 1:  # as of most reductions
        ((part, combination),) = parts
        return part, Parts(groups, (combination,))
    body = Block(arg_types=[argument.type for argument in nest.body.args])
    elements: dict[int, SSAValue] = {}
    for group, (part, _) in zip(groups, parts, strict=True):
        assert part.body is not None and part.body.last_op is not None
        mapping: dict[SSAValue, SSAValue] = dict(zip(part.body.args, body.args, strict=False))
        _copy_into(body, [op for op in part.body.ops if op is not part.body.last_op], mapping)
        elements.update(zip(group, [mapping.get(x, x) for x in part.body.last_op.operands], strict=True))
    body.add_op(YieldOp(*(elements[k] for k in sorted(elements))))
    return replace(nest, body=body), Parts(groups, tuple(combination for _, combination in parts))


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
    _copy_into(body, [op for op in old.ops if any(result in needed for result in op.results)], mapping)
    body.add_op(YieldOp(*(mapping.get(value, value) for value in results)))
    return replace(nest, outputs=tuple(nest.outputs[k] for k in outputs), body=body)


def _element_nest(nest: Nest, combining: set[Operation], elements: Sequence[SSAValue]) -> Nest:
    """The nest with a body that computes the elements, without the combining operations."""
    assert nest.body is not None
    body = Block(arg_types=[argument.type for argument in nest.body.args])
    mapping: dict[SSAValue, SSAValue] = dict(zip(nest.body.args, body.args, strict=True))
    _copy_into(body, [op for op in nest.body.ops if op not in combining and op is not nest.body.last_op], mapping)
    body.add_op(YieldOp(*(mapping.get(value, value) for value in elements)))
    return replace(nest, body=body)


def _copy_into(body: Block, ops: Sequence[Operation], mapping: dict[SSAValue, SSAValue]) -> None:
    """Append copies of operations to a block, with their locations; their results join the mapping."""
    for op in ops:
        append(body, clone_op(op, mapping))


def _is_number(init: SSAValue | None) -> bool:
    """Whether a value is known not to be NaN."""
    if init is None or isinstance(init.type, IntegerType):
        return True
    owner = init.owner
    if not isinstance(owner, arith.ConstantOp) or not isinstance(owner.value, FloatAttr):
        return False
    return not math.isnan(owner.value.value.data)

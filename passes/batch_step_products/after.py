"""Products and sums that a loop adds up step by step, as one product or sum after it over what the steps stack."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.traits import is_side_effect_free

from ...dialects.support.editing import erase_op
from ...dialects.support.rewriting import like
from ...hlo_dialect.attributes import DotDimensionNumbersAttr
from ...hlo_dialect.expressions.tensor import Builder, Tensor
from ...hlo_dialect.loops import Loop
from ...hlo_dialect.op import replace_op
from ...hlo_dialect.ops.contraction import DotGeneralOp
from ...hlo_dialect.ops.control_flow import WhileOp
from ...hlo_dialect.ops.creation import is_splat_of
from ...hlo_dialect.ops.dynamic import DynamicUpdateSliceOp
from ...hlo_dialect.ops.elementwise_binary import AddOp
from ...hlo_dialect.ops.movement import ReshapeOp, TransposeOp
from ...hlo_dialect.ops.reduction import ReduceOp, single_combiner
from ...hlo_dialect.types import (
    bit_width,
    element_of,
    is_float,
    is_integer,
    is_unsigned,
    make_tensor,
    shape_of,
    tensor_type,
)
from ..simplify_hlo.control_flow import carried_for_nothing
from .before import MOST_BYTES, step_slice

LARGER = 8
"""How often a sum is as large as what a step stacks for it where one product is faster: few rows in each step."""

Kernel: TypeAlias = DotGeneralOp | ReduceOp


@dataclass(frozen=True)
class Term:
    """A product or a sum that a step adds, moved by reshapes and transposes."""

    kernel: Kernel
    movers: tuple[ReshapeOp | TransposeOp, ...]
    """From the kernel's result on."""

    @property
    def parts(self) -> Sequence[SSAValue]:
        """The values of the step that it is computed from."""
        return self.kernel.operands if isinstance(self.kernel, DotGeneralOp) else self.kernel.inputs


@dataclass(frozen=True)
class Sum:
    """A carried value that begins as its operand, and that every step adds terms to."""

    position: int
    terms: tuple[Term, ...]


@dataclass
class Stacks:
    """The arrays whose slices are the steps' values, in order of `index`."""

    index: SSAValue
    """An integer of the body that takes each place once, after the subtraction of `first`."""
    first: int
    inputs: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """Arrays from outside, by the values of the body that are their slices."""
    positions: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    """Carried arrays, by the values of the body that become their slices."""
    new: dict[SSAValue, None] = field(default_factory=dict[SSAValue, None])
    """Values of the body to be stacked."""

    def missing(self, a_sum: Sum) -> dict[SSAValue, None]:
        """The values of a sum that are not stacked yet."""
        parts = (part for term in a_sum.terms for part in term.parts)
        return {part: None for part in parts if not (part in self.inputs or part in self.positions or part in self.new)}


def sum_after(loop: Loop) -> tuple[Loop, list[LocationAttr]] | None:
    """
    Add up after the loop what it adds up in every step, where its sums are much larger than what it stacks for that.

    Returns the loop that takes its place, and the locations of what it added up.
    """
    steps = loop.trip_count
    if steps is None or steps < 2:
        return None
    sums = [found for position in range(len(loop.returned)) if (found := _sum(loop, position)) is not None]
    if not sums:
        return None
    stacks = _stacks(loop, sums)
    if stacks is None:
        return None
    chosen: list[Sum] = []
    # A value that is stacked for a large sum is there for the small ones.
    for each in sorted(sums, key=lambda each: -_bytes(loop.returned[each.position])):
        missing = stacks.missing(each)
        size = sum(map(_bytes, missing))
        whole = steps * (size + sum(map(_bytes, stacks.new)))
        if LARGER * size <= _bytes(loop.returned[each.position]) and whole <= MOST_BYTES:
            stacks.new.update(missing)
            chosen.append(each)
    return _replace(loop, stacks, sorted(chosen, key=lambda each: each.position)) if chosen else None


def _bytes(value: SSAValue) -> int:
    return math.prod(shape_of(value)) * bit_width(element_of(value)) // 8


def _sum(loop: Loop, position: int) -> Sum | None:
    """The carried value, if steps do nothing with it but add products and sums of theirs."""
    argument, element = loop.body.args[position], element_of(loop.body.args[position])
    # Narrow floats are rounded after each step.
    exact = (is_float(element) or is_integer(element)) and bit_width(element) >= 32
    if not exact or not argument.has_one_use() or loop.cond.args[position].first_use is not None:
        return None
    found, terms = False, list[Term]()
    pending = [loop.returned[position]]
    while pending:
        value = pending.pop()
        if value is argument:
            found = True
        elif isinstance(value.owner, AddOp) and value.owner.parent is loop.body and value.has_one_use():
            pending += [value.owner.rhs, value.owner.lhs]
        elif not is_splat_of(value, 0):
            term = _term(value, loop)
            if term is None:
                return None
            terms.append(term)
    return Sum(position, tuple(terms)) if found and terms else None


def _term(value: SSAValue, loop: Loop) -> Term | None:
    movers: list[ReshapeOp | TransposeOp] = []
    while isinstance(value.owner, (ReshapeOp, TransposeOp)) and value.has_one_use():
        movers.insert(0, value.owner)
        value = value.owner.operand
    kernel = value.owner
    if not isinstance(kernel, (DotGeneralOp, ReduceOp)) or kernel.parent is not loop.body or not value.has_one_use():
        return None
    if isinstance(kernel, DotGeneralOp):
        suits = kernel.algorithm is None
    else:
        suits = kernel.input_count == 1 and isinstance(single_combiner(kernel.body), AddOp)
        suits = suits and is_splat_of(kernel.init_values[0], 0)
    term = Term(kernel, tuple(movers))
    return term if suits and not any(loop.is_outside(part) for part in term.parts) else None


def _stacks(loop: Loop, sums: Sequence[Sum]) -> Stacks | None:
    """The arrays that the loop reads and writes step by step, in one order of all steps; None if there is no order."""
    steps = loop.trip_count
    if steps is None:
        return None
    reads = {part: step_slice(part)[0] for each in sums for term in each.terms for part in term.parts}
    slices = {part: read for part, read in reads.items() if read is not None and loop.is_outside(read.operand)}
    writes = {position: op for position in range(len(loop.returned)) if (op := _write(loop, position)) is not None}
    places = {
        op.start_indices[0]: loop.step_places(op) for op in (*slices.values(), *writes.values()) if op.start_indices
    }
    places |= {argument: loop.places(argument) for argument in loop.body.args}
    in_order = {
        at: found
        for at, found in places.items()
        if found and len(found) == steps and abs(found.step) == 1 and _holds(element_of(at), steps - 1)
    }
    index = min(in_order, key=lambda at: min(in_order[at]) != 0, default=None)
    if index is None:
        return None
    stacks = Stacks(index, min(in_order[index]))
    for part, read in slices.items():
        if shape_of(read.operand)[:1] == (steps,) and loop.step_places(read) == in_order[index]:
            stacks.inputs[part] = read.operand
    for position, write in writes.items():
        source = write.update.owner
        whole = shape_of(write.operand)[:1] == (steps,) and loop.step_places(write) == in_order[index]
        if whole and isinstance(source, ReshapeOp) and shape_of(write.update) == (1, *shape_of(source.operand)):
            stacks.positions.setdefault(source.operand, position)
    return stacks


def _holds(element: Attribute, number: int) -> bool:
    """Whether a positive number is one of the integer type."""
    return number < 1 << bit_width(element) - (not is_unsigned(element))


def _write(loop: Loop, position: int) -> DynamicUpdateSliceOp | None:
    """The operation by which the body changes a carried array in place."""
    op = loop.returned[position].owner
    return op if isinstance(op, DynamicUpdateSliceOp) and op.operand is loop.body.args[position] else None


def _replace(loop: Loop, stacks: Stacks, sums: Sequence[Sum]) -> tuple[Loop, list[LocationAttr]]:
    """Replace the loop by one that makes the stacks instead of the sums, and the sums by those of the stacks."""
    op = loop.op
    operands = [*op.operands, *_carry(loop, stacks)]
    new = like(op, operands, [value.type for value in operands])
    block = op.parent
    assert block is not None
    block.insert_op_before(new, op)
    b = Builder.before(op)
    arrays = stacks.inputs | {part: new.results[position] for part, position in stacks.positions.items()}
    locations = [term.kernel.location for each in sums for term in each.terms]
    totals = {each.position: _total(b, each, arrays, new.operands[each.position]) for each in sums}
    replace_op(op, (), [totals.get(i, value) for i, value in enumerate(new.results[: len(op.results)])])
    for each in sums:
        _forget(Loop(new), each)
    rewrite = carried_for_nothing(new)
    assert rewrite is not None and rewrite.values is not None, "the sums are not carried any more"
    (smaller,) = rewrite.new_ops
    assert isinstance(smaller, WhileOp)
    replace_op(new, rewrite.new_ops, rewrite.values)
    return Loop(smaller), locations


def _carry(loop: Loop, stacks: Stacks) -> list[SSAValue]:
    """Let the body write the new stacks; returns what they begin as."""
    last = loop.body.last_op
    assert last is not None
    before, inside = Builder.before(loop.op), Builder.before(last)
    index = inside.tensors([stacks.index])[0]
    if stacks.first:
        index = index - stacks.first
    inits: list[SSAValue] = []
    for value in stacks.new:
        sizes = (len(loop.places(stacks.index) or ()), *shape_of(value))
        init = before.splat(0, make_tensor(sizes, element_of(value)))
        inits.append(init.value)
        stacks.positions[value] = len(last.operands)
        loop.cond.insert_arg(init.type, len(loop.cond.args))
        stack = inside.tensors([loop.body.insert_arg(init.type, len(loop.body.args))])[0]
        update = inside.tensors([value])[0].reshape((1, *sizes[1:]))
        starts = [index, *[inside.splat(0, index.type)] * (len(sizes) - 1)]
        last.operands = [*last.operands, stack.dynamic_update_slice(update, starts).value]
    return inits


def _forget(loop: Loop, a_sum: Sum) -> None:
    """Return the sum as it came, and erase what is dead then."""
    last = loop.body.last_op
    assert last is not None
    pending: list[object] = [last.operands[a_sum.position].owner]
    last.operands[a_sum.position] = loop.body.args[a_sum.position]
    while pending:
        op = pending.pop()
        if not isinstance(op, Operation) or op.parent is not loop.body or not is_side_effect_free(op):
            continue
        if all(result.first_use is None for result in op.results):
            pending += [value.owner for value in op.operands]
            erase_op(op)


def _total(b: Builder, a_sum: Sum, arrays: Mapping[SSAValue, SSAValue], init: SSAValue) -> SSAValue:
    """The sum over all steps of what each adds to a carried value that begins as `init`."""
    total = None if is_splat_of(init, 0) else b.tensors([init])[0]
    for term in a_sum.terms:
        b.location = term.kernel.location
        added = _at_once(term, b.tensors([arrays[part] for part in term.parts]))
        total = added if total is None else total + added
    assert total is not None, "a sum has terms"
    return total.value


def _at_once(term: Term, arrays: Sequence[Tensor]) -> Tensor:
    """The sum over all steps of a term, from the stacks of its parts."""
    kernel = term.kernel
    # A slice may have kept its first dimension.
    stacks = [each.reshape((each.shape[0], *shape_of(part))) for each, part in zip(arrays, term.parts, strict=True)]
    if isinstance(kernel, DotGeneralOp):
        result = _product(kernel, *stacks)
    else:
        (init,) = kernel.init_values
        zero = stacks[0].builder.splat(0, tensor_type(init))
        result = stacks[0].reduce(AddOp, zero, (0, *(dim + 1 for dim in kernel.dims)))
    for mover in term.movers:
        if isinstance(mover, TransposeOp):
            result = result.transpose(mover.permutation.get_values())
        else:
            result = result.reshape(shape_of(mover.result))
    return result


def _product(dot: DotGeneralOp, lhs: Tensor, rhs: Tensor) -> Tensor:
    """The product that sums over the steps too."""
    numbers = dot.dot_dimension_numbers
    sides = (numbers.lhs_contracting, numbers.rhs_contracting)
    stated: dict[str, Attribute] = {}
    if dot.precision_config is not None:
        stated["precision_config"] = dot.precision_config
    if sides[0] == sides[1] == tuple(range(len(sides[0]))) and not numbers.lhs_batching:
        # One dimension of rows instead of several: steps and what each sums over.
        count = len(sides[0]) + 1
        lhs, rhs = (each.reshape((math.prod(each.shape[:count]), *each.shape[count:])) for each in (lhs, rhs))
        every = DotDimensionNumbersAttr.of(lhs_contracting=(0,), rhs_contracting=(0,))
    else:
        moved = [tuple(dim + 1 for dim in dims) for dims in (numbers.lhs_batching, numbers.rhs_batching, *sides)]
        every = DotDimensionNumbersAttr.of(moved[0], moved[1], (0, *moved[2]), (0, *moved[3]))
    return lhs.dot(rhs, every, element_of(dot.result), **stated)

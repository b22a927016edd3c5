"""The values that an outlined function captures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeGuard

from xdsl.dialects import arith, memref
from xdsl.ir import Block, Operation, Region, SSAValue

from ...dialects.support.classes import one_of
from ...dialects.support.editing import clone_op, operands_of, set_operand
from ...dialects.support.views import is_view
from ...hlo_dialect.walking import operations_inside

_is_constant = one_of(arith.ConstantOp, memref.GetGlobalOp)


def is_repeated(op: Operation | Block) -> TypeGuard[Operation]:
    """
    Whether the operation is cloned into the body instead of passing its result as a parameter.

    Constants fold there; a view passed together with its buffer would alias memory that the body's parameters declare
    noalias.
    """
    return _is_constant(op) or is_view(op)


@dataclass
class Captures:
    """The values that a parallel body captures: parameters of the outlined function, and operations cloned into it."""

    body: Block
    """The outlined function's block, before it has parameters."""
    repeats: Callable[[Operation | Block], TypeGuard[Operation]] = is_repeated
    """The operations that are cloned into it."""
    repeated: list[Operation] = field(default_factory=list[Operation])
    values: list[SSAValue] = field(default_factory=list[SSAValue])
    mapping: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])

    def inside(self, value: SSAValue) -> SSAValue:
        """The value in the body that replaces `value` from outside."""
        found = self.mapping.get(value)
        if found is not None:
            return found
        owner = value.owner
        if self.repeats(owner):
            for operand in operands_of(owner):
                self.inside(operand)
            copy = clone_op(owner, self.mapping)
            copy.location = owner.location
            self.repeated.append(copy)
            self.mapping.update(zip(owner.results, copy.results, strict=True))
            return self.mapping[value]
        argument = self.body.insert_arg(value.type, len(self.values))
        argument.name_hint = value.name_hint
        self.values.append(value)
        self.mapping[value] = argument
        return argument


def capture(region: Region, captures: Captures, inside: set[SSAValue]) -> None:
    """Let a region that moves into another function use values of that function; `inside`: those it has already."""
    ops = operations_inside(region)
    for inner in ops:
        inside.update(inner.results)
        for nested in inner.regions:
            inside.update(argument for block in nested.blocks for argument in block.args)
    for inner in ops:
        for index, operand in enumerate(operands_of(inner)):
            if operand not in inside:
                set_operand(inner, index, captures.inside(operand))

"""Where values are defined, for the notes of the verifier's errors."""

from __future__ import annotations

import re

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from ..diagnostics import Diagnostic, file_location

_MOST_NOTES = 3
"""The most operands that are described where the message names none of them."""

_NAMED = re.compile(r"\b(?:operand|input) #?([0-9]+)\b")


def definition_of(value: SSAValue) -> tuple[Operation | None, LocationAttr] | None:
    """The operation that defines a value, or whose region's argument it is, and the place; None for neither."""
    match value:
        case OpResult():
            return value.op, value.op.location
        case BlockArgument():
            return value.block.parent_op(), value.location
        case _:
            return None


def operand_notes(op: Operation, message: str) -> tuple[Diagnostic, ...]:
    """
    Notes with the type of each operand that an error is about, where it is defined: of the one that the message names,
    or of all if they are few.
    """
    named = [int(index) for index in _NAMED.findall(message) if int(index) < len(op.operands)]
    values = dict.fromkeys(op.operands[index] for index in named) if named else dict.fromkeys(op.operands)
    if len(values) > _MOST_NOTES:
        return ()
    notes: list[Diagnostic] = []
    for value in values:
        definition = definition_of(value)
        if definition is None or file_location(definition[1]) is None:
            continue
        name = f"'%{value.name_hint}'" if value.name_hint else f"operand #{op.operands.index(value)}"
        text = f"{name} is defined here, with type {value.type}"
        notes.append(Diagnostic("note", text, definition[1], optional=True))
    return tuple(notes)

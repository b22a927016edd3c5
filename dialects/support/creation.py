"""
Making operations: `create_op`, `append`, and `append_new`, which is both at once.

They set the fields of xDSL's operations and uses themselves. xDSL's constructor goes through setters that first undo
what was there, and takes three times as long; a compilation makes thousands of operations.
"""

# pyright: reportPrivateUsage=false
from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from functools import cache
from typing import TypeVar

from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue, Use
from xdsl.ir.core import OpResult, SSAValues
from xdsl.irdl import AttributeDef, IRDLOperation, OptionalDef, PropertyDef

OpT = TypeVar("OpT", bound=Operation)

_Defaults = tuple[tuple[str, Attribute], ...]

_new = object.__new__

_NONE: Mapping[str, Attribute] = {}

NO_VALUES: SSAValues[OpResult] = SSAValues()
"""Shared by the operations that have no results."""

_ALL_DEFAULTS: dict[type[Operation], tuple[_Defaults, _Defaults]] = {}
"""The properties and attributes of operations where none are stated."""


@cache
def default_properties(cls: type[Operation]) -> _Defaults:
    """The properties that an operation has where none are stated."""
    return _defaults(cls.get_irdl_definition().properties) if issubclass(cls, IRDLOperation) else ()


@cache
def _default_attributes(cls: type[Operation]) -> _Defaults:
    """The attributes that an operation has where none are stated."""
    return _defaults(cls.get_irdl_definition().attributes) if issubclass(cls, IRDLOperation) else ()


def _defaults(definitions: Mapping[str, AttributeDef] | Mapping[str, PropertyDef]) -> _Defaults:
    return tuple(
        (name, stated.default_value)
        for name, stated in definitions.items()
        if not isinstance(stated, OptionalDef) and stated.default_value is not None
    )


def create_op(
    cls: type[OpT],
    *,
    operands: Sequence[SSAValue] = (),
    result_types: Sequence[Attribute] = (),
    properties: Mapping[str, Attribute] = _NONE,
    attributes: Mapping[str, Attribute] = _NONE,
    location: LocationAttr | None = None,
    successors: Sequence[Block] = (),
    regions: Sequence[Region] = (),
) -> OpT:
    """Build an operation from its parts, as `Operation.create` does, in a third of its time."""
    # The functions that others call for this are written out here: a call takes as long as two of these steps.
    op = _new(cls)
    if operands:
        op._operands = SSAValues(operands)
        op._operand_uses = _uses(op, operands)
    if len(result_types) == 1:
        result = _new(OpResult)
        result.first_use = result._name = None
        result._type = result_types[0]
        result.op = op
        result.index = 0
        op.results = SSAValues((result,))
    elif result_types:
        op.results = SSAValues([_result(op, type_, index) for index, type_ in enumerate(result_types)])
    op.properties, op.attributes = {**properties}, {**attributes}
    defaults = _ALL_DEFAULTS.get(cls) or _defaults_of(cls)
    for name, default in defaults[0]:
        op.properties.setdefault(name, default)
    for name, default in defaults[1]:
        op.attributes.setdefault(name, default)
    op.location = UNKNOWN_LOC if location is None else location
    if successors:
        _set_successors(op, successors)
    for region in regions:
        op.add_region(region)
    return op


def new_block(types: Iterable[Attribute] = ()) -> Block:
    """A block with arguments of these types, as the constructor of `Block` makes it."""
    block = _new(Block)
    block._first_op = block._last_op = None
    arguments: list[BlockArgument] = []
    for type_ in types:
        argument = _new(BlockArgument)
        argument.first_use = argument._name = None
        argument._type = type_
        argument.block = block
        argument.index = len(arguments)
        argument.location = UNKNOWN_LOC
        arguments.append(argument)
    block._args = tuple(arguments)
    return block


def append(block: Block, op: Operation) -> None:
    """
    Add a new operation at the end of a block, as `Block.add_op` does; one without regions holds no block, so that there
    is nothing to search for circles.
    """
    if op.regions or op.parent is not None:
        block.add_op(op)
        return
    last = block._last_op
    op.parent = block
    op._prev_op = last
    if last is None:
        block._first_op = op
    else:
        last._next_op = op
    block._last_op = op


def append_new(
    block: Block,
    cls: type[Operation],
    operands: Sequence[SSAValue],
    type_: Attribute,
    properties: Mapping[str, Attribute] = _NONE,
    location: LocationAttr | None = None,
    attributes: Mapping[str, Attribute] = _NONE,
) -> OpResult:
    """The only result of a new operation without regions, at the end of a block."""
    op = create_op(
        cls,
        operands=operands,
        result_types=(type_,),
        properties=properties,
        attributes=attributes,
        location=location,
    )
    append(block, op)
    return op.results[0]


def blank_copy(op: OpT, values: MutableMapping[SSAValue, SSAValue], successors: Sequence[Block] = ()) -> OpT:
    """A copy of an operation without operands and regions; `values` receives the copies of its results."""
    copy = _new(type(op))
    if op.results:
        copy.results = SSAValues([_result(copy, result._type, result.index) for result in op.results])
        for old, new in zip(op.results, copy.results, strict=True):
            values[old] = new
            if old._name is not None:
                new.name_hint = old._name
    copy.properties, copy.attributes = op.properties.copy(), op.attributes.copy()
    copy.location = op.location
    if successors:
        _set_successors(copy, successors)
    return copy


def give_operands(op: Operation, operands: Sequence[SSAValue]) -> None:
    """Give a new operation its operands."""
    op._operands = SSAValues(operands)
    op._operand_uses = _uses(op, operands)


def _set_successors(op: Operation, successors: Sequence[Block]) -> None:
    """Give a new operation its successors."""
    op._successors = tuple(successors)
    op._successor_uses = _uses(op, successors)


def _uses(op: Operation, used: Sequence[SSAValue] | Sequence[Block]) -> tuple[Use, ...]:
    """The uses of values or blocks by an operation, in their order."""
    uses: list[Use] = []
    for value in used:
        # The fields are set here: a call of the constructor takes as long as all else.
        use = _new(Use)
        use._operation = op
        use._index = len(uses)
        use._prev_use = None
        use._next_use = following = value.first_use
        value.first_use = use
        if following is not None:
            following._prev_use = use
        uses.append(use)
    return tuple(uses)


def _result(op: Operation, type_: Attribute, index: int) -> OpResult:
    result = _new(OpResult)
    result.first_use = result._name = None
    result._type = type_
    result.op = op
    result.index = index
    return result


def _defaults_of(cls: type[Operation]) -> tuple[_Defaults, _Defaults]:
    defaults = _ALL_DEFAULTS[cls] = (default_properties(cls), _default_attributes(cls))
    return defaults

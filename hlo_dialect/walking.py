"""The operations inside of one and the blocks of a region, in order; faster than xDSL's nested generators."""

# pyright: reportPrivateUsage=false
# Follows the links of operations and blocks: each pass walks the module, and a property costs as much as the step.
from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar, cast

from xdsl.dialects.builtin import DenseArrayBase
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

T = TypeVar("T")


class TypeFact(Generic[T]):
    """
    A fact about a type, remembered for each object: a module has few, and asks about each of them after every pass.

    >>> from xdsl.dialects.builtin import i32
    >>> width = TypeFact(lambda type_: type_.width.data)
    >>> width(i32), width(i32)
    (32, 32)
    """

    LIMIT = 4096
    """The objects that are remembered, and kept so that their identity is theirs."""

    def __init__(self, find: Callable[[Attribute], T]):
        self._find = find
        self._known: dict[int, tuple[Attribute, T]] = {}

    def __call__(self, type_: Attribute) -> T:
        known = self._known.get(id(type_))
        if known is None:
            if len(self._known) >= self.LIMIT:
                self._known.clear()
            known = self._known[id(type_)] = (type_, self._find(type_))
        return known[1]


@TypeFact
def int_values(array: Attribute) -> tuple[int, ...]:
    """The integers of a dense array attribute."""
    return tuple(int(value) for value in cast("DenseArrayBase[Any]", array).get_values())


def operand_groups(op: Operation) -> list[Sequence[SSAValue]]:
    """
    The operands of an operation in the groups of its definition, by its property `operandSegmentSizes`.

    xDSL's accessor of each group reads the property again, which takes as long as creating an operation.
    """
    operands, groups, start = op._operands, list[Sequence[SSAValue]](), 0
    for size in int_values(op.properties["operandSegmentSizes"]):
        groups.append(operands[start : start + size])
        start += size
    return groups


def operations_in(op: Operation) -> list[Operation]:
    """The operation and all inside of it, in the order of `walk`. The list does not change with the module."""
    found = [op]
    for region in op.regions:
        _collect_region(region, found)
    return found


def values_read(op: Operation) -> list[SSAValue]:
    """The operands of an operation and of all operations in its regions."""
    if not op.regions:
        return list(op._operands)
    return [value for inner in operations_in(op) for value in inner._operands]


def reads_its_own(block: Block) -> bool:
    """Whether operations of a block, but not those inside of them, read only its arguments and their own results."""
    own = {*block.args, *(value for op in block.ops for value in op.results)}
    return all(value in own for op in block.ops for value in op.operands)


def operations_of(block: Block) -> list[Operation]:
    """The operations of a block, without those inside of them. The list does not change with the block."""
    found: list[Operation] = []
    op = block._first_op
    while op is not None:
        found.append(op)
        op = op._next_op
    return found


def operations_inside(region: Region) -> list[Operation]:
    """The operations of a region and all inside of them, in the order of `walk`."""
    found: list[Operation] = []
    _collect_region(region, found)
    return found


def _collect_region(region: Region, found: list[Operation]) -> None:
    # xDSL's properties for these fields are calls, which take most of the time.
    block = region._first_block
    while block is not None:
        inner = block._first_op
        while inner is not None:
            found.append(inner)
            if inner.regions:
                for nested in inner.regions:
                    _collect_region(nested, found)
            inner = inner._next_op
        block = block._next_block


@dataclass(frozen=True)
class Survey:
    """The operations inside of an operation and their types, found in one walk; later changes do not show in it."""

    ops: list[Operation]
    """The operation and all inside of it, as `operations_in` has them."""

    @classmethod
    def of(cls, op: Operation) -> Survey:
        return cls(operations_in(op))

    @cached_property
    def types(self) -> list[Attribute]:
        """The types of their results and of the arguments of their blocks, each object once."""
        return distinct_types(self.ops)


def distinct_types(ops: Sequence[Operation]) -> list[Attribute]:
    """The types of the results of operations and of the arguments of their blocks, each object once."""
    found = {id(result._type): result._type for op in ops for result in op.results}
    for op in ops:
        for region in op.regions:
            block = region._first_block
            while block is not None:
                for argument in block._args:
                    type_ = argument._type
                    found[id(type_)] = type_
                block = block._next_block
    return list(found.values())


def types_at(op: Operation) -> list[Attribute]:
    """The types of an operation's results and of the arguments of its blocks."""
    found = [result._type for result in op.results]
    for region in op.regions:
        block = region._first_block
        while block is not None:
            found += [argument._type for argument in block._args]
            block = block._next_block
    return found


def successors(block: Block) -> list[Block]:
    """The blocks of the same region that a block branches to."""
    last = block.last_op
    return [] if last is None else [following for following in last.successors if following.parent is block.parent]


def reverse_postorder(region: Region) -> list[Block]:
    """The blocks that the entry reaches, each after its predecessors except for the ends of loops."""
    found: list[Block] = []
    entry = region.blocks[0]
    seen = {entry}
    stack = [(entry, reversed(successors(entry)))]
    while stack:
        block, rest = stack[-1]
        following = next(rest, None)
        if following is None:
            stack.pop()
            found.append(block)
        elif following not in seen:
            seen.add(following)
            stack.append((following, reversed(successors(following))))
    return found[::-1]


def structure(region: Region, number: Callable[[Attribute], Hashable]) -> Hashable:
    """
    A key that is equal for regions that compute the same: operations, attributes, types and data flow.

    `number`: that of an attribute (`AttributeNumbers`) or its text, the same for all regions that are compared.
    """
    numbers: dict[SSAValue, int] = {}

    def describe(inner: Region) -> Hashable:
        blocks: list[Hashable] = []
        for block in inner.blocks:
            for argument in block.args:
                numbers[argument] = len(numbers)
            ops: list[Hashable] = []
            for op in block.ops:
                operands = tuple([numbers[operand] for operand in op._operands])
                types = tuple([number(result.type) for result in op.results])
                nested = tuple(describe(r) for r in op.regions)
                for result in op.results:
                    numbers[result] = len(numbers)
                properties = tuple([(name, number(op.properties[name])) for name in sorted(op.properties)])
                attributes = tuple([(name, number(op.attributes[name])) for name in sorted(op.attributes)])
                ops.append((op.name, operands, types, properties, attributes, nested))
            blocks.append((tuple([number(argument.type) for argument in block.args]), tuple(ops)))
        return tuple(blocks)

    return describe(region)

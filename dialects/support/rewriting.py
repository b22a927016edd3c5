"""Rewriting in place: copies of operations, types of values, and deferred erasure of replaced operations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue

from .creation import create_op
from .editing import erase_op

OpT = TypeVar("OpT", bound=Operation)

SHARDINGS = ("sdy.sharding", "mhlo.sharding")
"""Attributes that state how arguments, results and the results of operations are split."""


def set_type(value: SSAValue, type_: Attribute) -> None:
    """Change the type of a value in place; the caller is responsible for its uses."""
    value._type = type_  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]


def set_arguments(block: Block, arguments: Sequence[BlockArgument]) -> None:
    """
    Give a block these arguments, some of which it may have already, all at once: xDSL counts the others again for each
    that is inserted or erased.
    """
    block._args = tuple(arguments)  # pyright: ignore[reportPrivateUsage]
    for index, argument in enumerate(arguments):
        argument.index = index


def add_arguments(block: Block, types: Sequence[Attribute]) -> list[BlockArgument]:
    """New arguments at the end of a block."""
    added = [BlockArgument(type_, block, 0) for type_ in types]
    set_arguments(block, [*block.args, *added])
    return added


def like(
    op: OpT,
    operands: Sequence[SSAValue],
    result_types: Sequence[Attribute],
    properties: Mapping[str, Attribute] | None = None,
    regions: Sequence[Region] | None = None,
) -> OpT:
    """
    The same operation on other operands, with the attributes and location of `op`; it is not in a block yet.

    `properties` replace those of the same names. Unless `regions` are given, the regions of `op` move to it. Results of
    other shapes have no shardings, which name the dimensions that are split.
    """
    attributes = op.attributes
    if any(name in attributes for name in SHARDINGS) and _shapes(result_types) != _shapes(op.result_types):
        attributes = {name: value for name, value in attributes.items() if name not in SHARDINGS}
    return create_op(
        type(op),
        operands=operands,
        result_types=result_types,
        properties={**op.properties, **(properties or {})},
        attributes=attributes,
        regions=[op.detach_region(region) for region in list(op.regions)] if regions is None else regions,
        location=op.location,
    )


def _shapes(types: Sequence[Attribute]) -> list[Attribute | tuple[int, ...]]:
    return [cast("TensorType[Any]", each).get_shape() if isinstance(each, TensorType) else each for each in types]


@dataclass
class Replaced:
    """Operations and block arguments that a rewrite has replaced, in program order."""

    operations: list[Operation] = field(default_factory=list[Operation])
    arguments: list[BlockArgument] = field(default_factory=list[BlockArgument])

    def erase(self) -> None:
        """Erase them all, users before definitions. Call last: until then the rewrite may inspect them."""
        for op in reversed(self.operations):
            erase_op(op)
        gone = set(self.arguments)
        for block in dict.fromkeys(argument.block for argument in self.arguments):
            set_arguments(block, [argument for argument in block.args if argument not in gone])
        for argument in self.arguments:
            argument.erase()

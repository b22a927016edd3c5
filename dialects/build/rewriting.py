"""Rewriting in place: operations like others, types of values, and replaced operations that are erased at the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from xdsl.ir import Attribute, BlockArgument, Operation, Region, SSAValue

OpT = TypeVar("OpT", bound=Operation)


def set_type(value: SSAValue, type_: Attribute) -> None:
    """Change the type of a value where it is; its uses are the caller's responsibility."""
    value._type = type_  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]


def like(
    op: OpT,
    operands: Sequence[SSAValue],
    result_types: Sequence[Attribute],
    properties: Mapping[str, Attribute] | None = None,
    regions: Sequence[Region] | None = None,
) -> OpT:
    """
    The same operation on other operands, with the attributes and location of `op`; it is not in a block yet.

    `properties` replace those of the same names. Unless `regions` are given it takes the regions of `op` away.
    """
    return type(op).create(
        operands=operands,
        result_types=result_types,
        properties={**op.properties, **(properties or {})},
        attributes=op.attributes,
        regions=[op.detach_region(region) for region in list(op.regions)] if regions is None else regions,
        location=op.location,
    )


@dataclass
class Replaced:
    """Operations and block arguments that a rewrite has replaced, in the order in which it came to them."""

    operations: list[Operation] = field(default_factory=list[Operation])
    arguments: list[BlockArgument] = field(default_factory=list[BlockArgument])

    def erase(self) -> None:
        """Erase them all, users before what they use. Call last: until then the rewrite may look at them."""
        for op in reversed(self.operations):
            op.detach()
            op.erase()
        for argument in reversed(self.arguments):
            argument.block.erase_arg(argument)

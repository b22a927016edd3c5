"""Operations that this process has found to verify: most of another program, or of an earlier level, are like these."""

# pyright: reportPrivateUsage=false
from __future__ import annotations

from typing import cast

from xdsl.ir import Attribute, Operation, SSAValue

_MOST = 8192

GOOD: dict[tuple[object, ...], tuple[Attribute, ...]] = {}
"""
Attributes by the facts of an operation that verifies (`facts_of`), which name these attributes by identity: they are
kept, so that the identity is theirs.
"""


def remember(facts: tuple[object, ...], op: Operation) -> None:
    """Keep that operations with these facts verify."""
    values: list[SSAValue] = [*op._operands, *op.results]
    for block in (block for region in op.regions for block in region.blocks):
        values += (*block._args, *cast(Operation, block._last_op)._operands)
    if len(GOOD) >= _MOST:
        GOOD.clear()
    GOOD[facts] = (*(value._type for value in values), *op.properties.values(), *op.attributes.values())

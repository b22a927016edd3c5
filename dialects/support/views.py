"""Views: operations whose result aliases the memory of their first operand, with another shape, layout or type."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TypeGuard

from xdsl.dialects import memref
from xdsl.ir import Block, Operation, SSAValue, Use
from xdsl.traits import OpTrait

from .classes import one_of

_is_common_view = one_of(
    memref.AssumeAlignmentOp,
    memref.CastOp,
    memref.CollapseShapeOp,
    memref.ExpandShapeOp,
    memref.ExtractStridedMetaDataOp,
    memref.MemorySpaceCastOp,
    memref.ReinterpretCastOp,
    memref.SubviewOp,
    memref.ViewOp,
)


class ViewLike(OpTrait):
    """Declares an operation of another package a view: its first result aliases the memory of its first operand."""


@cache
def _declares_view(cls: type) -> bool:
    return issubclass(cls, Operation) and cls.has_trait(ViewLike, value_if_unregistered=False)


def is_view(op: Operation | Block) -> TypeGuard[Operation]:
    """Whether the first result of `op` aliases the memory of its first operand."""
    return _is_common_view(op) or _declares_view(type(op))


def root_buffer(value: SSAValue) -> SSAValue:
    """The buffer that a memref is a view of, through any number of views: a block argument or an allocation."""
    while is_view(op := value.owner) and op.results[0] is value:
        value = op.operands[0]
    return value


def uses_through_views(buffer: SSAValue) -> Iterator[Use]:
    """The uses of a buffer and of its views, except those that only make another view."""
    pending = [buffer]
    while pending:
        for use in pending.pop().uses:
            if is_view(use.operation) and use.index == 0:
                pending.append(use.operation.results[0])
            else:
                yield use

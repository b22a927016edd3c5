"""
The reshapes of xDSL's tensor dialect, extended to rank 0.

They are subclasses without an IRDL definition of their own, because xDSL cannot define an operation twice.
"""

from __future__ import annotations

from typing import Any, TypeGuard, cast

from xdsl.dialects import tensor
from xdsl.ir import Block, Operation
from xdsl.utils.exceptions import VerifyException


def _is_of_scalar(op: tensor.CollapseShapeOp | tensor.ExpandShapeOp) -> bool:
    """Whether one side has rank 0, checked here: xDSL requires a group for every dimension of the other side."""
    shapes: tuple[tuple[int, ...], ...] = (cast(Any, op.src.type).get_shape(), cast(Any, op.result.type).get_shape())
    if () not in shapes:
        return False
    if len(op.reassociation) or any(size != 1 for shape in shapes for size in shape):
        raise VerifyException("expected no groups and only dimensions of size 1 where one side has rank 0")
    return True


class CollapseShapeOp(tensor.CollapseShapeOp):
    """The same elements with dimensions merged; all are dropped if the result has rank 0."""

    name = "tensor.collapse_shape"

    def verify_(self) -> None:
        if not _is_of_scalar(self):
            super().verify_()


class ExpandShapeOp(tensor.ExpandShapeOp):
    """The same elements with dimensions split; unit dimensions are added if the operand has rank 0."""

    name = "tensor.expand_shape"

    def verify_(self) -> None:
        if not _is_of_scalar(self):
            super().verify_()


OPS = (CollapseShapeOp, ExpandShapeOp)


def is_reshape(op: Operation | Block) -> TypeGuard[CollapseShapeOp | ExpandShapeOp]:
    """Whether `op` makes another form of a tensor, which takes no memory of its own."""
    return isinstance(op, OPS)

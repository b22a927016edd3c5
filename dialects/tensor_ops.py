"""
The reshapes of xDSL's tensor dialect, extended to rank 0, and its slices, whose shapes xDSL does not verify.

They are subclasses without an IRDL definition of their own, because xDSL cannot define an operation twice.
"""

from __future__ import annotations

from typing import Any, TypeGuard, cast

from xdsl.dialects import tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX
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


class ExtractSliceOp(tensor.ExtractSliceOp):
    """A part of a tensor; dimensions of size 1 may be left out."""

    name = "tensor.extract_slice"

    def verify_(self) -> None:
        super().verify_()
        _verify_slice(self, self.source.type, self.result.type)


class InsertSliceOp(tensor.InsertSliceOp):
    """A tensor with a part replaced."""

    name = "tensor.insert_slice"

    def verify_(self) -> None:
        super().verify_()
        if self.result.type != self.dest.type:
            raise VerifyException(f"gives {self.result.type}, not the type of its destination, {self.dest.type}")
        _verify_slice(self, self.dest.type, self.source.type)


def _verify_slice(op: ExtractSliceOp | InsertSliceOp, whole: Any, part: Any) -> None:
    """Numbers for each dimension of the whole, which they do not pass, and a part of that many elements."""
    known = (op.static_offsets, op.static_sizes, op.static_strides)
    offsets, sizes, strides = (numbers.get_values() for numbers in known)
    shape: tuple[int, ...] = whole.get_shape()
    if not len(offsets) == len(sizes) == len(strides) == len(shape):
        raise VerifyException(f"needs an offset, a size and a stride for each dimension of {whole}")
    if whole.element_type != part.element_type or not _has_sizes(part.get_shape(), sizes):
        raise VerifyException(f"{part} is no part of {whole} of the sizes {list(sizes)}")
    for dim, (offset, size, stride, most) in enumerate(zip(offsets, sizes, strides, shape, strict=True)):
        if DYNAMIC_INDEX in (offset, size, stride, most):
            continue
        if offset < 0 or size < 0 or stride < 1 or (size and offset + (size - 1) * stride >= most):
            place = f"{size} elements from {offset} on, {stride} apart"
            raise VerifyException(f"{place}, are not in dimension {dim} of {whole}")


def _has_sizes(shape: tuple[int, ...], sizes: tuple[int, ...]) -> bool:
    """Whether a shape has these sizes, of which some ones may be left out."""
    place = 0
    for size in sizes:
        if place < len(shape) and shape[place] == size:
            place += 1
        elif size != 1:
            return False
    return place == len(shape)


RESHAPES = (CollapseShapeOp, ExpandShapeOp)
OPS = (*RESHAPES, ExtractSliceOp, InsertSliceOp)


def is_reshape(op: Operation | Block) -> TypeGuard[CollapseShapeOp | ExpandShapeOp]:
    """Whether `op` makes another form of a tensor, which takes no memory of its own."""
    return isinstance(op, RESHAPES)

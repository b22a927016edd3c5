"""
The shape dialect, as far as programs with dynamic shapes use it: shapes, sizes and constraints on them as values.

A shape is `!shape.shape`, which may also be an error, or an extent tensor `tensor<?xindex>`, which may not; in the same
way a size is `!shape.size` or `index`. Programs that compute shapes so are read, verified and printed.

Spec: https://mlir.llvm.org/docs/Dialects/ShapeDialect
"""

from __future__ import annotations

from typing import ClassVar, Self, cast

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IndexType, IntegerAttr, StringAttr, TensorType
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from .syntax import ShapeOp, Signature
from .types import (
    ShapeType,
    SizeType,
    ValueShapeType,
    WitnessType,
    either,
    is_extent_tensor,
    is_shape,
    is_shaped,
    is_size,
    is_type,
)

_SIZES = Signature((is_size, is_size), is_size)
_SIZES_OR_SHAPES = Signature((either(is_size, is_shape),) * 2, either(is_size, is_shape))
_SIZE_OF_SHAPE = Signature((is_shape,), is_size)


@irdl_op_definition
class AddOp(ShapeOp):
    """The sum of two sizes."""

    name = "shape.add"
    SIGNATURE: ClassVar[Signature] = _SIZES


@irdl_op_definition
class MulOp(ShapeOp):
    """The product of two sizes."""

    name = "shape.mul"
    SIGNATURE: ClassVar[Signature] = _SIZES


@irdl_op_definition
class DivOp(ShapeOp):
    """The quotient of two sizes, rounded down."""

    name = "shape.div"
    SIGNATURE: ClassVar[Signature] = _SIZES


@irdl_op_definition
class MaxOp(ShapeOp):
    """The larger one of two sizes, or of each two of two shapes."""

    name = "shape.max"
    SIGNATURE: ClassVar[Signature] = _SIZES_OR_SHAPES


@irdl_op_definition
class MinOp(ShapeOp):
    """The smaller one of two sizes, or of each two of two shapes."""

    name = "shape.min"
    SIGNATURE: ClassVar[Signature] = _SIZES_OR_SHAPES


@irdl_op_definition
class NumElementsOp(ShapeOp):
    """The number of elements of a shape."""

    name = "shape.num_elements"
    SIGNATURE: ClassVar[Signature] = _SIZE_OF_SHAPE


@irdl_op_definition
class RankOp(ShapeOp):
    """The number of dimensions of a shape."""

    name = "shape.rank"
    SIGNATURE: ClassVar[Signature] = _SIZE_OF_SHAPE


@irdl_op_definition
class GetExtentOp(ShapeOp):
    """One size of a shape."""

    name = "shape.get_extent"
    SIGNATURE: ClassVar[Signature] = Signature((is_shape, is_size), is_size)


@irdl_op_definition
class DimOp(ShapeOp):
    """One size of a tensor's shape."""

    name = "shape.dim"
    SIGNATURE: ClassVar[Signature] = Signature((is_shaped, is_size), is_size)


@irdl_op_definition
class ShapeOfOp(ShapeOp):
    """The shape of a tensor."""

    name = "shape.shape_of"
    SIGNATURE: ClassVar[Signature] = Signature((is_shaped,), is_shape)

    def verify_(self) -> None:
        super().verify_()
        source, result = self.operand_types[0], self.result_types[0]
        if isinstance(source, TensorType) and isinstance(result, TensorType):
            rank = len(cast("TensorType[Attribute]", self.operand_types[0]).get_shape())
            if cast("TensorType[Attribute]", self.result_types[0]).get_shape() not in ((rank,), (-1,)):
                raise VerifyException(f"result has type {self.result_types[0]}, but the operand has rank {rank}")


@irdl_op_definition
class BroadcastOp(ShapeOp):
    """The shape that all operands broadcast to; `error` says what is wrong where there is none."""

    name = "shape.broadcast"
    SIGNATURE: ClassVar[Signature] = Signature((is_shape, is_shape), is_shape, more=True)
    error = opt_prop_def(StringAttr)


@irdl_op_definition
class AnyOp(ShapeOp):
    """One of the operands; which one does not matter."""

    name = "shape.any"
    SIGNATURE: ClassVar[Signature] = Signature((either(is_size, is_shape),), either(is_size, is_shape), more=True)


@irdl_op_definition
class ConcatOp(ShapeOp):
    """The sizes of one shape, then those of another."""

    name = "shape.concat"
    SIGNATURE: ClassVar[Signature] = Signature((is_shape, is_shape), is_shape)


@irdl_op_definition
class FromExtentsOp(ShapeOp):
    """The shape of these sizes."""

    name = "shape.from_extents"
    SIGNATURE: ClassVar[Signature] = Signature((), is_type(ShapeType()), more=True, result_type=ShapeType())

    def verify_(self) -> None:
        if not all(map(is_size, self.operand_types)):
            raise VerifyException("operands are not all sizes")


@irdl_op_definition
class FromExtentTensorOp(ShapeOp):
    """The shape that an extent tensor holds."""

    name = "shape.from_extent_tensor"
    SIGNATURE: ClassVar[Signature] = Signature((is_shape,), is_type(ShapeType()), result_type=ShapeType())


@irdl_op_definition
class ToExtentTensorOp(ShapeOp):
    """A shape, which is no error, as an extent tensor."""

    name = "shape.to_extent_tensor"
    SIGNATURE: ClassVar[Signature] = Signature((is_shape,), is_extent_tensor, passes_errors=False)


@irdl_op_definition
class IndexToSizeOp(ShapeOp):
    """An index as a size."""

    name = "shape.index_to_size"
    SIGNATURE: ClassVar[Signature] = Signature(
        (is_type(IndexType()),), is_type(SizeType()), operand_type=IndexType(), result_type=SizeType()
    )


@irdl_op_definition
class SizeToIndexOp(ShapeOp):
    """A size, which is no error, as an index."""

    name = "shape.size_to_index"
    SIGNATURE: ClassVar[Signature] = Signature(
        (is_size,), is_type(IndexType()), result_type=IndexType(), passes_errors=False
    )


@irdl_op_definition
class ConstSizeOp(ShapeOp):
    """A size that is known."""

    name = "shape.const_size"
    SIGNATURE: ClassVar[Signature] = Signature((), is_type(SizeType()), operand_type=SizeType(), result_type=SizeType())
    value = prop_def(IntegerAttr[IndexType])

    @classmethod
    def parse_rest(cls, parser: Parser) -> dict[str, Attribute]:
        return {"value": IntegerAttr(parser.parse_integer(), IndexType())}

    def print_rest(self, printer: Printer) -> tuple[str, ...]:
        printer.print_string(f" {self.value.value.data}")
        return ("value",)


@irdl_op_definition
class ConstShapeOp(ShapeOp):
    """A shape that is known."""

    name = "shape.const_shape"
    SIGNATURE: ClassVar[Signature] = Signature((), is_shape)
    shape = prop_def(DenseIntOrFPElementsAttr[IndexType])

    def verify_(self) -> None:
        super().verify_()
        result, sizes = self.result_types[0], self.shape.get_shape()
        if isinstance(result, ShapeType):
            return
        if cast("TensorType[Attribute]", self.result_types[0]).get_shape() not in (sizes, (-1,)):
            raise VerifyException(f"result has type {self.result_types[0]} for a shape of rank {sizes[0]}")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        attributes = parser.parse_optional_attr_dict()
        sizes = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
        parser.parse_punctuation(":")
        value = DenseIntOrFPElementsAttr.from_list(TensorType(IndexType(), [len(sizes)]), sizes)
        return cls.create(properties={"shape": value}, result_types=[parser.parse_type()], attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_op_attributes(self.attributes)
        printer.print_string(f" {list(self.shape.get_values())} : ")
        printer.print_attribute(self.result_types[0])


OPS = (
    AddOp,
    MulOp,
    DivOp,
    MaxOp,
    MinOp,
    NumElementsOp,
    RankOp,
    GetExtentOp,
    DimOp,
    ShapeOfOp,
    BroadcastOp,
    AnyOp,
    ConcatOp,
    FromExtentsOp,
    FromExtentTensorOp,
    ToExtentTensorOp,
    IndexToSizeOp,
    SizeToIndexOp,
    ConstSizeOp,
    ConstShapeOp,
)
ATTRIBUTES = (ShapeType, SizeType, ValueShapeType, WitnessType)

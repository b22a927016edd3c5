"""Operations missing from xDSL's arith dialect, or narrower there than in MLIR."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from xdsl.dialects import arith
from xdsl.dialects.arith import FloatingPointLikeBinaryOperation
from xdsl.dialects.builtin import IndexType, IntegerType, TensorType, VectorType, i1
from xdsl.ir import Attribute, Block, Operation
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException


@irdl_op_definition
class RemFOp(FloatingPointLikeBinaryOperation):
    """The remainder of a float division, with the dividend's sign: C's fmod."""

    name = "arith.remf"
    traits = traits_def(Pure())


class IndexCastOp(arith.IndexCastOp):
    """
    A cast between integers and index, also of the elements of tensors, as programs compute shapes.

    A subclass without an IRDL definition of its own, because xDSL cannot define an operation twice. Casts of scalars
    are read as xDSL's class, which the tables of later levels know.
    """

    name = "arith.index_cast"

    @classmethod
    def parse(cls, parser: Parser) -> Operation:
        return _parse_cast(parser, TensorType, cls, arith.IndexCastOp)

    def verify_(self) -> None:
        source, target = self.operand_types[0], self.result_types[0]
        if not (isinstance(source, TensorType) and isinstance(target, TensorType)):
            super().verify_()
            return
        tensors = [cast("TensorType[Attribute]", type_) for type_ in (self.operand_types[0], self.result_types[0])]
        elements = [tensor.element_type for tensor in tensors]
        fits = {type(element) for element in elements} == {IndexType, IntegerType}
        if tensors[0].get_shape() != tensors[1].get_shape() or not fits:
            raise VerifyException(f"casts between index and integers of one shape, not {source} to {target}")


def _parse_cast(parser: Parser, own: type[Attribute], cls: type[Operation], other: type[Operation]) -> Operation:
    """`%x : type to type`, as an operation of `cls` if the operand's type is `own`, otherwise of `other`."""
    operand = parser.parse_unresolved_operand()
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    source = parser.parse_type()
    parser.parse_keyword("to")
    made = cls if isinstance(source, own) else other
    return made.create(
        operands=[parser.resolve_operand(operand, source)], result_types=[parser.parse_type()], attributes=attributes
    )


class _OnLanes(Operation):
    """
    An operation that xDSL has on scalars only, also lane by lane on vectors, as MLIR has it.

    Subclasses have no IRDL definition of their own, like IndexCastOp, and name the class of xDSL as their last base.
    """

    @classmethod
    def on_scalars(cls) -> type[Operation]:
        return cast("type[Operation]", cls.__bases__[-1])

    def verify_(self) -> None:
        types = (*self.operand_types, *self.result_types)
        vectors = [cast("VectorType[Attribute]", type_) for type_ in types if isinstance(type_, VectorType)]
        if not vectors:
            super().verify_()
            return
        if len({(vector.shape, vector.scalable_dims) for vector in vectors}) > 1 or not self._may_mix(types):
            raise VerifyException(f"vectors of one shape, not {', '.join(map(str, types))}")
        operands, results = (list(map(_element, part)) for part in (self.operand_types, self.result_types))
        scalar = self.on_scalars().create(
            operands=Block(arg_types=operands).args, result_types=results, properties=self.properties
        )
        scalar.verify_()

    def _may_mix(self, types: tuple[Attribute, ...]) -> bool:
        """Whether scalars may be among the operands and results of these types, some of which are vectors."""
        return all(isinstance(type_, VectorType) for type_ in types)


def _element(type_: Attribute) -> Attribute:
    return cast("VectorType[Attribute]", type_).element_type if isinstance(type_, VectorType) else type_


class _Comparison(_OnLanes):
    @classmethod
    def parse(cls, parser: Parser) -> Any:
        op = cls.on_scalars().parse(parser)
        operand_type: Attribute = op.operand_types[0]
        if operand_type.name != VectorType.name:
            return op
        type_ = boolean_lanes(operand_type)
        made = cls.create(operands=op.operands, result_types=[type_], properties=op.properties)
        op.drop_all_references()
        return made


def boolean_lanes(type_: Attribute) -> VectorType[IntegerType]:
    """The type of a comparison's result, for the vector type of its operands."""
    vector = cast("VectorType[Attribute]", type_)
    return VectorType(i1, vector.shape, vector.scalable_dims)


class CmpiOp(_Comparison, arith.CmpiOp):
    """A comparison of integers, also lane by lane."""

    name = "arith.cmpi"


class CmpfOp(_Comparison, arith.CmpfOp):
    """A comparison of floats, also lane by lane."""

    name = "arith.cmpf"


class SelectOp(_OnLanes, arith.SelectOp):
    """
    A choice between two values, also lane by lane: the condition is an i1, or a vector of them, whose type is then
    printed before that of the values, as in MLIR.
    """

    name = "arith.select"

    @classmethod
    def parse(cls, parser: Parser) -> arith.SelectOp:
        operands = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        condition: Attribute = i1
        type_: Attribute = parser.parse_type()
        if parser.parse_optional_punctuation(","):
            condition, type_ = type_, parser.parse_type()
        made = cls if isinstance(condition, VectorType) else arith.SelectOp
        types: list[Attribute] = [condition, type_, type_]
        resolved = parser.resolve_operands(operands, types, parser.pos)
        return made.create(operands=resolved, result_types=[type_], attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_operand)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        if self.cond.type != i1:
            printer.print_attribute(self.cond.type)
            printer.print_string(", ")
        printer.print_attribute(self.result.type)

    def _may_mix(self, types: tuple[Attribute, ...]) -> bool:
        return super()._may_mix(types[1:])


class _Cast(_OnLanes):
    @classmethod
    def parse(cls, parser: Parser) -> Operation:
        return _parse_cast(parser, VectorType, cls, cls.on_scalars())


class ExtSIOp(_Cast, arith.ExtSIOp):
    """A signed integer in a wider type, also lane by lane."""

    name = "arith.extsi"


class ExtUIOp(_Cast, arith.ExtUIOp):
    """An unsigned integer in a wider type, also lane by lane."""

    name = "arith.extui"


class TruncIOp(_Cast, arith.TruncIOp):
    """The low bits of an integer, also lane by lane."""

    name = "arith.trunci"


class SIToFPOp(_Cast, arith.SIToFPOp):
    """A signed integer as a float, also lane by lane."""

    name = "arith.sitofp"


class UIToFPOp(_Cast, arith.UIToFPOp):
    """An unsigned integer as a float, also lane by lane."""

    name = "arith.uitofp"


class FPToSIOp(_Cast, arith.FPToSIOp):
    """A float as a signed integer, also lane by lane."""

    name = "arith.fptosi"


class FPToUIOp(_Cast, arith.FPToUIOp):
    """A float as an unsigned integer, also lane by lane."""

    name = "arith.fptoui"


OPS = (
    RemFOp, IndexCastOp, CmpiOp, CmpfOp, SelectOp, ExtSIOp, ExtUIOp, TruncIOp, SIToFPOp, UIToFPOp, FPToSIOp, FPToUIOp,
)  # fmt: skip

ON_LANES: Mapping[type[Operation], type[Operation]] = {
    cls.on_scalars(): cls for cls in OPS if issubclass(cls, _OnLanes)
}
"""The class of an operation on vectors, by xDSL's for scalars, where they differ."""

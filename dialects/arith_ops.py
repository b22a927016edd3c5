"""Operations missing from xDSL's arith dialect, or narrower there than in MLIR."""

from __future__ import annotations

from typing import cast

from xdsl.dialects import arith
from xdsl.dialects.arith import FloatingPointLikeBinaryOperation
from xdsl.dialects.builtin import IndexType, IntegerType, TensorType
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.parser import Parser
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
    def parse(cls, parser: Parser) -> arith.IndexCastOp:
        operand = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        source = parser.parse_type()
        parser.parse_keyword("to")
        # With `isinstance`, the type's own argument would be unknown from here on.
        made = cls if source.name == TensorType.name else arith.IndexCastOp
        return made.create(
            operands=[parser.resolve_operand(operand, source)],
            result_types=[parser.parse_type()],
            attributes=attributes,
        )

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


OPS = (RemFOp, IndexCastOp)

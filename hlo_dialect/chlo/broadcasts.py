"""
Operations of two or three operands of different shapes: chlo.broadcast_add and its like.

Each is hlo's or chlo's operation of the same name on operands that were broadcast to one shape. The operand of lower
rank lies along `broadcast_dimensions` of the other, or along its last dimensions by default; then
dimensions of size 1 are repeated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self, cast

import numpy as np
from xdsl.dialects.builtin import ComplexType, DenseArrayBase, IntegerType, TensorType
from xdsl.dialects.utils.enum_attribute import EnumAttribute
from xdsl.ir import Attribute, Block, SpacedOpaqueSyntaxAttribute, SSAValue
from xdsl.irdl import (
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ..attributes import ints
from ..op import HloOp, reject
from ..ops import elementwise_binary as binary
from ..ops.comparison import (
    CompareOp,
    ComparisonDirection,
    ComparisonType,
    SelectOp,
    comparison_direction,
    comparison_type,
)
from ..ops.conversion import ComplexOp
from ..ops.elementwise import Kind, check_kind
from ..shapes import DYNAMIC, Shape, verify_results_agree
from ..syntax.elementwise import parse_operands
from ..syntax.structural import finish_functional, print_attributes, print_functional, print_operands
from ..types import Array, element_of, f32, f64, i1, make_tensor, shape_of
from .base import ANY_RANK, NextAfterOp
from .special import PolygammaOp, ZetaOp


@irdl_attr_definition
class ChloComparisonDirectionAttr(EnumAttribute[ComparisonDirection], SpacedOpaqueSyntaxAttribute):
    """`#chlo<comparison_direction LT>`"""

    name = "chlo.comparison_direction"


@irdl_attr_definition
class ChloComparisonTypeAttr(EnumAttribute[ComparisonType], SpacedOpaqueSyntaxAttribute):
    """`#chlo<comparison_type FLOAT>`"""

    name = "chlo.comparison_type"


def broadcast_dim(first: int, second: int) -> int | None:
    """The dimension that both broadcast to; None if there is none. An unknown one and 1 broadcast to an unknown one."""
    if first == second or second == 1:
        return first
    if first == 1 or first == DYNAMIC:
        return second
    return first if second == DYNAMIC else None


class BroadcastingOp(HloOp):
    """Operands of different shapes, broadcast for a plain operation (`plain`)."""

    def alignments(self) -> tuple[tuple[int, ...], ...]:
        """For each operand, the result's dimensions along which its own lie. Raises VerifyException."""
        rank = max(len(shape_of(operand)) for operand in self.operands)
        return tuple(tuple(range(rank - len(shape_of(operand)), rank)) for operand in self.operands)

    def broadcast_shape(self) -> Shape:
        """The result's shape. Raises VerifyException where the operands do not fit."""
        alignments = self.alignments()
        rank = max(len(shape_of(operand)) for operand in self.operands)
        shape = [1] * rank
        for operand, dims in zip(self.operands, alignments, strict=True):
            for size, dim in zip(shape_of(operand), dims, strict=True):
                merged = broadcast_dim(shape[dim], size)
                if merged is None:
                    raise VerifyException(
                        f"{self.mnemonic}_c2: sizes {shape[dim]} and {size} of dimension {dim} do not broadcast"
                    )
                shape[dim] = merged
        return tuple(shape)

    def plain(self, operands: Sequence[SSAValue]) -> HloOp:
        """The operation on operands of one shape."""
        raise NotImplementedError

    def reference(self, *operands: Array) -> Array | tuple[Array, ...]:
        aligned: list[Array] = []
        rank = max(operand.ndim for operand in operands)
        for operand, dims in zip(operands, self.alignments(), strict=True):
            sizes = [1] * rank
            for size, dim in zip(operand.shape, dims, strict=True):
                sizes[dim] = size
            aligned.append(operand.reshape(sizes))
        shape = np.broadcast_shapes(*(operand.shape for operand in aligned))
        types = [make_tensor(shape, element_of(operand)) for operand in self.operands]
        block = Block(arg_types=types)
        op = self.plain(block.args)
        block.add_op(op)
        return op.reference(*(np.broadcast_to(operand, shape) for operand in aligned))

    def print(self, printer: Printer) -> None:
        print_operands(printer, self)
        print_attributes(printer, self)
        print_functional(printer, self)


class BroadcastingBinaryOp(BroadcastingOp):
    """
    Two operands. Constraints: i1, the element types; c1, that they are equal; c2, that the shapes broadcast; c3, that
    `broadcast_dimensions` has an entry for each dimension of the operand of lower rank; c4, that they are dimensions
    of the other in rising order; c5, the result's type.
    """

    PLAIN: ClassVar[type[Any]]
    KINDS: ClassVar[Kind | None] = None
    """The kinds of operands that are allowed; by default those of `PLAIN`."""

    lhs = operand_def(ANY_RANK)
    rhs = operand_def(ANY_RANK)
    broadcast_dimensions = opt_prop_def(DenseArrayBase[IntegerType])
    result = result_def(ANY_RANK)
    traits = traits_def(Pure())

    @classmethod
    def kinds(cls) -> Kind:
        return cls.KINDS or cls.PLAIN.KINDS

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        return finish_functional(cls, parser, parse_operands(parser, 2))

    def alignments(self) -> tuple[tuple[int, ...], ...]:
        stated, ranks = self.broadcast_dimensions, [len(shape_of(operand)) for operand in self.operands]
        low, high = min(ranks), max(ranks)
        if stated is None or low == high:  # StableHLO ignores them between operands of one rank
            return super().alignments()
        dims = ints(stated)
        if len(dims) != low:
            reject(f"{self.mnemonic}_c3: broadcast_dimensions has {len(dims)} entries, expected the lower rank {low}")
        if not (all(0 <= dim < high for dim in dims) and list(dims) == sorted(set(dims))):
            reject(f"{self.mnemonic}_c4: broadcast_dimensions {dims} are not in [0, {high}) in rising order")
        return tuple(dims if rank == low else tuple(range(rank)) for rank in ranks)

    def result_element(self) -> Attribute:
        return element_of(self.operands[0])

    def infer_types(self) -> tuple[Attribute, ...]:
        lhs, rhs = self.operands
        if element_of(lhs) != element_of(rhs):
            reject(f"{self.mnemonic}_c1: lhs and rhs have different element types: {lhs.type} and {rhs.type}")
        return (make_tensor(self.broadcast_shape(), self.result_element()),)

    def verify_(self) -> None:
        check_kind(f"{self.mnemonic}_i1", "lhs", self.operands[0], self.kinds())
        verify_results_agree(self, f"{self.mnemonic}_c5")

    def properties_of_plain(self) -> dict[str, Attribute]:
        return {}

    def plain(self, operands: Sequence[SSAValue]) -> HloOp:
        return cast(HloOp, self.PLAIN.infer(operands, self.properties_of_plain()))


@irdl_op_definition
class BroadcastAddOp(BroadcastingBinaryOp):
    """Sum, as hlo.add."""

    name = "chlo.broadcast_add"
    PLAIN: ClassVar[type[Any]] = binary.AddOp


@irdl_op_definition
class BroadcastAndOp(BroadcastingBinaryOp):
    """Logical and, as hlo.and."""

    name = "chlo.broadcast_and"
    PLAIN: ClassVar[type[Any]] = binary.AndOp


@irdl_op_definition
class BroadcastAtan2Op(BroadcastingBinaryOp):
    """The angle of the point (x = rhs, y = lhs), as hlo.atan2."""

    name = "chlo.broadcast_atan2"
    PLAIN: ClassVar[type[Any]] = binary.Atan2Op


@irdl_op_definition
class BroadcastDivideOp(BroadcastingBinaryOp):
    """Quotient, as hlo.divide."""

    name = "chlo.broadcast_divide"
    PLAIN: ClassVar[type[Any]] = binary.DivideOp


@irdl_op_definition
class BroadcastMaximumOp(BroadcastingBinaryOp):
    """The larger, as hlo.maximum."""

    name = "chlo.broadcast_maximum"
    PLAIN: ClassVar[type[Any]] = binary.MaximumOp


@irdl_op_definition
class BroadcastMinimumOp(BroadcastingBinaryOp):
    """The smaller, as hlo.minimum."""

    name = "chlo.broadcast_minimum"
    PLAIN: ClassVar[type[Any]] = binary.MinimumOp


@irdl_op_definition
class BroadcastMultiplyOp(BroadcastingBinaryOp):
    """Product, as hlo.multiply."""

    name = "chlo.broadcast_multiply"
    PLAIN: ClassVar[type[Any]] = binary.MultiplyOp


@irdl_op_definition
class BroadcastOrOp(BroadcastingBinaryOp):
    """Logical or, as hlo.or."""

    name = "chlo.broadcast_or"
    PLAIN: ClassVar[type[Any]] = binary.OrOp


@irdl_op_definition
class BroadcastPowerOp(BroadcastingBinaryOp):
    """lhs ** rhs, as hlo.power."""

    name = "chlo.broadcast_power"
    PLAIN: ClassVar[type[Any]] = binary.PowerOp


@irdl_op_definition
class BroadcastRemainderOp(BroadcastingBinaryOp):
    """Remainder, as hlo.remainder."""

    name = "chlo.broadcast_remainder"
    PLAIN: ClassVar[type[Any]] = binary.RemainderOp


@irdl_op_definition
class BroadcastShiftLeftOp(BroadcastingBinaryOp):
    """Shift left, as hlo.shift_left."""

    name = "chlo.broadcast_shift_left"
    PLAIN: ClassVar[type[Any]] = binary.ShiftLeftOp


@irdl_op_definition
class BroadcastShiftRightArithmeticOp(BroadcastingBinaryOp):
    """Shift right that repeats the sign, as hlo.shift_right_arithmetic."""

    name = "chlo.broadcast_shift_right_arithmetic"
    PLAIN: ClassVar[type[Any]] = binary.ShiftRightArithmeticOp


@irdl_op_definition
class BroadcastShiftRightLogicalOp(BroadcastingBinaryOp):
    """Shift right that fills with zeros, as hlo.shift_right_logical."""

    name = "chlo.broadcast_shift_right_logical"
    PLAIN: ClassVar[type[Any]] = binary.ShiftRightLogicalOp


@irdl_op_definition
class BroadcastSubtractOp(BroadcastingBinaryOp):
    """Difference, as hlo.subtract."""

    name = "chlo.broadcast_subtract"
    PLAIN: ClassVar[type[Any]] = binary.SubtractOp


@irdl_op_definition
class BroadcastXorOp(BroadcastingBinaryOp):
    """Logical exclusive or, as hlo.xor."""

    name = "chlo.broadcast_xor"
    PLAIN: ClassVar[type[Any]] = binary.XorOp


@irdl_op_definition
class BroadcastNextAfterOp(BroadcastingBinaryOp):
    """The next number, as chlo.next_after."""

    name = "chlo.broadcast_next_after"
    PLAIN: ClassVar[type[Any]] = NextAfterOp


@irdl_op_definition
class BroadcastPolygammaOp(BroadcastingBinaryOp):
    """The derivatives of digamma, as chlo.polygamma."""

    name = "chlo.broadcast_polygamma"
    PLAIN: ClassVar[type[Any]] = PolygammaOp


@irdl_op_definition
class BroadcastZetaOp(BroadcastingBinaryOp):
    """Hurwitz's zeta function, as chlo.zeta."""

    name = "chlo.broadcast_zeta"
    PLAIN: ClassVar[type[Any]] = ZetaOp


@irdl_op_definition
class BroadcastComplexOp(BroadcastingBinaryOp):
    """Complex numbers of their parts, as hlo.complex."""

    name = "chlo.broadcast_complex"
    PLAIN: ClassVar[type[Any]] = ComplexOp
    KINDS: ClassVar[Kind | None] = Kind.FLOAT

    def result_element(self) -> Attribute:
        part = element_of(self.operands[0])
        if part not in (f32, f64):
            reject(f"broadcast_complex_i1: lhs has element type {part}, expected f32 or f64")
        return ComplexType(cast(Any, part))


@irdl_op_definition
class BroadcastCompareOp(BroadcastingBinaryOp):
    """A relation of the elements, as hlo.compare."""

    name = "chlo.broadcast_compare"
    PLAIN: ClassVar[type[Any]] = CompareOp
    comparison_direction = prop_def(ChloComparisonDirectionAttr)
    compare_type = opt_prop_def(ChloComparisonTypeAttr)

    def result_element(self) -> Attribute:
        return i1

    def properties_of_plain(self) -> dict[str, Attribute]:
        properties: dict[str, Attribute] = {
            "comparison_direction": comparison_direction(self.comparison_direction.data.value)
        }
        if self.compare_type is not None:
            properties["compare_type"] = comparison_type(self.compare_type.data.value)
        return properties


@irdl_op_definition
class BroadcastSelectOp(BroadcastingOp):
    """
    A choice by a predicate, as hlo.select; the predicate broadcasts too.

    Raises: VerifyException naming broadcast_select_i1 (pred), c1 (element types), c2 (shapes), c5 (the result's type).
    """

    name = "chlo.broadcast_select"
    pred = operand_def(TensorType)
    on_true = operand_def(ANY_RANK)
    on_false = operand_def(ANY_RANK)
    result = result_def(ANY_RANK)
    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        return finish_functional(cls, parser, parse_operands(parser, 3))

    def infer_types(self) -> tuple[Attribute, ...]:
        _, on_true, on_false = self.operands
        if element_of(on_true) != element_of(on_false):
            reject(
                "broadcast_select_c1: on_true and on_false have different element types: "
                f"{on_true.type} and {on_false.type}"
            )
        return (make_tensor(self.broadcast_shape(), element_of(on_true)),)

    def verify_(self) -> None:
        check_kind("broadcast_select_i1", "pred", self.operands[0], Kind.BOOLEAN)
        verify_results_agree(self, "broadcast_select_c5")

    def plain(self, operands: Sequence[SSAValue]) -> HloOp:
        return SelectOp.infer(operands)


OPS = (
    BroadcastAddOp,
    BroadcastAndOp,
    BroadcastAtan2Op,
    BroadcastDivideOp,
    BroadcastMaximumOp,
    BroadcastMinimumOp,
    BroadcastMultiplyOp,
    BroadcastOrOp,
    BroadcastPowerOp,
    BroadcastRemainderOp,
    BroadcastShiftLeftOp,
    BroadcastShiftRightArithmeticOp,
    BroadcastShiftRightLogicalOp,
    BroadcastSubtractOp,
    BroadcastXorOp,
    BroadcastNextAfterOp,
    BroadcastPolygammaOp,
    BroadcastZetaOp,
    BroadcastComplexOp,
    BroadcastCompareOp,
    BroadcastSelectOp,
)
ATTRIBUTES = (ChloComparisonDirectionAttr, ChloComparisonTypeAttr)

"""
Operations that compare and choose: compare, select, clamp; and the attributes of compare.

Spec: https://openxla.org/stablehlo/spec
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, ClassVar

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.dialects.utils.enum_attribute import EnumAttribute
from xdsl.ir import Attribute, SpacedOpaqueSyntaxAttribute, SSAValue
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
from xdsl.utils.str_enum import StrEnum

from ..numbers.number_semantics import maximum, minimum, total_order_key, weak_order_key
from ..op import CHEAP, reject
from ..shapes import shapes_agree, types_agree
from ..syntax.elementwise import build, parse_function_types, parse_operands
from ..syntax.structural import print_attributes, print_functional, print_operands
from ..types import Array, element_of, i1, is_complex, is_float, make_tensor, shape_of
from .creation import is_same_constant, is_splat_of, splat_like
from .elementwise import ElementwiseOp, Kind, check_kind, merged_shape


class ComparisonDirection(StrEnum):
    """The relation to test."""

    EQ = "EQ"
    NE = "NE"
    GE = "GE"
    GT = "GT"
    LE = "LE"
    LT = "LT"


class ComparisonType(StrEnum):
    """The kind of comparison; NOTYPE derives it from the element type."""

    NOTYPE = "NOTYPE"
    FLOAT = "FLOAT"
    TOTALORDER = "TOTALORDER"
    WEAKORDER = "WEAKORDER"
    SIGNED = "SIGNED"
    UNSIGNED = "UNSIGNED"


@irdl_attr_definition
class ComparisonDirectionAttr(EnumAttribute[ComparisonDirection], SpacedOpaqueSyntaxAttribute):
    """`#hlo<comparison_direction LT>`"""

    name = "hlo.comparison_direction"


@irdl_attr_definition
class ComparisonTypeAttr(EnumAttribute[ComparisonType], SpacedOpaqueSyntaxAttribute):
    """`#hlo<comparison_type FLOAT>`"""

    name = "hlo.comparison_type"


@cache
def comparison_direction(name: str) -> ComparisonDirectionAttr:
    """The attribute of a direction (`"LT"`), from a cache."""
    return ComparisonDirectionAttr(ComparisonDirection(name))


@cache
def comparison_type(name: str) -> ComparisonTypeAttr:
    """The attribute of a comparison type (`"FLOAT"`), from a cache."""
    return ComparisonTypeAttr(ComparisonType(name))


_RELATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "EQ": np.equal,
    "NE": np.not_equal,
    "GE": np.greater_equal,
    "GT": np.greater,
    "LE": np.less_equal,
    "LT": np.less,
}


@irdl_op_definition
class CompareOp(ElementwiseOp):
    """
    Test a relation of the elements: `result[i] = lhs[i] <direction> rhs[i]`.

    NaN is unordered (only NE holds). Under TOTALORDER it is ordered too, and -0 is below +0; under WEAKORDER every NaN
    is equal to every other and above infinity, and -0 is +0. Booleans compare as false < true, complex numbers by real,
    then by imaginary part. Otherwise the element type decides by construction (c3): any compare_type is accepted, as by
    StableHLO's verifier.
    Shapes: operands and result of one shape; the result is boolean.
    Raises: VerifyException naming compare_i1, compare_c1, compare_c2, compare_o1.
    Spec:   https://openxla.org/stablehlo/spec#compare
    """

    name = "hlo.compare"
    COST: ClassVar[int] = CHEAP
    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    comparison_direction = prop_def(ComparisonDirectionAttr)
    compare_type = opt_prop_def(ComparisonTypeAttr)
    result = result_def(TensorType)
    traits = traits_def(Pure())

    @property
    def direction(self) -> str:
        """`EQ`, `NE`, `GE`, `GT`, `LE` or `LT`."""
        return self.comparison_direction.data.value

    @property
    def is_total_order(self) -> bool:
        """Whether floats are compared in their total order."""
        return self._orders_floats(ComparisonType.TOTALORDER)

    @property
    def is_weak_order(self) -> bool:
        """Whether floats are compared in the order in which NaN is one number above infinity."""
        return self._orders_floats(ComparisonType.WEAKORDER)

    def _orders_floats(self, kind: ComparisonType) -> bool:
        stated = self.compare_type
        return stated is not None and stated.data is kind and is_float(element_of(self.operands[0]))

    @classmethod
    def parse(cls, parser: Parser) -> CompareOp:
        direction = comparison_direction(parser.parse_str_enum(ComparisonDirection).value)
        parser.parse_punctuation(",")
        operands = parse_operands(parser, 2)
        properties: dict[str, Attribute] = {"comparison_direction": direction}
        if parser.parse_optional_punctuation(",") is not None:
            properties["compare_type"] = comparison_type(parser.parse_str_enum(ComparisonType).value)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        types = parse_function_types(parser)
        if types is None:
            parser.raise_error("expected the function type of compare, `(t, t) -> t`")
        return build(cls, parser, operands, types, attributes, properties)

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.direction},")
        print_operands(printer, self)
        if self.compare_type is None:
            print_attributes(printer, self, ("comparison_direction",))
        else:
            printer.print_string(f", {self.compare_type.data.value}")
            print_attributes(printer, self, ("comparison_direction", "compare_type"))
        print_functional(printer, self)

    def infer_types(self) -> tuple[Attribute, ...]:
        lhs, rhs = self.operands
        if lhs.type is rhs.type:
            return (make_tensor(shape_of(lhs), i1),)
        if element_of(lhs) != element_of(rhs):
            reject(f"compare_c1: lhs and rhs have different element types: {lhs.type} and {rhs.type}")
        return (make_tensor(merged_shape("compare_c2", ("lhs", lhs), ("rhs", rhs)), i1),)

    def verify_(self) -> None:
        lhs, result = self.operands[0], self.results[0].type
        check_kind("compare_i1", "lhs", lhs, Kind.ANY)
        wanted = self.infer_types()[0]
        if not types_agree(wanted, result):
            constraint = "c2" if element_of(result) == i1 else "o1"
            raise VerifyException(f"compare_{constraint}: result has type {result}, expected {wanted}")

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        """x == x and the like, except for floats, where x may be NaN; booleans that are compared with a constant."""
        element = element_of(self.operands[0])
        if element == i1 and self.direction in ("EQ", "NE"):
            for x, other in (self.operands, reversed(self.operands)):
                if is_splat_of(other, self.direction == "EQ") and x.type == self.results[0].type:
                    return (x,)
        exact = self.is_total_order or self.is_weak_order or not (is_float(element) or is_complex(element))
        if self.operands[0] is not self.operands[1] or not exact:
            return None
        return splat_like(self.results[0], self.direction in ("EQ", "GE", "LE"))

    def reference(self, *operands: Array) -> Array:
        lhs, rhs = operands
        if self.is_total_order:
            lhs, rhs = total_order_key(lhs), total_order_key(rhs)
        elif self.is_weak_order:
            lhs, rhs = weak_order_key(lhs), weak_order_key(rhs)
        with np.errstate(all="ignore"):
            return np.asarray(_RELATIONS[self.direction](lhs, rhs))


@irdl_op_definition
class SelectOp(ElementwiseOp):
    """
    Choose by a predicate: `result[i] = pred[i] ? on_true[i] : on_false[i]`.

    Shapes: on_true, on_false and result of one type; pred of that shape or of rank 0.
    Raises: VerifyException naming select_i1, select_c1, select_c2.
    Spec:   https://openxla.org/stablehlo/spec#select
    """

    name = "hlo.select"
    COST: ClassVar[int] = CHEAP
    LINEAR: ClassVar[bool] = True
    COMPUTES: ClassVar[bool] = False
    pred = operand_def(TensorType)
    on_true = operand_def(TensorType)
    on_false = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> SelectOp:
        """` %p, %a, %b : tensor<i1>, t`: the types of the predicate and of the rest; or a function type."""
        operands = parse_operands(parser, 3)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        types = parse_function_types(parser)
        if types is None:
            pred = parser.parse_type()
            parser.parse_punctuation(",")
            rest = parser.parse_type()
            types = (pred, rest, rest), rest
        return build(cls, parser, operands, types, attributes)

    def print(self, printer: Printer) -> None:
        print_operands(printer, self)
        print_attributes(printer, self)
        pred, on_true, on_false = self.operand_types
        if on_true == on_false == self.results[0].type:
            printer.print_string(" : ")
            printer.print_attribute(pred)
            printer.print_string(", ")
            printer.print_attribute(on_true)
        else:
            print_functional(printer, self)

    def infer_types(self) -> tuple[Attribute, ...]:
        _, on_true, on_false = self.operands
        if on_true.type is on_false.type or on_true.type == on_false.type:
            return (on_true.type,)
        if element_of(on_true) != element_of(on_false):
            reject(f"select_c2: on_true and on_false have different types: {on_true.type} and {on_false.type}")
        shape = merged_shape("select_c2", ("on_true", on_true), ("on_false", on_false))
        return (make_tensor(shape, element_of(on_true)),)

    def verify_(self) -> None:
        pred, on_true, _ = self.operands
        check_kind("select_i1", "pred", pred, Kind.BOOLEAN)
        check_kind("select_i2", "on_true", on_true, Kind.ANY)
        wanted, result = self.infer_types()[0], self.results[0].type
        if not types_agree(wanted, result):
            reject(f"select_c2: result has type {result}, expected {wanted}")
        if not (not shape_of(pred) or shapes_agree(shape_of(pred), shape_of(on_true))):
            reject(
                f"select_c1: pred has type {pred.type}, which is neither of rank 0 nor of on_true's shape "
                f"in {on_true.type}"
            )

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        """A constant predicate, or the same value or constant twice."""
        pred, on_true, on_false = self.operands
        if is_splat_of(pred, True) or on_true is on_false or is_same_constant(on_true, on_false):
            chosen = on_true
        elif is_splat_of(pred, False):
            chosen = on_false
        else:
            return None
        return (chosen,) if chosen.type == self.results[0].type else None

    def reference(self, *operands: Array) -> Array:
        return np.where(*operands)


@irdl_op_definition
class ClampOp(ElementwiseOp):
    """
    Keep elements between bounds: `result[i] = minimum(maximum(operand[i], min[i]), max[i])`. NaN wins.

    Shapes: operand and result of one type; min and max of that shape or of rank 0.
    Raises: VerifyException naming clamp_c1..c4.
    Spec:   https://openxla.org/stablehlo/spec#clamp
    """

    name = "hlo.clamp"
    COST: ClassVar[int] = CHEAP
    min = operand_def(TensorType)
    operand = operand_def(TensorType)
    max = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(Pure())
    KINDS: ClassVar[Kind] = Kind.ANY

    def infer_types(self) -> tuple[Attribute, ...]:
        return (self.operands[1].type,)

    def verify_(self) -> None:
        low, operand, high = self.operands
        for constraint, name, bound in (("c1", "min", low), ("c2", "max", high)):
            if not (not shape_of(bound) or shapes_agree(shape_of(bound), shape_of(operand))):
                reject(
                    f"clamp_{constraint}: {name} has type "
                    f"{bound.type}, which is neither of rank 0 nor of the operand's shape in {operand.type}"
                )
        if not (element_of(low) == element_of(operand) == element_of(high)):
            reject(
                "clamp_c3: min, operand and max have different element types: "
                f"{low.type}, {operand.type} and {high.type}"
            )
        result = self.results[0].type
        if not types_agree(operand.type, result):
            reject(f"clamp_c4: result has type {result}, expected {operand.type}")

    def reference(self, *operands: Array) -> Array:
        def clamped(low: Any, operand: Any, high: Any) -> Any:
            return minimum(maximum(operand, low), high)

        return self.rounded(clamped, operands)


OPS = (CompareOp, SelectOp, ClampOp)
ATTRIBUTES = (ComparisonDirectionAttr, ComparisonTypeAttr)

"""
Conversions between element types: convert, bitcast_convert, reduce_precision, complex, real, imag.

Spec: https://openxla.org/stablehlo/spec
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, ClassVar, cast

import numpy as np
from xdsl.dialects.builtin import ComplexType, Float32Type, Float64Type, IntegerAttr, IntegerType, TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ..numbers import number_semantics
from ..op import CHEAP, WIDE_CONVERSION, Role, reject
from ..shapes import dims_agree, shaped_like, shapes_agree, types_agree
from ..syntax.elementwise import (
    SameTypeOp,
    build,
    complex_part_type,
    parse_complex_types,
    parse_operands,
    parse_same_types,
    print_same_types,
)
from ..syntax.structural import print_attributes, print_functional, print_operands
from ..types import Array, bit_width, element_of, i32, is_float, is_integer, make_tensor, shape_of
from .creation import IotaOp
from .elementwise import ElementwiseOp, ElementwiseUnaryOp, Kind, check_kind, kind_of, merged_shape
from .elementwise_unary import part_type


@irdl_op_definition
class ConvertOp(ElementwiseOp):
    """
    Convert elements to another type.

    To boolean: whether not 0. Float to integer: toward zero, saturated, NaN to 0. Integer to narrower integer: modulo.
    Complex to real: the real part. To float: one rounding, to nearest even.
    Shapes: the result has the operand's shape; its element type is free.
    Raises: VerifyException naming convert_i1, convert_o1, convert_c1.
    Spec:   https://openxla.org/stablehlo/spec#convert
    """

    name = "hlo.convert"
    COST: ClassVar[int] = CHEAP
    COMPUTES: ClassVar[bool] = False
    operand = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(Pure())

    @property
    def cost(self) -> int:
        """More between floats and integers of 64 bits; but indices are counted in 32 bits."""
        types = element_of(self.operands[0]), element_of(self.results[0])
        if not any(map(is_float, types)) or type(self.operands[0].owner) is IotaOp:
            return self.COST
        return WIDE_CONVERSION if any(is_integer(one) and bit_width(one) == 64 for one in types) else self.COST

    @classmethod
    def to(cls, operand: SSAValue, element_type: Attribute) -> ConvertOp:
        """Convert a value to an element type."""
        return cls.create(operands=[operand], result_types=[make_tensor(shape_of(operand), element_type)])

    def infer_types(self) -> tuple[Attribute, ...]:
        return (shaped_like(shape_of(self.operands[0]), self.results[0]),)

    def verify_(self) -> None:
        check_kind("convert_i1", "operand", self.operands[0], Kind.ANY)
        check_kind("convert_o1", "result", self.results[0], Kind.ANY)
        operand, result = self.operands[0].type, self.results[0].type
        if not shapes_agree(shape_of(operand), shape_of(result)):
            reject(f"convert_c1: operand and result have different shapes: {operand} and {result}")

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        """Fold a conversion to the operand's own type."""
        return (self.operands[0],) if self.operands[0].type == self.results[0].type else None

    def reference(self, *operands: Array) -> Array:
        dtype = self.result_dtype()
        with np.errstate(all="ignore"):
            return number_semantics.convert(operands[0], dtype)


@irdl_op_definition
class BitcastConvertOp(SameTypeOp):
    """
    Read the bits of the operand as another type.

    A narrower result has a new last dimension of the parts, the least significant first; a wider one lacks the
    operand's last dimension, which holds its parts.
    Shapes: (d0, .., dn) for equal widths; (.., dn) to (.., dn, parts) and (.., dn, parts) to (.., dn) for others.
    Raises: VerifyException naming bitcast_convert_c1 or bitcast_convert_c2.
    Spec:   https://openxla.org/stablehlo/spec#bitcast_convert
    """

    name = "hlo.bitcast_convert"
    ROLE: ClassVar[Role | None] = "custom"  # between different widths; between equal ones it is elementwise
    COST: ClassVar[int] = CHEAP
    operand = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(Pure())

    @property
    def elementwise(self) -> bool:
        """Whether the widths are equal, so that each result element depends on one operand element."""
        return bit_width(element_of(self.operands[0])) == bit_width(element_of(self.results[0]))

    def print(self, printer: Printer) -> None:
        print_operands(printer, self)
        print_attributes(printer, self)
        print_functional(printer, self)

    def infer_types(self) -> tuple[Attribute, ...]:
        shape = shape_of(self.operands[0])
        before, after = bit_width(element_of(self.operands[0])), bit_width(element_of(self.results[0]))
        if before != after:
            shape = shape[:-1] if before < after else (*shape, before // after)
        return (shaped_like(shape, self.results[0]),)

    def verify_(self) -> None:
        for name, value in (("operand", self.operands[0]), ("result", self.results[0])):
            check_kind("bitcast_convert_i1", name, value, Kind.ANY)
        operand, result = self.operands[0].type, self.results[0].type
        kinds = kind_of(element_of(operand)), kind_of(element_of(result))
        if kinds.count(Kind.COMPLEX) == 1:
            reject(f"bitcast_convert_c2: one of {operand} and {result} is complex, expected both or neither")
        if not self._shapes_fit():
            reject(
                f"bitcast_convert_c1: {operand} does not have the bits of {result}: a ratio of widths other than "
                "1 needs a last dimension of that size on the narrower side"
            )

    def _shapes_fit(self) -> bool:
        operand, result = shape_of(self.operands[0]), shape_of(self.results[0])
        wide, narrow = bit_width(element_of(self.operands[0])), bit_width(element_of(self.results[0]))
        if wide == narrow:
            return shapes_agree(operand, result)
        if wide < narrow:
            operand, result, wide, narrow = result, operand, narrow, wide
        return (
            len(result) == len(operand) + 1
            and shapes_agree(operand, result[:-1])
            and wide % narrow == 0
            and dims_agree(result[-1], wide // narrow)
        )

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        return (self.operands[0],) if self.operands[0].type == self.results[0].type else None

    def reference(self, *operands: Array) -> Array:
        dtype = self.result_dtype()
        widths = bit_width(element_of(self.operands[0])), bit_width(element_of(self.results[0]))
        return number_semantics.bitcast(operands[0], dtype, *widths)


_FORMAT = re.compile(r"e(\d+)m(\d+)")


@irdl_op_definition
class ReducePrecisionOp(ElementwiseUnaryOp):
    """
    Round floats to a format of fewer exponent and mantissa bits, in their own type.

    To nearest even; values beyond the format's range become infinite, those below its normal range a zero of the same
    sign; NaN stays NaN, but becomes infinity in a format without mantissa bits, which has none.
    Types: float (i1), result as the operand (c1); exponent_bits >= 1 (c2), mantissa_bits >= 0 (c3).
    Spec:  https://openxla.org/stablehlo/spec#reduce_precision
    """

    name = "hlo.reduce_precision"
    KINDS: ClassVar[Kind] = Kind.FLOAT
    COST: ClassVar[int] = CHEAP
    exponent_bits = prop_def(IntegerAttr[IntegerType])
    mantissa_bits = prop_def(IntegerAttr[IntegerType])

    @classmethod
    def parse(cls, parser: Parser) -> ReducePrecisionOp:
        """` %x, format = e5m10 : t`"""
        operands = parse_operands(parser, 1)
        parser.parse_punctuation(",")
        parser.parse_keyword("format")
        parser.parse_punctuation("=")
        position = parser.pos
        text = parser.parse_identifier()
        found = _FORMAT.fullmatch(text)
        if found is None:
            parser.raise_error(f"expected a format such as e5m10, got {text}", position)
        exponent, mantissa = (IntegerAttr(int(bits), i32) for bits in found.groups())
        properties: dict[str, Attribute] = {"exponent_bits": exponent, "mantissa_bits": mantissa}
        attributes = parser.parse_optional_attr_dict()
        return build(cls, parser, operands, parse_same_types(parser, 1), attributes, properties)

    def print(self, printer: Printer) -> None:
        print_operands(printer, self)
        exponent, mantissa = self.format
        printer.print_string(f", format = e{exponent}m{mantissa}")
        print_attributes(printer, self, ("exponent_bits", "mantissa_bits"))
        print_same_types(printer, self)

    @property
    def format(self) -> tuple[int, int]:
        """The numbers of exponent and mantissa bits."""
        return self.exponent_bits.value.data, self.mantissa_bits.value.data

    def verify_(self) -> None:
        super().verify_()
        exponent, mantissa = self.format
        if exponent < 1:
            reject(f"reduce_precision_c2: exponent_bits {exponent} is less than 1")
        if mantissa < 0:
            reject(f"reduce_precision_c3: mantissa_bits {mantissa} is negative")

    def reference(self, *operands: Array) -> Array:
        with np.errstate(all="ignore"):
            return number_semantics.reduce_precision(operands[0], *self.format)


@irdl_op_definition
class ComplexOp(ElementwiseOp):
    """
    Complex numbers of real and imaginary parts.

    Types: lhs and rhs of one type (c1), f32 or f64 (i1); the result complex of it (c3) and of its shape (c2).
    Spec:  https://openxla.org/stablehlo/spec#complex
    """

    name = "hlo.complex"
    KINDS: ClassVar[Kind] = Kind.FLOAT
    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> ComplexOp:
        operands = parse_operands(parser, 2)
        attributes = parser.parse_optional_attr_dict()
        return build(cls, parser, operands, parse_complex_types(parser), attributes)

    def print(self, printer: Printer) -> None:
        print_operands(printer, self)
        print_attributes(printer, self)
        part = complex_part_type(self.results[0].type)
        if all(operand.type == part for operand in self.operands):
            printer.print_string(" : ")
            printer.print_attribute(self.results[0].type)
        else:
            print_functional(printer, self)

    def infer_types(self) -> tuple[Attribute, ...]:
        lhs, rhs = self.operands
        if not isinstance(element_of(lhs), (Float32Type, Float64Type)):
            reject(f"complex_i1: lhs has element type {element_of(lhs)}, expected f32 or f64")
        if element_of(lhs) != element_of(rhs):
            reject(f"complex_c1: lhs and rhs have different types: {lhs.type} and {rhs.type}")
        shape = merged_shape("complex_c1", ("lhs", lhs), ("rhs", rhs))
        return (make_tensor(shape, ComplexType(cast(Any, element_of(lhs)))),)

    def verify_(self) -> None:
        wanted, result = self.infer_types()[0], self.results[0].type
        if not types_agree(wanted, result):
            constraint = "c2" if element_of(wanted) == element_of(result) else "c3"
            raise VerifyException(f"complex_{constraint}: result has type {result}, expected {wanted}")

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        """complex(real(z), imag(z)) is z."""
        real, imag = (operand.owner for operand in self.operands)
        if not (isinstance(real, RealOp) and isinstance(imag, ImagOp)):
            return None
        whole = real.operands[0]
        return (whole,) if whole is imag.operands[0] and whole.type == self.results[0].type else None

    def reference(self, *operands: Array) -> Array:
        real, imag = operands
        result = np.empty(np.shape(real), dtype=np.complex64 if real.dtype == np.float32 else np.complex128)
        result.real, result.imag = real, imag
        return result


class PartOp(ElementwiseUnaryOp):
    """
    One part of complex numbers.

    Types: float or complex (i1); result real (c2), of the operand's shape (c1).
    """

    KINDS: ClassVar[Kind] = Kind.FLOAT | Kind.COMPLEX
    ELEMENT_CONSTRAINT: ClassVar[str] = "c2"
    COST: ClassVar[int] = CHEAP

    def result_element(self, element_type: Attribute) -> Attribute:
        return part_type(element_type)

    def folded_part(self, index: int) -> Sequence[SSAValue] | None:
        """Part `index` of an operand that hlo.complex defines."""
        owner = self.operands[0].owner
        if isinstance(owner, ComplexOp) and owner.operands[index].type == self.results[0].type:
            return (owner.operands[index],)
        return None


@irdl_op_definition
class RealOp(PartOp):
    """The real part of complex numbers; the identity on floats. Types as in `PartOp`."""

    name = "hlo.real"

    def compute(self, x: Any) -> Any:
        return np.real(x)

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        operand = self.operands[0]
        return (operand,) if operand.type == self.results[0].type else self.folded_part(0)


@irdl_op_definition
class ImagOp(PartOp):
    """The imaginary part of complex numbers; 0 for a float. Types as in `PartOp`."""

    name = "hlo.imag"

    def compute(self, x: Any) -> Any:
        return np.imag(x)

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        return self.folded_part(1)


OPS = (ConvertOp, BitcastConvertOp, ReducePrecisionOp, ComplexOp, RealOp, ImagOp)

"""
Operations that create tensors without operands: constant and iota.

Spec: https://openxla.org/stablehlo/spec
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar, cast

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerAttr, IntegerType, TensorType
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, prop_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure

from ..numbers.number_semantics import convert
from ..op import FREE, HloOp, Role, reject
from ..shapes import is_static
from ..syntax.elementwise import build
from ..syntax.structural import Attributes, finish_functional, print_attributes, print_functional
from ..types import (
    Array,
    HloTensor,
    bit_width,
    constant_array,
    dense_constant,
    element_of,
    i64,
    is_integer,
    is_splat,
    numpy_dtype,
    shape_of,
    tensor_type,
)
from .constraints import check_static
from .elementwise import Kind, check_kind
from .movement import BroadcastInDimOp
from .quantized.types import UniformQuantizedType


@irdl_op_definition
class ConstantOp(HloOp):
    """
    A tensor known at compile time; of a quantized type, the value holds the stored integers.

    Shapes: the result has the value's type, or a quantized one stored in the value's type.
    Raises: VerifyException naming constant_c1.
    Spec:   https://openxla.org/stablehlo/spec#constant
    """

    name = "hlo.constant"
    ROLE: ClassVar[Role | None] = "constant"
    COST: ClassVar[int] = FREE
    value = prop_def(DenseIntOrFPElementsAttr)
    result = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def of(array: Array, type_: HloTensor | None = None) -> ConstantOp:
        """The operation for an array; one element fills a larger `type_` (see `dense_constant`)."""
        value = dense_constant(array, type_)
        return ConstantOp.create(properties={"value": value}, result_types=[value.type])

    @property
    def dense(self) -> DenseIntOrFPElementsAttr[Any]:
        return self.value

    @classmethod
    def parse(cls, parser: Parser) -> ConstantOp:
        if parser.parse_optional_punctuation("(") is not None:
            return cls._parse_with_type(parser)
        attributes = parser.parse_optional_attr_dict()
        position = parser.pos
        value = parser.parse_attribute()
        if not isinstance(value, DenseIntOrFPElementsAttr):
            parser.raise_error(f"expected a dense constant, got {value}", position)
        value = cast("DenseIntOrFPElementsAttr[Any]", value)
        return build(cls, parser, [], ((), value.type), attributes, {"value": value})

    @classmethod
    def _parse_with_type(cls, parser: Parser) -> ConstantOp:
        """`() <{value = dense<1> : tensor<i8>}> : () -> tensor<..>`, also in braces alone, from `)` on."""
        parser.parse_punctuation(")")
        stated: Attributes = {}
        if parser.parse_optional_punctuation("<") is not None:
            stated = parser.parse_optional_attr_dict()
            parser.parse_punctuation(">")
        return finish_functional(cls, parser, [], stated)

    def print(self, printer: Printer) -> None:
        if self.results[0].type != self.dense.type:
            printer.print_string("() <{value = ")
            printer.print_attribute(self.properties["value"])
            printer.print_string("}>")
            print_attributes(printer, self, ("value",))
            print_functional(printer, self)
            return
        print_attributes(printer, self, ("value",))
        printer.print_string(" ")
        printer.print_attribute(self.properties["value"])

    def infer_types(self) -> tuple[Attribute, ...]:
        return (self.dense.type,)

    def verify_(self) -> None:
        element = element_of(self.results[0])
        if isinstance(element, UniformQuantizedType):
            value = cast(Attribute, self.dense.get_element_type())
            stored = is_integer(value) and bit_width(value) == element.storage.width.data
            if not stored or self.dense.get_shape() != shape_of(self.results[0]):
                reject(f"constant_c1: result has type {self.results[0].type}, the value {self.dense.type}")
            return
        self.verify_inferred("constant_c1")

    def reference(self, *operands: Array) -> Array:
        dtype = numpy_dtype(element_of(self.results[0]))
        assert dtype is not None, "the element type was checked by the reader"
        return convert(constant_array(self.dense), dtype)  # the stored integers may be given without their sign


@irdl_op_definition
class IotaOp(HloOp):
    """
    The indices along one dimension: `result[i0, .., in] = i[iota_dimension]`; integers modulo 2 ** width.

    Shapes: the result is free.
    Raises: VerifyException naming iota_c1 or iota_o1.
    Spec:   https://openxla.org/stablehlo/spec#iota
    """

    name = "hlo.iota"
    ROLE: ClassVar[Role | None] = "iota"
    COST: ClassVar[int] = FREE
    COMPUTES: ClassVar[bool] = True
    iota_dimension = prop_def(IntegerAttr[IntegerType])
    result = result_def(TensorType)
    traits = traits_def(Pure())

    @property
    def dimension(self) -> int:
        return self.iota_dimension.value.data

    @classmethod
    def parse(cls, parser: Parser) -> IotaOp:
        parser.parse_keyword("dim")
        parser.parse_punctuation("=")
        dimension = IntegerAttr(parser.parse_integer(), i64)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        return build(cls, parser, [], ((), parser.parse_type()), attributes, {"iota_dimension": dimension})

    def print(self, printer: Printer) -> None:
        printer.print_string(f" dim = {self.dimension}")
        print_attributes(printer, self, ("iota_dimension",))
        printer.print_string(" : ")
        printer.print_attribute(self.results[0].type)

    def infer_types(self) -> tuple[Attribute, ...]:
        return (self.results[0].type,)

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        """The only index of a dimension of size 1 is 0."""
        return splat_like(self.results[0], 0) if shape_of(self.results[0])[self.dimension] == 1 else None

    def verify_(self) -> None:
        check_kind("iota_o1", "result", self.results[0], Kind.NUMBER)
        check_static("iota_o1", self.results[0])
        rank = len(shape_of(self.results[0]))
        if not (0 <= self.dimension < rank):
            reject(f"iota_c1: iota_dimension {self.dimension} is not in [0, {rank}), the result's dimensions")

    def reference(self, *operands: Array) -> Array:
        shape = shape_of(self.results[0])
        indices = convert(np.arange(shape[self.dimension]), self.result_dtype())
        return np.broadcast_to(indices.reshape((-1,) + (1,) * (len(shape) - self.dimension - 1)), shape)


def constant_of(value: SSAValue) -> Array | None:
    """The array of a value defined by a constant; None for any other value."""
    return constant_array(value.owner.dense) if isinstance(value.owner, ConstantOp) else None


def is_splat_op(op: Operation | Block) -> bool:
    """Whether an operation is a constant with one number for all elements."""
    return type(op) is ConstantOp and is_splat(cast("DenseIntOrFPElementsAttr[Any]", op.properties["value"]))


def is_splat_constant(value: SSAValue) -> bool:
    """Whether a constant defines the value, with one number for all elements."""
    return is_splat_op(value.owner)


def splat_of(value: SSAValue) -> Any:
    """The element, a NumPy scalar, of a splat constant, broadcast or not; None for any other value."""
    owner = value.owner
    while type(owner) is BroadcastInDimOp:
        owner = owner.operands[0].owner
    if type(owner) is not ConstantOp or not is_splat(owner.dense):
        return None
    dtype = numpy_dtype(owner.dense.get_element_type())
    return np.frombuffer(owner.dense.data.data, dtype=dtype)[0]


def is_splat_of(value: SSAValue, number: complex) -> bool:
    """Whether the value is a constant that equals `number` everywhere; for floats the signs of zeros must agree."""
    element = splat_of(value)
    if element is None or element != number:
        return False
    if element == 0 and numpy_dtype(element_of(value)) is not None and isinstance(number, float):
        return math.copysign(1, float(element)) == math.copysign(1, number)
    return True


def is_same_constant(x: SSAValue, y: SSAValue) -> bool:
    """Whether two values are constants with the same bits."""
    one, other = x.owner, y.owner
    return type(one) is ConstantOp and type(other) is ConstantOp and one.dense == other.dense


def splat_like(value: SSAValue, number: complex) -> Sequence[Attribute] | None:
    """The return value of `fold` for a splat of `number` of the static type of `value`."""
    dtype, type_ = numpy_dtype(element_of(value)), tensor_type(value)
    if dtype is None or not is_static(type_.get_shape()):
        return None
    return (dense_constant(np.full((1,), number, dtype=dtype), type_),)


OPS = (ConstantOp, IotaOp)

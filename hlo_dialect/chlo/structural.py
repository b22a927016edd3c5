"""Operations of the chlo dialect that are not elementwise: constant, constant_like, top_k."""

from __future__ import annotations

from typing import Any, Self, cast

import numpy as np
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    TensorType,
)
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure

from ..numbers.number_semantics import round_to, total_order_key
from ..op import HloOp, reject
from ..ops.elementwise import Kind, check_kind, kind_of
from ..shapes import DYNAMIC, verify_results_agree
from ..syntax.elementwise import build
from ..syntax.structural import parse_attributes, parse_types, print_attributes, print_types
from ..types import Array, constant_array, element_of, i32, i64, is_float, make_tensor, shape_of
from .base import ANY_RANK


@irdl_op_definition
class ChloConstantOp(HloOp):
    """
    A tensor known at compile time, as hlo.constant.

    Shapes: the result has the value's type.
    Raises: VerifyException naming constant_c1.
    """

    name = "chlo.constant"
    value = prop_def(DenseIntOrFPElementsAttr)
    output = result_def(TensorType)
    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        attributes = parser.parse_optional_attr_dict()
        position = parser.pos
        value: Any = parser.parse_attribute()
        if not isinstance(value, DenseIntOrFPElementsAttr):
            parser.raise_error(f"expected a dense constant, got {value}", position)
        dense = cast("DenseIntOrFPElementsAttr[Any]", value)
        return build(cls, parser, [], ((), dense.type), attributes, {"value": dense})

    def print(self, printer: Printer) -> None:
        print_attributes(printer, self, ("value",))
        printer.print_string(" ")
        printer.print_attribute(self.properties["value"])

    def infer_types(self) -> tuple[Attribute, ...]:
        return (cast("DenseIntOrFPElementsAttr[Any]", self.value).type,)

    def verify_(self) -> None:
        self.verify_inferred("constant_c1")

    def reference(self, *operands: Array) -> Array:
        return constant_array(cast("DenseIntOrFPElementsAttr[Any]", self.value))


@irdl_op_definition
class ConstantLikeOp(HloOp):
    """
    `value`, an integer or a float, in each place of the operand's shape; the operand's elements do not matter.

    Shapes: the result has the operand's shape and the value's type.
    Raises: VerifyException naming constant_like_c1 (the value's type is the result's element type), constant_like_c2.
    """

    name = "chlo.constant_like"
    value = prop_def(IntegerAttr | FloatAttr)
    operand = operand_def(ANY_RANK)
    result = result_def(ANY_RANK)
    traits = traits_def(Pure())

    @property
    def number(self) -> float:
        """The value as a Python number."""
        return cast(Any, self.value).value.data

    def infer_types(self) -> tuple[Attribute, ...]:
        return (make_tensor(shape_of(self.operands[0]), cast(Any, self.value).type),)

    def verify_(self) -> None:
        value_type, result = cast(Any, self.value).type, self.results[0].type
        if value_type != element_of(result):
            reject(f"constant_like_c1: the value has type {value_type}, the result {result}")
        verify_results_agree(self, "constant_like_c2")

    def element(self) -> Array:
        """The value as an array of rank 0."""
        dtype = self.result_dtype()
        number = np.float64(self.number) if is_float(element_of(self.results[0])) else np.asarray(self.number)
        return round_to(number, dtype) if is_float(element_of(self.results[0])) else np.asarray(number).astype(dtype)

    def reference(self, *operands: Array) -> Array:
        return np.broadcast_to(self.element(), operands[0].shape)


@irdl_op_definition
class TopKOp(HloOp):
    """
    The `k` largest elements along the last dimension, in falling order, and their indices; equal ones in their order.

    Floats are in total order: NaN before infinity, +0 before -0, NaN with a sign last.

    Shapes: operand (.., n), values and indices (.., k); indices are i32. Unranked tensors are read, but cannot run.
    Raises: VerifyException naming top_k_i1 (booleans, integers or floats), top_k_c1 (the rank is at least 1), top_k_c2
    (k is not negative), top_k_c3 (nor above n), top_k_c4 (the results' types).
    """

    name = "chlo.top_k"
    operand = operand_def(ANY_RANK)
    k = prop_def(IntegerAttr[IntegerType])
    values = result_def(ANY_RANK)
    indices = result_def(ANY_RANK)
    traits = traits_def(Pure())

    @property
    def count(self) -> int:
        return self.k.value.data

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        parser.parse_punctuation("(")
        operand = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        parser.parse_keyword("k")
        parser.parse_punctuation("=")
        k = IntegerAttr(parser.parse_integer(), i64)
        parser.parse_punctuation(")")
        properties, attributes = parse_attributes(cls, parser, {"k": k})
        parser.parse_punctuation(":")
        position = parser.pos
        operands = parser.resolve_operands([operand], [parser.parse_type()], position)
        parser.parse_punctuation("->")
        with parser.in_parens():
            results = parse_types(parser)
        return cls.create(operands=operands, result_types=results, properties=properties, attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string("(")
        printer.print_operand(self.operands[0])
        printer.print_string(f", k = {self.count})")
        print_attributes(printer, self, ("k",))
        printer.print_string(" : ")
        printer.print_attribute(self.operands[0].type)
        printer.print_string(" -> (")
        print_types(printer, tuple(self.result_types))
        printer.print_string(")")

    def infer_types(self) -> tuple[Attribute, ...]:
        shape, k = shape_of(self.operands[0]), self.count
        if len(shape) <= 0:
            reject("top_k_c1: the operand is a scalar, expected at least one dimension")
        if k < 0:
            reject(f"top_k_c2: k is {k}, which is negative")
        if shape[-1] != DYNAMIC and k > shape[-1]:
            reject(f"top_k_c3: k is {k}, more than the {shape[-1]} elements along the last dimension")
        found = (*shape[:-1], k)
        return (make_tensor(found, element_of(self.operands[0])), make_tensor(found, i32))

    def verify_(self) -> None:
        check_kind("top_k_i1", "operand", self.operands[0], Kind.BOOLEAN | Kind.INTEGER | Kind.FLOAT)
        verify_results_agree(self, "top_k_c4")

    def reference(self, *operands: Array) -> tuple[Array, ...]:
        (operand,) = operands
        keys: Any = operand
        if kind_of(element_of(self.operands[0])) is Kind.FLOAT:
            keys = total_order_key(operand)
        elif operand.dtype.isbuiltin != 1:
            keys = operand.astype(np.int64)
        order = np.argsort(~keys, axis=-1, kind="stable")[..., : self.count]
        return np.take_along_axis(operand, order, axis=-1), order.astype(np.int32)


OPS = (ChloConstantOp, ConstantLikeOp, TopKOp)

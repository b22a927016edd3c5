"""
Base classes of the elementwise operations: their element kinds, type inference, and reference execution.

A simple operation is a class with a name, a docstring, its `KINDS` and a one-line `compute`; everything else is here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import Flag, auto
from typing import Any, ClassVar

import numpy as np
from xdsl.dialects.builtin import AnyFloat, ComplexType, TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import operand_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ..numbers.number_semantics import round_to, working
from ..op import Role, reject
from ..shapes import merge_dim, shapes_agree, sizes_agree, types_agree
from ..syntax.elementwise import SameTypeOp
from ..types import (
    Array,
    element_of,
    is_boolean,
    is_declared_signed,
    is_integer,
    is_unsigned,
    make_tensor,
    numpy_dtype,
    shape_of,
    tensor_type,
)


class Kind(Flag):
    """The kinds of elements that the spec's input constraints distinguish."""

    NONE = 0
    BOOLEAN = auto()
    SIGNED = auto()
    UNSIGNED = auto()
    FLOAT = auto()
    COMPLEX = auto()
    INTEGER = SIGNED | UNSIGNED
    NUMBER = INTEGER | FLOAT | COMPLEX
    ANY = BOOLEAN | NUMBER


_KIND_NAMES = (
    (Kind.BOOLEAN, "boolean"),
    (Kind.INTEGER, "integer"),
    (Kind.SIGNED, "signed integer"),
    (Kind.UNSIGNED, "unsigned integer"),
    (Kind.FLOAT, "float"),
    (Kind.COMPLEX, "complex"),
)


def kind_of(element_type: Attribute) -> Kind:
    """
    The kind of an element type; NONE for a type that no operation takes, such as si32 or f80. A signless integer is
    signed.
    """
    facts: dict[str, Kind] = vars(element_type)
    kind = facts.get("_kind")
    if kind is None:
        # As functools.cached_property keeps what it computes: hashes of types take longer than all else here.
        kind = facts["_kind"] = _kind_of(element_type)
    return kind


def _kind_of(element_type: Attribute) -> Kind:
    if numpy_dtype(element_type) is None or is_declared_signed(element_type):
        return Kind.NONE
    if is_boolean(element_type):
        return Kind.BOOLEAN
    if is_integer(element_type):
        return Kind.UNSIGNED if is_unsigned(element_type) else Kind.SIGNED
    if isinstance(element_type, AnyFloat):
        return Kind.FLOAT
    return Kind.COMPLEX if isinstance(element_type, ComplexType) else Kind.NONE


def kind_text(kinds: Kind) -> str:
    """`signed integer, float or complex`"""
    names: list[str] = []
    for kind, name in _KIND_NAMES:
        if kind in kinds:
            names.append(name)
            kinds &= ~kind
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def check_kind(constraint: str, name: str, value: SSAValue, kinds: Kind) -> None:
    """Check the element type of one operand or result; `constraint` is its number in the spec (`abs_i1`)."""
    element_type = element_of(value)
    kind = kind_of(element_type)
    if kind not in kinds or kind is Kind.NONE:
        reject(f"{constraint}: {name} has element type {element_type}, expected {kind_text(kinds)}")


def merged_shape(constraint: str, *operands: tuple[str, SSAValue]) -> tuple[int, ...]:
    """
    The common shape of named operands; known dimensions take precedence over unknown ones. Raises VerifyException.
    """
    first_name, first = operands[0]
    merged = shape_of(first)
    for name, value in operands[1:]:
        shape = shape_of(value)
        if shape != merged:
            if not (shapes_agree(merged, shape) and sizes_agree(tensor_type(first), tensor_type(value))):
                raise VerifyException(
                    f"{constraint}: {first_name} and {name} have different shapes: {first.type} and {value.type}"
                )
            merged = tuple(map(merge_dim, merged, shape))
    return merged


class ElementwiseOp(SameTypeOp):
    """
    An operation whose result element depends on the operands' elements at the same index alone.

    A reference computes on operands widened by `working`: narrow floats to f32, or all floats to f64 if the operation
    is `WIDE` (transcendental: one rounding at the end). `rounded` converts the result back.
    """

    KINDS: ClassVar[Kind] = Kind.ANY
    """The kinds of operands that are allowed."""
    WIDE: ClassVar[bool] = False
    ROLE: ClassVar[Role | None] = "elementwise"
    COMPUTES: ClassVar[bool] = True

    result = result_def(TensorType)
    traits = traits_def(Pure())

    def flops(self) -> int:
        return math.prod(shape_of(self.results[0]))

    def rounded(self, function: Callable[..., Any], operands: tuple[Array, ...]) -> Array:
        """`function` of the widened operands, rounded to the result's element type, without NumPy's warnings."""
        dtype = self.result_dtype()
        with np.errstate(all="ignore"):
            return round_to(function(*(working(operand, self.WIDE) for operand in operands)), dtype)


class ElementwiseUnaryOp(ElementwiseOp):
    """An elementwise operation of one operand; the result has its shape, and its element type unless overridden."""

    ELEMENT_CONSTRAINT: ClassVar[str] = "c1"
    """The number of the constraint that fixes the result's element type."""

    operand = operand_def(TensorType)

    def compute(self, x: Any) -> Any:
        """The result in NumPy on a widened operand, as an array or a NumPy scalar."""
        raise NotImplementedError(f"{self.name} has no reference semantics")

    def reference(self, *operands: Array) -> Array:
        return self.rounded(self.compute, operands)

    def result_element(self, element_type: Attribute) -> Attribute:
        """The result's element type for the operand's."""
        return element_type

    def infer_types(self) -> tuple[Attribute, ...]:
        operand = self.operands[0].type
        element_type = element_of(operand)
        result_element = self.result_element(element_type)
        return (operand if result_element is element_type else make_tensor(shape_of(operand), result_element),)

    def verify_(self) -> None:
        check_kind(f"{self.mnemonic}_i1", "operand", self.operands[0], self.KINDS)
        wanted = self.infer_types()[0]
        result = self.results[0].type
        if wanted is result or types_agree(wanted, result):
            return
        same_elements = element_of(wanted) == element_of(result)
        constraint = "c1" if same_elements else self.ELEMENT_CONSTRAINT
        raise VerifyException(f"{self.mnemonic}_{constraint}: result has type {result}, expected {wanted}")


class ElementwiseBinaryOp(ElementwiseOp):
    """An elementwise operation of two operands and a result of one type."""

    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)

    def compute(self, x: Any, y: Any) -> Any:
        """The result in NumPy on widened operands (lhs, rhs), as an array or a NumPy scalar."""
        raise NotImplementedError(f"{self.name} has no reference semantics")

    def reference(self, *operands: Array) -> Array:
        return self.rounded(self.compute, operands)

    def infer_types(self) -> tuple[Attribute, ...]:
        lhs, rhs = self.operands[0].type, self.operands[1].type
        if lhs is rhs or lhs == rhs:
            return (lhs,)
        constraint = f"{self.mnemonic}_c1"
        if element_of(lhs) != element_of(rhs):
            raise VerifyException(f"{constraint}: lhs and rhs have different types: {lhs} and {rhs}")
        shape = merged_shape(constraint, ("lhs", self.operands[0]), ("rhs", self.operands[1]))
        return (make_tensor(shape, element_of(lhs)),)

    def verify_(self) -> None:
        check_kind(f"{self.mnemonic}_i1", "lhs", self.operands[0], self.KINDS)
        wanted = self.infer_types()[0]
        result = self.results[0].type
        if not (wanted is result or types_agree(wanted, result)):
            reject(f"{self.mnemonic}_c1: result has type {result}, expected {wanted}")

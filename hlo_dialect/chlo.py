"""
The chlo dialect: functions that JAX leaves whole and that decompose into hlo (`convert-chlo-to-hlo`).

They stand here and not among `dialects/` because they are operations like hlo's: one base class, types, references.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from xdsl.irdl import irdl_op_definition
from xdsl.parser import Parser
from xdsl.printer import Printer

from .elementwise import ElementwiseUnaryOp, Kind
from .syntax import build, parse_function_types, parse_operands, print_attr_dict, print_operands


class ChloUnaryOp(ElementwiseUnaryOp):
    """A unary function whose type list is `: t -> t`."""

    KINDS: ClassVar[Kind] = Kind.FLOAT
    WIDE: ClassVar[bool] = True

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        operands = parse_operands(parser, 1)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        types = parse_function_types(parser)
        if types is None:
            operand = parser.parse_type()
            parser.parse_punctuation("->")
            types = (operand,), parser.parse_type()
        return build(cls, parser, operands, types, attributes)

    def print(self, printer: Printer) -> None:
        print_operands(printer, self)
        print_attr_dict(printer, self)
        printer.print_string(" : ")
        printer.print_attribute(self.operands[0].type)
        printer.print_string(" -> ")
        printer.print_attribute(self.results[0].type)


def _by_element(function: Callable[[float], float], x: Any) -> Any:
    """A function of Python floats on an f64 array."""
    return np.asarray(np.frompyfunc(function, 1, 1)(x), dtype=np.float64)


@irdl_op_definition
class SquareOp(ChloUnaryOp):
    """x * x. Types: integer, float or complex (i1), result as the operand (c1)."""

    name = "chlo.square"
    KINDS: ClassVar[Kind] = Kind.NUMBER
    WIDE: ClassVar[bool] = False

    def compute(self, x: Any) -> Any:
        return np.multiply(x, x)


@irdl_op_definition
class ErfOp(ChloUnaryOp):
    """The error function, 2 / sqrt(pi) times the integral of e ** -(t * t) from 0 to x. Types: float (i1, c1)."""

    name = "chlo.erf"

    def compute(self, x: Any) -> Any:
        return _by_element(math.erf, x)


@irdl_op_definition
class ErfcOp(ChloUnaryOp):
    """1 - erf(x), with full relative precision where that is tiny. Types: float (i1, c1)."""

    name = "chlo.erfc"

    def compute(self, x: Any) -> Any:
        return _by_element(math.erfc, x)


OPS = (SquareOp, ErfOp, ErfcOp)

"""Single elements in the notation in which special functions are written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast, final

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import FloatAttr, UnitAttr
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Operation

from ...dialects.arith_ops import RemFOp
from ...dialects.support.kernel import NOT_ABOVE_ZERO
from ...dialects.support.scalar import Scalar, width_of
from ...hlo_dialect.expressions.real import Real

CONTRACT = arith.FastMathFlagsAttr([FastMathFlag.ALLOW_CONTRACT])


def _unary(function: Callable[[Scalar], Scalar]) -> Callable[[Element], Element]:
    def method(self: Element) -> Element:
        return Element(function(self.scalar))

    return method


def _binary(function: Callable[[Scalar, Any], Scalar]) -> Callable[[Element, Element | float], Element]:
    def method(self: Element, other: Element | float) -> Element:
        return Element(function(self.scalar, _operand(other)))

    return method


def _reflected(function: Callable[[Scalar, Any], Scalar]) -> Callable[[Element, float], Element]:
    def method(self: Element, other: float) -> Element:
        return Element(function(self.scalar.constant(other), self.scalar))

    return method


def _operand(value: Element | float) -> Scalar | float:
    return value.scalar if isinstance(value, Element) else value


def _applied(cls: type[Operation]) -> Any:
    def function(x: Scalar, *others: Scalar | float) -> Scalar:
        return x.apply(cls, *others)

    return function


def _compared(predicate: str) -> Callable[[Element, Element | float], Element]:
    return _binary(lambda x, y: x.compare(predicate, y))


@final
class Element(Real):
    """A scalar in the notation of `Real`."""

    __slots__ = ("scalar",)

    def __init__(self, scalar: Scalar):
        self.scalar = scalar

    @property
    def element(self) -> Attribute:
        return self.scalar.type

    @property
    def known(self) -> float | None:
        """The number of a constant, as it is or converted."""
        owner = self.scalar.value.owner
        while isinstance(owner, arith.ExtFOp):
            owner = owner.operands[0].owner
        if not isinstance(owner, arith.ConstantOp) or not isinstance(owner.value, FloatAttr):
            return None
        return cast("FloatAttr[Any]", owner.value).value.data

    def like(self, number: float) -> Element:
        return Element(self.scalar.constant(number))

    __add__, __radd__ = _binary(Scalar.__add__), _reflected(Scalar.__add__)
    __sub__, __rsub__ = _binary(Scalar.__sub__), _reflected(Scalar.__sub__)
    __mul__, __rmul__ = _binary(Scalar.__mul__), _reflected(Scalar.__mul__)
    __truediv__, __rtruediv__ = _binary(Scalar.__truediv__), _reflected(Scalar.__truediv__)
    __mod__ = _binary(_applied(RemFOp))
    __pow__ = _binary(_applied(math.PowFOp))
    __neg__ = _unary(Scalar.__neg__)
    __abs__ = _unary(Scalar.abs)
    __and__ = _binary(Scalar.__and__)
    __or__ = _binary(Scalar.__or__)
    __lshift__ = _binary(Scalar.__lshift__)
    __rshift__ = _binary(Scalar.shift_right_logical)
    minimum = _binary(_applied(arith.MinimumfOp))
    atan2 = _binary(_applied(math.Atan2Op))
    exponential = _unary(_applied(math.ExpOp))
    exponential_minus_one = _unary(_applied(math.ExpM1Op))
    floor = _unary(_applied(math.FloorOp))
    log = _unary(_applied(math.LogOp))
    log_plus_one = _unary(_applied(math.Log1pOp))
    round = _unary(Scalar.round_even)
    sine = _unary(_applied(math.SinOp))
    sqrt = _unary(Scalar.sqrt)
    tan = _unary(_applied(math.TanOp))
    __lt__ = _compared("lt")
    __le__ = _compared("le")
    __gt__ = _compared("gt")
    __ge__ = _compared("ge")
    equals = _compared("eq")

    def is_nan(self) -> Element:
        return Element(self.scalar.compare("uno", self.scalar))

    def select(self, on_true: Element | float, on_false: Element | float) -> Element:
        return Element(self.scalar.select(_operand(on_true), _operand(on_false)))

    def exponential_of_negative(self) -> Element:
        result = (-self).exponential()
        cast(Operation, result.scalar.value.owner).attributes[NOT_ABOVE_ZERO] = UnitAttr()
        return result

    def multiply_add(self, factor: Element | float, addend: Element | float) -> Element:
        product = self * factor
        total = product + addend
        for each in (product, total):
            cast(Operation, each.scalar.value.owner).properties["fastmath"] = CONTRACT
        return total

    def convert(self, element: Attribute) -> Element:
        x = self.scalar
        if x.type == element:
            return self
        return Element(x.extend(element) if width_of(element) > width_of(x.type) else x.truncate(element))

    def bits_as(self, element: Attribute) -> Element:
        return Element(self.scalar.bitcast(element))

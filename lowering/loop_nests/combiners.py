"""Reduction bodies that combine by a known associative operation, and that operation's neutral element."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, FloatAttr, IntegerAttr, IntegerType
from xdsl.dialects.linalg.ops import YieldOp
from xdsl.ir import Attribute, Operation, SSAValue

from .loop_builder import LoopBuilder
from .nest import Nest

Scalar: TypeAlias = IntegerAttr[Any] | FloatAttr[Any]


def _float(value: float) -> Callable[[Any], Scalar]:
    def make(type_: AnyFloat) -> Scalar:
        return FloatAttr(value, type_)

    return make


def _integer(value: Callable[[int], int]) -> Callable[[Any], Scalar]:
    def make(type_: IntegerType) -> Scalar:
        width = type_.width.data
        # A constant of type i1 is 0 or -1 as a signed number.
        return IntegerAttr(value(width), type_, truncate_bits=True)

    return make


NEUTRAL: dict[type[Operation], Callable[[Any], Scalar]] = {
    # -0.0, not 0.0: adding it leaves every number unchanged, including -0.0.
    arith.AddfOp: _float(-0.0),
    arith.MulfOp: _float(1.0),
    arith.MaximumfOp: _float(-math.inf),
    arith.MinimumfOp: _float(math.inf),
    arith.AddiOp: _integer(lambda _: 0),
    arith.MuliOp: _integer(lambda _: 1),
    arith.MaxSIOp: _integer(lambda width: -(1 << (width - 1))),
    arith.MinSIOp: _integer(lambda width: (1 << (width - 1)) - 1),
    arith.MaxUIOp: _integer(lambda _: 0),
    arith.MinUIOp: _integer(lambda _: -1),
    arith.AndIOp: _integer(lambda _: -1),
    arith.OrIOp: _integer(lambda _: 0),
    arith.XOrIOp: _integer(lambda _: 0),
}


class Combiner:
    """One output's combining operation, which takes the output's present value and the new element."""

    def __init__(self, op: Operation):
        self.op = op
        self.type: Attribute = op.results[0].type

    @property
    def is_float_sum(self) -> bool:
        return isinstance(self.op, arith.AddfOp)

    def neutral(self, builder: LoopBuilder) -> SSAValue:
        return builder.scalar(NEUTRAL[type(self.op)](self.type))

    def copy(self, lhs: SSAValue, rhs: SSAValue) -> Operation:
        """The combining operation on other operands, or on vectors of them."""
        return type(self.op).create(
            operands=[lhs, rhs],
            result_types=[lhs.type],
            properties=self.op.properties,
            attributes=self.op.attributes,
            location=self.op.location,
        )

    def combine(self, builder: LoopBuilder, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        return builder.insert(self.copy(lhs, rhs)).results[0]


def known_combiners(nest: Nest) -> list[Combiner] | None:
    """A combiner per output; None unless each yields `known_op(its own present value, something else)`."""
    if nest.body is None or not isinstance(nest.body.last_op, YieldOp):
        return None
    outputs = nest.body.args[len(nest.inputs) :]
    found: list[Combiner] = []
    for argument, value in zip(outputs, nest.body.last_op.operands, strict=True):
        op = value.owner
        if not isinstance(op, Operation) or type(op) not in NEUTRAL or op.parent is not nest.body:
            return None
        use = argument.get_user_of_unique_use()
        if use is not op or not value.has_one_use():
            return None
        found.append(Combiner(op))
    return found

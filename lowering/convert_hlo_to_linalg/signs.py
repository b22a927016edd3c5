"""Signs that follow from how a value is computed: squares, sizes, constants and sums of such."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from xdsl.ir import Operation, SSAValue

from ...hlo_dialect.ops import elementwise_binary as binary
from ...hlo_dialect.ops import elementwise_unary as unary
from ...hlo_dialect.ops.comparison import SelectOp
from ...hlo_dialect.ops.conversion import ConvertOp
from ...hlo_dialect.ops.creation import splat_of
from ...hlo_dialect.ops.movement import BroadcastInDimOp, ReshapeOp, ReverseOp, TransposeOp
from ...hlo_dialect.ops.reduction import ReduceOp, single_combiner
from ...hlo_dialect.ops.slicing import ConcatenateOp, SliceOp
from ...hlo_dialect.types import element_of, is_float, is_unsigned


class Signs(NamedTuple):
    """The signs that elements of a value may have; each may be zero or NaN besides."""

    positive: bool
    negative: bool
    minus_zero: bool
    """Whether a zero may have a sign, which decides what an element divided by it is."""


_ANY, _NOT_NEGATIVE = Signs(True, True, True), Signs(True, False, False)

_DEPTH = 12
"""Operations that are looked at in turn."""

_Known = dict[SSAValue, Signs]
_Rule = Callable[[Any, Callable[[SSAValue], Signs]], Signs]


def is_not_above_zero(value: SSAValue) -> bool:
    """Whether each element of a tensor of floats is at most zero, or NaN."""
    return not _signs(value, {}, _DEPTH).positive


def _signs(value: SSAValue, known: _Known, depth: int) -> Signs:
    found = known.get(value)
    if found is None:
        known[value] = found = _computed(value, known, depth)
    return found


def _computed(value: SSAValue, known: _Known, depth: int) -> Signs:
    op = value.owner
    if not isinstance(op, Operation) or not depth:
        return _ANY
    number = splat_of(value)
    if number is not None:
        return _of_number(number) if is_float(element_of(value)) else _ANY
    rule = _RULES.get(type(op))
    return _ANY if rule is None else rule(op, lambda operand: _signs(operand, known, depth - 1))


def _of_number(number: Any) -> Signs:
    return Signs(bool(number > 0), bool(number < 0), bool(number == 0 and np.signbit(number)))


def _either(*all_signs: Signs) -> Signs:
    return Signs(*(any(signs) for signs in zip(*all_signs, strict=True)))


def _negated(x: Signs) -> Signs:
    return Signs(x.negative, x.positive, True)


def _product(x: Signs, y: Signs) -> Signs:
    positive = (x.positive and y.positive) or (x.negative and y.negative)
    negative = (x.positive and y.negative) or (x.negative and y.positive)
    return Signs(positive, negative, any((x.negative, x.minus_zero, y.negative, y.minus_zero)))


def _multiply(op: binary.MultiplyOp, signs: Callable[[SSAValue], Signs]) -> Signs:
    """A factor that occurs twice makes a square, as in `(-0.5 * x) * x`."""
    x, y = op.operands
    if x is y:
        return _NOT_NEGATIVE
    for product, factor in ((x, y), (y, x)):
        inner = product.owner
        if type(inner) is binary.MultiplyOp and factor in inner.operands:
            a, b = inner.operands
            return _product(signs(b if a is factor else a), _NOT_NEGATIVE)
    return _product(signs(x), signs(y))


def _divide(op: binary.DivideOp, signs: Callable[[SSAValue], Signs]) -> Signs:
    number = splat_of(op.operands[1])
    if number is not None and number != 0:
        return _product(signs(op.operands[0]), _of_number(number))
    divisor = signs(op.operands[1])
    if divisor.negative or divisor.minus_zero:
        return _ANY
    return _product(signs(op.operands[0]), divisor._replace(positive=True))


def _add(op: binary.AddOp, signs: Callable[[SSAValue], Signs]) -> Signs:
    x, y = map(signs, op.operands)
    return _either(x, y)._replace(minus_zero=x.minus_zero and y.minus_zero)


def _subtract(op: binary.SubtractOp, signs: Callable[[SSAValue], Signs]) -> Signs:
    x, y = map(signs, op.operands)
    return _either(x, _negated(y))._replace(minus_zero=x.minus_zero)


def _maximum(op: binary.MaximumOp, signs: Callable[[SSAValue], Signs]) -> Signs:
    x, y = map(signs, op.operands)
    return _either(x, y)._replace(negative=x.negative and y.negative)


def _minimum(op: binary.MinimumOp, signs: Callable[[SSAValue], Signs]) -> Signs:
    x, y = map(signs, op.operands)
    return _either(x, y)._replace(positive=x.positive and y.positive)


def _same(op: Any, signs: Callable[[SSAValue], Signs]) -> Signs:
    return signs(op.operands[0])


def _convert(op: ConvertOp, signs: Callable[[SSAValue], Signs]) -> Signs:
    source = element_of(op.operands[0])
    if is_float(source):
        return signs(op.operands[0])
    return _NOT_NEGATIVE if is_unsigned(source) else _ANY


def _reduce(op: ReduceOp, signs: Callable[[SSAValue], Signs]) -> Signs:
    """Sums and extremes of elements have the signs that these have."""
    combines = (binary.AddOp, binary.MaximumOp, binary.MinimumOp)
    if op.input_count != 1 or type(single_combiner(op.body)) not in combines:
        return _ANY
    return _either(*map(signs, op.operands))


_RULES: dict[type[Operation], _Rule] = {
    binary.AddOp: _add,
    binary.DivideOp: _divide,
    binary.MaximumOp: _maximum,
    binary.MinimumOp: _minimum,
    binary.MultiplyOp: _multiply,
    binary.SubtractOp: _subtract,
    unary.AbsOp: lambda op, signs: _NOT_NEGATIVE,
    unary.ExponentialOp: lambda op, signs: _NOT_NEGATIVE,
    unary.LogisticOp: lambda op, signs: _NOT_NEGATIVE,
    unary.NegateOp: lambda op, signs: _negated(signs(op.operands[0])),
    unary.SqrtOp: lambda op, signs: signs(op.operands[0])._replace(positive=True, negative=False),
    SelectOp: lambda op, signs: _either(*map(signs, op.operands[1:])),
    ConcatenateOp: lambda op, signs: _either(*map(signs, op.operands)),
    ConvertOp: _convert,
    ReduceOp: _reduce,
    **dict.fromkeys((BroadcastInDimOp, ReshapeOp, ReverseOp, SliceOp, TransposeOp), _same),
}

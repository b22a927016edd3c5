"""Rules for integers: quotients and remainders by powers of two, and powers, as shifts, masks and products."""

from __future__ import annotations

from xdsl.ir import Operation

from ...hlo_dialect.expressions.tensor import Tensor
from ...hlo_dialect.ops.creation import splat_of
from ...hlo_dialect.ops.elementwise_binary import DivideOp, PowerOp, RemainderOp
from ...hlo_dialect.shapes import is_static
from ...hlo_dialect.types import bit_width, element_of, is_integer, is_unsigned, shape_of
from .rewrite import Rewrite, by, simplifications, start

LARGEST_POWER = 32
"""The largest exponent for which products are cheaper than a loop."""


def _integer(op: Operation) -> int | None:
    """The number that the second operand of an operation on integers of static shape is everywhere."""
    element = element_of(op.results[0])
    if not is_integer(element) or bit_width(element) < 8 or not is_static(shape_of(op.results[0])):
        return None
    number = splat_of(op.operands[1])
    return None if number is None else int(number)


def _shift(op: Operation) -> int | None:
    """The k for which the second operand is 2**k, of at least 2."""
    number = _integer(op)
    return number.bit_length() - 1 if number is not None and number > 1 and number & (number - 1) == 0 else None


def _rounding(x: Tensor, shift: int) -> Tensor:
    """x, plus 2**shift - 1 if it is negative: a division by shifting then rounds towards zero."""
    bits = bit_width(x.element)
    return x + (x.shift_right_arithmetic(bits - 1) >> bits - shift)


@simplifications.on(DivideOp)
def divide_by_power_of_two(op: Operation) -> Rewrite | None:
    """A quotient of integers by 2**k is a shift by k, of negative ones after adding 2**k - 1."""
    shift = _shift(op)
    if shift is None:
        return None
    x = start(op.operands[0])
    if is_unsigned(x.element):
        return by(x >> shift)
    return by(_rounding(x, shift).shift_right_arithmetic(shift))


@simplifications.on(RemainderOp)
def remainder_of_power_of_two(op: Operation) -> Rewrite | None:
    """A remainder of integers by 2**k is the last k bits, of negative ones minus what makes their quotient whole."""
    shift = _shift(op)
    if shift is None:
        return None
    x = start(op.operands[0])
    if is_unsigned(x.element):
        return by(x & (1 << shift) - 1)
    return by(x - (_rounding(x, shift) & -(1 << shift)))


@simplifications.on(PowerOp)
def integer_power(op: Operation) -> Rewrite | None:
    """A power of integers with a known exponent is a product of squares."""
    exponent = _integer(op)
    if exponent is None or not 0 <= exponent <= LARGEST_POWER:
        return None
    square = start(op.operands[0])
    product: Tensor | None = None
    while exponent:
        if exponent & 1:
            product = square if product is None else product * square
        exponent >>= 1
        square = square * square if exponent else square
    return by(square.like(1) if product is None else product)

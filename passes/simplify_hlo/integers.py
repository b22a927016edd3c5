"""
Rules for integers: quotients and remainders by powers of two, and powers, as shifts, masks and products; reductions of
which only the last bits are used.
"""

from __future__ import annotations

from xdsl.ir import Operation

from ...hlo_dialect.expressions.tensor import Tensor
from ...hlo_dialect.ops.conversion import ConvertOp
from ...hlo_dialect.ops.creation import splat_of
from ...hlo_dialect.ops.elementwise_binary import AddOp, AndOp, DivideOp, MultiplyOp, OrOp, PowerOp, RemainderOp, XorOp
from ...hlo_dialect.ops.reduction import ReduceOp, single_combiner
from ...hlo_dialect.shapes import is_static
from ...hlo_dialect.types import bit_width, element_of, is_integer, is_unsigned, shape_of
from .rewrite import Rewrite, by, simplifications, start

LARGEST_POWER = 32
"""The largest exponent for which products are cheaper than a loop."""

_FROM_LAST_BITS = (AddOp, AndOp, MultiplyOp, OrOp, XorOp)
"""Operations whose last bits follow from those of their operands."""

LEAST_ROW = 16
"""Elements of a row from which its sum gains from a narrow type: LLVM adds up shorter ones in one vector anyway."""


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


@simplifications.on(ConvertOp)
def reduce_in_narrow_integers(op: Operation) -> Rewrite | None:
    """
    `convert(reduce(convert(x)))` of integers that are widened for the reduction, and of whose result the last bits are
    kept, reduces these bits: as many more elements fit in a vector.

    Sums, products and bitwise operations of integers do not carry from higher bits to lower ones.
    """
    reduce, last = op.operands[0].owner, element_of(op.results[0])
    if not isinstance(reduce, ReduceOp) or len(reduce.inputs) != 1 or not op.operands[0].has_one_use():
        return None
    widened, wide = reduce.inputs[0].owner, element_of(reduce.inputs[0])
    combiner = single_combiner(reduce.body)
    if not isinstance(widened, ConvertOp) or not isinstance(combiner, _FROM_LAST_BITS):
        return None
    first = element_of(widened.operands[0])
    if not all(map(is_integer, (first, wide, last))) or element_of(reduce.outs[0]) != wide:
        return None
    if not max(8, bit_width(first)) <= bit_width(last) < bit_width(wide):
        return None
    shape = shape_of(widened.operands[0])
    if len(shape) - 1 in reduce.dims and shape[-1] < LEAST_ROW:
        return None
    x, init = start(widened.operands[0]), reduce.init_values[0]
    return by(x.convert(last).reduce(type(combiner), Tensor(x.builder, init).convert(last), reduce.dims))

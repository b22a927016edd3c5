"""
The least numbers of panels of bf16: whether one instruction adds the products of two panels as f32 arithmetic does.

`cpu.dot` takes subnormal numbers, also those that it computes, for zeros. Factors are multiples of their last bits, so
that their products, and sums of these, are multiples of the product of the least last bits: where this is at least the
least normal number, nothing that the instruction computes is subnormal. Other panels are widened, and their products
added in the same order, so that the result has the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i16
from xdsl.ir import SSAValue

from ...dialects.support.scalar import Scalar, scalar_attr
from ..loop_nests.kernel_builder import Index
from ..loop_nests.loop_builder import LoopBuilder
from .vectors import VectorBuilder

MAGNITUDE = i16
"""The type of a panel's least number: the bits of a bf16 without its sign, minus one, so that zero is the greatest."""

NO_SIGN = 0x7FFF

EXPONENT = 7
"""The place of the exponent in the bits of a bf16."""

NORMAL_SUM = 2 * 127 + 2 * EXPONENT - 126
"""
The least sum of the exponents of two factors, with their biases, whose last bits' product is a normal number of f32.
"""

LEAST_CONSTANT = NORMAL_SUM // 2
"""The least exponent of a constant that is packed by the compiler."""


def emit_least(builder: LoopBuilder, parameters: Sequence[SSAValue], lanes: int) -> None:
    """
    The body of a function of a panel, its first element, the number of elements, and an element of a buffer: it stores
    the panel's least number there, but for zeros. `lanes`: elements of a vector.
    """
    panel, begin, elements, target, at = parameters
    begin, count = builder.index(begin), builder.index(elements)
    vectors = VectorBuilder(builder)
    whole = count // lanes * lanes

    def least(carried: SSAValue, first: Index, length: int) -> SSAValue:
        view = builder.strided_view(panel, begin + first, (length,), (1,))
        bits = vectors.bitcast(vectors.load(view, [0], length), MAGNITUDE, length)
        without_sign, one = (vectors.splat(builder.scalar(scalar_attr(n, MAGNITUDE)), length) for n in (NO_SIGN, 1))
        return vectors.least(carried, vectors.subtract(vectors.conjunction(bits, without_sign), one))

    greatest = builder.scalar(scalar_attr(-1, MAGNITUDE))
    with builder.loop(0, whole, step=lanes, carry=[vectors.splat(greatest, lanes)]) as (first, found):
        builder.yield_(least(found[0], first, lanes))
    length, halves = lanes, found[0]
    while length > 1:
        length //= 2
        halves = vectors.least(*(vectors.part(halves, start, length) for start in (0, length)))
    with builder.loop(whole, count, carry=[halves]) as (first, found):
        builder.yield_(least(found[0], first, 1))
    vectors.store(found[0], target, [builder.index(at)])


def are_normal(builder: LoopBuilder, numbers: Sequence[tuple[SSAValue, Index] | None]) -> Scalar | None:
    """
    Whether no products and sums of two panels are subnormal, from the buffers and indices of their least numbers, which
    panels of constants lack; None if both are constants.
    """
    total: Index = 0
    normal: Scalar | None = None
    for place in numbers:
        if place is None:
            total += LEAST_CONSTANT
            continue
        exponent = builder.to_index(builder.load(place[0], [place[1]]), unsigned=True) >> EXPONENT
        each = exponent.compare("ugt", 0)
        normal = each if normal is None else normal & each
        total = exponent + total
    return None if normal is None else normal & builder.index(total).compare("uge", NORMAL_SUM)

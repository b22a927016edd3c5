"""
Division of vectors of 64-bit integers whose quotients are small, such as products modulo numbers of 32 bits.

Processors have no such instruction, and divide the lanes one by one. The quotient of two integers as floats, rounded to
an integer, differs from the quotient by one at most if it has fewer bits than f64: the remainder tells.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from xdsl.dialects import arith, scf, vector
from xdsl.dialects.builtin import VectorType, f64, i64
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...dialects.support.attributes import return_op
from ...dialects.support.scalar import NO_FASTMATH, Scalar, constant

QUOTIENT_BITS = 50
"""Three roundings move a quotient of so many bits by 3/8, and its own to an integer by 1/2."""

_LOW, _HIGH = 1 << 52, 1 << 84
"""Floats whose last 32 bits are an integer in units of 1, and of 2^32."""

_NEAREST = 3 << 51
"""A float whose last 51 bits are an integer, with its sign, to which sums are rounded."""


class Lanes(Scalar):
    """A vector of i64 or f64."""

    __slots__ = ()

    def _at(self, value: SSAValue) -> Lanes:
        return Lanes(self.block, value)

    def _of(self, element: Attribute) -> VectorType[Attribute]:
        type_: Attribute = self.value.type
        assert isinstance(type_, VectorType)
        return VectorType(element, type_.shape)

    @property
    def is_float(self) -> bool:
        return self.type == self._of(f64)

    def constant(self, value: float | int, type_: Attribute | None = None) -> Lanes:
        element = f64 if self.is_float else i64
        lanes = vector.BroadcastOp(constant(self.block, value, element).value, self._of(element))
        self.block.add_op(lanes)
        return self._at(lanes.results[0])

    def bits(self) -> Scalar:
        return self.bitcast(self._of(i64))

    def joined(self, base: int) -> Scalar:
        """The floats base + x units, for x below 2^32."""
        return (self | _bits_of(base)).bitcast(self._of(f64))

    def to_nearest_float(self) -> Scalar:
        """Integers without a sign, rounded once: the upper and the lower half are exact."""
        high, low = self.shift_right_logical(32), self & 0xFFFFFFFF
        assert isinstance(high, Lanes) and isinstance(low, Lanes)
        return high.joined(_HIGH) - float(_HIGH + _LOW) + low.joined(_LOW)


def _bits_of(number: float) -> int:
    return int.from_bytes(struct.pack("<d", number), "little")


def _magnitude(x: Lanes) -> tuple[Lanes, Scalar]:
    """|x| without a sign, and the sign: 0 or -1."""
    sign = x >> 63
    size = (x ^ sign) - sign
    assert isinstance(size, Lanes)
    return size, sign


def divide(x: Lanes, y: Lanes, signed: bool, remainder: bool) -> tuple[Scalar, Scalar]:
    """The quotients or remainders, and numbers that are negative where these are not to be trusted."""
    size_x, sign_x = _magnitude(x) if signed else (x, x)
    size_y, sign_y = _magnitude(y) if signed else (y, y)
    ratio = size_x.to_nearest_float() / size_y.to_nearest_float()
    # Infinity and NaN, of divisors of zero, are large, too, and NaN may have a sign. Divisors have 62 bits at most, so
    # that a remainder that is one divisor too low has a sign.
    bits = ratio.bits()
    large = (bits.constant(_bits_of(1 << QUOTIENT_BITS) - 1) - bits) | bits | size_y | (size_y << 1)
    quotient = (ratio + float(_NEAREST)).bits() - _bits_of(_NEAREST)
    rest = size_x - quotient * size_y
    below = rest >> 63
    result = rest + (size_y & below) if remainder else quotient + below
    sign = sign_x if remainder else sign_x ^ sign_y
    return ((result ^ sign) - sign if signed else result), large


def divide_vectors(instruction: type[Operation], types: Sequence[Attribute]) -> Block:
    """A function's block of two vectors and a mask: quotients or remainders, where large by the instruction."""
    block = Block(arg_types=types)
    x, y = (Lanes(block, argument) for argument in block.args[:2])
    signed = instruction in (arith.DivSIOp, arith.RemSIOp)
    result, large = divide(x, y, signed, instruction in (arith.RemSIOp, arith.RemUIOp))
    any_large = vector.ReductionOp.create(
        operands=[large.value],
        result_types=[i64],
        properties={"kind": vector.CombiningKindAttr(vector.CombiningKindFlag.OR), "fastmath": NO_FASTMATH},
    )
    block.add_op(any_large)
    test = Scalar(block, any_large.dest).compare("lt", 0)
    then = Block()
    then.add_op(scf.YieldOp(Lanes(then, x.value).apply(instruction, y.value).value))
    chosen = scf.IfOp(test.value, [types[0]], [then], [Block([scf.YieldOp(result.value)])])
    block.add_ops([chosen, return_op([chosen.results[0]])])
    return block

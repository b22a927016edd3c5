"""
Fused multiply-add on CPUs without the instruction, for which LLVM would call libm for each element.

In sums of products (vector.fma) the product is rounded by itself. The functions of expand-math rely on one rounding
(math.fma): there it is computed with a second float for what the first rounding loses. Sources: T. J. Dekker, A
floating-point technique for extending the available precision, 1971; S. Boldo, G. Melquiond, Emulation of FMA and
correctly rounded sums: proved algorithms using rounding to odd, 2008.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import llvm
from xdsl.dialects.builtin import Float32Type, Float64Type
from xdsl.ir import Attribute, Operation, SSAValue

from .builder import NO_FAST_MATH, LlvmBuilder
from .conventions import I64
from .narrow import compare_floats, element_of, select

_F64 = Float64Type()
_SPLIT = float((1 << 27) + 1)


class _Floats:
    """Arithmetic on floats of one type, each operation rounded."""

    def __init__(self, to: LlvmBuilder, type_: Attribute):
        self.to = to
        self.type = type_

    def constant(self, value: float) -> SSAValue:
        return self.to.splat_like(self.to.float_constant(value, element_of(self.type)), self.type)

    def _binary(self, kind: type[Operation], x: SSAValue, y: SSAValue) -> SSAValue:
        return self.to.emit(kind, (x, y), self.type, {"fastmathFlags": NO_FAST_MATH})

    def add(self, x: SSAValue, y: SSAValue) -> SSAValue:
        return self._binary(llvm.FAddOp, x, y)

    def sub(self, x: SSAValue, y: SSAValue) -> SSAValue:
        return self._binary(llvm.FSubOp, x, y)

    def mul(self, x: SSAValue, y: SSAValue) -> SSAValue:
        return self._binary(llvm.FMulOp, x, y)

    def sum(self, x: SSAValue, y: SSAValue) -> tuple[SSAValue, SSAValue]:
        """The rounded sum, and what it lacks."""
        total = self.add(x, y)
        rest = self.sub(total, x)
        return total, self.add(self.sub(x, self.sub(total, rest)), self.sub(y, rest))

    def product(self, x: SSAValue, y: SSAValue) -> tuple[SSAValue, SSAValue]:
        """The rounded product of doubles, and what it lacks, by halves of the factors."""
        product = self.mul(x, y)
        (x1, x2), (y1, y2) = self._halves(x), self._halves(y)
        lost = self.sub(self.mul(x1, y1), product)
        lost = self.add(self.add(lost, self.mul(x1, y2)), self.mul(x2, y1))
        return product, self.add(lost, self.mul(x2, y2))

    def _halves(self, x: SSAValue) -> tuple[SSAValue, SSAValue]:
        """A double as the sum of two of 26 bits."""
        scaled = self.mul(x, self.constant(_SPLIT))
        upper = self.sub(scaled, self.sub(scaled, x))
        return upper, self.sub(x, upper)

    def odd_sum(self, x: SSAValue, y: SSAValue) -> SSAValue:
        """The sum of doubles, rounded to odd: the last bit is set if the sum is not exact."""
        to, bits_type = self.to, self.to.like(self.type, I64)
        total, lost = self.sum(x, y)
        zero = self.constant(0.0)
        bits = to.emit(llvm.BitcastOp, (total,), bits_type)
        one = to.constant_like(1, bits_type)
        is_even = self.to.compare("eq", to.emit(llvm.AndOp, (bits, one), bits_type), to.zero(bits_type))
        signs = [compare_floats(self.to, "ogt", value, zero) for value in (total, lost)]
        # Away from zero if the sum lacks something of its own sign.
        outward = self.to.compare("eq", *signs)
        step = select(self.to, outward, one, to.constant_like(-1, bits_type))
        moved = to.emit(llvm.AddOp, (bits, step), bits_type)
        moves = to.emit(llvm.AndOp, (is_even, compare_floats(self.to, "one", lost, zero)), is_even.type)
        return to.emit(llvm.BitcastOp, (select(self.to, moves, moved, bits),), self.type)


def multiply_add(to: LlvmBuilder, operands: Sequence[SSAValue], type_: Attribute) -> SSAValue:
    """`x * y + z`, both rounded."""
    x, y, z = operands
    floats = _Floats(to, type_)
    return floats.add(floats.mul(x, y), z)


def fused_multiply_add(to: LlvmBuilder, operands: Sequence[SSAValue], type_: Attribute) -> SSAValue:
    """
    `x * y + z` with one rounding; for doubles while no factor is beyond 2^995 and no product below 2^-960.
    """
    if isinstance(element_of(type_), Float32Type):
        # The product is exact in a double, and a sum rounded to odd there has 53 >= 2 * 24 + 2 bits.
        wide = to.like(type_, _F64)
        x, y, z = (to.emit(llvm.FPExtOp, (value,), wide) for value in operands)
        floats = _Floats(to, wide)
        return to.emit(llvm.FPTruncOp, (floats.odd_sum(floats.mul(x, y), z),), type_)
    x, y, z = operands
    floats = _Floats(to, type_)
    product, lost = floats.product(x, y)
    upper, upper_lost = floats.sum(z, lost)
    total, total_lost = floats.sum(product, upper)
    exact = floats.add(total, floats.odd_sum(total_lost, upper_lost))
    # Infinities and NaNs have no halves.
    return select(to, compare_floats(to, "uno", exact, exact), floats.add(product, z), exact)

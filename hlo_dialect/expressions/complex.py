"""Complex numbers as two tensors, in the notation of tensor.py."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from xdsl.ir import Attribute

from ..ops.conversion import ComplexOp, ImagOp, RealOp
from .tensor import Tensor


@dataclass(frozen=True, eq=False)
class Complex:
    """The real and the imaginary part."""

    re: Tensor
    im: Tensor

    @staticmethod
    def of(z: Tensor) -> Complex:
        """The parts of a complex tensor, by hlo.real and hlo.imag."""
        return Complex(z.builder.op(RealOp, [z]), z.builder.op(ImagOp, [z]))

    def joined(self) -> Tensor:
        """One complex tensor, by hlo.complex."""
        return self.re.builder.op(ComplexOp, [self.re, self.im])

    def __iter__(self) -> Iterator[Tensor]:
        yield self.re
        yield self.im

    def each(self, function: Callable[[Tensor], Tensor]) -> Complex:
        """Apply a function to each part separately."""
        return Complex(function(self.re), function(self.im))

    def convert(self, element: Attribute) -> Complex:
        """Convert both parts to another element type."""
        return self.each(lambda part: part.convert(element))

    def __neg__(self) -> Complex:
        return Complex(-self.re, -self.im)

    def __add__(self, other: Complex) -> Complex:
        return Complex(self.re + other.re, self.im + other.im)

    def __mul__(self, other: Complex) -> Complex:
        return Complex(self.re * other.re - self.im * other.im, self.re * other.im + self.im * other.re)

    def turned(self) -> Complex:
        """i z"""
        return Complex(-self.im, self.re)

    def turned_back(self) -> Complex:
        """-i z"""
        return Complex(self.im, -self.re)

    def where(self, condition: Tensor, other: Complex) -> Complex:
        """Select these numbers if the condition holds, else the others."""
        return Complex(condition.select(self.re, other.re), condition.select(self.im, other.im))

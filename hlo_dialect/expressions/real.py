"""
The notation in which functions of real numbers are written once, for tensors and for single elements.

`Tensor` has it for hlo, `Element` (`passes/expand_math/elements.py`) for the bodies of loops.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute

from ..types import bit_width

Number = TypeVar("Number", bound="Real")


class Real:
    """
    A value to compute with, element by element. Both operands have the same type; numbers become constants of it.

    Each kind of value has the operations themselves in its own way.
    """

    __slots__ = ()
    __array_ufunc__: ClassVar[None] = None
    """NumPy's arrays leave operators to this class."""

    if TYPE_CHECKING:

        @property
        def element(self) -> Attribute:
            """The element type."""
            ...

        @property
        def known(self) -> float | None:
            """The number that this is everywhere, if the program states it."""
            ...

        def like(self, number: float, /) -> Self:
            """A constant of this type."""
            ...

        def __add__(self, other: Self | float, /) -> Self: ...
        def __radd__(self, other: float, /) -> Self: ...
        def __sub__(self, other: Self | float, /) -> Self: ...
        def __rsub__(self, other: float, /) -> Self: ...
        def __mul__(self, other: Self | float, /) -> Self: ...
        def __rmul__(self, other: float, /) -> Self: ...
        def __truediv__(self, other: Self | float, /) -> Self: ...
        def __rtruediv__(self, other: float, /) -> Self: ...
        def __pow__(self, other: Self | float, /) -> Self: ...
        def __neg__(self, /) -> Self: ...
        def __abs__(self, /) -> Self: ...

        def __mod__(self, other: Self | float, /) -> Self:
            """The remainder has the dividend's sign, as in C."""
            ...

        def __and__(self, other: Self | float, /) -> Self: ...
        def __or__(self, other: Self | float, /) -> Self: ...
        def __lshift__(self, other: Self | float, /) -> Self: ...

        def __rshift__(self, other: Self | float, /) -> Self:
            """Logical: zeros are shifted in from the left, whatever the sign."""
            ...

        def minimum(self, other: Self | float, /) -> Self:
            """A NaN in either operand is propagated."""
            ...

        def atan2(self, other: Self | float, /) -> Self:
            """The angle of the point (other, self)."""
            ...

        def exponential(self, /) -> Self: ...
        def exponential_minus_one(self, /) -> Self: ...
        def floor(self, /) -> Self: ...
        def log(self, /) -> Self: ...
        def log_plus_one(self, /) -> Self: ...

        def round(self, /) -> Self:
            """Round to the nearest integer, halves to even."""
            ...

        def sine(self, /) -> Self: ...
        def sqrt(self, /) -> Self: ...
        def tan(self, /) -> Self: ...

        def exponential_of_negative(self, /) -> Self:
            """e^-x of an x that is not below zero, or NaN."""
            ...

        def multiply_add(self, factor: Any, addend: Any, /) -> Self:
            """self * factor + addend, rounded twice or, where the machine has such an instruction, once."""
            ...

        # Comparisons are false if either element is NaN, except for `is_nan`.

        def __lt__(self, other: Self | float, /) -> Self: ...
        def __le__(self, other: Self | float, /) -> Self: ...
        def __gt__(self, other: Self | float, /) -> Self: ...
        def __ge__(self, other: Self | float, /) -> Self: ...

        def equals(self, other: Self | float, /) -> Self:
            """Element-wise equality; `==` compares the notation's own objects."""
            ...

        def is_nan(self, /) -> Self: ...

        def select(self, on_true: Any, on_false: Any, /) -> Self:
            """Select by this truth value; one of the two may be a number."""
            ...

        def convert(self, element: Attribute, /) -> Self:
            """Convert to another element type."""
            ...

        def bits_as(self, element: Attribute, /) -> Self:
            """The same bits as another element type of the same width."""
            ...

    def polynomial(self, coefficients: Sequence[float]) -> Self:
        """c0 + c1 x + c2 x**2 + .., by Horner's rule in multiply-adds."""
        last, *rest = reversed(coefficients)
        result = self.multiply_add(last, rest[0])
        for coefficient in rest[1:]:
            result = result.multiply_add(self, coefficient)
        return result

    def copysign(self, sign: Self) -> Self:
        """The magnitude of this value with the sign of the other, of zeros and NaN too."""
        bits, highest = IntegerType(bit_width(self.element)), 1 << (bit_width(self.element) - 1)
        joined = (self.bits_as(bits) & (highest - 1)) | (sign.bits_as(bits) & -highest)
        return joined.bits_as(self.element)

    def is_infinite(self) -> Self:
        return abs(self).equals(math.inf)

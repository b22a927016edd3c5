"""
8-, 6- and 4-bit floats on one element: from the bits to f32, and back with one rounding, in integer arithmetic.

Nothing computes in these types (see passes/normalize_narrow_floats.py): a value is the i8 of its bits, zero-extended.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from xdsl.dialects import arith
from xdsl.dialects.builtin import f32, f64, i8, i32
from xdsl.ir import Attribute

from ...dialects.support.scalar import Scalar


class Special(Enum):
    """A format's encoding of non-finite values, which also determines the result of overflow."""

    IEEE = auto()
    """The highest exponent encodes infinities and NaNs."""
    NAN = auto()
    """All ones but the sign is NaN; no infinities."""
    UNSIGNED_ZERO = auto()
    """The bits of -0 are the only NaN; no infinities."""
    NONE = auto()
    """Finite numbers only: overflow saturates to the largest."""


@dataclass(frozen=True)
class Format:
    """The fields of a float's bits."""

    exponent: int
    mantissa: int
    bias: int
    special: Special

    @property
    def sign_bit(self) -> int:
        return 1 << (self.exponent + self.mantissa)

    @property
    def infinity(self) -> int:
        """The highest exponent with a mantissa of 0."""
        return ((1 << self.exponent) - 1) << self.mantissa

    @property
    def largest(self) -> int:
        """The bits of the largest finite number."""
        everything = self.sign_bit - 1
        match self.special:
            case Special.IEEE:
                return self.infinity - 1
            case Special.NAN:
                return everything - 1
            case _:
                return everything

    @property
    def overflow(self) -> int:
        """The bits, without sign, of the result of overflow."""
        match self.special:
            case Special.IEEE:
                return self.infinity
            case Special.NAN:
                return self.sign_bit - 1
            case Special.UNSIGNED_ZERO:
                return self.sign_bit
            case Special.NONE:
                return self.largest

    @property
    def nan(self) -> int:
        """The bits of NaN; -0 if there is none."""
        if self.special is Special.IEEE:
            return self.infinity | 1 << (self.mantissa - 1)
        return self.sign_bit if self.special is Special.NONE else self.overflow


_FORMATS = {
    "f8E5M2": Format(5, 2, 15, Special.IEEE),
    "f8E4M3": Format(4, 3, 7, Special.IEEE),
    "f8E3M4": Format(3, 4, 3, Special.IEEE),
    "f8E4M3FN": Format(4, 3, 7, Special.NAN),
    "f8E5M2FNUZ": Format(5, 2, 16, Special.UNSIGNED_ZERO),
    "f8E4M3FNUZ": Format(4, 3, 8, Special.UNSIGNED_ZERO),
    "f8E4M3B11FNUZ": Format(4, 3, 11, Special.UNSIGNED_ZERO),
    "f6E2M3FN": Format(2, 3, 1, Special.NONE),
    "f6E3M2FN": Format(3, 2, 3, Special.NONE),
    "f4E2M1FN": Format(2, 1, 1, Special.NONE),
}
_POWERS = "f8E8M0FNU"
"""The format of powers of two: an exponent with bias 127, all ones for NaN; no sign, no zero."""

_SIGN, _MAGNITUDE = -(1 << 31), (1 << 31) - 1
_NAN, _INFINITY = 0x7FC00000, 0x7F800000
_SMALLEST_POWER = 0x00400000
"""2**-127 as an f32, a denormal."""


def decoded(x: Scalar, source: Attribute) -> Scalar:
    """The i8 of a narrow float's bits as the f32 of the same value."""
    bits = x.cast(arith.ExtUIOp, i32)
    if source.name == _POWERS:
        power = bits.compare("eq", 0).select(_SMALLEST_POWER, bits << 23)
        return bits.compare("eq", 0xFF).select(_NAN, power).bitcast(f32)
    form = _FORMATS[source.name]
    magnitude = bits & (form.sign_bit - 1)
    placed = magnitude << (23 - form.mantissa)
    # A denormal is the mantissa of the least normal number, minus that: no f32 is denormal, which may count as zero.
    least = 128 - form.bias << 23
    denormal = (placed + least).bitcast(f32) - placed.constant(least).bitcast(f32)
    is_denormal = magnitude.compare("lt", 1 << form.mantissa)
    value = is_denormal.select(denormal.bits(), placed + (127 - form.bias << 23))
    if form.special is Special.IEEE:
        value = magnitude.compare("eq", form.infinity).select(_INFINITY, value)
        value = magnitude.compare("gt", form.infinity).select(_NAN, value)
    elif form.special is Special.NAN:
        value = magnitude.compare("eq", form.sign_bit - 1).select(_NAN, value)
    sign = (bits << (31 - form.exponent - form.mantissa)) & _SIGN
    value = value | sign
    if form.special is Special.UNSIGNED_ZERO:
        value = bits.compare("eq", form.sign_bit).select(_NAN, value)
    return value.bitcast(f32)


def encoded(x: Scalar, target: Attribute) -> Scalar:
    """An f32 rounded to a narrow float, to nearest even; the i8 of its bits."""
    bits = x.bits()
    if target.name == _POWERS:
        return _encoded_power(bits).truncate(i8)
    form = _FORMATS[target.name]
    magnitude = bits & _MAGNITUDE
    shift = 23 - form.mantissa
    last = magnitude.shift_right_logical(shift) & 1
    rounded = (magnitude + last + ((1 << (shift - 1)) - 1)).shift_right_logical(shift)
    normal = rounded - ((127 - form.bias) << form.mantissa)
    # The ulp of this number is the smallest denormal: adding it rounds to multiples of that.
    anchor = 127 + 24 - form.bias - form.mantissa << 23
    denormal = (magnitude.bitcast(f32) + x.constant(0).bits().constant(anchor).bitcast(f32)).bits() - anchor
    code = magnitude.compare("lt", (127 + 1 - form.bias) << 23).select(denormal, normal)
    code = code.compare("gt", form.largest).select(form.overflow, code)
    if form.special is not Special.NONE:
        code = magnitude.compare("gt", _INFINITY).select(form.nan, code)
    sign = bits.shift_right_logical(31 - form.exponent - form.mantissa) & form.sign_bit
    if form.special is Special.UNSIGNED_ZERO:
        sign = code.compare("eq", 0).select(0, sign)
    code = code | sign
    if form.special is Special.NONE:
        code = magnitude.compare("gt", _INFINITY).select(form.nan, code)
    return code.truncate(i8)


def _encoded_power(bits: Scalar) -> Scalar:
    """
    The exponent, rounded up from the midpoint of two powers on; NaN for zero, negative and too large numbers.

    Denormals from 1.5 * 2**-127 on round to 2**-126; all below become 2**-127, the smallest value.
    """
    exponent = (bits + _SMALLEST_POWER).shift_right_logical(23)
    exponent = bits.compare("lt", _SMALLEST_POWER + (_SMALLEST_POWER >> 1)).select(0, exponent)
    # As signed integers, negative numbers are below 1, infinities and NaNs above the largest.
    lawful = bits.compare("gt", 0) & bits.compare("lt", _INFINITY)
    return lawful.select(exponent, 0xFF)


def round_to_odd(x: Scalar) -> Scalar:
    """
    Round an f64 to odd in f32: the last bit is set if inexact, so that rounding again to fewer bits is correct.

    The nearest f32 is moved toward the f64 by one ulp if it differs and its last bit is clear.
    """
    nearest = x.truncate(f32)
    back = nearest.extend(f64)
    bits = nearest.bits()
    inexact = x.compare("lt", back) | x.compare("gt", back)
    even = (bits & 1).compare("eq", 0)
    step = x.abs().compare("gt", back.abs()).select(bits.constant(1), bits.constant(-1))
    return (inexact & even).select(bits + step, bits).bitcast(f32)

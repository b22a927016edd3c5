"""The signs and special cases of powers, for each type of float."""

from __future__ import annotations

import math

from ...dialects.support.scalar import Scalar


def with_sign_of_power(power: Scalar, x: Scalar, y: Scalar, size: Scalar) -> Scalar:
    """x ** y, where `power` is size ** y and `size` is |x|, by the rules of IEEE 754 pow for negative x and for 1."""
    whole = y.trunc().compare("eq", y)
    half = y * 0.5
    odd = whole & half.trunc().compare("ne", half)
    negative = x.bits().compare("lt", 0)
    result = (negative & odd).select(-power, power)
    finite_negative = x.compare("lt", 0.0) & size.compare("lt", math.inf)
    result = (finite_negative & (whole ^ 1)).select(math.nan, result)
    # 1 ** y and x ** 0 are 1 even for NaN and infinite operands; (-1) ** inf too.
    unit = x.compare("eq", 1.0) | y.compare("eq", 0.0)
    unit = unit | (size.compare("eq", 1.0) & y.abs().compare("eq", math.inf))
    return unit.select(1.0, result)

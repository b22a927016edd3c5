"""The checks of a program as hlo: which of them holds. The same semantics in NumPy: hlo_dialect/ops/check_calls.py."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects.builtin import ComplexType, IntegerType, Signedness, f32, f64, i32
from xdsl.ir import Attribute

from ...hlo_dialect.expressions.complex import Complex
from ...hlo_dialect.expressions.tensor import Tensor
from ...hlo_dialect.ops import elementwise_binary as binary
from ...hlo_dialect.ops.check_calls import INFINITELY_FAR, magnitude_mask, tolerance_of, ulp_bounds
from ...hlo_dialect.types import bit_width, i1, is_float, make_tensor, numpy_dtype

_BITCASTS = (4, 8, 16, 32, 64)
"""The widths of floats that are integers, too."""


class NoVerdict(ValueError):
    """Values that a check does not compare."""


def failure_number(failures: Sequence[Tensor]) -> Tensor:
    """The place of the first check that fails, from 1, or 0: a scalar i32, from a scalar i1 for each check."""
    number = failures[0].builder.splat(0, make_tensor((), i32))
    for place, fails in reversed(list(enumerate(failures, 1))):
        number = fails.select(place, number)
    return number


def comparison_fails(kind: str, actual: Tensor, expected: Tensor, attributes: Mapping[str, Attribute]) -> Tensor:
    """Whether a check of two values of one type fails: a scalar i1. Raises NoVerdict."""
    if kind == "expect_close":
        least, most = ulp_bounds(attributes)
        return _any(actual, expected, lambda x, y: is_far(x, y, least, most))
    if kind == "expect_eq" or not (is_float(actual.element) or isinstance(actual.element, ComplexType)):
        return _some(actual.compare("NE", expected))
    tolerance = tolerance_of(kind, attributes)
    return _any(actual, expected, lambda x, y: is_apart(x, y, tolerance))


def _any(actual: Tensor, expected: Tensor, differ: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """Whether some elements differ; the parts of complex numbers are compared separately."""
    if not isinstance(actual.element, ComplexType):
        return _some(differ(actual, expected))
    real, imag = (differ(*pair) for pair in zip(Complex.of(actual), Complex.of(expected), strict=True))
    return _some(real | imag)


def _some(mask: Tensor) -> Tensor:
    """Whether an element of a mask is true."""
    if not mask.shape:
        return mask
    return mask.reduce(binary.OrOp, mask.builder.splat(0, make_tensor((), i1)), range(len(mask.shape)))


def is_apart(actual: Tensor, expected: Tensor, tolerance: float) -> Tensor:
    """Which floats are more than a tolerance apart."""
    x, y = actual.convert(f64), expected.convert(f64)
    # An infinity beside a finite value is never near; beside itself it is equal.
    return ~(x.equals(y) | (x.is_nan() & y.is_nan()) | (abs(x - y) <= tolerance))


def is_far(actual: Tensor, expected: Tensor, least: int, most: int) -> Tensor:
    """Which floats are less than `least` or more than `most` representable values apart. Raises NoVerdict."""
    width = bit_width(actual.element)
    dtype = numpy_dtype(actual.element)
    if not is_float(actual.element) or width not in _BITCASTS or dtype is None:
        raise NoVerdict(f"compares floats of {', '.join(map(str, _BITCASTS))} bits, not {actual.element}")
    unsigned, distances = (IntegerType(bits, Signedness.UNSIGNED) for bits in (width, 64))
    mask = magnitude_mask(dtype)
    x, y = actual.bits_as(unsigned), expected.bits_as(unsigned)
    first, second = ((bits & mask).convert(distances) for bits in (x, y))
    apart = ((x ^ y) > mask).select(first + second, first.maximum(second) - first.minimum(second))
    wide = [value if width == 64 else value.convert(f32) for value in (actual, expected)]
    finite = (abs(wide[0]) < float("inf")) & (abs(wide[1]) < float("inf"))
    same = x.equals(y) | (wide[0].is_nan() & wide[1].is_nan())
    distance = same.select(0, finite.select(apart, int(INFINITELY_FAR)))
    wrong = distance > most
    return wrong | (distance < least) if least > 0 else wrong

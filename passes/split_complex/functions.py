"""
Elementary functions of complex numbers in terms of the real and the imaginary parts.

Formulas avoid overflow inside, and the cancellation near zeros: where that needs more digits than the type has,
complex<f32> is computed in f64. Infinities and signed zeros come out as C's Annex G has them, NaNs as NaNs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, cast

from xdsl.ir import Attribute, Operation

from ...hlo_dialect.attributes import int_array
from ...hlo_dialect.expressions.tensor import Builder, Tensor
from ...hlo_dialect.ops import elementwise_binary as binary
from ...hlo_dialect.ops import elementwise_unary as unary
from ...hlo_dialect.ops.comparison import ClampOp, CompareOp
from ...hlo_dialect.ops.movement import BroadcastInDimOp
from ...hlo_dialect.types import f32, f64, i32, i64
from .arithmetic import Parts, PartsBuilder, Rule

INF = math.inf


class Complex(NamedTuple):
    """The parts of a complex tensor."""

    re: Tensor
    im: Tensor

    def __neg__(self) -> Complex:
        return Complex(-self.re, -self.im)

    def plus(self, other: Complex) -> Complex:
        return Complex(self.re + other.re, self.im + other.im)

    def times(self, other: Complex) -> Complex:
        return Complex(self.re * other.re - self.im * other.im, self.re * other.im + self.im * other.re)

    def turned(self) -> Complex:
        """i z"""
        return Complex(-self.im, self.re)

    def select(self, condition: Tensor, other: Complex) -> Complex:
        """This where the condition holds, else the other."""
        return Complex(condition.select(self.re, other.re), condition.select(self.im, other.im))


def _is_nan(x: Tensor) -> Tensor:
    return x.compare("NE", x)


def _is_infinite(x: Tensor) -> Tensor:
    return abs(x).compare("EQ", INF)


def _copysign(x: Tensor, sign: Tensor) -> Tensor:
    """|x| with the sign of a number, of a zero too."""
    size = abs(x)
    return (sign.bits_as(i64 if _is_double(sign) else i32) < 0).select(-size, size)


def _is_double(x: Tensor) -> bool:
    return x.type.element_type == f64


def _hypot(z: Complex) -> Tensor:
    """|z| without overflow: the larger part times sqrt(1 + (smaller / larger)**2)."""
    a, b = abs(z.re), abs(z.im)
    large, small = a.apply(binary.MaximumOp, b), a.apply(binary.MinimumOp, b)
    ratio = small / large
    size = large * (ratio * ratio + 1.0).apply(unary.SqrtOp)
    size = large.compare("EQ", 0.0).select(large, size)
    infinite = a.compare("EQ", INF) | b.compare("EQ", INF)
    return infinite.select(large.like(INF), size)


def _divide(x: Complex, y: Complex) -> Complex:
    """Smith's quotient: the smaller part of y is divided by the larger one, so that no square overflows."""
    larger = abs(y.re).compare("GE", abs(y.im))
    large, small = larger.select(y.re, y.im), larger.select(y.im, y.re)
    ratio = small / large
    denominator = large + small * ratio
    re = larger.select(x.re, x.im) + larger.select(x.im, x.re) * ratio
    im = larger.select(x.im - x.re * ratio, x.im * ratio - x.re)
    return Complex(re / denominator, im / denominator)


def _units(z: Complex) -> Complex:
    """1 for each infinite part and 0 for any other, with the parts' signs."""
    return Complex(*(_copysign(_is_infinite(x).select(x.like(1.0), x.like(0.0)), x) for x in z))


def _any_infinite(z: Complex) -> Tensor:
    return _is_infinite(z.re) | _is_infinite(z.im)


def _all_finite(z: Complex) -> Tensor:
    return (abs(z.re) < INF) & (abs(z.im) < INF)


def _quotient(x: Complex, y: Complex) -> Complex:
    """
    The quotient; where both parts come out as NaN, as C's Annex G recovers them: something by 0 is infinite, so is
    infinite by finite, and finite by infinite is 0.
    """
    plain = _divide(x, y)
    lost = _is_nan(plain.re) & _is_nan(plain.im)
    zero = y.re.compare("EQ", 0.0) & y.im.compare("EQ", 0.0)
    endless = _copysign(y.re.like(INF), y.re)
    by_zero = Complex(endless * x.re, endless * x.im)
    directed = x.select(_all_finite(x), _units(x))
    divisor = y.select(_all_finite(y), _units(y))
    towards = directed.times(Complex(divisor.re, -divisor.im))
    grows, vanishes = _any_infinite(x) & _all_finite(y), _any_infinite(y) & _all_finite(x)
    scale = grows.select(y.re.like(INF), y.re.like(0.0))
    found = Complex(towards.re * scale, towards.im * scale).select(grows | vanishes, plain)
    return by_zero.select(zero, found).select(lost, plain)


def _sinh_cosh(x: Tensor) -> tuple[Tensor, Tensor]:
    """Both, from e**|x| - 1; beyond 20, where both are e**|x| / 2, as a product that overflows no earlier than they."""
    size = abs(x)
    grown = size.apply(unary.ExponentialMinusOneOp)
    shrunk = grown / (grown + 1.0)
    root = (size * 0.5).exponential()
    large = root * 0.5 * root
    big = size.compare("GT", 20.0)
    sinh, cosh = big.select(large, (grown + shrunk) * 0.5), big.select(large, (grown - shrunk) * 0.5 + 1.0)
    return x.compare("EQ", 0.0).select(x, _copysign(sinh, x)), cosh


def _product(x: Tensor, y: Tensor) -> Tensor:
    """x * y, but zero where a factor is: an infinite or unknown other factor does not matter."""
    none = x.compare("EQ", 0.0) | y.compare("EQ", 0.0)
    zero, one = x.like(0.0), x.like(1.0)
    return none.select(_copysign(zero, x) * _copysign(one, y), x * y)


def _exponential(z: Complex) -> Complex:
    """e**re (cos im + i sin im), in two factors where e**re overflows and the result may not."""
    sine, cosine = z.im.apply(unary.SineOp), z.im.apply(unary.CosineOp)
    big = z.re.compare("GT", 700.0 if _is_double(z.re) else 88.0)
    factor = big.select(z.re * 0.5, z.re).exponential()
    again = big.select(factor, factor.like(1.0))
    return Complex(*(_product(again, _product(factor, part)) for part in (cosine, sine)))


def _exponential_minus_one(z: Complex) -> Complex:
    """e**re - 1 times cos im, less 2 sin(im / 2)**2, which is 1 - cos im; the imaginary part is that of e**z."""
    half = (z.im * 0.5).apply(unary.SineOp)
    cosine = z.im.apply(unary.CosineOp)
    re = z.re.apply(unary.ExponentialMinusOneOp) * cosine - half * half * 2.0
    whole = _exponential(z)
    large = z.re.compare("GT", 40.0)  # the 1 is below the last digit
    return Complex(large.select(whole.re, re), whole.im)


def _wider(x: Tensor) -> Tensor:
    """In f64: of f32 the products come out exactly."""
    return x.convert(f64)


def _log_of(z: Complex, excess: Tensor) -> Complex:
    """
    log |z| + i arg z, given |z|**2 - 1 for where it is near 0.

    |z| is the larger part times sqrt(1 + ratio**2). Near 1 those logarithms cancel: half of log1p(excess) does not.
    """
    a, b = abs(z.re), abs(z.im)
    large, small = a.apply(binary.MaximumOp, b), a.apply(binary.MinimumOp, b)
    near = large.compare("GT", 0.5) & (large < 2.0)
    ratio = small / large
    rest = near.select(excess, ratio * ratio).apply(unary.LogPlusOneOp) * 0.5
    re = near.select(rest, rest + large.apply(unary.LogOp))
    re = large.compare("EQ", 0.0).select(large.like(-INF), re)
    infinite = _any_infinite(z)
    return Complex(infinite.select(re.like(INF), re), z.im.apply(binary.Atan2Op, z.re))


def _log(z: Complex) -> Complex:
    """|z|**2 - 1 is (large - 1) (large + 1) + small**2."""
    a, b = abs(_wider(z.re)), abs(_wider(z.im))
    large, small = a.apply(binary.MaximumOp, b), a.apply(binary.MinimumOp, b)
    excess = (large - 1.0) * (large + 1.0) + small * small
    return _log_of(z, excess.convert(z.re.type.element_type))


def _log_plus_one(z: Complex) -> Complex:
    """log(1 + z); where |z| is small, |1 + z|**2 - 1 is re (re + 2) + im**2."""
    re, im = _wider(z.re), _wider(z.im)
    a, b = abs(re + 1.0), abs(im)
    large, small = a.apply(binary.MaximumOp, b), a.apply(binary.MinimumOp, b)
    tiny = (abs(re) < 0.5) & (b < 0.5)
    excess = tiny.select(re * (re + 2.0) + im * im, (large - 1.0) * (large + 1.0) + small * small)
    return _log_of(Complex(z.re + 1.0, z.im), excess.convert(z.re.type.element_type))


def _sqrt(z: Complex) -> Complex:
    """
    t = sqrt((|re| + |z|) / 2) is the larger part, im / 2t the other. A power of 4 keeps the sum from overflow, and from
    denormals; the root is scaled back by the power of 2.
    """
    a, b = abs(z.re), abs(z.im)
    large = a.apply(binary.MaximumOp, b)
    up = 54 if _is_double(z.re) else 24
    edge = 2.0 ** (1000 if _is_double(z.re) else 120)
    big, tiny = large.compare("GT", edge), large < 1.0 / edge
    scale = big.select(a.like(2.0**-4), tiny.select(a.like(2.0 ** (2 * up)), a.like(1.0)))
    back = big.select(a.like(2.0**2), tiny.select(a.like(2.0**-up), a.like(1.0)))
    a, b = a * scale, b * scale
    root = ((a + _hypot(Complex(a, b))) * 0.5).apply(unary.SqrtOp)
    other = b / (root * 2.0) * back
    root = root * back
    right = z.re.compare("GE", 0.0) | _is_nan(z.re)
    re = right.select(root, other)
    im = _copysign(right.select(other, root), z.im)
    zero = large.compare("EQ", 0.0)
    infinite, endless = _is_infinite(z.im), _is_infinite(z.re) & z.im.compare("EQ", z.im)
    # Of an infinite real part one part is infinite, and the other 0.
    re = endless.select(right.select(re.like(INF), re.like(0.0)), re)
    im = endless.select(_copysign(right.select(im.like(0.0), im.like(INF)), z.im), im)
    re = infinite.select(re.like(INF), zero.select(re.like(0.0), re))
    return Complex(re, (infinite | zero).select(z.im, im))


def _rsqrt(z: Complex) -> Complex:
    """The conjugate of sqrt(z) over |z|; infinite at 0, 0 at infinity."""
    root = _sqrt(z)
    inverse = _divide(Complex(root.re.like(1.0), root.re.like(0.0)), root)
    infinite = _any_infinite(z)
    zero = z.re.compare("EQ", 0.0) & z.im.compare("EQ", 0.0)
    none = z.re.like(0.0)
    re = infinite.select(none, zero.select(none.like(INF), inverse.re))
    im = infinite.select(_copysign(none, -z.im), zero.select(none.like(math.nan), inverse.im))
    return Complex(re, im)


def _cbrt(z: Complex) -> Complex:
    """The cube root of |z| at a third of the angle."""
    size = _hypot(z).apply(unary.CbrtOp)
    angle = z.im.apply(binary.Atan2Op, z.re) / 3.0
    return Complex(size * angle.apply(unary.CosineOp), size * angle.apply(unary.SineOp))


def _sine(z: Complex) -> Complex:
    """sin re cosh im + i cos re sinh im"""
    sinh, cosh = _sinh_cosh(z.im)
    sine, cosine = z.re.apply(unary.SineOp), z.re.apply(unary.CosineOp)
    return Complex(_product(sine, cosh), _product(cosine, sinh))


def _cosine(z: Complex) -> Complex:
    """cos re cosh im - i sin re sinh im"""
    sinh, cosh = _sinh_cosh(z.im)
    sine, cosine = z.re.apply(unary.SineOp), z.re.apply(unary.CosineOp)
    return Complex(_product(cosine, cosh), -_product(sine, sinh))


def _tanh(z: Complex) -> Complex:
    """
    Kahan's formula in s = sinh re and t = tan im: (b r s + i t) / (1 + b s**2), with b = 1 + t**2, r = sqrt(1 + s**2).

    From 20 on (11 in f32) the real part is 1 and the imaginary one 4 sin im cos im e**-2|re|.
    """
    limit = 20.0 if _is_double(z.re) else 11.0
    size = abs(z.re)
    clamped = size.minimum(limit)
    sinh, cosh = _sinh_cosh(clamped)
    tangent = z.im.apply(unary.TanOp)
    b = tangent * tangent + 1.0
    denominator = b * sinh * sinh + 1.0
    re, im = b * cosh * sinh / denominator, tangent / denominator
    far = size.compare("GT", limit)
    shrunk = (-size).exponential()
    tail = z.im.apply(unary.SineOp) * z.im.apply(unary.CosineOp) * 4.0 * shrunk * shrunk
    tail = _is_infinite(z.re).select(_copysign(tail.like(0.0), tail), tail)
    re = _copysign(far.select(re.like(1.0), re), z.re)
    re = _is_nan(z.re).select(z.re, re)
    im = far.select(tail, im)
    return Complex(re, z.im.compare("EQ", 0.0).select(z.im, im))


def _tan(z: Complex) -> Complex:
    """tan(x + iy) has the parts of tanh(y + ix), exchanged."""
    turned = _tanh(Complex(z.im, z.re))
    return Complex(turned.im, turned.re)


def _logistic(z: Complex) -> Complex:
    """1 / (1 + e**-z), or e**z / (1 + e**z) on the left, where e**-z would overflow."""
    left = z.re < 0.0
    small = _exponential(z.select(left, -z))
    one = Complex(z.re.like(1.0), z.re.like(0.0))
    return _divide(small.select(left, one), Complex(small.re + 1.0, small.im))


def _sign(z: Complex) -> Complex:
    """z / |z|; 0 is its own, with its signs; NaN in both parts where one is."""
    a, b = abs(z.re), abs(z.im)
    large = a.apply(binary.MaximumOp, b)
    reduced = Complex(z.re / large, z.im / large)
    size = (reduced.re * reduced.re + reduced.im * reduced.im).apply(unary.SqrtOp)
    zero = large.compare("EQ", 0.0)
    infinite = _any_infinite(z)
    size, parts = infinite.select(large, size), zip(z, reduced, strict=True)
    return Complex(*(zero.select(x, infinite.select(x, part) / size) for x, part in parts))


def _power(x: Complex, y: Complex) -> Complex:
    """e**(y log x); 1 where y is 0 or x is 1; of 0 it is 0 for exponents with a positive real part."""
    found = _exponential(y.times(_log(x)))
    base_zero = x.re.compare("EQ", 0.0) & x.im.compare("EQ", 0.0)
    base_one = x.re.compare("EQ", 1.0) & x.im.compare("EQ", 0.0)
    exponent_zero = y.re.compare("EQ", 0.0) & y.im.compare("EQ", 0.0)
    zero, one = found.re.like(0.0), found.re.like(1.0)
    vanishes = base_zero & y.re.compare("GT", 0.0)
    found = Complex(zero, zero).select(vanishes, found)
    return Complex(one, zero).select(exponent_zero | base_one, found)


def _atan2(y: Complex, x: Complex) -> Complex:
    """-i log((x + i y) / sqrt(x**2 + y**2))"""
    size = _sqrt(x.times(x).plus(y.times(y)))
    angle = _log(_divide(x.plus(y.turned()), size))
    return Complex(angle.im, -angle.re)


def _less(x: Complex, y: Complex, direction: str = "LT") -> Tensor:
    """By the real parts, by the imaginary ones where those are equal."""
    strict = direction[0] + "T"
    return x.re.compare(strict, y.re) | (x.re.compare("EQ", y.re) & x.im.compare(direction, y.im))


def _extreme(x: Complex, y: Complex, direction: str) -> Complex:
    """The one that lies in the direction of the other; one with a NaN wins, the first of two."""
    first = _is_nan(x.re) | _is_nan(x.im)
    second = _is_nan(y.re) | _is_nan(y.im)
    return x.select(first, y.select(second, x.select(_less(x, y, direction), y)))


def _maximum(x: Complex, y: Complex) -> Complex:
    return _extreme(x, y, "GE")


def _minimum(x: Complex, y: Complex) -> Complex:
    return _extreme(x, y, "LE")


def _operand(op: Operation, b: PartsBuilder, builder: Builder, index: int) -> Complex:
    return Complex(*(Tensor(builder, part) for part in b.of(index)))


def _rule(function: Callable[..., Complex], wide: bool = False) -> Rule:
    """The rule of an operation of complex numbers; `wide` computes complex<f32> in f64."""

    def rule(op: Operation, b: PartsBuilder) -> Parts:
        builder = Builder()
        operands = [_operand(op, b, builder, index) for index in range(len(op.operands))]
        own = operands[0].re.type.element_type
        if wide and own == f32:
            operands = [Complex(*(part.convert(f64) for part in operand)) for operand in operands]
        result = function(*operands)
        parts = [part.convert(own) for part in result]
        _insert(builder, b)
        return parts[0].value, parts[1].value

    return rule


def _insert(builder: Builder, b: PartsBuilder) -> None:
    for new in builder.ops:
        new.location = b.op.location
        b.insert(new)


def _compare(op: Operation, b: PartsBuilder) -> Any:
    """Equal where both parts are, different where one is; else by the real, then by the imaginary parts."""
    builder = Builder()
    x, y = (_operand(op, b, builder, index) for index in (0, 1))
    direction = cast(CompareOp, op).direction
    if direction == "EQ":
        result = x.re.compare("EQ", y.re) & x.im.compare("EQ", y.im)
    elif direction == "NE":
        result = x.re.compare("NE", y.re) | x.im.compare("NE", y.im)
    else:
        result = _less(x, y, direction)
        for part in (x.re, y.re, x.im, y.im):
            result = result & part.compare("EQ", part)
    _insert(builder, b)
    return result.value


def _broadcast(x: Tensor, like: Tensor) -> Tensor:
    """A value of rank 0 in every element of another's type."""
    if x.type == like.type:
        return x
    properties: dict[str, Attribute] = {"broadcast_dimensions": int_array(())}
    return x.builder.add(BroadcastInDimOp.create(operands=[x.value], result_types=[like.type], properties=properties))


def _clamp(op: Operation, b: PartsBuilder) -> Parts:
    """min(max(x, low), high), bounds of rank 0 broadcast."""
    builder = Builder()
    low, x, high = (_operand(op, b, builder, index) for index in range(3))
    low, high = (Complex(*(_broadcast(part, x.re) for part in bound)) for bound in (low, high))
    result = _minimum(_maximum(x, low), high)
    _insert(builder, b)
    return result.re.value, result.im.value


RULES: dict[type[Operation], Rule] = {
    unary.CbrtOp: _rule(_cbrt),
    unary.CosineOp: _rule(_cosine),
    unary.ExponentialOp: _rule(_exponential),
    unary.ExponentialMinusOneOp: _rule(_exponential_minus_one, wide=True),
    unary.LogOp: _rule(_log),
    unary.LogPlusOneOp: _rule(_log_plus_one),
    unary.LogisticOp: _rule(_logistic),
    unary.RsqrtOp: _rule(_rsqrt),
    unary.SignOp: _rule(_sign),
    unary.SineOp: _rule(_sine),
    unary.SqrtOp: _rule(_sqrt),
    unary.TanOp: _rule(_tan),
    unary.TanhOp: _rule(_tanh),
    binary.Atan2Op: _rule(_atan2, wide=True),
    binary.DivideOp: _rule(_quotient),
    binary.MaximumOp: _rule(_maximum),
    binary.MinimumOp: _rule(_minimum),
    binary.PowerOp: _rule(_power, wide=True),
    ClampOp: _clamp,
    CompareOp: _compare,
}
"""By class."""

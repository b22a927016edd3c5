"""
Elementary functions of complex numbers in terms of the real and the imaginary parts.

The formulas avoid intermediate overflow, and cancellation near zeros: if that needs more digits than the type has,
complex<f32> is computed in f64. Infinities and signed zeros follow C's Annex G; NaN stays NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import cast

from xdsl.ir import Operation

from ...hlo_dialect.expressions.complex import Complex
from ...hlo_dialect.expressions.tensor import Tensor
from ...hlo_dialect.ops import elementwise_binary as binary
from ...hlo_dialect.ops import elementwise_unary as unary
from ...hlo_dialect.ops.comparison import ClampOp, CompareOp
from ...hlo_dialect.types import f32, f64
from .arithmetic import PartsBuilder, Rule, hypot, split_rules

INF = math.inf


def _equals(z: Complex, number: float) -> Tensor:
    return z.re.equals(number) & z.im.equals(0.0)


def _divide(x: Complex, y: Complex) -> Complex:
    """Smith's division: the smaller part of y is divided by the larger one, so that no square overflows."""
    larger = abs(y.re) >= abs(y.im)
    large, small = larger.select(y.re, y.im), larger.select(y.im, y.re)
    ratio = small / large
    denominator = large + small * ratio
    re = larger.select(x.re, x.im) + larger.select(x.im, x.re) * ratio
    im = larger.select(x.im - x.re * ratio, x.im * ratio - x.re)
    return Complex(re / denominator, im / denominator)


def _units(z: Complex) -> Complex:
    """1 for each infinite part and 0 for any other, with the parts' signs."""
    return z.each(lambda x: x.is_infinite().select(x.like(1.0), 0.0).copysign(x))


def _any_infinite(z: Complex) -> Tensor:
    return z.re.is_infinite() | z.im.is_infinite()


def _all_finite(z: Complex) -> Tensor:
    return (abs(z.re) < INF) & (abs(z.im) < INF)


def _quotient(x: Complex, y: Complex) -> Complex:
    """
    The quotient; if both parts are NaN, the result recovered as in C's Annex G: nonzero by 0 and infinite by finite are
    infinite, finite by infinite is 0.
    """
    plain = _divide(x, y)
    lost = plain.re.is_nan() & plain.im.is_nan()
    zero = _equals(y, 0.0)
    endless = y.re.like(INF).copysign(y.re)
    by_zero = Complex(endless * x.re, endless * x.im)
    directed = x.where(_all_finite(x), _units(x))
    divisor = y.where(_all_finite(y), _units(y))
    towards = directed * Complex(divisor.re, -divisor.im)
    grows, vanishes = _any_infinite(x) & _all_finite(y), _any_infinite(y) & _all_finite(x)
    scale = grows.select(y.re.like(INF), y.re.like(0.0))
    found = towards.each(lambda part: part * scale).where(grows | vanishes, plain)
    return by_zero.where(zero, found).where(lost, plain)


def _sinh_cosh(x: Tensor) -> tuple[Tensor, Tensor]:
    """
    sinh and cosh from e**|x| - 1; beyond 20, both are e**|x| / 2, as a product that overflows no earlier than they.
    """
    size = abs(x)
    grown = size.exponential_minus_one()
    shrunk = grown / (grown + 1.0)
    root = (size * 0.5).exponential()
    large = root * 0.5 * root
    big = size > 20.0
    sinh, cosh = big.select(large, (grown + shrunk) * 0.5), big.select(large, (grown - shrunk) * 0.5 + 1.0)
    return x.equals(0.0).select(x, sinh.copysign(x)), cosh


def _direction(z: Complex, cosine: Tensor, sine: Tensor) -> tuple[Tensor, Tensor]:
    """
    Cosine and sine of im, as factors of e**re: a direction that is not finite is NaN, but the limits are 0 at
    re = -inf and infinite at re = inf.
    """
    cosine = (z.re.is_infinite() & cosine.is_nan()).select(1.0, cosine)
    return cosine, (z.re.equals(-INF) & sine.is_nan()).select(1.0, sine)


def _exponential(z: Complex) -> Complex:
    """e**re (cos im + i sin im), in two factors if e**re overflows but the result may not."""
    cosine, sine = _direction(z, z.im.cosine(), z.im.sine())
    big = z.re > (700.0 if z.re.element == f64 else 88.0)
    factor = big.select(z.re * 0.5, z.re).exponential()
    again = big.select(factor, factor.like(1.0))
    return Complex(again * (factor * cosine), z.im.equals(0.0).select(z.im, again * (factor * sine)))


def _exponential_minus_one(z: Complex) -> Complex:
    """(e**re - 1) cos im - 2 sin(im / 2)**2, the latter being 1 - cos im; the imaginary part is that of e**z."""
    half = (z.im * 0.5).sine()
    cosine = z.im.cosine()
    re = z.re.exponential_minus_one() * cosine - half * half * 2.0
    whole = _exponential(z)
    large = z.re > 40.0  # the 1 is below the last bit
    re = large.select(whole.re, re)
    return Complex(z.re.equals(-INF).select(-1.0, re), whole.im)


def _short_exponential_minus_one(z: Complex) -> Complex:
    """
    The same in f64 for a result in f32: sine and cosine of im come from those of im / 2, whose roundings are far below
    the result's last bit, and no factor overflows before the result.
    """
    half_sine, half_cosine = (z.im * 0.5).sine(), (z.im * 0.5).cosine()
    twice = half_sine * 2.0
    less = twice * half_sine  # 1 - cos im
    cosine, sine = _direction(z, 1.0 - less, twice * half_cosine)
    grown = z.re.exponential_minus_one()
    factor = z.re.exponential()
    re = z.re.is_infinite().select(factor * cosine - 1.0, grown * cosine - less)
    return Complex(re, z.im.equals(0.0).select(z.im, factor * sine))


def _wider(x: Tensor) -> Tensor:
    """Convert to f64, in which products of f32 are exact."""
    return x.convert(f64)


def _log_of(z: Complex, excess: Tensor) -> Complex:
    """
    log |z| + i arg z; `excess` is |z|**2 - 1, used if |z| is near 1.

    |z| is the larger part times sqrt(1 + ratio**2). Near 1 those logarithms cancel; log1p(excess) / 2 does not.
    """
    a, b = abs(z.re), abs(z.im)
    large, small = a.maximum(b), a.minimum(b)
    near = (large > 0.5) & (large < 2.0)
    ratio = small / large
    rest = near.select(excess, ratio * ratio).log_plus_one() * 0.5
    re = near.select(rest, rest + large.log())
    re = large.equals(0.0).select(-INF, re)
    infinite = _any_infinite(z)
    return Complex(infinite.select(INF, re), z.im.atan2(z.re))


def _log(z: Complex) -> Complex:
    excess = _excess(z, z.re.like(-1.0))
    return _log_of(z, excess)


def _log_plus_one(z: Complex) -> Complex:
    """log(1 + z); |1 + z|**2 - 1 is re**2 + im**2 + 2 re."""
    return _log_of(Complex(z.re + 1.0, z.im), _excess(z, z.re * 2.0))


def _excess(z: Complex, rest: Tensor) -> Tensor:
    """|z|**2 + rest where the sum may cancel: in f64, there with the errors of products and sums (Dekker, 1971)."""
    (re, re_error), (im, im_error) = _square_of(z.re), _square_of(z.im)
    first = re > im
    larger, smaller = first.select(re, im), first.select(im, re)
    total, error = _sum_of(_wider(rest), larger)
    total, last_error = _sum_of(total, smaller)
    total = total + (error + last_error + (re_error + im_error))
    return total.convert(z.re.element)


def _square_of(x: Tensor) -> tuple[Tensor, Tensor]:
    """The square in f64, and its rounding error: 0 if x is of f32."""
    wide = _wider(x)
    square = wide * wide
    if x.element != f64:
        return square, square.like(0.0)
    scaled = x * (2.0**27 + 1.0)
    high = scaled - (scaled - x)
    low = x - high
    return square, ((high * high - square) + high * low * 2.0) + low * low


def _sum_of(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """The sum and its rounding error (Knuth's two-sum)."""
    total = x + y
    added = total - x
    return total, (x - (total - added)) + (y - added)


def _sqrt(z: Complex) -> Complex:
    """
    t = sqrt((|re| + |z|) / 2) is the larger part, im / 2t the other. Scaling by a power of 4 keeps the sum from
    overflow and from denormals; the root is scaled back by the power of 2.
    """
    a, b = abs(z.re), abs(z.im)
    large = a.maximum(b)
    up = 54 if z.re.element == f64 else 24
    edge = 2.0 ** (1000 if z.re.element == f64 else 120)
    big, tiny = large > edge, large < 1.0 / edge
    scale = big.select(a.like(2.0**-4), tiny.select(a.like(2.0 ** (2 * up)), a.like(1.0)))
    back = big.select(a.like(2.0**2), tiny.select(a.like(2.0**-up), a.like(1.0)))
    a, b = a * scale, b * scale
    root = ((a + hypot(Complex(a, b))) * 0.5).sqrt()
    other = b / (root * 2.0) * back
    root = root * back
    right = (z.re >= 0.0) | z.re.is_nan()
    re = right.select(root, other)
    im = right.select(other, root).copysign(z.im)
    zero = large.equals(0.0)
    infinite, endless = z.im.is_infinite(), z.re.is_infinite() & z.im.equals(z.im)
    # If the real part is infinite, one part of the root is infinite and the other 0.
    re = endless.select(right.select(re.like(INF), re.like(0.0)), re)
    im = endless.select(right.select(im.like(0.0), im.like(INF)).copysign(z.im), im)
    re = infinite.select(re.like(INF), zero.select(re.like(0.0), re))
    return Complex(re, (infinite | zero).select(z.im, im))


def _rsqrt(z: Complex) -> Complex:
    """The conjugate of sqrt(z) over |z|; infinite at 0, 0 at infinity."""
    root = _sqrt(z)
    inverse = _divide(Complex(root.re.like(1.0), root.re.like(0.0)), root)
    infinite = _any_infinite(z)
    zero = _equals(z, 0.0)
    none = z.re.like(0.0)
    re = infinite.select(none, zero.select(none.like(INF), inverse.re))
    im = infinite.select(none, zero.select(none.like(math.nan), inverse.im)).copysign(-z.im)
    return Complex(re, im)


def _cbrt(z: Complex) -> Complex:
    """
    The cube root of |z| at a third of the angle; on the positive axis real, at infinity too.

    Scaling by a power of 8 keeps |z| from overflow and from denormals; the root is scaled back by the power of 2.
    """
    large = abs(z.re).maximum(abs(z.im))
    big, tiny = large > 2.0**1000, large < 2.0**-960
    scale = big.select(large.like(2.0**-6), tiny.select(large.like(2.0**180), large.like(1.0)))
    back = big.select(large.like(2.0**2), tiny.select(large.like(2.0**-60), large.like(1.0)))
    size = hypot(z.each(lambda part: part * scale)).cbrt() * back
    angle = z.im.atan2(z.re) / 3.0
    sine = angle.sine()
    return Complex(size * angle.cosine(), sine.equals(0.0).select(sine, size * sine))


def _circular(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """
    sin x cosh y, cos x sinh |y|, cos x cosh y and sin x sinh |y|.

    If only cosh y overflows, the factor in x is multiplied between the two halves of e**|y|.
    """
    size = abs(y)
    sinh, cosh = _sinh_cosh(size)
    root = (size * 0.5).exponential()
    far = size > 20.0
    sine, cosine = x.sine(), x.cosine()
    far_sine, far_cosine = (root * (root * 0.5 * factor) for factor in (sine, cosine))
    return (
        far.select(far_sine, sine * cosh),
        far.select(far_cosine, cosine * sinh),
        far.select(far_cosine, cosine * cosh),
        far.select(far_sine, sine * sinh),
    )


def _not_finite(x: Tensor) -> Tensor:
    return (x - x).is_nan()


def _sine(z: Complex) -> Complex:
    """sin re cosh im + i cos re sinh im, without the NaN of 0 times infinity where C's csinh has none."""
    x, y = z
    re, im, _, _ = _circular(x, y)
    known = _not_finite(x) & (y.equals(0.0) | y.is_infinite())
    return Complex(x.equals(0.0).select(x, re), known.select(y, y.like(1.0).copysign(y) * im))


def _cosine(z: Complex) -> Complex:
    """cos re cosh im - i sin re sinh im, without the NaN of 0 times infinity where C's ccosh has none."""
    x, y = z
    _, _, re, im = _circular(x, y)
    im = x.equals(0.0).select(x, (_not_finite(x) & y.equals(0.0)).select(0.0, im))
    re = (_not_finite(x) & y.is_infinite()).select(INF, re)
    return Complex(re, -(y.like(1.0).copysign(y) * im))


def _tanh(z: Complex) -> Complex:
    """
    Kahan's formula in s = sinh re and t = tan im: (b r s + i t) / (1 + b s**2), with b = 1 + t**2, r = sqrt(1 + s**2).

    From |re| = 20 on (11 in f32) the real part is 1 and the imaginary part 4 sin im cos im e**-2|re|.
    """
    limit = 20.0 if z.re.element == f64 else 11.0
    size = abs(z.re)
    sinh, cosh = _sinh_cosh(size.minimum(limit))
    tangent = z.im.tan()
    b = tangent * tangent + 1.0
    denominator = b * sinh * sinh + 1.0
    re, im = b * cosh * sinh / denominator, tangent / denominator
    endless = z.re.is_infinite()
    far = endless | (size > limit) & tangent.equals(tangent)
    shrunk = (-size).exponential()
    tail = z.im.sine() * z.im.cosine() * 4.0 * shrunk * shrunk
    tail = endless.select(tail.like(0.0).copysign(tail), tail)
    re = far.select(re.like(1.0), re).copysign(z.re)
    re = (z.re.is_nan() | z.re.equals(0.0)).select(z.re, re)
    im = far.select(tail, im)
    return Complex(re, z.im.equals(0.0).select(z.im, im))


def _tan(z: Complex) -> Complex:
    """tan(x + iy) has the parts of tanh(y + ix), exchanged."""
    turned = _tanh(Complex(z.im, z.re))
    return Complex(turned.im, turned.re)


def _logistic(z: Complex) -> Complex:
    """
    1 / (1 + e**-z), or e**z / (1 + e**z) for negative re, where e**-z would overflow.

    Next to a pole e**-|re| cos im is nearly -1: 1 + e**-|re| cos im is 1 - e**-|re| + 2 e**-|re| cos(im / 2)**2.
    """
    left = z.re < 0.0
    small = _exponential(z.where(left, -z))
    size, half = -abs(z.re), (z.im * 0.5).cosine()
    near = size.exponential() * half * half * 2.0 - size.exponential_minus_one()
    one = Complex(z.re.like(1.0), z.re.like(0.0))
    return _divide(small.where(left, one), Complex((size > -1.0).select(near, small.re + 1.0), small.im))


def _sign(z: Complex) -> Complex:
    """z / |z|; zeros are returned unchanged, with their signs; NaN in both parts if either is NaN."""
    a, b = abs(z.re), abs(z.im)
    large = a.maximum(b)
    reduced = z.each(lambda part: part / large)
    size = (reduced.re * reduced.re + reduced.im * reduced.im).sqrt()
    zero = large.equals(0.0)
    infinite = _any_infinite(z)
    size, parts = infinite.select(large, size), zip(z, reduced, strict=True)
    return Complex(*(zero.select(x, infinite.select(x, part) / size) for x, part in parts))


def _power(x: Complex, y: Complex) -> Complex:
    """e**(y log x); 1 if y is 0 or x is 1; 0 to an exponent with a positive real part is 0."""
    found = _exponential(y * _log(x))
    base_zero = _equals(x, 0.0)
    base_one = _equals(x, 1.0)
    exponent_zero = _equals(y, 0.0)
    zero, one = found.re.like(0.0), found.re.like(1.0)
    vanishes = base_zero & (y.re > 0.0)
    found = Complex(zero, zero).where(vanishes, found)
    return Complex(one, zero).where(exponent_zero | base_one, found)


def _atan2(y: Complex, x: Complex) -> Complex:
    """-i log((x + i y) / sqrt(x**2 + y**2))"""
    size = _sqrt(x * x + y * y)
    angle = _log(_divide(x + y.turned(), size))
    return Complex(angle.im, -angle.re)


def _less(x: Complex, y: Complex, direction: str = "LT") -> Tensor:
    """Lexicographic order: by the real parts, then by the imaginary ones."""
    strict = direction[0] + "T"
    return x.re.compare(strict, y.re) | (x.re.equals(y.re) & x.im.compare(direction, y.im))


def _extreme(x: Complex, y: Complex, direction: str) -> Complex:
    """The extreme of two numbers in lexicographic order; a NaN wins, the first if both are."""
    first = x.re.is_nan() | x.im.is_nan()
    second = y.re.is_nan() | y.im.is_nan()
    return x.where(first, y.where(second, x.where(_less(x, y, direction), y)))


def _maximum(x: Complex, y: Complex) -> Complex:
    return _extreme(x, y, "GE")


def _minimum(x: Complex, y: Complex) -> Complex:
    return _extreme(x, y, "LE")


def _rule(function: Callable[..., Complex], wide: bool = False, short: Callable[..., Complex] | None = None) -> Rule:
    """
    The rule of an elementwise operation on complex numbers; `wide` computes complex<f32> in f64, `short` does so by a
    function of its own.
    """

    def rule(op: Operation, b: PartsBuilder) -> Complex:
        operands = [b.operand(index) for index in range(len(op.operands))]
        own = operands[0].re.element
        if own != f32 or not (wide or short):
            return function(*operands).convert(own)
        return (short or function)(*[z.convert(f64) for z in operands]).convert(own)

    return rule


@split_rules.on(CompareOp)
def _compare(op: Operation, b: PartsBuilder) -> Tensor:
    """Equal if both parts are, different if either is; else ordered by the real, then by the imaginary parts."""
    x, y = b.operand(0), b.operand(1)
    direction = cast(CompareOp, op).direction
    if direction == "EQ":
        return x.re.equals(y.re) & x.im.equals(y.im)
    if direction == "NE":
        return x.re.compare("NE", y.re) | x.im.compare("NE", y.im)
    result = _less(x, y, direction)
    for part in (x.re, y.re, x.im, y.im):
        result = result & part.equals(part)
    return result


@split_rules.on(ClampOp)
def _clamp(op: Operation, b: PartsBuilder) -> Complex:
    """min(max(x, low), high), bounds of rank 0 broadcast."""
    low, x, high = (b.operand(index) for index in range(3))
    if low.re.shape != x.re.shape:
        low = low.each(lambda part: part.broadcast(x.re.shape))
    if high.re.shape != x.re.shape:
        high = high.each(lambda part: part.broadcast(x.re.shape))
    return _minimum(_maximum(x, low), high)


split_rules.add(
    {
        unary.CbrtOp: _rule(_cbrt, wide=True),
        unary.CosineOp: _rule(_cosine),
        unary.ExponentialOp: _rule(_exponential),
        unary.ExponentialMinusOneOp: _rule(_exponential_minus_one, short=_short_exponential_minus_one),
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
    }
)

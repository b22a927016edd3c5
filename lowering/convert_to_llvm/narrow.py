"""
bf16, and rounding to bf16 and f16, for which LLVM would call a compiler runtime library or flush denormals.

f16 is treated as bf16 is where the CPU cannot convert it (`Conventions.soft_half`).
LLVM computes bf16 via f32 and rounds the result by a call or, with AVX512-BF16, by an instruction that flushes
denormals. Here an operation on bf16 becomes one on f32 whose result is rounded by integer arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    VectorType,
)
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects.llvm_ops import FCmpOp, SelectOp
from ...dialects.support.attributes import integer_attr
from ...dialects.support.llvm_layout import Vector, integer
from .builder import NO_FAST_MATH, LlvmBuilder, Pattern, flags_of
from .conventions import I32, I64

_F32, _F64 = Float32Type(), Float64Type()
_I16 = integer(16)


def element_of(type_: Attribute) -> Attribute:
    return cast(Vector, type_).element_type if type(type_) is VectorType else type_


def is_bfloat(type_: Attribute) -> bool:
    return type(element_of(type_)) is BFloat16Type


def is_half(type_: Attribute) -> bool:
    return type(element_of(type_)) is Float16Type


def is_soft(to: LlvmBuilder, type_: Attribute) -> bool:
    """Whether it is a float of 16 bits that is converted by integer arithmetic, and that nothing else computes on."""
    return is_bfloat(type_) or (to.conventions.soft_half and is_half(type_))


def in_single(
    to: LlvmBuilder,
    operands: Sequence[SSAValue],
    type_: Attribute,
    compute: Callable[[Sequence[SSAValue], Attribute], SSAValue],
) -> SSAValue:
    """`compute(operands, type)`; for bf16, on f32 operands and with the result rounded."""
    if not is_soft(to, type_):
        return compute(operands, type_)
    return truncate(to, compute([widened(to, value) for value in operands], to.like(type_, _F32)), type_)


def widened(to: LlvmBuilder, value: SSAValue) -> SSAValue:
    """The value, as f32 if it is a float that nothing computes on."""
    return extend(to, value, to.like(value.type, _F32)) if is_soft(to, value.type) else value


def extend(to: LlvmBuilder, value: SSAValue, type_: Attribute) -> SSAValue:
    """
    A float in a wider type.

    A bf16 becomes the upper half of an f32 by integer arithmetic: LLVM would move an operation such as floor before an
    fpext, to bf16, whose result then needs the rounding that this file avoids.
    """
    if is_bfloat(value.type):
        bits_type, half_type = to.like(value.type, I32), to.like(value.type, _I16)
        half = to.emit(llvm.BitcastOp, (value,), half_type)
        bits = to.emit(llvm.ZExtOp, (half,), bits_type)
        bits = to.emit(llvm.ShlOp, (bits, to.constant_like(16, bits_type)), bits_type)
        value = to.emit(llvm.BitcastOp, (bits,), to.like(value.type, _F32))
    elif is_soft(to, value.type):
        value = _half_to_single(to, value)
    return value if value.type == type_ else to.emit(llvm.FPExtOp, (value,), type_)


def float_intrinsic(name: str) -> Pattern:
    """A pattern: the operation becomes a call of `llvm.NAME.TYPE` with its fast-math flags."""

    def convert(op: Operation, to: LlvmBuilder) -> None:
        def compute(operands: Sequence[SSAValue], type_: Attribute) -> SSAValue:
            if name in EXTREMES and has_soft_extremes(to, type_):
                return extreme(to, name, *operands)
            return to.intrinsic(name, operands, type_, (type_,), flags_of(op))

        to.define(op.results[0], in_single(to, to.operands(op), to.type(op.results[0].type), compute))

    return convert


EXTREMES = {"maximum": ("ogt", llvm.AndOp), "minimum": ("olt", llvm.OrOp)}
"""The comparison of each, and what combines the bits of two zeros: the sign of -0 counts as less."""


def has_soft_extremes(to: LlvmBuilder, type_: Attribute) -> bool:
    return to.conventions.soft_extremes and isinstance(element_of(type_), Float64Type)


def extreme(to: LlvmBuilder, name: str, x: SSAValue, y: SSAValue) -> SSAValue:
    """`llvm.maximum` or `llvm.minimum` of doubles by comparisons."""
    predicate, combine = EXTREMES[name]
    type_, bits_type = x.type, to.like(x.type, I64)
    bits = [to.emit(llvm.BitcastOp, (value,), bits_type) for value in (x, y)]
    # Equal numbers differ in their bits only if they are zeros.
    equal = to.emit(llvm.BitcastOp, (to.emit(combine, bits, bits_type),), type_)
    found = select(to, compare_floats(to, predicate, x, y), x, y)
    found = select(to, compare_floats(to, "oeq", x, y), equal, found)
    none = to.emit(llvm.FAddOp, (x, y), type_, {"fastmathFlags": NO_FAST_MATH})
    return select(to, compare_floats(to, "uno", x, y), none, found)


def truncate(to: LlvmBuilder, value: SSAValue, type_: Attribute) -> SSAValue:
    """Round a float to a narrower type, to nearest even, denormals included."""
    double = isinstance(element_of(value.type), Float64Type)
    if double and (is_bfloat(type_) or (is_half(type_) and not to.conventions.device)):
        value = _round_to_odd(to, value)
    if is_bfloat(type_) and not to.conventions.device:
        return _round_to_bfloat(to, value, type_)
    if is_half(type_) and to.conventions.soft_half:
        return _round_to_half(to, value, type_)
    return to.emit(llvm.FPTruncOp, (value,), type_)


def _round_to_odd(to: LlvmBuilder, value: SSAValue) -> SSAValue:
    """
    Round a double to odd in f32: the last bit is set if inexact, so that rounding it again is correct.

    Take the nearest f32 y; if it differs from the double and its last bit is clear, its neighbour on the double's side
    is odd: one ulp up in magnitude if the double is larger, one down if it is smaller.
    """
    double, single = value.type, to.like(value.type, _F32)
    bits_type = to.like(value.type, I32)
    nearest = to.emit(llvm.FPTruncOp, (value,), single)
    back = to.emit(llvm.FPExtOp, (nearest,), double)
    bits = to.emit(llvm.BitcastOp, (nearest,), bits_type)
    inexact = compare_floats(to, "one", value, back)
    magnitudes = [to.intrinsic("fabs", (x,), double, (double,)) for x in (value, back)]
    larger = compare_floats(to, "ogt", *magnitudes)
    last = to.emit(llvm.AndOp, (bits, to.constant_like(1, bits_type)), bits_type)
    even = to.compare("eq", last, to.zero(bits_type))
    moves = to.emit(llvm.AndOp, (inexact, even), inexact.type)
    one, minus_one = to.constant_like(1, bits_type), to.constant_like(-1, bits_type)
    step = select(to, larger, one, minus_one)
    moved = to.emit(llvm.AddOp, (bits, step), bits_type)
    return to.emit(llvm.BitcastOp, (select(to, moves, moved, bits),), single)


def _round_to_bfloat(to: LlvmBuilder, value: SSAValue, type_: Attribute) -> SSAValue:
    """The upper half of the bits after adding half an ulp; a NaN stays NaN, with its quiet bit set."""
    bits_type, half_type = to.like(type_, I32), to.like(type_, _I16)
    bits = to.emit(llvm.BitcastOp, (value,), bits_type)
    shift = to.constant_like(16, bits_type)
    upper = to.emit(llvm.LShrOp, (bits, shift), bits_type)
    last = to.emit(llvm.AndOp, (upper, to.constant_like(1, bits_type)), bits_type)
    half = to.emit(llvm.AddOp, (last, to.constant_like(0x7FFF, bits_type)), bits_type)
    rounded = to.emit(llvm.LShrOp, (to.emit(llvm.AddOp, (bits, half), bits_type), shift), bits_type)
    quiet = to.emit(llvm.OrOp, (upper, to.constant_like(0x40, bits_type)), bits_type)
    chosen = select(to, compare_floats(to, "uno", value, value), quiet, rounded)
    return to.emit(llvm.BitcastOp, (to.emit(llvm.TruncOp, (chosen,), half_type),), type_)


_HALF_REBIAS = 112 << 23
"""The difference between the exponents, with their biases, of the same value as an f32 and as an f16."""


def _half_to_single(to: LlvmBuilder, value: SSAValue) -> SSAValue:
    """
    An f16 as f32: its exponent and mantissa in the places of f32's, with the bias made up for; a subnormal by a
    subtraction of the least normal number. A NaN is made quiet.
    """
    single, bits_type = to.like(value.type, _F32), to.like(value.type, I32)
    half = to.emit(llvm.BitcastOp, (value,), to.like(value.type, _I16))
    bits = to.emit(llvm.ZExtOp, (half,), bits_type)

    def number(n: int) -> SSAValue:
        return to.constant_like(n, bits_type)

    def binary(kind: type[Operation], x: SSAValue, y: SSAValue) -> SSAValue:
        return to.emit(kind, (x, y), bits_type)

    def as_float(x: SSAValue) -> SSAValue:
        return to.emit(llvm.BitcastOp, (x,), single)

    sign = binary(llvm.ShlOp, binary(llvm.AndOp, bits, number(0x8000)), number(16))
    size = binary(llvm.AndOp, bits, number(0x7FFF))
    moved = binary(llvm.ShlOp, size, number(13))
    normal = binary(llvm.AddOp, moved, number(_HALF_REBIAS))
    # Infinities and NaNs have the largest exponent in both.
    special = binary(llvm.AddOp, normal, number(_HALF_REBIAS))
    quiet = binary(llvm.OrOp, special, number(0x400000))
    special = select(to, to.compare("ugt", size, number(0x7C00)), quiet, special)
    least = number(113 << 23)
    properties = {"fastmathFlags": NO_FAST_MATH}
    scaled = as_float(binary(llvm.AddOp, moved, least))
    subnormal = to.emit(llvm.FSubOp, (scaled, as_float(least)), single, properties)
    small = select(to, to.compare("ult", size, number(0x400)), to.emit(llvm.BitcastOp, (subnormal,), bits_type), normal)
    found = select(to, to.compare("uge", size, number(0x7C00)), special, small)
    return as_float(binary(llvm.OrOp, found, sign))


def _round_to_half(to: LlvmBuilder, value: SSAValue, type_: Attribute) -> SSAValue:
    """
    An f32 as f16, to nearest even: half an ulp is added to the bits; a sum with 0.5 rounds what is subnormal. A NaN
    keeps the upper bits of its payload, with its quiet bit set.
    """
    single, bits_type = to.like(type_, _F32), to.like(type_, I32)
    bits = to.emit(llvm.BitcastOp, (value,), bits_type)

    def number(n: int) -> SSAValue:
        return to.constant_like(n, bits_type)

    def binary(kind: type[Operation], x: SSAValue, y: SSAValue) -> SSAValue:
        return to.emit(kind, (x, y), bits_type)

    size = binary(llvm.AndOp, bits, number(0x7FFFFFFF))
    sign = binary(llvm.AndOp, binary(llvm.LShrOp, bits, number(16)), number(0x8000))
    last = binary(llvm.AndOp, binary(llvm.LShrOp, size, number(13)), number(1))
    rounded = binary(llvm.AddOp, binary(llvm.AddOp, size, number(0xFFF)), last)
    normal = binary(llvm.LShrOp, binary(llvm.SubOp, rounded, number(_HALF_REBIAS)), number(13))
    half = number(126 << 23)
    operands = [to.emit(llvm.BitcastOp, (x,), single) for x in (size, half)]
    total = to.emit(llvm.FAddOp, operands, single, {"fastmathFlags": NO_FAST_MATH})
    subnormal = binary(llvm.SubOp, to.emit(llvm.BitcastOp, (total,), bits_type), half)
    found = select(to, to.compare("ult", size, number(113 << 23)), subnormal, normal)
    found = select(to, to.compare("uge", size, number(143 << 23)), number(0x7C00), found)
    payload = binary(llvm.OrOp, binary(llvm.LShrOp, size, number(13)), number(0x7E00))
    payload = binary(llvm.AndOp, payload, number(0x7FFF))
    found = select(to, to.compare("ugt", size, number(0xFF << 23)), payload, found)
    whole = binary(llvm.OrOp, found, sign)
    return to.emit(llvm.BitcastOp, (to.emit(llvm.TruncOp, (whole,), to.like(type_, _I16)),), type_)


def compare_floats(to: LlvmBuilder, predicate: str, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    number = llvm.FCmpPredicateFlag(predicate).to_int()
    properties = {"predicate": integer_attr(number, I64), "fastmathFlags": NO_FAST_MATH}
    return to.emit(FCmpOp, (lhs, rhs), to.mask(lhs.type), properties)


def select(to: LlvmBuilder, condition: SSAValue, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    return to.emit(SelectOp, (condition, lhs, rhs), lhs.type, {"fastmathFlags": NO_FAST_MATH})

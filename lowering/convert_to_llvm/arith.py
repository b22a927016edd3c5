"""arith to llvm, mostly one operation to one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from xdsl.dialects import arith, llvm
from xdsl.dialects.builtin import IntegerAttr, UnitAttr, i32
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects.arith_ops import RemFOp
from ...dialects.llvm_ops import FCmpOp, FPToSIOp, FPToUIOp, SelectOp, UIToFPOp
from ...dialects.support.attributes import integer_attr
from ...dialects.support.kernel import UNPREDICTABLE
from ...dialects.support.llvm_layout import bit_width, integer
from ...hlo_dialect.walking import TypeFact
from .builder import LlvmBuilder, Pattern, flags_of, patterns
from .conventions import I64
from .narrow import extend, float_intrinsic, in_single, is_soft, truncate, widened

# Tables: one row per operation that becomes a single operation.

_INTEGER: dict[type[Operation], type[Operation]] = {
    arith.DivUIOp: llvm.UDivOp,
    arith.DivSIOp: llvm.SDivOp,
    arith.RemUIOp: llvm.URemOp,
    arith.RemSIOp: llvm.SRemOp,
    arith.AndIOp: llvm.AndOp,
    arith.OrIOp: llvm.OrOp,
    arith.XOrIOp: llvm.XOrOp,
    arith.ShRUIOp: llvm.LShrOp,
    arith.ShRSIOp: llvm.AShrOp,
}
_WRAPPING: dict[type[Operation], type[Operation]] = {
    arith.AddiOp: llvm.AddOp,
    arith.SubiOp: llvm.SubOp,
    arith.MuliOp: llvm.MulOp,
    arith.ShLIOp: llvm.ShlOp,
}
_FLOAT: dict[type[Operation], type[Operation]] = {
    arith.AddfOp: llvm.FAddOp,
    arith.SubfOp: llvm.FSubOp,
    arith.MulfOp: llvm.FMulOp,
    arith.DivfOp: llvm.FDivOp,
    RemFOp: llvm.FRemOp,
}
_INTEGER_INTRINSICS: dict[type[Operation], str] = {
    arith.MaxSIOp: "smax",
    arith.MaxUIOp: "umax",
    arith.MinSIOp: "smin",
    arith.MinUIOp: "umin",
}
_FLOAT_INTRINSICS: dict[type[Operation], str] = {
    arith.MaximumfOp: "maximum",
    arith.MinimumfOp: "minimum",
    arith.MaxnumfOp: "maxnum",
    arith.MinnumfOp: "minnum",
}
_CASTS: dict[type[Operation], type[Operation]] = {
    arith.TruncIOp: llvm.TruncOp,
    arith.ExtSIOp: llvm.SExtOp,
    arith.ExtUIOp: llvm.ZExtOp,
}

_OVERFLOW: dict[tuple[str, ...], IntegerAttr[Any]] = {
    (): integer_attr(0, i32),
    ("nsw",): integer_attr(1, i32),
    ("nuw",): integer_attr(2, i32),
    ("nsw", "nuw"): integer_attr(3, i32),
}


@TypeFact
def _overflow_of(flags: Attribute) -> IntegerAttr[Any]:
    return _OVERFLOW[tuple(sorted(str(flag) for flag in cast(arith.IntegerOverflowAttr, flags).data))]


def _one_to_one(op_class: type[Operation]) -> Pattern:
    def convert(op: Operation, to: LlvmBuilder) -> None:
        (result,) = op.results
        to.define(result, to.emit(op_class, to.operands(op), to.type(result.type)))

    return convert


def _wrapping(op_class: type[Operation]) -> Pattern:
    def convert(op: Operation, to: LlvmBuilder) -> None:
        (result,) = op.results
        flags = op.properties.get("overflowFlags")
        properties = {"overflowFlags": _OVERFLOW[()] if flags is None else _overflow_of(flags)}
        to.define(result, to.emit(op_class, to.operands(op), to.type(result.type), properties))

    return convert


def _float(op_class: type[Operation]) -> Pattern:
    def convert(op: Operation, to: LlvmBuilder) -> None:
        properties = {"fastmathFlags": flags_of(op)}

        def compute(operands: Sequence[SSAValue], type_: Attribute) -> SSAValue:
            return to.emit(op_class, operands, type_, properties)

        to.define(op.results[0], in_single(to, to.operands(op), to.type(op.results[0].type), compute))

    return convert


@patterns.on(arith.ExtFOp)
def _extend(op: arith.ExtFOp, to: LlvmBuilder) -> None:
    to.define(op.result, extend(to, to.operand(op.input), to.type(op.result.type)))


@patterns.on(arith.TruncFOp)
def _truncate(op: arith.TruncFOp, to: LlvmBuilder) -> None:
    to.define(op.result, truncate(to, to.operand(op.input), to.type(op.result.type)))


def _to_float(op_class: type[Operation]) -> Pattern:
    """Integer to float; to bf16 via f32."""

    def convert(op: Operation, to: LlvmBuilder) -> None:
        def compute(operands: Sequence[SSAValue], type_: Attribute) -> SSAValue:
            return to.emit(op_class, operands, type_)

        to.define(op.results[0], in_single(to, to.operands(op), to.type(op.results[0].type), compute))

    return convert


def _from_float(op_class: type[Operation]) -> Pattern:
    """Float to integer; from bf16 via f32."""

    def convert(op: Operation, to: LlvmBuilder) -> None:
        wide = widened(to, to.operand(op.operands[0]))
        to.define(op.results[0], to.emit(op_class, (wide,), to.type(op.results[0].type)))

    return convert


@patterns.on(arith.NegfOp)
def _negate(op: arith.NegfOp, to: LlvmBuilder) -> None:
    """Flip the sign, without rounding."""
    (value,), properties = to.operands(op), {"fastmathFlags": flags_of(op)}
    if is_soft(to, value.type):
        bits_type = to.like(value.type, integer(16))
        bits = to.emit(llvm.BitcastOp, (value,), bits_type)
        bits = to.emit(llvm.XOrOp, (bits, to.constant_like(-0x8000, bits_type)), bits_type)
        to.define(op.result, to.emit(llvm.BitcastOp, (bits,), value.type))
    else:
        to.define(op.result, to.emit(llvm.FNegOp, (value,), value.type, properties))


def integer_intrinsic(name: str) -> Pattern:
    def convert(op: Operation, to: LlvmBuilder) -> None:
        type_ = to.type(op.results[0].type)
        to.define(op.results[0], to.intrinsic(name, to.operands(op), type_, (type_,)))

    return convert


@patterns.on(arith.ConstantOp)
def _leave(op: Operation, to: LlvmBuilder) -> None:
    """arith.constant: the builder converts constants where they are used."""


@patterns.on(arith.CmpiOp)
def _compare_integers(op: arith.CmpiOp, to: LlvmBuilder) -> None:
    properties = {"predicate": integer_attr(op.predicate.value.data, I64)}
    to.define(op.result, to.emit(llvm.ICmpOp, to.operands(op), to.type(op.result.type), properties))


@patterns.on(arith.CmpfOp)
def _compare_floats(op: arith.CmpfOp, to: LlvmBuilder) -> None:
    properties = {"predicate": integer_attr(op.predicate.value.data, I64), "fastmathFlags": flags_of(op)}
    operands = [widened(to, value) for value in to.operands(op)]
    to.define(op.result, to.emit(FCmpOp, operands, to.mask(operands[0].type), properties))


@patterns.on(arith.SelectOp)
def _select(op: arith.SelectOp, to: LlvmBuilder) -> None:
    properties = {"fastmathFlags": flags_of(op)}
    selected = to.emit(SelectOp, to.operands(op), to.type(op.result.type), properties)
    if UNPREDICTABLE in op.attributes:
        cast(Operation, selected.owner).attributes[UNPREDICTABLE] = UnitAttr()
    to.define(op.result, selected)


@patterns.on(arith.BitcastOp)
def _bitcast(op: arith.BitcastOp, to: LlvmBuilder) -> None:
    """`arith.bitcast` between equal types is the value itself."""
    source, type_ = to.operand(op.input), to.type(op.result.type)
    to.define(op.result, source if source.type == type_ else to.emit(llvm.BitcastOp, (source,), type_))


@patterns.on(arith.IndexCastOp)
def _index_cast(op: arith.IndexCastOp, to: LlvmBuilder) -> None:
    """Sign-extend or truncate between integers and index."""
    source, type_ = to.operand(op.input), to.type(op.result.type)
    have, want = bit_width(source.type), bit_width(type_)
    if have == want:
        to.define(op.result, source)
    else:
        to.define(op.result, to.emit(llvm.SExtOp if have < want else llvm.TruncOp, (source,), type_))


def _rounded_division(to: LlvmBuilder, op: Operation, up: bool) -> None:
    """
    Signed division rounded down or up: the truncated quotient, adjusted by one if the remainder is not 0 and its sign
    and the divisor's differ (down) or agree (up).
    """
    lhs, rhs = to.operands(op)
    type_ = lhs.type
    zero = to.zero(type_)
    quotient = to.emit(llvm.SDivOp, (lhs, rhs), type_)
    rest = to.emit(llvm.SRemOp, (lhs, rhs), type_)
    signs = to.emit(llvm.XOrOp, (rest, rhs), type_)
    inexact = to.compare("ne", rest, zero)
    side = to.compare("sge" if up else "slt", signs, zero)
    move = to.emit(llvm.AndOp, (inexact, side), inexact.type)
    step = to.emit(llvm.ZExtOp, (move,), type_) if bit_width(type_) > 1 else move
    to.define(op.results[0], to.emit(llvm.AddOp if up else llvm.SubOp, (quotient, step), type_))


@patterns.on(arith.FloorDivSIOp)
def _floor_divide(op: arith.FloorDivSIOp, to: LlvmBuilder) -> None:
    _rounded_division(to, op, up=False)


@patterns.on(arith.CeilDivSIOp)
def _ceil_divide(op: arith.CeilDivSIOp, to: LlvmBuilder) -> None:
    _rounded_division(to, op, up=True)


@patterns.on(arith.CeilDivUIOp)
def _ceil_divide_unsigned(op: arith.CeilDivUIOp, to: LlvmBuilder) -> None:
    """The quotient, plus one if the remainder is not 0."""
    lhs, rhs = to.operands(op)
    quotient = to.emit(llvm.UDivOp, (lhs, rhs), lhs.type)
    rest = to.emit(llvm.URemOp, (lhs, rhs), lhs.type)
    more = to.compare("ne", rest, to.zero(lhs.type))
    step = to.emit(llvm.ZExtOp, (more,), lhs.type) if bit_width(lhs.type) > 1 else more
    to.define(op.result, to.emit(llvm.AddOp, (quotient, step), lhs.type))


@patterns.on(arith.AddUIExtendedOp)
def _add_extended(op: arith.AddUIExtendedOp, to: LlvmBuilder) -> None:
    """The sum and its carry: a wrapped sum is less than its operands."""
    lhs, rhs = to.operands(op)
    total = to.emit(llvm.AddOp, (lhs, rhs), lhs.type)
    to.define(op.sum, total)
    to.define(op.overflow, to.compare("ult", total, lhs))


def _multiply_extended(extend: type[Operation]) -> Callable[[Any, LlvmBuilder], None]:
    """The low and high halves of the double-width product."""

    def convert(op: arith.MulExtendedBase, to: LlvmBuilder) -> None:
        lhs, rhs = to.operands(op)
        width = bit_width(lhs.type)
        wide = to.like(lhs.type, integer(2 * width))
        factors = [to.emit(extend, (value,), wide) for value in (lhs, rhs)]
        product = to.emit(llvm.MulOp, factors, wide)
        high = to.emit(llvm.LShrOp, (product, to.constant_like(width, wide)), wide)
        to.define(op.low, to.emit(llvm.TruncOp, (product,), lhs.type))
        to.define(op.high, to.emit(llvm.TruncOp, (high,), lhs.type))

    return convert


patterns.add({old: _one_to_one(new) for old, new in _INTEGER.items()})
patterns.add({old: _one_to_one(new) for old, new in _CASTS.items()})
patterns.add({old: _wrapping(new) for old, new in _WRAPPING.items()})
patterns.add({old: _float(new) for old, new in _FLOAT.items()})
patterns.add({old: integer_intrinsic(name) for old, name in _INTEGER_INTRINSICS.items()})
patterns.add({old: float_intrinsic(name) for old, name in _FLOAT_INTRINSICS.items()})
patterns.add(
    {
        arith.FPToSIOp: _from_float(FPToSIOp),
        arith.FPToUIOp: _from_float(FPToUIOp),
        arith.SIToFPOp: _to_float(llvm.SIToFPOp),
        arith.UIToFPOp: _to_float(UIToFPOp),
        arith.MulUIExtendedOp: _multiply_extended(llvm.ZExtOp),
        arith.MulSIExtendedOp: _multiply_extended(llvm.SExtOp),
    }
)

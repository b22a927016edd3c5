"""math to llvm: intrinsics if the hardware has them, C library calls for functions that expand-math leaves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects import llvm, math
from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type, Float64Type, VectorType
from xdsl.ir import Attribute, Operation, SSAValue

from .arith import integer_intrinsic
from .builder import I1, LlvmBuilder, Pattern, flags_of, patterns
from .fused import fused_multiply_add
from .narrow import element_of, extend, float_intrinsic, in_single, truncate

_F32, _F64 = Float32Type(), Float64Type()

_INTRINSICS: dict[type[Operation], str] = {
    math.SqrtOp: "sqrt",
    math.AbsFOp: "fabs",
    math.FloorOp: "floor",
    math.CeilOp: "ceil",
    math.RoundEvenOp: "roundeven",
    math.RoundOp: "round",
    math.TruncOp: "trunc",
    math.CopySignOp: "copysign",
}
_COUNTS: dict[type[Operation], str] = {math.CtPopOp: "ctpop"}
_WITH_POISON_FLAG: dict[type[Operation], str] = {
    math.CountLeadingZerosOp: "ctlz",
    math.CountTrailingZerosOp: "cttz",
    math.AbsIOp: "abs",
}
_LIBRARY: dict[type[Operation], str] = {
    math.AcosOp: "acos",
    math.AcoshOp: "acosh",
    math.AsinOp: "asin",
    math.AsinhOp: "asinh",
    math.AtanOp: "atan",
    math.AtanhOp: "atanh",
    math.Atan2Op: "atan2",
    math.CbrtOp: "cbrt",
    math.CosOp: "cos",
    math.CoshOp: "cosh",
    math.ErfOp: "erf",
    math.Exp2Op: "exp2",
    math.ExpM1Op: "expm1",
    math.ExpOp: "exp",
    math.Log10Op: "log10",
    math.Log1pOp: "log1p",
    math.Log2Op: "log2",
    math.LogOp: "log",
    math.PowFOp: "pow",
    math.SinOp: "sin",
    math.SinhOp: "sinh",
    math.TanOp: "tan",
    math.TanhOp: "tanh",
}


def _with_poison_flag(name: str) -> Pattern:
    """Intrinsics with an is_poison operand for a special input (zero, the smallest integer), set to false."""

    def convert(op: Operation, to: LlvmBuilder) -> None:
        type_ = to.type(op.results[0].type)
        operands = (to.operand(op.operands[0]), to.constant(0, I1))
        to.define(op.results[0], to.intrinsic(name, operands, type_, (type_,)))

    return convert


@patterns.on(math.RsqrtOp)
def _reciprocal_root(op: math.RsqrtOp, to: LlvmBuilder) -> None:
    """`1 / sqrt(x)`, both correctly rounded."""
    flags = flags_of(op)

    def compute(operands: Sequence[SSAValue], type_: Attribute) -> SSAValue:
        root = to.intrinsic("sqrt", operands, type_, (type_,), flags)
        one = to.splat_like(to.float_constant(1.0, element_of(type_)), type_)
        return to.emit(llvm.FDivOp, (one, root), type_, {"fastmathFlags": flags})

    to.define(op.result, in_single(to, to.operands(op), to.type(op.result.type), compute))


@patterns.on(math.FmaOp)
def _fma(op: math.FmaOp, to: LlvmBuilder) -> None:
    """`llvm.fma`, or arithmetic that rounds once as well."""
    flags = flags_of(op)

    def compute(operands: Sequence[SSAValue], type_: Attribute) -> SSAValue:
        if to.conventions.soft_fma:
            return fused_multiply_add(to, operands, type_)
        return to.intrinsic("fma", operands, type_, (type_,), flags)

    to.define(op.result, in_single(to, to.operands(op), to.type(op.result.type), compute))


def _library_call(name: str) -> Pattern:
    """`call double @tan(double)`, @tanf for float; narrower floats via float, vectors element by element."""

    def convert(op: Operation, to: LlvmBuilder) -> None:
        operands, type_ = to.operands(op), op.results[0].type
        if not isinstance(type_, VectorType):
            to.define(op.results[0], _call_scalar(to, name, operands, type_))
            return
        vector = cast("VectorType[Any]", type_)
        result = to.poison(vector)
        for lane in range(vector.get_shape()[0]):
            index = to.constant(lane)
            scalars = [to.extract_element(operand, index) for operand in operands]
            value = _call_scalar(to, name, scalars, vector.element_type)
            result = to.emit(llvm.InsertElementOp, (result, value, index), vector)
        to.define(op.results[0], result)

    return convert


def _call_scalar(to: LlvmBuilder, name: str, operands: Sequence[SSAValue], type_: Attribute) -> SSAValue:
    narrow = isinstance(type_, Float16Type | BFloat16Type)
    work: Attribute = _F32 if narrow else type_
    if narrow:
        operands = [extend(to, operand, work) for operand in operands]
    full = name + "f" if isinstance(work, Float32Type) else name
    to.declare(full, llvm.LLVMFunctionType([work] * len(operands), work))
    result = cast(SSAValue, to.call(full, operands, work))
    return truncate(to, result, type_) if narrow else result


patterns.add({old: float_intrinsic(name) for old, name in _INTRINSICS.items()})
patterns.add({old: integer_intrinsic(name) for old, name in _COUNTS.items()})
patterns.add({old: _with_poison_flag(name) for old, name in _WITH_POISON_FLAG.items()})
patterns.add({old: _library_call(name) for old, name in _LIBRARY.items()})

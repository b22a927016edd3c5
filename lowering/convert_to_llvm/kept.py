"""Operations of the llvm dialect that earlier passes emitted, and casts to its types."""

from __future__ import annotations

from xdsl.dialects import llvm
from xdsl.dialects.builtin import UnrealizedConversionCastOp
from xdsl.ir import Operation

from ...dialects.llvm_ops import AddrSpaceCastOp, ExtractElementOp, FenceOp, SelectOp
from ...hlo_dialect.diagnostics import fail
from .builder import LlvmBuilder, patterns

_KEPT: tuple[type[Operation], ...] = (
    llvm.BitcastOp,
    llvm.CallIntrinsicOp,
    llvm.ConstantOp,
    llvm.ExtractValueOp,
    llvm.GEPOp,
    llvm.InlineAsmOp,
    llvm.InsertElementOp,
    llvm.InsertValueOp,
    llvm.IntToPtrOp,
    llvm.LoadOp,
    llvm.PtrToIntOp,
    llvm.StoreOp,
    llvm.UndefOp,
    llvm.ZeroOp,
    llvm.UDivOp,
    llvm.ZExtOp,
    AddrSpaceCastOp,
    ExtractElementOp,
    FenceOp,
    SelectOp,
)


@patterns.on(*_KEPT)
def _keep(op: Operation, to: LlvmBuilder) -> None:
    """The same operation on the converted operands."""
    made = type(op).create(
        operands=to.operands(op),
        result_types=[to.type(result.type) for result in op.results],
        properties=op.properties,
        attributes=op.attributes,
    )
    to.add(made)
    for old, new in zip(op.results, made.results, strict=True):
        to.define(old, new)


@patterns.on(UnrealizedConversionCastOp)
def _cast(op: UnrealizedConversionCastOp, to: LlvmBuilder) -> None:
    """`builtin.unrealized_conversion_cast %m : memref<8xf32> to !llvm.ptr` is the pointer that %m becomes."""
    for operand, result in zip(op.operands, op.results, strict=True):
        value = to.operand(operand)
        if value.type != to.type(result.type):
            fail(op, f"casts {operand.type}, which becomes {value.type}, to {result.type}")
        to.define(result, value)

"""func to llvm: calls and returns; several results are returned as a struct."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import func, llvm
from xdsl.ir import Attribute

from ...dialects.support.buffers import i64_array
from ...dialects.support.creation import create_op
from .builder import LlvmBuilder, patterns


def result_type(types: Sequence[Attribute]) -> Attribute | None:
    """The return type of a function: None without results, a struct for several."""
    if len(types) < 2:
        return types[0] if types else None
    return llvm.LLVMStructType.from_type_list(list(types))


@patterns.on(func.CallOp)
def _call(op: func.CallOp, to: LlvmBuilder) -> None:
    types = [to.type(result.type) for result in op.results]
    returned = to.call(op.callee.root_reference.data, to.operands(op), result_type(types))
    if returned is None:
        return
    if len(types) == 1:
        to.define(op.results[0], returned)
        return
    for index, (result, type_) in enumerate(zip(op.results, types, strict=True)):
        position = {"position": i64_array((index,))}
        to.define(result, to.emit(llvm.ExtractValueOp, (returned,), type_, position))


@patterns.on(func.ReturnOp)
def _return(op: func.ReturnOp, to: LlvmBuilder) -> None:
    values = to.operands(op)
    if len(values) > 1:
        type_ = llvm.LLVMStructType.from_type_list([value.type for value in values])
        packed = to.poison(type_)
        for index, value in enumerate(values):
            position = {"position": i64_array((index,))}
            packed = to.emit(llvm.InsertValueOp, (packed, value), type_, position)
        values = [packed]
    to.add(create_op(llvm.ReturnOp, operands=values))

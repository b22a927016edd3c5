"""Types in LLVM's syntax."""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IntAttr,
    IntegerType,
    VectorType,
)
from xdsl.ir import Attribute

from ...hlo_dialect.diagnostics import Diagnostic, DiagnosticError
from ...hlo_dialect.walking import TypeFact

_NAMES: dict[type, str] = {
    llvm.LLVMVoidType: "void",
    Float16Type: "half",
    BFloat16Type: "bfloat",
    Float32Type: "float",
    Float64Type: "double",
}
_INTEGERS: dict[int, str] = {width: f"i{width}" for width in (1, 8, 16, 32, 64)}


@TypeFact
def type_text(type_: Attribute) -> str:
    """A type such as `<16 x float>`. Raises DiagnosticError for a type that LLVM lacks."""
    kind = type(type_)
    if kind is IntegerType:
        width = cast("IntegerType[Any, Any]", type_).width.data
        return _INTEGERS.get(width) or f"i{width}"
    if kind is llvm.LLVMPointerType:
        space = cast(llvm.LLVMPointerType, type_).addr_space
        return f"ptr addrspace({space.data})" if type(space) is IntAttr else "ptr"
    found = _NAMES.get(kind)
    if found is not None:
        return found
    if type(type_) is VectorType:
        vector = cast("VectorType[Any]", type_)
        return f"<{vector.get_shape()[0]} x {type_text(vector.element_type)}>"
    if type(type_) is llvm.LLVMArrayType:
        return f"[{type_.size.data} x {type_text(type_.type)}]"
    if type(type_) is llvm.LLVMStructType:
        return "{ " + ", ".join(type_text(field) for field in type_.types.data) + " }"
    raise DiagnosticError(Diagnostic("error", f"the type {type_} has no form in LLVM IR"))

"""llvm.func and its type, as xDSL's constructors make them, in a fraction of their time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from xdsl.dialects import llvm
from xdsl.ir import Attribute, Region

from ...dialects.support.attributes import integer_attr, string_attr
from ...dialects.support.creation import create_op

_LINKAGES = {name: llvm.LinkageAttr(name) for name in ("internal", "external")}
_C_CONVENTION = llvm.CallingConventionAttr("ccc")


_LIMIT = 4096

_types: dict[tuple[int, ...], tuple[llvm.LLVMFunctionType, Sequence[Attribute | None]]] = {}
"""By the identities of their types, which they keep."""


def function_type(inputs: Sequence[Attribute], output: Attribute | None = None) -> llvm.LLVMFunctionType:
    """The type of a function; `output` is None for void."""
    key = (*map(id, inputs), id(output))
    found = _types.get(key)
    if found is None:
        if len(_types) >= _LIMIT:
            _types.clear()
        found = _types[key] = llvm.LLVMFunctionType(inputs, output), (*inputs, output)
    return found[0]


def llvm_function(
    name: str, type_: llvm.LLVMFunctionType, linkage: Literal["internal", "external"], body: Region | None = None
) -> llvm.FuncOp:
    """A function, without `body` a declaration."""
    properties: dict[str, Attribute] = {
        "sym_name": string_attr(name),
        "function_type": type_,
        "CConv": _C_CONVENTION,
        "linkage": _LINKAGES[linkage],
        "visibility_": integer_attr(0),
    }
    return create_op(llvm.FuncOp, properties=properties, regions=[Region() if body is None else body])

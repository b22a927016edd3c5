"""
Represent bf16 values of a converted function by the i16 of their bits.

By then nothing computes on bf16 any more (`narrow.py`): values are loaded, stored, selected and moved between lanes.
LLVM may do even that via f32, whose rounding back is a call to a compiler runtime library; it cannot for integers.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, cast

import ml_dtypes
import numpy as np
from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    BFloat16Type,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    VectorType,
)
from xdsl.ir import Attribute, Operation, TypeAttribute

from ...dialects.support.llvm_layout import Vector, integer
from ...dialects.support.rewriting import set_type
from ...hlo_dialect.walking import operations_in

BITS = integer(16)


@lru_cache(maxsize=1024)
def bits_type(type_: Attribute) -> Attribute:
    """The type with i16 in place of bf16, also inside vectors, arrays, structures and functions."""
    match type_:
        case BFloat16Type():
            return BITS
        case VectorType():
            vector = cast(Vector, type_)
            return VectorType(cast(Any, bits_type(vector.element_type)), vector.get_shape())
        case llvm.LLVMArrayType():
            return llvm.LLVMArrayType(type_.size, bits_type(type_.type))
        case llvm.LLVMStructType():
            return llvm.LLVMStructType.from_type_list([cast(Any, bits_type(inner)) for inner in type_.types.data])
        case llvm.LLVMFunctionType():
            inputs = [bits_type(inner) for inner in type_.inputs]
            return llvm.LLVMFunctionType(inputs, bits_type(type_.output), type_.is_variadic)
        case _:
            return type_


def _bits_attribute(attr: Attribute) -> Attribute:
    """A constant becomes its bits, a type `bits_type`, an intrinsic's name has i16; other attributes are unchanged."""
    if isinstance(attr, FloatAttr):
        number = cast("FloatAttr[Any]", attr)
        if not isinstance(number.type, BFloat16Type):
            return number
        bits = np.asarray(number.value.data, ml_dtypes.bfloat16).view(np.int16)
        return IntegerAttr(int(bits), BITS)
    if isinstance(attr, DenseIntOrFPElementsAttr):
        dense = cast("DenseIntOrFPElementsAttr[Any]", attr)
        return DenseIntOrFPElementsAttr(cast(Any, bits_type(dense.type)), dense.data)
    if isinstance(attr, StringAttr) and attr.data.startswith("llvm.") and "bf16" in attr.data:
        return StringAttr(attr.data.replace("bf16", "i16"))
    return bits_type(attr) if isinstance(attr, TypeAttribute) else attr


def bfloat_as_bits(function: Operation) -> None:
    """Rewrite a function of the llvm dialect in place; bitcasts between bf16 and i16 are removed."""
    for op in operations_in(function):
        for region in op.regions:
            for block in region.blocks:
                for argument in block.args:
                    set_type(argument, bits_type(argument.type))
        for result in op.results:
            set_type(result, bits_type(result.type))
        for name, attr in op.properties.items():
            op.properties[name] = _bits_attribute(attr)
        if isinstance(op, llvm.BitcastOp) and op.operands[0].type == op.results[0].type:
            op.results[0].replace_all_uses_with(op.operands[0])
            op.detach()
            op.erase()

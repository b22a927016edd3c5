"""
Represent bf16 values of a converted function by the i16 of their bits; f16 values on CPUs that cannot convert them.

By then nothing computes on them any more (`narrow.py`): values are loaded, stored, selected and moved between lanes.
LLVM may do even that via f32, whose rounding back is a call to a compiler runtime library; it cannot for integers.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, cast

import numpy as np
from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    BFloat16Type,
    DenseIntOrFPElementsAttr,
    Float16Type,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    VectorType,
)
from xdsl.ir import Attribute, Operation, SSAValue, TypeAttribute

from ...dialects.support.editing import erase_op, insert_before, replace_uses
from ...dialects.support.llvm_layout import Vector, integer
from ...dialects.support.rewriting import set_type
from ...hlo_dialect.types import dtype_named
from ...hlo_dialect.walking import operations_in

BITS = integer(16)

BFLOAT_DOTS = "x86.avx512bf16.dpbf16ps"
"""The beginning of LLVM's names for dot products of bf16, after `llvm.`."""


@lru_cache(maxsize=1024)
def bits_type(type_: Attribute, half: bool) -> Attribute:
    """The type with i16 in place of bf16, and of f16 if `half`, also inside vectors, arrays, structures, functions."""
    match type_:
        case BFloat16Type():
            return BITS
        case Float16Type() if half:
            return BITS
        case VectorType():
            vector = cast(Vector, type_)
            return VectorType(cast(Any, bits_type(vector.element_type, half)), vector.get_shape())
        case llvm.LLVMArrayType():
            return llvm.LLVMArrayType(type_.size, bits_type(type_.type, half))
        case llvm.LLVMStructType():
            return llvm.LLVMStructType.from_type_list([cast(Any, bits_type(inner, half)) for inner in type_.types.data])
        case llvm.LLVMFunctionType():
            inputs = [bits_type(inner, half) for inner in type_.inputs]
            return llvm.LLVMFunctionType(inputs, bits_type(type_.output, half), type_.is_variadic)
        case _:
            return type_


def _bits_attribute(attr: Attribute, half: bool) -> Attribute:
    """A constant becomes its bits, a type `bits_type`, an intrinsic's name has i16; other attributes are unchanged."""
    if isinstance(attr, FloatAttr):
        number = cast("FloatAttr[Any]", attr)
        if bits_type(number.type, half) != BITS:
            return number
        dtype = dtype_named("bfloat16" if isinstance(number.type, BFloat16Type) else "float16")
        with np.errstate(over="ignore"):
            return IntegerAttr(int(np.asarray(number.value.data, dtype).view(np.int16)), BITS)
    if isinstance(attr, DenseIntOrFPElementsAttr):
        dense = cast("DenseIntOrFPElementsAttr[Any]", attr)
        return DenseIntOrFPElementsAttr(cast(Any, bits_type(dense.type, half)), dense.data)
    if isinstance(attr, StringAttr) and attr.data.startswith("llvm."):
        name = attr.data.replace("bf16", "i16")
        return StringAttr(name.replace("f16", "i16") if half else name)
    return bits_type(attr, half) if isinstance(attr, TypeAttribute) else attr


def floats_as_bits(function: Operation, half: bool) -> None:
    """Rewrite a function of the llvm dialect in place; bitcasts that change nothing then are removed."""
    for op in operations_in(function):
        for region in op.regions:
            for block in region.blocks:
                for argument in block.args:
                    set_type(argument, bits_type(argument.type, half))
        if isinstance(op, llvm.CallIntrinsicOp) and op.intrin.data.startswith(f"llvm.{BFLOAT_DOTS}"):
            _pass_bfloats(op)
            continue
        for result in op.results:
            set_type(result, bits_type(result.type, half))
        for name, attr in op.properties.items():
            op.properties[name] = _bits_attribute(attr, half)
        if isinstance(op, llvm.BitcastOp) and op.operands[0].type == op.results[0].type:
            replace_uses(op.results[0], op.operands[0])
            erase_op(op)


def _pass_bfloats(op: llvm.CallIntrinsicOp) -> None:
    """Pass factors, whose bits are in i16 by now, to an instruction that multiplies bf16."""
    total, *factors = op.args
    passed: list[SSAValue] = []
    for factor in factors:
        type_ = VectorType(BFloat16Type(), cast(Vector, factor.type).get_shape())
        cast_ = llvm.BitcastOp(factor, type_)
        insert_before(cast_, op)
        passed.append(cast_.result)
    op.operands = [total, *passed]

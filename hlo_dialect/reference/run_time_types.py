"""
Checks of a dynamic program while it runs: its arrays fit the types and constraints of its operations.

The verifier accepts any size for an unknown one. Here the sizes are known, so each operation that has unknown ones is
verified again, with the types that its operands have now.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ..diagnostics import fail
from ..ops.convolution import DynamicConvOp
from ..ops.creation import ConstantOp
from ..ops.dynamism.dimension_sizes import SetDimensionSizeOp
from ..ops.dynamism.dynamic_shapes import ShapedByOperandOp
from ..ops.gather import DynamicGatherOp
from ..shapes import is_static, shape_text, shapes_agree
from ..types import Array, dense_constant, element_of, make_tensor, shape_of
from ..verification import verify_operation

MAX_SIZES = 64
"""The number of elements up to which an integer operand may be a list of sizes."""

_SHAPED_BY_OPERANDS = (DynamicConvOp, DynamicGatherOp, SetDimensionSizeOp, ShapedByOperandOp)


def is_dynamic(op: Operation) -> bool:
    """Whether the operation's constraints depend on sizes that only its run determines."""
    return isinstance(op, _SHAPED_BY_OPERANDS) or any(map(_unknown, (*op.operand_types, *op.result_types)))


def _unknown(type_: Attribute) -> bool:
    return isinstance(type_, TensorType) and not is_static(shape_of(cast(Attribute, type_)))


def check_operands(op: Operation, operands: Sequence[Array]) -> None:
    """Verify the operation on operands of these shapes. Raises DiagnosticError at the operation."""
    block = Block()
    known = type(op).create(
        operands=[_known(block, *pair) for pair in zip(op.operands, operands, strict=True)],
        result_types=list(op.result_types),
        properties=op.properties,
        attributes=op.attributes,
        regions=[region.clone() for region in op.regions],
        location=op.location,
    )
    try:
        verify_operation(known)
    finally:
        known.drop_all_references()  # its regions use values of the program


def known_values(operands: Sequence[SSAValue], arrays: Sequence[Array]) -> tuple[SSAValue, ...]:
    """Values of the arrays' types in place of the operands."""
    block = Block()
    return tuple(_known(block, *pair) for pair in zip(operands, arrays, strict=True))


def _known(block: Block, operand: SSAValue, array: Array) -> SSAValue:
    """A value of the array's type; a constant if it may be a list of sizes."""
    if not isinstance(operand.type, TensorType):
        return block.insert_arg(operand.type, len(block.args))
    type_ = make_tensor(array.shape, element_of(operand))
    if np.issubdtype(cast(Any, array.dtype), np.integer) and array.size <= MAX_SIZES:
        constant = ConstantOp.create(properties={"value": dense_constant(array, type_)}, result_types=[type_])
        return constant.results[0]
    return block.insert_arg(type_, len(block.args))


def check_results(op: Operation, results: Sequence[Array]) -> None:
    """Raise DiagnosticError at the operation for a result whose shape is not its type's."""
    for array, type_ in zip(results, op.result_types, strict=True):
        if isinstance(type_, TensorType) and not shapes_agree(array.shape, shape_of(cast(Attribute, type_))):
            fail(op, f"has a result of type {type_}, but its value has the shape {shape_text(array.shape)}")

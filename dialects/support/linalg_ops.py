"""linalg operations, built without xDSL's implicit builder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.builtin import MemRefType, TensorType
from xdsl.dialects.linalg.ops import FillOp, YieldOp
from xdsl.ir import Attribute, Region, SSAValue

from .buffers import i32_array
from .creation import append, create_op, new_block


def _element_type(type_: Attribute) -> Attribute:
    """The type of an argument of a body for an operand, as `FillOp.body_arg_types` has it."""
    return cast("MemRefType[Any]", type_).element_type if isinstance(type_, TensorType | MemRefType) else type_


def fill_op(value: SSAValue, destination: SSAValue, result_types: Sequence[Attribute] = ()) -> FillOp:
    """
    A linalg.fill of a tensor or, without results, of a memref.

    FillOp's constructor uses `ImplicitBuilder`, which replaces a method of `Operation` for all threads while it runs:
    another thread that compiles at the same time would insert its operations twice.
    """
    body = new_block([_element_type(value.type), _element_type(destination.type)])
    append(body, create_op(YieldOp, operands=body.args[:1]))
    return create_op(
        FillOp,
        operands=[value, destination],
        result_types=result_types,
        properties={"operandSegmentSizes": i32_array((1, 1))},
        regions=[Region(body)],
    )

"""linalg operations, built without xDSL's implicit builder."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.linalg.ops import FillOp, YieldOp
from xdsl.ir import Attribute, Block, Region, SSAValue

from .buffers import i32_array
from .creation import append, create_op


def fill_op(value: SSAValue, destination: SSAValue, result_types: Sequence[Attribute] = ()) -> FillOp:
    """
    A linalg.fill of a tensor or, without results, of a memref.

    FillOp's constructor uses `ImplicitBuilder`, which replaces a method of `Operation` for all threads while it runs:
    another thread that compiles at the same time would insert its operations twice.
    """
    body = Block(arg_types=FillOp.body_arg_types((value, destination)))
    append(body, create_op(YieldOp, operands=body.args[:1]))
    return create_op(
        FillOp,
        operands=[value, destination],
        result_types=result_types,
        properties={"operandSegmentSizes": i32_array((1, 1))},
        regions=[Region(body)],
    )

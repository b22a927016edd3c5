"""
Bring an elementwise loop that reads a product reshaped, as a step of an optimizer reads the gradient of a 1x1
convolution's filters, to the product's own shape, in which it can be the product's epilogue.
"""

from __future__ import annotations

from collections.abc import Container

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, TensorType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ...dialects.support.editing import erase_op, insert_before, replace_uses
from ...dialects.support.rewriting import like
from ...hlo_dialect.ops.control_flow import ReturnOp
from ...hlo_dialect.ops.creation import ConstantOp
from ...hlo_dialect.ops.fusion import FusionOp
from ...hlo_dialect.ops.movement import ReshapeOp
from ...hlo_dialect.types import element_of, is_splat, shape_of
from .graph import role_of

Shape = tuple[int, ...]


def take_shape(product: FusionOp, given: Container[Operation]) -> None:
    """
    Move the reshape between a product and the loop that alone reads it to the loop's other operands and its results.

    Nothing changes if the loop is one of those `given`, or does more than elementwise work on values of one shape.
    """
    reshape = product.outs[0].get_user_of_unique_use() if len(product.outs) == 1 else None
    if not isinstance(reshape, ReshapeOp):
        return
    loop = reshape.result.get_user_of_unique_use()
    if not isinstance(loop, FusionOp) or loop in given or loop.kind.data != "loop" or loop.parent is not product.parent:
        return
    old, new = shape_of(reshape.result), shape_of(product.outs[0])
    if not all(_is_in(op, old) for op in loop.body.block.ops):
        return
    operands: list[SSAValue] = []
    for value in loop.operands:
        if value is reshape.result:
            operands.append(product.outs[0])
            continue
        before = _reshape(value, new, reshape)
        insert_before(before, loop)
        operands.append(before.results[0])
    moved = FusionOp.create(
        operands=operands,
        result_types=[TensorType(element_of(result), new) for result in loop.outs],
        properties=dict(loop.properties),
        regions=[Region([_body(loop.body.block, new)])],
        location=loop.location,
    )
    insert_before(moved, loop)
    for result, made in zip(loop.outs, moved.outs, strict=True):
        after = _reshape(made, old, reshape)
        insert_before(after, loop)
        after.results[0].name_hint = result.name_hint
        replace_uses(result, after.results[0])
    for op in (loop, reshape):
        erase_op(op)


def _is_in(op: Operation, shape: Shape) -> bool:
    """Whether an operation of a loop works on values of this shape alone, each element by itself."""
    if isinstance(op, ConstantOp):
        return is_splat(op.dense) and shape_of(op.results[0]) == shape
    values = (*op.operands, *op.results)
    return (isinstance(op, ReturnOp) or role_of(op) == "elementwise") and all(shape_of(v) == shape for v in values)


def _reshape(value: SSAValue, shape: Shape, like: ReshapeOp) -> ReshapeOp:
    return ReshapeOp.create(
        operands=[value], result_types=[TensorType(element_of(value), shape)], location=like.location
    )


def _body(block: Block, shape: Shape) -> Block:
    """A copy of a loop's body in another shape."""
    copy = Block(arg_types=[TensorType(element_of(argument), shape) for argument in block.args])
    local: dict[SSAValue, SSAValue] = dict(zip(block.args, copy.args, strict=True))
    for argument, made in zip(block.args, copy.args, strict=True):
        made.name_hint = argument.name_hint
    for op in block.ops:
        properties: dict[str, Attribute] = {}
        if isinstance(op, ConstantOp):
            type_ = TensorType(element_of(op.results[0]), shape)
            properties["value"] = DenseIntOrFPElementsAttr(type_, op.dense.data)  # pyright: ignore[reportArgumentType]
        types = [TensorType(element_of(result), shape) for result in op.results]
        made = like(op, [local[value] for value in op.operands], types, properties)
        copy.add_op(made)
        for result, value in zip(op.results, made.results, strict=True):
            local[result] = value
            value.name_hint = result.name_hint
    return copy

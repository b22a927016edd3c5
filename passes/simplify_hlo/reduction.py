"""Rules for reduce: one over dimensions of one element is no reduction."""

from __future__ import annotations

from typing import cast

from xdsl.ir import Operation, SSAValue

from ...hlo_dialect.attributes import int_array, ints
from ...hlo_dialect.op import HloOp
from ...hlo_dialect.ops.comparison import CompareOp, SelectOp
from ...hlo_dialect.ops.creation import ConstantOp
from ...hlo_dialect.ops.elementwise import ElementwiseBinaryOp, ElementwiseUnaryOp
from ...hlo_dialect.ops.movement import BroadcastInDimOp, ReshapeOp
from ...hlo_dialect.ops.reduction import ReduceOp
from ...hlo_dialect.types import element_of, make_tensor, shape_of
from .rewrite import Rewrite

_LIFTED = (ElementwiseBinaryOp, ElementwiseUnaryOp, CompareOp, SelectOp)
"""Operations of a reducer that work on whole tensors as they do on elements."""


def simplify_unit_reduction(op: Operation) -> Rewrite | None:
    """
    `reduce(%x: 4x1, init)` over dimension 1 becomes the reducer itself, on init and the reshaped operand.

    Each result is the reducer applied once, which is what is written instead: bit for bit the same.
    """
    reduce = cast(ReduceOp, op)
    shape = shape_of(reduce.inputs[0])
    if any(shape[dim] != 1 for dim in ints(reduce.dimensions)) or any(size < 0 for size in shape):
        return None
    if any(element_of(x) != element_of(out) for x, out in zip(reduce.inputs, reduce.outs, strict=True)):
        return None
    body = reduce.body.block
    ops = list(body.ops)[:-1]
    if not all(isinstance(inner, (*_LIFTED, ConstantOp)) for inner in ops):
        return None
    kept = shape_of(reduce.outs[0])
    new: list[Operation] = []
    values: dict[SSAValue, SSAValue] = {}
    count = len(reduce.inputs)
    for argument, init in zip(body.args[:count], reduce.init_values, strict=True):
        values[argument] = _spread(init, kept, new)
    for argument, operand in zip(body.args[count:], reduce.inputs, strict=True):
        reshaped = ReshapeOp.create(operands=[operand], result_types=[make_tensor(kept, element_of(operand))])
        new.append(reshaped)
        values[argument] = reshaped.result
    for inner in ops:
        if isinstance(inner, ConstantOp):
            constant = inner.clone()
            new.append(constant)
            values[inner.result] = _spread(constant.result, kept, new)
            continue
        lifted = cast("type[HloOp]", type(inner)).infer([values[v] for v in inner.operands], inner.properties)
        if element_of(lifted.results[0]) != element_of(inner.results[0]):
            return None
        new.append(lifted)
        values[inner.results[0]] = lifted.results[0]
    terminator = cast(Operation, body.last_op)
    if any(value not in values for value in terminator.operands):
        return None
    return Rewrite(new, [values[value] for value in terminator.operands])


def _spread(value: SSAValue, shape: tuple[int, ...], new: list[Operation]) -> SSAValue:
    """A tensor of rank 0 under another shape."""
    if shape == ():
        return value
    spread = BroadcastInDimOp.create(
        operands=[value],
        properties={"broadcast_dimensions": int_array(())},
        result_types=[make_tensor(shape, element_of(value))],
    )
    new.append(spread)
    return spread.result


RULES = {ReduceOp: (simplify_unit_reduction,)}

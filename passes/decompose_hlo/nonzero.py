"""The places of a mask's true elements, which JAX's nonzero finds by sums, become a call of a target with loops."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects.builtin import i1, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ...hlo_dialect.custom_calls.selection import NONZERO
from ...hlo_dialect.expressions.tensor import Builder, Tensor
from ...hlo_dialect.ops.comparison import CompareOp, SelectOp
from ...hlo_dialect.ops.conversion import ConvertOp
from ...hlo_dialect.ops.creation import splat_of
from ...hlo_dialect.ops.elementwise_binary import AddOp, MaximumOp
from ...hlo_dialect.ops.movement import BroadcastInDimOp, ReshapeOp
from ...hlo_dialect.ops.reduction import single_combiner
from ...hlo_dialect.ops.scatter import ScatterOp
from ...hlo_dialect.ops.window import ReduceWindowOp
from ...hlo_dialect.types import bit_width, element_of, is_integer, make_tensor, shape_of
from .native_calls import native_call
from .transform import native_decompositions


@native_decompositions.on(ReduceWindowOp)
def _reduce_window(op: ReduceWindowOp) -> Sequence[Operation]:
    """
    Before: the cumulative sum of zeros to which ones are added at the places that a mask's cumulative sum names
    After:  `custom_call @xhlo.nonzero(%mask)`

    An element of the result is the number of elements of the mask's sum that are at most its own place: the place of
    the mask's next true element, or the mask's length.
    """
    scatter = op.inputs[0].owner
    mask = _mask_of(scatter) if isinstance(scatter, ScatterOp) and _is_cumulative_sum(op) else None
    if mask is None or not _holds(op.outs[0], shape_of(mask)[0]):
        return ()
    builder = Builder.before(op)
    types: list[Attribute] = [make_tensor(shape_of(op.outs[0]), i32)]
    call = native_call(op, NONZERO, [mask], types, {})
    Rewriter.insert_op(call, InsertPoint.before(op))
    places = Tensor(builder, call.results[0]).convert(element_of(op.outs[0]))
    return [call, *builder.replace(op, places)]


def _is_cumulative_sum(op: ReduceWindowOp) -> bool:
    """Whether it adds up the elements of one vector, each with those before it."""
    if len(op.inputs) != 1 or not isinstance(single_combiner(op.body), AddOp):
        return False
    if element_of(op.inputs[0]) != element_of(op.outs[0]):
        return False
    shape = shape_of(op.inputs[0])
    # One element by itself is no scan, and its window holds nothing else.
    alone = shape == shape_of(op.outs[0]) == (1,) and not op.window.is_padded and splat_of(op.init_values[0]) == 0
    return alone or (len(shape) == 1 and op.scan == (0, False))


def _holds(value: SSAValue, number: int) -> bool:
    """Whether the elements are integers, signed or not, that hold all numbers up to this one."""
    element = element_of(value)
    return is_integer(element) and number.bit_length() < min(32, bit_width(element))


def _mask_of(scatter: ScatterOp) -> SSAValue | None:
    """The mask at whose cumulative sum ones are added to zeros."""
    dims = scatter.dims
    if scatter.input_count != 1 or not isinstance(single_combiner(scatter.update_computation), AddOp):
        return None
    if element_of(scatter.inputs[0]) != element_of(scatter.outs[0]):
        return None
    if dims.window or dims.collapsed != (0,) or dims.index_map != (0,):
        return None
    if splat_of(scatter.inputs[0]) != 0 or splat_of(scatter.updates[0]) != 1:
        return None
    return _summed_mask(scatter.scatter_indices, shape_of(scatter.updates[0]))


def _summed_mask(value: SSAValue, shape: tuple[int, ...]) -> SSAValue | None:
    """
    The mask of this shape whose cumulative sum a value is, through operations that change no number that is not
    negative.
    """
    if len(shape) != 1:
        return None
    while _holds(value, shape[0]):
        op = value.owner
        if isinstance(op, ReduceWindowOp):
            widened = op.inputs[0].owner
            if not _is_cumulative_sum(op) or not isinstance(widened, ConvertOp) or shape_of(op.inputs[0]) != shape:
                return None
            mask = widened.operands[0]
            return mask if element_of(mask) == i1 else None
        following = _unchanged(op) if isinstance(op, Operation) else None
        if following is None:
            return None
        value = following
    return None


def _unchanged(op: Operation) -> SSAValue | None:
    """The operand that is the result of `op`, in another shape or type, if that operand is nowhere negative."""
    match op:
        case ReshapeOp() | ConvertOp():
            return op.operands[0]
        case BroadcastInDimOp():
            before, after = (math.prod(shape_of(value)) for value in (op.operands[0], op.results[0]))
            return op.operands[0] if before == after and op.dims == tuple(sorted(op.dims)) else None
        case MaximumOp():
            first, second = op.operands
            return second if _is_zero(first) else first if _is_zero(second) else None
        case SelectOp():
            test, kept = op.operands[0].owner, op.operands[2]
            if not isinstance(test, CompareOp) or test.direction != "LT" or test.operands[0] is not kept:
                return None
            return kept if _is_zero(test.operands[1]) else None
        case _:
            return None


def _is_zero(value: SSAValue) -> bool:
    """Whether the elements are a constant 0, of whatever type it was at first."""
    owner = value.owner
    while isinstance(owner, (BroadcastInDimOp, ConvertOp)):
        value = owner.operands[0]
        owner = value.owner
    return splat_of(value) == 0

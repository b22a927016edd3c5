"""hlo.dynamic_slice and hlo.dynamic_update_slice: start indices are clamped so that the slice is in bounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeGuard

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, i64
from xdsl.ir import Block, Operation, SSAValue

from ...dialects.support.buffers import INDEX
from ...dialects.support.kernel import IN_BOUNDS
from ...dialects.support.scalar import Scalar
from ...hlo_dialect.attributes import ints
from ...hlo_dialect.ops import dynamic as hlo
from ...hlo_dialect.ops.comparison import CompareOp, SelectOp
from ...hlo_dialect.ops.contraction import DotGeneralOp
from ...hlo_dialect.ops.conversion import ConvertOp
from ...hlo_dialect.ops.creation import is_splat_of
from ...hlo_dialect.ops.elementwise_binary import AddOp
from ...hlo_dialect.ops.movement import ReshapeOp
from ...hlo_dialect.types import element_of, is_unsigned, shape_of
from .element_types import convert
from .emission import Emitter, identity_map, iterators, loop_index, patterns, signless
from .slicing import insert, slice_at


def _starts(op: Operation, indices: Sequence[SSAValue], sizes: Sequence[int], emitter: Emitter) -> list[SSAValue]:
    """Each start index as an `index` within [0, dimension - size]. Unsigned ones are compared as unsigned."""
    starts: list[SSAValue] = []
    for value, dim, size in zip(indices, shape_of(op.operands[0]), sizes, strict=True):
        element = element_of(value)
        start = _wide(value, emitter)
        clamps = IN_BOUNDS not in op.attributes
        if clamps and is_unsigned(element):
            start = start.apply(arith.MinUIOp, dim - size)
        elif clamps and size == 1 and _is_wrapped(value.owner, dim):
            start = _wrapped(value.owner, dim, emitter)
        elif clamps:
            start = start.apply(arith.MaxSIOp, 0).apply(arith.MinSIOp, dim - size)
        starts.append(start.cast(arith.IndexCastOp, INDEX).value)
    return starts


def _wide(value: SSAValue, emitter: Emitter) -> Scalar:
    return convert(emitter.scalar(emitter.extract(emitter.get(value))), element_of(value), i64)


def _is_wrapped(chosen: Operation | Block, dim: int) -> TypeGuard[SelectOp]:
    """Whether it chooses x + dim if x is negative, and else x: a Python index."""
    if not isinstance(chosen, SelectOp):
        return False
    test, total, x = chosen.pred.owner, chosen.on_true.owner, chosen.on_false
    if not isinstance(test, CompareOp) or not isinstance(total, AddOp):
        return False
    is_negative = test.direction == "LT" and test.lhs is x and is_splat_of(test.rhs, 0)
    return is_negative and total.lhs is x and is_splat_of(total.rhs, dim)


def _wrapped(chosen: SelectOp, dim: int, emitter: Emitter) -> Scalar:
    """
    A Python index, clamped.

    Each of its two values has one bound, and a processor computes both at once: a search that reads each place from the
    last one waits for all of the steps.
    """
    below = _wide(chosen.on_true, emitter).apply(arith.MaxSIOp, 0)
    above = _wide(chosen.on_false, emitter).apply(arith.MinSIOp, dim - 1)
    return emitter.scalar(emitter.extract(emitter.get(chosen.pred))).select(below, above)


def _is_factor(op: hlo.DynamicSliceOp) -> bool:
    """Whether a slice is what a product reads, reshaped and converted at most: it is read where it lies."""
    user: Operation | None = op
    while user is not None and (user is op or isinstance(user, (ReshapeOp, ConvertOp))):
        user = user.results[0].get_user_of_unique_use()
    return op.takes_neighbours and isinstance(user, DotGeneralOp)


@patterns.on(hlo.DynamicSliceOp)
def _dynamic_slice(op: hlo.DynamicSliceOp, emitter: Emitter) -> None:
    """Each element is read at its index plus the start; a factor of a product is a tensor.extract_slice."""
    type_: Any = signless(op.result.type)
    rank = len(type_.get_shape())
    source = emitter.get(op.operand)
    starts = _starts(op, op.start_indices, ints(op.slice_sizes), emitter)
    if emitter.in_kernel and _is_factor(op):
        emitter.define(op.result, slice_at(source, starts, op.sizes, type_, emitter))
        return

    def body(out: Scalar) -> Scalar:
        places = [(loop_index(out.block, dim) + Scalar(out.block, start)).value for dim, start in enumerate(starts)]
        read = tensor.ExtractOp.create(operands=[source, *places], result_types=[type_.element_type])
        out.block.add_op(read)
        return Scalar(out.block, read.results[0])

    results = emitter.generic([], [emitter.empty(type_)], (identity_map(rank),), iterators(rank), body)
    emitter.define(op.result, results[0])


@patterns.on(hlo.DynamicUpdateSliceOp)
def _dynamic_update_slice(op: hlo.DynamicUpdateSliceOp, emitter: Emitter) -> None:
    """tensor.insert_slice at the clamped starts."""
    sizes = shape_of(op.update)
    starts = _starts(op, op.start_indices, sizes, emitter)
    offsets = (DYNAMIC_INDEX,) * len(sizes)
    result = insert(emitter.get(op.update), emitter.get(op.operand), offsets, tuple(starts), emitter)
    emitter.define(op.result, result)

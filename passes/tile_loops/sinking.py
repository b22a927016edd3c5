"""
Moves what is computed before a loop, only to be read slice by slice, into the loop.

The projections of a recurrence's inputs, computed for all steps at once, are written to memory and read again. A tile
computes the rows of a step when it is there, from what stays in its cache.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import BlockArgument, Operation, SSAValue

from ...dialects.support.editing import erase_op
from ...dialects.support.rewriting import like
from ...hlo_dialect.attributes import ints
from ...hlo_dialect.expressions.tensor import Builder, Tensor
from ...hlo_dialect.loops import Loop
from ...hlo_dialect.op import is_elementwise
from ...hlo_dialect.ops.contraction import DotGeneralOp
from ...hlo_dialect.ops.control_flow import WhileOp
from ...hlo_dialect.ops.creation import ConstantOp, is_splat_constant
from ...hlo_dialect.ops.dynamic import DynamicSliceOp
from ...hlo_dialect.ops.movement import BroadcastInDimOp
from ...hlo_dialect.types import constant_array, element_of, make_tensor, shape_of, tensor_type


@dataclass(frozen=True)
class Sunk:
    """A read of a slice of a value that is computed from products before the loop."""

    read: DynamicSliceOp
    matrices: tuple[SSAValue, ...]
    """The factors that the products multiply every slice by."""


def sinkable(loop: Loop) -> list[Sunk]:
    """The reads of a loop of values that may be computed slice by slice, as each slice is read once."""
    reads = [op for op in loop.body.ops if isinstance(op, DynamicSliceOp) and loop.is_outside(op.operands[0])]
    found = [Sunk(op, _matrices(op.operands[0], loop, ints(op.slice_sizes))) for op in reads if _reads_once(op, loop)]
    return [each for each in found if each.matrices]


def _reads_once(read: DynamicSliceOp, loop: Loop) -> bool:
    if loop.step_places(read) is not None:
        return True
    return any(isinstance(start, BlockArgument) and start.index in loop.inductions for start in read.start_indices)


def _matrices(value: SSAValue, loop: Loop, sizes: Sequence[int]) -> tuple[SSAValue, ...]:
    """The matrices of the products that a value is computed from, if only one read of these sizes needs it."""
    op = value.owner
    if not isinstance(op, Operation) or op.parent is not loop.op.parent or not value.has_one_use():
        return ()
    if isinstance(op, DotGeneralOp):
        return (op.operands[1],) if _multiplies_parts(op, sizes) else ()
    if not is_elementwise(op):
        return ()
    shaped = [operand for operand in op.operands if shape_of(operand) == shape_of(value)]
    return tuple(matrix for operand in shaped for matrix in _matrices(operand, loop, sizes))


def _multiplies_parts(op: DotGeneralOp, sizes: Sequence[int]) -> bool:
    """Whether a slice of these sizes is a slice of the left factor, times all of the right one."""
    own = len(op.lhs_free)
    return not op.dot_dimension_numbers.lhs_batching and shape_of(op.results[0])[own:] == tuple(sizes[own:])


def sink(sunk: Sunk) -> list[DotGeneralOp]:
    """Compute the slice in the loop instead of all before it; returns the products that moved."""
    read = sunk.read
    b = Builder.before(read)
    source = read.operands[0]
    products: list[DotGeneralOp] = []
    value = _part(source, b.tensors(read.start_indices), ints(read.slice_sizes), b, products)
    b.replace(read, value)
    _erase_unused(source)
    return products


def sink_into_tiles(outer: WhileOp, inner: WhileOp, most: float) -> int:
    """
    Compute what the loop of a tile reads slices of for each tile by itself, before its loop, where products of at most
    so many operations a tile compute it; returns how many products moved.
    """
    loop, moved = Loop(inner), 0
    for read in [op for op in loop.body.ops if isinstance(op, DynamicSliceOp)]:
        source = read.operands[0]
        starts = [start if loop.is_outside(start) or is_splat_constant(start) else None for start in read.start_indices]
        sizes = ints(read.slice_sizes)
        extent = [
            whole if start is None else size for start, size, whole in zip(starts, sizes, shape_of(source), strict=True)
        ]
        if None not in starts or not loop.is_outside(source) or not _matrices(source, Loop(outer), extent):
            continue
        b = Builder.before(inner)
        zero = b.splat(0, tensor_type(read.start_indices[0]))
        at = [zero if start is None or is_splat_constant(start) else b.tensors([start])[0] for start in starts]
        if any(start is not None and is_splat_constant(start) and not _is_zero(start) for start in starts):
            continue
        if _flops(source) / 2 * math.prod(extent) / math.prod(shape_of(source)) > most:
            continue
        products: list[DotGeneralOp] = []
        part = _part(source, at, extent, b, products)
        b = Builder.before(read)
        none = b.splat(0, zero.type)
        places = [
            none if start is not None else b.tensors([own])[0]
            for start, own in zip(starts, read.start_indices, strict=True)
        ]
        b.replace(read, b.tensors([part.value])[0].dynamic_slice(places, sizes))
        _erase_unused(source)
        moved += len(products)
    return moved


def _is_zero(value: SSAValue) -> bool:
    assert isinstance(value.owner, ConstantOp)
    return not constant_array(value.owner.dense).any()


def _flops(value: SSAValue) -> int:
    """The operations of the products that a value is computed from, as `_matrices` follows them."""
    op = value.owner
    if isinstance(op, DotGeneralOp):
        return op.flops()
    assert isinstance(op, Operation)
    shaped = [operand for operand in op.operands if shape_of(operand) == shape_of(value)]
    return sum(_flops(operand) for operand in shaped if _leads_to_product(operand))


def _leads_to_product(value: SSAValue) -> bool:
    return isinstance(value.owner, DotGeneralOp) or is_elementwise(value.owner)


def _erase_unused(value: SSAValue) -> None:
    op = value.owner
    if isinstance(op, Operation) and all(result.first_use is None for result in op.results):
        operands = list(op.operands)
        erase_op(op)
        for each in operands:
            if is_elementwise(each.owner) or isinstance(each.owner, (DotGeneralOp, BroadcastInDimOp)):
                _erase_unused(each)


def _part(
    value: SSAValue, starts: Sequence[Tensor], sizes: Sequence[int], b: Builder, products: list[DotGeneralOp]
) -> Tensor:
    """A slice of a value, computed from slices of what the value is computed from, as far as its products are."""
    op = value.owner
    if is_splat_constant(value):
        assert isinstance(op, ConstantOp)
        return b.constant(constant_array(op.dense).reshape(-1)[:1], make_tensor(tuple(sizes), element_of(value)))
    if isinstance(op, DotGeneralOp) and value.has_one_use() and _multiplies_parts(op, sizes):
        own, free = len(op.lhs_free), op.lhs_free
        whole = shape_of(op.operands[0])
        (lhs, rhs), zero = b.tensors(op.operands), b.splat(0, starts[0].type)
        at = [starts[free.index(dim)] if dim in free else zero for dim in range(len(whole))]
        extent = [sizes[free.index(dim)] if dim in free else size for dim, size in enumerate(whole)]
        part = lhs.dynamic_slice(at, extent)
        new = like(op, [part.value, rhs.value], [make_tensor((*sizes[:own], *sizes[own:]), element_of(value))])
        products.append(new)
        return b.add(new)
    if isinstance(op, Operation) and is_elementwise(op) and value.has_one_use():
        operands = [
            _part(operand, starts, sizes, b, products).value if shape_of(operand) == shape_of(value) else operand
            for operand in op.operands
        ]
        return b.add(like(op, operands, [make_tensor(tuple(sizes), element_of(value))]))
    if isinstance(op, BroadcastInDimOp):
        return _part_of_broadcast(op, starts, sizes, b)
    (whole,) = b.tensors([value])
    return whole.dynamic_slice(starts, sizes)


def _part_of_broadcast(op: BroadcastInDimOp, starts: Sequence[Tensor], sizes: Sequence[int], b: Builder) -> Tensor:
    (operand,), after = b.tensors(op.operands), shape_of(op.results[0])
    zero = b.splat(0, starts[0].type)
    at, extent = list[Tensor](), list[int]()
    for dim, size in zip(op.dims, operand.shape, strict=True):
        spread = size != after[dim]
        at.append(zero if spread else starts[dim])
        extent.append(size if spread else sizes[dim])
    part = operand if tuple(extent) == operand.shape else operand.dynamic_slice(at, extent)
    return part.broadcast(sizes, op.dims)

"""Rules for reduce: dimensions of size 1 or along which a broadcast repeats its operand, sums that pick one element."""

from __future__ import annotations

from typing import cast

from xdsl.ir import BlockArgument, Operation, SSAValue

from ...hlo_dialect.attributes import ints
from ...hlo_dialect.expressions.tensor import Builder, Tensor
from ...hlo_dialect.ops.comparison import CompareOp, SelectOp
from ...hlo_dialect.ops.creation import ConstantOp, is_splat_of
from ...hlo_dialect.ops.elementwise import ElementwiseBinaryOp, ElementwiseUnaryOp
from ...hlo_dialect.ops.elementwise_binary import AddOp, AndOp, MaximumOp, MinimumOp, OrOp
from ...hlo_dialect.ops.movement import BroadcastInDimOp
from ...hlo_dialect.ops.reduction import ReduceOp, single_combiner
from ...hlo_dialect.shapes import is_static
from ...hlo_dialect.types import element_of, is_float, shape_of
from .rewrite import Rewrite, by, simplifications, start, to

_LIFTED = (ElementwiseBinaryOp, ElementwiseUnaryOp, CompareOp, SelectOp)
"""Operations of a reducer that also apply to whole tensors."""

LEAST_PICKED = 64
"""Elements of a row from which picking one is faster than a sum of all."""


@simplifications.on(ReduceOp)
def simplify_unit_reduction(op: Operation) -> Rewrite | None:
    """
    `reduce(%x: 4x1, init)` over dimension 1 becomes the reducer itself, on init and the reshaped operand.

    Each result is the reducer applied once, so the rewrite is bit-exact.
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
    builder = Builder()
    values: dict[SSAValue, Tensor] = {}

    def spread(x: Tensor) -> Tensor:
        return x if kept == () else x.broadcast(kept)

    count = len(reduce.inputs)
    for argument, init in zip(body.args[:count], builder.tensors(reduce.init_values), strict=True):
        values[argument] = spread(init)
    for argument, operand in zip(body.args[count:], builder.tensors(reduce.inputs), strict=True):
        values[argument] = operand.reshape(kept)
    for inner in ops:
        if isinstance(inner, ConstantOp):
            values[inner.result] = spread(builder.add(inner.clone()))
            continue
        values[inner.results[0]] = builder.op(type(inner), [values[v] for v in inner.operands], **inner.properties)
        if values[inner.results[0]].element != element_of(inner.results[0]):
            return None
    terminator = cast(Operation, body.last_op)
    if any(value not in values for value in terminator.operands):
        return None
    return by(*(values[value] for value in terminator.operands))


_IDEMPOTENT = (AndOp, MaximumOp, MinimumOp, OrOp)
"""Combiners that give x for x and x."""


@simplifications.on(ReduceOp)
def reduce_of_broadcast(op: Operation) -> Rewrite | None:
    """A maximum, minimum, and/or along dimensions of a broadcast that repeat its operand leaves these out."""
    reduce = cast(ReduceOp, op)
    broadcast = reduce.inputs[0].owner
    if len(reduce.inputs) != 1 or not isinstance(broadcast, BroadcastInDimOp):
        return None
    combiner, source, shape = single_combiner(reduce.body), broadcast.operands[0], shape_of(reduce.inputs[0])
    if not isinstance(combiner, _IDEMPOTENT) or element_of(source) != element_of(reduce.outs[0]):
        return None
    if not is_static(shape) or 0 in shape:
        return None
    sizes, dims = shape_of(source), broadcast.dims
    repeated = [dim for dim in ints(reduce.dimensions) if dim not in dims]
    if not repeated or any(shape[dim] != size for dim, size in zip(dims, sizes, strict=True)):
        return None
    kept = [dim for dim in range(len(shape)) if dim not in repeated]
    x = start(source)
    smaller = x.broadcast([shape[dim] for dim in kept], [kept.index(dim) for dim in dims])
    if len(kept) == len(sizes) and list(dims) == sorted(dims):
        smaller = x
    left = [kept.index(dim) for dim in ints(reduce.dimensions) if dim in kept]
    init = Tensor(x.builder, reduce.init_values[0])
    if left:
        return by(smaller.reduce(type(combiner), init, left))
    return by(smaller.apply(type(combiner), init.broadcast(smaller.shape)))


@simplifications.on(ReduceOp)
def sum_of_selected(op: Operation) -> Rewrite | None:
    """
    A sum of `select(index == i, x, 0)` along the dimension of the index picks element i of each row of an argument x.

    Rows that have no such element give zero, as does an element -0, to which the sum adds zero.
    """
    assert isinstance(op, ReduceOp)
    chosen = op.inputs[0].owner
    if len(op.inputs) != 1 or not isinstance(chosen, SelectOp) or not isinstance(single_combiner(op.body), AddOp):
        return None
    predicate, x, other = chosen.operands
    zero = 0.0 if is_float(element_of(x)) else 0
    shape = shape_of(x)
    if not isinstance(x, BlockArgument) or len(op.dims) != 1 or not is_static(shape) or 0 in shape:
        return None
    (along,) = op.dims
    if shape[along] < LEAST_PICKED or element_of(x) != element_of(op.outs[0]) or shape_of(predicate) != shape:
        return None
    if not is_splat_of(other, zero) or not is_splat_of(op.init_values[0], zero):
        return None
    from .slices import index_compared, picked  # with gathers, which few programs have

    index = index_compared(predicate, along)
    return None if index is None else by(picked(x, index, along) + zero)


@simplifications.on(AddOp)
def zero_plus_sum(op: Operation) -> Rewrite | None:
    """
    `0 + reduce(add, init 0)` is the sum itself: no sum that begins with 0 is -0, to which alone 0 would make a
    difference. Gradients that are accumulated begin so.
    """
    for zero, total in (op.operands, reversed(op.operands)):
        reduce = total.owner
        if not isinstance(reduce, ReduceOp) or len(reduce.inputs) != 1 or not is_float(element_of(total)):
            continue
        adds = isinstance(single_combiner(reduce.body), AddOp)
        if adds and is_splat_of(reduce.init_values[0], 0.0) and is_splat_of(zero, 0.0):
            return to(total)
    return None

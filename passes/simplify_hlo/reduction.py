"""Rules for reduce: dimensions of size 1 or along which a broadcast repeats its operand, sums that pick one element."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import BFloat16Type, Float16Type, f32
from xdsl.ir import BlockArgument, Operation, SSAValue

from ...hlo_dialect.attributes import ints
from ...hlo_dialect.expressions.tensor import Builder, Tensor
from ...hlo_dialect.ops.comparison import CompareOp, SelectOp
from ...hlo_dialect.ops.creation import ConstantOp, IotaOp, is_splat_of
from ...hlo_dialect.ops.elementwise import ElementwiseBinaryOp, ElementwiseUnaryOp
from ...hlo_dialect.ops.elementwise_binary import AddOp, AndOp, MaximumOp, MinimumOp, MultiplyOp, OrOp
from ...hlo_dialect.ops.movement import BroadcastInDimOp
from ...hlo_dialect.ops.reduction import ReduceOp, single_combiner
from ...hlo_dialect.ops.slicing import ConcatenateOp
from ...hlo_dialect.shapes import is_static
from ...hlo_dialect.types import element_of, is_float, make_tensor, shape_of
from ...hlo_dialect.walking import reads_its_own
from .rewrite import Rewrite, by, simplifications, start, to

_LIFTED = (ElementwiseBinaryOp, ElementwiseUnaryOp, CompareOp, SelectOp)
"""Operations of a reducer that also apply to whole tensors."""

MOST_STACKED = 16
"""Tensors in a stack up to which a reduction along it reads them in place, in one elementwise kernel."""

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
    reducer = _LiftedReducer.of(reduce)
    if reducer is None:
        return None
    kept = shape_of(reduce.outs[0])
    once = reducer.apply(reducer.start(), [x.reshape(kept) for x in reducer.builder.tensors(reduce.inputs)])
    return None if once is None else by(*once)


@simplifications.on(ReduceOp)
def reduce_of_stack(op: Operation) -> Rewrite | None:
    """
    A reduction along the dimension in which up to 16 tensors are stacked applies the reducer to these, in their order.

    Other operands may be the indices along it, as for an argmax. Sums and products of f16 and bf16 are carried in f32.
    """
    reduce = cast(ReduceOp, op)
    shape = shape_of(reduce.inputs[0])
    if len(reduce.dims) != 1 or not is_static(shape) or 0 in shape or not 2 <= shape[reduce.dims[0]] <= MOST_STACKED:
        return None
    (along,) = reduce.dims
    if not any(isinstance(x.owner, ConcatenateOp) for x in reduce.inputs):
        return None
    if not all(_is_stack(x, along) or _is_index(x, along) for x in reduce.inputs):
        return None
    reducer = _LiftedReducer.of(reduce)
    if reducer is None:
        return None
    single, element = single_combiner(reduce.body), element_of(reduce.outs[0])
    if isinstance(single, (AddOp, MultiplyOp)) and isinstance(element, (BFloat16Type, Float16Type)):
        # Sums and products carry f32, and round once.
        carried = reducer.start()[0].convert(f32)
        for number in range(shape[along]):
            carried = carried.apply(type(single), reducer.part(reduce.inputs[0], number).convert(f32))
        return by(carried.convert(element))
    total: list[Tensor] | None = reducer.start()
    for number in range(shape[along]):
        total = reducer.apply(total, [reducer.part(x, number) for x in reduce.inputs])
        if total is None:
            return None
    return by(*total)


def _is_stack(x: SSAValue, along: int) -> bool:
    """Whether each place along a dimension is a tensor of its own, and nothing else needs the stack."""
    whole = x.owner
    if not isinstance(whole, ConcatenateOp) or whole.dim != along or not x.has_one_use():
        return False
    return all(shape_of(part)[along] == 1 for part in whole.operands)


def _is_index(x: SSAValue, along: int) -> bool:
    return isinstance(x.owner, IotaOp) and x.owner.iota_dimension.value.data == along


@dataclass(frozen=True)
class _LiftedReducer:
    """A reducer's operations, applied to whole tensors."""

    builder: Builder
    reduce: ReduceOp

    @staticmethod
    def of(reduce: ReduceOp) -> _LiftedReducer | None:
        if any(element_of(x) != element_of(out) for x, out in zip(reduce.inputs, reduce.outs, strict=True)):
            return None
        body = reduce.body.block
        if not all(isinstance(each, (*_LIFTED, ConstantOp)) for each in list(body.ops)[:-1]):
            return None
        if not reads_its_own(body):
            return None  # Values from around it are refused later.
        return _LiftedReducer(Builder(), reduce)

    def part(self, x: SSAValue, number: int) -> Tensor:
        """One place of a stack, or of indices, along the only dimension of the reduction."""
        kept = shape_of(self.reduce.outs[0])
        if isinstance(x.owner, ConcatenateOp):
            return Tensor(self.builder, x.owner.operands[number]).reshape(kept)
        return self.builder.splat(number, make_tensor(kept, element_of(x)))

    def spread(self, x: Tensor) -> Tensor:
        kept = shape_of(self.reduce.outs[0])
        return x if kept == () else x.broadcast(kept)

    def start(self) -> list[Tensor]:
        return [self.spread(init) for init in self.builder.tensors(self.reduce.init_values)]

    def apply(self, left: Sequence[Tensor], right: Sequence[Tensor]) -> list[Tensor] | None:
        """None if an operation of whole tensors has other types."""
        body = self.reduce.body.block
        values: dict[SSAValue, Tensor] = dict(zip(body.args, (*left, *right), strict=True))
        for inner in list(body.ops)[:-1]:
            if isinstance(inner, ConstantOp):
                values[inner.result] = self.spread(self.builder.add(inner.clone()))
                continue
            made = self.builder.op(type(inner), [values[v] for v in inner.operands], **inner.properties)
            if made.element != element_of(inner.results[0]):
                return None
            values[inner.results[0]] = made
        return [values[value] for value in cast(Operation, body.last_op).operands]


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

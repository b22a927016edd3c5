"""Rules for operations that move elements: chains become one operation, or a reshape, which costs nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.builtin import DenseArrayBase
from xdsl.ir import Attribute, Operation, SSAValue

from ...hlo_dialect.attributes import int_array
from ...hlo_dialect.ops.movement import BroadcastInDimOp, ReshapeOp, ReverseOp, TransposeOp
from ...hlo_dialect.ops.slicing import ConcatenateOp, PadOp, SliceOp
from ...hlo_dialect.types import element_of, make_tensor, shape_of
from .rewrite import Rewrite, by, to

Shape = tuple[int, ...]


def integers(op: Operation, name: str) -> Shape:
    return tuple(cast("DenseArrayBase[Any]", op.properties[name]).get_values())


def broadcast(value: SSAValue, dims: Sequence[int], type_: Attribute) -> BroadcastInDimOp:
    return BroadcastInDimOp.create(
        operands=[value], properties={"broadcast_dimensions": int_array(dims)}, result_types=[type_]
    )


def reshape(value: SSAValue, type_: Attribute) -> ReshapeOp:
    return ReshapeOp.create(operands=[value], result_types=[type_])


def _is_static(*shapes: Shape) -> bool:
    return all(size >= 0 for shape in shapes for size in shape)


# -- broadcast_in_dim ------------------------------------------------------------------------------


def simplify_broadcast(op: Operation) -> Rewrite | None:
    """The operand itself; a reshape, where only dimensions of size 1 are added; one broadcast for two."""
    operand, result = op.operands[0], op.results[0]
    source, shape, dims = shape_of(operand), shape_of(result), integers(op, "broadcast_dimensions")
    if not _is_static(source, shape):
        return None
    if source == shape and dims == tuple(range(len(shape))):
        return to(operand) if operand.type == result.type else None
    if tuple(sorted(dims)) == dims and math.prod(source) == math.prod(shape) != 0:
        return by(reshape(operand, result.type))
    inner = operand.owner
    if isinstance(inner, BroadcastInDimOp):
        through = integers(inner, "broadcast_dimensions")
        return by(broadcast(inner.operands[0], [dims[dim] for dim in through], result.type))
    if isinstance(inner, ReshapeOp):
        placed = _through_reshape(shape_of(inner.operands[0]), source, dims, shape)
        if placed is not None:
            return by(broadcast(inner.operands[0], placed, result.type))
    return None


def _through_reshape(source: Shape, reshaped: Shape, dims: Shape, shape: Shape) -> list[int] | None:
    """
    Where the dimensions before a reshape go in the broadcast of its result; None where the reshape does more than
    add and drop dimensions of size 1. A dropped one takes a place of the result that nothing else takes.
    """
    if [size for size in source if size != 1] != [size for size in reshaped if size != 1]:
        return None
    wide = iter([dim for dim, size in zip(dims, reshaped, strict=True) if size != 1])
    placed = [next(wide) if size != 1 else -1 for size in source]
    free = [dim for dim in range(len(shape)) if dim not in placed]
    for position, dim in enumerate(placed):
        if dim == -1:
            if not free:
                return None
            before = max(placed[:position], default=-1)
            chosen = next((d for d in free if d > before), free[0])
            placed[position] = chosen
            free.remove(chosen)
    return placed


# -- reshape ---------------------------------------------------------------------------------------


def simplify_reshape(op: Operation) -> Rewrite | None:
    """The operand itself; one reshape for two; the broadcast of a scalar to the new shape."""
    operand, result = op.operands[0], op.results[0]
    if operand.type == result.type and _is_static(shape_of(operand)):
        return to(operand)
    inner = operand.owner
    if isinstance(inner, ReshapeOp):
        return by(reshape(inner.operands[0], result.type))
    if isinstance(inner, BroadcastInDimOp) and shape_of(inner.operands[0]) == ():
        return by(broadcast(inner.operands[0], (), result.type))
    return None


# -- transpose -------------------------------------------------------------------------------------


def simplify_transpose(op: Operation) -> Rewrite | None:
    """The operand itself; a reshape, where only dimensions of size 1 move; one transpose or broadcast for two."""
    operand, result = op.operands[0], op.results[0]
    permutation, source = integers(op, "permutation"), shape_of(operand)
    if not _is_static(source):
        return None
    if permutation == tuple(range(len(permutation))):
        return to(operand) if operand.type == result.type else None
    wide = [dim for dim in permutation if source[dim] != 1]
    if wide == sorted(wide):
        return by(reshape(operand, result.type))
    inner = operand.owner
    if isinstance(inner, TransposeOp):
        first = integers(inner, "permutation")
        properties: dict[str, Attribute] = {"permutation": int_array([first[dim] for dim in permutation])}
        new = TransposeOp.create(operands=[inner.operands[0]], properties=properties, result_types=[result.type])
        return by(new)
    if isinstance(inner, BroadcastInDimOp):
        dims = [permutation.index(dim) for dim in integers(inner, "broadcast_dimensions")]
        return by(broadcast(inner.operands[0], dims, result.type))
    return None


# -- slice -----------------------------------------------------------------------------------------


def simplify_slice(op: Operation) -> Rewrite | None:
    """The operand itself; one slice for two; the broadcast of a slice for the slice of a broadcast."""
    operand, result = op.operands[0], op.results[0]
    if operand.type == result.type and _is_static(shape_of(operand)):
        return to(operand)
    starts, strides = integers(op, "start_indices"), integers(op, "strides")
    limits, inner = integers(op, "limit_indices"), operand.owner
    if isinstance(inner, SliceOp) and 0 not in shape_of(result):
        first, steps = integers(inner, "start_indices"), integers(inner, "strides")
        new = [f + s * step for f, s, step in zip(first, starts, steps, strict=True)]
        strides = [a * b for a, b in zip(steps, strides, strict=True)]
        return by(_slice(inner.operands[0], new, strides, shape_of(result), result.type))
    if isinstance(inner, BroadcastInDimOp) and _is_static(shape_of(result)):
        return _slice_of_broadcast(inner, starts, limits, strides, result.type)
    return None


def _slice(value: SSAValue, starts: Sequence[int], strides: Sequence[int], shape: Shape, type_: Attribute) -> SliceOp:
    """The slice with a result of `shape`; each limit is the index after the last element taken."""
    limits = [
        start + (size - 1) * stride + 1 if size else start
        for start, size, stride in zip(starts, shape, strides, strict=True)
    ]
    properties: dict[str, Attribute] = {
        "start_indices": int_array(starts),
        "limit_indices": int_array(limits),
        "strides": int_array(strides),
    }
    return SliceOp.create(operands=[value], properties=properties, result_types=[type_])


def _slice_of_broadcast(
    inner: BroadcastInDimOp, starts: Shape, limits: Shape, strides: Shape, type_: Attribute
) -> Rewrite:
    value = inner.operands[0]
    source, shape, dims = shape_of(value), shape_of(type_), integers(inner, "broadcast_dimensions")
    whole = shape_of(inner.results[0])
    stretched = [size == 1 and whole[dim] != 1 for size, dim in zip(source, dims, strict=True)]
    taken = tuple(1 if out else shape[dim] for out, dim in zip(stretched, dims, strict=True))
    new_ops: list[Operation] = []
    if taken != source:
        cut_starts = [0 if out else starts[dim] for out, dim in zip(stretched, dims, strict=True)]
        cut_strides = [1 if out else strides[dim] for out, dim in zip(stretched, dims, strict=True)]
        cut = _slice(value, cut_starts, cut_strides, taken, make_tensor(taken, element_of(value)))
        new_ops.append(cut)
        value = cut.results[0]
    new = broadcast(value, dims, type_)
    return Rewrite((*new_ops, new), tuple(new.results))


# -- the others ------------------------------------------------------------------------------------


def simplify_concatenate(op: Operation) -> Rewrite | None:
    """Operands without elements go; of one operand nothing is left to do."""
    dim = cast(Any, op.properties["dimension"]).value.data
    kept = [value for value in op.operands if shape_of(value)[dim] != 0]
    if len(kept) == 1 and kept[0].type == op.results[0].type:
        return to(kept[0])
    if 0 < len(kept) < len(op.operands):
        return by(ConcatenateOp.create(operands=kept, properties=op.properties, result_types=[op.results[0].type]))
    return None


def simplify_pad(op: Operation) -> Rewrite | None:
    """Padding by nothing."""
    nothing = all(not any(integers(op, name)) for name in ("edge_padding_low", "edge_padding_high", "interior_padding"))
    same = op.operands[0].type == op.results[0].type
    return to(op.operands[0]) if nothing and same else None


def simplify_reverse(op: Operation) -> Rewrite | None:
    """Reversing dimensions of size 1, or twice."""
    operand, dims = op.operands[0], integers(op, "dimensions")
    shape = shape_of(operand)
    if operand.type == op.results[0].type and all(shape[dim] in (0, 1) for dim in dims):
        return to(operand)
    inner = operand.owner
    if isinstance(inner, ReverseOp) and set(integers(inner, "dimensions")) == set(dims):
        return to(inner.operands[0]) if inner.operands[0].type == op.results[0].type else None
    return None


RULES = {
    BroadcastInDimOp: (simplify_broadcast,),
    ReshapeOp: (simplify_reshape,),
    TransposeOp: (simplify_transpose,),
    SliceOp: (simplify_slice,),
    ConcatenateOp: (simplify_concatenate,),
    PadOp: (simplify_pad,),
    ReverseOp: (simplify_reverse,),
}

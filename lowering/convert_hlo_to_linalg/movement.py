"""The operations that move elements: an index map each, where the index is affine; else a body that reads."""

from __future__ import annotations

import math
from typing import Any

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, IntegerAttr, i64
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr

from ...dialects.scalar import Scalar
from ...dialects.tensor_ops import CollapseShapeOp, ExpandShapeOp
from ...hlo_dialect import movement as hlo
from ...hlo_dialect import slicing
from ...hlo_dialect.attributes import ints
from ...hlo_dialect.types import make_tensor, shape_of
from .emission import (
    Emitter,
    Shape,
    affine_map,
    dims_map,
    first,
    identity_map,
    iterators,
    loop_index,
    part_of,
    rank_of,
    segments,
    signless,
)


def _broadcast(op: hlo.BroadcastInDimOp, emitter: Emitter) -> None:
    """`hlo.broadcast_in_dim %x, dims = [1]` reads (d1); a dimension of size 1 that is stretched reads 0."""
    source, shape = shape_of(op.operand), shape_of(op.result)
    results = [
        AffineExpr.constant(0) if size == 1 and shape[dim] != 1 else AffineExpr.dimension(dim)
        for size, dim in zip(source, ints(op.broadcast_dimensions), strict=True)
    ]
    emitter.moved(op.result, emitter.get(op.operand), affine_map(len(shape), *results))


def _transpose(op: hlo.TransposeOp, emitter: Emitter) -> None:
    permutation = ints(op.permutation)
    dims = tuple(permutation.index(dim) for dim in range(len(permutation)))
    emitter.moved(op.result, emitter.get(op.operand), dims_map(len(dims), dims))


def _slice(op: slicing.SliceOp, emitter: Emitter) -> None:
    """Dimension d reads (d * stride + start)."""
    results = [AffineExpr.dimension(dim) * stride for dim, stride in enumerate(ints(op.strides))]
    results = [place + start for place, start in zip(results, ints(op.start_indices), strict=True)]
    for dim, (size, kept) in enumerate(zip(shape_of(op.operand), shape_of(op.result), strict=True)):
        if size != kept and results[dim] == AffineExpr.dimension(dim):
            results[dim] = part_of(dim)
    emitter.moved(op.result, emitter.get(op.operand), affine_map(len(results), *results))


def _reverse(op: hlo.ReverseOp, emitter: Emitter) -> None:
    reversed_dims = ints(op.dimensions)
    results = [
        AffineExpr.dimension(dim) * -1 + (size - 1) if dim in reversed_dims else AffineExpr.dimension(dim)
        for dim, size in enumerate(shape_of(op.result))
    ]
    emitter.moved(op.result, emitter.get(op.operand), affine_map(len(results), *results))


def reshape_index(source: Shape, shape: Shape) -> list[AffineExpr] | None:
    """
    The operand's index of a reshape as affine expressions of the result's; None where that takes a division.

    Both shapes are cut into the smallest groups of dimensions with equal products; a group with one operand dimension
    larger than 1 is a sum of the result's dimensions times their strides.
    """
    if math.prod(shape) == 0:
        return None
    results: list[AffineExpr] = []
    j = 0
    i = 0
    while i < len(source):
        if source[i] == 1:
            results.append(AffineExpr.constant(0))
            i += 1
            continue
        expr: AffineExpr | None = None
        product = 1
        while product < source[i]:
            if j == len(shape):
                return None
            product *= shape[j]
            if shape[j] != 1:
                term = AffineExpr.dimension(j)
                expr = term if expr is None else expr * shape[j] + term
            j += 1
        if product != source[i] or expr is None:
            return None
        results.append(expr)
        i += 1
    return results


def reshape_tensor(value: SSAValue, shape: Shape, emitter: Emitter) -> SSAValue:
    """The same elements under another shape: collapsed to rank 1, or 0 where there is one, and expanded."""
    type_: Any = value.type
    have: Shape = type_.get_shape()
    if have == shape:
        return value
    if len(have) > 1 or len(shape) == 0:
        rank = 1 if shape else 0
        flat = make_tensor((math.prod(have),) * rank, type_.element_type)
        collapse = CollapseShapeOp.create(
            operands=[value], result_types=[flat], properties={"reassociation": _one_group(len(have), rank)}
        )
        value = emitter.add(collapse).results[0]
    rank = rank_of(value.type)
    if len(shape) > 1 or len(shape) != rank:
        expand = ExpandShapeOp.create(
            operands=[value],
            result_types=[make_tensor(shape, type_.element_type)],
            properties={
                "reassociation": _one_group(len(shape), rank),
                "static_output_shape": DenseArrayBase.from_list(i64, shape),
            },
        )
        value = emitter.add(expand).results[0]
    return value


def _one_group(rank: int, groups: int) -> ArrayAttr[Any]:
    if groups == 0:
        return ArrayAttr([])
    return ArrayAttr([ArrayAttr([IntegerAttr(dim, i64) for dim in range(rank)])])


def _reshape(op: hlo.ReshapeOp, emitter: Emitter) -> None:
    """In a kernel an index map where it is affine; else (and on the host) the same elements under another shape."""
    source, shape = shape_of(op.operand), shape_of(op.result)
    index = reshape_index(source, shape) if emitter.in_kernel else None
    if index is None:
        emitter.define(op.result, reshape_tensor(emitter.get(op.operand), shape, emitter))
    else:
        emitter.moved(op.result, emitter.get(op.operand), affine_map(len(shape), *index))


def _concatenate(op: slicing.ConcatenateOp, emitter: Emitter) -> None:
    """Each operand is inserted into its slice of the result."""
    type_: Any = signless(op.result.type)
    dim = op.dimension.value.data
    whole = emitter.empty(type_)
    offset = 0
    for operand in op.inputs:
        shape = shape_of(operand)
        offsets = tuple(offset if d == dim else 0 for d in range(len(shape)))
        whole = insert(emitter.get(operand), whole, offsets, (), emitter)
        offset += shape[dim]
    emitter.define(op.result, whole)


def insert(
    source: SSAValue, dest: SSAValue, offsets: Shape, dynamic: tuple[SSAValue, ...], emitter: Emitter
) -> SSAValue:
    """tensor.insert_slice of a whole tensor; where `offsets` has DYNAMIC_INDEX, the next of `dynamic`."""
    type_: Any = source.type
    shape: Shape = type_.get_shape()
    op = tensor.InsertSliceOp.create(
        operands=[source, dest, *dynamic],
        result_types=[dest.type],
        properties={
            "static_offsets": DenseArrayBase.from_list(i64, offsets),
            "static_sizes": DenseArrayBase.from_list(i64, shape),
            "static_strides": DenseArrayBase.from_list(i64, (1,) * len(shape)),
            "operandSegmentSizes": segments(1, 1, len(dynamic), 0, 0),
        },
    )
    return emitter.add(op).results[0]


def _pad(op: slicing.PadOp, emitter: Emitter) -> None:
    """Each element reads its place in the operand, clamped, and keeps it where the place was inside."""
    type_: Any = signless(op.result.type)
    rank = len(type_.get_shape())
    source, padding = emitter.get(op.operand), emitter.get(op.padding_value)
    sizes = shape_of(op.operand)
    lows, interiors = ints(op.edge_padding_low), ints(op.interior_padding)

    def body(pad: Scalar, out: Scalar) -> Scalar:
        block = out.block
        inside: Scalar | None = None
        places: list[SSAValue] = []
        for dim in range(rank):
            place = loop_index(block, dim)
            if lows[dim]:
                place = place + place.constant(-lows[dim], place.type)
            step = interiors[dim] + 1
            conditions = [place.compare("ge", 0), place.compare("lt", sizes[dim] * step)]
            if step > 1:
                conditions.append(place.apply(arith.RemSIOp, step).compare("eq", 0))
                place = place.apply(arith.DivSIOp, step)
            for condition in conditions:
                inside = condition if inside is None else inside & condition
            place = place.apply(arith.MaxSIOp, 0).apply(arith.MinSIOp, sizes[dim] - 1)
            places.append(place.value)
        read = tensor.ExtractOp.create(operands=[source, *places], result_types=[type_.element_type])
        block.add_op(read)
        element = Scalar(block, read.results[0])
        return element if inside is None else inside.select(element, pad)

    if 0 in sizes:
        results = emitter.generic(
            [padding], [emitter.empty(type_)], (affine_map(rank), identity_map(rank)), iterators(rank), first
        )
    else:
        results = emitter.generic(
            [padding], [emitter.empty(type_)], (affine_map(rank), identity_map(rank)), iterators(rank), body
        )
    emitter.define(op.result, results[0])


PATTERNS = (
    (hlo.BroadcastInDimOp, _broadcast),
    (hlo.TransposeOp, _transpose),
    (slicing.SliceOp, _slice),
    (hlo.ReverseOp, _reverse),
    (hlo.ReshapeOp, _reshape),
    (slicing.ConcatenateOp, _concatenate),
    (slicing.PadOp, _pad),
)

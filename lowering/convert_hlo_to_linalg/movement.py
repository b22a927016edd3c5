"""Operations that move elements: an index map if the index is affine, else a body that reads by computed index."""

from __future__ import annotations

import math
from typing import Any

from xdsl.dialects import tensor
from xdsl.dialects.builtin import ArrayAttr, i64
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr

from ...dialects.support.attributes import integer_attr
from ...dialects.support.buffers import i64_array
from ...dialects.tensor_ops import CollapseShapeOp, ExpandShapeOp
from ...hlo_dialect.attributes import ints
from ...hlo_dialect.ops import movement as hlo
from ...hlo_dialect.shapes import reshape_parts
from ...hlo_dialect.types import make_tensor, shape_of
from .emission import (
    Emitter,
    Shape,
    affine_map,
    dims_map,
    patterns,
    rank_of,
    signless,
)
from .slicing import slice_at


@patterns.on(hlo.BroadcastInDimOp)
def _broadcast(op: hlo.BroadcastInDimOp, emitter: Emitter) -> None:
    """`hlo.broadcast_in_dim %x, dims = [1]` reads (d1); a dimension of size 1 that is stretched reads 0."""
    source, shape = shape_of(op.operand), shape_of(op.result)
    results = [
        AffineExpr.constant(0) if size == 1 and shape[dim] != 1 else AffineExpr.dimension(dim)
        for size, dim in zip(source, ints(op.broadcast_dimensions), strict=True)
    ]
    emitter.moved(op.result, emitter.get(op.operand), affine_map(len(shape), *results))


@patterns.on(hlo.TransposeOp)
def _transpose(op: hlo.TransposeOp, emitter: Emitter) -> None:
    permutation = ints(op.permutation)
    dims = tuple(permutation.index(dim) for dim in range(len(permutation)))
    emitter.moved(op.result, emitter.get(op.operand), dims_map(len(dims), dims))


@patterns.on(hlo.ReverseOp)
def _reverse(op: hlo.ReverseOp, emitter: Emitter) -> None:
    reversed_dims = ints(op.dimensions)
    results = [
        AffineExpr.dimension(dim) * -1 + (size - 1) if dim in reversed_dims else AffineExpr.dimension(dim)
        for dim, size in enumerate(shape_of(op.result))
    ]
    emitter.moved(op.result, emitter.get(op.operand), affine_map(len(results), *results))


def reshape_index(source: Shape, shape: Shape) -> list[AffineExpr] | None:
    """A reshape's operand index as affine expressions in the result's; None if that takes a division."""
    parts = reshape_parts(source, shape)
    if parts is None:
        return None
    results: list[AffineExpr] = []
    for dims in parts:
        expr: AffineExpr = AffineExpr.dimension(dims[0]) if dims else AffineExpr.constant(0)
        for dim in dims[1:]:
            expr = expr * shape[dim] + AffineExpr.dimension(dim)
        results.append(expr)
    return results


def reshape_tensor(value: SSAValue, shape: Shape, emitter: Emitter) -> SSAValue:
    """Reshape a tensor: collapse to rank 1, or 0 for a single element, and expand."""
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
                "static_output_shape": i64_array(shape),
            },
        )
        value = emitter.add(expand).results[0]
    return value


def _one_group(rank: int, groups: int) -> ArrayAttr[Any]:
    if groups == 0:
        return ArrayAttr([])
    return ArrayAttr([ArrayAttr([integer_attr(dim, i64) for dim in range(rank)])])


@patterns.on(hlo.ReshapeOp)
def _reshape(op: hlo.ReshapeOp, emitter: Emitter) -> None:
    """In a kernel an index map if it is affine; else (and on the host) collapse_shape and expand_shape."""
    source, shape = shape_of(op.operand), shape_of(op.result)
    read = emitter.get(op.operand).owner
    if isinstance(read, tensor.ExtractSliceOp):
        # It is of neighbouring elements, see dynamic.py.
        starts, sizes = list(read.offsets), read.static_sizes.get_values()
        emitter.define(op.result, slice_at(read.source, starts, sizes, signless(op.result.type), emitter))
        return
    index = reshape_index(source, shape) if emitter.in_kernel else None
    if index is None:
        emitter.define(op.result, reshape_tensor(emitter.get(op.operand), shape, emitter))
    else:
        emitter.moved(op.result, emitter.get(op.operand), affine_map(len(shape), *index))
